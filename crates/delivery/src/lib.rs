//! Delivery: how messages reach receivers that may be slow, hostile or away: claimed, signed, sent, tried again, recorded
//! (spec: Delivery).
//!
//! A delivery is a row of the outbox, put there with the change that it tells of. The dispatcher claims what is due (ledger),
//! as far as there are places for it (room), asks the owner of its subscription what there is to tell now (prepare), posts it
//! signed (sender), and has recorded what came of it (recorder). Where organizations are on several servers, it is told whom to look at
//! (queue). What a target may be is judged by the target guard, again at every attempt (address, names, target, peer). What is old, and
//! what is left of a subscription that was deleted, goes a few rows at a time (sweep).
//!
//! What a message says is not known here: [`Owner`] is asked.

mod address;
mod delivery;
mod disabled;
mod dispatcher;
mod ledger;
mod limiter;
mod means;
mod names;
mod owner;
mod peer;
mod prepare;
mod queue;
mod recorder;
mod sender;
mod signature;
mod sweep;
mod target;

pub use delivery::{Attempt, Delivery, PING, Status, Subject, Told};
pub use disabled::{DisabledReason, tell_disabled};
pub use dispatcher::Dispatcher;
pub use ledger::{Backlog, backlog, disable};
pub use means::{Means, Settings};
pub use names::{Names, on_behalf_of};
pub use owner::{Hearing, Owner, Said, Subscription};
pub use queue::{NOTE_DUE, fill, keep_queue, tidy};
pub use sender::guarded;
pub use signature::Secrets;
pub use sweep::{sweep_deleted, sweep_old};
pub use target::Targets;

/// The statements of deliveries.
#[must_use]
pub fn statements() -> Vec<&'static store::Statement> {
    [ledger::STATEMENTS, queue::STATEMENTS, sweep::STATEMENTS].concat()
}
