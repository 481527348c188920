//! From an event to its deliveries, in the transaction that caused it.

use store::Json;
use uuid::Uuid;

use super::delivery::{Delivery, Told};
use super::subscriptions::Stored;
use super::workflow::{self, StepRun};
use crate::context::Context;
use crate::error::Result;
use crate::events::Event;
use crate::moment::Moment;
use crate::platform::Kind;
use crate::values;

store::statements! {
    /// The active subscriptions to an event. They are held: one that its receiver's 410 deleted meanwhile could not have a
    /// delivery, and whatever fires the event would fail.
    SUBSCRIBERS = "select id, doc from webhook_subscription
        where organization_id = ?1 and event = ?2 and disabled_at is null order by created_at, id for key share";
    /// A new delivery, due at once.
    INSERT_DELIVERY = "insert into webhook_delivery (organization_id, id, subscription_id, status, next_attempt_at, created_at, doc)
        values (?1, ?2, ?3, 'pending', ?4, ?4, ?5)";
}

/// Puts an event into the outbox: one delivery for each subscription that wants it.
///
/// What the receiver may see of it is decided when it is sent.
pub fn enqueue(context: &mut Context<'_, '_>, event: Event, kind: Kind, record_id: Uuid, property_id: Option<Uuid>) -> Result<()> {
    let subscribers = context.rows(&SUBSCRIBERS, values![event.name()])?;
    if subscribers.is_empty() {
        return Ok(());
    }
    let run = if event == Event::WorkflowStep { workflow::find_run(context, record_id)? } else { None };
    let step = run.as_ref().and_then(StepRun::step);
    let now = context.now();
    // A run says when it took place; everything else takes place when it becomes known.
    let occurred_at = run.map_or(Moment(now), |run| run.occurred_at);
    let doc = store::Value::json(&Delivery::new(Told::Event { event, kind, record_id }, occurred_at))?;
    for row in subscribers {
        let Json(Stored { filters, .. }) = row.get(1)?;
        if filters.admit(property_id, step.as_deref()) {
            put(context, row.get(0)?, doc.clone())?;
        }
    }
    Ok(())
}

/// Puts a delivery into the outbox, due at once; its id. The subscription is held.
pub(super) fn put(context: &mut Context<'_, '_>, subscription: Uuid, doc: store::Value) -> Result<Uuid> {
    let (id, now) = (context.new_id(), context.now());
    context.execute(&INSERT_DELIVERY, values![id, subscription, now, doc])?;
    context.wake_dispatcher();
    Ok(id)
}
