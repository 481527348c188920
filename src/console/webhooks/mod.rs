//! Webhooks: the subscriptions that the member reaches, what was sent for each, and what can be done about it.

mod log;
mod make;
mod secret;

use askama::Template;
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

pub use secret::{LONGEST, grace, hours};

use super::flats;
use super::frame::Frame;
use super::paging::{Paging, ROWS};
use super::refusal::Refusal;
use super::reply;
use super::screens::{Answering, Group, Page, Screen};
use super::visit::Visit;
use crate::words::fill;

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

const LIST: &str = "listReachedWebhookSubscriptions";
/// The event that is for apps alone.
const OF_APPS: &str = "workflow.step";
/// Flats that are named of those that a subscription is limited to.
const NAMED: usize = 20;
/// How subscriptions stand, as the list is asked for them.
const STATES: [&str; 3] = ["working", "failing", "disabled"];

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
    #[serde(default)]
    filters: Filters,
    /// Whose it is, where a list has it.
    owner: Option<Owner>,
}

/// What a subscription is limited to, as it is answered.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Filters {
    property_ids: Vec<Uuid>,
    workflow_step: Option<String>,
}

/// Whose a subscription is, as it is answered.
#[derive(Debug, Deserialize)]
struct Owner {
    kind: String,
    name: Option<String>,
}

impl Subscription {
    /// Some of those that stand so.
    pub async fn standing_so(visit: &Visit, state: &str, most: usize) -> Result<Vec<Self>, Refusal> {
        visit.get(LIST, json!({ "state": state, "limit": most })).await
    }

    /// The one that the path names.
    async fn named(visit: &Visit) -> Result<Self, Refusal> {
        let found: Vec<Self> = visit.get(LIST, json!({ "id": visit.named("id")? })).await?;
        found.into_iter().next().ok_or_else(Refusal::missing)
    }

    /// Whose it is, in words.
    fn owner(&self, visit: &Visit) -> String {
        let words = &visit.words.webhooks;
        let Some(owner) = &self.owner else { return String::new() };
        let name = owner.name.as_deref().unwrap_or(words.owner_gone);
        format!("{name} · {}", words.owner_kind(&owner.kind))
    }

    /// What the flats are called that it is limited to; nothing where it is to all.
    async fn flats(&self, visit: &Visit) -> Result<Option<String>, Refusal> {
        let ids = &self.filters.property_ids;
        if ids.is_empty() {
            return Ok(None);
        }
        let found = flats::among(visit, ids.iter().copied()).await?;
        let mut called: Vec<String> = found.into_values().map(|flat| flat.name).take(NAMED).collect();
        if called.len() < ids.len() {
            called.push(fill(visit.words.webhooks.more_flats, &[("count", &(ids.len() - called.len()).to_string())]));
        }
        Ok(Some(called.join(", ")))
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
    path: String,
    /// What is chosen of each filter: a value, what it is called, whether it is it.
    events: Vec<(String, bool)>,
    states: Vec<(&'static str, &'static str, bool)>,
    host: String,
    is_filtered: bool,
    rows: Vec<Row>,
    paging: Paging,
    new: Option<String>,
    about_events: Option<String>,
}

struct Row {
    url: String,
    event: String,
    owner: String,
    standing: (&'static str, &'static str),
    way: String,
}

fn list(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        let words = &visit.words.webhooks;
        let known: Vec<Event> = if visit.may(make::EVENTS) { visit.get(make::EVENTS, json!({})).await? } else { Vec::new() };
        let event = visit.asks("event").filter(|event| known.iter().any(|known| known.event == *event));
        let state = visit.asks("state").filter(|state| STATES.contains(state));
        let host = visit.asks("host").map(str::trim);
        let arguments = json!({ "event": event, "host": host, "state": state, "limit": ROWS, "offset": Paging::offset(visit) });
        let answer = visit.ask::<Vec<Subscription>>(LIST, arguments).await?;
        let row = |one: Subscription| Row {
            standing: one.standing(visit),
            owner: one.owner(visit),
            way: visit.address(&one.path()),
            url: one.target_url,
            event: one.event,
        };
        let page = List {
            frame: Frame::new(visit, words.webhooks),
            path: visit.address(SCREEN.path),
            states: STATES.map(|known| (known, words.state(known), state == Some(known))).into(),
            is_filtered: event.is_some() || host.is_some() || state.is_some(),
            host: host.unwrap_or_default().to_owned(),
            paging: Paging::of(visit, SCREEN.path, answer.total.unwrap_or(answer.data.len())),
            rows: answer.data.into_iter().map(row).collect(),
            new: visit.may(make::CREATE).then(|| visit.address("/webhooks/new")),
            about_events: visit.may(make::EVENTS).then(|| visit.address("/webhooks/events")),
            events: known.iter().map(|known| (known.event.clone(), event == Some(known.event.as_str()))).collect(),
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
