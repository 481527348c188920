//! Statements that delete this module's rows when an organization is erased.

use engine::some_of;

store::statements! {
    /// Deletes some stored events of feeds.
    EVENTS = some_of!("calendar_event", "organization_id, feed_id, reservation_id");
    /// Deletes some feeds.
    FEEDS = some_of!("calendar_feed", "organization_id, id");
}
