//! How the rows of this chapter go with their organization.

use engine::some_of;

store::statements! {
    /// Timers of devices.
    DEVICE_TIMERS = some_of!("device_timer", "organization_id, device_id");
    /// What was delivered, or was to be.
    DELIVERIES = some_of!("webhook_delivery", "organization_id, subscription_id, created_at, id");
    /// That something is to be delivered.
    DUE = some_of!("webhook_due", "organization_id");
    /// Subscriptions.
    SUBSCRIPTIONS = some_of!("webhook_subscription", "organization_id, id");
}
