//! A connection while a transaction uses it: its prepared statements and its deferred statements.
//!
//! A *deferred* statement is one whose answer the work does not need at once: the beginning of a
//! transaction, a savepoint, or a change whose number of rows is not needed. It is sent together
//! with the next statement, in one round trip. If it fails, the next statement or the commit fails
//! with its error.
//!
//! ```text
//! lend, after idling                 the server answers
//!   (pool) ──────────────────▶ Unproven ─────────────────────────────────▶ Proven
//!      ▲                          │  no answer: another connection takes     │  ▲
//!      │                          │  its place until `replace_until`         │  │ roll back
//!      │                          ▼                                          ▼  │ to a mark
//!      │ take_back             closed ◀──── doubt ──── Broken ◀── panic ── Failed
//!      └──────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! A new connection is `Proven`. `Failed` stores the first error of the work, because the server
//! would answer the commit of a failed transaction without an error.

use std::borrow::Cow;
use std::future::poll_fn;
use std::mem;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::{MaybeDone, maybe_done};
use tokio::time::{Instant, timeout};
use tokio_postgres::Client;
use tokio_postgres::types::ToSql;

use super::link::{Failure, Link};
use super::pool::Pool;
use super::statements::{ReadyStatement, Statements};
use super::topology::pooler::Pooling;
use crate::error::{Error, Result};
use crate::statement::{Statement, TRY_LOCK};
use crate::value::{Columns, Row, Value};

/// Limit for the wait for one answer, counted from the previous answer. The server cancels a
/// statement earlier (`statement_timeout`), so a server that is alive answers within this limit.
const ANSWER_LIMIT: Duration = Duration::from_millis(5_000);
pub(super) const COMMIT: &str = "commit";

/// A connection and the statements that are prepared on it.
pub(crate) struct Connection {
    pub(super) link: Link,
    /// The pool that the connection returns to. `None` while the connection is in the pool.
    pub(super) pool: Option<Arc<Pool>>,
    pub(super) pooling: Pooling,
    statements: Statements,
    pub(super) generation: u64,
    pub(super) created_at: Instant,
    pub(super) idle_since: Instant,
    state: ConnectionState,
    /// Statements to send together with the next statement.
    deferred: Vec<Message<'static>>,
    /// Number of round trips to the server for the work in progress.
    exchanges: u64,
    /// The deadline of the work in progress. After the deadline no more statements are sent, and
    /// the work fails with a timeout.
    pub(super) deadline: Instant,
    pub(super) is_read: bool,
}

/// The state of a connection. The diagram at the top of this file shows when the state changes.
enum ConnectionState {
    Unproven { replace_until: Instant },
    Proven,
    Failed(Error),
    Broken,
}

/// A point between two statements of the work, to which the transaction can be rolled back.
/// Statements that were deferred after this point can be dropped.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    exchanges: u64,
    deferred: usize,
}

/// A message to the server.
enum Message<'q> {
    /// SQL that has no parameters and returns no rows.
    Run(&'static str),
    Rows(&'static Statement, Cow<'q, [Value]>),
    Change(&'static Statement, Cow<'q, [Value]>),
    /// One statement for many rows. If the statement returns rows, they are the answer. Otherwise
    /// the answer is the number of changed rows.
    Many(&'static Statement, &'q [Vec<Value>]),
}

/// The server's answer to a message.
enum Answer {
    Done,
    Rows(Vec<tokio_postgres::Row>),
    Touched(u64),
}

/// A message whose statement is ready to be sent on this connection. All variants except `Run`
/// contain a prepared statement and the values of its parameters.
enum Prepared<'s> {
    Run(&'static str),
    Rows(ReadyStatement, Vec<&'s (dyn ToSql + Sync)>),
    Change(ReadyStatement, Vec<&'s (dyn ToSql + Sync)>),
    /// The statement, the value that is the same in all rows, and the columns whose values differ.
    Many(ReadyStatement, &'s Value, Vec<Vec<&'s Value>>),
}

type Request<'c> = Pin<Box<dyn Future<Output = Result<Answer, tokio_postgres::Error>> + 'c>>;

impl Connection {
    pub(super) fn new(
        link: Link,
        pooling: Pooling,
        statements: Statements,
        generation: u64,
    ) -> Self {
        let now = Instant::now();
        Self {
            link,
            pool: None,
            pooling,
            statements,
            generation,
            created_at: now,
            idle_since: now,
            state: ConnectionState::Proven,
            deferred: Vec::new(),
            exchanges: 0,
            deadline: now,
            is_read: false,
        }
    }

    /// Prepares the connection for the work that takes it from `pool`. A connection that was idle
    /// is unproven, because it may have been lost while it was idle.
    pub(super) fn lend(mut self, pool: Arc<Pool>, was_idle: bool) -> Self {
        self.pool = Some(pool);
        self.state = if was_idle {
            ConnectionState::Unproven {
                replace_until: Instant::now(),
            }
        } else {
            ConnectionState::Proven
        };
        self
    }

    /// Prepares the connection for work that ends by `deadline`. `first` is the statement that
    /// begins the transaction. If this connection is lost before the server's first answer, another
    /// connection may replace it until `replace_until`.
    pub(super) fn ready(
        &mut self,
        first: Option<&'static str>,
        is_read: bool,
        replace_until: Instant,
        deadline: Instant,
    ) {
        self.deferred = first.map(Message::Run).into_iter().collect();
        (self.is_read, self.deadline, self.exchanges) = (is_read, deadline, 0);
        self.replaceable_until(replace_until);
    }

    /// Sets the time until which another connection may replace this one. Has no effect after the
    /// server's first answer.
    pub(super) fn replaceable_until(&mut self, until: Instant) {
        if let ConnectionState::Unproven { replace_until } = &mut self.state {
            *replace_until = until;
        }
    }

    pub(crate) fn is_sharded(&self) -> bool {
        self.pool.as_ref().is_some_and(|pool| pool.is_sharded())
    }

    /// Marks the connection as broken after work on it panicked. The connection is closed when it
    /// returns to the pool, because the state of its transaction is unknown.
    pub(crate) fn mark_broken(&mut self) {
        self.state = ConnectionState::Broken;
    }

    pub(super) fn is_broken(&self) -> bool {
        matches!(self.state, ConnectionState::Broken)
    }

    /// Returns a mark for [`Self::discard_since`]: the numbers of exchanges and of deferred
    /// statements so far.
    pub(super) fn mark(&self) -> Mark {
        Mark {
            exchanges: self.exchanges,
            deferred: self.deferred.len(),
        }
    }

    /// Drops the statements that were deferred since a mark. If a statement of the transaction has
    /// failed, forgets its error. Returns true if any statement was sent since the mark. The
    /// calling function must then roll back to the savepoint of the mark.
    pub(super) fn discard_since(&mut self, mark: Mark) -> bool {
        let is_sent = self.exchanges > mark.exchanges;
        self.deferred
            .truncate(if is_sent { 0 } else { mark.deferred });
        if matches!(self.state, ConnectionState::Failed(_)) {
            self.state = ConnectionState::Proven;
        }
        is_sent
    }

    /// Returns whether this process has sent anything to the server for the work in progress.
    pub(super) fn has_sent(&self) -> bool {
        self.exchanges > 0
    }

    /// Sends the deferred statements and then `sql`.
    pub(super) fn run(&mut self, sql: &'static str) -> Result<()> {
        self.exchange(vec![Message::Run(sql)]).map(drop)
    }

    /// Drops the deferred statements and sends only `sql`. Waits for the answer for
    /// [`ANSWER_LIMIT`], even if the deadline of the work has passed.
    pub(super) fn end(&mut self, sql: &'static str) -> Result<(), Failure> {
        self.deferred.clear();
        self.link.run(Instant::now() + ANSWER_LIMIT, sql)
    }

    /// Does the same as [`Connection::end`], without waiting for the answer.
    pub(super) fn send_without_waiting(&mut self, sql: &'static str) -> Result<(), Failure> {
        self.deferred.clear();
        let send = async |client: &mut Client| {
            let mut request = pin!(client.batch_execute(sql));
            let mut is_sent = false;
            poll_fn(|context: &mut Context<'_>| {
                if mem::replace(&mut is_sent, true) {
                    return Poll::Ready(Ok(()));
                }
                // This poll only queues the message. `Link::drive` polls the connection before it
                // polls this future again, and the connection then writes the message to the
                // socket. So this future asks for one more poll.
                context.waker().wake_by_ref();
                match request.as_mut().poll(context) {
                    Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
                    _ => Poll::Pending,
                }
            })
            .await
        };
        self.link.ask(Instant::now() + ANSWER_LIMIT, send)
    }

    /// Fails if the deadline of the work has passed. By then the task that requested the work has
    /// got a timeout, so the work must be rolled back.
    pub(super) fn assert_in_time(&self) -> Result<()> {
        if Instant::now() < self.deadline {
            Ok(())
        } else {
            Err(Error::Unavailable(
                "the operation took too long and was rolled back".into(),
            ))
        }
    }

    /// Returns an error if the changes of the current operation must not be committed, because one
    /// of its statements failed or its time limit has passed. Always succeeds for a read, which has
    /// no changes.
    pub(crate) fn assert_sound(&self) -> Result<()> {
        match &self.state {
            _ if self.is_read => Ok(()),
            ConnectionState::Failed(Error::Unavailable(text)) => {
                Err(Error::Unavailable(text.clone()))
            }
            ConnectionState::Failed(error) => Err(Error::Defect(format!(
                "the operation continued after one of its statements had failed: {error}"
            ))),
            _ => self.assert_in_time(),
        }
    }

    /// Sends the deferred statements and these messages in one round trip. Returns the answers to
    /// these messages.
    fn exchange(&mut self, messages: Vec<Message<'_>>) -> Result<Vec<Answer>> {
        self.assert_in_time()?;
        self.exchanges += 1;
        let mut all: Vec<Message<'_>> = mem::take(&mut self.deferred);
        let deferred = all.len();
        all.extend(messages);
        let answers = self.answers(&all).map(|mut all| all.split_off(deferred));
        if let Err(error) = &answers
            && !matches!(self.state, ConnectionState::Failed(_))
        {
            self.state = ConnectionState::Failed(error.clone());
        }
        answers
    }

    /// Returns the answers to all messages. If the connection was idle before these messages, it
    /// may turn out to be lost, or to lead to a server that refuses writes. The messages are then
    /// sent again on another connection.
    fn answers(&mut self, messages: &[Message<'_>]) -> Result<Vec<Answer>> {
        loop {
            let may_replace_until = match self.state {
                ConnectionState::Unproven { replace_until } => Some(replace_until),
                _ => None,
            };
            let (answer, index) = match self.send(messages) {
                Ok(answers) => (Ok(answers), None),
                Err((failure, index)) => (Err(self.pooling.classify(failure)), index),
            };
            let is_answered = matches!(self.state, ConnectionState::Proven);
            let is_demoted =
                self.pooling.is_demoted(&self.link) || matches!(answer, Err(Failure::Demoted));
            let is_commit = |message: &Message<'_>| matches!(message, Message::Run(COMMIT));
            let is_of_commit = index.is_some_and(|index: usize| is_commit(&messages[index]));
            let result = |answer: Result<Vec<Answer>, Failure>| {
                answer.map_err(|failure| match failure.into() {
                    // The coordinator of a distributed database also reports an unavailable
                    // database if it does not know whether another server has committed. After a
                    // commit, this error therefore means an unknown outcome.
                    Error::Unavailable(text) if is_of_commit => Error::Unknown(text),
                    error => error,
                })
            };
            let Some(replace_until) = may_replace_until.filter(|_| !is_answered || is_demoted)
            else {
                return result(answer);
            };
            let cause = match answer {
                // A commit that the server may have executed must not be sent again.
                answer if messages.iter().any(is_commit) => return result(answer),
                Err(failure) if !self.link.is_lost() && !matches!(failure, Failure::Demoted) => {
                    return result(Err(failure));
                }
                Err(failure) if !is_demoted => failure.to_string(),
                _ => Failure::Demoted.to_string(),
            };
            self.replace(&cause, replace_until)?;
        }
    }

    /// Replaces this lost connection with another one from the pool. Returns an error after
    /// `until`. `cause` is the reason for the loss, for the log.
    fn replace(&mut self, cause: &str, until: Instant) -> Result<()> {
        let Some(pool) = self.pool.clone().filter(|_| Instant::now() < until) else {
            return Err(Error::Unavailable(cause.into()));
        };
        // Drop all idle connections first. They are most likely lost as well, and trying them one
        // by one would take too long.
        pool.drop_generation(self.generation, &cause);
        let other = pool.take(until)?;
        (self.statements, self.generation) = (other.statements, other.generation);
        (self.created_at, self.idle_since, self.state) =
            (other.created_at, other.idle_since, other.state);
        self.replaceable_until(until);
        mem::replace(&mut self.link, other.link).close();
        Ok(())
    }

    /// Sends all messages, and then waits for each answer. An error comes with the index of the
    /// message that failed, or with `None` if the whole connection failed.
    fn send(&mut self, messages: &[Message<'_>]) -> Result<Vec<Answer>, (Failure, Option<usize>)> {
        let mut prepared = Vec::with_capacity(messages.len());
        for (index, message) in messages.iter().enumerate() {
            prepared.push(
                self.prepare_message(message)
                    .map_err(|failure| (failure, Some(index)))?,
            );
        }
        let limit = self.answer_limit();
        let message_count = u32::try_from(prepared.len()).unwrap_or(u32::MAX);
        let until = Instant::now() + ANSWER_LIMIT * message_count.saturating_add(1);
        let (mut answer_count, mut failed_at) = (0, None);
        let answers = self.link.ask(until, async |client| {
            let client = &*client;
            let requests = prepared.iter().map(|prepared| prepared.ask(client));
            let mut requests: Vec<_> = requests
                .map(|request| Box::pin(maybe_done(request)))
                .collect();
            send_all(&mut requests).await;
            let mut answers = Vec::with_capacity(requests.len());
            for (index, mut request) in requests.into_iter().enumerate() {
                let limit = if answer_count == 0 {
                    limit
                } else {
                    ANSWER_LIMIT
                };
                if timeout(limit, request.as_mut()).await.is_err() {
                    return Err(Failure::Silence);
                }
                match request.as_mut().take_output() {
                    Some(Ok(answer)) => answers.push(answer),
                    Some(Err(error)) => {
                        failed_at = Some(index);
                        return Err(Failure::Server(error));
                    }
                    None => return Err(Failure::Lost),
                }
                answer_count += 1;
            }
            Ok(answers)
        });
        let has_answered = answer_count > 0 || (failed_at.is_some() && !self.link.is_lost());
        if has_answered && matches!(self.state, ConnectionState::Unproven { .. }) {
            self.state = ConnectionState::Proven;
        }
        answers.map_err(|failure| (failure, failed_at))
    }

    fn prepare_message<'s>(&mut self, message: &'s Message<'_>) -> Result<Prepared<'s>, Failure> {
        Ok(match message {
            Message::Run(sql) => Prepared::Run(sql),
            Message::Rows(statement, params) => {
                Prepared::Rows(self.prepared(statement)?, borrowed(params))
            }
            Message::Change(statement, params) => {
                Prepared::Change(self.prepared(statement)?, borrowed(params))
            }
            Message::Many(statement, rows) => {
                let ready = self.prepared_for_many(statement)?.ok_or(Failure::Lost)?;
                let columns = ready.params().len();
                let first = rows
                    .first()
                    .and_then(|row| row.first())
                    .ok_or(Failure::Lost)?;
                Prepared::Many(
                    ready,
                    first,
                    (1..columns)
                        .map(|column| rows.iter().map(|row| &row[column]).collect())
                        .collect(),
                )
            }
        })
    }

    /// Returns the limit for the next answer. If the connection was idle and has not answered
    /// since, the limit is shorter, so that there is time to use another connection.
    fn answer_limit(&self) -> Duration {
        match self.state {
            ConnectionState::Unproven { .. } => self.pooling.first_limit(),
            _ => ANSWER_LIMIT,
        }
    }

    fn prepared(&mut self, statement: &'static Statement) -> Result<ReadyStatement, Failure> {
        let limit = self.answer_limit();
        self.statements.get(&mut self.link, limit, statement)
    }

    fn prepared_for_many(
        &mut self,
        statement: &'static Statement,
    ) -> Result<Option<ReadyStatement>, Failure> {
        let limit = self.answer_limit();
        self.statements
            .get_for_many(&mut self.link, limit, statement)
    }

    pub(crate) fn rows(
        &mut self,
        statement: &'static Statement,
        params: &[Value],
    ) -> Result<Vec<Row>> {
        let answers = self.exchange(vec![Message::Rows(statement, Cow::Borrowed(params))])?;
        Ok(answers.into_iter().flat_map(Answer::into_rows).collect())
    }

    pub(crate) fn execute(
        &mut self,
        statement: &'static Statement,
        params: &[Value],
    ) -> Result<u64> {
        let answers = self.exchange(vec![Message::Change(statement, Cow::Borrowed(params))])?;
        Ok(answers.into_iter().map(Answer::touched).sum())
    }

    /// Defers a change: sends it together with the next statement or with the commit. If the change
    /// fails, that statement or the commit returns its error.
    pub(crate) fn execute_deferred(
        &mut self,
        statement: &'static Statement,
        params: Vec<Value>,
    ) -> Result<()> {
        self.assert_in_time()?;
        self.deferred
            .push(Message::Change(statement, Cow::Owned(params)));
        Ok(())
    }

    pub(crate) fn execute_many(
        &mut self,
        statement: &'static Statement,
        rows: &[Vec<Value>],
    ) -> Result<u64> {
        Ok(self
            .many(statement, rows)?
            .into_iter()
            .map(Answer::touched)
            .sum())
    }

    pub(crate) fn rows_of_many(
        &mut self,
        statement: &'static Statement,
        rows: &[Vec<Value>],
    ) -> Result<Vec<Row>> {
        Ok(self
            .many(statement, rows)?
            .into_iter()
            .flat_map(Answer::into_rows)
            .collect())
    }

    fn many(&mut self, statement: &'static Statement, rows: &[Vec<Value>]) -> Result<Vec<Answer>> {
        let Some(ready) = self.prepared_for_many(statement)? else {
            return Err(Error::Defect(format!(
                "the statement cannot take several rows: {}",
                statement.text()
            )));
        };
        let columns = ready.params().len();
        if rows.iter().any(|row| row.len() != columns) {
            return Err(Error::Defect(format!(
                "the statement needs {columns} values in each row: {}",
                statement.text()
            )));
        }
        let Some(first) = rows.first().and_then(|row| row.first()) else {
            return Ok(Vec::new());
        };
        if rows.iter().any(|row| row.first() != Some(first)) {
            return Err(Error::Defect(format!(
                "the statement needs the same first value in every row: {}",
                statement.text()
            )));
        }
        self.exchange(vec![Message::Many(statement, rows)])
    }

    /// Tries to take a lock, which then lasts until the end of the transaction. Returns false if
    /// another transaction has the lock.
    pub(crate) fn try_lock(&mut self, key: i64) -> Result<bool> {
        let rows = self.rows(&TRY_LOCK, &[key.into()])?;
        is_locked(&rows)
    }

    /// Tries to take a lock, which then lasts until the end of the transaction, and runs a query in
    /// the same round trip. Returns `None` if another transaction has the lock.
    pub(crate) fn rows_under_lock(
        &mut self,
        key: i64,
        statement: &'static Statement,
        params: &[Value],
    ) -> Result<Option<Vec<Row>>> {
        let key = [key.into()];
        let answers = self.exchange(vec![
            Message::Rows(&TRY_LOCK, Cow::Borrowed(&key)),
            Message::Rows(statement, Cow::Borrowed(params)),
        ])?;
        let mut answers = answers
            .into_iter()
            .map(|answer| answer.into_rows().collect::<Vec<Row>>());
        let (lock, rows) = (answers.next(), answers.next());
        Ok(if is_locked(&lock.unwrap_or_default())? {
            rows
        } else {
            None
        })
    }

    pub(crate) fn prepare(&mut self, statement: &'static Statement) -> Result<()> {
        // An insert is also prepared in its form for many rows. Some updates have no form for many
        // rows, which is an error only if `execute_many` runs such an update.
        let is_insert = statement.text().trim_start().starts_with("insert ");
        let ready = self.prepared(statement).and_then(|_| {
            if is_insert {
                self.prepared_for_many(statement)
            } else {
                Ok(None)
            }
        });
        ready
            .map(drop)
            .map_err(|failure| Error::Defect(format!("{failure}: {}", statement.text())))
    }
}

impl Prepared<'_> {
    fn ask<'c>(&'c self, client: &'c Client) -> Request<'c> {
        match self {
            Self::Run(sql) => {
                Box::pin(async move { client.batch_execute(sql).await.map(|()| Answer::Done) })
            }
            Self::Rows(ready, params) => Box::pin(rows(client, ready, params)),
            Self::Change(ready, params) => Box::pin(change(client, ready, params)),
            Self::Many(ready, first, arrays) => Box::pin(async move {
                let mut params: Vec<&(dyn ToSql + Sync)> = vec![*first];
                params.extend(arrays.iter().map(|array| array as &(dyn ToSql + Sync)));
                if ready.has_rows() {
                    rows(client, ready, &params).await
                } else {
                    change(client, ready, &params).await
                }
            }),
        }
    }
}

async fn rows(
    client: &Client,
    ready: &ReadyStatement,
    params: &[&(dyn ToSql + Sync)],
) -> Result<Answer, tokio_postgres::Error> {
    let rows = match ready {
        ReadyStatement::Prepared(statement) => client.query(statement, params).await,
        ReadyStatement::Typed(typed) => client.query_typed(&typed.text, &typed.with(params)).await,
    };
    rows.map(Answer::Rows)
}

async fn change(
    client: &Client,
    ready: &ReadyStatement,
    params: &[&(dyn ToSql + Sync)],
) -> Result<Answer, tokio_postgres::Error> {
    let touched = match ready {
        ReadyStatement::Prepared(statement) => client.execute(statement, params).await,
        ReadyStatement::Typed(typed) => {
            client.execute_typed(&typed.text, &typed.with(params)).await
        }
    };
    touched.map(Answer::Touched)
}

impl Answer {
    fn into_rows(self) -> impl Iterator<Item = Row> {
        let rows = if let Self::Rows(rows) = self {
            rows
        } else {
            Vec::new()
        };
        rows.into_iter().map(|row| Row(Columns::Postgres(row)))
    }

    fn touched(self) -> u64 {
        if let Self::Touched(count) = self {
            count
        } else {
            0
        }
    }
}

/// Polls each request once, which sends it. So all requests are sent before the first answer is
/// awaited. If a request fails before it is sent, the later requests are not sent either, because
/// the server would run them without the failed one.
async fn send_all(requests: &mut [Pin<Box<MaybeDone<Request<'_>>>>]) {
    poll_fn(|context| {
        for request in &mut *requests {
            let is_ready = request.as_mut().poll(context).is_ready();
            if is_ready
                && request
                    .as_mut()
                    .output_mut()
                    .is_some_and(|answer| answer.is_err())
            {
                break;
            }
        }
        Poll::Ready(())
    })
    .await;
}

fn is_locked(rows: &[Row]) -> Result<bool> {
    rows.first().map_or(Ok(false), |row| row.get(0))
}

fn borrowed(params: &[Value]) -> Vec<&(dyn ToSql + Sync)> {
    params
        .iter()
        .map(|value| value as &(dyn ToSql + Sync))
        .collect()
}
