//! The signing secret of a subscription. The console shows each secret once, and the member can
//! rotate it.

use askama::Template;
use axum::response::Response;
use features::events::{CreatedWebhookSubscription, ROTATE_WEBHOOK_SECRET, WebhookSubscription};
use serde_json::{Value, json};

use super::super::frame::ConsoleFrame;
use super::super::refusal::{ConsoleRefusal, FormAttempt};
use super::super::reply;
use super::super::request::ConsoleRequest;
use super::super::screens::ScreenResponse;
use super::{SCREEN, named, path_of};

/// How many hours the old secret stays valid after a rotation. `GRACE` is the default, and
/// `MAX_GRACE` is the maximum.
const GRACE: u64 = 24;
pub const MAX_GRACE: u64 = 168;

/// Returns the number of seconds in the hours that the member typed. An invalid text becomes -1, so
/// that the operation refuses it.
pub fn hours(request: &ConsoleRequest) -> Value {
    let hours = request
        .form_value("hours")
        .unwrap_or_default()
        .trim()
        .parse::<u64>()
        .ok();
    hours.map_or(json!(-1), |hours| {
        json!(hours.saturating_mul(3_600).min(1 << 40))
    })
}

/// Returns the hours for which a replaced secret still signs messages, as the member typed them.
/// Returns the default if the member sent no hours.
pub fn grace_hours(request: &ConsoleRequest) -> String {
    request
        .form_value("hours")
        .map_or_else(|| GRACE.to_string(), str::to_owned)
}

#[derive(Template)]
#[template(path = "webhook-secret.html")]
struct SecretPage<'v> {
    frame: ConsoleFrame<'v>,
    secret: &'v str,
    url: &'v str,
    way: String,
}

/// Returns the page that shows a secret. The page is the response to the form and has no address,
/// so a browser cannot open it later.
pub(super) fn secret_page<'v>(
    request: &'v ConsoleRequest,
    made: &'v CreatedWebhookSubscription,
) -> Response {
    let words = &request.texts.webhooks;
    let page = SecretPage {
        frame: ConsoleFrame::new(request, words.secret).with_parent(
            request,
            words.webhooks,
            SCREEN.path,
        ),
        secret: &made.signing_secret,
        url: &made.subscription.target_url,
        way: request.address(&path_of(&made.subscription)),
    };
    reply::page_of_template(request, 200, &page)
}

#[derive(Template)]
#[template(path = "webhook-rotate.html")]
struct SecretConfirmation<'v> {
    frame: ConsoleFrame<'v>,
    one: WebhookSubscription,
    action: String,
    back: String,
    key: String,
    grace: String,
    longest: u64,
    messages: Vec<String>,
    is_kept: bool,
}

async fn page(
    request: &ConsoleRequest,
    refused: Option<ConsoleRefusal>,
) -> Result<Response, ConsoleRefusal> {
    let words = &request.texts.webhooks;
    let one = named(request).await?;
    let frame =
        ConsoleFrame::new(request, words.rotate).with_parent(request, words.webhooks, SCREEN.path);
    let FormAttempt {
        status,
        messages,
        is_returned: is_kept,
    } = FormAttempt::of(request, refused.as_ref());
    let page = SecretConfirmation {
        frame: frame.with_parent(request, one.target_url.clone(), &path_of(&one)),
        action: request.address(&format!("{}/rotate", path_of(&one))),
        back: request.address(&path_of(&one)),
        key: request.new_key(),
        grace: grace_hours(request),
        longest: MAX_GRACE,
        one,
        messages,
        is_kept,
    };
    Ok(reply::page_of_template(request, status, &page))
}

pub(super) fn ask(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(page(request, None))
}

pub(super) fn rotate(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        if !request.may_write() {
            return page(request, None).await;
        }
        let arguments = json!({ "id": request.path_id("id")?, "graceSeconds": hours(request) });
        match request
            .create_as(
                ROTATE_WEBHOOK_SECRET,
                arguments,
                &request.key(ROTATE_WEBHOOK_SECRET.id()),
            )
            .await
        {
            Ok(made) => Ok(secret_page(request, &made)),
            Err(refusal) if refusal.status == 400 => page(request, Some(refusal)).await,
            Err(refusal) => Err(refusal),
        }
    })
}
