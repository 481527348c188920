//! Work handed from an async caller to a thread with a connection, and its answer back.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::error::{Error, Result};
use crate::{Transaction, WAIT_LIMIT};

/// Work over a transaction, such as a closure. It is handed to the thread that owns a connection.
pub trait Work<T, E>: FnOnce(&mut Transaction<'_>) -> Result<T, E> + Send + 'static {}

impl<T, E, W> Work<T, E> for W where W: FnOnce(&mut Transaction<'_>) -> Result<T, E> + Send + 'static {}

/// What work may fail with: an error of its own, which can say what the store fails with.
pub trait WorkError: From<Error> + Send + 'static {}

impl<E: From<Error> + Send + 'static> WorkError for E {}

/// Work of whatever type: what carries it is compiled once, and not anew for each piece of work.
pub(crate) type AnyWork = Box<dyn FnOnce(&mut Transaction<'_>) -> Outcome + Send>;

/// What that comes to.
pub(crate) type Outcome = Result<Box<dyn Any + Send>, Failed>;

/// How it fails.
pub(crate) enum Failed {
    /// By an error of the work's own.
    Work(Box<dyn Any + Send>),
    /// By one of the store's.
    Store(Error),
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

/// Work of some type as one of any.
pub(crate) fn any<T: Send + 'static, E: WorkError>(work: impl Work<T, E>) -> AnyWork {
    Box::new(move |transaction| match work(transaction) {
        Ok(value) => Ok(Box::new(value)),
        Err(error) => Err(Failed::Work(Box::new(error))),
    })
}

/// What that came to, in the types it had.
pub(crate) fn known<T: 'static, E: WorkError>(outcome: Outcome) -> Result<T, E> {
    let lost = || E::from(Error::Defect("an answer is not what its work gives".into()));
    match outcome {
        Ok(value) => value.downcast().map(|value| *value).map_err(|_| lost()),
        Err(Failed::Work(error)) => Err(error.downcast().map_or_else(|_| lost(), |error| *error)),
        Err(Failed::Store(error)) => Err(E::from(error)),
    }
}

const WAITING: u8 = 0;
const STARTED: u8 = 1;
const GIVEN_UP: u8 = 2;

/// Whether work has begun. Exactly one side wins: the thread that begins it, or the caller that gives up waiting.
#[derive(Clone, Default)]
pub(crate) struct Progress(Arc<AtomicU8>);

impl Progress {
    /// True when the work may begin; false when its caller has gone.
    pub(crate) fn begin(&self) -> bool {
        self.0.compare_exchange(WAITING, STARTED, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Whether its caller has gone before it began.
    pub(crate) fn is_given_up(&self) -> bool {
        self.0.load(Ordering::Acquire) == GIVEN_UP
    }

    fn give_up(&self) -> bool {
        self.0.compare_exchange(WAITING, GIVEN_UP, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

/// A caught panic, on its way to the caller.
pub(crate) type Panic = Box<dyn Any + Send>;

/// Runs work; a panic in it is caught, so that the thread and its connection live on.
pub(crate) fn guarded<T, E>(work: impl Work<T, E>, transaction: &mut Transaction<'_>) -> Result<Result<T, E>, Panic> {
    catch_unwind(AssertUnwindSafe(|| work(transaction)))
}

/// What became of an operation that shares a commit with others.
pub(crate) enum Ran {
    /// Its caller had gone: nothing was done.
    Skipped,
    /// It failed, or was a rehearsal, and is to be undone. What it has read may be of those before it, so its caller hears of it once
    /// their commit's outcome is known.
    Undone(Told),
    /// It succeeded; its caller hears so, or why not, once the commit's outcome is known.
    Done(Told),
}

/// Tells a caller what has come of its operation, where the commit has come to this.
pub(crate) type Told = Box<dyn FnOnce(Result<()>) + Send>;

/// Runs an operation that shares a commit. What it has done is held against `is_sound` before it counts.
pub(crate) fn run<T: Send + 'static, E: WorkError>(
    mut transaction: Transaction<'_>,
    work: impl Work<T, E>,
    sender: Answer<T, E>,
    is_sound: impl FnOnce(&mut Transaction<'_>) -> Result<()>,
) -> Ran {
    let outcome = guarded(work, &mut transaction);
    if outcome.is_err() {
        transaction.doubt();
    }
    let is_rehearsal = transaction.is_rehearsal;
    let outcome = outcome.map(|outcome| outcome.and_then(|value| is_sound(&mut transaction).map(|()| value).map_err(E::from)));
    let is_done = matches!(outcome, Ok(Ok(_))) && !is_rehearsal;
    let answer: Told = Box::new(move |committed| {
        let outcome = outcome.map(|outcome| committed.map_err(E::from).and(outcome));
        // A caller that has gone needs no answer.
        drop(sender.send(outcome));
    });
    if is_done { Ran::Done(answer) } else { Ran::Undone(answer) }
}

/// Where an answer goes.
pub(crate) type Answer<T, E> = oneshot::Sender<Result<Result<T, E>, Panic>>;

/// Awaits an answer. Gives up on work that has not begun within [`WAIT_LIMIT`] of when its caller `asked`, and on any work
/// after `limit`. What a write that has begun comes to is not known then: it may be in the middle of its commit.
pub(crate) async fn answer<T, E: WorkError>(
    asked: Instant,
    limit: Duration,
    is_read: bool,
    progress: Progress,
    mut receiver: oneshot::Receiver<Result<Result<T, E>, Panic>>,
) -> Result<T, E> {
    let gone = |_| Ok(Err(E::from(Error::Unavailable("the database is closing".into()))));
    let late = |error: fn(String) -> Error| Err(E::from(error("the database did not answer in time".into())));
    let first = tokio::time::timeout_at(asked + WAIT_LIMIT, &mut receiver).await;
    let outcome = match first {
        Ok(outcome) => outcome.unwrap_or_else(gone),
        Err(_) if progress.give_up() => return late(Error::Unavailable),
        Err(_) => match tokio::time::timeout_at(asked + limit, receiver).await {
            Ok(outcome) => outcome.unwrap_or_else(gone),
            Err(_) => return late(if is_read { Error::Unavailable } else { Error::Unknown }),
        },
    };
    outcome.unwrap_or_else(|panic| resume_unwind(panic))
}
