//! The signing secret of a subscription. It is shown once and can be rotated.

use askama::Template;
use axum::response::Response;
use serde_json::{Value, json};

use super::super::frame::ConsoleFrame;
use super::super::refusal::{ConsoleRefusal, FormAttempt};
use super::super::reply;
use super::super::screens::ScreenAnswer;
use super::super::visit::ConsoleRequest;
use super::{SCREEN, named, path_of};
use crate::events::{CreatedWebhookSubscription, ROTATE_WEBHOOK_SECRET, WebhookSubscription};

/// Hours for which the old secret stays valid: `GRACE` is the default, `LONGEST` the maximum.
const GRACE: u64 = 24;
pub const LONGEST: u64 = 168;

/// Returns the typed hours in seconds. Invalid input becomes -1, which the operation refuses.
pub fn hours(visit: &ConsoleRequest) -> Value {
    let hours = visit
        .sent("hours")
        .unwrap_or_default()
        .trim()
        .parse::<u64>()
        .ok();
    hours.map_or(json!(-1), |hours| {
        json!(hours.saturating_mul(3_600).min(1 << 40))
    })
}

/// Returns the hours as they were typed, or the default.
pub fn grace(visit: &ConsoleRequest) -> String {
    visit
        .sent("hours")
        .map_or_else(|| GRACE.to_string(), str::to_owned)
}

#[derive(Template)]
#[template(path = "console/webhook-secret.html")]
struct SecretPage<'v> {
    frame: ConsoleFrame<'v>,
    secret: &'v str,
    url: &'v str,
    way: String,
}

/// Returns the page that shows a secret. The page is the response to the form, so no address shows
/// the secret again.
pub(super) fn secret_page<'v>(
    visit: &'v ConsoleRequest,
    made: &'v CreatedWebhookSubscription,
) -> Response {
    let words = &visit.words.webhooks;
    let page = SecretPage {
        frame: ConsoleFrame::new(visit, words.secret).below(visit, words.webhooks, SCREEN.path),
        secret: &made.signing_secret,
        url: &made.subscription.target_url,
        way: visit.address(&path_of(&made.subscription)),
    };
    reply::of(visit, 200, &page)
}

#[derive(Template)]
#[template(path = "console/webhook-rotate.html")]
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
    visit: &ConsoleRequest,
    refused: Option<ConsoleRefusal>,
) -> Result<Response, ConsoleRefusal> {
    let words = &visit.words.webhooks;
    let one = named(visit).await?;
    let frame = ConsoleFrame::new(visit, words.rotate).below(visit, words.webhooks, SCREEN.path);
    let FormAttempt {
        status,
        of: messages,
        is_kept,
    } = FormAttempt::of(visit, refused.as_ref());
    let page = SecretConfirmation {
        frame: frame.below(visit, one.target_url.clone(), &path_of(&one)),
        action: visit.address(&format!("{}/rotate", path_of(&one))),
        back: visit.address(&path_of(&one)),
        key: visit.new_key(),
        grace: grace(visit),
        longest: LONGEST,
        one,
        messages,
        is_kept,
    };
    Ok(reply::of(visit, status, &page))
}

pub(super) fn ask(visit: &ConsoleRequest) -> ScreenAnswer<'_> {
    Box::pin(page(visit, None))
}

pub(super) fn rotate(visit: &ConsoleRequest) -> ScreenAnswer<'_> {
    Box::pin(async move {
        if !visit.may_write() {
            return page(visit, None).await;
        }
        let arguments = json!({ "id": visit.named("id")?, "graceSeconds": hours(visit) });
        match visit
            .create_as(
                ROTATE_WEBHOOK_SECRET,
                arguments,
                &visit.key(ROTATE_WEBHOOK_SECRET.id()),
            )
            .await
        {
            Ok(made) => Ok(secret_page(visit, &made)),
            Err(refusal) if refusal.status == 400 => page(visit, Some(refusal)).await,
            Err(refusal) => Err(refusal),
        }
    })
}
