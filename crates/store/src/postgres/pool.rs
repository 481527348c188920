//! The connections that are not in use. How many are is for the permits to say.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::connection::Connection;
use super::link::Connector;
use super::pooler::Pooling;
use super::statements::{Catalogue, Statements};
use crate::error::{Error, Result};

/// Between two attempts to connect.
const PAUSE: Duration = Duration::from_millis(400);
/// A connection that nobody has wanted for so long is closed.
const REST_LIMIT: Duration = Duration::from_mins(10);
/// A connection is made anew after so long, so that nodes find their way to where their URL leads today.
const AGE_LIMIT: Duration = Duration::from_mins(30);

/// Connections of one kind.
///
/// One comes back only outside of a transaction: where a commit or a rollback was not confirmed, or work has panicked, it is
/// closed, and the server undoes what was not committed. One that is lost takes all with it, those in use when they come
/// back: what took it (a server that goes or was demoted, a way that swallows what is sent) has most likely taken them too,
/// and finding that out one by one costs a caller's patience each time.
pub(super) struct Pool {
    connector: Arc<Connector>,
    pub(super) pooling: Pooling,
    /// What is said first on each, if anything.
    session: Option<&'static str>,
    catalogue: Arc<Catalogue>,
    /// Whether the rows of shares are on several servers.
    is_spread: bool,
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
    pub(super) fn new(
        connector: Arc<Connector>,
        pooling: Pooling,
        session: Option<&'static str>,
        catalogue: Arc<Catalogue>,
        is_spread: bool,
    ) -> Self {
        Self { connector, pooling, session, catalogue, is_spread, resting: Mutex::default(), given_up: AtomicU64::default() }
    }

    pub(super) fn is_spread(&self) -> bool {
        self.is_spread
    }

    /// How many were given up.
    pub(super) fn given_up(&self) -> u64 {
        self.given_up.load(Ordering::Relaxed)
    }

    fn resting(&self) -> MutexGuard<'_, Resting> {
        self.resting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection, by a moment: one that rests, or a new one. A server that cannot be reached is tried again until then.
    pub(super) fn take(self: &Arc<Self>, until: Instant) -> Result<Connection> {
        match self.rested() {
            Some(connection) => Ok(connection.lend(self.clone(), true)),
            None => self.connect(until).map(|connection| connection.lend(self.clone(), false)),
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
                self.session.map_or(Ok(()), |session| link.run(until, session))?;
                Ok(link)
            });
            match connected {
                Ok(link) => {
                    let statements = Statements::new(self.pooling, &self.catalogue);
                    return Ok(Connection::new(link, self.pooling, statements, generation));
                }
                Err(_) if Instant::now() + PAUSE < until => std::thread::sleep(PAUSE),
                // Whatever the server says against it: it was good enough when this process started.
                Err(failure) => return Err(Error::Unavailable(failure.to_string())),
            }
        }
    }

    /// Takes a connection back that is outside of a transaction; any other is closed.
    pub(super) fn take_back(&self, mut connection: Connection, is_outside: bool) {
        connection.pool = None;
        if connection.link.is_lost() {
            self.doubt_all(connection.generation, &"it was lost while it was in use");
            return connection.link.close();
        }
        let now = Instant::now();
        connection.rests_since = now;
        let mut resting = self.resting();
        let closed = if is_outside && !connection.is_doubtful() && connection.generation == resting.generation {
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

    /// Gives up one that is lost, of a generation, and with it those of it that are at rest or come back later.
    pub(super) fn doubt_all(&self, generation: u64, cause: &dyn fmt::Display) {
        let mut doubted = VecDeque::new();
        let mut resting = self.resting();
        if generation == resting.generation {
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
