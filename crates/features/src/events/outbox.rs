//! The outbox of events: writes a delivery for each subscription that matches an event, in the
//! transaction of the change that caused the event. The crate `delivery` sends the deliveries.

use std::collections::{BTreeSet, HashMap};

use delivery::{Delivery, ReportedEvent, Subject};
use engine::context::Context;
use engine::error::Result;
use engine::moment::Moment;
use engine::traces;
use engine::values;
use store::Json;
use uuid::Uuid;

use super::DELIVERIES;
use super::Event;
use super::subscriptions::{Filters, StoredSubscription};
use super::workflow;
use crate::records::{RecordKind, WorkflowStepRun};

/// Maximum number of deliveries that are collected in memory before they are written. It bounds the
/// memory for an event with many subscriptions.
const BATCH: usize = 2_000;

store::statements! {
    /// Reads and locks the active subscriptions to the given events. Without the lock, a receiver's
    /// 410 could delete a subscription before its delivery is inserted. The insert would then fail,
    /// and with it the change that caused the event.
    SUBSCRIBERS = "select id, doc, event from webhook_subscription
        where organization_id = ?1 and event = any(?2) and disabled_at is null
        order by created_at, id for key share";
    /// Inserts a delivery, due at once.
    INSERT_DELIVERY = "insert into webhook_delivery
        (organization_id, id, subscription_id, status, next_attempt_at, created_at, doc)
        values (?1, ?2, ?3, 'pending', ?4, ?4, ?5)";
}

/// An event and the record that caused it.
#[derive(Debug, Clone, Copy)]
pub struct RecordEvent {
    pub event: Event,
    /// The kind of the record that caused the event.
    pub kind: RecordKind,
    pub record_id: Uuid,
    /// The property of the record. Subscriptions can filter by it.
    pub property_id: Option<Uuid>,
}

/// Writes events to the outbox, in the order of the list: one delivery for each subscription whose
/// filters match the event.
///
/// A delivery contains the id of the record, not its data. The dispatcher reads the data when it
/// sends the delivery. So the receiver gets the current data, limited by the current permissions of
/// its credential.
pub fn enqueue(context: &mut Context<'_, '_>, events: &[RecordEvent]) -> Result<()> {
    let types: BTreeSet<Event> = events.iter().map(|event| event.event).collect();
    if types.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = types
        .iter()
        .map(|event| event.as_ref().to_owned())
        .collect();
    let mut subscribers: HashMap<String, Vec<(Uuid, Filters)>> = HashMap::new();
    for row in context.rows(&SUBSCRIBERS, values![names])? {
        let Json(StoredSubscription { filters, .. }) = row.get(1)?;
        subscribers
            .entry(row.get(2)?)
            .or_default()
            .push((row.get(0)?, filters));
    }
    if subscribers.is_empty() {
        return Ok(());
    }
    let is_run = |event: &&RecordEvent| event.event == Event::WorkflowStep;
    let runs = events
        .iter()
        .filter(is_run)
        .map(|event| event.record_id)
        .collect::<Vec<_>>();
    let runs = if runs.is_empty() {
        HashMap::new()
    } else {
        workflow::find_runs(context, runs)?
    };
    let (now, trace) = (context.now(), traces::current());
    let mut rows = Vec::new();
    for RecordEvent {
        event,
        kind,
        record_id,
        property_id,
    } in events.iter().copied()
    {
        let run = if event == Event::WorkflowStep {
            runs.get(&record_id)
        } else {
            None
        };
        let step = run.and_then(WorkflowStepRun::step);
        // The event of a workflow step's run gets the time at which the run occurred. Every other
        // event gets the time at which the service received the change.
        let occurred_at = run.map_or(Moment(now), |run| run.occurred_at);
        let reported = ReportedEvent {
            event: event.as_ref().into(),
            subject: Some(Subject {
                kind: kind.as_ref().into(),
                record_id,
            }),
        };
        let doc =
            store::Value::json(&Delivery::new(reported, occurred_at).with_trace(trace.clone()))?;
        for (subscription, filters) in subscribers.get(event.as_ref()).into_iter().flatten() {
            if filters.matches(property_id, step.as_deref()) {
                rows.push(values![context.new_id(), *subscription, now, doc.clone()]);
            }
        }
        if rows.len() >= BATCH {
            insert(context, std::mem::take(&mut rows))?;
        }
    }
    insert(context, rows)
}

fn insert(context: &mut Context<'_, '_>, rows: Vec<[store::Value; 4]>) -> Result<()> {
    if !rows.is_empty() {
        context.execute_many(&INSERT_DELIVERY, rows)?;
        wake_dispatcher(context)?;
    }
    Ok(())
}

/// Wakes the dispatcher of this node, and records that the organization has a due delivery, so that
/// the dispatchers of all nodes find it.
pub(super) fn wake_dispatcher(context: &mut Context<'_, '_>) -> Result<()> {
    context.wake(DELIVERIES);
    delivery::note_due_now(context)
}

/// Writes a delivery to the outbox, due at once, and returns its id. The calling function has
/// locked the row of the subscription.
pub(super) fn insert_delivery(
    context: &mut Context<'_, '_>,
    subscription: Uuid,
    doc: store::Value,
) -> Result<Uuid> {
    let (id, now) = (context.new_id(), context.now());
    insert(context, vec![values![id, subscription, now, doc]])?;
    Ok(id)
}
