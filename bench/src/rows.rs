//! The yardstick for durable writes: the store's own loop, writing rows like those of a created portal.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context as _;
use async_trait::async_trait;
use rlt::{IterInfo, IterReport, StatelessBenchSuite, Status};
use serde_json::Value as Document;
use store::{Migrations, Store, Value};

use crate::keys::Keys;

const SCHEMA: &str = "
create table document (id blob primary key, doc text not null) strict;
create table answer (key text primary key, body text not null) strict, without rowid;
";

store::statements! {
    /// The document of what was created.
    DOCUMENT = "insert into document (id, doc) values (?1, ?2)";
    /// What was answered to its key.
    ANSWER = "insert into answer (key, body) values (?1, ?2)";
}

/// Load: the same two rows over and over, each time under another key, in one transaction.
#[derive(Clone)]
pub struct Rows {
    store: Store,
    keys: Keys,
    document: Arc<str>,
    answer: Arc<str>,
}

impl Rows {
    /// Opens a database in `directory`. The rows are those of `answer`, what the service says to a created portal.
    pub async fn open(directory: &Path, answer: &[u8]) -> anyhow::Result<Self> {
        let answer = std::str::from_utf8(answer)?;
        let envelope: Document = serde_json::from_str(answer)?;
        let document = envelope.get("data").context("an answer without data")?.to_string();
        let migrations = Migrations { sqlite: Migrations::runner(&[("V1__rows", SCHEMA)]), postgres: Migrations::runner(&[]) };
        let store = Store::open(&format!("sqlite:{}", directory.join("rows.db").display()), &migrations)?;
        store.read(|tx| STATEMENTS.iter().try_for_each(|statement| tx.prepare(statement))).await?;
        Ok(Self { store, keys: Keys::default(), document: document.into(), answer: answer.into() })
    }

    /// How long the rows are, in bytes: the document, and the answer.
    pub fn lengths(&self) -> (usize, usize) {
        (self.document.len(), self.answer.len())
    }
}

#[async_trait]
impl StatelessBenchSuite for Rows {
    async fn bench(&mut self, _iteration: &IterInfo) -> anyhow::Result<IterReport> {
        let key = self.keys.next();
        let document = [key.into(), Value::Json(self.document.to_string())];
        let answer = [key.to_string().into(), Value::Json(self.answer.to_string())];
        let begun = Instant::now();
        let insert = move |tx: &mut store::Transaction<'_>| -> store::Result<()> {
            tx.execute(&DOCUMENT, &document)?;
            tx.execute(&ANSWER, &answer).map(drop)
        };
        self.store.write(insert).await?;
        Ok(IterReport { duration: begun.elapsed(), status: Status::success(0), bytes: 0, items: 1 })
    }
}
