//! Statements that delete this module's rows when an organization is erased.

use engine::some_of;

store::statements! {
    /// Deletes timers of devices.
    DEVICE_TIMERS = some_of!("device_timer", "organization_id, device_id");
    /// Deletes ids of reviews that arrived.
    ARRIVALS = some_of!("review_arrival", "organization_id, review_id");
    /// Deletes deliveries.
    DELIVERIES = some_of!("webhook_delivery", "organization_id, subscription_id, created_at, id");
    /// Deletes the mark that an organization has due deliveries.
    DUE = some_of!("webhook_due", "organization_id");
    /// Deletes webhook subscriptions.
    SUBSCRIPTIONS = some_of!("webhook_subscription", "organization_id, id");
}
