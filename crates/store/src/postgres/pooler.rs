//! What stands between this program and the server: a pooler that works by transaction is refused.
//!
//! It gives each transaction whichever connection to the server is free. Settings of the session, prepared statements and
//! locks of the session would be on another one than what relies on them: statements would fail, or wait without a limit.

use tokio::time::Instant;

use super::link::{Connector, Failure, Link};
use crate::WAIT_LIMIT;
use crate::error::{Error, Result};

const PROCESS: &str = "select pg_backend_pid()";
const PROCESS_IN_TRANSACTION: &str = "begin; select pg_backend_pid()";
/// One round shows a pooler that has nobody else to serve. Others in between may hide it in one, but hardly in all.
const ROUNDS: usize = 3;

/// Refuses a pooler that works by transaction. Through one that works by session, or none, a connection always leads to the
/// same process of the server, and two lead to different ones.
///
/// A pooler that takes the connection it used last gives both the same; one that takes turns gives one of them another at some
/// point: a round takes four, one of them while it holds another, so that turns over one, two or three connections show.
pub(super) fn refuse_pooling_by_transaction(connector: &Connector, first: &mut Link) -> Result<()> {
    let until = Instant::now() + WAIT_LIMIT;
    let mut second = connector.connect(until).map_err(unusable)?;
    let processes = (first.word(until, PROCESS).map_err(unusable)?, second.word(until, PROCESS).map_err(unusable)?);
    let mut is_by_session = processes.0 != processes.1;
    for _ in 0..ROUNDS {
        let held = second.word(until, PROCESS_IN_TRANSACTION).map_err(unusable)?;
        let meanwhile = first.word(until, PROCESS).map_err(unusable)?;
        second.run(until, "commit").map_err(unusable)?;
        let after = (first.word(until, PROCESS).map_err(unusable)?, second.word(until, PROCESS).map_err(unusable)?);
        is_by_session &= meanwhile == processes.0 && held == processes.1 && after == processes;
    }
    second.close();
    if is_by_session {
        return Ok(());
    }
    Err(Error::Configuration(
        "there is a pooler before it that works by transaction, and connections hold settings and prepared statements: let it \
         work by session (with PgBouncer pool_mode = session), or give the address of the server itself"
            .into(),
    ))
}

fn unusable(failure: Failure) -> Error {
    Error::Configuration(format!("two connections at once are needed: {failure}"))
}
