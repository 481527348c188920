//! Descriptions of webhook subscriptions for the audit log. The pipeline reads them before and
//! after an audited operation changes the subscriptions.

use engine::audit::{AuditedObject, Target, id};
use engine::context::Context;
use engine::error::Result;
use engine::values;
use serde_json::{Value, json};
use uuid::Uuid;

use super::owned;
use super::subscriptions::{Filters, StoredSubscription};

store::statements! {
    /// Selects the subscriptions of the credential `?2` that send to the target URL `?3`.
    POSTING_TO = "select id from webhook_subscription
        where organization_id = ?1 and credential = ?2 and target_url = ?3 and deleted_at is null
        order by created_at, id";
}

/// The type of a webhook subscription as the target of an audit log entry.
const KIND: &str = "webhook_subscription";

/// Describes the subscription with the input's `id`. If the input has no `id`, describes all
/// subscriptions of the caller's credential whose URL is the input's `target_url`.
pub(super) fn audited_subscriptions(
    context: &mut Context<'_, '_>,
    input: &Value,
) -> Result<Option<AuditedObject>> {
    if let Some(id) = id(input, "id") {
        let Some(row) = owned::find_subscription(context, id)? else {
            return Ok(None);
        };
        let (event, url): (String, String) = (row.get(1)?, row.get(2)?);
        let store::Json(StoredSubscription { filters, secrets }): store::Json<StoredSubscription> =
            row.get(8)?;
        let fields = json!({
            "event": event,
            "targetUrl": url,
            "filters": if filters == Filters::default() { None } else { Some(filters) },
        });
        let thing = AuditedObject::new(KIND, Some(id), Some(url)).showing(&fields)?;
        return thing
            .withholding(&json!({ "signingSecret": secrets.reveal() }))
            .map(Some);
    }
    let key = context.access.credential.key();
    let Some(url) = input["target_url"].as_str() else {
        return Ok(None);
    };
    let ids = context
        .rows(&POSTING_TO, values![key, url])?
        .iter()
        .map(|row| row.get(0))
        .collect::<store::Result<Vec<Uuid>>>()?;
    if ids.is_empty() {
        return Ok(None);
    }
    AuditedObject::new(KIND, None, Some(url.to_owned()))
        .showing(&json!({ "ids": ids }))
        .map(Some)
}

/// Returns the subscription in the input as the target of an audit entry. The name of the target is
/// the subscription's URL.
pub(super) fn subscription_target(context: &mut Context<'_, '_>, input: &Value) -> Result<Target> {
    let target = audited_subscriptions(context, input)?.map(|thing| thing.target);
    Ok(target.unwrap_or_else(|| Target::new(KIND, id(input, "id"), None)))
}
