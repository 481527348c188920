//! The page of a subscription. It shows the deliveries with their attempts, and has buttons that
//! send deliveries again.

use askama::Template;
use axum::response::Response;
use delivery::{Attempt, Status};
use features::events::{LIST_WEBHOOK_DELIVERIES, WebhookDelivery, WebhookSubscription};
use features::words::fill;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::super::frame::{CompletedAction, ConsoleFrame};
use super::super::paging::{Paging, ROWS};
use super::super::refusal::{ConsoleRefusal, FormAttempt};
use super::super::reply;
use super::super::request::ConsoleRequest;
use super::super::screens::ScreenResponse;
use super::super::time_format::{self, FormattedTime};
use super::super::words::{delivery_status, disabled_reason};
use super::make::CREATE;
use super::{SCREEN, flats_of, named, path_of, state_label};

/// Maximum number of attempts that the page shows for one delivery. The page shows the latest ones.
const MAX_ATTEMPTS: usize = 8;

struct DeliveryRow {
    event: String,
    id: String,
    made: FormattedTime,
    status: (&'static str, &'static str),
    attempts: String,
    /// The latest attempts to send the delivery. Each has its time and its result.
    tries: Vec<(FormattedTime, String)>,
    next: Option<FormattedTime>,
    /// The `action` of the form that sends the delivery again. `None` while the delivery is
    /// pending, or if the subscription is disabled.
    again: Option<String>,
}

#[derive(Template)]
#[template(path = "webhook.html")]
struct DeliveryLogPage<'v> {
    frame: ConsoleFrame<'v>,
    one: WebhookSubscription,
    state: (&'static str, &'static str),
    /// The reason and the time at which the subscription was disabled, and a link that creates a
    /// similar subscription. `None` if the subscription is active.
    off: Option<DisabledNotice>,
    /// The names of the flats that the subscription is limited to. `None` if it covers all flats.
    flats: Option<String>,
    last: Option<FormattedTime>,
    made: FormattedTime,
    path: String,
    key: String,
    rows: Vec<DeliveryRow>,
    paging: Paging,
    /// The time that the member typed. The button of the form sends those deliveries again that
    /// have failed since this time.
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
    fn of(request: &ConsoleRequest, one: &WebhookSubscription) -> Option<Self> {
        let words = &request.texts.webhooks;
        let at = time_format::of(request, one.disabled_at?).text;
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
            way: request
                .may_send(CREATE, &json!({ "event": one.event }))
                .then(|| request.address_with("/webhooks/new", &like_it)),
        })
    }
}

fn row(
    request: &ConsoleRequest,
    path: &str,
    is_off: bool,
    delivery: &WebhookDelivery,
) -> DeliveryRow {
    let words = &request.texts.webhooks;
    let attempt = |attempt: &Attempt| {
        let outcome = match (attempt.status_code, &attempt.error) {
            (Some(status), _) => fill(words.answered, &[("status", &status.to_string())]),
            (None, error) => error.clone().unwrap_or_default(),
        };
        (
            time_format::of(request, attempt.attempted_at),
            format!("{outcome} · {} ms", attempt.duration_ms),
        )
    };
    DeliveryRow {
        made: time_format::of(request, delivery.created_at),
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
        next: time_format::of_any(request, delivery.next_attempt_at),
        again: (delivery.status != Status::Pending && !is_off)
            .then(|| request.address(&format!("{path}/deliveries/{}", delivery.id))),
        event: delivery.event.clone(),
        id: delivery.id.to_string(),
    }
}

async fn page(
    request: &ConsoleRequest,
    refused: Option<ConsoleRefusal>,
) -> Result<Response, ConsoleRefusal> {
    let words = &request.texts.webhooks;
    let one = named(request).await?;
    let path = path_of(&one);
    let arguments = json!({ "id": one.id, "limit": ROWS, "offset": Paging::offset(request) });
    let answer = request
        .read_page(LIST_WEBHOOK_DELIVERIES, arguments)
        .await?;
    let FormAttempt {
        status,
        messages,
        is_returned: is_kept,
    } = FormAttempt::of(request, refused.as_ref());
    let page = DeliveryLogPage {
        frame: ConsoleFrame::new(request, one.target_url.clone()).with_parent(
            request,
            words.webhooks,
            SCREEN.path,
        ),
        state: state_label(request, &one),
        off: DisabledNotice::of(request, &one),
        flats: flats_of(request, &one).await?,
        last: time_format::of_any(request, one.last_delivered_at),
        made: time_format::of(request, one.created_at),
        key: request.new_key(),
        paging: Paging::of(request, &path, answer.total.unwrap_or(answer.data.len())),
        rows: answer
            .data
            .iter()
            .map(|delivery| row(request, &path, one.disabled_at.is_some(), delivery))
            .collect(),
        path: request.address(&path),
        since: request.form_value("since").map_or_else(
            || time_format::for_input(yesterday(request), &TimeZone::UTC),
            str::to_owned,
        ),
        messages,
        is_kept,
        one,
    };
    Ok(reply::page_of_template(request, status, &page))
}

pub(super) fn show(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(page(request, None))
}

/// Calls an operation with `arguments`. After a success, redirects to the page of the subscription,
/// which confirms the action that `done` reads from the answer. If the operation refuses the call
/// with 400 or 409, shows the refusal on that page. If the session has ended, only redirects to
/// that page.
async fn act(
    request: &ConsoleRequest,
    operation: &str,
    arguments: Value,
    done: fn(&Value) -> CompletedAction,
) -> Result<Response, ConsoleRefusal> {
    let path = format!("/webhooks/{}", request.path_id("id")?);
    if request.may_write() {
        return match request
            .create::<Value>(operation, arguments, &request.key(operation))
            .await
        {
            Ok(answer) => Ok(reply::redirect_with_confirmation(
                request,
                &path,
                done(&answer),
            )),
            // The page shows the refusal if the member can react to it. For example, the
            // subscription may have been disabled since the page was opened.
            Err(refusal) if matches!(refusal.status, 400 | 409) => {
                page(request, Some(refusal)).await
            }
            Err(refusal) => Err(refusal),
        };
    }
    // The session ended before the member pressed the button of the form. The console therefore
    // sends no delivery. The member must press the button again.
    Ok(reply::redirect(request, &path))
}

pub(super) fn ping(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        act(
            request,
            "pingWebhookSubscription",
            json!({ "id": request.path_id("id")? }),
            |_| CompletedAction::Sent,
        )
        .await
    })
}

pub(super) fn redeliver(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        let arguments =
            json!({ "id": request.path_id("id")?, "deliveryId": request.path_id("delivery")? });
        act(request, "redeliverWebhook", arguments, |_| {
            CompletedAction::Sent
        })
        .await
    })
}

/// Returns the time 24 hours ago. The form that repeats failed deliveries begins with this time,
/// and the member can replace it. The form sends every delivery again that failed since the time in
/// it.
fn yesterday(request: &ConsoleRequest) -> Timestamp {
    let now = request.service.clock.now();
    now.checked_sub(SignedDuration::from_hours(24))
        .unwrap_or(now)
}

pub(super) fn redeliver_failed(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        let since = request.form_value("since").unwrap_or_default();
        let since =
            time_format::parse_local(since, &TimeZone::UTC).unwrap_or_else(|| since.to_owned());
        if !request.may_write() {
            return page(request, None).await;
        }
        let done = |answer: &Value| {
            if answer["redelivered"] == 0 {
                CompletedAction::SentNone
            } else {
                CompletedAction::Sent
            }
        };
        act(
            request,
            "redeliverFailedWebhooks",
            json!({ "id": request.path_id("id")?, "since": since }),
            done,
        )
        .await
    })
}

#[derive(Template)]
#[template(path = "webhook-delete.html")]
struct ResendConfirmation<'v> {
    frame: ConsoleFrame<'v>,
    one: WebhookSubscription,
    action: String,
    back: String,
}

pub(super) fn ask_to_delete(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        let words = &request.texts.webhooks;
        let one = named(request).await?;
        let frame = ConsoleFrame::new(request, words.delete_title).with_parent(
            request,
            words.webhooks,
            SCREEN.path,
        );
        let page = ResendConfirmation {
            frame: frame.with_parent(request, one.target_url.clone(), &path_of(&one)),
            action: request.address(&format!("{}/delete", path_of(&one))),
            back: request.address(&path_of(&one)),
            one,
        };
        Ok(reply::page_of_template(request, 200, &page))
    })
}

pub(super) fn delete(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        if !request.may_write() {
            return ask_to_delete(request).await;
        }
        let one = named(request).await?;
        request
            .get::<Value>("deleteWebhookSubscription", json!({ "id": one.id }))
            .await?;
        Ok(reply::redirect_with_confirmation(
            request,
            SCREEN.path,
            CompletedAction::Removed,
        ))
    })
}
