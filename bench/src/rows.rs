//! The comparison for measurements of durable writes: a loop that calls the store directly, without
//! the service. It executes the statements that create a portal, on tables like those of the
//! service.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context as _;
use async_trait::async_trait;
use jiff::Timestamp;
use rlt::{IterInfo, IterReport, StatelessBenchSuite, Status};
use serde_json::Value as Document;
use store::{Migrations, Store, Value};
use uuid::Uuid;

use crate::keys::Keys;

/// The tables and indexes that the creation of a portal reads or writes, and one organization.
const SCHEMA: &str = "
create table organization (id blob primary key, revision integer not null,
    doc text not null) strict;
create table portal (organization_id blob not null references organization (id), id blob not null,
    name_key text, is_default integer not null,
    created_at integer not null, updated_at integer not null, summary text not null,
        doc text not null, primary key (organization_id, id)) strict;
create index portal_in_order on portal (organization_id, created_at, id, summary);
create unique index portal_name on portal (organization_id, name_key);
create unique index portal_default on portal (organization_id) where is_default = true;
create table audit_log (organization_id blob not null, id blob not null,
    occurred_at integer not null, target_id blob, actor_id blob,
    actor_name text, doc text not null, primary key (organization_id, id)) strict, without rowid;
create index audit_log_of_target on audit_log (organization_id, target_id,
    id) where target_id is not null;
create index audit_log_of_actor on audit_log (organization_id, actor_id,
    id) where actor_id is not null;
create index audit_log_by_age on audit_log (occurred_at);
create table idempotency_record (organization_id blob not null references organization (id),
    credential text not null, key text not null,
    fingerprint blob not null, status integer not null, body text not null,
        completed_at integer not null,
    primary key (organization_id, credential, key)) strict;
create index idempotency_record_by_age on idempotency_record (completed_at);
insert into organization (id, revision, doc) values (zeroblob(16), 1, '{}');
";
const ORGANIZATION: Uuid = Uuid::nil();
const CREDENTIAL: &str = "key:0192f0c1-2345-7abc-8def-0123456789ab";
/// The time of the first row: 2026-11-30, in microseconds since 1970.
const FIRST_TIME: i64 = 1_796_000_000_000_000;
/// The length in bytes of a portal's summary, which is one item of a list of portals.
const SUMMARY_LENGTH: usize = 130;

store::statements! {
    RECORDED = "select fingerprint, status, body, completed_at from idempotency_record
        where organization_id = ?1 and credential = ?2 and key = ?3";
    LOCK = "update organization set revision = revision + ?2 where id = ?1 returning doc, revision";
    BY_NAME = "select id from portal where organization_id = ?1 and name_key = ?2";
    PORTAL = "insert into portal (organization_id, id, name_key, is_default, created_at, updated_at,
        summary, doc)
        values (?1, ?2, ?3, ?4, ?5, ?5, ?6, ?7) on conflict (organization_id, id) do nothing";
    AUDIT = "insert into audit_log (organization_id, id, occurred_at, target_id, actor_id, doc,
        actor_name)
        values (?1, ?2, ?3, ?4, ?5, ?6, 'bench')";
    RECORD = "insert into idempotency_record
        (organization_id, credential, key, fingerprint, status, body, completed_at)
        values (?1, ?2, ?3, ?4, ?5, ?6, ?7) on conflict
        (organization_id, credential, key) do nothing";
}

/// A load that creates the same portal repeatedly. Each creation has a new idempotency key and is
/// one transaction.
#[derive(Clone)]
pub struct Rows {
    store: Store,
    keys: Keys,
    document: Arc<str>,
    response: Arc<str>,
}

impl Rows {
    /// Opens a new database in `directory`. The rows get their content from `response`, the
    /// service's response to the creation of a portal.
    pub async fn open(directory: &Path, response: &[u8]) -> anyhow::Result<Self> {
        let response = std::str::from_utf8(response)?;
        let envelope: Document = serde_json::from_str(response)?;
        let document = envelope
            .get("data")
            .context("a response without data")?
            .to_string();
        let migrations = Migrations {
            sqlite: Migrations::runner(&[("V1__rows", SCHEMA)]),
            postgres: Migrations::runner(&[]),
        };
        let store = Store::open(
            &format!("sqlite:{}", directory.join("rows.db").display()),
            &migrations,
        )?;
        store
            .read(|tx| {
                STATEMENTS
                    .iter()
                    .try_for_each(|statement| tx.prepare(statement))
            })
            .await?;
        Ok(Self {
            store,
            keys: Keys::default(),
            document: document.into(),
            response: response.into(),
        })
    }

    /// Returns the lengths of the document and of the response, in bytes. A creation writes the
    /// document twice, because the audit entry contains a copy.
    pub fn lengths(&self) -> (usize, usize) {
        (self.document.len(), self.response.len())
    }
}

#[async_trait]
impl StatelessBenchSuite for Rows {
    async fn bench(&mut self, _iteration: &IterInfo) -> anyhow::Result<IterReport> {
        let key = self.keys.next();
        let (scattered, number) = key.as_u64_pair();
        // The ids of portals (`portal`) and of audit entries (`row`) increase, like those that the
        // service creates. The idempotency keys (`key`) are in random order.
        let (portal, row) = (
            Uuid::from_u64_pair(number, scattered),
            Uuid::from_u64_pair(number, !scattered),
        );
        // The time of each creation is later than the time of the previous creation.
        let now = Timestamp::from_microsecond(FIRST_TIME + i64::try_from(number)?)?;
        let key = key.to_string();
        let (document, response) = (
            Value::Json(self.document.to_string()),
            Value::Json(self.response.to_string()),
        );
        let started = Instant::now();
        let create = move |tx: &mut store::Transaction<'_>| -> store::Result<()> {
            let organization = Value::from(ORGANIZATION);
            tx.row(
                &RECORDED,
                &[organization.clone(), CREDENTIAL.into(), (&key).into()],
            )?;
            tx.row(&LOCK, &[organization.clone(), 12_345_i64.into()])?;
            tx.row(&BY_NAME, &[organization.clone(), (&key).into()])?;
            let summary = Value::Json("x".repeat(SUMMARY_LENGTH));
            tx.execute(
                &PORTAL,
                &[
                    organization.clone(),
                    portal.into(),
                    (&key).into(),
                    false.into(),
                    now.into(),
                    summary,
                    document.clone(),
                ],
            )?;
            tx.execute(
                &AUDIT,
                &[
                    organization.clone(),
                    row.into(),
                    now.into(),
                    portal.into(),
                    ORGANIZATION.into(),
                    document,
                ],
            )?;
            let fingerprint = Value::Bytes(vec![0x21; 32]);
            let record = [
                organization,
                CREDENTIAL.into(),
                key.into(),
                fingerprint,
                201_i64.into(),
                response,
                now.into(),
            ];
            tx.execute(&RECORD, &record).map(drop)
        };
        self.store.write(create).await?;
        Ok(IterReport {
            duration: started.elapsed(),
            status: Status::success(0),
            bytes: 0,
            items: 1,
        })
    }
}
