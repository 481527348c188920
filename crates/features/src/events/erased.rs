//! Statements that delete this module's rows when an organization is erased.

use engine::some_of;

store::statements! {
    /// Deletes a batch of an organization's timers that fire `device.reconnected`.
    DEVICE_TIMERS = some_of!("device_timer", "organization_id, device_id");
    /// Deletes a batch of the stored ids of the reviews that have ever arrived for the
    /// organization, even of reviews that were deleted since.
    ARRIVALS = some_of!("review_arrival", "organization_id, review_id");
    /// Deletes a batch of an organization's webhook deliveries.
    DELIVERIES = some_of!("webhook_delivery", "organization_id, subscription_id, created_at, id");
    /// Deletes the row that tells the dispatchers that an organization has due deliveries.
    DUE = some_of!("webhook_due", "organization_id");
    /// Deletes a batch of an organization's webhook subscriptions.
    SUBSCRIPTIONS = some_of!("webhook_subscription", "organization_id, id");
}
