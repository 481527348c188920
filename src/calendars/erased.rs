//! The statements that remove the rows of this module when their organization is erased.

use engine::some_of;

store::statements! {
    /// Events of feeds.
    EVENTS = some_of!("calendar_event", "organization_id, feed_id, reservation_id");
    /// Feeds.
    FEEDS = some_of!("calendar_feed", "organization_id, id");
}
