//! Descriptions of calendar feeds for the audit log. The descriptions contain only the scheme and
//! the host of the calendar's URL, because the rest of the URL is a secret.

use engine::audit::{AuditedObject, Target, id};
use engine::context::Context;
use engine::error::Result;
use serde_json::{Value, json};
use uuid::Uuid;

use super::feed::{self, StoredFeed, without_secret};

/// The type of target that the audit log records for a feed.
pub(super) const KIND: &str = "calendar_feed";

/// Reads a feed. Returns `None` without an id, or if the caller cannot read the feed.
fn find_feed(context: &mut Context<'_, '_>, id: Option<Uuid>) -> Option<StoredFeed> {
    feed::find(context, id?).ok()
}

/// Describes a feed for the audit log. The field `id` of the operation's input has the id of the
/// feed.
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

/// Returns a feed as the target of an audit entry. The field `id` of the operation's input has the
/// id of the feed.
pub(super) fn feed_target(context: &mut Context<'_, '_>, input: &Value) -> Target {
    let id = id(input, "id");
    let name = find_feed(context, id).map(|feed| feed.state.channel);
    Target::new(KIND, id, name)
}
