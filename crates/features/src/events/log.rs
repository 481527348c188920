//! Operations on the log of a subscription's deliveries: `listWebhookDeliveries`,
//! `redeliverWebhook`, `redeliverFailedWebhooks` and `pingWebhookSubscription`.

use delivery::{Attempt, Delivery, PING, ReportedEvent, Status};
use engine::audit::Audits;
use engine::context::Context;
use engine::error::{Error, Reason, Result};
use engine::moment::Moment;
use engine::operation::{Listing, Needs, Operation, OperationName, Page, PageLimits};
use engine::values;
use http::Method;
use jiff::Timestamp;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::{Json, Row};
use strum::VariantArray;
use uuid::Uuid;

use super::Event;
use super::owned::{lock_subscription, require_subscription};
use super::subscriptions::subscription_disabled;
use super::{audited, outbox};

/// Lists the deliveries of a subscription, the newest first.
pub const LIST_WEBHOOK_DELIVERIES: OperationName<Vec<WebhookDelivery>> =
    OperationName::new("listWebhookDeliveries");

/// Maximum number of deliveries that one request sends again, so that the request does not lock its
/// organization for long.
const MAX_REDELIVERED: usize = 1_000;
/// Maximum number of pings in the log of a subscription. A new ping deletes the pings that exceed
/// this number.
const MAX_PINGS: i64 = 100;

store::statements! {
    /// Selects a page of a subscription's deliveries. The inner query selects the ids of the page
    /// from the index alone, so that the database does not read the rows before the page.
    PAGE = "select d.id, d.status, d.next_attempt_at, d.created_at, d.doc from
        (select id from webhook_delivery where organization_id = ?1 and subscription_id = ?2
            order by created_at desc, id desc limit ?3 offset ?4) as page
        join webhook_delivery d on d.organization_id = ?1 and d.id = page.id
        order by d.created_at desc, d.id desc";
    /// Counts the deliveries in a subscription's log.
    COUNT = "select count(*) from webhook_delivery where organization_id = ?1
        and subscription_id = ?2";
    /// Selects one delivery of a subscription.
    ONE = "select id, status, next_attempt_at, created_at, doc from webhook_delivery
        where organization_id = ?1 and subscription_id = ?2 and id = ?3";
    /// Selects the failed deliveries of a subscription, except pings. Begins after the delivery
    /// with the creation time `?3` and the id `?4`.
    FAILED = "select id, created_at, doc from webhook_delivery
        where organization_id = ?1 and subscription_id = ?2 and status = 'failed'
        and is_ping = false and (created_at, id) > (?3, ?4)
        order by created_at, id limit ?5";
    /// Selects the deliveries, except pings, that were discarded because they were still pending
    /// when their subscription was disabled. Begins after the delivery with the creation time `?3`
    /// and the id `?4`.
    ENDED_BY_DISABLING = "select id, created_at, doc from webhook_delivery
        where organization_id = ?1 and subscription_id = ?2 and ended_by_disabling = true
        and status = 'discarded' and is_ping = false
        and (created_at, id) > (?3, ?4) order by created_at, id limit ?5";
    /// Puts a finished delivery back into the outbox of a subscription, due at once.
    REQUEUE = "update webhook_delivery set status = 'pending', next_attempt_at = ?3,
        leased_until = null, doc = ?4, subscription_id = ?5,
        ended_by_disabling = false where organization_id = ?1 and id = ?2 and status <> 'pending'";
    /// Marks a delivery of a ping, so that the other statements recognize it.
    IS_PING = "update webhook_delivery set is_ping = true where organization_id = ?1 and id = ?2";
    /// Keeps the newest `?3` pings of a subscription and deletes older pings. One execution deletes
    /// at most `?3` pings, and skips pings that another transaction has locked.
    DROP_PINGS = "with surplus as (select id from webhook_delivery where organization_id = ?1
        and subscription_id = ?2
            and is_ping = true order by created_at desc, id desc limit ?3 offset ?3
            for update skip locked)
        delete from webhook_delivery indexed by sqlite_autoindex_webhook_delivery_1
        where organization_id = ?1 and id in (select id from surplus)";
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OfSubscription {
    /// Id of a webhook subscription of this credential.
    id: Uuid,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OneDelivery {
    /// Id of the delivery's subscription.
    id: Uuid,
    /// Id of the delivery to send again, as `listWebhookDeliveries` gives it; its `webhook-id`
    /// stays the same. A pending delivery is a 409.
    delivery_id: Uuid,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(example = json!({ "since": "2026-11-21T08:00:00.000Z" }))]
struct RedeliverFailed {
    /// Id of the subscription whose failed deliveries are sent again.
    id: Uuid,
    /// Earliest creation time of the failed deliveries to send again. Older deliveries are not
    /// sent.
    since: Moment,
    /// Id of another active subscription of the same credential and event, to which the deliveries
    /// are sent instead. They keep their ids and move to its log. Deliveries that were pending when
    /// the subscription `id` was disabled are sent as well.
    #[serde(default)]
    to_subscription_id: Option<Uuid>,
}

/// A delivery in the log of a subscription.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(example = example())]
pub struct WebhookDelivery {
    /// Id of the delivery, the same in every attempt: `id` in the body and the header `webhook-id`.
    pub id: Uuid,
    #[schemars(schema_with = "event_name")]
    pub event: String,
    /// Kind of the record that the event is about, such as `reservation`; null for a ping.
    record_type: Option<String>,
    /// Id of the record that the event is about; null for a ping.
    record_id: Option<Uuid>,
    pub status: Status,
    /// The attempts so far, oldest first.
    pub attempts: Vec<Attempt>,
    /// Time of the next attempt, while the delivery is pending.
    pub next_attempt_at: Option<Moment>,
    pub created_at: Moment,
}

/// Number of deliveries sent again.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(example = json!({ "redelivered": 1 }))]
struct Redelivered {
    redelivered: usize,
}

/// Returns the schema of a delivery's event: an event's name, or `ping`.
fn event_name(_: &mut SchemaGenerator) -> Schema {
    let names: Vec<_> = Event::VARIANTS
        .iter()
        .map(Event::as_ref)
        .chain([PING])
        .collect();
    json_schema!({ "type": "string", "enum": names })
}

impl WebhookDelivery {
    /// Reads a delivery from the columns of [`PAGE`].
    fn from_row(row: &Row) -> Result<Self> {
        let status: String = row.get(1)?;
        let Json(delivery): Json<Delivery> = row.get(4)?;
        let (record_type, record_id) = delivery
            .reported
            .subject
            .map(|subject| (subject.kind, subject.record_id))
            .unzip();
        Ok(Self {
            id: row.get(0)?,
            event: delivery.reported.event,
            record_type,
            record_id,
            status: status.parse().map_err(|_| {
                Error::internal(format!("a delivery has the unknown status {status}"))
            })?,
            attempts: delivery.attempts,
            next_attempt_at: row.get::<Option<_>>(2)?.map(Moment),
            created_at: Moment(row.get(3)?),
        })
    }
}

fn example() -> Value {
    json!({
        "id": "0192f0c1-2345-7abc-8def-0123456789ad",
        "event": "reservation.created",
        "recordType": "reservation",
        "recordId": "0192f0c1-0000-7000-8000-000000000005",
        "status": "pending",
        "attempts": [
            {
                "attemptedAt": "2026-11-21T09:30:00.000Z",
                "statusCode": 503,
                "error": null,
                "durationMs": 12,
            },
        ],
        "nextAttemptAt": "2026-11-21T09:30:21.000Z",
        "createdAt": "2026-11-21T09:30:00.000Z",
    })
}

pub(super) fn operations() -> Vec<Operation> {
    let declare =
        |id, method, path| Operation::public(id, method, path, Needs::Credential).rest_only();
    vec![
        declare(
            LIST_WEBHOOK_DELIVERIES.id(),
            Method::GET,
            "/webhook-subscriptions/{id}/deliveries",
        )
        .summary("List what was sent for a subscription, the newest first, with every attempt")
        .may_lag()
        .pages_as(
            LIST_WEBHOOK_DELIVERIES,
            PageLimits {
                default: 50,
                max: 100,
            },
            list,
        ),
        declare(
            "redeliverWebhook",
            Method::POST,
            "/webhook-subscriptions/{id}/deliveries/{deliveryId}/redeliver",
        )
        .summary("Send a delivery that is over again, under the same id")
        .audited(Audits::acts_on(audited::subscription_target).recording(&["deliveryId"]))
        .run(redeliver),
        declare(
            "redeliverFailedWebhooks",
            Method::POST,
            "/webhook-subscriptions/{id}/redeliver-failed",
        )
        .summary(
            "Send the deliveries made since a moment that failed again, the oldest 1,000 of them",
        )
        .audited(Audits::acts_on(audited::subscription_target).recording(&[
            "since",
            "toSubscriptionId",
            "redelivered",
        ]))
        .run(redeliver_failed),
        declare(
            "pingWebhookSubscription",
            Method::POST,
            "/webhook-subscriptions/{id}/ping",
        )
        .summary(
            "Send the event ping to a subscription's target, once; what comes of it is in the log \
                and counts as nothing",
        )
        .audited(Audits::acts_on(audited::subscription_target))
        .run(ping),
    ]
}

fn list(
    context: &mut Context<'_, '_>,
    input: OfSubscription,
    page: Page,
) -> Result<Listing<WebhookDelivery>> {
    require_subscription(context, input.id)?;
    let total = context
        .row(&COUNT, values![input.id])?
        .map_or(Ok(0), |row| row.get(0))?;
    let rows = context.rows(&PAGE, values![input.id, page.limit, page.offset])?;
    Ok(Listing {
        items: rows
            .iter()
            .map(WebhookDelivery::from_row)
            .collect::<Result<_>>()?,
        total,
    })
}

fn redeliver(context: &mut Context<'_, '_>, input: OneDelivery) -> Result<WebhookDelivery> {
    let is_active = lock_subscription(context, input.id)?;
    let not_found = || Error::not_found("Webhook delivery");
    let row = context
        .row(&ONE, values![input.id, input.delivery_id])?
        .ok_or_else(not_found)?;
    if !is_active {
        return Err(subscription_disabled());
    }
    let view = WebhookDelivery::from_row(&row)?;
    if view.status == Status::Pending {
        return Err(Error::conflict(Reason::rule(
            "delivery_pending",
            "The webhook delivery is still pending; it will be sent anyway.",
        )));
    }
    let Json(mut delivery): Json<Delivery> = row.get(4)?;
    if !requeue(context, input.id, view.id, &mut delivery)? {
        // The sweep may have deleted the delivery after the query above found it.
        return Err(not_found());
    }
    let next_attempt_at = Some(Moment(context.now()));
    Ok(WebhookDelivery {
        status: Status::Pending,
        attempts: delivery.attempts,
        next_attempt_at,
        ..view
    })
}

fn redeliver_failed(context: &mut Context<'_, '_>, input: RedeliverFailed) -> Result<Redelivered> {
    let receiver = input.to_subscription_id.unwrap_or(input.id);
    if receiver != input.id {
        require_same_event(context, input.id, receiver)?;
    }
    if !lock_subscription(context, receiver)? {
        return Err(subscription_disabled());
    }
    let statements: &[_] = if receiver == input.id {
        &[&FAILED]
    } else {
        &[&FAILED, &ENDED_BY_DISABLING]
    };
    let mut redelivered = 0;
    for statement in statements.iter().copied() {
        redelivered += send_again(
            context,
            statement,
            &input,
            receiver,
            MAX_REDELIVERED - redelivered,
        )?;
    }
    Ok(Redelivered { redelivered })
}

/// Fails unless the caller's credential created both subscriptions, and both subscribe to the same
/// event.
fn require_same_event(context: &mut Context<'_, '_>, one: Uuid, other: Uuid) -> Result<()> {
    let mut event = |id| {
        require_subscription(context, id)?
            .get::<String>(1)
            .map_err(Error::from)
    };
    if event(one)? == event(other)? {
        return Ok(());
    }
    Err(Error::conflict(Reason::rule(
        "webhook_event_differs",
        "toSubscriptionId must be a subscription to the same event.",
    )))
}

/// Sends up to `max` deliveries again. `statement` selects the deliveries of the subscription in
/// the input, and the subscription `receiver` gets them. Returns the number of deliveries.
fn send_again(
    context: &mut Context<'_, '_>,
    statement: &'static store::Statement,
    input: &RedeliverFailed,
    receiver: Uuid,
    max: usize,
) -> Result<usize> {
    // An earlier `since` becomes the Unix epoch, because the databases differ in the earliest
    // timestamp that they accept. No delivery is older than the epoch.
    let mut position = (input.since.0.max(Timestamp::UNIX_EPOCH), Uuid::nil());
    let mut redelivered = 0;
    while redelivered < max {
        let limit = i64::try_from(max - redelivered).unwrap_or(i64::MAX);
        let rows = context.rows(statement, values![input.id, position.0, position.1, limit])?;
        let Some(last) = rows.last() else { break };
        position = (last.get(1)?, last.get(0)?);
        for row in &rows {
            let Json(mut delivery): Json<Delivery> = row.get(2)?;
            // `statement` selects no row whose column `is_ping` is true. In some old rows of pings
            // this column is false, so the loop skips these pings here.
            let is_event = !delivery.reported.is_ping();
            if is_event && requeue(context, receiver, row.get(0)?, &mut delivery)? {
                redelivered += 1;
            }
        }
    }
    Ok(redelivered)
}

/// Puts a finished delivery back into the outbox of the subscription `receiver`. The delivery gets
/// as many attempts as a new delivery. Returns whether the delivery still exists.
fn requeue(
    context: &mut Context<'_, '_>,
    receiver: Uuid,
    id: Uuid,
    delivery: &mut Delivery,
) -> Result<bool> {
    delivery.restart();
    let (now, doc) = (context.now(), store::Value::json(&*delivery)?);
    let exists = context.execute(&REQUEUE, values![id, now, doc, receiver])? > 0;
    if exists {
        outbox::wake_dispatcher(context)?;
    }
    Ok(exists)
}

fn ping(context: &mut Context<'_, '_>, input: OfSubscription) -> Result<WebhookDelivery> {
    if !lock_subscription(context, input.id)? {
        return Err(subscription_disabled());
    }
    let now = Moment(context.now());
    let delivery = Delivery::new(ReportedEvent::ping(), now);
    let id = outbox::insert_delivery(context, input.id, store::Value::json(&delivery)?)?;
    context.execute_deferred(&IS_PING, values![id])?;
    context.execute_deferred(&DROP_PINGS, values![input.id, MAX_PINGS])?;
    Ok(WebhookDelivery {
        id,
        event: delivery.reported.event,
        record_type: None,
        record_id: None,
        status: Status::Pending,
        attempts: delivery.attempts,
        next_attempt_at: Some(now),
        created_at: now,
    })
}
