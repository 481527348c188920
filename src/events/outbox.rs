//! Turns an event into deliveries, in the transaction of the change that caused the event.

use std::collections::{BTreeSet, HashMap};

use delivery::{Delivery, NOTE_DUE, ReportedEvent, Subject};
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

/// Number of deliveries that are collected before they are written. It bounds the memory for an
/// event with many subscriptions.
const BATCH: usize = 2_000;

store::statements! {
    /// The active subscriptions to some events. Their rows are locked. Otherwise a receiver's 410
    /// could delete a subscription before its delivery is inserted. That insert would fail, and
    /// with it the change that caused the event.
    SUBSCRIBERS = "select id, doc, event from webhook_subscription
        where organization_id = ?1 and event = any(?2) and disabled_at is null order by created_at, id for key share";
    /// Inserts a delivery, due at once.
    INSERT_DELIVERY = "insert into webhook_delivery (organization_id, id, subscription_id, status, next_attempt_at, created_at, doc)
        values (?1, ?2, ?3, 'pending', ?4, ?4, ?5)";
}

/// An event of a record.
#[derive(Debug, Clone, Copy)]
pub struct RecordEvent {
    pub event: Event,
    pub kind: RecordKind,
    pub record_id: Uuid,
    pub property_id: Option<Uuid>,
}

/// Writes events to the outbox, in their order: one delivery for each subscription that wants the
/// event.
///
/// A delivery contains no data. When it is sent, the data that the receiver may see is read.
pub fn enqueue(context: &mut Context<'_, '_>, happenings: &[RecordEvent]) -> Result<()> {
    let events: BTreeSet<Event> = happenings.iter().map(|happening| happening.event).collect();
    if events.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = events
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
    let is_run = |happening: &&RecordEvent| happening.event == Event::WorkflowStep;
    let runs = happenings
        .iter()
        .filter(is_run)
        .map(|happening| happening.record_id)
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
    } in happenings.iter().copied()
    {
        let run = if event == Event::WorkflowStep {
            runs.get(&record_id)
        } else {
            None
        };
        let step = run.and_then(WorkflowStepRun::step);
        // A workflow step run carries the time at which it happened. Any other event has the time
        // at which the change became known.
        let occurred_at = run.map_or(Moment(now), |run| run.occurred_at);
        let reported = ReportedEvent {
            event: event.as_ref().into(),
            subject: Some(Subject {
                kind: kind.as_ref().into(),
                record_id,
            }),
        };
        let doc = store::Value::json(&Delivery::new(reported, occurred_at).traced(trace.clone()))?;
        for (subscription, filters) in subscribers.get(event.as_ref()).into_iter().flatten() {
            if filters.admit(property_id, step.as_deref()) {
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
        call(context)?;
    }
    Ok(())
}

/// Wakes the dispatcher of this node. On a distributed database it also notes for all nodes that
/// this organization has due deliveries.
pub(super) fn call(context: &mut Context<'_, '_>) -> Result<()> {
    context.wake(DELIVERIES);
    if context.is_sharded() {
        context.execute_deferred(NOTE_DUE, values![context.now()])?;
    }
    Ok(())
}

/// Writes a delivery to the outbox, due at once, and returns its id. The row of the subscription is
/// locked already.
pub(super) fn put(
    context: &mut Context<'_, '_>,
    subscription: Uuid,
    doc: store::Value,
) -> Result<Uuid> {
    let (id, now) = (context.new_id(), context.now());
    insert(context, vec![values![id, subscription, now, doc]])?;
    Ok(id)
}
