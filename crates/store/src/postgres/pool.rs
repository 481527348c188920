//! Pools of idle connections. The number of connections in use is limited by permits, in the parent
//! module.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::connection::Connection;
use super::link::Connector;
use super::statements::{Catalogue, Statements};
use super::topology::Topology;
use super::topology::pooler::Pooling;
use crate::error::{Error, Result};

/// Delay between two attempts to open a connection.
const RETRY_DELAY: Duration = Duration::from_millis(400);
/// An idle connection that was not used for this long is closed.
const REST_LIMIT: Duration = Duration::from_mins(10);
/// A connection that is older than this is replaced by a new one. If the host name in the URL gets
/// a new address, the nodes therefore connect to the new address within this time.
const AGE_LIMIT: Duration = Duration::from_mins(30);

/// A pool of connections to one server URL that serve one purpose, such as look-ups.
///
/// A connection returns to the pool only outside a transaction. If a commit or a rollback was not
/// confirmed, or work panicked, the connection is closed, and the server rolls back uncommitted
/// changes. If one connection is lost, the idle connections of the pool are closed at once. A
/// connection in use is closed when it returns to the pool. All these connections most likely have
/// the same fault: the server shuts down or was demoted, or the network drops packets. An operation
/// would lose time if it tried these connections one after another.
pub(super) struct Pool {
    connector: Arc<Connector>,
    pub(super) pooling: Pooling,
    /// The SQL statements that each new connection runs first; `None` if there are none.
    session: Option<String>,
    catalogue: Arc<Catalogue>,
    topology: Arc<dyn Topology>,
    idle: Mutex<IdleConnections>,
    dropped: AtomicU64,
}

#[derive(Default)]
struct IdleConnections {
    /// Idle connections. The first one has been idle for the longest time.
    connections: VecDeque<Connection>,
    /// The current generation of connections: the number of times that the pool dropped all its
    /// connections. A connection of an earlier generation is closed when it returns to the pool.
    generation: u64,
}

impl Pool {
    pub(super) fn new(
        connector: Arc<Connector>,
        pooling: Pooling,
        session: Option<String>,
        catalogue: Arc<Catalogue>,
        topology: Arc<dyn Topology>,
    ) -> Self {
        Self {
            connector,
            pooling,
            session,
            catalogue,
            topology,
            idle: Mutex::default(),
            dropped: AtomicU64::default(),
        }
    }

    pub(super) fn is_sharded(&self) -> bool {
        self.topology.is_sharded()
    }

    /// Returns the number of connections that this pool has dropped: connections that were lost,
    /// and connections that were closed because another connection of the pool was lost.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    fn idle(&self) -> MutexGuard<'_, IdleConnections> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns an idle connection, or opens a new one. If the server does not answer, tries again
    /// until the deadline.
    pub(super) fn take(self: &Arc<Self>, until: Instant) -> Result<Connection> {
        match self.take_idle() {
            Some(connection) => Ok(connection.lend(self.clone(), true)),
            None => self
                .connect(until)
                .map(|connection| connection.lend(self.clone(), false)),
        }
    }

    /// Removes the connection that was used last from the pool, and returns it. If that connection
    /// is too old or has been idle for too long, closes it and tries the next one.
    fn take_idle(&self) -> Option<Connection> {
        loop {
            let connection = self.idle().connections.pop_back()?;
            let now = Instant::now();
            if now < connection.idle_since + REST_LIMIT && now < connection.created_at + AGE_LIMIT {
                return Some(connection);
            }
            connection.link.close();
        }
    }

    fn connect(&self, until: Instant) -> Result<Connection> {
        loop {
            let generation = self.idle().generation;
            let connected = self.connector.connect(until).and_then(|mut link| {
                self.session
                    .as_deref()
                    .map_or(Ok(()), |session| link.run(until, session))?;
                Ok(link)
            });
            match connected {
                Ok(link) => {
                    let statements = Statements::new(self.pooling, &self.catalogue);
                    return Ok(Connection::new(link, self.pooling, statements, generation));
                }
                Err(_) if Instant::now() + RETRY_DELAY < until => std::thread::sleep(RETRY_DELAY),
                // Any refusal by the server is temporary, because the same URL worked when this
                // process started.
                Err(failure) => return Err(Error::Unavailable(failure.to_string())),
            }
        }
    }

    /// Takes back a connection after its use. Closes it if it is inside a transaction (`is_outside`
    /// is false), if it is broken, or if it belongs to an earlier generation of connections.
    pub(super) fn take_back(&self, mut connection: Connection, is_outside: bool) {
        connection.pool = None;
        if connection.link.is_lost() {
            self.drop_generation(
                connection.generation,
                &"a connection was lost while it was in use",
            );
            return connection.link.close();
        }
        let now = Instant::now();
        connection.idle_since = now;
        let mut idle = self.idle();
        let closed =
            if is_outside && !connection.is_broken() && connection.generation == idle.generation {
                idle.connections.push_back(connection);
                // Each return of a connection to the pool closes at most one idle connection: the
                // one that has been idle longest, if it has been idle for [`REST_LIMIT`] or longer.
                let is_too_long = idle
                    .connections
                    .front()
                    .is_some_and(|longest| now >= longest.idle_since + REST_LIMIT);
                if is_too_long {
                    idle.connections.pop_front()
                } else {
                    None
                }
            } else {
                Some(connection)
            };
        drop(idle);
        if let Some(closed) = closed {
            closed.link.close();
        }
    }

    /// Counts a lost connection. `generation` is the generation of connections to which it
    /// belonged. If the pool still opens connections of this generation, begins the next generation
    /// and closes all idle connections. A connection that is in use is closed when it returns to
    /// the pool.
    pub(super) fn drop_generation(&self, generation: u64, cause: &dyn fmt::Display) {
        let mut connections = VecDeque::new();
        let mut idle = self.idle();
        if generation == idle.generation {
            idle.generation += 1;
            connections = std::mem::take(&mut idle.connections);
        }
        drop(idle);
        let count = 1 + connections.len();
        self.dropped.fetch_add(count as u64, Ordering::Relaxed);
        tracing::warn!(
            %cause,
            connections = count,
            "closed connections to the database; new ones are opened when needed"
        );
    }
}

impl Drop for Pool {
    /// Closes the connections on another thread, because closing blocks, and a thread of an async
    /// runtime must not block.
    fn drop(&mut self) {
        let connections = std::mem::take(&mut self.idle().connections);
        std::thread::spawn(move || {
            for connection in connections {
                connection.link.close();
            }
        });
    }
}
