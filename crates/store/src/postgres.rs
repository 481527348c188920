//! The PostgreSQL backend: a pool of connections. Each read is a transaction on one connection, run
//! on a blocking thread. The queued writes of one organization also run on a blocking thread,
//! together in one transaction ([`group_commit`]). Look-ups that are answered by one query
//! ([`crate::batch_lookup`]) use a reserved connection without a transaction, so they wait for no
//! other work.
//!
//! A function that gives work to this backend and gets [`Error::Unavailable`] can rely on this:
//!
//! - If the error comes before the work has begun, the work never begins. The waiting function and
//!   the thread of the work both try to change [`Progress`], and the first one decides. The thread
//!   tries only after it has a connection.
//! - If the error comes later, because the deadline passed, nothing is committed. [`Connection`]
//!   checks the deadline before each statement, including the commit. The waiting function gets the
//!   error only after the deadline, so no statement is sent after the error.
//! - The remaining case is a commit that was sent in time and not confirmed in time. This process
//!   does not know its outcome. The work and the record of its idempotency key are in one
//!   transaction, so a retry with the same key reports the outcome.

pub(crate) mod connection;
mod group_commit;
mod link;
mod migration;
mod pool;
mod statements;
mod statistics;
pub(crate) mod topology;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::Instant;
use tokio_postgres::config::TargetSessionAttrs;

use self::connection::{COMMIT, Connection};
use self::group_commit::{QueuedWrite, WriteTurn, commit_group};
use self::link::{Connector, Failure, Link};
use self::pool::Pool;
use self::statements::Catalogue;
use self::topology::Topology;
use self::topology::pooler::{self, Pooling};
use self::topology::replicas::Replicas;
use crate::error::{Error, Result};
use crate::examination::Examination;
use crate::job::{self, Progress, Work, WorkError};
use crate::queue::Queue;
use crate::shares::Shares;
use crate::{Handle, Load, Options, Share, Transaction, WAIT_LIMIT, WORK_LIMIT, WaitTotals};

/// Connections for each core of this machine. While some of them wait for the disk during a commit,
/// the others use the cores.
const CONNECTIONS_PER_CORE: usize = 8;
/// Maximum number of connections. Each connection in use occupies a blocking thread, and the
/// process has 512 of those threads.
const MAX_CONNECTIONS: usize = 256;
/// Maximum number of connections to a replica.
const CONNECTIONS_TO_A_REPLICA: usize = 64;
/// Number of connections reserved for batched look-ups, such as those of callers by token.
const LOOKUP_CONNECTIONS: usize = 1;
/// Minimum number of connections: one for look-ups, and one for all other work.
const MIN_CONNECTIONS: usize = LOOKUP_CONNECTIONS + 1;

#[derive(Clone)]
pub(crate) struct Postgres(Arc<PostgresInner>);

struct PostgresInner {
    pool: Arc<Pool>,
    /// The pool of the connections for look-ups.
    lookup_pool: Arc<Pool>,
    /// Replicas for [`crate::Store::read_from_replica`].
    replicas: Replicas,
    shares: Shares,
    /// Queued writes, by share. A share has one write transaction at a time, because a second one
    /// would wait for the organization's lock.
    writes: Queue<QueuedWrite>,
    permits: Arc<Semaphore>,
    /// Number of tasks that wait for a connection. A task that gets a connection runs the write
    /// whose turn it is.
    waiting_tasks: AtomicUsize,
    queued: AtomicUsize,
    size: usize,
    waits: AtomicU64,
    waited_micros: AtomicU64,
}

impl Postgres {
    /// Opens a database and migrates it. Also returns whether the database had no schema before.
    pub(crate) fn open(
        url: &str,
        migrations: &refinery_core::Runner,
        options: &Options,
    ) -> Result<(Self, bool)> {
        let connector = Arc::new(Connector::new(url, TargetSessionAttrs::ReadWrite)?);
        let MigratedDatabase {
            pooling,
            topology,
            is_new,
            allowed,
        } = prepare_schema(&connector, migrations, options)?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let size = options
            .connections
            .unwrap_or(CONNECTIONS_PER_CORE * cores)
            .clamp(MIN_CONNECTIONS, MAX_CONNECTIONS);
        // The server's connection limit does not apply behind a pooler, because a pooler may accept
        // more connections than it opens to the server.
        let allowed = allowed.filter(|_| pooling == Pooling::BySession);
        let size = match allowed.filter(|allowed| *allowed < size) {
            Some(allowed) => {
                tracing::warn!(
                    wanted = size,
                    allowed,
                    "the database allows fewer connections than this process would use, so it uses \
                        these; raise max_connections or the limit of the role"
                );
                allowed.max(MIN_CONNECTIONS)
            }
            None => size,
        };
        let for_work = size - LOOKUP_CONNECTIONS;
        let catalogue = Arc::new(Catalogue::default());
        let pool = |session| {
            Arc::new(Pool::new(
                connector.clone(),
                pooling,
                session,
                catalogue.clone(),
                topology.clone(),
            ))
        };
        let opened = Self(Arc::new(PostgresInner {
            pool: pool(pooling.session().map(str::to_owned)),
            lookup_pool: pool(pooling.session_for_lookups(topology.lookup_plans())),
            replicas: Replicas::at(
                &options.replicas,
                for_work.min(CONNECTIONS_TO_A_REPLICA),
                &catalogue,
                &topology,
            )?,
            // One share gets at most half of the connections, so a busy share cannot block the
            // others.
            shares: Shares::new(for_work.div_ceil(2)),
            writes: Queue::new(1),
            permits: Arc::new(Semaphore::new(for_work)),
            waiting_tasks: AtomicUsize::default(),
            queued: AtomicUsize::default(),
            size,
            waits: AtomicU64::default(),
            waited_micros: AtomicU64::default(),
        }));
        Ok((opened, is_new))
    }

    pub(crate) async fn read<T: Send + 'static, E: WorkError>(
        &self,
        share: Share,
        limit: Duration,
        work: impl Work<T, E>,
    ) -> Result<T, E> {
        let requested_at = Instant::now();
        let permits = self.permits(share, requested_at).await?;
        let (sender, receiver) = oneshot::channel();
        let progress = Progress::default();
        let (thread_progress, postgres) = (progress.clone(), self.clone());
        tokio::task::spawn_blocking(move || {
            let outcome = match postgres.0.pool.take(requested_at + WAIT_LIMIT) {
                // The task that requested the work no longer waits for it, so the work is not run.
                Ok(connection) if !thread_progress.begin() => {
                    return postgres.0.pool.take_back(connection, true);
                }
                Ok(mut connection) => {
                    connection.ready(
                        Some(postgres.0.pool.pooling.begin_reading()),
                        true,
                        requested_at + WAIT_LIMIT,
                        requested_at + limit,
                    );
                    read_on(&postgres.0.pool, connection, work).0
                }
                Err(error) => Ok(Err(E::from(error))),
            };
            // Release the connection before the answer is sent, so that the task that gets the
            // answer finds the connection free for its next work.
            drop(permits);
            drop(sender.send(outcome));
        });
        job::answer(requested_at, limit, true, progress, receiver).await
    }

    pub(crate) fn is_sharded(&self) -> bool {
        self.0.pool.is_sharded()
    }

    pub(crate) fn has_replicas(&self) -> bool {
        !self.0.replicas.is_empty()
    }

    pub(crate) async fn read_from_replica<T: Send + 'static, E: WorkError>(
        &self,
        work: impl Work<T, E>,
    ) -> Option<Result<T, E>> {
        self.0.replicas.read(work).await
    }

    pub(crate) async fn write<T: Send + 'static, E: WorkError>(
        &self,
        share: Share,
        limit: Duration,
        work: impl Work<T, E>,
    ) -> Result<T, E> {
        let requested_at = Instant::now();
        let (sender, receiver) = oneshot::channel();
        let progress = Progress::default();
        let write = QueuedWrite::new(requested_at, limit, progress.clone(), work, sender);
        if share.is_some() {
            if self.0.writes.push(share, write)? {
                self.start_write_task();
            }
        } else {
            // A write without a share is the program's own and belongs to no organization. Such
            // writes may run in any order, so they are not queued.
            let (_, permit) = self.permits(None, requested_at).await?;
            let pool = self.0.pool.clone();
            tokio::task::spawn_blocking(move || {
                let outcome = commit_group(
                    &pool,
                    write,
                    WriteTurn {
                        queue: None,
                        share: None,
                    },
                );
                // Release the connection before the answer is sent, so that the connection is
                // already free when the code that gets the answer starts its next work.
                drop(permit);
                outcome.send();
            });
        }
        job::answer(requested_at, limit, false, progress, receiver).await
    }

    /// Starts a task that waits for a connection and then runs the write whose turn it is. Starts
    /// no task if as many tasks wait as there are connections, because one of these tasks will run
    /// the write.
    fn start_write_task(&self) {
        let waiting = &self.0.waiting_tasks;
        if waiting.fetch_add(1, Ordering::SeqCst) >= self.0.size {
            waiting.fetch_sub(1, Ordering::SeqCst);
            return;
        }
        let postgres = self.clone();
        tokio::spawn(async move {
            let inner = &postgres.0;
            let permit = inner.permits.clone().acquire_owned().await;
            // `waiting_tasks` must fall before a write is removed from the queue. While it is at
            // its maximum, a function that adds a write to the queue starts no task, and relies on
            // one of the counted tasks to run that write.
            inner.waiting_tasks.fetch_sub(1, Ordering::SeqCst);
            let (Ok(permit), Some(turn)) = (permit, inner.writes.pop_if_brief(Duration::MAX))
            else {
                return;
            };
            let postgres = postgres.clone();
            tokio::task::spawn_blocking(move || postgres.commit(turn, permit));
        });
    }

    /// Runs the write whose turn it is. Then runs the writes of the next turns, as long as no read
    /// waits for a connection.
    fn commit(&self, turn: (Share, QueuedWrite), permit: OwnedSemaphorePermit) {
        let inner = &self.0;
        let (mut permit, mut turn) = (Some(permit), Some(turn));
        while let Some((share, first)) = turn.take() {
            inner.count_wait(first.requested_at());
            let outcome = commit_group(
                &inner.pool,
                first,
                WriteTurn {
                    queue: Some(&inner.writes),
                    share,
                },
            );
            inner.writes.done(share, outcome.took);
            if inner.queued.load(Ordering::Relaxed) == 0 {
                turn = inner.writes.pop_if_brief(Duration::MAX);
            }
            if turn.is_none() {
                // Release the connection before the answers are sent. The functions that wait for
                // the answers may send more work at once, and it then finds this connection free.
                permit = None;
                if inner.writes.has_turn() {
                    // The writes that remain in the queue wait for a connection like any other
                    // work.
                    self.start_write_task();
                }
            }
            outcome.send();
        }
        drop(permit);
    }

    /// Runs `find`, which looks something up. On the server each of its statements is a transaction
    /// of its own. After the loss of a connection the statements are sent again on another
    /// connection, so they must be repeatable. Blocks. The threads that call this method share one
    /// connection, so only one may call it at a time.
    pub(crate) fn look_up<T, E: WorkError>(
        &self,
        find: impl FnOnce(&mut Transaction<'_>) -> Result<T, E>,
    ) -> Result<Result<T, E>, job::Panic> {
        let until = Instant::now() + WAIT_LIMIT;
        let mut connection = match self.0.lookup_pool.take(until) {
            Ok(connection) => connection,
            Err(error) => return Ok(Err(error.into())),
        };
        let begin = connection.pooling.begin_looking();
        connection.ready(begin, true, until, until);
        let values = catch_unwind(AssertUnwindSafe(|| {
            find(&mut Transaction::new(
                Handle::Postgres(&mut connection),
                true,
            ))
        }));
        let is_outside = values.is_ok()
            && (begin.is_none()
                || !connection.has_sent()
                || connection.send_without_waiting(COMMIT).is_ok());
        self.0.lookup_pool.take_back(connection, is_outside);
        values
    }

    /// Acquires the permits to use a connection: first a permit of the share, then one of the
    /// permits for all work.
    async fn permits(
        &self,
        share: Share,
        requested_at: Instant,
    ) -> Result<(Option<OwnedSemaphorePermit>, OwnedSemaphorePermit)> {
        let (inner, until) = (&self.0, requested_at + WAIT_LIMIT);
        let _queued = CountGuard::new(&inner.queued);
        let permits = async {
            let of_share = inner.shares.hold(share, until).await?;
            match tokio::time::timeout_at(until, inner.permits.clone().acquire_owned()).await {
                Ok(Ok(of_all)) => Ok((of_share, of_all)),
                _ => Err(Error::Unavailable("all connections are in use".into())),
            }
        };
        let permits = permits.await;
        inner.count_wait(requested_at);
        permits
    }

    pub(crate) async fn refresh_statistics(&self) -> Result<()> {
        self.write(None, WORK_LIMIT, |tx: &mut Transaction<'_>| {
            tx.execute(&statistics::REFRESH, &[]).map(drop)
        })
        .await
    }

    pub(crate) fn load(&self) -> Load {
        let inner = &self.0;
        let busy = inner.size - LOOKUP_CONNECTIONS - inner.permits.available_permits();
        Load {
            queued: inner.queued.load(Ordering::Relaxed) + inner.writes.len(),
            busy,
            size: inner.size,
        }
    }

    pub(crate) fn wait_totals(&self) -> WaitTotals {
        let micros = self.0.waited_micros.load(Ordering::Relaxed);
        WaitTotals {
            count: self.0.waits.load(Ordering::Relaxed),
            time: Duration::from_micros(micros),
        }
    }

    pub(crate) fn dropped_connections(&self) -> u64 {
        self.0.pool.dropped() + self.0.lookup_pool.dropped()
    }
}

/// Facts about a database, read before its schema is migrated: whether the database has no schema
/// of this program (`is_new`), and how many connections the role may have at once (`allowed`).
struct UnmigratedDatabase {
    is_new: bool,
    allowed: Option<usize>,
}

/// Query for the encoding of a database. Only UTF8 is accepted.
const ENCODING: &str = "show server_encoding";
/// Query that returns a row if the database has a schema of this program.
const HAS_SCHEMA: &str = "select 'yes' where to_regclass('refinery_schema_history') is not null";
/// Query for the number of connections that the role may have at once.
const ALLOWED_CONNECTIONS: &str = "select least(
        current_setting('max_connections')::int
            - current_setting('superuser_reserved_connections')::int,
        (select nullif(rolconnlimit, -1) from pg_roles where rolname = current_user),
        (select nullif(datconnlimit, -1) from pg_database where datname = current_database())
    )::text";

/// Examines a database before its schema is migrated. Refuses an encoding that cannot represent
/// every text.
fn examine_unmigrated(link: &mut Link) -> Result<UnmigratedDatabase> {
    let unusable = |failure: Failure| Error::Configuration(failure.to_string());
    let until = Instant::now() + WAIT_LIMIT;
    let encoding = link.scalar(until, ENCODING).map_err(unusable)?;
    if let Some(encoding) = encoding.filter(|encoding| encoding != "UTF8") {
        return Err(Error::Configuration(format!(
            "its encoding is {encoding}, which cannot hold every text; make a database with create \
                database … encoding 'UTF8' template template0, and move the data there"
        )));
    }
    let allowed = link.scalar(until, ALLOWED_CONNECTIONS).map_err(unusable)?;
    Ok(UnmigratedDatabase {
        is_new: link.scalar(until, HAS_SCHEMA).map_err(unusable)?.is_none(),
        allowed: allowed.and_then(|allowed| allowed.parse().ok()),
    })
}

/// Query for the version of the server.
const SERVER_VERSION: &str = "show server_version";
/// Query for the schema in which the role creates tables.
const CURRENT_SCHEMA: &str = "select coalesce(current_schema(), '')";
/// Query that returns a row if the role may create tables in its current schema.
const MAY_CREATE_TABLES: &str =
    "select 'yes' where has_schema_privilege(current_schema(), 'create')";
/// Query that returns a row if a table of this program belongs to a role of which the role of this
/// connection is not a member. Only a member of the owner can change the table.
const FOREIGN_TABLE: &str = "select tablename || ' belongs to ' || tableowner from pg_tables
    where schemaname = current_schema() and tablename in ('organization',
        'refinery_schema_history') and not pg_has_role(current_user, tableowner, 'member') limit 1";
/// Query for the server's time in milliseconds since 1970.
const SERVER_TIME: &str = "select (extract(epoch from clock_timestamp()) * 1000)::bigint::text";

/// Examines a database without changing it.
pub(crate) fn examine(url: &str, options: &Options) -> Result<Examination> {
    let unusable = |failure: Failure| Error::Configuration(failure.to_string());
    let connector = Connector::new(url, TargetSessionAttrs::ReadWrite)?;
    let until = Instant::now() + WAIT_LIMIT;
    let mut link = connector.connect(until).map_err(unusable)?;
    let mut examination = Examination {
        now: link
            .scalar(until, SERVER_TIME)
            .map_err(unusable)?
            .and_then(|time| time.parse().ok()),
        ..Examination::default()
    };
    let version = link.scalar(until, SERVER_VERSION).map_err(unusable)?;
    examination
        .facts
        .push(format!("PostgreSQL {}", version.unwrap_or_default()));
    match examine_unmigrated(&mut link) {
        Ok(UnmigratedDatabase { is_new, allowed }) => {
            examination.is_new = is_new;
            examination.facts.push("encoding UTF8".into());
            examine_connections(&mut examination, allowed, options);
        }
        Err(Error::Configuration(text)) => examination.faults.push((
            text,
            "move the data to a database in UTF8, as the message says".into(),
        )),
        Err(error) => return Err(error),
    }
    examine_privileges(&mut examination, &mut link, until).map_err(unusable)?;
    link.close();
    Ok(examination)
}

/// Adds the number of connections that the database allows to the facts of `examination`. Adds a
/// fault or a note if this number is too small for the service.
fn examine_connections(examination: &mut Examination, allowed: Option<usize>, options: &Options) {
    let Some(allowed) = allowed else { return };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let needed = options
        .connections
        .unwrap_or(CONNECTIONS_PER_CORE * cores)
        .clamp(MIN_CONNECTIONS, MAX_CONNECTIONS);
    examination.facts.push(format!("{allowed} connections"));
    if allowed < MIN_CONNECTIONS {
        examination.faults.push((
            format!("it allows {allowed} connections; this service needs {MIN_CONNECTIONS}"),
            "raise max_connections or the limit of the role or the database".into(),
        ));
    } else if allowed < needed {
        examination.notes.push((
            format!("it allows {allowed} connections; this process would use {needed}"),
            "raise max_connections or the limit of the role, or set --database-connections".into(),
        ));
    }
}

/// Adds a fault to the examination if the role may not create and change tables.
fn examine_privileges(
    examination: &mut Examination,
    link: &mut Link,
    until: Instant,
) -> Result<(), Failure> {
    let schema = link.scalar(until, CURRENT_SCHEMA)?.unwrap_or_default();
    if schema.is_empty() {
        examination.faults.push((
            "the search path of the role names no schema that exists".into(),
            "create schema … authorization ROLE, or set search_path in the URL".into(),
        ));
    } else if link.scalar(until, MAY_CREATE_TABLES)?.is_none() {
        examination.faults.push((
            format!("the role may not create tables in the schema {schema}"),
            format!("grant create on schema {schema} to ROLE"),
        ));
    } else if let Some(foreign) = link.scalar(until, FOREIGN_TABLE)? {
        examination.faults.push((
            format!("the table {foreign}, so the role cannot migrate it"),
            "alter table … owner to ROLE, or grant the owner's role to it".into(),
        ));
    }
    Ok(())
}

/// Facts about a database whose schema has been migrated to this program's version.
struct MigratedDatabase {
    pooling: Pooling,
    topology: Arc<dyn Topology>,
    /// Whether the database had no schema before the migration.
    is_new: bool,
    /// The lowest of the connection limits of the server, the database and the role. `None` if it
    /// is not known.
    allowed: Option<usize>,
}

/// Migrates the schema to this program's version. Also detects whether a pooler may give each
/// transaction another connection, and whether the tables are distributed over several servers.
fn prepare_schema(
    connector: &Connector,
    migrations: &refinery_core::Runner,
    options: &Options,
) -> Result<MigratedDatabase> {
    let unusable = |failure: Failure| Error::Configuration(failure.to_string());
    let connect = |connector: &Connector| {
        connector
            .connect(Instant::now() + WAIT_LIMIT)
            .map_err(unusable)
    };
    let mut link = connect(connector)?;
    let pooling = pooler::detect(connector, &mut link)?;
    let UnmigratedDatabase { is_new, allowed } = examine_unmigrated(&mut link)?;
    match &options.direct {
        Some(url) => {
            let direct_connector = Connector::new(url, TargetSessionAttrs::ReadWrite)?;
            let mut direct = connect(&direct_connector)?;
            if pooler::detect(&direct_connector, &mut direct)? == Pooling::ByTransaction {
                return Err(Error::Configuration(
                    "--database-direct-url leads to a pooler that pools by transaction; it must \
                        lead to the server itself"
                        .into(),
                ));
            }
            migration::migrate(&mut direct, migrations, options.sharding)?;
            direct.close();
        }
        None if pooling == Pooling::BySession => {
            migration::migrate(&mut link, migrations, options.sharding)?;
        }
        None if options.is_to_migrate => {
            return Err(Error::Configuration(migration::POOLER_REFUSAL.into()));
        }
        None => migration::assert_migrated(&mut link, migrations)?,
    }
    let until = Instant::now() + WAIT_LIMIT;
    let topology = topology::detect(&mut link, until, options.sharding).map_err(unusable)?;
    topology.check(&mut link, until)?;
    link.close();
    if pooling == Pooling::ByTransaction {
        tracing::info!(
            "the database is behind a pooler that pools by transaction; statements are sent \
                unprepared"
        );
    }
    Ok(MigratedDatabase {
        pooling,
        topology,
        is_new,
        allowed,
    })
}

/// A guard that adds one to a count when it is created, and subtracts one when it is dropped. So
/// the count stays right if the future with the guard is dropped early.
struct CountGuard<'c>(&'c AtomicUsize);

impl<'c> CountGuard<'c> {
    fn new(count: &'c AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for CountGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl PostgresInner {
    fn count_wait(&self, requested_at: Instant) {
        self.waits.fetch_add(1, Ordering::Relaxed);
        self.waited_micros.fetch_add(
            u64::try_from(requested_at.elapsed().as_micros()).unwrap_or(u64::MAX),
            Ordering::Relaxed,
        );
    }
}

/// Runs a read and ends its transaction. Also returns the connection's failure if the connection
/// was lost.
fn read_on<T, E: WorkError>(
    pool: &Pool,
    mut connection: Connection,
    work: impl Work<T, E>,
) -> (Result<Result<T, E>, job::Panic>, Option<Failure>) {
    let mut outcome = job::catch_panics(
        work,
        &mut Transaction::new(Handle::Postgres(&mut connection), true),
    );
    let is_outside = match &outcome {
        // After a panic in the work, the connection may still be inside a transaction, so it is not
        // reused.
        Err(_) => false,
        // Work without a statement is a health check. The answer to the commit shows that the
        // server is alive.
        Ok(Ok(_)) if !connection.has_sent() => {
            let commit = connection.run(COMMIT);
            let is_committed = commit.is_ok();
            outcome = outcome
                .map(|value| value.and_then(|value| commit.map(|()| value).map_err(E::from)));
            is_committed
        }
        Ok(_) if !connection.has_sent() => true,
        // The data that was read stays valid even if the end of its transaction is not confirmed.
        Ok(_) => connection.send_without_waiting(COMMIT).is_ok(),
    };
    let lost = connection.link.is_lost().then_some(Failure::Lost);
    pool.take_back(connection, is_outside);
    (outcome, lost)
}
