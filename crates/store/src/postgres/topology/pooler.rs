//! Detects a pooler between this program and the server, and adapts to it.
//!
//! With no pooler, or one in session mode, each connection has a server connection to itself. A
//! pooler in transaction mode gives each transaction any free server connection. A session setting,
//! a prepared statement or a session lock would then be on a different server connection than the
//! statement that needs it. Through such a pooler every transaction sets its own time limits.
//! Statements are sent with the types of their parameters and are not prepared on the server
//! (`statements.rs`). A migration needs a session lock, so it must connect to the server directly.

use std::time::Duration;

use tokio::time::Instant;
use tokio_postgres::error::SqlState;

use super::super::link::{Connector, Failure, Link};
use crate::WAIT_LIMIT;
use crate::error::{Error, Result};

const PROCESS: &str = "select pg_backend_pid()";
const PROCESS_IN_TRANSACTION: &str = "begin; select pg_backend_pid()";
/// Number of rounds of the detection. One round reveals a pooler that has no other clients. Other
/// clients may hide the pooler in one round, but hardly in all of them.
const ROUNDS: usize = 3;

/// Returns the SQL that sets the server's time limits. The server cancels a statement that runs
/// longer than this program waits for it. It also ends a transaction whose client sends no
/// statement for a while, because that transaction may have locked an organization.
macro_rules! limits {
    ($set:literal, $before:literal, $after:literal) => {
        concat!(
            $before,
            $set,
            " statement_timeout = '4500ms'; ",
            $set,
            " lock_timeout = '4s'; ",
            $set,
            " idle_in_transaction_session_timeout = '10s'",
            $after
        )
    };
}

/// How a pooler assigns server connections to this program's connections. Without a pooler, this is
/// `BySession`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pooling {
    /// Each connection of this program has a server connection of its own until the program's
    /// connection closes.
    BySession,
    /// Each transaction may get a different server connection.
    ByTransaction,
    /// The server is a replica, used for reads only. A pooler of any mode may be between this
    /// process and the server.
    Replica,
}

impl Pooling {
    /// Returns the statements that set the time limits of a connection for reads and writes. The
    /// connection sends them before any other statement.
    pub(crate) fn session(self) -> Option<&'static str> {
        self.choose(Some(limits!("set", "", "")), None)
    }

    /// Returns the statements that a connection for look-ups sends before any other statement. They
    /// set its time limits. `plans` is a further statement among them.
    pub(crate) fn session_for_lookups(self, plans: Option<&str>) -> Option<String> {
        let limits = "set statement_timeout = '4500ms'; set lock_timeout = '4s'";
        let statements = [Some(limits), plans];
        self.choose(
            Some(
                statements
                    .into_iter()
                    .flatten()
                    .collect::<Vec<_>>()
                    .join("; "),
            ),
            None,
        )
    }

    /// Returns the statements that begin a transaction that writes.
    pub(crate) fn begin(self) -> &'static str {
        self.choose("begin", limits!("set local", "begin; ", ""))
    }

    /// Returns the statements that roll back the transaction of a failed write, and begin the
    /// transaction of the next write.
    pub(crate) fn begin_again(self) -> &'static str {
        self.choose(
            "rollback; begin",
            limits!("set local", "rollback; begin; ", ""),
        )
    }

    /// Returns the statements that begin a transaction that only reads. Its statements all see one
    /// snapshot.
    ///
    /// A pooler does not report that its server has become a standby, whose data may be old. Reads
    /// through a pooler therefore begin with `begin … read write`, which a standby refuses.
    pub(crate) fn begin_reading(self) -> &'static str {
        match self {
            Self::BySession => "begin isolation level repeatable read read only",
            Self::ByTransaction => {
                limits!(
                    "set local",
                    "begin isolation level repeatable read read write; set transaction read only; ",
                    ""
                )
            }
            Self::Replica => limits!(
                "set local",
                "begin isolation level repeatable read read only; ",
                ""
            ),
        }
    }

    /// Returns the statements that begin look-ups. Each look-up must see everything that was
    /// committed before it began.
    pub(crate) fn begin_looking(self) -> Option<&'static str> {
        self.choose(
            None,
            Some(limits!(
                "set local",
                "begin isolation level read committed read write; set transaction read only; ",
                ""
            )),
        )
    }

    /// Returns the limit for the first answer on a connection that was idle. A live server answers
    /// at once. If no answer comes within the limit, the connection is lost, and time remains to
    /// use another one before the deadline of the work. Behind a pooler the limit includes the wait
    /// for a server connection.
    pub(crate) fn first_limit(self) -> Duration {
        match self {
            Self::BySession => Duration::from_millis(1_500),
            Self::ByTransaction => Duration::from_millis(3_000),
            // A read from a replica may take only 500 ms in total, so the limit for its first
            // answer is below 500 ms.
            Self::Replica => Duration::from_millis(450),
        }
    }

    /// Returns whether the server has reported with its answers that it refuses writes. Returns
    /// false for a replica, which never accepts writes. Also returns false for a pooler in
    /// transaction mode, because the pooler reports the state of the first server that it connected
    /// to, which may not be the server that runs the next transaction.
    pub(crate) fn is_demoted(self, link: &Link) -> bool {
        self == Self::BySession && link.is_read_only()
    }

    /// Turns an error of a server behind a pooler into [`Failure::Demoted`] if it means that the
    /// server no longer accepts writes.
    pub(crate) fn classify(self, failure: Failure) -> Failure {
        // The first code is the error of a standby that gets `begin … read write`. The second code
        // is the error of a write in a transaction that only reads.
        let demoted = [
            SqlState::FEATURE_NOT_SUPPORTED,
            SqlState::READ_ONLY_SQL_TRANSACTION,
        ];
        match failure {
            Failure::Server(error)
                if self == Self::ByTransaction
                    && error.code().is_some_and(|code| demoted.contains(code)) =>
            {
                Failure::Demoted
            }
            other => other,
        }
    }

    fn choose<T>(self, by_session: T, otherwise: T) -> T {
        if self == Self::BySession {
            by_session
        } else {
            otherwise
        }
    }
}

/// Detects how a pooler assigns server connections. With no pooler, or one in session mode, a
/// connection always leads to the same server process, and two connections lead to different
/// processes.
///
/// Two clients ask for their server processes. A pooler in transaction mode that reuses its last
/// server connection gives both clients the same one. A pooler that rotates gives a client another
/// server connection at some point. A round asks four times, once while the other client has an
/// open transaction. This detects a rotation over one, two or three server connections.
pub(crate) fn detect(connector: &Connector, first: &mut Link) -> Result<Pooling> {
    let until = Instant::now() + WAIT_LIMIT;
    let mut second = connector.connect(until).map_err(unusable)?;
    let processes = (
        first.scalar(until, PROCESS).map_err(unusable)?,
        second.scalar(until, PROCESS).map_err(unusable)?,
    );
    let mut is_by_session = processes.0 != processes.1;
    for _ in 0..ROUNDS {
        let in_transaction = second
            .scalar(until, PROCESS_IN_TRANSACTION)
            .map_err(unusable)?;
        // If both clients may share one server connection, this query would wait for the end of the
        // second client's transaction. It is therefore omitted.
        let other_meanwhile = if is_by_session {
            first.scalar(until, PROCESS).map_err(unusable)?
        } else {
            None
        };
        second.run(until, "commit").map_err(unusable)?;
        let after = (
            first.scalar(until, PROCESS).map_err(unusable)?,
            second.scalar(until, PROCESS).map_err(unusable)?,
        );
        is_by_session &=
            other_meanwhile == processes.0 && in_transaction == processes.1 && after == processes;
        if !is_by_session {
            break;
        }
    }
    second.close();
    Ok(if is_by_session {
        Pooling::BySession
    } else {
        Pooling::ByTransaction
    })
}

fn unusable(failure: Failure) -> Error {
    Error::Configuration(format!(
        "cannot open the two connections that the check for a pooler needs: {failure}"
    ))
}
