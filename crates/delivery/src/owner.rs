//! The trait that connects this crate with the owner of subscriptions: the module that supplies the
//! content of their deliveries.

use engine::error::Result;
use jiff::Timestamp;
use serde_json::value::RawValue;
use store::Transaction;
use uuid::Uuid;

use super::delivery::ReportedEvent;
use super::disabled::DisabledReason;

/// The JSON of the field `data` in one delivery's message. `None` if the credential cannot see the
/// record.
pub type EventData = Result<Option<Box<RawValue>>>;

/// Supplies the content of deliveries at the time they are sent.
pub trait SubscriptionOwner: Send + Sync + 'static {
    /// Returns the current data of each of these deliveries of one subscription, in the order of
    /// the deliveries. If this method fails or panics, the calling function repeats the call for
    /// each delivery alone.
    fn current_data(
        &self,
        tx: &mut Transaction<'_>,
        subscription: &Subscription,
        reported: &[ReportedEvent],
        now: Timestamp,
    ) -> Result<Eligibility>;
}

/// A subscription, as this crate describes it to the [`SubscriptionOwner`].
#[derive(Debug, Clone)]
pub struct Subscription {
    /// The organization that owns the subscription.
    pub organization: Uuid,
    /// The id of the subscription.
    pub id: Uuid,
    /// The credential that created the subscription, as text, such as `key:` and the id of an API
    /// key. The [`SubscriptionOwner`] defines the form of this text.
    pub credential: String,
    /// The name of the event that the subscription is for.
    pub event: String,
}

/// The decision of a [`SubscriptionOwner`] whether a subscription may still receive the event that
/// it is for.
#[derive(Debug)]
pub enum Eligibility {
    /// The subscription may receive its event. The list has the data for each of the subscription's
    /// deliveries that are about to be sent, in the order in which the deliveries were passed.
    Granted(Vec<EventData>),
    /// The subscription may no longer receive its event, for this reason.
    Refused(DisabledReason),
}
