//! The statements that are ready to run on a connection. Usually they are prepared on the server.
//! Behind a pooler in transaction mode, each statement is sent together with the types of its
//! parameters, for which the process asks the server once.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tokio_postgres::types::{ToSql, Type};

use super::link::{Failure, Link};
use super::topology::pooler::Pooling;
use crate::many;
use crate::statement::Statement;

/// A statement in the form in which a connection sends it.
#[derive(Clone)]
pub(super) enum ReadyStatement {
    /// A statement that is prepared on this connection.
    Prepared(tokio_postgres::Statement),
    /// A statement that is not prepared. Its text is sent on every use, together with the types of
    /// its parameters.
    Typed(Arc<TypedText>),
}

/// The text of a statement, and the types of its parameters.
pub(super) struct TypedText {
    pub(super) text: String,
    types: Vec<Type>,
}

impl TypedText {
    /// Pairs each of these values with the type of the statement's parameter at the same position.
    pub(super) fn with<'v>(
        &self,
        values: &[&'v (dyn ToSql + Sync)],
    ) -> Vec<(&'v (dyn ToSql + Sync), Type)> {
        values
            .iter()
            .copied()
            .zip(self.types.iter().cloned())
            .collect()
    }
}

impl ReadyStatement {
    pub(super) fn params(&self) -> &[Type] {
        match self {
            Self::Prepared(statement) => statement.params(),
            Self::Typed(typed) => &typed.types,
        }
    }

    pub(super) fn has_rows(&self) -> bool {
        match self {
            Self::Prepared(statement) => !statement.columns().is_empty(),
            Self::Typed(typed) => typed.text.contains(" returning "),
        }
    }
}

/// Identifies a statement by its memory address. Statements are statics, and hashing an address is
/// cheaper than hashing the SQL text at every use.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    One(usize),
    /// A statement in its form for many rows at once. The number is the memory address of the
    /// [`Statement`].
    Many(usize),
}

fn address(statement: &'static Statement) -> usize {
    std::ptr::from_ref(statement) as usize
}

/// The parameter types of statements that are not prepared. The process asks the server for them
/// once and uses them on every connection.
#[derive(Default)]
pub(super) struct Catalogue(Mutex<HashMap<Key, Arc<TypedText>>>);

/// The statements that are ready on a connection. A statement becomes ready at its first use.
pub(super) struct Statements {
    ready: HashMap<Key, ReadyStatement>,
    /// The parameter types, which all connections share. `None` if statements are prepared on the
    /// connection.
    catalogue: Option<Arc<Catalogue>>,
}

impl Statements {
    pub(super) fn new(pooling: Pooling, catalogue: &Arc<Catalogue>) -> Self {
        let catalogue = (pooling != Pooling::BySession).then(|| catalogue.clone());
        Self {
            ready: HashMap::new(),
            catalogue,
        }
    }

    /// Returns a statement in the form in which this connection sends it. Prepares the statement
    /// first if this connection has not used it before.
    pub(super) fn get(
        &mut self,
        link: &mut Link,
        limit: Duration,
        statement: &'static Statement,
    ) -> Result<ReadyStatement, Failure> {
        let key = Key::One(address(statement));
        match self.ready.get(&key) {
            Some(ready) => Ok(ready.clone()),
            None => self.prepare(link, limit, key, statement.postgres()),
        }
    }

    /// Returns the form of a statement that runs for many rows at once, ready to run. Returns
    /// `None` if the statement has no such form.
    pub(super) fn get_for_many(
        &mut self,
        link: &mut Link,
        limit: Duration,
        statement: &'static Statement,
    ) -> Result<Option<ReadyStatement>, Failure> {
        let key = Key::Many(address(statement));
        if let Some(ready) = self.ready.get(&key) {
            return Ok(Some(ready.clone()));
        }
        // The text of the statement for many rows contains the types of the parameters. The server
        // reports these types when it prepares the statement for one row.
        let for_one = self.get(link, limit, statement)?;
        let Some(text) = many::of_many(
            statement.postgres(),
            for_one.params().iter().map(Type::name),
        ) else {
            return Ok(None);
        };
        self.prepare(link, limit, key, &text).map(Some)
    }

    fn prepare(
        &mut self,
        link: &mut Link,
        limit: Duration,
        key: Key,
        text: &str,
    ) -> Result<ReadyStatement, Failure> {
        let until = Instant::now() + limit;
        let ready = match &self.catalogue {
            None => ReadyStatement::Prepared(
                link.ask(until, async |client| client.prepare(text).await)?,
            ),
            Some(catalogue) => ReadyStatement::Typed(catalogue.typed(link, until, &key, text)?),
        };
        self.ready.insert(key, ready.clone());
        Ok(ready)
    }
}

impl Catalogue {
    fn typed(
        &self,
        link: &mut Link,
        until: Instant,
        key: &Key,
        text: &str,
    ) -> Result<Arc<TypedText>, Failure> {
        let entries = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(typed) = entries().get(key) {
            return Ok(typed.clone());
        }
        let typed = Arc::new(TypedText {
            text: text.to_owned(),
            types: types_of(link, until, text)?,
        });
        entries().insert(*key, typed.clone());
        Ok(typed)
    }
}

/// Asks the server for the types of a statement's parameters. The three statements for that are
/// sent as one text, so they run on one server connection and leave no prepared statement on it.
fn types_of(link: &mut Link, until: Instant, text: &str) -> Result<Vec<Type>, Failure> {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    if !text.contains("$1") {
        return Ok(Vec::new());
    }
    let name = format!(
        "vestibule_{}_{}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    );
    let query = format!(
        "prepare {name} as {text}; select array_to_string(parameter_types::oid[], ' ') from \
            pg_prepared_statements where name = '{name}'; deallocate {name}"
    );
    let oids = link.scalar(until, &query)?.unwrap_or_default();
    Ok(oids
        .split_ascii_whitespace()
        .map(|oid| {
            oid.parse()
                .ok()
                .and_then(Type::from_oid)
                .unwrap_or(Type::UNKNOWN)
        })
        .collect())
}
