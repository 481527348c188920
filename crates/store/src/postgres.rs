//! PostgreSQL: a pool of connections, each read a transaction on one of them, and so are the queued writes of one share
//! ([`together`]), run on a blocking thread. Look-ups that share a query ([`crate::gather`]) have a connection of their own, and
//! no transaction: they wait for nobody's work.
//!
//! What a caller that is told "unavailable" may count on:
//!
//! - Told so before its work has begun, it never begins: either the caller or the thread wins [`Progress`], and the thread
//!   tries only once it has a connection.
//! - Told so later, because its time is over, its work is sent no further statement, and is not committed: [`Connection`]
//!   looks at the same moment as the caller before each, the commit among them, and the caller is never told before it.
//! - What is left is a commit that was sent in time, and whose answer did not come, or not in time. Then nobody on this side
//!   knows. The work and the record under its idempotency key are one transaction, so whoever sends the key again learns it.

pub(crate) mod connection;
mod link;
mod migrating;
mod pool;
mod pooler;
mod replicas;
mod servers;
pub(crate) mod spread;
mod statements;
mod statistics;
mod together;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::Instant;
use tokio_postgres::config::TargetSessionAttrs;

use self::connection::{COMMIT, Connection};
use self::link::{Connector, Failure};
use self::pool::Pool;
use self::pooler::Pooling;
use self::replicas::Replicas;
use self::statements::Catalogue;
use self::together::{Turn, Write, commit_together};
use crate::error::{Error, Result};
use crate::job::{self, Progress, Work, WorkError};
use crate::queue::Queue;
use crate::shares::Shares;
use crate::{Handle, Load, Options, Share, Transaction, WAIT_LIMIT, WORK_LIMIT, Waited};

/// Connections kept a core: enough that a commit's wait for the disk leaves no core idle.
const CONNECTIONS_A_CORE: usize = 8;
/// Connections at the most. Each that is in use has a blocking thread, of which there are 512 for everything in the process.
const CONNECTIONS: usize = 256;
/// The same to a replica.
const CONNECTIONS_TO_A_REPLICA: usize = 64;
/// Of these, the one that look-ups have. No other work waits for it, and none is in its way.
const LOOKERS: usize = 1;
/// That one, and one for everything else.
const LEAST_CONNECTIONS: usize = LOOKERS + 1;
#[derive(Clone)]
pub(crate) struct Postgres(Arc<Inner>);

struct Inner {
    pool: Arc<Pool>,
    /// For look-ups.
    looks: Arc<Pool>,
    /// For reads that say themselves whether they are current.
    replicas: Replicas,
    shares: Shares,
    /// Writes of shares, each of which has one transaction at a time: another would wait for its lock.
    writes: Queue<Write>,
    permits: Arc<Semaphore>,
    /// Who waits for a connection for whatever write has a turn then.
    serving: AtomicUsize,
    queued: AtomicUsize,
    size: usize,
    waits: AtomicU64,
    waited_micros: AtomicU64,
}

impl Postgres {
    pub(crate) fn open(url: &str, migrations: &refinery_core::Runner, options: &Options) -> Result<Self> {
        let connector = Arc::new(Connector::new(url, TargetSessionAttrs::ReadWrite)?);
        let (pooling, is_spread) = bring_up(&connector, migrations, options)?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let size = options.connections.unwrap_or(CONNECTIONS_A_CORE * cores).clamp(LEAST_CONNECTIONS, CONNECTIONS);
        let for_work = size - LOOKERS;
        let catalogue = Arc::new(Catalogue::default());
        let pool = |session| Arc::new(Pool::new(connector.clone(), pooling, session, catalogue.clone(), is_spread));
        Ok(Self(Arc::new(Inner {
            pool: pool(pooling.session()),
            looks: pool(pooling.session_for_looks(is_spread)),
            replicas: Replicas::at(&options.replicas, for_work.min(CONNECTIONS_TO_A_REPLICA), &catalogue)?,
            // Half of them, so that who reads a lot leaves some to the others.
            shares: Shares::new(for_work.div_ceil(2)),
            writes: Queue::new(1),
            permits: Arc::new(Semaphore::new(for_work)),
            serving: AtomicUsize::default(),
            queued: AtomicUsize::default(),
            size,
            waits: AtomicU64::default(),
            waited_micros: AtomicU64::default(),
        })))
    }

    pub(crate) async fn read<T: Send + 'static, E: WorkError>(&self, share: Share, limit: Duration, work: impl Work<T, E>) -> Result<T, E> {
        let asked = Instant::now();
        let permits = self.permits(share, asked).await?;
        let (sender, receiver) = oneshot::channel();
        let progress = Progress::default();
        let (begun, postgres) = (progress.clone(), self.clone());
        tokio::task::spawn_blocking(move || {
            let outcome = match postgres.0.pool.take(asked + WAIT_LIMIT) {
                // Nobody waits for it, and so nothing of it is done.
                Ok(connection) if !begun.begin() => return postgres.0.pool.take_back(connection, true),
                Ok(mut connection) => {
                    connection.ready(Some(postgres.0.pool.pooling.begin_reading()), true, asked + WAIT_LIMIT, asked + limit);
                    read_on(&postgres.0.pool, connection, work).0
                }
                Err(error) => Ok(Err(E::from(error))),
            };
            // Before the answer: whoever has it may count on the connection being free again.
            drop(permits);
            drop(sender.send(outcome));
        });
        job::answer(asked, limit, true, progress, receiver).await
    }

    pub(crate) fn is_spread(&self) -> bool {
        self.0.pool.is_spread()
    }

    pub(crate) fn has_replicas(&self) -> bool {
        !self.0.replicas.is_empty()
    }

    pub(crate) async fn read_from_replica<T: Send + 'static, E: WorkError>(&self, work: impl Work<T, E>) -> Option<Result<T, E>> {
        self.0.replicas.read(work).await
    }

    pub(crate) async fn write<T: Send + 'static, E: WorkError>(
        &self,
        share: Share,
        limit: Duration,
        work: impl Work<T, E>,
    ) -> Result<T, E> {
        let asked = Instant::now();
        let (sender, receiver) = oneshot::channel();
        let progress = Progress::default();
        let write = Write::new(asked, limit, progress.clone(), work, sender);
        if share.is_some() {
            if self.0.writes.push(share, write)? {
                self.serve();
            }
        } else {
            // Of the program's own, nothing waits for the rest of it.
            let (_, permit) = self.permits(None, asked).await?;
            let pool = self.0.pool.clone();
            tokio::task::spawn_blocking(move || {
                let settled = commit_together(&pool, write, Turn { queue: None, share: None });
                // Before the answer: whoever has it may count on the connection being free again.
                drop(permit);
                settled.tell();
            });
        }
        job::answer(asked, limit, false, progress, receiver).await
    }

    /// Gives the share whose turn it is a connection, once there is one. Where as many as there are connections wait for that already,
    /// one of them will.
    fn serve(&self) {
        let waiting = &self.0.serving;
        if waiting.fetch_add(1, Ordering::SeqCst) >= self.0.size {
            waiting.fetch_sub(1, Ordering::SeqCst);
            return;
        }
        let postgres = self.clone();
        tokio::spawn(async move {
            let inner = &postgres.0;
            let permit = inner.permits.clone().acquire_owned().await;
            // Before it takes one: who has added a turn and finds it waiting still counts on it.
            inner.serving.fetch_sub(1, Ordering::SeqCst);
            let (Ok(permit), Some(turn)) = (permit, inner.writes.pop_within(Duration::MAX)) else { return };
            let postgres = postgres.clone();
            tokio::task::spawn_blocking(move || postgres.commit(turn, permit));
        });
    }

    /// Runs what has a turn, and then what has the next, while nobody else waits for the connection.
    fn commit(&self, turn: (Share, Write), permit: OwnedSemaphorePermit) {
        let inner = &self.0;
        let (mut permit, mut turn) = (Some(permit), Some(turn));
        while let Some((share, first)) = turn.take() {
            inner.note_wait(first.asked());
            let settled = commit_together(&inner.pool, first, Turn { queue: Some(&inner.writes), share });
            inner.writes.done(share, settled.took);
            if inner.queued.load(Ordering::Relaxed) == 0 {
                turn = inner.writes.pop_within(Duration::MAX);
            }
            if turn.is_none() {
                // Before the answers: whoever has one may count on the connection being free again.
                permit = None;
                if inner.writes.has_turn() {
                    // In line with whoever else waits for a connection.
                    self.serve();
                }
            }
            settled.tell();
        }
        drop(permit);
    }

    /// Runs look-ups that may be repeated, each statement by itself. Blocks; for one thread at a time.
    pub(crate) fn look<T, E: WorkError>(
        &self,
        find: impl FnOnce(&mut Transaction<'_>) -> Result<T, E>,
    ) -> Result<Result<T, E>, job::Panic> {
        let until = Instant::now() + WAIT_LIMIT;
        let mut connection = match self.0.looks.take(until) {
            Ok(connection) => connection,
            Err(error) => return Ok(Err(error.into())),
        };
        let begin = connection.pooling.begin_looking();
        connection.ready(begin, true, until, until);
        let found = catch_unwind(AssertUnwindSafe(|| find(&mut Transaction::new(Handle::Postgres(&mut connection), true))));
        let is_outside = found.is_ok() && (begin.is_none() || !connection.has_spoken() || connection.say_and_go(COMMIT).is_ok());
        self.0.looks.take_back(connection, is_outside);
        found
    }

    /// Leave to use a connection: one of its share's, and then one of all.
    async fn permits(&self, share: Share, asked: Instant) -> Result<(Option<OwnedSemaphorePermit>, OwnedSemaphorePermit)> {
        let (inner, until) = (&self.0, asked + WAIT_LIMIT);
        let _queued = Counted::new(&inner.queued);
        let held = async {
            let of_share = inner.shares.hold(share, until).await?;
            match tokio::time::timeout_at(until, inner.permits.clone().acquire_owned()).await {
                Ok(Ok(of_all)) => Ok((of_share, of_all)),
                _ => Err(Error::Unavailable("every connection is in use".into())),
            }
        };
        let held = held.await;
        inner.note_wait(asked);
        held
    }

    pub(crate) async fn refresh_statistics(&self) -> Result<()> {
        self.write(None, WORK_LIMIT, |tx: &mut Transaction<'_>| tx.execute(&statistics::REFRESH, &[]).map(drop)).await
    }

    pub(crate) fn load(&self) -> Load {
        let inner = &self.0;
        let busy = inner.size - LOOKERS - inner.permits.available_permits();
        Load { queued: inner.queued.load(Ordering::Relaxed) + inner.writes.len(), busy, size: inner.size }
    }

    pub(crate) fn waited(&self) -> Waited {
        let micros = self.0.waited_micros.load(Ordering::Relaxed);
        Waited { count: self.0.waits.load(Ordering::Relaxed), time: Duration::from_micros(micros) }
    }

    pub(crate) fn given_up(&self) -> u64 {
        self.0.pool.given_up() + self.0.looks.given_up()
    }
}

/// Has the schema be of this program's version, and finds out how connections are shared on the way to the server, and whether
/// the rows of shares are on several of them.
fn bring_up(connector: &Connector, migrations: &refinery_core::Runner, options: &Options) -> Result<(Pooling, bool)> {
    let unusable = |failure: Failure| Error::Configuration(failure.to_string());
    let connect = |connector: &Connector| connector.connect(Instant::now() + WAIT_LIMIT).map_err(unusable);
    let mut link = connect(connector)?;
    let pooling = pooler::between(connector, &mut link)?;
    match &options.direct {
        Some(url) => {
            let past = Connector::new(url, TargetSessionAttrs::ReadWrite)?;
            let mut direct = connect(&past)?;
            if pooler::between(&past, &mut direct)? == Pooling::ByTransaction {
                return Err(Error::Configuration("there is a pooler before the address that is to lead to the server itself".into()));
            }
            migrating::migrate(&mut direct, migrations, options.spread)?;
            direct.close();
        }
        None if pooling == Pooling::BySession => migrating::migrate(&mut link, migrations, options.spread)?,
        None if options.is_to_migrate => return Err(Error::Configuration(migrating::PAST_THE_POOLER.into())),
        None => migrating::assert_done(&mut link, migrations)?,
    }
    let until = Instant::now() + WAIT_LIMIT;
    let is_spread = spread::is_spread(&mut link, until).map_err(unusable)?;
    if let Some(spread) = options.spread.filter(|_| is_spread) {
        spread::assert_whole(&mut link, until, spread)?;
    }
    link.close();
    if pooling == Pooling::ByTransaction {
        tracing::info!("there is a pooler before the database that works by transaction: statements are sent whole each time");
    }
    Ok((pooling, is_spread))
}

/// Counts one for as long as it is there, however its end comes about: who waits may go away.
struct Counted<'c>(&'c AtomicUsize);

impl<'c> Counted<'c> {
    fn new(count: &'c AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Inner {
    fn note_wait(&self, asked: Instant) {
        self.waits.fetch_add(1, Ordering::Relaxed);
        self.waited_micros.fetch_add(u64::try_from(asked.elapsed().as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

/// Reads, and ends the transaction in which that was done; and why the connection is of no more use, where it is lost.
fn read_on<T, E: WorkError>(
    pool: &Pool,
    mut connection: Connection,
    work: impl Work<T, E>,
) -> (Result<Result<T, E>, job::Panic>, Option<Failure>) {
    let mut outcome = job::guarded(work, &mut Transaction::new(Handle::Postgres(&mut connection), true));
    let is_outside = match &outcome {
        // What has panicked may be anywhere.
        Err(_) => false,
        // Who asks nothing asks whether anybody is there.
        Ok(Ok(_)) if !connection.has_spoken() => {
            let heard = connection.say(COMMIT);
            let is_heard = heard.is_ok();
            outcome = outcome.map(|value| value.and_then(|value| heard.map(|()| value).map_err(E::from)));
            is_heard
        }
        Ok(_) if !connection.has_spoken() => true,
        // What a read has seen is as true if its end is not heard of.
        Ok(_) => connection.say_and_go(COMMIT).is_ok(),
    };
    let lost = connection.link.is_lost().then_some(Failure::Lost);
    pool.take_back(connection, is_outside);
    (outcome, lost)
}
