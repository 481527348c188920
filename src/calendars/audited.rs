//! Describes calendar feeds for the audit log. The address is named by its host alone.

use engine::audit::{Target, Thing, id};
use engine::context::Context;
use engine::error::Result;
use serde_json::{Value, json};
use uuid::Uuid;

use super::feed::{self, StoredFeed, without_secret};

/// The kind of a feed in the audit log.
pub(super) const KIND: &str = "calendar_feed";

fn found(context: &mut Context<'_, '_>, id: Option<Uuid>) -> Option<StoredFeed> {
    feed::find(context, id?).ok()
}

/// Reads the feed that an input names.
pub(super) fn feed(context: &mut Context<'_, '_>, input: &Value) -> Result<Option<Thing>> {
    let Some(feed) = found(context, id(input, "id")) else {
        return Ok(None);
    };
    let shown = json!({
        "propertyId": feed.property_id, "channel": feed.state.channel, "ambiguous": feed.state.ambiguous,
        "url": without_secret(&feed.url),
    });
    Thing::new(KIND, Some(feed.id), Some(feed.state.channel))
        .showing(&shown)
        .map(Some)
}

/// Names the feed that an input names.
pub(super) fn named(context: &mut Context<'_, '_>, input: &Value) -> Target {
    let id = id(input, "id");
    let name = found(context, id).map(|feed| feed.state.channel);
    Target::new(KIND, id, name)
}
