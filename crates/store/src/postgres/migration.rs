//! Migrates the schema to this program's version, while nodes of the previous version continue to
//! use the database.
//!
//! A migration locks tables one after another. Operations in progress have locks on other tables,
//! so the migration and an operation can deadlock. The migration therefore waits only briefly for a
//! table: less than the server's deadlock check (`deadlock_timeout`, 1 s), and far less than an
//! operation's limit. If that wait is not enough, the whole migration is rolled back and begins
//! again after a delay.

use std::time::Duration;

use tokio::time::Instant;
use tokio_postgres::error::SqlState;

use super::link::{Failure, Link};
use super::topology;
use super::topology::citus::Sharding;
use crate::WAIT_LIMIT;
use crate::error::{Error, Result, describe, newer_version_message};

/// Key of the advisory lock that a migration has until its end. If several nodes start at once, one
/// of them migrates and the others wait for this lock.
const MIGRATION_LOCK: i64 = 0x5645_5354_4942_554c;
/// Limit for the wait for the migration lock, and for the migration itself.
pub(super) const MIGRATION_LIMIT: Duration = Duration::from_hours(1);
/// Removes the server's time limits for the session of a migration, including those in the role's
/// settings.
const NO_TIME_LIMITS: &str =
    "set statement_timeout = 0; set lock_timeout = 0; set idle_in_transaction_session_timeout = 0";
/// Sets the longest wait for a table that other transactions use.
const SHORT_LOCK_TIMEOUT: &str = "set lock_timeout = '300ms'";
/// Delay before a migration step is repeated, if it failed because another transaction holds a
/// lock. After each further failure the delay doubles, up to [`MAX_DELAY`].
const FIRST_DELAY: Duration = Duration::from_millis(200);
const MAX_DELAY: Duration = Duration::from_secs(2);

/// The error message for a URL that leads to a pooler in transaction mode, through which no
/// migration can run.
pub(super) const POOLER_REFUSAL: &str = "it is behind a pooler that pools by transaction, and a \
    migration needs a lock of its own session: set --database-url, or --database-direct-url beside \
    it, to the address of the server itself";
/// Query for the applied migrations.
const APPLIED: &str = "select coalesce(string_agg(version || ' ' || name, ',' order by version), \
    '') from refinery_schema_history";

/// Fails if the database lacks some of these migrations, or has migrations unknown to this program.
/// Blocks the thread while it waits for the database.
pub(super) fn assert_migrated(link: &mut Link, migrations: &refinery_core::Runner) -> Result<()> {
    let applied = match link.scalar(Instant::now() + WAIT_LIMIT, APPLIED) {
        Ok(applied) => applied.unwrap_or_default(),
        Err(Failure::Server(error)) if error.code() == Some(&SqlState::UNDEFINED_TABLE) => {
            String::new()
        }
        Err(failure) => return Err(Error::Configuration(failure.to_string())),
    };
    let applied: Vec<&str> = applied
        .split(',')
        .filter(|migration| !migration.is_empty())
        .collect();
    let program_migrations: Vec<String> = migrations
        .get_migrations()
        .iter()
        .map(|one| format!("{} {}", one.version(), one.name()))
        .collect();
    if let Some(unknown) = applied
        .iter()
        .find(|migration| !program_migrations.iter().any(|name| name == *migration))
    {
        let (version, name) = unknown.split_once(' ').unwrap_or((unknown, ""));
        return Err(Error::Configuration(newer_version_message(format_args!(
            "V{version}__{name}"
        ))));
    }
    if applied.len() < program_migrations.len() {
        return Err(Error::Configuration(
            "its schema is of an older version of this program, and cannot be migrated through a \
                pooler that pools by transaction: first run vestibule migrate with the address of \
                the server itself, or set that as --database-direct-url"
                .into(),
        ));
    }
    Ok(())
}

/// Migrates the schema to the newest of these migrations, on every server of a distributed
/// database. Blocks.
pub(super) fn migrate(
    link: &mut Link,
    migrations: &refinery_core::Runner,
    sharding: Option<&'static Sharding>,
) -> Result<()> {
    let until = Instant::now() + MIGRATION_LIMIT;
    link.run(until, NO_TIME_LIMITS)?;
    link.run(until, &format!("select pg_advisory_lock({MIGRATION_LOCK})"))?;
    let topology = topology::detect(link, until, sharding)?;
    link.run(until, SHORT_LOCK_TIMEOUT)?;
    let report = retry_on_lock_conflict(until, || topology.migrate(link, until, migrations))?;
    if !report.applied_migrations().is_empty() {
        retry_on_lock_conflict(until, || topology.place_tables(link, until))?;
    }
    link.run(
        until,
        &format!("select pg_advisory_unlock({MIGRATION_LOCK})"),
    )?;
    Ok(())
}

/// Runs `attempt`. If it fails because another transaction has a lock, runs it again after a delay,
/// until it succeeds or `until` has passed.
fn retry_on_lock_conflict<T>(
    until: Instant,
    mut attempt: impl FnMut() -> Result<T, MigrationFailure>,
) -> Result<T> {
    let mut delay = FIRST_DELAY;
    loop {
        let failure = match attempt() {
            Ok(done) => return Ok(done),
            Err(failure) => failure,
        };
        let Some(cause) = failure
            .lock_conflict()
            .filter(|_| Instant::now() + delay < until)
        else {
            return Err(failure.into());
        };
        tracing::warn!(
            cause,
            milliseconds = delay.as_millis(),
            "a table is in use; the migration starts again after a pause"
        );
        std::thread::sleep(delay);
        delay = MAX_DELAY.min(2 * delay);
    }
}

/// The reason why a step of a migration failed.
#[derive(Debug)]
pub(super) enum MigrationFailure {
    Migration(refinery_core::Error),
    Layout(Failure),
    /// A permanent error. A retry does not help.
    Refused(Error),
}

impl MigrationFailure {
    /// Returns the server's message if the failure was only a conflict with locks of other
    /// transactions.
    fn lock_conflict(&self) -> Option<String> {
        let server_error = match self {
            Self::Migration(error) => {
                let refinery_core::error::Kind::Connection(_, cause) = error.kind() else {
                    return None;
                };
                cause.downcast_ref::<tokio_postgres::Error>()?
            }
            Self::Layout(Failure::Server(error)) => error,
            Self::Layout(_) | Self::Refused(_) => return None,
        };
        [
            SqlState::LOCK_NOT_AVAILABLE,
            SqlState::T_R_DEADLOCK_DETECTED,
        ]
        .contains(server_error.code()?)
        .then(|| describe(server_error))
    }
}

impl From<refinery_core::Error> for MigrationFailure {
    fn from(error: refinery_core::Error) -> Self {
        Self::Migration(error)
    }
}

impl From<Failure> for MigrationFailure {
    fn from(failure: Failure) -> Self {
        Self::Layout(failure)
    }
}

impl From<Error> for MigrationFailure {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl From<MigrationFailure> for Error {
    fn from(failure: MigrationFailure) -> Self {
        match failure {
            MigrationFailure::Migration(error) => error.into(),
            MigrationFailure::Layout(failure) => failure.into(),
            MigrationFailure::Refused(error) => error,
        }
    }
}
