//! Idempotency keys on POST (spec: Idempotency).
//!
//! The record of an answer commits with the work it answers, so a crash leaves either both or neither. While the work is
//! in flight the key is held by two locks that die with their owner: one in this process, and on a database of many nodes
//! one in the transaction.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;
use sha2::{Digest, Sha256};
use store::{Ask, Transaction};
use uuid::Uuid;

use super::Success;
use super::request::Head;
use crate::access::Owner;
use crate::context::Context;
use crate::error::{Error, Kind, Result};
use crate::json::fingerprint;
use crate::operation::{Arguments, Operation, Surface};
use crate::values;

/// The header, in lower case.
const HEADER: &str = "idempotency-key";
/// Characters at the most.
const LONGEST: usize = 255;
/// Expired records removed in one transaction, so that a sweep holds up no one.
const SWEEP_BATCH: u32 = 500;

store::statements! {
    /// What was answered to a key.
    RECORDED = "select fingerprint, status, body, completed_at from idempotency_record
        where organization_id = ?1 and credential = ?2 and key = ?3";
    /// Remembers an answer; an expired one makes room.
    RECORD = "insert into idempotency_record (organization_id, credential, key, fingerprint, status, body, completed_at)
        values (?1, ?2, ?3, ?4, ?5, ?6, ?7)
        on conflict (organization_id, credential, key) do update set fingerprint = excluded.fingerprint, status = excluded.status, body = excluded.body, completed_at = excluded.completed_at";
    /// Expired records.
    EXPIRED = "select organization_id, credential, key from idempotency_record where completed_at <= ?1 order by completed_at limit ?2";
    /// Removes the expired ones of an organization among those of some credentials with some keys.
    REMOVE = "delete from idempotency_record where organization_id = ?1 and credential = any(?2) and key = any(?3) and completed_at <= ?4";
}

/// The key of a request, and what the request is.
pub(super) struct Key {
    owner: Owner,
    key: String,
    fingerprint: Vec<u8>,
}

impl Key {
    /// The key sent, where one counts: on a POST of the public interface. 400 for one that is blank, too long, sent twice
    /// or not text.
    pub(super) fn of(operation: &Operation, request: &Head, owner: Owner) -> Result<Option<Self>> {
        if operation.method != http::Method::POST || operation.surface != Surface::Public || request.is_tool_call {
            return Ok(None);
        }
        let refuse =
            |reason: &'static str| Err(Error::invalid(&["Idempotency-Key"], reason).with_message(format!("The Idempotency-Key {reason}.")));
        let key = match request.header_values(HEADER)[..] {
            [] => return Ok(None),
            [value] => match std::str::from_utf8(value.as_bytes()) {
                Ok(key) => key,
                Err(_) => return refuse("is not UTF-8"),
            },
            _ => return refuse("is sent more than once"),
        };
        if key.trim().is_empty() {
            return refuse("is blank");
        }
        if key.chars().count() > LONGEST {
            return refuse("is longer than 255 characters");
        }
        Ok(Some(Self { owner, key: key.to_owned(), fingerprint: Vec::new() }))
    }

    /// Binds the key to what is asked for: operation, path, query and body, whatever the spacing.
    pub(super) fn for_request(mut self, operation: &Operation, arguments: &Arguments) -> Self {
        let asked = match arguments {
            Arguments::Http { path, query, body, .. } => {
                let path: Vec<_> = path.iter().map(|(name, value)| (name, value.to_lowercase())).collect();
                json!([operation.id, path, query, body])
            }
            Arguments::Tool(arguments) => json!([operation.id, arguments]),
        };
        self.fingerprint = fingerprint(&asked).to_vec();
        self
    }

    fn lock(&self) -> i64 {
        let digest = Sha256::digest(format!("{} {}", self.owner.key(), self.key));
        digest.iter().take(8).fold(0, |number, byte| number << 8 | i64::from(*byte))
    }

    /// What [`Key::recorded`] asks.
    pub(super) fn asks(&self) -> [Ask; 2] {
        let Owner { organization, credential } = self.owner;
        [Ask::lock(self.lock()), Ask::rows(&RECORDED, values![organization, credential.key(), &self.key])]
    }

    /// The answer to replay; 422 when the key belongs to another request, 409 while another node works on it.
    pub(super) fn recorded(&self, tx: &mut Transaction<'_>, now: Timestamp, retention: Duration) -> Result<Option<Success>> {
        let Owner { organization, credential } = self.owner;
        let rows = tx.rows_under_lock(self.lock(), &RECORDED, &values![organization, credential.key(), &self.key])?;
        let Some(row) = rows.ok_or_else(Error::in_flight)?.into_iter().next() else { return Ok(None) };
        let completed: Timestamp = row.get(3)?;
        if completed.checked_add(retention).is_ok_and(|expiry| expiry <= now) {
            return Ok(None);
        }
        if row.get::<Vec<u8>>(0)? != self.fingerprint {
            return Err(Kind::BusinessRule.into());
        }
        let status = u16::try_from(row.get::<i64>(1)?).map_err(Error::internal)?;
        Ok(Some(Success { is_replay: true, ..Success::text(status, row.get(2)?) }))
    }

    /// Remembers the answer, in the transaction of the work.
    pub(super) fn record(self, context: &mut Context<'_, '_>, status: u16, body: &str) -> Result<()> {
        let Self { owner, key, fingerprint } = self;
        let now = context.now();
        let fingerprint = store::Value::Bytes(fingerprint);
        context.execute_along(&RECORD, values![owner.credential.key(), key, fingerprint, i64::from(status), body, now])
    }
}

/// The keys this process is working on.
#[derive(Default)]
pub struct InFlight(Arc<Mutex<HashSet<(Owner, String)>>>);

impl InFlight {
    /// Holds a key until the guard is dropped; 409 when it is held.
    pub(super) fn hold(&self, key: &Key) -> Result<Held> {
        let name = (key.owner, key.key.clone());
        let mut keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !keys.insert(name.clone()) {
            return Err(Error::in_flight());
        }
        Ok(Held { keys: self.0.clone(), name })
    }
}

/// Releases a key when dropped.
pub(super) struct Held {
    keys: Arc<Mutex<HashSet<(Owner, String)>>>,
    name: (Owner, String),
}

impl Drop for Held {
    fn drop(&mut self) {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.name);
    }
}

/// Removes expired records; true when there may be more of them.
pub fn sweep(tx: &mut Transaction<'_>, now: Timestamp, retention: Duration) -> Result<bool> {
    let Ok(oldest) = now.checked_sub(retention) else { return Ok(false) };
    let rows = tx.rows(&EXPIRED, &values![oldest, SWEEP_BATCH])?;
    let mut of = BTreeMap::<Uuid, (BTreeSet<String>, Vec<String>)>::new();
    for row in &rows {
        let (credentials, keys) = of.entry(row.get(0)?).or_default();
        credentials.insert(row.get(1)?);
        keys.push(row.get(2)?);
    }
    for (organization, (credentials, keys)) in of {
        tx.execute(&REMOVE, &values![organization, Vec::from_iter(credentials), keys, oldest])?;
    }
    Ok(rows.len() as u64 >= u64::from(SWEEP_BATCH))
}
