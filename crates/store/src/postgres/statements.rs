//! Statements as a connection knows them: prepared on it once, or, where each transaction has another connection to the server, with
//! the types of their parameters, which the process has asked for once.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tokio_postgres::types::{ToSql, Type};

use super::link::{Failure, Link};
use super::pooler::Pooling;
use crate::many;
use crate::several::of_several;
use crate::statement::Statement;

/// A statement that can be run.
#[derive(Clone)]
pub(super) enum Known {
    /// The server has it, on this connection.
    Prepared(tokio_postgres::Statement),
    /// It is sent each time.
    Typed(Arc<Typed>),
}

/// A statement, and what it takes.
pub(super) struct Typed {
    pub(super) text: String,
    types: Vec<Type>,
}

impl Typed {
    /// These values with their types.
    pub(super) fn with<'v>(&self, values: &[&'v (dyn ToSql + Sync)]) -> Vec<(&'v (dyn ToSql + Sync), Type)> {
        values.iter().copied().zip(self.types.iter().cloned()).collect()
    }
}

impl Known {
    /// The types of its parameters.
    pub(super) fn params(&self) -> &[Type] {
        match self {
            Self::Prepared(statement) => statement.params(),
            Self::Typed(typed) => &typed.types,
        }
    }

    /// Whether it answers with rows.
    pub(super) fn has_rows(&self) -> bool {
        match self {
            Self::Prepared(statement) => !statement.columns().is_empty(),
            Self::Typed(typed) => typed.text.contains(" returning "),
        }
    }
}

/// Which statement: by its address, because they are statics, and a text as key would be hashed at every use.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Key {
    One(usize),
    /// The one for many rows.
    Many(usize),
    /// Several as one.
    Several(Box<[usize]>),
}

fn address(statement: &'static Statement) -> usize {
    std::ptr::from_ref(statement) as usize
}

/// What the process knows of statements that no connection keeps.
#[derive(Default)]
pub(super) struct Catalogue(Mutex<HashMap<Key, Arc<Typed>>>);

/// The statements of a connection.
pub(super) struct Statements {
    known: HashMap<Key, Known>,
    /// Where they are sent with their types.
    catalogue: Option<Arc<Catalogue>>,
}

impl Statements {
    pub(super) fn new(pooling: Pooling, catalogue: &Arc<Catalogue>) -> Self {
        let catalogue = (pooling != Pooling::BySession).then(|| catalogue.clone());
        Self { known: HashMap::new(), catalogue }
    }

    /// A statement, which is asked about on this connection if that has not been done.
    pub(super) fn get(&mut self, link: &mut Link, limit: Duration, statement: &'static Statement) -> Result<Known, Failure> {
        let key = Key::One(address(statement));
        match self.known.get(&key) {
            Some(known) => Ok(known.clone()),
            None => self.learn(link, limit, key, statement.postgres()),
        }
    }

    /// The same for many rows; none where it cannot be run for many.
    pub(super) fn get_for_many(
        &mut self,
        link: &mut Link,
        limit: Duration,
        statement: &'static Statement,
    ) -> Result<Option<Known>, Failure> {
        let key = Key::Many(address(statement));
        if let Some(known) = self.known.get(&key) {
            return Ok(Some(known.clone()));
        }
        // The database knows of what type each parameter is, in the statement for one row.
        let for_one = self.get(link, limit, statement)?;
        let Some(text) = many::of_many(statement.postgres(), for_one.params().iter().map(Type::name)) else { return Ok(None) };
        self.learn(link, limit, key, &text).map(Some)
    }

    /// The same for several as one, each with how many parameters it has.
    pub(super) fn get_for_several(
        &mut self,
        link: &mut Link,
        limit: Duration,
        statements: &[(&'static Statement, usize)],
    ) -> Result<Known, Failure> {
        let key = Key::Several(statements.iter().map(|(statement, _)| address(statement)).collect());
        match self.known.get(&key) {
            Some(known) => Ok(known.clone()),
            None => self.learn(link, limit, key, &of_several(statements.iter().map(|(statement, params)| (statement.postgres(), *params)))),
        }
    }

    fn learn(&mut self, link: &mut Link, limit: Duration, key: Key, text: &str) -> Result<Known, Failure> {
        let until = Instant::now() + limit;
        let known = match &self.catalogue {
            None => Known::Prepared(link.ask(until, async |client| client.prepare(text).await)?),
            Some(catalogue) => Known::Typed(catalogue.typed(link, until, &key, text)?),
        };
        self.known.insert(key, known.clone());
        Ok(known)
    }
}

impl Catalogue {
    fn typed(&self, link: &mut Link, until: Instant, key: &Key, text: &str) -> Result<Arc<Typed>, Failure> {
        let kept = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(typed) = kept().get(key) {
            return Ok(typed.clone());
        }
        let typed = Arc::new(Typed { text: text.to_owned(), types: types_of(link, until, text)? });
        kept().insert(key.clone(), typed.clone());
        Ok(typed)
    }
}

/// The types of a statement's parameters, as the server finds them. What is said together is said on one connection to the server,
/// and leaves nothing on it.
fn types_of(link: &mut Link, until: Instant, text: &str) -> Result<Vec<Type>, Failure> {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    if !text.contains("$1") {
        return Ok(Vec::new());
    }
    let name = format!("vestibule_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let asked = format!(
        "prepare {name} as {text}; \
         select array_to_string(parameter_types::oid[], ' ') from pg_prepared_statements where name = '{name}'; \
         deallocate {name}"
    );
    let told = link.word(until, &asked)?.unwrap_or_default();
    Ok(told.split_ascii_whitespace().map(|oid| oid.parse().ok().and_then(Type::from_oid).unwrap_or(Type::UNKNOWN)).collect())
}
