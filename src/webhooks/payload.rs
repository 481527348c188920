//! What a receiver is told, read at the moment it is sent (spec: Delivery, "data timing").

use std::sync::Arc;
use std::vec;

use jiff::Timestamp;
use serde::Serialize;
use store::{Json, Transaction};
use uuid::Uuid;

use super::delivery::{Delivery, Told};
use super::ledger::Claimed;
use super::sender::{Message, Target};
use super::standing;
use super::subscriptions::{DisabledReason, Stored, event_of};
use super::workflow::{self, StepRunData};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::events::Event;
use crate::moment::Moment;
use crate::platform::{Record, find_record};
use crate::service::Service;
use crate::values;

store::statements! {
    /// The subscription that a delivery is for.
    SUBSCRIPTION = "select credential, event, target_url, disabled_at, doc from webhook_subscription
        where organization_id = ?1 and id = ?2";
}

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
struct Body {
    id: Uuid,
    event: &'static str,
    occurred_at: Moment,
    data: Data,
}

/// What happened to whom.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Data {
    /// A record, as its read returns it.
    Record(Record),
    /// A run of a workflow step.
    Run(StepRunData),
    /// A ping.
    #[serde(rename_all = "camelCase")]
    Ping {
        /// What is tried out.
        subscription_id: Uuid,
    },
}

/// A delivery, and what is to be done about it.
pub(super) struct Ready {
    /// The delivery.
    pub delivery: Delivery,
    /// What is to be done.
    pub prepared: Prepared,
}

/// Decides what is sent of claimed deliveries of one subscription, with what its credential may see now, and says so of
/// each as soon as it is decided. What does not read is a failure of its own.
pub(super) fn prepare(
    tx: &mut Transaction<'_>,
    service: &Service,
    organization: Uuid,
    subscription: Uuid,
    deliveries: &mut vec::IntoIter<Claimed>,
    now: Timestamp,
    decided: &mut dyn FnMut(Claimed, Result<Ready>),
) -> Result<()> {
    let mut each = |decide: &mut dyn FnMut(Uuid, &Delivery) -> Result<Prepared>| {
        // It is taken once it is decided on: a panic leaves it with those that are left.
        while let [Claimed { claim, doc, .. }, ..] = deliveries.as_slice() {
            let delivery = serde_json::from_str(doc).map_err(Error::internal);
            let ready = delivery.and_then(|delivery| Ok(Ready { prepared: decide(claim.id, &delivery)?, delivery }));
            if let Some(claimed) = deliveries.next() {
                decided(claimed, ready);
            }
        }
        Ok(())
    };
    let Some(row) = tx.row(&SUBSCRIPTION, &values![organization, subscription])? else { return each(&mut |_, _| Ok(Prepared::Discard)) };
    if row.get::<Option<Timestamp>>(3)?.is_some() {
        return each(&mut |_, _| Ok(Prepared::Discard));
    }
    let caller = standing::caller_of(tx, organization, &row.get::<String>(0)?, now)?;
    let caller = match standing::hearing(caller.as_ref(), event_of(&row, 1)?) {
        Ok(caller) => caller,
        Err(reason) => return each(&mut |_, _| Ok(Prepared::Disable(reason))),
    };
    let Json(Stored { secrets, .. }) = row.get(4)?;
    let target = Arc::new(Target { address: service.targets.address(&row.get::<String>(2)?), secrets });
    let mut context = Context::of_known(service.system(tx, now), caller);
    each(&mut |id, delivery| {
        let Some(data) = data(&mut context, subscription, delivery.told)? else { return Ok(Prepared::Discard) };
        let body = Body { id, event: delivery.told.name(), occurred_at: delivery.occurred_at, data };
        let body = serde_json::to_string(&body).map_err(Error::internal)?;
        Ok(Prepared::Send(Message { id, target: target.clone(), body }))
    })
}

/// What happened to whom; `None` where the credential cannot read it, or it is gone.
fn data(context: &mut Context<'_, '_>, subscription: Uuid, told: Told) -> Result<Option<Data>> {
    Ok(match told {
        Told::Event { event: Event::WorkflowStep, record_id, .. } => workflow::run_data(context, record_id)?.map(Data::Run),
        Told::Event { kind, record_id, .. } => find_record(context, kind, record_id)?.map(Data::Record),
        Told::Ping { .. } => Some(Data::Ping { subscription_id: subscription }),
    })
}
