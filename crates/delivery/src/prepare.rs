//! Decides which data each claimed delivery contains, just before the delivery is sent (rules:
//! webhooks#deliveries, 2).

use std::sync::Arc;

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
use super::ledger::{ClaimedDelivery, SubscriptionState};
use super::owner::{Eligibility, EventData, Subscription, SubscriptionOwner};
use super::sender::{Message, Target};
use super::signature::Secrets;

/// The decision on a claimed delivery: a message to send, or the reason to send none.
pub(super) enum SendDecision {
    /// The message is sent.
    Send(Message),
    /// The credential may not see the record. No message is sent, and no failure is counted.
    Discard,
    /// The subscription is already disabled. No message is sent, and no failure is counted.
    SubscriptionDisabled,
    /// The subscription must become disabled for this reason. No message is sent.
    Disable(DisabledReason),
}

/// The JSON body that the receiver gets.
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

/// Returns the decision on each claimed delivery of one subscription, in the order of the
/// deliveries. If one delivery cannot be parsed, only that delivery fails.
pub(super) fn prepare(
    tx: &mut Transaction<'_>,
    dependencies: &Dependencies,
    owner: &dyn SubscriptionOwner,
    subscribed: &SubscriptionState,
    claimed: &[ClaimedDelivery],
    now: Timestamp,
) -> Result<Vec<Result<SendDecision>>> {
    let SubscriptionState {
        organization,
        subscription: id,
        row,
    } = subscribed;
    if row.get::<Option<Timestamp>>(5)?.is_some() {
        return Ok(claimed
            .iter()
            .map(|_| Ok(SendDecision::SubscriptionDisabled))
            .collect());
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
    let readable = claimed
        .iter()
        .filter_map(|claimed| claimed.delivery.as_ref().ok());
    let reported: Vec<ReportedEvent> = readable.map(|delivery| delivery.reported.clone()).collect();
    let mut data = match owner.current_data(tx, &subscription, &reported, now)? {
        Eligibility::Granted(data) => data.into_iter(),
        Eligibility::Refused(reason) => {
            return Ok(claimed
                .iter()
                .map(|_| Ok(SendDecision::Disable(reason)))
                .collect());
        }
    };
    let prepared = claimed.iter().map(|claimed| {
        let delivery = claimed.delivery.as_ref().map_err(Error::clone)?;
        let data = data
            .next()
            .ok_or_else(|| Error::internal("no data was returned for a delivery"))?;
        message(claimed.claim.id, delivery, &target, data)
    });
    Ok(prepared.collect())
}

/// Decides whether a delivery is sent. If the owner of the subscription returned data for the
/// delivery, builds the message from this data. Otherwise discards the delivery.
fn message(
    id: Uuid,
    delivery: &Delivery,
    target: &Arc<Target>,
    data: EventData,
) -> Result<SendDecision> {
    let Some(data) = data? else {
        return Ok(SendDecision::Discard);
    };
    let body = Body {
        id,
        event: &delivery.reported.event,
        occurred_at: delivery.occurred_at,
        data: &data,
    };
    let body = serde_json::to_string(&body).map_err(Error::internal)?;
    Ok(SendDecision::Send(Message {
        id,
        target: target.clone(),
        body,
    }))
}
