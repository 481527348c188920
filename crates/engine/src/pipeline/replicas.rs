//! Reads from a replica, if the replica has the state that the primary had when the primary
//! identified the caller.
//!
//! The primary looks up the caller after the request has arrived, together with the organization's
//! revisions. The replica reads the revisions again, in the same snapshot as the response. If the
//! revisions are equal, all data that is written under the organization's lock is equal too,
//! including earlier writes of the caller. If they differ, the replica is behind or ahead, and the
//! primary answers. (docs/decisions/0014-reads-from-replicas.md)

use std::sync::Arc;

use metrics::Counter;
use store::Transaction;

use super::stages::{Call, Validated};
use super::{Caller, ReadOutcome, Service};
use crate::access::Revisions;
use crate::error::{Error, ErrorKind, Result};
use crate::operation::Operation;
use crate::stage;

store::statements! {
    /// Reads the revisions of an organization.
    STATE = "select revision, stream_revision from organization where id = ?1 and erased_at is \
        null";
}

/// The value of the metric's label `outcome` for a read that a replica has answered.
const ANSWERED: &str = "answered";
/// The value of the label `outcome` for a read that a replica could not answer, because its
/// revisions differed from those of the primary.
const BEHIND: &str = "behind";
/// The value of the label `outcome` for a read that no replica answered, because no replica was
/// available, or because the replica failed or was too slow.
const UNAVAILABLE: &str = "unavailable";

fn counter(outcome: &'static str) -> Counter {
    metrics::counter!("vestibule_replica_reads_total", "outcome" => outcome)
}

/// Registers `vestibule_replica_reads_total` with a zero for each outcome of a read from a replica.
/// So the metric has all outcomes even before the first such read.
pub fn count() {
    metrics::describe_counter!(
        "vestibule_replica_reads_total",
        "Reads that a replica could answer, by result."
    );
    for outcome in [ANSWERED, BEHIND, UNAVAILABLE] {
        counter(outcome).increment(0);
    }
}

/// Returns whether a replica may answer an operation.
pub(super) fn may_answer(service: &Service, operation: &Operation) -> bool {
    operation.may_lag && service.store.has_replicas()
}

/// Returns the response of a replica, or `None` if the primary must answer.
pub(super) async fn read(call: &Arc<Call>, validated: &Validated) -> Option<Result<ReadOutcome>> {
    let Call {
        service, operation, ..
    } = &**call;
    let Caller::Organization(identified) = validated.caller() else {
        return None;
    };
    if !may_answer(service, operation) {
        return None;
    }
    let (shared, identified, input) = (call.clone(), identified.clone(), validated.input().clone());
    let read = move |tx: &mut Transaction<'_>| {
        let row = tx.row(&STATE, &[identified.organization.id.into()])?;
        let revisions = row
            .map(|row| {
                Ok::<_, Error>(Revisions {
                    configuration: row.get(0)?,
                    stream: row.get(1)?,
                })
            })
            .transpose()?;
        if revisions != Some(identified.revisions) {
            return Ok(None);
        }
        stage!("run")
            .in_scope(|| super::read(tx, &shared, Caller::Organization(identified), input))
            .map(Some)
    };
    let (outcome, answer) = match service.store.read_from_replica(read).await {
        Some(Ok(Some(answer))) => (ANSWERED, Some(Ok(answer))),
        Some(Ok(None)) => (BEHIND, None),
        // These errors concern only the replica: it cancelled the query to apply changes of the
        // primary, or it has not applied a migration yet. The primary can still answer.
        Some(Err(error))
            if matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Internal) =>
        {
            (UNAVAILABLE, None)
        }
        Some(Err(error)) => (ANSWERED, Some(Err(error))),
        None => (UNAVAILABLE, None),
    };
    counter(outcome).increment(1);
    answer
}
