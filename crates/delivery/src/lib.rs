//! Delivers messages to receivers that may be slow, hostile or unavailable (rules:
//! webhooks#deliveries).
//!
//! A delivery is a row of the outbox, written in the transaction of the change that the delivery
//! reports. The dispatcher claims due deliveries (module `ledger`) for which there are permits
//! (`limiter`). It asks the owner of the subscription for the current data (`prepare`) and posts
//! the signed message (`sender`, `client`, `marks`, `failure`). Then it passes the outcome to the
//! recorder (`recorder`). If organizations are on several servers, a queue has a row for each
//! organization with due deliveries (`queue`). The target guard checks the target again at every
//! attempt (`address`, `names`, `target`, `peer`). A sweep removes old deliveries and the rows of
//! deleted subscriptions, a few at a time (`sweep`).
//!
//! This crate does not know the content of messages. The [`SubscriptionOwner`] supplies it.

mod address;
mod client;
mod delivery;
mod dependencies;
mod disabled;
mod dispatcher;
mod failure;
mod ledger;
mod limiter;
mod marks;
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
mod tls;

pub use delivery::{Attempt, Delivery, PING, ReportedEvent, Status, Subject};
pub use dependencies::{Dependencies, Settings};
pub use disabled::{DisabledReason, log_disabled};
pub use dispatcher::Dispatcher;
pub use ledger::{Backlog, backlog, disable};
pub use names::{Names, on_behalf_of};
pub use owner::{Eligibility, EventData, Subscription, SubscriptionOwner};
pub use queue::{fill, keep_queue, note_due_now, tidy};
pub use sender::{guarded_client, is_private};
pub use signature::Secrets;
pub use sweep::{bring_forward, sweep_deleted, sweep_old};
pub use target::Targets;
pub use tls::ClientTls;

/// Returns the SQL statements of this crate.
#[must_use]
pub fn statements() -> Vec<&'static store::Statement> {
    [ledger::STATEMENTS, queue::STATEMENTS, sweep::STATEMENTS].concat()
}
