//! A new subscription. What is made of it is shown at once, with its secret, which nobody shows again.

use askama::Template;
use axum::response::Response;
use serde::Deserialize;
use serde_json::json;

use super::super::frame::Frame;
use super::super::refusal::Refusal;
use super::super::reply;
use super::super::screens::Answering;
use super::super::visit::Visit;
use super::{Event, SCREEN, Subscription, secret};

pub(super) const CREATE: &str = "createWebhookSubscription";
pub(super) const EVENTS: &str = "listWebhookEventTypes";

/// What is made, with its secret.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Made {
    #[serde(flatten)]
    pub subscription: Subscription,
    pub signing_secret: String,
}

#[derive(Template)]
#[template(path = "console/webhook-new.html")]
struct New<'v> {
    frame: Frame<'v>,
    action: String,
    key: String,
    /// Events, and whether each is chosen.
    events: Vec<(Event, bool)>,
    url: String,
    said: Vec<String>,
    is_kept: bool,
}

async fn page(visit: &Visit, refused: Option<Refusal>) -> Result<Response, Refusal> {
    let words = &visit.words.webhooks;
    let mut events: Vec<Event> = visit.get(EVENTS, json!({})).await?;
    events.retain(|event| visit.may_send(CREATE, &json!({ "event": event.event })));
    let chosen = visit.sent("event").unwrap_or_default();
    let page = New {
        frame: Frame::new(visit, words.new).below(visit, words.webhooks, SCREEN.path),
        action: visit.address("/webhooks/new"),
        key: visit.sent("key").map_or_else(|| visit.new_key(), str::to_owned),
        events: events.into_iter().map(|event| (event.event == chosen, event)).map(|(is_chosen, event)| (event, is_chosen)).collect(),
        url: visit.sent("targetUrl").unwrap_or_default().to_owned(),
        said: refused.as_ref().map(|refusal| refusal.sentences(visit)).unwrap_or_default(),
        is_kept: !visit.fields.is_empty() && !visit.may_write(),
    };
    Ok(reply::of(visit, refused.map_or(200, |refusal| refusal.status), &page))
}

pub(super) fn new(visit: &Visit) -> Answering<'_> {
    Box::pin(page(visit, None))
}

pub(super) fn create(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        if !visit.may_write() {
            return page(visit, None).await;
        }
        let url = visit.sent("targetUrl").unwrap_or_default().trim();
        let arguments = json!({ "event": visit.sent("event").unwrap_or_default(), "targetUrl": url });
        match visit.create::<Made>(CREATE, arguments, &visit.key(CREATE)).await {
            Ok(made) => Ok(secret::shown(visit, &made)),
            Err(refusal) if refusal.is_about_what_was_sent() => page(visit, Some(refusal)).await,
            Err(refusal) => Err(refusal),
        }
    })
}
