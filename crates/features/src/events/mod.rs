//! Events for other systems: the changes that fire them, the subscriptions, and the messages
//! (rules: sync#events).
//!
//! `derive.rs` decides which events a change of a record fires. Most events fire at once. If a
//! device comes back online, a timer starts instead (`timer.rs`), and `timekeeper.rs` fires the
//! event after the device has stayed online for a while.
//!
//! `outbox.rs` writes a delivery for each matching subscription, in the transaction of the change.
//! The crate `delivery` sends the delivery. When it sends, `payload.rs` reads the data that the
//! receiver may see. `eligibility.rs` checks before each delivery and once a minute whether the
//! credential may still receive its event. `disabling.rs` disables the subscriptions of a
//! credential that ends. The other files have the operations on subscriptions and deliveries.

mod arrivals;
mod audited;
mod derive;
mod disabling;
mod document;
mod eligibility;
mod erased;
mod event_types;
mod log;
mod outbox;
mod owned;
mod payload;
mod subscriptions;
mod targets;
mod timekeeper;
mod timer;
mod workflow;

use engine::access::Permission;
use engine::app_state::WakeSignal;
use engine::context::Context;
use engine::error::Result;
use engine::module::Module;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{AsRefStr, Display, EnumString, IntoStaticStr, VariantArray};
use uuid::Uuid;

use crate::records::RecordKind;
pub(crate) use arrivals::{arrived_reviews, record_arrived_reviews};
pub use derive::{DerivedEvents, RecordChange, TimerEffect, check_out, derive_events, has_timers};
pub use disabling::{disable_all_in_other_organizations, disable_all_of, disable_events_of_member};
pub(crate) use document::data_name;
pub use document::{parameters, schemas, webhooks};
pub use eligibility::disable_lapsed;
pub use event_types::{LIST_WEBHOOK_EVENT_TYPES, WebhookEventType};
pub use log::{LIST_WEBHOOK_DELIVERIES, WebhookDelivery};
pub use outbox::{RecordEvent, enqueue};
pub use payload::Payloads;
pub use subscriptions::{
    CREATE_WEBHOOK_SUBSCRIPTION, CreatedWebhookSubscription, LIST_WEBHOOK_SUBSCRIPTIONS,
    ROTATE_WEBHOOK_SECRET, WebhookSubscription,
};
pub use timekeeper::{ReconnectDelay, Timekeeper, run as fire_timers};
pub(crate) use timer::apply_timer_effects as set_timers;
pub use timer::restart_future_timers as bring_timers_forward;

/// The wake signal for the dispatcher, which is sent when deliveries are due.
pub const DELIVERIES: WakeSignal = WakeSignal("deliveries");
/// The wake signal for the sweep that removes deleted subscriptions and their deliveries. The
/// signal is sent when a subscription was deleted.
pub const DELETIONS: WakeSignal = WakeSignal("deletions");

/// The registration of this module.
pub static MODULE: Module = Module {
    operations: || {
        [
            subscriptions::operations(),
            log::operations(),
            event_types::operations(),
            workflow::operations(),
        ]
        .into_iter()
        .flatten()
        .collect()
    },
    statements: || {
        [
            arrivals::STATEMENTS,
            audited::STATEMENTS,
            disabling::STATEMENTS,
            log::STATEMENTS,
            outbox::STATEMENTS,
            owned::STATEMENTS,
            eligibility::STATEMENTS,
            subscriptions::STATEMENTS,
            timer::STATEMENTS,
        ]
        .concat()
    },
    erased: erased::STATEMENTS,
    lists: |lists| {
        lists.add(targets::FORMAT);
        lists.add(targets::BACKLOG);
    },
    subjects: &[
        (
            "webhook-subscriptions",
            "Where events are sent, what was sent, and how it went.",
        ),
        (
            "webhook-event-types",
            "The events there are, with what each of them carries.",
        ),
        (
            "workflow-zapier-steps",
            "Steps of workflows that can be subscribed to.",
        ),
    ],
    ..Module::new("events")
};

macro_rules! events {
    ($($variant:ident = $name:literal, $permission:ident, $fires:literal;)*) => {
        /// An event to which other systems can subscribe.
        // The variants have the order of the reference (docs/reference/webhooks.md).
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
            JsonSchema,
        )]
        #[derive(AsRefStr, Display, EnumString, IntoStaticStr, VariantArray)]
        #[schemars(inline)]
        pub enum Event {
            $(#[doc = $fires] #[serde(rename = $name)] #[strum(serialize = $name)] $variant,)*
        }

        impl Event {
            /// Returns the permission that a credential needs for the event.
            #[must_use]
            pub const fn permission(self) -> Permission {
                match self { $(Self::$variant => Permission::$permission,)* }
            }

            /// Returns a sentence that says when the event fires.
            #[must_use]
            pub const fn fires(self) -> &'static str {
                match self { $(Self::$variant => $fires,)* }
            }
        }
    };
}

events! {
    ReservationCreated = "reservation.created", ViewReservations,
        "A confirmed reservation with a current or upcoming stay arrived, was linked to a \
            property, or became confirmed.";
    ReservationCancelled = "reservation.cancelled", ViewReservations,
        "A reservation was cancelled.";
    ReservationDatesChanged = "reservation.dates_changed", ViewReservations,
        "Check-in or check-out of a reservation that is not cancelled changed.";
    ReservationPrecheckinSubmitted = "reservation.precheckin_submitted", ViewReservations,
        "The guest submitted pre-check-in.";
    TaskCreated = "task.created", ViewTasks, "A task was created.";
    TaskAssigned = "task.assigned", ViewTasks, "A task got a new assignee.";
    TaskStarted = "task.started", ViewTasks, "A task was started.";
    TaskCompleted = "task.completed", ViewTasks, "A task was completed.";
    TaskCancelled = "task.cancelled", ViewTasks, "A task was cancelled.";
    DeviceOffline = "device.offline", ViewDevices, "A device went offline.";
    DeviceReconnected = "device.reconnected", ViewDevices, "A device that went offline has been \
        back online for a while.";
    ReviewSubmitted = "review.submitted", ViewReservations, "A guest review arrived.";
    WorkflowStep = "workflow.step", ViewWorkflows, "A chosen external-automation step of a \
        workflow ran.";
}

/// Writes an event to the outbox, in the transaction of the change that caused the event.
pub(crate) fn fire(
    context: &mut Context<'_, '_>,
    event: Event,
    kind: RecordKind,
    record: Uuid,
    property: Option<Uuid>,
) -> Result<()> {
    fire_all(
        context,
        &[RecordEvent {
            event,
            kind,
            record_id: record,
            property_id: property,
        }],
    )
}

/// Writes events to the outbox, in the transaction of the change that caused them.
pub(crate) fn fire_all(context: &mut Context<'_, '_>, events: &[RecordEvent]) -> Result<()> {
    enqueue(context, events)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_parses_from_its_name() {
        assert_eq!(Event::VARIANTS.len(), 13);
        for event in Event::VARIANTS {
            assert_eq!(event.as_ref().parse(), Ok(*event));
            assert_eq!(serde_json::to_value(event).unwrap(), event.as_ref());
        }
    }
}
