//! Statements that delete this module's rows when an organization is erased.

use engine::some_of;

store::statements! {
    /// Deletes a batch of the stored events of an organization's feeds.
    EVENTS = some_of!("calendar_event", "organization_id, feed_id, reservation_id");
    /// Deletes a batch of an organization's feeds.
    FEEDS = some_of!("calendar_feed", "organization_id, id");
}
