//! What a receiver is told, read at the moment it is sent (spec: Delivery, "data timing").

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use store::{Json, Transaction};
use uuid::Uuid;

use super::delivery::Delivery;
use super::ledger::Claim;
use super::sender::Message;
use super::subscriptions::{DisabledReason, Stored};
use super::workflow;
use crate::access::{self, Credential};
use crate::context::{Context, System, Wakes};
use crate::error::{Error, Result};
use crate::events::Event;
use crate::moment::Moment;
use crate::platform::find_record;
use crate::service::Service;
use crate::values;

store::statements! {
    /// The subscription that a delivery is for.
    SUBSCRIPTION = "select credential, target_url, disabled_at, doc from webhook_subscription where organization_id = ?1 and id = ?2";
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
    event: Event,
    occurred_at: Moment,
    data: Value,
}

/// Decides what is sent, with what the credential may see now.
pub(super) fn prepare(tx: &mut Transaction<'_>, service: &Service, claim: Claim, delivery: &Delivery, now: Timestamp) -> Result<Prepared> {
    let Some(row) = tx.row(&SUBSCRIPTION, &values![claim.organization, claim.subscription])? else {
        return Ok(Prepared::Discard);
    };
    if row.get::<Option<Timestamp>>(2)?.is_some() {
        return Ok(Prepared::Discard);
    }
    let identified = match Credential::from_key(&row.get::<String>(0)?) {
        Some(credential) => access::load(tx, claim.organization, credential, now)?,
        None => None,
    };
    let Some(access) = identified.map(|caller| caller.access).filter(|access| access.satisfies_two_factor) else {
        return Ok(Prepared::Disable(DisabledReason::CredentialInvalid));
    };
    if !access.permissions.has(delivery.event.permission()) {
        return Ok(Prepared::Disable(DisabledReason::PermissionLost));
    }
    let system = System { tx, now, ids: &service.ids, public_url: &service.public_url, wakes: Wakes::default() };
    let mut context = Context::for_reading(system, claim.organization, &access)?;
    let Some(data) = data(&mut context, delivery)? else { return Ok(Prepared::Discard) };
    let body = Body { id: claim.id, event: delivery.event, occurred_at: delivery.occurred_at, data };
    let Json(Stored { secret, .. }) = row.get(3)?;
    Ok(Prepared::Send(Message {
        id: claim.id,
        target_url: row.get(1)?,
        secret,
        body: serde_json::to_string(&body).map_err(Error::internal)?,
    }))
}

/// What happened to whom, as its read returns it; `None` where the credential cannot read it, or it is gone.
fn data(context: &mut Context<'_, '_>, delivery: &Delivery) -> Result<Option<Value>> {
    let data = if delivery.event == Event::WorkflowStep {
        workflow::run_data(context, delivery.record_id)?.map(serde_json::to_value)
    } else {
        find_record(context, delivery.kind, delivery.record_id)?.map(serde_json::to_value)
    };
    data.transpose().map_err(Error::internal)
}
