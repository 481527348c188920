//! Descriptions of calendar feeds for the audit log. They contain only the host of the address,
//! because the rest is a secret.

use engine::audit::{AuditedObject, Target, id};
use engine::context::Context;
use engine::error::Result;
use serde_json::{Value, json};
use uuid::Uuid;

use super::feed::{self, StoredFeed, without_secret};

/// The type of target that the audit log records for a feed.
pub(super) const KIND: &str = "calendar_feed";

/// Reads a feed that the caller can access.
fn find_feed(context: &mut Context<'_, '_>, id: Option<Uuid>) -> Option<StoredFeed> {
    feed::find(context, id?).ok()
}

/// Describes the feed with the input's `id` for the audit log.
pub(super) fn audited_feed(
    context: &mut Context<'_, '_>,
    input: &Value,
) -> Result<Option<AuditedObject>> {
    let Some(feed) = find_feed(context, id(input, "id")) else {
        return Ok(None);
    };
    let fields = json!({
        "propertyId": feed.property_id,
        "channel": feed.state.channel,
        "ambiguous": feed.state.ambiguous,
        "url": without_secret(&feed.url),
    });
    AuditedObject::new(KIND, Some(feed.id), Some(feed.state.channel))
        .showing(&fields)
        .map(Some)
}

/// Returns the audit log's target for the feed with the input's `id`.
pub(super) fn feed_target(context: &mut Context<'_, '_>, input: &Value) -> Target {
    let id = id(input, "id");
    let name = find_feed(context, id).map(|feed| feed.state.channel);
    Target::new(KIND, id, name)
}
