//! What a receiver is told, read at the moment it is sent (spec: Delivery, "data timing").

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};
use store::{Json, Transaction};
use uuid::Uuid;

use super::delivery::{Delivery, Told};
use super::ledger::Claim;
use super::sender::Message;
use super::subscriptions::{DisabledReason, Stored, event_of};
use super::{standing, workflow};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::events::Event;
use crate::moment::Moment;
use crate::platform::find_record;
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
    data: Value,
}

/// Decides what is sent, with what the credential may see now.
pub(super) fn prepare(tx: &mut Transaction<'_>, service: &Service, claim: Claim, delivery: &Delivery, now: Timestamp) -> Result<Prepared> {
    let Some(row) = tx.row(&SUBSCRIPTION, &values![claim.organization, claim.subscription])? else {
        return Ok(Prepared::Discard);
    };
    if row.get::<Option<Timestamp>>(3)?.is_some() {
        return Ok(Prepared::Discard);
    }
    let access = standing::access_of(tx, claim.organization, &row.get::<String>(0)?, now)?;
    let access = match standing::hearing(access.as_ref(), event_of(&row, 1)?) {
        Ok(access) => access,
        Err(reason) => return Ok(Prepared::Disable(reason)),
    };
    let mut context = Context::for_reading(service.system(tx, now), claim.organization, access)?;
    let Some(data) = data(&mut context, claim, delivery.told)? else { return Ok(Prepared::Discard) };
    let body = Body { id: claim.id, event: delivery.told.name(), occurred_at: delivery.occurred_at, data };
    let Json(Stored { secrets, .. }) = row.get(4)?;
    Ok(Prepared::Send(Message {
        id: claim.id,
        target_url: row.get(2)?,
        secrets,
        body: serde_json::to_string(&body).map_err(Error::internal)?,
    }))
}

/// What happened to whom, as its read returns it; `None` where the credential cannot read it, or it is gone.
fn data(context: &mut Context<'_, '_>, claim: Claim, told: Told) -> Result<Option<Value>> {
    let data = match told {
        Told::Event { event: Event::WorkflowStep, record_id, .. } => workflow::run_data(context, record_id)?.map(serde_json::to_value),
        Told::Event { kind, record_id, .. } => find_record(context, kind, record_id)?.map(serde_json::to_value),
        Told::Ping { .. } => Some(Ok(json!({ "subscriptionId": claim.subscription }))),
    };
    data.transpose().map_err(Error::internal)
}
