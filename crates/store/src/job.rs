//! Hands work from async code to a thread with a connection, and returns the result.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::error::{Error, Result};
use crate::{Transaction, WAIT_LIMIT};

/// Work for the store: a closure that takes a transaction. The store runs the closure on the thread
/// that owns the connection.
pub trait Work<T, E>: FnOnce(&mut Transaction<'_>) -> Result<T, E> + Send + 'static {}

impl<T, E, W: FnOnce(&mut Transaction<'_>) -> Result<T, E> + Send + 'static> Work<T, E> for W {}

/// The error type of work. An error of the store must be convertible into it.
pub trait WorkError: From<Error> + Send + 'static {}

impl<E: From<Error> + Send + 'static> WorkError for E {}

/// Work with its types erased, so that the functions that pass it to a thread are compiled once,
/// not once for each type.
pub(crate) type AnyWork = Box<dyn FnOnce(&mut Transaction<'_>) -> Outcome + Send>;

/// The result of type-erased work.
pub(crate) type Outcome = Result<Box<dyn Any + Send>, WorkFailure>;

/// The failure of type-erased work.
pub(crate) enum WorkFailure {
    /// An error that the work returned, with its type erased.
    Work(Box<dyn Any + Send>),
    /// An error of the store.
    Store(Error),
}

impl From<Error> for WorkFailure {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

/// Wraps the function of an operation so that its result and its error are type-erased values.
/// Functions with different types can then wait in one queue.
pub(crate) fn without_types<T: Send + 'static, E: WorkError>(work: impl Work<T, E>) -> AnyWork {
    Box::new(move |transaction| match work(transaction) {
        Ok(value) => Ok(Box::new(value)),
        Err(error) => Err(WorkFailure::Work(Box::new(error))),
    })
}

/// Converts the type-erased result or error of an operation back to its Rust type. Returns
/// [`Error::Defect`] if the result does not have the expected type.
pub(crate) fn with_types<T: 'static, E: WorkError>(outcome: Outcome) -> Result<T, E> {
    let wrong_type = || {
        E::from(Error::Defect(
            "the result of an operation has another type than expected".into(),
        ))
    };
    match outcome {
        Ok(value) => value
            .downcast()
            .map(|value| *value)
            .map_err(|_| wrong_type()),
        Err(WorkFailure::Work(error)) => Err(error
            .downcast()
            .map_or_else(|_| wrong_type(), |error| *error)),
        Err(WorkFailure::Store(error)) => Err(E::from(error)),
    }
}

/// The states of [`Progress`].
const WAITING: u8 = 0;
const STARTED: u8 = 1;
const ABANDONED: u8 = 2;

/// The state of work: waiting, started or abandoned. Two threads compete to change it, and only the
/// first succeeds: the thread that begins the work, or the thread that stops waiting for the
/// result.
#[derive(Clone, Default)]
pub(crate) struct Progress(Arc<AtomicU8>);

impl Progress {
    /// Marks the work as begun. Returns false if the thread that waited for the work has given up.
    pub(crate) fn begin(&self) -> bool {
        self.0
            .compare_exchange(WAITING, STARTED, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }

    /// Returns whether the task that requested the work stopped waiting before the work began.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.0.load(Ordering::Acquire) == ABANDONED
    }

    fn give_up(&self) -> bool {
        self.0
            .compare_exchange(WAITING, ABANDONED, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }
}

/// A caught panic. The thread that waits for the work raises it again.
pub(crate) type Panic = Box<dyn Any + Send>;

/// Runs work and catches a panic in it, so that the thread and its connection survive.
pub(crate) fn catch_panics<T, E>(
    work: impl Work<T, E>,
    transaction: &mut Transaction<'_>,
) -> Result<Result<T, E>, Panic> {
    catch_unwind(AssertUnwindSafe(|| work(transaction)))
}

/// The result of an operation that is committed together with other operations.
pub(crate) enum OperationResult {
    /// The code that waited for the operation had stopped waiting, so the operation did not run.
    Skipped,
    /// The operation failed, or was a dry run, and must be rolled back. It may have read
    /// uncommitted changes of earlier operations in the same transaction. So its result is sent
    /// only after that transaction has been committed or rolled back.
    RolledBack(CommitCallback),
    /// The operation succeeded. Its result is sent after the transaction has been committed or
    /// rolled back.
    Done(CommitCallback),
}

/// A callback that sends the result of an operation to the task that waits for it. The argument of
/// the callback is the outcome of the commit.
pub(crate) type CommitCallback = Box<dyn FnOnce(Result<()>) + Send>;

/// Runs an operation that is committed together with other operations. After the operation, calls
/// `is_sound`. If `is_sound` returns an error, the operation fails with that error.
pub(crate) fn run<T: Send + 'static, E: WorkError>(
    mut transaction: Transaction<'_>,
    work: impl Work<T, E>,
    sender: JobAnswer<T, E>,
    is_sound: impl FnOnce(&mut Transaction<'_>) -> Result<()>,
) -> OperationResult {
    let outcome = catch_panics(work, &mut transaction);
    if outcome.is_err() {
        transaction.mark_broken();
    }
    let is_dry_run = transaction.is_dry_run;
    let outcome = outcome.map(|outcome| {
        outcome.and_then(|value| is_sound(&mut transaction).map(|()| value).map_err(E::from))
    });
    let is_done = matches!(outcome, Ok(Ok(_))) && !is_dry_run;
    let answer: CommitCallback = Box::new(move |committed| {
        let outcome = outcome.map(|outcome| committed.map_err(E::from).and(outcome));
        // If the function that queued the operation no longer waits, the result is dropped.
        drop(sender.send(outcome));
    });
    if is_done {
        OperationResult::Done(answer)
    } else {
        OperationResult::RolledBack(answer)
    }
}

/// The channel for the result of work.
pub(crate) type JobAnswer<T, E> = oneshot::Sender<Result<Result<T, E>, Panic>>;

/// Waits for the result of work. If the work has not begun [`WAIT_LIMIT`] after `requested_at`,
/// cancels it and returns a timeout. If the work has begun, waits until `limit` after
/// `requested_at`. The result of a write that has begun is unknown after a timeout, because its
/// commit may be under way.
pub(crate) async fn answer<T, E: WorkError>(
    requested_at: Instant,
    limit: Duration,
    is_read: bool,
    progress: Progress,
    mut receiver: oneshot::Receiver<Result<Result<T, E>, Panic>>,
) -> Result<T, E> {
    let closing = |_| {
        Ok(Err(E::from(Error::Unavailable(
            "the database is closing".into(),
        ))))
    };
    let timeout = |error: fn(String) -> Error| {
        Err(E::from(error("the database did not answer in time".into())))
    };
    let begun_in_time = tokio::time::timeout_at(requested_at + WAIT_LIMIT, &mut receiver).await;
    let outcome = match begun_in_time {
        Ok(outcome) => outcome.unwrap_or_else(closing),
        Err(_) if progress.give_up() => return timeout(Error::Unavailable),
        Err(_) => match tokio::time::timeout_at(requested_at + limit, receiver).await {
            Ok(outcome) => outcome.unwrap_or_else(closing),
            Err(_) => {
                return timeout(if is_read {
                    Error::Unavailable
                } else {
                    Error::Unknown
                });
            }
        },
    };
    outcome.unwrap_or_else(|panic| resume_unwind(panic))
}
