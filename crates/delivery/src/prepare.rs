//! Decides what claimed deliveries contain, at the moment they are sent (rules:
//! webhooks#deliveries, 2).

use std::sync::Arc;
use std::vec;

use engine::error::{Error, Result};
use engine::moment::Moment;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use store::{Json, Transaction};
use uuid::Uuid;

use super::delivery::{Delivery, ReportedEvent};
use super::dependencies::Dependencies;
use super::disabled::DisabledReason;
use super::ledger::{Claimed, SubscriptionState};
use super::owner::{Eligibility, EventData, Owner, Subscription};
use super::sender::{Message, Target};
use super::signature::Secrets;

/// The decision about a delivery.
pub(super) enum Prepared {
    /// The message is sent.
    Send(Message),
    /// The record is not visible. Nothing is sent, and no failure is counted.
    Discard,
    /// The subscription is disabled. Nothing is sent, and no failure is counted.
    Cut,
    /// Nothing is sent, and the subscription is disabled for this reason.
    Disable(DisabledReason),
}

/// The body of a delivery.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'d> {
    id: Uuid,
    event: &'d str,
    occurred_at: Moment,
    data: &'d RawValue,
}

/// The signing secrets in the document of a subscription.
#[derive(Deserialize)]
struct Signing {
    #[serde(flatten)]
    secrets: Secrets,
}

/// Decides about claimed deliveries of one subscription and passes each decision on at once. A
/// delivery that cannot be parsed fails alone.
pub(super) fn prepare(
    tx: &mut Transaction<'_>,
    dependencies: &Dependencies,
    owner: &dyn Owner,
    subscribed: &SubscriptionState,
    deliveries: &mut vec::IntoIter<Claimed>,
    now: Timestamp,
    decided: &mut dyn FnMut(Claimed, Result<Prepared>),
) -> Result<()> {
    let SubscriptionState {
        organization,
        subscription: id,
        row,
    } = subscribed;
    if row.get::<Option<Timestamp>>(5)?.is_some() {
        each(deliveries, decided, |_, _| Ok(Prepared::Cut));
        return Ok(());
    }
    let Json(Signing { secrets }) = row.get(6)?;
    let target = Arc::new(Target {
        address: dependencies.targets.address(&row.get::<String>(2)?),
        secrets,
    });
    let subscription = Subscription {
        organization: *organization,
        id: *id,
        credential: row.get(3)?,
        event: row.get(4)?,
    };
    let readable = deliveries
        .as_slice()
        .iter()
        .filter_map(|claimed| claimed.delivery.as_ref().ok());
    let reported: Vec<ReportedEvent> = readable.map(|delivery| delivery.reported.clone()).collect();
    let mut say = |text: EventData| {
        let mut text = Some(text);
        next(deliveries, decided, &mut |id, delivery| {
            message(id, delivery, &target, text.take().unwrap_or(Ok(None)))
        });
    };
    match owner.tell(tx, &subscription, &reported, now, &mut say)? {
        Eligibility::Granted => each(deliveries, decided, |_, _| {
            Err(Error::internal("no data was returned for a delivery"))
        }),
        Eligibility::Refused(reason) => {
            each(deliveries, decided, |_, _| Ok(Prepared::Disable(reason)));
        }
    }
    Ok(())
}

/// Returns the message for a delivery, made from the data that the owner returned for it.
fn message(
    id: Uuid,
    delivery: &Delivery,
    target: &Arc<Target>,
    text: EventData,
) -> Result<Prepared> {
    let Some(data) = text? else {
        return Ok(Prepared::Discard);
    };
    let body = Body {
        id,
        event: &delivery.reported.event,
        occurred_at: delivery.occurred_at,
        data: &data,
    };
    let body = serde_json::to_string(&body).map_err(Error::internal)?;
    Ok(Prepared::Send(Message {
        id,
        target: target.clone(),
        body,
    }))
}

/// Decides about all remaining deliveries.
fn each(
    deliveries: &mut vec::IntoIter<Claimed>,
    decided: &mut dyn FnMut(Claimed, Result<Prepared>),
    mut decide: impl FnMut(Uuid, &Delivery) -> Result<Prepared>,
) {
    while next(deliveries, decided, &mut decide) {}
}

/// Decides what to send for the next delivery whose document can be decoded, and records the error
/// of those before it that cannot. Returns whether there was one. A delivery leaves the iterator only after the decision, so
/// that after a panic it is still among the remaining ones.
fn next(
    deliveries: &mut vec::IntoIter<Claimed>,
    decided: &mut dyn FnMut(Claimed, Result<Prepared>),
    decide: &mut dyn FnMut(Uuid, &Delivery) -> Result<Prepared>,
) -> bool {
    while let [
        Claimed {
            claim, delivery, ..
        },
        ..,
    ] = deliveries.as_slice()
    {
        let (is_readable, prepared) = match delivery {
            Ok(delivery) => (true, decide(claim.id, delivery)),
            Err(error) => (false, Err(error.clone())),
        };
        if let Some(claimed) = deliveries.next() {
            decided(claimed, prepared);
        }
        if is_readable {
            return true;
        }
    }
    false
}
