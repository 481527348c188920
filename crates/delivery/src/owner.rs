//! Whose subscriptions are, and what they are told.

use engine::error::Result;
use jiff::Timestamp;
use serde_json::value::RawValue;
use store::Transaction;
use uuid::Uuid;

use super::delivery::Told;
use super::disabled::DisabledReason;

/// What is said of one delivery: the JSON of its `data`, or nothing where there is nothing to see.
pub type Said = Result<Option<Box<RawValue>>>;

/// Says what deliveries hold, at the moment they are sent.
pub trait Owner: Send + Sync + 'static {
    /// Says of each of these deliveries of one subscription what it holds now: in this order, each as soon as it is known,
    /// and nothing of any where the subscription may not hear of its event any more. Where this fails, or panics, that is a
    /// failure of each of which nothing has been said.
    fn tell(
        &self,
        tx: &mut Transaction<'_>,
        subscription: &Subscription,
        told: &[Told],
        now: Timestamp,
        say: &mut dyn FnMut(Said),
    ) -> Result<Hearing>;
}

/// A subscription, as its owner knows it.
#[derive(Debug, Clone)]
pub struct Subscription {
    /// Whose it is.
    pub organization: Uuid,
    /// Which it is.
    pub id: Uuid,
    /// Who made it, as its owner writes that.
    pub credential: String,
    /// The event it is to.
    pub event: String,
}

/// Whether a subscription may hear of its event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hearing {
    /// It may, and each delivery was spoken of.
    Granted,
    /// Not any more.
    Refused(DisabledReason),
}
