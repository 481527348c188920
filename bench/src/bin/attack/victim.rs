//! The victim: an organization that makes requests during an attack. After the attack, it checks
//! that every acknowledged write exists.

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

use crate::caller::{CallResponse, Caller};
use crate::organization::Organization;

/// The time from the start of a round to the start of the next. In each round, the victim requests
/// `/healthz`, makes a write, and reads the written object.
const PACE: Duration = Duration::from_millis(50);
/// The maximum number of rounds that are in progress at the same time.
const MAX_ROUNDS: usize = 400;
/// The pause before a write is sent again with its idempotency key.
const REPEAT_DELAY: Duration = Duration::from_millis(200);
/// How long the victim repeats a write that got no response. [`Victim::audit`], the check after the
/// attack, repeats a request for the same time.
const REPEAT_LIMIT: Duration = Duration::from_secs(60);
/// The number of rounds from one reading of the server's memory to the next.
const ROUNDS_PER_MEMORY_READING: u32 = 5;
/// The approximate number of idempotency keys that the final check sends again.
const REPEATED_KEYS: usize = 200;

const MANUALS: &str = "/api/v1/portal-manuals";
/// The prefix of the names of all objects of the victim.
const NAME_PREFIX: &str = "victim-";

/// A write to which the server responded with success.
#[derive(Debug, Clone)]
pub struct Acknowledged {
    /// The idempotency key, which is also the name of the object.
    pub key: String,
    /// The id of the created object.
    pub id: String,
    answer: Bytes,
}

/// The victim's observations since the start of the attack.
#[derive(Debug, Default)]
pub struct Record {
    /// The times of the requests, in milliseconds.
    pub times: Vec<f64>,
    /// The number of requests that got no response, or a response that asks the client to try
    /// again.
    pub refused: u64,
    /// All writes that the server has acknowledged so far.
    pub acknowledged: Vec<Acknowledged>,
    /// The idempotency keys of writes that got no response.
    pub unanswered: BTreeSet<String>,
    /// Descriptions of wrong responses.
    pub wrong: Vec<String>,
    /// The largest memory that the server used during the attack, in MiB.
    pub memory: f64,
}

/// The findings of the final check.
#[derive(Debug, Default)]
pub struct Verdict {
    pub lost: BTreeSet<String>,
    pub duplicates: BTreeSet<String>,
    pub wrong: Vec<String>,
}

/// An organization that makes regular requests during an attack.
#[derive(Debug)]
pub struct Victim {
    pub organization: Organization,
    caller: Caller,
    keys: Keys,
    record: Mutex<Record>,
}

impl Victim {
    pub fn new(organization: Organization, keys: Keys) -> anyhow::Result<Self> {
        // The victim uses connections that no other caller uses, as if it ran on another machine.
        let caller = Caller::new(organization.key.target().clone(), organization.key.token())?;
        Ok(Self {
            organization,
            caller,
            keys,
            record: Mutex::default(),
        })
    }

    /// Returns the times and results of the victim's requests since the start of the attack.
    pub fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of responses with a 5xx status other than 503, during the attack and in
    /// the final check.
    pub fn failures(&self) -> u64 {
        self.caller.failures()
    }

    /// Starts rounds at a constant rate, however long the responses take. After the stop signal,
    /// waits until the started rounds have ended.
    pub async fn work(self: Arc<Self>, mut stop: watch::Receiver<bool>) {
        let (mut rounds, permits) = (JoinSet::new(), Arc::new(Semaphore::new(MAX_ROUNDS)));
        let mut pace = tokio::time::interval(PACE);
        let mut number = 0_u32;
        loop {
            tokio::select! {
                // The wait for the signal also ends when its sender is dropped.
                _ = stop.changed() => break,
                _ = pace.tick() => {}
            }
            number += 1;
            if number.is_multiple_of(ROUNDS_PER_MEMORY_READING)
                && let Ok(memory) = self.caller.target().resident()
            {
                let mut record = self.record();
                record.memory = record.memory.max(memory);
            }
            while rounds.try_join_next().is_some() {}
            let (victim, key) = (self.clone(), format!("{NAME_PREFIX}{}", self.keys.next()));
            if let Ok(permit) = permits.clone().try_acquire_owned() {
                rounds.spawn(async move {
                    tokio::join!(victim.health(), victim.write_and_read(key));
                    drop(permit);
                });
            } else {
                self.record().refused += 3;
            }
        }
        rounds.join_all().await;
    }

    /// Makes a request and records how long it took. Returns `None` if the request must be sent
    /// again.
    async fn timed(
        &self,
        request: impl Future<Output = anyhow::Result<CallResponse>>,
    ) -> Option<CallResponse> {
        let started = Instant::now();
        let response = request.await.ok();
        let mut record = self.record();
        record.times.push(started.elapsed().as_secs_f64() * 1_000.0);
        let response = response.filter(|response| !response.is_temporary());
        record.refused += u64::from(response.is_none());
        response
    }

    fn record_wrong(&self, what: String) {
        self.record().wrong.push(what);
    }

    async fn health(&self) {
        if let Some(response) = self.timed(self.caller.get("/healthz")).await
            && response.status != 200
        {
            self.record_wrong(format!("/healthz: {}", response.status));
        }
    }

    async fn write(&self, key: &str) -> anyhow::Result<CallResponse> {
        let body = json!({ "nickname": key, "title": "Wi-Fi" }).to_string();
        self.caller
            .send(Method::POST, MANUALS, Some(key), body.into())
            .await
    }

    /// Sends a write, and repeats it with the same idempotency key until there is a response. Then
    /// reads the created object. Gives up after `REPEAT_LIMIT` without a response.
    async fn write_and_read(&self, key: String) {
        let started = Instant::now();
        self.record().unanswered.insert(key.clone());
        let response = loop {
            match self.timed(self.write(&key)).await {
                Some(response) => break response,
                None if started.elapsed() > REPEAT_LIMIT => return,
                None => tokio::time::sleep(REPEAT_DELAY).await,
            }
        };
        self.acknowledge(&key, response);
        if let Some(response) = self
            .timed(self.caller.get(&format!("{MANUALS}?search={key}")))
            .await
        {
            let names = names(&response);
            if response.status != 200 || names != [key.as_str()] {
                self.record_wrong(format!(
                    "{key} was written, and then read: {} {names:?}",
                    response.status
                ));
            }
        }
    }

    /// Records the first response to the write with this key. The write is then no longer listed as
    /// unanswered.
    fn acknowledge(&self, key: &str, response: CallResponse) {
        let mut record = self.record();
        record.unanswered.remove(key);
        match response.data()["id"].as_str() {
            Some(id) if response.status == 201 => {
                record.acknowledged.push(Acknowledged {
                    key: key.into(),
                    id: id.into(),
                    answer: response.body,
                });
            }
            _ => record.wrong.push(format!(
                "POST under {key}: {} {:.300}",
                response.status,
                response.text()
            )),
        }
    }

    /// Sends a request again until it gets a response that does not ask the client to try again
    /// later.
    async fn final_response<F: Future<Output = anyhow::Result<CallResponse>>>(
        &self,
        request: impl Fn() -> F,
    ) -> anyhow::Result<CallResponse> {
        let started = Instant::now();
        let mut last_result = None;
        while started.elapsed() < REPEAT_LIMIT {
            match request().await {
                Ok(response) if !response.is_temporary() => return Ok(response),
                other => last_result = Some(other),
            }
            tokio::time::sleep(REPEAT_DELAY).await;
        }
        bail!("no final response after the attack: {last_result:?}")
    }

    /// Checks that every acknowledged write exists exactly once. Also checks that the victim and a
    /// neighbour do not see each other's objects.
    pub async fn audit(&self, neighbour: &Organization) -> anyhow::Result<Verdict> {
        let mut verdict = Verdict::default();
        // A write without a response may have been applied or not. The victim sends it again with
        // its idempotency key, and the response shows the outcome.
        let unanswered = self.record().unanswered.clone();
        for key in unanswered {
            let response = self.final_response(|| self.write(&key)).await?;
            self.acknowledge(&key, response);
        }
        let acknowledged = self.record().acknowledged.clone();
        for Acknowledged { key, answer, .. } in acknowledged
            .iter()
            .step_by(acknowledged.len().div_ceil(REPEATED_KEYS).max(1))
        {
            let repeated = self.final_response(|| self.write(key)).await?;
            if !repeated.is_replay || repeated.status != 201 || repeated.body != answer {
                verdict.wrong.push(format!(
                    "{key} was sent again: {} {:.300}",
                    repeated.status,
                    repeated.text()
                ));
            }
        }
        let own_list = self.final_response(|| self.caller.get(MANUALS)).await?;
        compare(&acknowledged, &own_list.data(), &mut verdict);
        let neighbour_list = self.final_response(|| neighbour.key.get(MANUALS)).await?;
        let neighbour_ids: BTreeSet<_> = ids(&neighbour_list.data()).collect();
        let leaked = acknowledged
            .iter()
            .filter(|write| neighbour_ids.contains(&write.id))
            .map(|write| format!("{} is the neighbour's", write.key));
        verdict.wrong.extend(leaked);
        if neighbour_list.status != 200 {
            verdict
                .wrong
                .push(format!("the neighbour's list: {}", neighbour_list.status));
        }
        Ok(verdict)
    }

    /// Returns the latest acknowledged write.
    pub fn last(&self) -> anyhow::Result<Acknowledged> {
        self.record()
            .acknowledged
            .last()
            .cloned()
            .context("nothing was acknowledged")
    }
}

/// Returns the nicknames of the objects in a list response.
fn names(response: &CallResponse) -> Vec<String> {
    let data = response.data();
    data.as_array()
        .into_iter()
        .flatten()
        .filter_map(|row| row["nickname"].as_str())
        .map(str::to_owned)
        .collect()
}

/// Returns the ids of the objects in a list response.
fn ids(listed: &Value) -> impl Iterator<Item = String> {
    listed
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|row| row["id"].as_str())
        .map(str::to_owned)
}

/// Compares the acknowledged writes with the objects in a list response, and adds the differences
/// to `verdict`.
fn compare(acknowledged: &[Acknowledged], listed: &Value, verdict: &mut Verdict) {
    let mut ids_by_name = BTreeMap::<&str, Vec<&str>>::new();
    for row in listed.as_array().into_iter().flatten() {
        let (name, id) = (row["nickname"].as_str(), row["id"].as_str());
        ids_by_name
            .entry(name.unwrap_or_default())
            .or_default()
            .push(id.unwrap_or_default());
    }
    for Acknowledged { key, id, .. } in acknowledged {
        match ids_by_name.remove(key.as_str()).as_deref() {
            Some([id_in_list]) if id_in_list == id => {}
            Some(ids) if ids.contains(&id.as_str()) => drop(verdict.duplicates.insert(key.clone())),
            _ => drop(verdict.lost.insert(key.clone())),
        }
    }
    verdict.wrong.extend(
        ids_by_name
            .keys()
            .map(|name| format!("{name:?} exists, but its write was not acknowledged")),
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
        assert_eq!(verdict.duplicates, BTreeSet::from(["b".into()]));
        assert_eq!(verdict.lost, BTreeSet::from(["c".into(), "d".into()]));
        assert_eq!(verdict.wrong.len(), 1, "{:?}", verdict.wrong);
    }
}
