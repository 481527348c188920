//! Group commit: queued writes of one organization run in one transaction. In separate
//! transactions, each write would only wait until the write before it releases the organization's
//! lock.
//!
//! Each write runs in a savepoint, so a failed write is rolled back alone. No function that queued
//! a write gets its result before the commit. If the transaction has not ended at the earliest
//! deadline of its writes, it is rolled back. A write whose time limit is longer than that of
//! ordinary work has a transaction to itself.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::connection::{COMMIT, Connection, Mark};
use super::pool::Pool;
use crate::error::{Error, Result};
use crate::job::{self, CommitCallback, JobAnswer, OperationResult, Progress, Work, WorkError};
use crate::queue::Queue;
use crate::{Handle, Share, Transaction, WAIT_LIMIT, WORK_LIMIT};

/// Maximum number of operations in one transaction. PostgreSQL caches the ids of this many
/// subtransactions of each transaction in memory. Beyond that, every other session looks each id up
/// on disk.
const GROUP_SIZE: usize = 64;
/// How long after its start a transaction accepts more operations. Later operations go into the
/// next transaction.
const GROUP_TIME: Duration = Duration::from_millis(10);

/// SQL for the second operation of a transaction, which gets the first savepoint. The first
/// operation needs no savepoint, because a rollback of the transaction undoes it.
const FIRST_SAVEPOINT: &str = "savepoint operation";
const NEXT_SAVEPOINT: &str = "release savepoint operation; savepoint operation";
const ROLLBACK_TO_SAVEPOINT: &str = "rollback to savepoint operation";

type Run = dyn FnOnce(Result<&mut Connection>) -> OperationResult + Send;

/// A queued write.
pub(super) struct QueuedWrite {
    run: Box<Run>,
    progress: Progress,
    requested_at: Instant,
    /// The time by which the function that requested the write must get the result of the write.
    until: Instant,
    /// Whether the time limit of the write is longer than [`WORK_LIMIT`], the limit of ordinary
    /// writes.
    is_long: bool,
}

impl QueuedWrite {
    pub(super) fn new<T: Send + 'static, E: WorkError>(
        requested_at: Instant,
        limit: Duration,
        progress: Progress,
        work: impl Work<T, E>,
        sender: JobAnswer<T, E>,
    ) -> Self {
        let thread_progress = progress.clone();
        let run = move |connection: Result<&mut Connection>| match connection {
            Ok(_) if !thread_progress.begin() => OperationResult::Skipped,
            Ok(connection) => {
                let transaction = Transaction::new(Handle::Postgres(connection), false);
                job::run(transaction, work, sender, |transaction| {
                    // The closure accepts a transaction of any lifetime. The path
                    // `Transaction::assert_sound` would accept only one lifetime.
                    transaction.assert_sound()
                })
            }
            Err(error) => OperationResult::RolledBack(Box::new(move |_| {
                drop(sender.send(Ok(Err(error.into()))));
            })),
        };
        Self {
            run: Box::new(run),
            progress,
            requested_at,
            until: requested_at + limit,
            is_long: limit > WORK_LIMIT,
        }
    }

    pub(super) fn requested_at(&self) -> Instant {
        self.requested_at
    }
}

/// The share whose turn it is, and the queue of its writes. Both are `None` for the program's own
/// writes.
#[derive(Clone, Copy)]
pub(super) struct WriteTurn<'q> {
    pub(super) queue: Option<&'q Queue<QueuedWrite>>,
    pub(super) share: Share,
}

impl WriteTurn<'_> {
    /// Returns whether the next queued write of the share may join the transaction.
    fn is_followed(self) -> bool {
        self.queue
            .is_some_and(|queue| queue.is_followed(self.share, |write| !write.is_long))
    }

    fn follow(self, took: Duration) -> Option<QueuedWrite> {
        self.queue?.follow(self.share, took)
    }

    /// Returns the first write whose result is still awaited: `first`, or else a write queued
    /// behind it. Drops the writes before it, whose calling functions have timed out.
    fn first_awaited(self, first: QueuedWrite) -> Option<QueuedWrite> {
        let mut next = Some(first);
        while let Some(write) = next.take_if(|write| write.progress.is_abandoned()) {
            drop(write);
            next = self.follow(Duration::ZERO);
        }
        next
    }
}

/// The results of writes. Each result is sent to the function that waits for it, after the
/// connection was returned to the pool.
pub(super) struct GroupOutcome {
    senders: Vec<Box<dyn FnOnce() + Send>>,
    /// How long the last write of the group took. The queue charges this time to the share.
    pub(super) took: Duration,
}

impl GroupOutcome {
    pub(super) fn send(self) {
        for send in self.senders {
            send();
        }
    }
}

/// A transaction in progress, and the functions that send the results of its operations to the
/// tasks that wait for them.
struct Batch {
    connection: Connection,
    /// The callbacks of operations that wait for the commit, each with the operation's deadline.
    done: Vec<(CommitCallback, Instant)>,
    /// The callbacks that report the results of rolled-back operations. Such an operation may have
    /// read uncommitted changes of other operations, so its result is reported only after the
    /// commit.
    undone: Vec<CommitCallback>,
    /// Functions that each send the result of one operation to the task that waits for it. None of
    /// these results depends on the outcome of the commit.
    senders: Vec<Box<dyn FnOnce() + Send>>,
}

/// Runs a write, and the writes of the same share that are queued behind it, in one transaction.
pub(super) fn commit_group(
    pool: &Arc<Pool>,
    first: QueuedWrite,
    turn: WriteTurn<'_>,
) -> GroupOutcome {
    let begun = Instant::now();
    let no_result = || GroupOutcome {
        senders: Vec::new(),
        took: begun.elapsed(),
    };
    let Some(first) = turn.first_awaited(first) else {
        return no_result();
    };
    let replace_until = first.requested_at + WAIT_LIMIT;
    let connection = match pool.take(replace_until) {
        Ok(connection) => connection,
        Err(error) => {
            let OperationResult::RolledBack(answer) = (first.run)(Err(error)) else {
                return no_result();
            };
            return GroupOutcome {
                senders: vec![Box::new(move || answer(Ok(())))],
                took: begun.elapsed(),
            };
        }
    };
    let mut batch = Batch {
        connection,
        done: Vec::new(),
        undone: Vec::new(),
        senders: Vec::new(),
    };
    let opening = batch.connection.pooling.begin();
    batch
        .connection
        .ready(Some(opening), false, replace_until, first.until);
    let (mut attempts, mut before, mut next) = (0, Duration::ZERO, Some(first));
    let mut outcome = Ok(());
    let mut took = Duration::ZERO;
    while let Some(write) = next.take() {
        let (is_long, until) = (write.is_long, write.until);
        let (mark, ran) = batch.run(write);
        attempts += 1;
        let is_full = is_long || attempts >= GROUP_SIZE || begun.elapsed() >= GROUP_TIME;
        let has_next = !is_full && turn.is_followed();
        outcome = batch.settle(mark, until, ran, has_next);
        let spent = begun.elapsed();
        took = spent.saturating_sub(std::mem::replace(&mut before, spent));
        if has_next && outcome.is_ok() {
            for send in batch.senders.drain(..) {
                send();
            }
            next = turn.follow(took);
        }
    }
    let (is_outside, outcome) = batch.end(outcome);
    let Batch {
        connection,
        done,
        undone,
        mut senders,
        ..
    } = batch;
    pool.take_back(connection, is_outside);
    let committed = |answer: CommitCallback| {
        let outcome = outcome.clone();
        Box::new(move || answer(outcome)) as Box<dyn FnOnce() + Send>
    };
    senders.extend(
        done.into_iter()
            .map(|(answer, _)| answer)
            .chain(undone)
            .map(committed),
    );
    GroupOutcome { senders, took }
}

impl Batch {
    /// Runs an operation. Returns its result, and the mark to which the transaction is rolled back
    /// if the operation fails.
    fn run(&mut self, write: QueuedWrite) -> (Mark, OperationResult) {
        self.limit_deadline(write.until);
        if !self.connection.has_sent() {
            self.connection
                .replaceable_until(write.requested_at + WAIT_LIMIT);
        }
        let mark = self.connection.mark();
        let ran = (write.run)(Ok(&mut self.connection));
        (mark, ran)
    }

    /// Sets the deadline of the next statement to the earliest of `until` and the deadlines of the
    /// completed operations.
    fn limit_deadline(&mut self, until: Instant) {
        self.connection.deadline = self
            .done
            .iter()
            .map(|(_, until)| *until)
            .fold(until, Instant::min);
    }

    /// Keeps an operation's changes in the transaction, or rolls them back. If another operation
    /// follows, creates its savepoint in the same round trip as the statements that this operation
    /// deferred. If one of those statements fails, this operation fails. Returns an error if the
    /// transaction is lost.
    fn settle(
        &mut self,
        mark: Mark,
        until: Instant,
        ran: OperationResult,
        has_next: bool,
    ) -> Result<()> {
        match ran {
            OperationResult::Skipped => Ok(()),
            OperationResult::RolledBack(answer) => {
                if self.done.is_empty() {
                    // The operation read only committed data, so its result does not depend on the
                    // commit.
                    self.senders.push(Box::new(move || answer(Ok(()))));
                } else {
                    self.undone.push(answer);
                }
                self.roll_back(mark, has_next)
            }
            OperationResult::Done(answer) if has_next || !self.done.is_empty() => {
                let follow = if self.done.is_empty() {
                    FIRST_SAVEPOINT
                } else {
                    NEXT_SAVEPOINT
                };
                match self.connection.run(follow) {
                    Ok(()) => self.done.push((answer, until)),
                    Err(error) => {
                        self.senders.push(Box::new(move || answer(Err(error))));
                        return self.roll_back(mark, has_next);
                    }
                }
                Ok(())
            }
            OperationResult::Done(answer) => {
                self.done.push((answer, until));
                Ok(())
            }
        }
    }

    /// Rolls back the statements sent since `mark`. Does nothing if they belong to the only
    /// operation of the transaction, because the end of the transaction then rolls them back.
    fn roll_back(&mut self, mark: Mark, has_next: bool) -> Result<()> {
        if !self.connection.discard_since(mark) || (self.done.is_empty() && !has_next) {
            return Ok(());
        }
        if self.connection.link.is_lost() {
            return Err(Error::Unavailable(
                "the connection was lost while it was in use".into(),
            ));
        }
        let begin_again = self.connection.pooling.begin_again();
        self.connection
            .end(if self.done.is_empty() {
                begin_again
            } else {
                ROLLBACK_TO_SAVEPOINT
            })
            .map_err(Error::from)
    }

    /// Ends the transaction. Returns whether the connection is outside a transaction, and whether
    /// the completed operations are committed.
    fn end(&mut self, outcome: Result<()>) -> (bool, Result<()>) {
        if let Some((_, until)) = self.done.last() {
            self.limit_deadline(*until);
        }
        let connection = &mut self.connection;
        let outcome = outcome.and_then(|()| connection.assert_in_time());
        if outcome.is_err() || self.done.is_empty() {
            let is_outside = !connection.has_sent() || connection.end("rollback").is_ok();
            return (is_outside, outcome);
        }
        match connection.run(COMMIT) {
            Ok(()) => (true, Ok(())),
            Err(error) if connection.link.is_lost() => {
                (false, Err(Error::Unknown(error.to_string())))
            }
            Err(error) => (false, Err(error)),
        }
    }
}
