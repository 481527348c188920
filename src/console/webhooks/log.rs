//! The page of a subscription: its deliveries with their attempts, and the buttons to send them
//! again.

use askama::Template;
use axum::response::Response;
use delivery::{Attempt, Status};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::super::frame::{CompletedAction, ConsoleFrame};
use super::super::paging::{Paging, ROWS};
use super::super::refusal::{ConsoleRefusal, FormAttempt};
use super::super::reply;
use super::super::screens::ScreenAnswer;
use super::super::visit::ConsoleRequest;
use super::super::when::{self, When};
use super::super::words::{delivery_status, disabled_reason};
use super::make::CREATE;
use super::{SCREEN, flats_of, named, path_of, state_label};
use crate::events::{LIST_WEBHOOK_DELIVERIES, WebhookDelivery, WebhookSubscription};
use crate::words::fill;

/// Maximum number of attempts shown of a delivery, which are the latest ones.
const MAX_ATTEMPTS: usize = 8;

struct DeliveryRow {
    event: String,
    id: String,
    made: When,
    status: (&'static str, &'static str),
    attempts: String,
    /// Time and result of each attempt.
    tries: Vec<(When, String)>,
    next: Option<When>,
    /// Address that sends the delivery again. `None` while it is pending or the subscription is
    /// disabled.
    again: Option<String>,
}

#[derive(Template)]
#[template(path = "console/webhook.html")]
struct DeliveryLogPage<'v> {
    frame: ConsoleFrame<'v>,
    one: WebhookSubscription,
    state: (&'static str, &'static str),
    /// The reason and the time of the deactivation, and a link to create a similar subscription.
    /// `None` if the subscription is active.
    off: Option<DisabledNotice>,
    /// The names of the flats that the subscription is limited to. `None` if it covers all flats.
    flats: Option<String>,
    last: Option<When>,
    made: When,
    path: String,
    key: String,
    rows: Vec<DeliveryRow>,
    paging: Paging,
    /// The typed time since which failed deliveries are sent again.
    since: String,
    messages: Vec<String>,
    is_kept: bool,
}

struct DisabledNotice {
    reason: &'static str,
    about: String,
    way: Option<String>,
}

impl DisabledNotice {
    fn of(visit: &ConsoleRequest, one: &WebhookSubscription) -> Option<Self> {
        let words = &visit.words.webhooks;
        let at = when::of(visit, one.disabled_at?).text;
        let like_it = [
            ("event", <&str>::from(one.event)),
            ("targetUrl", one.target_url.as_str()),
        ];
        Some(Self {
            reason: one
                .disabled_reason
                .map(|reason| disabled_reason(words, reason))
                .unwrap_or_default(),
            about: fill(words.off, &[("at", &at)]),
            way: visit
                .may_send(CREATE, &json!({ "event": one.event }))
                .then(|| visit.address_with("/webhooks/new", &like_it)),
        })
    }
}

fn row(
    visit: &ConsoleRequest,
    path: &str,
    is_off: bool,
    delivery: &WebhookDelivery,
) -> DeliveryRow {
    let words = &visit.words.webhooks;
    let attempt = |attempt: &Attempt| {
        let outcome = match (attempt.status_code, &attempt.error) {
            (Some(status), _) => fill(words.answered, &[("status", &status.to_string())]),
            (None, error) => error.clone().unwrap_or_default(),
        };
        (
            when::of(visit, attempt.attempted_at),
            format!("{outcome} · {} ms", attempt.duration_ms),
        )
    };
    DeliveryRow {
        made: when::of(visit, delivery.created_at),
        status: delivery_status(words, delivery.status),
        attempts: fill(
            words.attempts,
            &[("count", &delivery.attempts.len().to_string())],
        ),
        tries: delivery
            .attempts
            .iter()
            .rev()
            .take(MAX_ATTEMPTS)
            .rev()
            .map(attempt)
            .collect(),
        next: when::of_any(visit, delivery.next_attempt_at),
        again: (delivery.status != Status::Pending && !is_off)
            .then(|| visit.address(&format!("{path}/deliveries/{}", delivery.id))),
        event: delivery.event.clone(),
        id: delivery.id.to_string(),
    }
}

async fn page(
    visit: &ConsoleRequest,
    refused: Option<ConsoleRefusal>,
) -> Result<Response, ConsoleRefusal> {
    let words = &visit.words.webhooks;
    let one = named(visit).await?;
    let path = path_of(&one);
    let arguments = json!({ "id": one.id, "limit": ROWS, "offset": Paging::offset(visit) });
    let answer = visit.read_page(LIST_WEBHOOK_DELIVERIES, arguments).await?;
    let FormAttempt {
        status,
        of: messages,
        is_kept,
    } = FormAttempt::of(visit, refused.as_ref());
    let page = DeliveryLogPage {
        frame: ConsoleFrame::new(visit, one.target_url.clone()).below(
            visit,
            words.webhooks,
            SCREEN.path,
        ),
        state: state_label(visit, &one),
        off: DisabledNotice::of(visit, &one),
        flats: flats_of(visit, &one).await?,
        last: when::of_any(visit, one.last_delivered_at),
        made: when::of(visit, one.created_at),
        key: visit.new_key(),
        paging: Paging::of(visit, &path, answer.total.unwrap_or(answer.data.len())),
        rows: answer
            .data
            .iter()
            .map(|delivery| row(visit, &path, one.disabled_at.is_some(), delivery))
            .collect(),
        path: visit.address(&path),
        since: visit.sent("since").map_or_else(
            || when::to_type(yesterday(visit), &TimeZone::UTC),
            str::to_owned,
        ),
        messages,
        is_kept,
        one,
    };
    Ok(reply::of(visit, status, &page))
}

pub(super) fn show(visit: &ConsoleRequest) -> ScreenAnswer<'_> {
    Box::pin(page(visit, None))
}

/// Calls an operation on the subscription and redirects to its page.
async fn act(
    visit: &ConsoleRequest,
    operation: &str,
    arguments: Value,
    done: fn(&Value) -> CompletedAction,
) -> Result<Response, ConsoleRefusal> {
    let path = format!("/webhooks/{}", visit.named("id")?);
    if visit.may_write() {
        return match visit
            .create::<Value>(operation, arguments, &visit.key(operation))
            .await
        {
            Ok(answer) => Ok(reply::done(visit, &path, done(&answer))),
            // Shows a refusal that the member can react to, for example because the subscription
            // was disabled in the meantime.
            Err(refusal) if matches!(refusal.status, 400 | 409) => page(visit, Some(refusal)).await,
            Err(refusal) => Err(refusal),
        };
    }
    // The session ended before the button was pressed. Nothing is sent, and the member must press
    // the button again.
    Ok(reply::to(visit, &path))
}

pub(super) fn ping(visit: &ConsoleRequest) -> ScreenAnswer<'_> {
    Box::pin(async move {
        act(
            visit,
            "pingWebhookSubscription",
            json!({ "id": visit.named("id")? }),
            |_| CompletedAction::Sent,
        )
        .await
    })
}

pub(super) fn redeliver(visit: &ConsoleRequest) -> ScreenAnswer<'_> {
    Box::pin(async move {
        let arguments = json!({ "id": visit.named("id")?, "deliveryId": visit.named("delivery")? });
        act(visit, "redeliverWebhook", arguments, |_| {
            CompletedAction::Sent
        })
        .await
    })
}

/// Returns the default time since which failed deliveries are sent again: a day ago.
fn yesterday(visit: &ConsoleRequest) -> Timestamp {
    let now = visit.service.clock.now();
    now.checked_sub(SignedDuration::from_hours(24))
        .unwrap_or(now)
}

pub(super) fn redeliver_failed(visit: &ConsoleRequest) -> ScreenAnswer<'_> {
    Box::pin(async move {
        let since = visit.sent("since").unwrap_or_default();
        let since = when::typed(since, &TimeZone::UTC).unwrap_or_else(|| since.to_owned());
        if !visit.may_write() {
            return page(visit, None).await;
        }
        let done = |answer: &Value| {
            if answer["redelivered"] == 0 {
                CompletedAction::SentNone
            } else {
                CompletedAction::Sent
            }
        };
        act(
            visit,
            "redeliverFailedWebhooks",
            json!({ "id": visit.named("id")?, "since": since }),
            done,
        )
        .await
    })
}

#[derive(Template)]
#[template(path = "console/webhook-delete.html")]
struct ResendConfirmation<'v> {
    frame: ConsoleFrame<'v>,
    one: WebhookSubscription,
    action: String,
    back: String,
}

pub(super) fn ask_to_delete(visit: &ConsoleRequest) -> ScreenAnswer<'_> {
    Box::pin(async move {
        let words = &visit.words.webhooks;
        let one = named(visit).await?;
        let frame =
            ConsoleFrame::new(visit, words.delete_title).below(visit, words.webhooks, SCREEN.path);
        let page = ResendConfirmation {
            frame: frame.below(visit, one.target_url.clone(), &path_of(&one)),
            action: visit.address(&format!("{}/delete", path_of(&one))),
            back: visit.address(&path_of(&one)),
            one,
        };
        Ok(reply::of(visit, 200, &page))
    })
}

pub(super) fn delete(visit: &ConsoleRequest) -> ScreenAnswer<'_> {
    Box::pin(async move {
        if !visit.may_write() {
            return ask_to_delete(visit).await;
        }
        let one = named(visit).await?;
        visit
            .get::<Value>("deleteWebhookSubscription", json!({ "id": one.id }))
            .await?;
        Ok(reply::done(visit, SCREEN.path, CompletedAction::Removed))
    })
}
