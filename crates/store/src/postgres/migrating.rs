//! Bringing the schema to this program's version, while nodes of the version before go on with it.
//!
//! A migration takes tables for itself, one after another, and operations under way hold others: each may wait for the other.
//! So it waits for a table a moment only, less than the server takes to look for such a knot (`deadlock_timeout`, 1 s) and far
//! less than an operation's patience. Where that is not enough it is undone as a whole, and begun again after a pause.

use std::time::Duration;

use refinery_core::traits::r#async::{AsyncMigrate, AsyncQuery, AsyncTransaction};
use tokio::time::Instant;
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use super::link::{Failure, Link};
use super::spread::{self, Spread};
use crate::WAIT_LIMIT;
use crate::error::{Error, Result, of_a_newer_version, told};

/// Held while migrating, so that of several nodes starting at once one migrates and the others wait.
const MIGRATION_LOCK: i64 = 0x5645_5354_4942_554c;
/// How long that, and migrating, may take.
pub(super) const MIGRATION_LIMIT: Duration = Duration::from_hours(1);
/// What a migration may take is not for the server to say, whatever the role's settings are.
const PATIENT_SESSION: &str = "set statement_timeout = 0; set lock_timeout = 0; set idle_in_transaction_session_timeout = 0";
/// But for the tables that others use.
const BRIEFLY: &str = "set lock_timeout = '300ms'";
/// Between two attempts at first, and then twice as long each time.
const PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// What is said where a pooler stands in the way.
pub(super) const PAST_THE_POOLER: &str = "there is a pooler before it that works by transaction, and a migration holds a lock of its \
    session: give the address of the server itself, as --database-url or beside it as --database-direct-url";
/// Which migrations a database has, as it is noted along with them.
const APPLIED: &str = "select coalesce(string_agg(version || ' ' || name, ',' order by version), '') from refinery_schema_history";

/// Refuses a database that lacks some of these migrations, or has others. Blocks.
pub(super) fn assert_done(link: &mut Link, migrations: &refinery_core::Runner) -> Result<()> {
    let applied = match link.word(Instant::now() + WAIT_LIMIT, APPLIED) {
        Ok(applied) => applied.unwrap_or_default(),
        Err(Failure::Told(error)) if error.code() == Some(&SqlState::UNDEFINED_TABLE) => String::new(),
        Err(failure) => return Err(Error::Configuration(failure.to_string())),
    };
    let applied: Vec<&str> = applied.split(',').filter(|migration| !migration.is_empty()).collect();
    let known: Vec<String> = migrations.get_migrations().iter().map(|one| format!("{} {}", one.version(), one.name())).collect();
    if let Some(unknown) = applied.iter().find(|migration| !known.iter().any(|known| known == *migration)) {
        let (version, name) = unknown.split_once(' ').unwrap_or((unknown, ""));
        return Err(Error::Configuration(of_a_newer_version(format_args!("V{version}__{name}"))));
    }
    if applied.len() < known.len() {
        return Err(Error::Configuration(
            "it is of an older version of this program, and is not migrated through the pooler before it, which works by transaction: \
             run vestibule migrate with the address of the server itself first, or give that as --database-direct-url"
                .into(),
        ));
    }
    Ok(())
}

/// Brings the schema to the newest of these, on every server where it is `spread`. Blocks.
pub(super) fn migrate(link: &mut Link, migrations: &refinery_core::Runner, spread: Option<&Spread>) -> Result<()> {
    let until = Instant::now() + MIGRATION_LIMIT;
    link.run(until, PATIENT_SESSION)?;
    link.run(until, &format!("select pg_advisory_lock({MIGRATION_LOCK})"))?;
    let is_spread = spread::is_spread(link, until)?;
    link.run(until, BRIEFLY)?;
    let done = again_and_again(until, || {
        let migrating = link.drive(until, async |client| {
            if is_spread { migrations.run_async(&mut Piecewise(client)).await } else { migrations.run_async(client).await }
        });
        Ok(migrating??)
    })?;
    if let Some(spread) = spread.filter(|_| is_spread && !done.applied_migrations().is_empty()) {
        again_and_again(until, || spread::lay_out(link, until, spread))?;
    }
    link.run(until, &format!("select pg_advisory_unlock({MIGRATION_LOCK})"))?;
    Ok(())
}

/// Tries until it is done, or fails for more than what others do at the moment.
fn again_and_again<T>(until: Instant, mut attempt: impl FnMut() -> Result<T, Trouble>) -> Result<T> {
    let mut pause = PAUSE;
    loop {
        let trouble = match attempt() {
            Ok(done) => return Ok(done),
            Err(trouble) => trouble,
        };
        let Some(cause) = trouble.others_are_at_it().filter(|_| Instant::now() + pause < until) else {
            return Err(trouble.into());
        };
        tracing::warn!(cause, milliseconds = pause.as_millis(), "a table is in use; the migration is begun again after a pause");
        std::thread::sleep(pause);
        pause = LONGEST_PAUSE.min(2 * pause);
    }
}

/// Why something of a migration is not done.
#[derive(Debug)]
pub(super) enum Trouble {
    Migration(refinery_core::Error),
    Layout(Failure),
    /// For nothing that would pass.
    Refused(Error),
}

impl Trouble {
    /// What the server says where it has failed for nothing but what others do at the moment.
    fn others_are_at_it(&self) -> Option<String> {
        let said = match self {
            Self::Migration(error) => {
                let refinery_core::error::Kind::Connection(_, cause) = error.kind() else { return None };
                cause.downcast_ref::<tokio_postgres::Error>()?
            }
            Self::Layout(Failure::Told(error)) => error,
            Self::Layout(_) | Self::Refused(_) => return None,
        };
        [SqlState::LOCK_NOT_AVAILABLE, SqlState::T_R_DEADLOCK_DETECTED].contains(said.code()?).then(|| told(said))
    }
}

impl From<refinery_core::Error> for Trouble {
    fn from(error: refinery_core::Error) -> Self {
        Self::Migration(error)
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self::Layout(failure)
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl From<Trouble> for Error {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Migration(error) => error.into(),
            Trouble::Layout(failure) => failure.into(),
            Trouble::Refused(error) => error,
        }
    }
}

/// Runs migrations a statement at a time: of several in one text, Citus would send the whole text on for each.
struct Piecewise<'c>(&'c mut Client);

impl AsyncTransaction for Piecewise<'_> {
    type Error = tokio_postgres::Error;

    async fn execute<'a, T: Iterator<Item = &'a str> + Send + 'a>(&mut self, queries: T) -> Result<usize, Self::Error> {
        let transaction = self.0.transaction().await?;
        let mut count = 0;
        for query in queries {
            for statement in statements_of(query) {
                transaction.batch_execute(statement).await?;
            }
            count += 1;
        }
        transaction.commit().await?;
        Ok(count)
    }
}

impl AsyncQuery<Vec<refinery_core::Migration>> for Piecewise<'_> {
    async fn query(&mut self, query: &str) -> Result<Vec<refinery_core::Migration>, Self::Error> {
        AsyncQuery::query(self.0, query).await
    }
}

impl AsyncMigrate for Piecewise<'_> {}

/// The statements of a migration, each of which ends with its line.
fn statements_of(migration: &str) -> impl Iterator<Item = &str> {
    migration.split(";\n").map(str::trim).filter(|statement| !statement.is_empty())
}
