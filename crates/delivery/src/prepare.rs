//! Decides what is sent of claimed deliveries, at the moment they are sent (spec: Delivery, "data timing").

use std::sync::Arc;
use std::vec;

use engine::error::{Error, Result};
use engine::moment::Moment;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use store::{Json, Transaction};
use uuid::Uuid;

use super::delivery::{Delivery, Told};
use super::disabled::DisabledReason;
use super::ledger::{Claimed, Subscribed};
use super::means::Means;
use super::owner::{Hearing, Owner, Said, Subscription};
use super::sender::{Message, Target};
use super::signature::Secrets;

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
struct Body<'d> {
    id: Uuid,
    event: &'d str,
    occurred_at: Moment,
    data: &'d RawValue,
}

/// What of a subscription its deliveries are signed with.
#[derive(Deserialize)]
struct Signing {
    #[serde(flatten)]
    secrets: Secrets,
}

/// Decides what is sent of claimed deliveries of one subscription, and says so of each as soon as it is decided. What does
/// not read is a failure of its own.
pub(super) fn prepare(
    tx: &mut Transaction<'_>,
    means: &Means,
    owner: &dyn Owner,
    subscribed: &Subscribed,
    deliveries: &mut vec::IntoIter<Claimed>,
    now: Timestamp,
    decided: &mut dyn FnMut(Claimed, Result<Prepared>),
) -> Result<()> {
    let Subscribed { organization, subscription: id, row } = subscribed;
    if row.get::<Option<Timestamp>>(5)?.is_some() {
        each(deliveries, decided, |_, _| Ok(Prepared::Discard));
        return Ok(());
    }
    let Json(Signing { secrets }) = row.get(6)?;
    let target = Arc::new(Target { address: means.targets.address(&row.get::<String>(2)?), secrets });
    let subscription = Subscription { organization: *organization, id: *id, credential: row.get(3)?, event: row.get(4)? };
    let readable = deliveries.as_slice().iter().filter_map(|claimed| claimed.delivery.as_ref().ok());
    let told: Vec<Told> = readable.map(|delivery| delivery.told.clone()).collect();
    let mut say = |said: Said| {
        let mut said = Some(said);
        next(deliveries, decided, &mut |id, delivery| message(id, delivery, &target, said.take().unwrap_or(Ok(None))));
    };
    match owner.tell(tx, &subscription, &told, now, &mut say)? {
        Hearing::Granted => each(deliveries, decided, |_, _| Err(Error::internal("nothing was said of a delivery"))),
        Hearing::Refused(reason) => each(deliveries, decided, |_, _| Ok(Prepared::Disable(reason))),
    }
    Ok(())
}

/// What is sent of a delivery, by what is said of it.
fn message(id: Uuid, delivery: &Delivery, target: &Arc<Target>, said: Said) -> Result<Prepared> {
    let Some(data) = said? else { return Ok(Prepared::Discard) };
    let body = Body { id, event: &delivery.told.event, occurred_at: delivery.occurred_at, data: &data };
    let body = serde_json::to_string(&body).map_err(Error::internal)?;
    Ok(Prepared::Send(Message { id, target: target.clone(), body }))
}

/// Decides on all deliveries that are left.
fn each(
    deliveries: &mut vec::IntoIter<Claimed>,
    decided: &mut dyn FnMut(Claimed, Result<Prepared>),
    mut decide: impl FnMut(Uuid, &Delivery) -> Result<Prepared>,
) {
    while next(deliveries, decided, &mut decide) {}
}

/// Decides on the next delivery that reads, and on those before it that do not; whether there was one. Each is taken once it
/// is decided on: a panic leaves it with those that are left.
fn next(
    deliveries: &mut vec::IntoIter<Claimed>,
    decided: &mut dyn FnMut(Claimed, Result<Prepared>),
    decide: &mut dyn FnMut(Uuid, &Delivery) -> Result<Prepared>,
) -> bool {
    while let [Claimed { claim, delivery, .. }, ..] = deliveries.as_slice() {
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
