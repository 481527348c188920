//! Webhooks: the member's own subscriptions, what was sent for each, and what can be done about it.

mod log;
mod make;
mod secret;

use askama::Template;
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::frame::Frame;
use super::refusal::Refusal;
use super::reply;
use super::screens::{Answering, Group, Page, Screen};
use super::visit::Visit;

/// The screen.
pub static SCREEN: Screen = Screen {
    path: "/webhooks",
    icon: "webhook",
    title: |words| words.webhooks.webhooks,
    group: Group::Organization,
    needs: Some(LIST),
    pages: &[
        Page::get("getWebhooksScreen", "/webhooks", list),
        Page::get("getNewWebhookScreen", "/webhooks/new", make::new).needing(&["listWebhookEventTypes", "createWebhookSubscription"]),
        Page::post("createWebhookOnScreen", "/webhooks/new", make::create).needing(&["createWebhookSubscription"]),
        Page::get("getEventsScreen", "/webhooks/events", events).needing(&["listWebhookEventTypes"]),
        Page::get("getWebhookScreen", "/webhooks/{id}", log::show).needing(&["listWebhookDeliveries"]),
        Page::post("pingWebhookOnScreen", "/webhooks/{id}/ping", log::ping).needing(&["pingWebhookSubscription"]),
        Page::post("redeliverFailedOnScreen", "/webhooks/{id}/failed", log::redeliver_failed).needing(&["redeliverFailedWebhooks"]),
        Page::post("redeliverOnScreen", "/webhooks/{id}/deliveries/{delivery}", log::redeliver).needing(&["redeliverWebhook"]),
        Page::get("getRotateScreen", "/webhooks/{id}/rotate", secret::ask).needing(&["rotateWebhookSecret"]),
        Page::post("rotateSecretOnScreen", "/webhooks/{id}/rotate", secret::rotate).needing(&["rotateWebhookSecret"]),
        Page::get("getDeleteWebhookScreen", "/webhooks/{id}/delete", log::ask_to_delete).needing(&["deleteWebhookSubscription"]),
        Page::post("deleteWebhookOnScreen", "/webhooks/{id}/delete", log::delete).needing(&["deleteWebhookSubscription"]),
    ],
};

const LIST: &str = "listWebhookSubscriptions";

/// A subscription, as it is answered.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Subscription {
    pub id: Uuid,
    pub event: String,
    pub target_url: String,
    pub consecutive_failures: u64,
    pub disabled_at: Option<String>,
    disabled_reason: Option<String>,
    last_delivered_at: Option<String>,
    created_at: String,
}

impl Subscription {
    /// Those of the member.
    pub async fn all(visit: &Visit) -> Result<Vec<Self>, Refusal> {
        visit.get(LIST, json!({})).await
    }

    /// The one that the path names.
    async fn named(visit: &Visit) -> Result<Self, Refusal> {
        let id = visit.named("id")?;
        Self::all(visit).await?.into_iter().find(|one| one.id == id).ok_or_else(Refusal::missing)
    }

    /// How it stands: in words, and how that looks.
    fn standing(&self, visit: &Visit) -> (&'static str, &'static str) {
        let words = &visit.words.webhooks;
        match (&self.disabled_at, self.consecutive_failures) {
            (Some(_), _) => (words.disabled, "bad"),
            (None, 0) => (words.working, "on"),
            (None, _) => (words.failing, "off"),
        }
    }

    fn path(&self) -> String {
        format!("/webhooks/{}", self.id)
    }
}

/// An event that can be subscribed to.
#[derive(Debug, Deserialize)]
struct Event {
    event: String,
    description: String,
    permission: Option<String>,
    #[serde(default)]
    example: Value,
}

#[derive(Template)]
#[template(path = "console/webhooks.html")]
struct List<'v> {
    frame: Frame<'v>,
    rows: Vec<Row>,
    new: Option<String>,
    events: Option<String>,
}

struct Row {
    url: String,
    event: String,
    standing: (&'static str, &'static str),
    way: String,
}

fn list(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        let row = |one: Subscription| Row {
            standing: one.standing(visit),
            way: visit.address(&one.path()),
            url: one.target_url,
            event: one.event,
        };
        let page = List {
            frame: Frame::new(visit, visit.words.webhooks.webhooks),
            rows: Subscription::all(visit).await?.into_iter().map(row).collect(),
            new: visit.may(make::CREATE).then(|| visit.address("/webhooks/new")),
            events: visit.may(make::EVENTS).then(|| visit.address("/webhooks/events")),
        };
        Ok(reply::of(visit, 200, &page))
    })
}

#[derive(Template)]
#[template(path = "console/events.html")]
struct Events<'v> {
    frame: Frame<'v>,
    /// Each with its example as text, and what it needs.
    events: Vec<(Event, String, Option<&'static str>)>,
}

fn events(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        let words = visit.words;
        let events: Vec<Event> = visit.get(make::EVENTS, json!({})).await?;
        let shown = |event: Event| {
            let example = serde_json::to_string_pretty(&event.example).unwrap_or_default();
            let needs = event.permission.as_deref().map(|permission| words.access.permission(permission));
            (event, example, needs)
        };
        let page = Events {
            frame: Frame::new(visit, words.webhooks.events).below(visit, words.webhooks.webhooks, SCREEN.path),
            events: events.into_iter().map(shown).collect(),
        };
        Ok(reply::of(visit, 200, &page))
    })
}
