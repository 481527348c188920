//! The victim: makes requests during an attack, and checks afterwards that every acknowledged write
//! is there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use bench::keys::Keys;
use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use crate::caller::{CallAnswer, Caller};
use crate::organization::Organization;

/// The interval of its rounds. In each it requests `/healthz`, makes a write, and reads that write.
const PACE: Duration = Duration::from_millis(50);
/// The limit of rounds under way at once.
const AT_ONCE: usize = 400;
/// The pause before a write is repeated with its key.
const AGAIN: Duration = Duration::from_millis(200);
/// How long it repeats a write without an answer, and how long the final check repeats a request.
const PATIENCE: Duration = Duration::from_secs(60);
/// The number of rounds between two readings of the server's memory.
const MEMORY_EVERY: u32 = 5;
/// About how many keys are sent once more at the end.
const REPEATED: usize = 200;

const MANUALS: &str = "/api/v1/portal-manuals";
/// The prefix of the names of all the victim's objects.
const OWN: &str = "victim-";

/// An acknowledged write.
#[derive(Debug, Clone)]
pub struct Acknowledged {
    /// The idempotency key, which is also the name of the object.
    pub key: String,
    /// The id of the created object.
    pub id: String,
    answer: Bytes,
}

/// The victim's observations so far.
#[derive(Debug, Default)]
pub struct Record {
    /// The times of its requests, in milliseconds.
    pub times: Vec<f64>,
    /// The number of requests without an answer, or with an answer that asks to try again.
    pub refused: u64,
    /// The acknowledged writes.
    pub acknowledged: Vec<Acknowledged>,
    /// The keys without an answer.
    pub unanswered: BTreeSet<String>,
    /// Descriptions of wrong answers.
    pub wrong: Vec<String>,
    /// The largest memory of the server that was seen, in MiB.
    pub memory: f64,
}

/// The findings of the final check.
#[derive(Debug, Default)]
pub struct Verdict {
    pub lost: BTreeSet<String>,
    pub double: BTreeSet<String>,
    pub wrong: Vec<String>,
}

/// An organization that does its regular work during an attack.
#[derive(Debug)]
pub struct Victim {
    /// The organization.
    pub organization: Organization,
    caller: Caller,
    keys: Keys,
    record: Mutex<Record>,
}

impl Victim {
    pub fn new(organization: Organization, keys: Keys) -> anyhow::Result<Self> {
        // The victim has connections of its own, as if it ran on a machine of its own.
        let caller = Caller::new(organization.key.target().clone(), organization.key.token())?;
        Ok(Self {
            organization,
            caller,
            keys,
            record: Mutex::default(),
        })
    }

    /// Returns the observations so far.
    pub fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of 5xx answers other than 503, both during the attack and in the final
    /// check.
    pub fn failures(&self) -> u64 {
        self.caller.failures()
    }

    /// Starts rounds at a fixed pace, however long the answers take. When it is told to stop, waits
    /// for the rounds under way.
    pub async fn go_about(self: Arc<Self>, mut is_over: watch::Receiver<bool>) {
        let (mut rounds, places) = (JoinSet::new(), Arc::new(Semaphore::new(AT_ONCE)));
        let mut pace = tokio::time::interval(PACE);
        let mut number = 0_u32;
        loop {
            tokio::select! {
                // The wait also ends when the sender is dropped.
                _ = is_over.changed() => break,
                _ = pace.tick() => {}
            }
            number += 1;
            if number.is_multiple_of(MEMORY_EVERY)
                && let Ok(memory) = self.caller.target().resident()
            {
                let mut record = self.record();
                record.memory = record.memory.max(memory);
            }
            while rounds.try_join_next().is_some() {}
            let (victim, key) = (self.clone(), format!("{OWN}{}", self.keys.next()));
            if let Ok(place) = places.clone().try_acquire_owned() {
                rounds.spawn(async move {
                    tokio::join!(victim.health(), victim.write_and_read(key));
                    drop(place);
                });
            } else {
                self.record().refused += 3;
            }
        }
        rounds.join_all().await;
    }

    /// Makes a request and records its time. Returns none if the request must be repeated.
    async fn noted(
        &self,
        request: impl Future<Output = anyhow::Result<CallAnswer>>,
    ) -> Option<CallAnswer> {
        let begun = Instant::now();
        let heard = request.await.ok();
        let mut record = self.record();
        record.times.push(begun.elapsed().as_secs_f64() * 1_000.0);
        let heard = heard.filter(|heard| !heard.is_passing());
        record.refused += u64::from(heard.is_none());
        heard
    }

    fn is_wrong(&self, what: String) {
        self.record().wrong.push(what);
    }

    async fn health(&self) {
        if let Some(heard) = self.noted(self.caller.get("/healthz")).await
            && heard.status != 200
        {
            self.is_wrong(format!("/healthz: {}", heard.status));
        }
    }

    async fn write(&self, key: &str) -> anyhow::Result<CallAnswer> {
        let body = json!({ "nickname": key, "title": "Wi-Fi" }).to_string();
        self.caller
            .send(Method::POST, MANUALS, Some(key), body.into())
            .await
    }

    /// Repeats a write under one key until it is answered, then reads the object.
    async fn write_and_read(&self, key: String) {
        let begun = Instant::now();
        self.record().unanswered.insert(key.clone());
        let heard = loop {
            match self.noted(self.write(&key)).await {
                Some(heard) => break heard,
                None if begun.elapsed() > PATIENCE => return,
                None => tokio::time::sleep(AGAIN).await,
            }
        };
        self.acknowledge(&key, heard);
        if let Some(heard) = self
            .noted(self.caller.get(&format!("{MANUALS}?search={key}")))
            .await
        {
            let names = names(&heard);
            if heard.status != 200 || names != [key.as_str()] {
                self.is_wrong(format!(
                    "{key} was written, and then read: {} {names:?}",
                    heard.status
                ));
            }
        }
    }

    /// Records the first answer to a key.
    fn acknowledge(&self, key: &str, heard: CallAnswer) {
        let mut record = self.record();
        record.unanswered.remove(key);
        match heard.data()["id"].as_str() {
            Some(id) if heard.status == 201 => {
                record.acknowledged.push(Acknowledged {
                    key: key.into(),
                    id: id.into(),
                    answer: heard.body,
                });
            }
            _ => record.wrong.push(format!(
                "POST under {key}: {} {:.300}",
                heard.status,
                heard.text()
            )),
        }
    }

    /// Repeats a request until its answer is final.
    async fn answered<F: Future<Output = anyhow::Result<CallAnswer>>>(
        &self,
        ask: impl Fn() -> F,
    ) -> anyhow::Result<CallAnswer> {
        let begun = Instant::now();
        let mut last = None;
        while begun.elapsed() < PATIENCE {
            match ask().await {
                Ok(heard) if !heard.is_passing() => return Ok(heard),
                other => last = Some(other),
            }
            tokio::time::sleep(AGAIN).await;
        }
        bail!("no answer that stays, after the attack: {last:?}")
    }

    /// Checks every write, and checks that the victim and a neighbour do not see each other's
    /// objects.
    pub async fn audit(&self, neighbour: &Organization) -> anyhow::Result<Verdict> {
        let mut verdict = Verdict::default();
        // Repeating a write under its key is the only way to learn whether it was applied.
        let unanswered = self.record().unanswered.clone();
        for key in unanswered {
            let heard = self.answered(|| self.write(&key)).await?;
            self.acknowledge(&key, heard);
        }
        let acknowledged = self.record().acknowledged.clone();
        for Acknowledged { key, answer, .. } in acknowledged
            .iter()
            .step_by(acknowledged.len().div_ceil(REPEATED).max(1))
        {
            let again = self.answered(|| self.write(key)).await?;
            if !again.is_replay || again.status != 201 || again.body != answer {
                verdict.wrong.push(format!(
                    "{key} was sent again: {} {:.300}",
                    again.status,
                    again.text()
                ));
            }
        }
        let listed = self.answered(|| self.caller.get(MANUALS)).await?;
        compare(&acknowledged, &listed.data(), &mut verdict);
        let theirs = self.answered(|| neighbour.key.get(MANUALS)).await?;
        let seen: BTreeSet<_> = ids(&theirs.data()).collect();
        let leaked = acknowledged
            .iter()
            .filter(|one| seen.contains(&one.id))
            .map(|one| format!("{} is the neighbour's", one.key));
        verdict.wrong.extend(leaked);
        if theirs.status != 200 {
            verdict
                .wrong
                .push(format!("the neighbour's list: {}", theirs.status));
        }
        Ok(verdict)
    }

    /// Returns the last acknowledged write.
    pub fn last(&self) -> anyhow::Result<Acknowledged> {
        self.record()
            .acknowledged
            .last()
            .cloned()
            .context("nothing was acknowledged")
    }
}

/// Returns the nicknames in a list.
fn names(heard: &CallAnswer) -> Vec<String> {
    let data = heard.data();
    data.as_array()
        .into_iter()
        .flatten()
        .filter_map(|row| row["nickname"].as_str())
        .map(str::to_owned)
        .collect()
}

/// Returns the ids in a list.
fn ids(listed: &Value) -> impl Iterator<Item = String> {
    listed
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|row| row["id"].as_str())
        .map(str::to_owned)
}

/// Compares the acknowledged writes with the objects in a list.
fn compare(acknowledged: &[Acknowledged], listed: &Value, verdict: &mut Verdict) {
    let mut there = BTreeMap::<&str, Vec<&str>>::new();
    for row in listed.as_array().into_iter().flatten() {
        let (name, id) = (row["nickname"].as_str(), row["id"].as_str());
        there
            .entry(name.unwrap_or_default())
            .or_default()
            .push(id.unwrap_or_default());
    }
    for Acknowledged { key, id, .. } in acknowledged {
        match there.remove(key.as_str()).as_deref() {
            Some([only]) if only == id => {}
            Some(ids) if ids.contains(&id.as_str()) => drop(verdict.double.insert(key.clone())),
            _ => drop(verdict.lost.insert(key.clone())),
        }
    }
    verdict.wrong.extend(
        there
            .keys()
            .map(|name| format!("nobody was told of {name:?}, and it is there")),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_and_duplicate_writes_are_reported() {
        let acknowledged = |key: &str| Acknowledged {
            key: key.into(),
            id: format!("id of {key}"),
            answer: Bytes::new(),
        };
        let row = |name: &str, id: &str| json!({ "nickname": name, "id": id });
        let listed = json!([
            row("a", "id of a"),
            row("b", "id of b"),
            row("b", "another"),
            row("c", "another"),
            row("e", "id of e"),
        ]);
        let mut verdict = Verdict::default();
        compare(
            &["a", "b", "c", "d"].map(acknowledged),
            &listed,
            &mut verdict,
        );
        assert_eq!(verdict.double, BTreeSet::from(["b".into()]));
        assert_eq!(verdict.lost, BTreeSet::from(["c".into(), "d".into()]));
        assert_eq!(verdict.wrong.len(), 1, "{:?}", verdict.wrong);
    }
}
