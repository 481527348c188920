//! Group commit: queued writes of one organization share a transaction. Each would only wait for
//! the lock of the one before it.
//!
//! Each write runs in a savepoint, so a failed write is rolled back alone. No caller is answered
//! before the commit. The transaction ends at the first deadline of its writes. A write with a long
//! limit has a transaction of its own.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::connection::{COMMIT, Connection, Mark};
use super::pool::Pool;
use crate::error::{Error, Result};
use crate::job::{self, Answered, JobAnswer, Progress, Ran, Work, WorkError};
use crate::queue::Queue;
use crate::{Handle, Share, Transaction, WAIT_LIMIT, WORK_LIMIT};

/// Maximum number of operations in one transaction. The server keeps this many subtransactions of a
/// transaction in memory. Beyond that, every other session looks each of them up on disk.
const GROUP_SIZE: usize = 64;
/// How long a transaction accepts more operations.
const GROUP_TIME: Duration = Duration::from_millis(10);

/// The first operation needs no savepoint of its own.
const FOLLOW: &str = "savepoint operation";
const FOLLOW_ON: &str = "release savepoint operation; savepoint operation";
const UNDO: &str = "rollback to savepoint operation";

type Run = dyn FnOnce(Result<&mut Connection>) -> Ran + Send;

/// A queued write.
pub(super) struct QueuedWrite {
    run: Box<Run>,
    progress: Progress,
    requested_at: Instant,
    /// The caller's deadline.
    until: Instant,
    /// Whether its limit is longer than that of ordinary work.
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
        let begun = progress.clone();
        let run = move |connection: Result<&mut Connection>| match connection {
            Ok(_) if !begun.begin() => Ran::Skipped,
            Ok(connection) => {
                let transaction = Transaction::new(Handle::Postgres(connection), false);
                job::run(transaction, work, sender, |transaction| {
                    // A closure, because the path of the method would fix one lifetime.
                    transaction.assert_sound()
                })
            }
            Err(error) => Ran::Undone(Box::new(move |_| drop(sender.send(Ok(Err(error.into())))))),
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

/// The share whose turn it is, and its queue. Work that belongs to no share has none.
#[derive(Clone, Copy)]
pub(super) struct WriteTurn<'q> {
    pub(super) queue: Option<&'q Queue<QueuedWrite>>,
    pub(super) share: Share,
}

impl WriteTurn<'_> {
    /// Returns whether a queued write of the share may join the transaction.
    fn is_followed(self) -> bool {
        self.queue
            .is_some_and(|queue| queue.is_followed(self.share, |write| !write.is_long))
    }

    fn follow(self, took: Duration) -> Option<QueuedWrite> {
        self.queue?.follow(self.share, took)
    }

    /// Returns this write, or the first one behind it whose caller still waits.
    fn awaited(self, first: QueuedWrite) -> Option<QueuedWrite> {
        let mut next = Some(first);
        while let Some(write) = next.take_if(|write| write.progress.is_abandoned()) {
            drop(write);
            next = self.follow(Duration::ZERO);
        }
        next
    }
}

/// The outcomes of writes whose connection is free again.
pub(super) struct GroupOutcome {
    tells: Vec<Box<dyn FnOnce() + Send>>,
    /// The duration of the last write.
    pub(super) took: Duration,
}

impl GroupOutcome {
    pub(super) fn tell(self) {
        for tell in self.tells {
            tell();
        }
    }
}

/// A transaction, and the callers that wait for its outcome.
struct Batch {
    connection: Connection,
    /// Operations that wait for the commit, with the deadline of each.
    done: Vec<(Answered, Instant)>,
    /// Operations that were rolled back. They may have read uncommitted changes of others, so their
    /// callers are answered after the commit.
    undone: Vec<Answered>,
    /// Answers that do not depend on the commit.
    tells: Vec<Box<dyn FnOnce() + Send>>,
}

/// Runs a write, and the writes of the same share that are queued behind it, in one transaction.
pub(super) fn commit_group(
    pool: &Arc<Pool>,
    first: QueuedWrite,
    turn: WriteTurn<'_>,
) -> GroupOutcome {
    let begun = Instant::now();
    let nothing = || GroupOutcome {
        tells: Vec::new(),
        took: begun.elapsed(),
    };
    let Some(first) = turn.awaited(first) else {
        return nothing();
    };
    let replace_until = first.requested_at + WAIT_LIMIT;
    let connection = match pool.take(replace_until) {
        Ok(connection) => connection,
        Err(error) => {
            let Ran::Undone(answer) = (first.run)(Err(error)) else {
                return nothing();
            };
            return GroupOutcome {
                tells: vec![Box::new(move || answer(Ok(())))],
                took: begun.elapsed(),
            };
        }
    };
    let mut batch = Batch {
        connection,
        done: Vec::new(),
        undone: Vec::new(),
        tells: Vec::new(),
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
        let goes_on = !is_full && turn.is_followed();
        outcome = batch.settle(mark, until, ran, goes_on);
        let spent = begun.elapsed();
        took = spent.saturating_sub(std::mem::replace(&mut before, spent));
        if goes_on && outcome.is_ok() {
            for tell in batch.tells.drain(..) {
                tell();
            }
            next = turn.follow(took);
        }
    }
    let (is_outside, outcome) = batch.end(outcome);
    let Batch {
        connection,
        done,
        undone,
        mut tells,
        ..
    } = batch;
    pool.take_back(connection, is_outside);
    let committed = |answer: Answered| {
        let outcome = outcome.clone();
        Box::new(move || answer(outcome)) as Box<dyn FnOnce() + Send>
    };
    tells.extend(
        done.into_iter()
            .map(|(answer, _)| answer)
            .chain(undone)
            .map(committed),
    );
    GroupOutcome { tells, took }
}

impl Batch {
    /// Runs an operation. Returns the mark to roll back to.
    fn run(&mut self, write: QueuedWrite) -> (Mark, Ran) {
        self.limit_to(write.until);
        if !self.connection.has_sent() {
            self.connection
                .replaceable_until(write.requested_at + WAIT_LIMIT);
        }
        let mark = self.connection.mark();
        let ran = (write.run)(Ok(&mut self.connection));
        (mark, ran)
    }

    /// Sets the deadline of the next statement: the earlier of this moment and the first deadline
    /// of the completed operations.
    fn limit_to(&mut self, until: Instant) {
        self.connection.deadline = self
            .done
            .iter()
            .map(|(_, until)| *until)
            .fold(until, Instant::min);
    }

    /// Keeps the changes of an operation, or rolls them back. If another operation follows, its
    /// savepoint is set in the same round trip as the statements that this operation deferred. A
    /// failure of those statements is then this operation's failure. An error means that the
    /// transaction is lost.
    fn settle(&mut self, mark: Mark, until: Instant, ran: Ran, goes_on: bool) -> Result<()> {
        match ran {
            Ran::Skipped => Ok(()),
            Ran::Undone(answer) => {
                if self.done.is_empty() {
                    // The operation read only committed data.
                    self.tells.push(Box::new(move || answer(Ok(()))));
                } else {
                    self.undone.push(answer);
                }
                self.roll_back(mark, goes_on)
            }
            Ran::Done(answer) if goes_on || !self.done.is_empty() => {
                let follow = if self.done.is_empty() {
                    FOLLOW
                } else {
                    FOLLOW_ON
                };
                match self.connection.say(follow) {
                    Ok(()) => self.done.push((answer, until)),
                    Err(error) => {
                        self.tells.push(Box::new(move || answer(Err(error))));
                        return self.roll_back(mark, goes_on);
                    }
                }
                Ok(())
            }
            Ran::Done(answer) => {
                self.done.push((answer, until));
                Ok(())
            }
        }
    }

    /// Rolls back what was sent since a mark. If no other operation has changed anything, and none
    /// follows, the end of the transaction does it.
    fn roll_back(&mut self, mark: Mark, goes_on: bool) -> Result<()> {
        if !self.connection.forget_since(mark) || (self.done.is_empty() && !goes_on) {
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
                UNDO
            })
            .map_err(Error::from)
    }

    /// Ends the transaction. Returns whether the connection is outside of a transaction, and
    /// whether the completed operations are committed.
    fn end(&mut self, outcome: Result<()>) -> (bool, Result<()>) {
        if let Some((_, until)) = self.done.last() {
            self.limit_to(*until);
        }
        let connection = &mut self.connection;
        let outcome = outcome.and_then(|()| connection.assert_awaited());
        if outcome.is_err() || self.done.is_empty() {
            let is_outside = !connection.has_sent() || connection.end("rollback").is_ok();
            return (is_outside, outcome);
        }
        match connection.say(COMMIT) {
            Ok(()) => (true, Ok(())),
            Err(error) if connection.link.is_lost() => {
                (false, Err(Error::Unknown(error.to_string())))
            }
            Err(error) => (false, Err(error)),
        }
    }
}
