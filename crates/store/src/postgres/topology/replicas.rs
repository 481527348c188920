//! Reads from replicas, for functions that can tell whether the data is current enough.
//!
//! A replica that is unreachable, silent or slow is skipped for a while, so that it does not delay
//! reads. No read waits for a free connection to a replica.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, oneshot};
use tokio::time::{Instant, timeout_at};
use tokio_postgres::config::TargetSessionAttrs;

use super::super::link::{Connector, Failure};
use super::super::pool::Pool;
use super::super::read_on;
use super::super::statements::Catalogue;
use super::Topology;
use super::pooler::Pooling;
use crate::error::Result;
use crate::job::{Work, WorkError};

/// Time limit of a read on a replica. It is shorter than the time limit of an operation. So if the
/// read fails, there is still time for a read on the primary server.
const LIMIT: Duration = Duration::from_millis(500);
/// How long a failed replica is skipped.
const SKIP_TIME: Duration = Duration::from_secs(5);

/// The replicas of a database.
#[derive(Default)]
pub(crate) struct Replicas {
    each: Vec<Arc<Replica>>,
    /// Index of the replica that gets the next read.
    next: AtomicUsize,
}

struct Replica {
    pool: Arc<Pool>,
    permits: Arc<Semaphore>,
    /// The time until which reads skip the replica. `None` if the replica has not failed.
    skipped_until: Mutex<Option<Instant>>,
}

impl Replicas {
    /// Prepares pools for the replicas at these URLs, with at most `connections` connections to
    /// each. `topology` is that of the primary server, which the replicas copy.
    pub(crate) fn at(
        urls: &[String],
        connections: usize,
        catalogue: &Arc<Catalogue>,
        topology: &Arc<dyn Topology>,
    ) -> Result<Self> {
        let replica = |url: &String| {
            let connector = Arc::new(Connector::new(url, TargetSessionAttrs::Any)?);
            let pool = Arc::new(Pool::new(
                connector,
                Pooling::Replica,
                None,
                catalogue.clone(),
                topology.clone(),
            ));
            Ok(Arc::new(Replica {
                pool,
                permits: Arc::new(Semaphore::new(connections)),
                skipped_until: Mutex::default(),
            }))
        };
        Ok(Self {
            each: urls.iter().map(replica).collect::<Result<_>>()?,
            next: AtomicUsize::default(),
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.each.is_empty()
    }

    /// Reads from a replica. Replicas take turns, and a replica that has failed recently is passed
    /// over. Returns `None` if no replica is available, or if the replica whose turn it is has no
    /// free connection or does not answer in time.
    pub(crate) async fn read<T: Send + 'static, E: WorkError>(
        &self,
        work: impl Work<T, E>,
    ) -> Option<Result<T, E>> {
        let until = Instant::now() + LIMIT;
        let first = self.next.fetch_add(1, Ordering::Relaxed);
        let mut in_turn = (0..self.each.len())
            .map(|offset| &self.each[first.wrapping_add(offset) % self.each.len()]);
        let replica = in_turn.find(|replica| replica.is_available())?.clone();
        let permit = replica.permits.clone().try_acquire_owned().ok()?;
        let (sender, receiver) = oneshot::channel();
        let silent_replica = replica.clone();
        tokio::task::spawn_blocking(move || {
            let Ok(mut connection) = replica
                .pool
                .take(until)
                .inspect_err(|cause| replica.skip(cause))
            else {
                return;
            };
            connection.ready(Some(Pooling::Replica.begin_reading()), true, until, until);
            let (outcome, lost) = read_on(&replica.pool, connection, work);
            drop(permit);
            if let Some(cause) = lost {
                replica.skip(&cause);
            }
            drop(sender.send(outcome));
        });
        let outcome = timeout_at(until, receiver)
            .await
            .inspect_err(|_| silent_replica.skip(&Failure::Silence))
            .ok()?
            .ok()?;
        Some(outcome.unwrap_or_else(|panic| resume_unwind(panic)))
    }
}

impl Replica {
    fn is_available(&self) -> bool {
        self.skipped_until
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_none_or(|until| Instant::now() >= until)
    }

    fn skip(&self, cause: &dyn std::fmt::Display) {
        let mut skipped_until = self
            .skipped_until
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let was_available = skipped_until.is_none_or(|until| Instant::now() >= until);
        *skipped_until = Some(Instant::now() + SKIP_TIME);
        drop(skipped_until);
        if was_available {
            tracing::warn!(
                %cause,
                "a replica does not answer; reads use the primary, and the replica is tried again \
                    later"
            );
        }
    }
}
