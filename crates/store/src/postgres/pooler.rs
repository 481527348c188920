//! What stands between this program and the server, and how it is spoken to for that.
//!
//! A pooler that works by session, or none, gives a connection to itself. One that works by transaction gives each transaction
//! whichever connection to the server is free: settings of the session, prepared statements and locks of the session would be on
//! another one than what relies on them. Through such a pooler every transaction brings its limits along, and statements go with
//! the types of their parameters and are kept by nobody ([`super::statements`]). Migrating holds a lock of the session, and is
//! done past the pooler.

use std::time::Duration;

use tokio::time::Instant;
use tokio_postgres::error::SqlState;

use super::link::{Connector, Failure, Link};
use crate::WAIT_LIMIT;
use crate::error::{Error, Result};

const PROCESS: &str = "select pg_backend_pid()";
const PROCESS_IN_TRANSACTION: &str = "begin; select pg_backend_pid()";
/// One round shows a pooler that has nobody else to serve. Others in between may hide it in one, but hardly in all.
const ROUNDS: usize = 3;

/// How long the server's limits are: a statement that waits longer than a caller does is stopped, and a transaction whose client is
/// no longer heard of, and which may hold the lock of an organization, is ended.
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

/// How connections are shared on the way to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pooling {
    /// Each is one to the server, as long as it lives.
    BySession,
    /// Each transaction has another.
    ByTransaction,
    /// The server follows another, and is only read from; whatever may be between.
    Following,
}

impl Pooling {
    /// What is said first on a connection for work.
    pub(super) fn session(self) -> Option<&'static str> {
        self.one(Some(limits!("set", "", "")), None)
    }

    /// The same for look-ups. The server is to plan each once, rather than anew for every number of keys; but where the keys decide
    /// which of several servers is asked.
    pub(super) fn session_for_looks(self, is_spread: bool) -> Option<&'static str> {
        let once = "set statement_timeout = '4500ms'; set lock_timeout = '4s'; set plan_cache_mode = force_generic_plan";
        let anew = "set statement_timeout = '4500ms'; set lock_timeout = '4s'";
        self.one(Some(if is_spread { anew } else { once }), None)
    }

    /// Begins a write.
    pub(super) fn begin(self) -> &'static str {
        self.one("begin", limits!("set local", "begin; ", ""))
    }

    /// Begins a write in place of one that has come to nothing.
    pub(super) fn begin_anew(self) -> &'static str {
        self.one("rollback; begin", limits!("set local", "rollback; begin; ", ""))
    }

    /// Begins a read: one snapshot for all of an operation; the locked organization row orders the writes.
    ///
    /// A pooler says nothing of a server that has become a standby, which may be behind. That refuses to begin what could write.
    pub(super) fn begin_reading(self) -> &'static str {
        match self {
            Self::BySession => "begin isolation level repeatable read read only",
            Self::ByTransaction => {
                limits!("set local", "begin isolation level repeatable read read write; set transaction read only; ", "")
            }
            Self::Following => limits!("set local", "begin isolation level repeatable read read only; ", ""),
        }
    }

    /// Begins look-ups, each of which is to see what was committed before it.
    pub(super) fn begin_looking(self) -> Option<&'static str> {
        self.one(None, Some(limits!("set local", "begin isolation level read committed read write; set transaction read only; ", "")))
    }

    /// How long the first answer on a connection that has rested is waited for. It comes at once where somebody answers, and
    /// otherwise there is time left for a new connection before the caller's patience ends. Behind a pooler one waits for a turn, too.
    pub(super) fn first_limit(self) -> Duration {
        match self {
            Self::BySession => Duration::from_millis(1_500),
            Self::ByTransaction => Duration::from_millis(3_000),
            // Nobody waits for it much longer than that.
            Self::Following => Duration::from_millis(450),
        }
    }

    /// Whether a server that has answered takes no writes, as it tells along with its answers. Not through a pooler that works by
    /// transaction: what that tells is of whichever server it asked first.
    pub(super) fn is_demoted(self, link: &Link) -> bool {
        self == Self::BySession && link.is_read_only()
    }

    /// What has failed, of a server behind a pooler that has come to take no writes.
    pub(super) fn judged(self, failure: Failure) -> Failure {
        // Of what is said here, the former is said of the beginning of a read only.
        let demoted = [SqlState::FEATURE_NOT_SUPPORTED, SqlState::READ_ONLY_SQL_TRANSACTION];
        match failure {
            Failure::Told(error) if self == Self::ByTransaction && error.code().is_some_and(|code| demoted.contains(code)) => {
                Failure::Demoted
            }
            other => other,
        }
    }

    fn one<T>(self, by_session: T, otherwise: T) -> T {
        if self == Self::BySession { by_session } else { otherwise }
    }
}

/// Finds out how connections are shared. Through a pooler that works by session, or none, a connection always leads to the same
/// process of the server, and two lead to different ones.
///
/// A pooler that works by transaction and takes the connection it used last gives both the same; one that takes turns gives one of
/// them another at some point: a round takes four, one of them while it holds another, so that turns over one, two or three
/// connections show.
pub(super) fn between(connector: &Connector, first: &mut Link) -> Result<Pooling> {
    let until = Instant::now() + WAIT_LIMIT;
    let mut second = connector.connect(until).map_err(unusable)?;
    let processes = (first.word(until, PROCESS).map_err(unusable)?, second.word(until, PROCESS).map_err(unusable)?);
    let mut is_by_session = processes.0 != processes.1;
    for _ in 0..ROUNDS {
        let held = second.word(until, PROCESS_IN_TRANSACTION).map_err(unusable)?;
        // Where there is one connection for all, who asks for another meanwhile would wait for this one.
        let meanwhile = if is_by_session { first.word(until, PROCESS).map_err(unusable)? } else { None };
        second.run(until, "commit").map_err(unusable)?;
        let after = (first.word(until, PROCESS).map_err(unusable)?, second.word(until, PROCESS).map_err(unusable)?);
        is_by_session &= meanwhile == processes.0 && held == processes.1 && after == processes;
        if !is_by_session {
            break;
        }
    }
    second.close();
    Ok(if is_by_session { Pooling::BySession } else { Pooling::ByTransaction })
}

fn unusable(failure: Failure) -> Error {
    Error::Configuration(format!("two connections at once are needed: {failure}"))
}
