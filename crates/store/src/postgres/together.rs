//! Writes that share a commit: those of one organization, which would only wait for one another's.
//!
//! Each runs in a savepoint, so that one which fails is undone alone, and nobody is answered before the commit. They share what
//! they wait for as well: the transaction is over when the first of them may be waited for no longer, and what may take long
//! goes by itself.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::connection::{COMMIT, Connection};
use super::pool::Pool;
use crate::error::{Error, Result};
use crate::job::{self, Answer, Progress, Ran, Told, Work, WorkError};
use crate::queue::Queue;
use crate::{Handle, Share, Transaction, WAIT_LIMIT, WORK_LIMIT};

/// Operations that are tried in one transaction at the most: as many subtransactions as the server remembers of one, which it
/// would have to look up for everybody else from then on.
const TOGETHER: usize = 64;
/// How long a transaction takes more operations. What comes in the meantime is for the next one.
const TOGETHER_TIME: Duration = Duration::from_millis(10);

/// The first of them has the transaction to itself.
const FOLLOW: &str = "savepoint operation";
const FOLLOW_ON: &str = "release savepoint operation; savepoint operation";
const UNDO: &str = "rollback to savepoint operation";

type Run = dyn FnOnce(Result<&mut Connection>) -> Ran + Send;

/// A write that waits for its turn.
pub(super) struct Write {
    run: Box<Run>,
    progress: Progress,
    asked: Instant,
    /// When its caller is told that it takes too long.
    until: Instant,
    /// Whether it may take longer than most.
    is_long: bool,
}

impl Write {
    pub(super) fn new<T: Send + 'static, E: WorkError>(
        asked: Instant,
        limit: Duration,
        progress: Progress,
        work: impl Work<T, E>,
        sender: Answer<T, E>,
    ) -> Self {
        let begun = progress.clone();
        let run = move |connection: Result<&mut Connection>| match connection {
            Ok(_) if !begun.begin() => Ran::Skipped,
            Ok(connection) => {
                let transaction = Transaction::new(Handle::Postgres(connection), false);
                job::run(transaction, work, sender, |transaction| {
                    // Named, it would be of one lifetime only.
                    transaction.assert_sound()
                })
            }
            Err(error) => Ran::Undone(Box::new(move |_| drop(sender.send(Ok(Err(error.into())))))),
        };
        Self { run: Box::new(run), progress, asked, until: asked + limit, is_long: limit > WORK_LIMIT }
    }

    pub(super) fn asked(&self) -> Instant {
        self.asked
    }
}

/// Whose turn it is, and where more of the share may be waiting; nowhere for what is no share's.
#[derive(Clone, Copy)]
pub(super) struct Turn<'q> {
    pub(super) queue: Option<&'q Queue<Write>>,
    pub(super) share: Share,
}

impl Turn<'_> {
    /// Whether something waits that may go together with what has been done.
    fn is_followed(self) -> bool {
        self.queue.is_some_and(|queue| queue.is_followed(self.share, |write| !write.is_long))
    }

    fn follow(self, took: Duration) -> Option<Write> {
        self.queue?.follow(self.share, took)
    }

    /// This write, or else the first of those behind it, whose caller has not gone.
    fn awaited(self, first: Write) -> Option<Write> {
        let mut next = Some(first);
        while let Some(write) = next.take_if(|write| write.progress.is_given_up()) {
            drop(write);
            next = self.follow(Duration::ZERO);
        }
        next
    }
}

/// What has come of writes whose connection is free again, and is to be told.
pub(super) struct Settled {
    tells: Vec<Box<dyn FnOnce() + Send>>,
    /// How long the last of them took.
    pub(super) took: Duration,
}

impl Settled {
    pub(super) fn tell(self) {
        for tell in self.tells {
            tell();
        }
    }
}

/// A transaction, and what its callers are told once it is over.
struct Batch {
    connection: Connection,
    /// What has succeeded, and waits for the commit, and until when it may be waited for.
    done: Vec<(Told, Instant)>,
    /// What has been undone, and may have read what the commit is to make so.
    undone: Vec<Told>,
    /// Whether what has succeeded has taken the lock of the share.
    is_held: bool,
    /// What is to be told whatever becomes of the commit.
    tells: Vec<Box<dyn FnOnce() + Send>>,
}

/// Runs a write, and what has queued up behind it in the same share, in one transaction.
pub(super) fn commit_together(pool: &Arc<Pool>, first: Write, turn: Turn<'_>) -> Settled {
    let begun = Instant::now();
    let nothing = || Settled { tells: Vec::new(), took: begun.elapsed() };
    let Some(first) = turn.awaited(first) else { return nothing() };
    let heard_until = first.asked + WAIT_LIMIT;
    let connection = match pool.take(heard_until) {
        Ok(connection) => connection,
        Err(error) => {
            let Ran::Undone(answer) = (first.run)(Err(error)) else { return nothing() };
            return Settled { tells: vec![Box::new(move || answer(Ok(())))], took: begun.elapsed() };
        }
    };
    let mut batch = Batch { connection, done: Vec::new(), undone: Vec::new(), is_held: false, tells: Vec::new() };
    let opening = batch.connection.pooling.begin();
    batch.connection.ready(Some(opening), false, heard_until, first.until);
    let (mut attempts, mut before, mut next) = (0, Duration::ZERO, Some(first));
    let mut outcome = Ok(());
    let mut took = Duration::ZERO;
    while let Some(write) = next.take() {
        let (is_long, until) = (write.is_long, write.until);
        let (place, ran) = batch.run(write);
        attempts += 1;
        let is_full = is_long || attempts >= TOGETHER || begun.elapsed() >= TOGETHER_TIME;
        let goes_on = !is_full && turn.is_followed();
        outcome = batch.settle(place, until, ran, goes_on);
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
    let Batch { connection, done, undone, mut tells, .. } = batch;
    pool.take_back(connection, is_outside);
    let told = |answer: Told| {
        let outcome = outcome.clone();
        Box::new(move || answer(outcome)) as Box<dyn FnOnce() + Send>
    };
    tells.extend(done.into_iter().map(|(answer, _)| answer).chain(undone).map(told));
    Settled { tells, took }
}

impl Batch {
    /// Runs an operation; where the conversation was before it.
    fn run(&mut self, write: Write) -> ((u64, usize), Ran) {
        self.hurry(write.until);
        if !self.connection.has_spoken() {
            self.connection.heard_until = write.asked + WAIT_LIMIT;
        }
        self.connection.is_held = self.is_held;
        let place = self.connection.place();
        let ran = (write.run)(Ok(&mut self.connection));
        self.note_undone();
        self.is_held |= self.connection.is_held && matches!(ran, Ran::Done(_));
        (place, ran)
    }

    /// Has what is said next be said until this moment, or until the first of what is done may be waited for no longer. What is undone, or
    /// was not begun, hurries nobody.
    fn hurry(&mut self, until: Instant) {
        self.connection.until = self.done.iter().map(|(_, until)| *until).fold(until, Instant::min);
    }

    /// Notes that the operation before was undone as it ended, if it was.
    fn note_undone(&mut self) {
        if let Some(error) = self.connection.take_undone() {
            // It may have been the one that took the lock.
            self.is_held = false;
            let undone = self.done.pop();
            self.tells.extend(undone.map(|(answer, _)| Box::new(move || answer(Err(error))) as Box<dyn FnOnce() + Send>));
        }
    }

    /// Keeps what an operation has done, or undoes it. Where no other goes on, what it has left to be said waits for the commit.
    /// An error means that the transaction is lost.
    fn settle(&mut self, place: (u64, usize), until: Instant, ran: Ran, goes_on: bool) -> Result<()> {
        match ran {
            Ran::Skipped => Ok(()),
            Ran::Undone(answer) => {
                if self.done.is_empty() {
                    // What it has read was committed.
                    self.tells.push(Box::new(move || answer(Ok(()))));
                } else {
                    self.undone.push(answer);
                }
                self.undo(place, goes_on)
            }
            Ran::Done(answer) if goes_on || !self.done.is_empty() => {
                // It has said nothing but what goes along, and so was not told of the one before it.
                let closed = self.connection.close_seam();
                self.note_undone();
                if let Err(error) = closed {
                    self.tells.push(Box::new(move || answer(Err(error))));
                    return self.undo(place, goes_on);
                }
                let (follow, undo) = if self.done.is_empty() { (FOLLOW, self.connection.pooling.begin_anew()) } else { (FOLLOW_ON, UNDO) };
                self.connection.say_at_seam(follow, undo);
                self.done.push((answer, until));
                Ok(())
            }
            Ran::Done(answer) => {
                self.done.push((answer, until));
                Ok(())
            }
        }
    }

    /// Undoes what was said since a place. Where no other has done anything, nor goes on, the end does.
    fn undo(&mut self, place: (u64, usize), goes_on: bool) -> Result<()> {
        if !self.connection.go_back(place) || (self.done.is_empty() && !goes_on) {
            return Ok(());
        }
        if self.connection.link.is_lost() {
            return Err(Error::Unavailable("the connection was lost while it was in use".into()));
        }
        let begin_anew = self.connection.pooling.begin_anew();
        self.connection.end(if self.done.is_empty() { begin_anew } else { UNDO }).map_err(Error::from)
    }

    /// Ends the transaction: whether the connection is outside of one, and what came of what has succeeded.
    fn end(&mut self, outcome: Result<()>) -> (bool, Result<()>) {
        if let Some((_, until)) = self.done.last() {
            self.hurry(*until);
        }
        let outcome = outcome.and_then(|()| self.connection.close_seam());
        self.note_undone();
        let connection = &mut self.connection;
        let outcome = outcome.and_then(|()| connection.assert_awaited());
        if outcome.is_err() || self.done.is_empty() {
            let is_outside = !connection.has_spoken() || connection.end("rollback").is_ok();
            return (is_outside, outcome);
        }
        match connection.say(COMMIT) {
            Ok(()) => (true, Ok(())),
            Err(error) if connection.link.is_lost() => (false, Err(Error::Unknown(error.to_string()))),
            Err(error) => (false, Err(error)),
        }
    }
}
