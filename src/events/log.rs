//! listWebhookDeliveries, redeliverWebhook, redeliverFailedWebhooks, pingWebhookSubscription: what was sent, and having it
//! sent again.

use delivery::{Attempt, Delivery, PING, Status, Told};
use engine::audit::Audits;
use engine::context::Context;
use engine::error::{Error, Reason, Result};
use engine::moment::Moment;
use engine::operation::{Listing, Needs, Operation, Page, PageLimits};
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
use super::reached::{hold, require};
use super::subscriptions::disabled;
use super::{audited, outbox};

/// Deliveries that one request has sent again at the most, so that it does not hold its organization for long.
const MOST_REDELIVERED: usize = 1_000;
/// Pings that a log holds. They count as nothing, so nothing is lost with one, and nobody makes a log grow by them.
const MOST_PINGS: i64 = 100;

store::statements! {
    /// A page of the deliveries of a subscription. Which they are is told by the index alone: what comes before the page is
    /// passed over without being looked at.
    PAGE = "select d.id, d.status, d.next_attempt_at, d.created_at, d.doc from
        (select id from webhook_delivery where organization_id = ?1 and subscription_id = ?2
            order by created_at desc, id desc limit ?3 offset ?4) as page
        join webhook_delivery d on d.organization_id = ?1 and d.id = page.id order by d.created_at desc, d.id desc";
    /// How many deliveries of a subscription the log has.
    COUNT = "select count(*) from webhook_delivery where organization_id = ?1 and subscription_id = ?2";
    /// A delivery of a subscription.
    ONE = "select id, status, next_attempt_at, created_at, doc from webhook_delivery
        where organization_id = ?1 and subscription_id = ?2 and id = ?3";
    /// Deliveries of a subscription that failed, behind a place.
    FAILED = "select id, created_at, doc from webhook_delivery
        where organization_id = ?1 and subscription_id = ?2 and status = 'failed' and is_ping = false and (created_at, id) > (?3, ?4)
        order by created_at, id limit ?5";
    /// Puts a delivery that was over back into the outbox, due at once.
    REQUEUE = "update webhook_delivery set status = 'pending', next_attempt_at = ?3, leased_until = null, doc = ?4
        where organization_id = ?1 and id = ?2 and status <> 'pending'";
    /// Notes that a delivery is a ping.
    IS_PING = "update webhook_delivery set is_ping = true where organization_id = ?1 and id = ?2";
    /// Takes the pings of a subscription out of its log but for so many, the latest ones; at most as many at once. Those that
    /// somebody is at stay for now.
    DROP_PINGS = "with surplus as (select id from webhook_delivery where organization_id = ?1 and subscription_id = ?2
            and is_ping = true order by created_at desc, id desc limit ?3 offset ?3 for update skip locked)
        delete from webhook_delivery indexed by sqlite_autoindex_webhook_delivery_1
        where organization_id = ?1 and id in (select id from surplus)";
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OfSubscription {
    /// Id of the webhook subscription, one of the credential's own.
    id: Uuid,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OneDelivery {
    /// Id of the subscription that the delivery is of.
    id: Uuid,
    /// Id of the delivery to send again, as `listWebhookDeliveries` gives it; its `webhook-id` stays the same. One that is pending is a
    /// 409.
    delivery_id: Uuid,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(example = json!({ "since": "2026-11-21T08:00:00.000Z" }))]
struct RedeliverFailed {
    /// Id of the subscription whose failed deliveries are sent again.
    id: Uuid,
    /// Moment from which on failed deliveries are sent again, by when they were made; older ones are left alone.
    since: Moment,
}

/// A delivery as it is answered.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(example = example())]
struct WebhookDelivery {
    /// The `id` of the body, and `webhook-id`: the same however often it is sent.
    id: Uuid,
    #[schemars(schema_with = "told_name")]
    event: String,
    status: Status,
    /// What was tried so far, oldest first.
    attempts: Vec<Attempt>,
    /// When it is tried next, while it is pending.
    next_attempt_at: Option<Moment>,
    created_at: Moment,
}

/// How many deliveries are sent again.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(example = json!({ "redelivered": 1 }))]
struct Redelivered {
    redelivered: usize,
}

/// What deliveries can be of: the events, and a ping.
fn told_name(_: &mut SchemaGenerator) -> Schema {
    let names: Vec<_> = Event::VARIANTS.iter().map(Event::as_ref).chain([PING]).collect();
    json_schema!({ "type": "string", "enum": names })
}

impl WebhookDelivery {
    /// From the columns of [`PAGE`].
    fn from_row(row: &Row) -> Result<Self> {
        let status: String = row.get(1)?;
        let Json(delivery): Json<Delivery> = row.get(4)?;
        Ok(Self {
            id: row.get(0)?,
            event: delivery.told.event,
            status: status.parse().map_err(|_| Error::internal(format!("a delivery is {status}, which is no status")))?,
            attempts: delivery.attempts,
            next_attempt_at: row.get::<Option<_>>(2)?.map(Moment),
            created_at: Moment(row.get(3)?),
        })
    }
}

fn example() -> Value {
    json!({
        "id": "0192f0c1-2345-7abc-8def-0123456789ad", "event": "reservation.created", "status": "pending",
        "attempts": [{ "attemptedAt": "2026-11-21T09:30:00.000Z", "statusCode": 503, "error": null, "durationMs": 12 }],
        "nextAttemptAt": "2026-11-21T09:30:21.000Z", "createdAt": "2026-11-21T09:30:00.000Z"
    })
}

pub(super) fn operations() -> Vec<Operation> {
    let declare = |id, method, path| Operation::public(id, method, path, Needs::Credential).rest_only();
    vec![
        declare("listWebhookDeliveries", Method::GET, "/webhook-subscriptions/{id}/deliveries")
            .summary("List what was sent for a subscription, the newest first, with every attempt")
            .may_lag()
            .pages(PageLimits { default: 50, max: 100 }, list),
        declare("redeliverWebhook", Method::POST, "/webhook-subscriptions/{id}/deliveries/{deliveryId}/redeliver")
            .summary("Send a delivery that is over again, under the same id")
            .audited(Audits::does(audited::named).telling(&["deliveryId"]))
            .run(redeliver),
        declare("redeliverFailedWebhooks", Method::POST, "/webhook-subscriptions/{id}/redeliver-failed")
            .summary("Send the deliveries made since a moment that failed again, the oldest 1,000 of them")
            .audited(Audits::does(audited::named).telling(&["since", "redelivered"]))
            .run(redeliver_failed),
        declare("pingWebhookSubscription", Method::POST, "/webhook-subscriptions/{id}/ping")
            .summary("Send the event ping to a subscription's target, once; what comes of it is in the log and counts as nothing")
            .audited(Audits::does(audited::named))
            .run(ping),
    ]
}

fn list(context: &mut Context<'_, '_>, input: OfSubscription, page: Page) -> Result<Listing<WebhookDelivery>> {
    require(context, input.id)?;
    let total = context.row(&COUNT, values![input.id])?.map_or(Ok(0), |row| row.get(0))?;
    let rows = context.rows(&PAGE, values![input.id, page.limit, page.offset])?;
    Ok(Listing { items: rows.iter().map(WebhookDelivery::from_row).collect::<Result<_>>()?, total })
}

fn redeliver(context: &mut Context<'_, '_>, input: OneDelivery) -> Result<WebhookDelivery> {
    let is_active = hold(context, input.id)?;
    let not_found = || Error::not_found("Webhook delivery");
    let row = context.row(&ONE, values![input.id, input.delivery_id])?.ok_or_else(not_found)?;
    if !is_active {
        return Err(disabled());
    }
    let view = WebhookDelivery::from_row(&row)?;
    if view.status == Status::Pending {
        return Err(Error::conflict(Reason::rule("delivery_pending", "The webhook delivery is pending: it will be sent as it is.")));
    }
    let Json(mut delivery): Json<Delivery> = row.get(4)?;
    if !requeue(context, view.id, &mut delivery)? {
        // It was swept in between.
        return Err(not_found());
    }
    let next_attempt_at = Some(Moment(context.now()));
    Ok(WebhookDelivery { status: Status::Pending, attempts: delivery.attempts, next_attempt_at, ..view })
}

fn redeliver_failed(context: &mut Context<'_, '_>, input: RedeliverFailed) -> Result<Redelivered> {
    if !hold(context, input.id)? {
        return Err(disabled());
    }
    // Before that there was nothing, and how far back a moment can lie differs between the databases.
    let mut place = (input.since.0.max(Timestamp::UNIX_EPOCH), Uuid::nil());
    let mut redelivered = 0;
    while redelivered < MOST_REDELIVERED {
        let limit = i64::try_from(MOST_REDELIVERED - redelivered).unwrap_or(i64::MAX);
        let rows = context.rows(&FAILED, values![input.id, place.0, place.1, limit])?;
        let Some(last) = rows.last() else { break };
        place = (last.get(1)?, last.get(0)?);
        for row in &rows {
            let Json(mut delivery): Json<Delivery> = row.get(2)?;
            // A ping of before they were told apart tells nobody anything.
            let is_event = !delivery.told.is_ping();
            if is_event && requeue(context, row.get(0)?, &mut delivery)? {
                redelivered += 1;
            }
        }
    }
    Ok(Redelivered { redelivered })
}

/// Puts a delivery that is over back into the outbox, with as many attempts as a new one has; whether it is still there.
fn requeue(context: &mut Context<'_, '_>, id: Uuid, delivery: &mut Delivery) -> Result<bool> {
    delivery.begin_anew();
    let (now, doc) = (context.now(), store::Value::json(&*delivery)?);
    let is_there = context.execute(&REQUEUE, values![id, now, doc])? > 0;
    if is_there {
        outbox::call(context)?;
    }
    Ok(is_there)
}

fn ping(context: &mut Context<'_, '_>, input: OfSubscription) -> Result<WebhookDelivery> {
    if !hold(context, input.id)? {
        return Err(disabled());
    }
    let now = Moment(context.now());
    let delivery = Delivery::new(Told::ping(), now);
    let id = outbox::put(context, input.id, store::Value::json(&delivery)?)?;
    context.execute_along(&IS_PING, values![id])?;
    context.execute_along(&DROP_PINGS, values![input.id, MOST_PINGS])?;
    Ok(WebhookDelivery {
        id,
        event: delivery.told.event,
        status: Status::Pending,
        attempts: delivery.attempts,
        next_attempt_at: Some(now),
        created_at: now,
    })
}
