//! Webhooks: who is told of what, and how it reaches them (spec: Webhook subscriptions, Events, Delivery).
//!
//! An event becomes rows of the outbox in the transaction that caused it. The dispatcher claims them from the ledger,
//! reads what the receiver may see at that moment (payload), posts it signed (sender), and records what came of it.
//! What a target may be is judged by the target guard: at creation, and again at every delivery.

mod delivery;
mod dispatcher;
mod ledger;
mod outbox;
mod payload;
mod room;
mod sender;
mod signature;
mod subscriptions;
mod target;
mod workflow;

pub use dispatcher::Dispatcher;
pub use outbox::enqueue;
pub use subscriptions::{DisabledReason, disable_all_of, disable_events_of_member};
pub use target::Targets;

use crate::operation::Operation;

/// The statements of this chapter.
pub(crate) fn statements() -> Vec<&'static store::Statement> {
    [ledger::STATEMENTS, outbox::STATEMENTS, payload::STATEMENTS, subscriptions::STATEMENTS].concat()
}

/// The operations of this chapter.
pub(crate) fn operations() -> Vec<Operation> {
    subscriptions::operations()
}
