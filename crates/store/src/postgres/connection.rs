//! A connection as a transaction uses it: statements, prepared once, and what is said along with them.
//!
//! What needs no answer before the next statement waits for that, and both are on the way together: the beginning of a
//! transaction, savepoints, and changes whose number of rows nobody asks for. So is what is known to be asked next.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::mem;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, timeout};
use tokio_postgres::Client;
use tokio_postgres::types::ToSql;

use super::link::{Failure, Link};
use super::pool::Pool;
use super::pooler::Pooling;
use super::statements::{Known, Statements};
use crate::error::{Error, Result};
use crate::several::AT_ONCE;
use crate::statement::{Ask, Statement};
use crate::value::{Columns, Row, Value};

/// How long an answer is waited for on this side, from the one before it: longer than the server lets a statement run, so that a
/// server that is there is heard.
const ANSWER_LIMIT: Duration = Duration::from_millis(5_000);
/// What ends a transaction for good.
pub(super) const COMMIT: &str = "commit";

/// A connection, and the statements known on it.
pub(crate) struct Connection {
    pub(super) link: Link,
    /// Where it comes from, while it is in use.
    pub(super) pool: Option<Arc<Pool>>,
    pub(super) pooling: Pooling,
    statements: Statements,
    pub(super) generation: u64,
    pub(super) made: Instant,
    pub(super) rests_since: Instant,
    /// What is said before the next statement.
    waiting: Vec<Step<'static>>,
    /// Where in that the operation before ends.
    seam: Option<Seam>,
    /// Why that operation was undone after all.
    undone: Option<Error>,
    /// Whether the transaction has the lock of its share, as its user has noted.
    pub(crate) is_held: bool,
    /// What is asked next, in this order.
    foreseen: VecDeque<Ask>,
    /// What was answered to it.
    foretold: VecDeque<Vec<Row>>,
    /// How often something was said for the work under way.
    exchanges: u64,
    /// Whether the server has answered since it was taken from its rest; until then another may take its place.
    is_heard: bool,
    /// Whether nobody knows what has become of it.
    is_doubtful: bool,
    /// Until when another may be made for that.
    pub(super) heard_until: Instant,
    /// When the caller of the work under way is told that it takes too long.
    pub(super) until: Instant,
    pub(super) is_read: bool,
    /// The first failure of a statement of the work: the server would take a commit, and undo the work all the same.
    failed: Option<Error>,
}

/// Something to say to the server.
enum Step<'q> {
    /// Statements without parameters or rows.
    Say(&'static str),
    Rows(&'static Statement, Cow<'q, [Value]>),
    Change(&'static Statement, &'q [Value]),
    /// Changes of which nobody asks how many rows they touch, as one statement.
    Changes(Vec<(&'static Statement, Vec<Value>)>),
    /// Tells the rows that it touches, if the statement does, or else how many.
    Many(&'static Statement, &'q [Vec<Value>]),
}

/// Where an operation ends, and the next begins.
struct Seam {
    /// How much of what waits is the former's.
    at: usize,
    /// Undoes it.
    undo: &'static str,
}

/// What has come of several steps where one has failed.
struct Stopped<E> {
    /// Which it was; none where it was all of them.
    at: Option<usize>,
    why: E,
}

impl Stopped<Failure> {
    fn told(self, steps: &[Step<'_>]) -> Stopped<Error> {
        let is_of_commit = self.at.is_some_and(|at| matches!(steps[at], Step::Say(COMMIT)));
        let why = match self.why.into() {
            // Citus's coordinator, too, says this of a worker of which it has not heard whether it has committed.
            Error::Unavailable(text) if is_of_commit => Error::Unknown(text),
            why => why,
        };
        Stopped { at: self.at, why }
    }
}

/// What the server answers.
enum Told {
    Done,
    Rows(Vec<tokio_postgres::Row>),
    Touched(u64),
}

/// A step, as it is sent.
enum Ready<'s> {
    Say(&'static str),
    Rows(Known, Vec<&'s (dyn ToSql + Sync)>),
    Change(Known, Vec<&'s (dyn ToSql + Sync)>),
    /// With what is the same in every row, and what is not.
    Many(Known, &'s Value, Vec<Vec<&'s Value>>),
}

type Asked<'c> = Pin<Box<dyn Future<Output = Result<Told, tokio_postgres::Error>> + 'c>>;

impl Connection {
    pub(super) fn new(link: Link, pooling: Pooling, statements: Statements, generation: u64) -> Self {
        let now = Instant::now();
        Self {
            link,
            pool: None,
            pooling,
            statements,
            generation,
            made: now,
            rests_since: now,
            waiting: Vec::new(),
            seam: None,
            undone: None,
            is_held: false,
            foreseen: VecDeque::new(),
            foretold: VecDeque::new(),
            exchanges: 0,
            is_heard: true,
            is_doubtful: false,
            heard_until: now,
            until: now,
            is_read: false,
            failed: None,
        }
    }

    /// Makes it ready for work that is over by a moment, and that begins by saying this. `heard_until` is how long another
    /// connection may be looked for in its place.
    pub(super) fn ready(&mut self, first: Option<&'static str>, is_read: bool, heard_until: Instant, until: Instant) {
        self.waiting = first.map(Step::Say).into_iter().collect();
        (self.seam, self.undone, self.is_held) = (None, None, false);
        self.forget_foreseen();
        (self.is_read, self.heard_until, self.until) = (is_read, heard_until, until);
        (self.exchanges, self.failed) = (0, None);
    }

    /// Lends it out. Where it comes from a rest, nobody knows whether anybody is there.
    pub(super) fn lend(mut self, pool: Arc<Pool>, has_rested: bool) -> Self {
        (self.pool, self.is_heard) = (Some(pool), !has_rested);
        self
    }

    pub(crate) fn is_spread(&self) -> bool {
        self.pool.as_ref().is_some_and(|pool| pool.is_spread())
    }

    /// Has it closed when the work is over: that was broken off, and may have been anywhere.
    pub(crate) fn doubt(&mut self) {
        self.is_doubtful = true;
    }

    pub(super) fn is_doubtful(&self) -> bool {
        self.is_doubtful
    }

    /// Where the conversation is, to go back to.
    pub(super) fn place(&self) -> (u64, usize) {
        (self.exchanges, self.waiting.len())
    }

    /// Forgets what was to be said since a place, and that it failed; whether more than that was said.
    pub(super) fn go_back(&mut self, (exchanges, waiting): (u64, usize)) -> bool {
        let is_said = self.exchanges > exchanges;
        self.forget_foreseen();
        self.waiting.truncate(if is_said { 0 } else { waiting });
        self.failed = None;
        is_said
    }

    /// Whether anything has been said for the work under way.
    pub(super) fn has_spoken(&self) -> bool {
        self.exchanges > 0
    }

    /// Says what waits, and this.
    pub(super) fn say(&mut self, sql: &'static str) -> Result<()> {
        self.exchange(vec![Step::Say(sql)]).map(drop)
    }

    /// Ends an operation by this, along with the next statement: whether what waits of it goes well is told by that. `undo` undoes it.
    pub(super) fn say_at_seam(&mut self, sql: &'static str, undo: &'static str) {
        self.waiting.push(Step::Say(sql));
        self.seam = Some(Seam { at: self.waiting.len(), undo });
    }

    /// Says what waits, where an operation has ended in it.
    pub(super) fn close_seam(&mut self) -> Result<()> {
        if self.seam.is_some() { self.exchange(Vec::new()).map(drop) } else { Ok(()) }
    }

    /// Why the operation before was undone after it had ended, if it was.
    pub(super) fn take_undone(&mut self) -> Option<Error> {
        self.undone.take()
    }

    /// Says this alone, whatever else was to be said and however long the work has taken.
    pub(super) fn end(&mut self, sql: &'static str) -> Result<(), Failure> {
        self.waiting.clear();
        self.link.run(Instant::now() + ANSWER_LIMIT, sql)
    }

    /// Says something whose answer tells nobody anything: it is not waited for.
    pub(super) fn say_and_go(&mut self, sql: &'static str) -> Result<(), Failure> {
        self.waiting.clear();
        let said = async |client: &mut Client| {
            let mut asked = pin!(client.batch_execute(sql));
            let mut is_sent = false;
            poll_fn(|context: &mut Context<'_>| {
                if mem::replace(&mut is_sent, true) {
                    return Poll::Ready(Ok(()));
                }
                // Once more, so that the wire takes it in between.
                context.waker().wake_by_ref();
                match asked.as_mut().poll(context) {
                    Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
                    _ => Poll::Pending,
                }
            })
            .await
        };
        self.link.ask(Instant::now() + ANSWER_LIMIT, said)
    }

    /// Work whose caller has been told that it takes too long is not gone on with.
    pub(super) fn assert_awaited(&self) -> Result<()> {
        if Instant::now() < self.until { Ok(()) } else { Err(Error::Unavailable("it took too long, and is undone".into())) }
    }

    /// Whether what the work has done may be committed; a read has done nothing.
    pub(crate) fn assert_sound(&self) -> Result<()> {
        match &self.failed {
            _ if self.is_read => Ok(()),
            None => self.assert_awaited(),
            Some(Error::Unavailable(text)) => Err(Error::Unavailable(text.clone())),
            Some(error) => Err(Error::Defect(format!("work went on after a statement of it had failed: {error}"))),
        }
    }

    /// Says what waits, and then all of this, at once; what was answered to the latter.
    fn exchange(&mut self, steps: Vec<Step<'_>>) -> Result<Vec<Told>> {
        self.assert_awaited()?;
        self.forget_foreseen();
        let before = self.waiting.len();
        self.exchanges += 1;
        let mut all: Vec<Step<'_>> = mem::take(&mut self.waiting);
        all.extend(steps);
        let told = match (self.heard(&all), self.seam.take()) {
            (Err(stopped), Some(Seam { at, undo })) if stopped.at.is_some_and(|stopped_at| stopped_at < at) => {
                self.undone = Some(stopped.why);
                let is_undone = self.link.run(Instant::now() + ANSWER_LIMIT, undo).map_err(|why| Stopped { at: None, why: why.into() });
                is_undone.and_then(|()| self.heard(&all[at..])).map(|mut told| told.split_off(before - at))
            }
            (told, _) => told.map(|mut told| told.split_off(before)),
        };
        let told = told.map_err(|stopped| stopped.why);
        if let Err(error) = &told {
            self.failed.get_or_insert_with(|| error.clone());
        }
        told
    }

    /// What is answered to all of this. Where nobody has been heard on the connection yet, and it turns out to be dead, or to
    /// lead to a server that takes no writes, it is said again on another.
    fn heard(&mut self, steps: &[Step<'_>]) -> Result<Vec<Told>, Stopped<Error>> {
        loop {
            let is_first = !self.is_heard;
            let answer = self.said(steps).map_err(|Stopped { at, why }| Stopped { at, why: self.pooling.judged(why) });
            let is_demoted = self.pooling.is_demoted(&self.link) || matches!(answer, Err(Stopped { why: Failure::Demoted, .. }));
            if !is_first || (self.is_heard && !is_demoted) {
                return answer.map_err(|stopped| stopped.told(steps));
            }
            let cause = match answer {
                // What was committed is not said again, nor what may have been.
                answer if steps.iter().any(|step| matches!(step, Step::Say(COMMIT))) => {
                    return answer.map_err(|stopped| stopped.told(steps));
                }
                Err(stopped) if !self.link.is_lost() && !matches!(stopped.why, Failure::Demoted) => return Err(stopped.told(steps)),
                Err(stopped) if !is_demoted => stopped.why.to_string(),
                _ => Failure::Demoted.to_string(),
            };
            self.replace(&cause).map_err(|why| Stopped { at: None, why })?;
        }
    }

    /// Puts another in its place.
    fn replace(&mut self, cause: &str) -> Result<()> {
        let Some(pool) = self.pool.clone().filter(|_| Instant::now() < self.heard_until) else {
            return Err(Error::Unavailable(cause.into()));
        };
        // First, so that those at rest that are most likely dead, too, are not tried one by one.
        pool.doubt_all(self.generation, &cause);
        let Self { link, statements, generation, made, rests_since, is_heard, .. } = pool.take(self.heard_until)?;
        (self.statements, self.generation) = (statements, generation);
        (self.made, self.rests_since, self.is_heard) = (made, rests_since, is_heard);
        mem::replace(&mut self.link, link).close();
        Ok(())
    }

    /// Says all of this at once, each when the one before it is on its way, and hears the answers.
    fn said(&mut self, steps: &[Step<'_>]) -> Result<Vec<Told>, Stopped<Failure>> {
        let mut ready = Vec::with_capacity(steps.len());
        for step in steps {
            // None of it has been said then, whichever it is.
            ready.push(self.prepare_step(step).map_err(|why| Stopped { at: Some(0), why })?);
        }
        let mut limit = self.answer_limit();
        let until = Instant::now() + ANSWER_LIMIT * u32::try_from(ready.len()).unwrap_or(u32::MAX).saturating_add(1);
        let is_heard = &mut self.is_heard;
        let mut stopped = None;
        let said = self.link.ask(until, async |client| {
            let client = &*client;
            let mut asked: Vec<Asked<'_>> = ready.iter().map(|ready| ready.ask(client)).collect();
            let mut told: Vec<Option<Told>> = asked.iter().map(|_| None).collect();
            let mut failed = None;
            // So many answers at the least; how many there are.
            let mut hear = async |count: usize| {
                let heard = poll_fn(|context| {
                    // All of them each time: polling one for the first time sends it. What comes after one that has failed is not sent,
                    // or has failed for that reason; what came before it tells first.
                    let first = stopped.unwrap_or(usize::MAX);
                    for (at, (asked, told)) in asked.iter_mut().zip(&mut told).enumerate().take(first) {
                        if told.is_none()
                            && let Poll::Ready(answer) = asked.as_mut().poll(context)
                        {
                            match answer {
                                Ok(answer) => *told = Some(answer),
                                Err(error) => {
                                    (stopped, failed) = (Some(at), Some(error));
                                    break;
                                }
                            }
                        }
                    }
                    let heard = told.iter().take_while(|told| told.is_some()).count();
                    let wanted = stopped.unwrap_or(count);
                    if heard >= wanted { Poll::Ready(heard) } else { Poll::Pending }
                })
                .await;
                failed.take().map_or(Ok(heard), |error| Err(Failure::Told(error)))
            };
            let mut heard = 0;
            while heard < ready.len() {
                heard = match timeout(limit, hear(heard + 1)).await {
                    Ok(heard) => heard?,
                    Err(_) => return Err(Failure::Silence),
                };
                (*is_heard, limit) = (true, ANSWER_LIMIT);
            }
            Ok(told.into_iter().flatten().collect())
        });
        said.map_err(|why| Stopped { at: stopped, why })
    }

    fn prepare_step<'s>(&mut self, step: &'s Step<'_>) -> Result<Ready<'s>, Failure> {
        Ok(match step {
            Step::Say(sql) => Ready::Say(sql),
            Step::Rows(statement, params) => Ready::Rows(self.known(statement)?, borrowed(params)),
            Step::Change(statement, params) => Ready::Change(self.known(statement)?, borrowed(params)),
            Step::Changes(changes) => {
                let params = changes.iter().flat_map(|(_, params)| borrowed(params)).collect();
                let known = if let [(statement, _)] = changes[..] { self.known(statement)? } else { self.known_for_several(changes)? };
                Ready::Change(known, params)
            }
            Step::Many(statement, rows) => {
                let known = self.known_for_many(statement)?.ok_or(Failure::Lost)?;
                let columns = known.params().len();
                let first = rows.first().and_then(|row| row.first()).ok_or(Failure::Lost)?;
                Ready::Many(known, first, (1..columns).map(|column| rows.iter().map(|row| &row[column]).collect()).collect())
            }
        })
    }

    /// How long the next answer is waited for: longer than the server lets a statement run, but on a connection that has rested.
    fn answer_limit(&self) -> Duration {
        if self.is_heard { ANSWER_LIMIT } else { self.pooling.first_limit() }
    }

    fn known(&mut self, statement: &'static Statement) -> Result<Known, Failure> {
        let limit = self.answer_limit();
        self.statements.get(&mut self.link, limit, statement)
    }

    fn known_for_many(&mut self, statement: &'static Statement) -> Result<Option<Known>, Failure> {
        let limit = self.answer_limit();
        self.statements.get_for_many(&mut self.link, limit, statement)
    }

    fn known_for_several(&mut self, changes: &[(&'static Statement, Vec<Value>)]) -> Result<Known, Failure> {
        let limit = self.answer_limit();
        let statements: Vec<_> = changes.iter().map(|(statement, params)| (*statement, params.len())).collect();
        self.statements.get_for_several(&mut self.link, limit, &statements)
    }

    pub(crate) fn rows(&mut self, statement: &'static Statement, params: &[Value]) -> Result<Vec<Row>> {
        if let Some(told) = self.foretold(statement, params)? {
            return Ok(told);
        }
        let told = self.exchange(vec![Step::Rows(statement, Cow::Borrowed(params))])?;
        Ok(told.into_iter().flat_map(Told::into_rows).collect())
    }

    /// Notes what is asked next, in this order, if nothing is done in between: it is all asked once the first of it is.
    pub(crate) fn foresee(&mut self, asks: Vec<Ask>) {
        self.forget_foreseen();
        self.foreseen = asks.into();
    }

    /// What is told of something foreseen, if that is what is asked. What was to be asked before it is not any more.
    fn foretold(&mut self, statement: &'static Statement, params: &[Value]) -> Result<Option<Vec<Row>>> {
        let Some(passed) = self.foreseen.iter().position(|ask| ask.is(statement, params)) else { return Ok(None) };
        self.foreseen.drain(..passed);
        if self.foretold.is_empty() {
            let asks = mem::take(&mut self.foreseen);
            let told = self.exchange(asks.iter().map(|ask| Step::Rows(ask.statement, Cow::Borrowed(&ask.params))).collect())?;
            (self.foretold, self.foreseen) = (told.into_iter().map(|told| told.into_rows().collect()).collect(), asks);
        } else {
            self.foretold.drain(..passed);
        }
        self.assert_awaited()?;
        self.foreseen.pop_front();
        Ok(self.foretold.pop_front())
    }

    fn forget_foreseen(&mut self) {
        self.foreseen.clear();
        self.foretold.clear();
    }

    pub(crate) fn execute(&mut self, statement: &'static Statement, params: &[Value]) -> Result<u64> {
        let told = self.exchange(vec![Step::Change(statement, params)])?;
        Ok(told.into_iter().map(Told::touched).sum())
    }

    /// [`Connection::execute`] along with the next statement; what is wrong with it is told by that, or at the end.
    pub(crate) fn execute_along(&mut self, statement: &'static Statement, params: Vec<Value>) -> Result<()> {
        self.assert_awaited()?;
        self.forget_foreseen();
        // There the parts of a statement may have to be on one server, and planned for it.
        let is_spread = self.is_spread();
        match self.waiting.last_mut() {
            Some(Step::Changes(changes)) if !is_spread && goes_with(changes, statement) => changes.push((statement, params)),
            _ => self.waiting.push(Step::Changes(vec![(statement, params)])),
        }
        Ok(())
    }

    pub(crate) fn execute_many(&mut self, statement: &'static Statement, rows: &[Vec<Value>]) -> Result<u64> {
        Ok(self.many(statement, rows)?.into_iter().map(Told::touched).sum())
    }

    pub(crate) fn rows_of_many(&mut self, statement: &'static Statement, rows: &[Vec<Value>]) -> Result<Vec<Row>> {
        Ok(self.many(statement, rows)?.into_iter().flat_map(Told::into_rows).collect())
    }

    fn many(&mut self, statement: &'static Statement, rows: &[Vec<Value>]) -> Result<Vec<Told>> {
        let Some(known) = self.known_for_many(statement)? else {
            return Err(Error::Defect(format!("is for no rows: {}", statement.text())));
        };
        let columns = known.params().len();
        if rows.iter().any(|row| row.len() != columns) {
            return Err(Error::Defect(format!("wants {columns} values a row: {}", statement.text())));
        }
        let Some(first) = rows.first().and_then(|row| row.first()) else { return Ok(Vec::new()) };
        if rows.iter().any(|row| row.first() != Some(first)) {
            return Err(Error::Defect(format!("wants the same first value in every row: {}", statement.text())));
        }
        self.exchange(vec![Step::Many(statement, rows)])
    }

    pub(crate) fn try_lock(&mut self, key: i64) -> Result<bool> {
        let Ask { statement, params } = Ask::lock(key);
        self.rows(statement, &params)?.first().map_or(Ok(false), |row| row.get(0))
    }

    /// Takes a lock of the transaction's, and asks something of the state in which it has it.
    pub(crate) fn rows_under_lock(&mut self, key: i64, statement: &'static Statement, params: &[Value]) -> Result<Option<Vec<Row>>> {
        let lock = Ask::lock(key);
        if self.foreseen.front().is_none_or(|ask| !ask.is(lock.statement, &lock.params)) {
            self.foresee(vec![lock, Ask::rows(statement, params.to_vec())]);
        }
        let is_locked = self.try_lock(key)?;
        self.rows(statement, params).map(|rows| Some(rows).filter(|_| is_locked))
    }

    pub(crate) fn prepare(&mut self, statement: &'static Statement) -> Result<()> {
        // Not every update can be run for many rows, and what is run for many is told by running it.
        let is_insert = statement.text().trim_start().starts_with("insert ");
        let known = self.known(statement).and_then(|_| if is_insert { self.known_for_many(statement) } else { Ok(None) });
        known.map(drop).map_err(|failure| Error::Defect(format!("{failure}: {}", statement.text())))
    }
}

impl Ready<'_> {
    fn ask<'c>(&'c self, client: &'c Client) -> Asked<'c> {
        match self {
            Self::Say(sql) => Box::pin(async move { client.batch_execute(sql).await.map(|()| Told::Done) }),
            Self::Rows(known, params) => Box::pin(rows(client, known, params)),
            Self::Change(known, params) => Box::pin(change(client, known, params)),
            Self::Many(known, first, arrays) => Box::pin(async move {
                let mut params: Vec<&(dyn ToSql + Sync)> = vec![*first];
                params.extend(arrays.iter().map(|array| array as &(dyn ToSql + Sync)));
                if known.has_rows() { rows(client, known, &params).await } else { change(client, known, &params).await }
            }),
        }
    }
}

async fn rows(client: &Client, known: &Known, params: &[&(dyn ToSql + Sync)]) -> Result<Told, tokio_postgres::Error> {
    let rows = match known {
        Known::Prepared(statement) => client.query(statement, params).await,
        Known::Typed(typed) => client.query_typed(&typed.text, &typed.with(params)).await,
    };
    rows.map(Told::Rows)
}

async fn change(client: &Client, known: &Known, params: &[&(dyn ToSql + Sync)]) -> Result<Told, tokio_postgres::Error> {
    let touched = match known {
        Known::Prepared(statement) => client.execute(statement, params).await,
        Known::Typed(typed) => client.execute_typed(&typed.text, &typed.with(params)).await,
    };
    touched.map(Told::Touched)
}

impl Told {
    fn into_rows(self) -> impl Iterator<Item = Row> {
        let rows = if let Self::Rows(rows) = self { rows } else { Vec::new() };
        rows.into_iter().map(|row| Row(Columns::Postgres(row)))
    }

    fn touched(self) -> u64 {
        if let Self::Touched(count) = self { count } else { 0 }
    }
}

/// Whether a change may be one statement with others: each writes a table of its own, and reads none.
fn goes_with(others: &[(&'static Statement, Vec<Value>)], statement: &'static Statement) -> bool {
    let is_another = |target| others.iter().all(|(other, _)| other.target().is_some_and(|other| other != target));
    others.len() < AT_ONCE && statement.target().is_some_and(is_another)
}

fn borrowed(params: &[Value]) -> Vec<&(dyn ToSql + Sync)> {
    params.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}
