//! PostgreSQL: a pool of connections, each operation a transaction on one of them, run on a blocking thread.
//!
//! What a caller that is told "unavailable" may count on:
//!
//! - Told so before its work has begun, it never begins: either the caller or the thread wins [`Progress`], and the thread
//!   tries only once a transaction is open.
//! - Told so later, because its time is over, its work is sent no further statement, and is not committed: [`Connection`]
//!   looks at the same moment as the caller before each, the commit among them, and the caller is never told before it.
//! - What is left is a commit that was sent in time, and whose answer did not come, or not in time. Then nobody on this side
//!   knows. The work and the record under its idempotency key are one transaction, so whoever sends the key again learns it.

mod link;
mod migrating;
mod pooler;
mod servers;

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::Instant;
use tokio_postgres::Client;
use tokio_postgres::types::{ToSql, Type};

use self::link::{Connector, Failure, Link};
use crate::error::{Error, Result};
use crate::job::{self, Progress, Work, WorkError};
use crate::many;
use crate::shares::Shares;
use crate::statement::Statement;
use crate::value::{Columns, Row, Value};
use crate::{Handle, Load, Share, Transaction, WAIT_LIMIT};

/// Connections kept a core: enough that a commit's wait for the disk leaves no core idle.
const CONNECTIONS_A_CORE: usize = 8;
/// Connections at the most. Each that is in use has a blocking thread, of which there are 512 for everything in the process.
const CONNECTIONS: usize = 256;
/// A statement that waits longer than a caller does is stopped. A transaction whose client is no longer heard of, and which
/// may hold the lock of an organization, is ended.
const SESSION: &str = "set statement_timeout = '4500ms'; set lock_timeout = '4s'; set idle_in_transaction_session_timeout = '10s'";
/// How long an answer is waited for on this side: longer than the server lets a statement run, so that a server that is there
/// is heard.
const ANSWER_LIMIT: Duration = Duration::from_millis(5_000);
/// The same for `begin` on a connection that has rested. It is answered at once where somebody answers, and otherwise there is
/// time left for a new connection before the caller's patience ends.
const BEGIN_LIMIT: Duration = Duration::from_millis(1_500);
/// Between two attempts to connect.
const PAUSE: Duration = Duration::from_millis(400);
/// A connection that nobody has wanted for so long is closed.
const REST_LIMIT: Duration = Duration::from_mins(10);
/// A connection is made anew after so long, so that nodes find their way to where their URL leads today.
const AGE_LIMIT: Duration = Duration::from_mins(30);

#[derive(Clone)]
pub(crate) struct Postgres {
    pool: Arc<Pool>,
    shares: Arc<Shares>,
    permits: Arc<Semaphore>,
    queued: Arc<AtomicUsize>,
    size: usize,
}

impl Postgres {
    pub(crate) fn open(url: &str, migrations: &refinery::Runner) -> Result<Self> {
        let connector = Connector::new(url)?;
        let unusable = |failure: Failure| Error::Configuration(failure.to_string());
        let mut link = connector.connect(Instant::now() + WAIT_LIMIT).map_err(unusable)?;
        pooler::refuse_pooling_by_transaction(&connector, &mut link)?;
        migrating::migrate(&mut link, migrations)?;
        link.close();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let size = CONNECTIONS.min(CONNECTIONS_A_CORE * cores);
        let pool = Pool { connector, resting: Mutex::default(), given_up: AtomicU64::default() };
        // Half of them: writers of one organization that queue up behind its lock hold a connection each.
        let shares = Arc::new(Shares::new(size.div_ceil(2)));
        Ok(Self { pool: Arc::new(pool), shares, permits: Arc::new(Semaphore::new(size)), queued: Arc::default(), size })
    }

    pub(crate) async fn run<T: Send + 'static, E: WorkError>(
        &self,
        share: Share,
        limit: Duration,
        is_read: bool,
        work: impl Work<T, E>,
    ) -> Result<T, E> {
        let asked = Instant::now();
        self.queued.fetch_add(1, Ordering::Relaxed);
        let permits = self.permits(share, asked + WAIT_LIMIT).await;
        self.queued.fetch_sub(1, Ordering::Relaxed);
        let permits = permits?;
        let (sender, receiver) = oneshot::channel();
        let progress = Progress::default();
        let (begun, pool) = (progress.clone(), self.pool.clone());
        tokio::task::spawn_blocking(move || {
            let outcome = match pool.begin(is_read, asked + WAIT_LIMIT) {
                Ok(mut connection) if !begun.begin() => {
                    // Nobody waits for it, and so nothing of it is done.
                    let undone = connection.end("rollback");
                    return pool.take_back(connection, undone.is_ok());
                }
                Ok(mut connection) => {
                    connection.until = asked + limit;
                    pool.finish(connection, work)
                }
                Err(error) => Ok(Err(E::from(error))),
            };
            // Before the answer: whoever has it may count on the connection being free again.
            drop(permits);
            drop(sender.send(outcome));
        });
        job::answer(asked, limit, is_read, progress, receiver).await
    }

    /// Leave to use a connection: one of its share's, and then one of all.
    async fn permits(&self, share: Share, until: Instant) -> Result<(Option<OwnedSemaphorePermit>, OwnedSemaphorePermit)> {
        let of_share = self.shares.hold(share, until).await?;
        match tokio::time::timeout_at(until, self.permits.clone().acquire_owned()).await {
            Ok(Ok(of_all)) => Ok((of_share, of_all)),
            _ => Err(Error::Unavailable("every connection is in use".into())),
        }
    }

    pub(crate) fn load(&self) -> Load {
        let busy = self.size - self.permits.available_permits();
        Load { queued: self.queued.load(Ordering::Relaxed), busy, size: self.size }
    }

    pub(crate) fn given_up(&self) -> u64 {
        self.pool.given_up.load(Ordering::Relaxed)
    }
}

/// The connections that are not in use. How many are is for the permits to say.
///
/// One comes back only outside of a transaction: where a commit or a rollback was not confirmed, or work has panicked, it is
/// closed, and the server undoes what was not committed. One that is lost takes all with it, those in use when they come
/// back: what took it (a server that goes or was demoted, a way that swallows what is sent) has most likely taken them too,
/// and finding that out one by one costs a caller's patience each time.
struct Pool {
    connector: Connector,
    resting: Mutex<Resting>,
    given_up: AtomicU64,
}

#[derive(Default)]
struct Resting {
    /// The longest at rest first.
    connections: VecDeque<Connection>,
    /// How often all were given up; a connection of an earlier generation is not taken back.
    generation: u64,
}

impl Pool {
    fn resting(&self) -> MutexGuard<'_, Resting> {
        self.resting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection with a transaction begun on it, by a moment. One that died or was demoted at rest is replaced, and a
    /// server that cannot be reached or takes no writes is tried again until then.
    fn begin(&self, is_read: bool, until: Instant) -> Result<Connection> {
        // One snapshot for all the reads of an operation; the locked organization row orders the writes.
        let sql = if is_read { "begin isolation level repeatable read read only" } else { "begin" };
        loop {
            let mut connection = match self.rested() {
                Some(connection) => connection,
                None => self.connect(until)?,
            };
            let begun = connection.link.run(until.min(Instant::now() + BEGIN_LIMIT), sql);
            match begun {
                Ok(()) if !connection.link.is_read_only() => {
                    connection.is_read = is_read;
                    connection.failed = None;
                    return Ok(connection);
                }
                Ok(()) => self.give_up(connection, &"the server has become one that takes no writes"),
                Err(failure) if connection.link.is_lost() => {
                    self.give_up(connection, &failure);
                    if Instant::now() >= until {
                        return Err(failure.into());
                    }
                }
                Err(failure) => {
                    connection.link.close();
                    return Err(failure.into());
                }
            }
        }
    }

    /// The connection that has come back last.
    fn rested(&self) -> Option<Connection> {
        loop {
            let connection = self.resting().connections.pop_back()?;
            let now = Instant::now();
            if now < connection.rests_since + REST_LIMIT && now < connection.made + AGE_LIMIT {
                return Some(connection);
            }
            connection.link.close();
        }
    }

    fn connect(&self, until: Instant) -> Result<Connection> {
        loop {
            let generation = self.resting().generation;
            let connected = self.connector.connect(until).and_then(|mut link| {
                link.run(until, SESSION)?;
                Ok(link)
            });
            let now = Instant::now();
            match connected {
                Ok(link) => {
                    let (prepared, prepared_for_many) = (HashMap::new(), HashMap::new());
                    return Ok(Connection {
                        link,
                        prepared,
                        prepared_for_many,
                        generation,
                        made: now,
                        rests_since: now,
                        until,
                        is_read: false,
                        failed: None,
                    });
                }
                Err(_) if now + PAUSE < until => std::thread::sleep(PAUSE),
                // Whatever the server says against it: it was good enough when this process started.
                Err(failure) => return Err(Error::Unavailable(failure.to_string())),
            }
        }
    }

    /// Runs work on a connection with a transaction begun, and ends that.
    fn finish<T, E: WorkError>(&self, mut connection: Connection, work: impl Work<T, E>) -> Result<Result<T, E>, job::Panic> {
        let is_read_only = connection.is_read;
        let mut transaction = Transaction::new(Handle::Postgres(&mut connection), is_read_only);
        let outcome = job::guarded(work, &mut transaction);
        let is_rehearsal = transaction.is_rehearsal;
        let sound = |value| connection.assert_sound().map(|()| value).map_err(E::from);
        let (outcome, is_over) = match outcome.map(|outcome| outcome.and_then(sound)) {
            // What a read has seen is as true if its end is not heard of.
            Ok(Ok(value)) if is_rehearsal => (Ok(Ok(value)), connection.end("rollback").is_ok()),
            Ok(Ok(value)) if connection.is_read => (Ok(Ok(value)), connection.end("commit").is_ok()),
            Ok(Ok(value)) => {
                let committed = connection.end("commit");
                let is_over = committed.is_ok();
                let refused =
                    |failure: Failure| if connection.link.is_lost() { Error::Unknown(failure.to_string()) } else { failure.into() };
                (Ok(committed.map(|()| value).map_err(|failure| E::from(refused(failure)))), is_over)
            }
            Ok(Err(error)) => (Ok(Err(error)), connection.end("rollback").is_ok()),
            Err(panic) => (Err(panic), false),
        };
        self.take_back(connection, is_over);
        outcome
    }

    /// Takes a connection back that is outside of a transaction; any other is closed.
    fn take_back(&self, mut connection: Connection, is_outside: bool) {
        if connection.link.is_lost() {
            return self.give_up(connection, &"it was lost while it was in use");
        }
        let now = Instant::now();
        connection.rests_since = now;
        let mut resting = self.resting();
        let closed = if is_outside && connection.generation == resting.generation {
            resting.connections.push_back(connection);
            // One at a time: each that comes back finds the next.
            let is_too_long = resting.connections.front().is_some_and(|longest| now >= longest.rests_since + REST_LIMIT);
            if is_too_long { resting.connections.pop_front() } else { None }
        } else {
            Some(connection)
        };
        drop(resting);
        if let Some(closed) = closed {
            closed.link.close();
        }
    }

    /// Gives up a connection, and with it those that are at rest or come back later.
    fn give_up(&self, lost: Connection, cause: &dyn std::fmt::Display) {
        let mut doubted = VecDeque::new();
        let mut resting = self.resting();
        if lost.generation == resting.generation {
            resting.generation += 1;
            doubted = std::mem::take(&mut resting.connections);
        }
        drop(resting);
        let count = 1 + doubted.len();
        self.given_up.fetch_add(count as u64, Ordering::Relaxed);
        tracing::warn!(%cause, connections = count, "connections to the database are given up");
    }
}

impl Drop for Pool {
    /// Taking leave of the server blocks, which a thread of an async runtime must not: so another thread does it.
    fn drop(&mut self) {
        let connections = std::mem::take(&mut self.resting().connections);
        std::thread::spawn(move || connections.into_iter().for_each(|connection| connection.link.close()));
    }
}

/// A connection, and the statements prepared on it.
pub(crate) struct Connection {
    link: Link,
    prepared: HashMap<usize, tokio_postgres::Statement>,
    /// The same for many rows.
    prepared_for_many: HashMap<usize, tokio_postgres::Statement>,
    generation: u64,
    made: Instant,
    rests_since: Instant,
    /// When the caller of the work under way is told that it takes too long.
    until: Instant,
    is_read: bool,
    /// The first failure of a statement of the transaction: the server would take a commit, and undo the work all the same.
    failed: Option<Error>,
}

impl Connection {
    fn ask<T>(&mut self, question: impl AsyncFnOnce(&mut Client) -> Result<T, tokio_postgres::Error>) -> Result<T> {
        self.assert_awaited()?;
        let answer = self.link.ask(Instant::now() + ANSWER_LIMIT, question).map_err(Error::from);
        if let Err(error) = &answer {
            self.failed.get_or_insert_with(|| error.clone());
        }
        answer
    }

    /// Work whose caller has been told that it takes too long is not gone on with.
    fn assert_awaited(&self) -> Result<()> {
        if Instant::now() < self.until { Ok(()) } else { Err(Error::Unavailable("it took too long, and is undone".into())) }
    }

    /// Whether what the transaction has done may be committed; a read has done nothing.
    fn assert_sound(&self) -> Result<()> {
        match &self.failed {
            _ if self.is_read => Ok(()),
            None => self.assert_awaited(),
            Some(Error::Unavailable(text)) => Err(Error::Unavailable(text.clone())),
            Some(error) => Err(Error::Defect(format!("work went on after a statement of it had failed: {error}"))),
        }
    }

    /// Commits or rolls back.
    fn end(&mut self, sql: &str) -> Result<(), Failure> {
        self.link.run(Instant::now() + ANSWER_LIMIT, sql)
    }

    fn prepared(&mut self, statement: &'static Statement) -> Result<tokio_postgres::Statement> {
        // Statements are statics, so the address names one; a text as key would be hashed at every use.
        let key = std::ptr::from_ref(statement) as usize;
        if let Some(prepared) = self.prepared.get(&key) {
            return Ok(prepared.clone());
        }
        let prepared = self.ask(async |client| client.prepare(statement.postgres()).await)?;
        self.prepared.insert(key, prepared.clone());
        Ok(prepared)
    }

    pub(crate) fn rows(&mut self, statement: &'static Statement, params: &[Value]) -> Result<Vec<Row>> {
        let prepared = self.prepared(statement)?;
        let rows = self.ask(async |client| client.query(&prepared, &borrowed(params)).await)?;
        Ok(rows.into_iter().map(|row| Row(Columns::Postgres(row))).collect())
    }

    pub(crate) fn execute(&mut self, statement: &'static Statement, params: &[Value]) -> Result<u64> {
        let prepared = self.prepared(statement)?;
        self.ask(async |client| client.execute(&prepared, &borrowed(params)).await)
    }

    fn prepared_for_many(&mut self, statement: &'static Statement) -> Result<Option<tokio_postgres::Statement>> {
        let key = std::ptr::from_ref(statement) as usize;
        if let Some(prepared) = self.prepared_for_many.get(&key) {
            return Ok(Some(prepared.clone()));
        }
        // The database knows of what type each parameter is, in the statement for one row.
        let for_one = self.prepared(statement)?;
        let Some(text) = many::of_many(statement.postgres(), for_one.params().iter().map(Type::name)) else { return Ok(None) };
        let prepared = self.ask(async |client| client.prepare(&text).await)?;
        self.prepared_for_many.insert(key, prepared.clone());
        Ok(Some(prepared))
    }

    pub(crate) fn execute_many(&mut self, statement: &'static Statement, rows: &[Vec<Value>]) -> Result<u64> {
        let Some(prepared) = self.prepared_for_many(statement)? else {
            return Err(Error::Defect(format!("inserts no values: {}", statement.text())));
        };
        let columns = prepared.params().len();
        if rows.iter().any(|row| row.len() != columns) {
            return Err(Error::Defect(format!("wants {columns} values a row: {}", statement.text())));
        }
        let arrays: Vec<Vec<&Value>> = (0..columns).map(|column| rows.iter().map(|row| &row[column]).collect()).collect();
        let params: Vec<&(dyn ToSql + Sync)> = arrays.iter().map(|array| array as &(dyn ToSql + Sync)).collect();
        self.ask(async |client| client.execute(&prepared, &params).await)
    }

    pub(crate) fn try_lock(&mut self, key: i64) -> Result<bool> {
        let row = self.ask(async |client| client.query_one("select pg_try_advisory_xact_lock($1)", &[&key]).await)?;
        Ok(row.try_get(0)?)
    }

    pub(crate) fn prepare(&mut self, statement: &'static Statement) -> Result<()> {
        let prepared = self.prepared(statement).and_then(|_| self.prepared_for_many(statement));
        prepared.map(drop).map_err(|error| Error::Defect(format!("{error}: {}", statement.text())))
    }
}

fn borrowed(params: &[Value]) -> Vec<&(dyn ToSql + Sync)> {
    params.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}
