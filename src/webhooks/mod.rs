//! Webhooks: who is told of what, and how it reaches them (spec: Webhook subscriptions, Events, Delivery).
//!
//! An event becomes rows of the outbox in the transaction that caused it; [`crate::delivery`] sends them, and asks the payload
//! for what the receiver may see at that moment. Whether the credential may still hear of its event is asked at every delivery
//! and once a minute (standing).

mod event_types;
mod log;
mod outbox;
mod payload;
mod standing;
mod subscriptions;
mod workflow;

pub(crate) use event_types::{ping_schema, step_run_schema, subject};
pub use outbox::{Happening, enqueue};
pub use payload::Payloads;
pub use standing::disable_lapsed;
pub use subscriptions::{disable_all_elsewhere, disable_all_of, disable_events_of_member};

use crate::kit::Bell;
use crate::operation::Operation;

/// Rings when there is something to deliver.
pub const DELIVERIES: Bell = Bell("deliveries");
/// Rings when a subscription was deleted.
pub const DELETIONS: Bell = Bell("deletions");

/// The statements of this chapter.
pub(crate) fn statements() -> Vec<&'static store::Statement> {
    [log::STATEMENTS, outbox::STATEMENTS, standing::STATEMENTS, subscriptions::STATEMENTS].concat()
}

/// The operations of this chapter.
pub(crate) fn operations() -> Vec<Operation> {
    [subscriptions::operations(), log::operations(), event_types::operations(), workflow::operations()].into_iter().flatten().collect()
}
