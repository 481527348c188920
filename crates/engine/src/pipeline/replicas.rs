//! Reads that a replica answers, where its state is the one that the caller was found in.
//!
//! The caller is looked up on the server that takes writes, after they came, and with them come the revisions of their organization as
//! they are then. On the replica these are read in the same snapshot as the rest. Where they are the same, so is all that is written
//! under the organization's lock: what a caller has written before they asked, and what anybody has. Where they are not, the replica is
//! behind, or ahead, and the server that takes writes answers. (docs/decisions/0014-reads-from-replicas.md)

use std::sync::Arc;

use metrics::Counter;
use store::Transaction;

use super::stages::{Call, Validated};
use super::{Caller, Reading};
use crate::access::Revisions;
use crate::error::{Error, Kind, Result};
use crate::stage;

store::statements! {
    /// Which state an organization is in.
    STATE = "select revision, stream_revision from organization where id = ?1 and erased_at is null";
}

/// The replica has answered.
const ANSWERED: &str = "answered";
/// It is in another state.
const BEHIND: &str = "behind";
/// It cannot be asked, or not in time.
const UNAVAILABLE: &str = "unavailable";

fn counted(outcome: &'static str) -> Counter {
    metrics::counter!("vestibule_replica_reads_total", "outcome" => outcome)
}

/// Begins to count: each outcome is there before the first.
pub(crate) fn count() {
    for outcome in [ANSWERED, BEHIND, UNAVAILABLE] {
        counted(outcome).increment(0);
    }
}

/// What a replica answers; none where the server that takes writes is to be asked.
pub(super) async fn read(call: &Arc<Call>, validated: &Validated) -> Option<Result<Reading>> {
    let Call { service, operation, .. } = &**call;
    let Caller::Tenant(identified) = validated.caller() else { return None };
    if !operation.may_lag || !service.store.has_replicas() {
        return None;
    }
    let (within, identified, input) = (call.clone(), identified.clone(), validated.input().clone());
    let reading = move |tx: &mut Transaction<'_>| {
        let row = tx.row(&STATE, &[identified.organization.id.into()])?;
        let found = row.map(|row| Ok::<_, Error>(Revisions { configuration: row.get(0)?, stream: row.get(1)? })).transpose()?;
        if found != Some(identified.revisions) {
            return Ok(None);
        }
        stage!("run").in_scope(|| super::read(tx, &within, Caller::Tenant(identified), input)).map(Some)
    };
    let (outcome, answer) = match service.store.read_from_replica(reading).await {
        Some(Ok(Some(answer))) => (ANSWERED, Some(Ok(answer))),
        Some(Ok(None)) => (BEHIND, None),
        // What stands in the way there does not here: a replay that takes a row away, or a schema that has not arrived.
        Some(Err(error)) if matches!(error.kind(), Kind::Unavailable | Kind::Internal) => (UNAVAILABLE, None),
        Some(Err(error)) => (ANSWERED, Some(Err(error))),
        None => (UNAVAILABLE, None),
    };
    counted(outcome).increment(1);
    answer
}
