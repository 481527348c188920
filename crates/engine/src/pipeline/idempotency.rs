//! Idempotency keys on POST (rules: errors#idempotency).
//!
//! The record of a response commits together with the work, so after a crash both exist or both are
//! missing. During the work, two locks protect the key: one in this process, and on PostgreSQL one
//! in the transaction. A lock ends with its process or transaction.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;
use sha2::{Digest, Sha256};
use store::Transaction;
use uuid::Uuid;

use super::Success;
use super::request::Head;
use crate::access::Owner;
use crate::context::Context;
use crate::error::{Error, ErrorKind, Result};
use crate::json::fingerprint;
use crate::operation::{Arguments, Operation, Surface};
use crate::values;

/// The name of the header with the idempotency key, in lower case.
const HEADER: &str = "idempotency-key";
/// The maximum number of characters of an idempotency key.
const MAX_LENGTH: usize = 255;
/// The status of a record whose response is not known yet.
const PENDING: u16 = 0;
/// How long a record may wait for its response. If the response is still missing then, the process
/// that reserved the key has ended, so another request may use the key.
const PENDING_LIMIT: Duration = Duration::from_secs(60);
/// The maximum number of expired records that one transaction removes, so that other writes do not
/// wait long.
const SWEEP_BATCH: u32 = 500;

store::statements! {
    /// Reads the recorded response of an idempotency key.
    RECORDED = "select fingerprint, status, body, completed_at from idempotency_record
        where organization_id = ?1 and credential = ?2 and key = ?3";
    /// Records the response to a request under its idempotency key, or reserves the key with the
    /// status [`PENDING`]. Replaces an earlier record of this key.
    RECORD = "insert into idempotency_record
        (organization_id, credential, key, fingerprint, status, body, completed_at)
        values (?1, ?2, ?3, ?4, ?5, ?6, ?7)
        on conflict (organization_id, credential, key) do update
        set fingerprint = excluded.fingerprint, status = excluded.status, body = excluded.body,
        completed_at = excluded.completed_at";
    /// Removes the record of an idempotency key whose response is not known yet.
    RELEASE = "delete from idempotency_record where organization_id = ?1 and credential = ?2
        and key = ?3 and status = 0";
    /// Lists expired idempotency records of all organizations.
    EXPIRED = "select organization_id, credential, key from idempotency_record
        where completed_at <= ?1 order by completed_at limit ?2";
    /// Removes expired idempotency records of one organization, among the records with the given
    /// credentials and keys.
    REMOVE = "delete from idempotency_record where organization_id = ?1 and credential = any(?2)
        and key = any(?3) and completed_at <= ?4";
}

/// The idempotency key of a request, with a fingerprint of the request.
pub(super) struct IdempotencyKey {
    owner: Owner,
    key: String,
    fingerprint: Vec<u8>,
}

impl IdempotencyKey {
    /// Returns the idempotency key of a request. Returns `None` for a request without a key. Also
    /// returns `None` for tool calls and for operations other than POST operations of the public
    /// interface, because they ignore keys. Returns 400 for a key that is blank, too long, repeated
    /// or not text.
    pub(super) fn of(operation: &Operation, request: &Head, owner: Owner) -> Result<Option<Self>> {
        if operation.method != http::Method::POST
            || operation.surface != Surface::Public
            || request.is_tool_call
        {
            return Ok(None);
        }
        let refuse = |reason: &'static str| {
            Err(Error::invalid(&["Idempotency-Key"], reason)
                .with_message(format!("The Idempotency-Key {reason}.")))
        };
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
        if key.chars().count() > MAX_LENGTH {
            return refuse("is longer than 255 characters");
        }
        Ok(Some(Self {
            owner,
            key: key.to_owned(),
            fingerprint: Vec::new(),
        }))
    }

    /// Sets the fingerprint of the request: a hash of operation, path, query and body. White space
    /// in the body does not change it.
    pub(super) fn for_request(mut self, operation: &Operation, arguments: &Arguments) -> Self {
        let request = match arguments {
            Arguments::Http {
                path, query, body, ..
            } => {
                let path: Vec<_> = path
                    .iter()
                    .map(|(name, value)| (name, value.to_lowercase()))
                    .collect();
                json!([operation.id, path, query, body])
            }
            Arguments::Tool(arguments) => json!([operation.id, arguments]),
        };
        self.fingerprint = fingerprint(&request).to_vec();
        self
    }

    fn lock(&self) -> i64 {
        let digest = Sha256::digest(format!("{} {}", self.owner.key(), self.key));
        digest
            .iter()
            .take(8)
            .fold(0, |number, byte| number << 8 | i64::from(*byte))
    }

    /// Returns the recorded response of an earlier request with this key, to replay it; `None` if
    /// there is none. Returns 422 if the key was already used for another request, and 409 if
    /// another node is processing the request with this key.
    pub(super) fn recorded(
        &self,
        tx: &mut Transaction<'_>,
        now: Timestamp,
        retention: Duration,
    ) -> Result<Option<Success>> {
        let Owner {
            organization,
            credential,
        } = self.owner;
        let rows = tx.rows_under_lock(
            self.lock(),
            &RECORDED,
            &values![organization, credential.key(), &self.key],
        )?;
        let Some(row) = rows.ok_or_else(Error::in_flight)?.into_iter().next() else {
            return Ok(None);
        };
        let completed: Timestamp = row.get(3)?;
        let status = u16::try_from(row.get::<i64>(1)?).map_err(Error::internal)?;
        let retention = if status == PENDING {
            PENDING_LIMIT
        } else {
            retention
        };
        if completed
            .checked_add(retention)
            .is_ok_and(|expiry| expiry <= now)
        {
            return Ok(None);
        }
        if row.get::<Vec<u8>>(0)? != self.fingerprint {
            return Err(ErrorKind::BusinessRule.into());
        }
        if status == PENDING {
            return Err(Error::in_flight());
        }
        Ok(Some(Success {
            is_replay: true,
            ..Success::text(status, row.get(2)?)
        }))
    }

    /// Returns an id that is the same for every request of this credential with this idempotency
    /// key.
    pub(super) fn id(&self) -> Uuid {
        let digest = Sha256::digest(format!("{} {}", self.owner.key(), self.key));
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&digest[..16]);
        uuid::Builder::from_custom_bytes(bytes).into_uuid()
    }

    /// Reserves the idempotency key. Other processes then refuse requests with the key, until its
    /// response is recorded or the key is released.
    pub(super) fn reserve(&self, context: &mut Context<'_, '_>, now: Timestamp) -> Result<()> {
        let fingerprint = store::Value::Bytes(self.fingerprint.clone());
        let credential = self.owner.credential.key();
        context.execute_deferred(
            &RECORD,
            values![
                credential,
                &self.key,
                fingerprint,
                i64::from(PENDING),
                "",
                now
            ],
        )
    }

    /// Releases a reserved idempotency key without a response, so that the next request with the
    /// key runs the operation.
    pub(super) fn release(&self, context: &mut Context<'_, '_>) -> Result<()> {
        context.execute_deferred(&RELEASE, values![self.owner.credential.key(), &self.key])
    }

    /// Records the response under the idempotency key, in the transaction of the operation.
    pub(super) fn record(
        self,
        context: &mut Context<'_, '_>,
        status: u16,
        body: &str,
    ) -> Result<()> {
        let Self {
            owner,
            key,
            fingerprint,
        } = self;
        let now = context.now();
        let fingerprint = store::Value::Bytes(fingerprint);
        context.execute_deferred(
            &RECORD,
            values![
                owner.credential.key(),
                key,
                fingerprint,
                i64::from(status),
                body,
                now
            ],
        )
    }
}

/// The idempotency keys of the requests that this process is working on.
#[derive(Default)]
pub struct InFlight(Arc<Mutex<HashSet<(Owner, String)>>>);

impl InFlight {
    /// Locks an idempotency key until the returned guard is dropped. Returns 409 if the key is
    /// already locked.
    pub(super) fn hold(&self, key: &IdempotencyKey) -> Result<KeyGuard> {
        let name = (key.owner, key.key.clone());
        let mut keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !keys.insert(name.clone()) {
            return Err(Error::in_flight());
        }
        Ok(KeyGuard {
            keys: self.0.clone(),
            name,
        })
    }
}

/// A guard that unlocks an idempotency key when the guard is dropped.
pub(super) struct KeyGuard {
    keys: Arc<Mutex<HashSet<(Owner, String)>>>,
    name: (Owner, String),
}

impl Drop for KeyGuard {
    fn drop(&mut self) {
        self.keys
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&self.name);
    }
}

/// Removes expired records. Returns true if more expired records may remain.
pub fn sweep(tx: &mut Transaction<'_>, now: Timestamp, retention: Duration) -> Result<bool> {
    let Ok(oldest) = now.checked_sub(retention) else {
        return Ok(false);
    };
    let rows = tx.rows(&EXPIRED, &values![oldest, SWEEP_BATCH])?;
    let mut records = BTreeMap::<Uuid, (BTreeSet<String>, Vec<String>)>::new();
    for row in &rows {
        let (credentials, keys) = records.entry(row.get(0)?).or_default();
        credentials.insert(row.get(1)?);
        keys.push(row.get(2)?);
    }
    for (organization, (credentials, keys)) in records {
        tx.execute(
            &REMOVE,
            &values![organization, Vec::from_iter(credentials), keys, oldest],
        )?;
    }
    Ok(rows.len() as u64 >= u64::from(SWEEP_BATCH))
}
