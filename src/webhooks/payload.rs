//! What a receiver is told, read at the moment it is sent (spec: Delivery, "data timing").

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::vec;

use jiff::Timestamp;
use serde::Serialize;
use store::{Json, Transaction};
use uuid::Uuid;

use super::delivery::{Delivery, Told};
use super::ledger::{Claimed, Subscribed};
use super::sender::{Message, Target};
use super::standing;
use super::subscriptions::{DisabledReason, Stored, event_of};
use super::workflow::{self, StepRunData};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::events::Event;
use crate::moment::Moment;
use crate::platform::{Kind, Record, find_records};
use crate::service::Service;

/// What is to be done about a delivery.
pub(super) enum Prepared {
    /// It is sent.
    Send(Message),
    /// There is nothing to send, or nobody to send it to; that counts as no failure.
    Discard,
    /// Nothing is sent, and nothing will be again.
    Disable(DisabledReason),
}

/// The body of a delivery.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'r> {
    id: Uuid,
    event: &'static str,
    occurred_at: Moment,
    data: Data<'r>,
}

/// What happened to whom.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Data<'r> {
    /// A record, as its read returns it.
    Record(&'r Record),
    /// A run of a workflow step.
    Run(StepRunData),
    /// A ping.
    #[serde(rename_all = "camelCase")]
    Ping {
        /// What is tried out.
        subscription_id: Uuid,
    },
}

/// The records that deliveries tell of, as far as they may be read.
type Records = HashMap<(Kind, Uuid), Result<Record>>;

/// Decides what is sent of claimed deliveries of one subscription, with what its credential may see now, and says so of
/// each as soon as it is decided. What does not read is a failure of its own.
pub(super) fn prepare(
    tx: &mut Transaction<'_>,
    service: &Service,
    subscribed: &Subscribed,
    deliveries: &mut vec::IntoIter<Claimed>,
    now: Timestamp,
    decided: &mut dyn FnMut(Claimed, Result<Prepared>),
) -> Result<()> {
    let Subscribed { organization, subscription, row } = subscribed;
    let (target, credential): (String, String) = (row.get(0)?, row.get(1)?);
    if row.get::<Option<Timestamp>>(3)?.is_some() {
        each(deliveries, decided, |_, _| Ok(Prepared::Discard));
        return Ok(());
    }
    let caller = standing::caller_of(tx, *organization, &credential, now)?;
    let caller = match standing::hearing(caller.as_ref(), event_of(row, 2)?) {
        Ok(caller) => caller,
        Err(reason) => {
            each(deliveries, decided, |_, _| Ok(Prepared::Disable(reason)));
            return Ok(());
        }
    };
    let Json(Stored { secrets, .. }) = row.get(4)?;
    let target = Arc::new(Target { address: service.targets.address(&target), secrets });
    let mut context = Context::of_known(service.system(tx, now), caller);
    let records = read(&mut context, deliveries.as_slice())?;
    each(deliveries, decided, |id, delivery| {
        let Some(data) = data(&mut context, &records, *subscription, delivery.told)? else { return Ok(Prepared::Discard) };
        let body = Body { id, event: delivery.told.name(), occurred_at: delivery.occurred_at, data };
        let body = serde_json::to_string(&body).map_err(Error::internal)?;
        Ok(Prepared::Send(Message { id, target: target.clone(), body }))
    });
    Ok(())
}

/// Decides on deliveries one after another. Each is taken once it is decided on: a panic leaves it with those that are left.
fn each(
    deliveries: &mut vec::IntoIter<Claimed>,
    decided: &mut dyn FnMut(Claimed, Result<Prepared>),
    mut decide: impl FnMut(Uuid, &Delivery) -> Result<Prepared>,
) {
    while let [Claimed { claim, delivery, .. }, ..] = deliveries.as_slice() {
        let prepared = delivery.as_ref().map_err(Clone::clone).and_then(|delivery| decide(claim.id, delivery));
        if let Some(claimed) = deliveries.next() {
            decided(claimed, prepared);
        }
    }
}

/// Reads the records that deliveries tell of, those of a kind together.
fn read(context: &mut Context<'_, '_>, deliveries: &[Claimed]) -> Result<Records> {
    let mut told: BTreeMap<Kind, Vec<Uuid>> = BTreeMap::new();
    for delivery in deliveries.iter().filter_map(|claimed| claimed.delivery.as_ref().ok()) {
        match delivery.told {
            Told::Event { event: Event::WorkflowStep, .. } | Told::Ping { .. } => {}
            Told::Event { kind, record_id, .. } => told.entry(kind).or_default().push(record_id),
        }
    }
    let mut records = HashMap::new();
    for (kind, ids) in told {
        records.extend(find_records(context, kind, ids)?.into_iter().map(|(id, record)| ((kind, id), record)));
    }
    Ok(records)
}

/// What happened to whom; `None` where the credential cannot read it, or it is gone.
fn data<'r>(context: &mut Context<'_, '_>, records: &'r Records, subscription: Uuid, told: Told) -> Result<Option<Data<'r>>> {
    Ok(match told {
        Told::Event { event: Event::WorkflowStep, record_id, .. } => workflow::run_data(context, record_id)?.map(Data::Run),
        Told::Event { kind, record_id, .. } => {
            records.get(&(kind, record_id)).map(|record| record.as_ref().map(Data::Record).map_err(Clone::clone)).transpose()?
        }
        Told::Ping { .. } => Some(Data::Ping { subscription_id: subscription }),
    })
}
