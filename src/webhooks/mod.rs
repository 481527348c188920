//! Webhooks: who is told of what, and how it reaches them (spec: Webhook subscriptions, Events, Delivery).
//!
//! An event becomes rows of the outbox in the transaction that caused it. The dispatcher claims them from the ledger,
//! reads what the receiver may see at that moment (payload), posts it signed (sender), and records what came of it.
//! What a target may be is judged by the target guard: at creation, and again at every delivery. Whether the credential may
//! still hear of its event is asked at every delivery and once a minute (standing). What is old, and what is left of a
//! subscription that was deleted, goes a few rows at a time (sweep).

mod delivery;
mod dispatcher;
mod event_types;
mod ledger;
mod log;
mod outbox;
mod payload;
mod peer;
mod recorder;
mod room;
mod sender;
mod signature;
mod standing;
mod subscriptions;
mod sweep;
mod target;
mod workflow;

pub use dispatcher::Dispatcher;
pub(crate) use event_types::{ping_schema, step_run_schema, subject};
pub use ledger::{Backlog, backlog};
pub use outbox::{Happening, enqueue};
pub use standing::disable_lapsed;
pub use subscriptions::{DisabledReason, disable_all_elsewhere, disable_all_of, disable_events_of_member};
pub use sweep::{sweep_deleted, sweep_old};
pub use target::{Names, Targets};

use crate::operation::Operation;

/// The statements of this chapter.
pub(crate) fn statements() -> Vec<&'static store::Statement> {
    [ledger::STATEMENTS, log::STATEMENTS, outbox::STATEMENTS, standing::STATEMENTS, subscriptions::STATEMENTS, sweep::STATEMENTS].concat()
}

/// The operations of this chapter.
pub(crate) fn operations() -> Vec<Operation> {
    [subscriptions::operations(), log::operations(), event_types::operations(), workflow::operations()].into_iter().flatten().collect()
}
