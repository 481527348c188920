//! Webhooks: the subscriptions of the member, their deliveries, and the actions on them.

mod log;
mod make;
mod secret;

use askama::Template;
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

pub use secret::{LONGEST, grace, hours};

use super::flats;
use super::frame::ConsoleFrame;
use super::paging::{Paging, ROWS};
use super::refusal::ConsoleRefusal;
use super::reply;
use super::screens::{Screen, ScreenAnswer, ScreenGroup, ScreenPage};
use super::visit::ConsoleRequest;
use crate::words::fill;

/// The screen of the webhooks.
pub static SCREEN: Screen = Screen {
    path: "/webhooks",
    icon: "webhook",
    title: |words| words.webhooks.webhooks,
    group: ScreenGroup::Organization,
    needs: Some(LIST),
    pages: &[
        ScreenPage::get("getWebhooksScreen", "/webhooks", list),
        ScreenPage::get("getNewWebhookScreen", "/webhooks/new", make::new)
            .needing(&["listWebhookEventTypes", "createWebhookSubscription"]),
        ScreenPage::post("createWebhookOnScreen", "/webhooks/new", make::create)
            .needing(&["createWebhookSubscription"]),
        ScreenPage::get("getEventsScreen", "/webhooks/events", events)
            .needing(&["listWebhookEventTypes"]),
        ScreenPage::get("getWebhookScreen", "/webhooks/{id}", log::show)
            .needing(&["listWebhookDeliveries"]),
        ScreenPage::post("pingWebhookOnScreen", "/webhooks/{id}/ping", log::ping)
            .needing(&["pingWebhookSubscription"]),
        ScreenPage::post(
            "redeliverFailedOnScreen",
            "/webhooks/{id}/failed",
            log::redeliver_failed,
        )
        .needing(&["redeliverFailedWebhooks"]),
        ScreenPage::post(
            "redeliverOnScreen",
            "/webhooks/{id}/deliveries/{delivery}",
            log::redeliver,
        )
        .needing(&["redeliverWebhook"]),
        ScreenPage::get("getRotateScreen", "/webhooks/{id}/rotate", secret::ask)
            .needing(&["rotateWebhookSecret"]),
        ScreenPage::post(
            "rotateSecretOnScreen",
            "/webhooks/{id}/rotate",
            secret::rotate,
        )
        .needing(&["rotateWebhookSecret"]),
        ScreenPage::get(
            "getDeleteWebhookScreen",
            "/webhooks/{id}/delete",
            log::ask_to_delete,
        )
        .needing(&["deleteWebhookSubscription"]),
        ScreenPage::post(
            "deleteWebhookOnScreen",
            "/webhooks/{id}/delete",
            log::delete,
        )
        .needing(&["deleteWebhookSubscription"]),
    ],
};

const LIST: &str = "listWebhookSubscriptions";
/// The event that only apps can subscribe to.
const OF_APPS: &str = "workflow.step";
/// Maximum number of flats that are named for a limited subscription.
const NAMED: usize = 20;
/// The states that the list can be filtered by.
const STATES: [&str; 3] = ["working", "failing", "disabled"];

/// A subscription, as the interface returns it.
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
    filters: SubscriptionFilters,
}

/// The limits of a subscription, as the interface returns them.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SubscriptionFilters {
    property_ids: Vec<Uuid>,
    workflow_step: Option<String>,
}

impl Subscription {
    /// Reads the member's subscriptions, the newest first.
    async fn all(visit: &ConsoleRequest) -> Result<Vec<Self>, ConsoleRefusal> {
        let mut all: Vec<Self> = visit.get(LIST, json!({})).await?;
        all.reverse();
        Ok(all)
    }

    /// Reads subscriptions in a state, at most `most`.
    pub async fn in_state(
        visit: &ConsoleRequest,
        state: &str,
        most: usize,
    ) -> Result<Vec<Self>, ConsoleRefusal> {
        let mut all = Self::all(visit).await?;
        all.retain(|one| one.state() == state);
        all.truncate(most);
        Ok(all)
    }

    /// Reads the subscription that the path names.
    async fn named(visit: &ConsoleRequest) -> Result<Self, ConsoleRefusal> {
        let id = visit.named("id")?;
        let mut found = Self::all(visit).await?.into_iter();
        found
            .find(|one| one.id == id)
            .ok_or_else(ConsoleRefusal::missing)
    }

    /// Returns its state, one of [`STATES`].
    fn state(&self) -> &'static str {
        match (&self.disabled_at, self.consecutive_failures) {
            (Some(_), _) => "disabled",
            (None, 0) => "working",
            (None, _) => "failing",
        }
    }

    /// Returns whether its URL begins with this host, or with a part of it.
    fn is_at(&self, host: &str) -> bool {
        let url = self.target_url.to_lowercase();
        url.strip_prefix("https://")
            .is_some_and(|rest| rest.starts_with(&host.to_lowercase()))
    }

    /// Returns the names of the flats that it is limited to. Returns `None` if it covers all flats.
    async fn flats(&self, visit: &ConsoleRequest) -> Result<Option<String>, ConsoleRefusal> {
        let ids = &self.filters.property_ids;
        if ids.is_empty() {
            return Ok(None);
        }
        let found = flats::among(visit, ids.iter().copied()).await?;
        let mut called: Vec<String> = found
            .into_values()
            .map(|flat| flat.name)
            .take(NAMED)
            .collect();
        if called.len() < ids.len() {
            called.push(fill(
                visit.words.webhooks.more_flats,
                &[("count", &(ids.len() - called.len()).to_string())],
            ));
        }
        Ok(Some(called.join(", ")))
    }

    /// Returns the label and the style of its state.
    fn state_label(&self, visit: &ConsoleRequest) -> (&'static str, &'static str) {
        let words = &visit.words.webhooks;
        let style = match self.state() {
            "disabled" => "bad",
            "working" => "on",
            _ => "off",
        };
        (words.state(self.state()), style)
    }

    fn path(&self) -> String {
        format!("/webhooks/{}", self.id)
    }
}

/// An event that a webhook can subscribe to.
#[derive(Debug, Deserialize)]
struct SubscribableEvent {
    event: String,
    description: String,
    permission: Option<String>,
    #[serde(default)]
    example: Value,
}

#[derive(Template)]
#[template(path = "console/webhooks.html")]
struct SubscriptionList<'v> {
    frame: ConsoleFrame<'v>,
    path: String,
    /// Options of the filter by event: name, and whether it is chosen.
    events: Vec<(String, bool)>,
    states: Vec<(&'static str, &'static str, bool)>,
    host: String,
    is_filtered: bool,
    rows: Vec<SubscriptionRow>,
    paging: Paging,
    new: Option<String>,
    about_events: Option<String>,
}

struct SubscriptionRow {
    url: String,
    event: String,
    state: (&'static str, &'static str),
    way: String,
}

fn list(visit: &ConsoleRequest) -> ScreenAnswer<'_> {
    Box::pin(async move {
        let words = &visit.words.webhooks;
        let known: Vec<SubscribableEvent> = if visit.may(make::EVENTS) {
            visit.get(make::EVENTS, json!({})).await?
        } else {
            Vec::new()
        };
        let event = visit
            .asks("event")
            .filter(|event| known.iter().any(|known| known.event == *event));
        let state = visit.asks("state").filter(|state| STATES.contains(state));
        let host = visit
            .asks("host")
            .map(str::trim)
            .filter(|host| !host.is_empty());
        let mut found = Subscription::all(visit).await?;
        found.retain(|one| {
            event.is_none_or(|event| one.event == event)
                && state.is_none_or(|state| one.state() == state)
                && host.is_none_or(|host| one.is_at(host))
        });
        let total = found.len();
        let row = |one: Subscription| SubscriptionRow {
            state: one.state_label(visit),
            way: visit.address(&one.path()),
            url: one.target_url,
            event: one.event,
        };
        let page = SubscriptionList {
            frame: ConsoleFrame::new(visit, words.webhooks),
            path: visit.address(SCREEN.path),
            states: STATES
                .map(|known| (known, words.state(known), state == Some(known)))
                .into(),
            is_filtered: event.is_some() || host.is_some() || state.is_some(),
            host: host.unwrap_or_default().to_owned(),
            paging: Paging::of(visit, SCREEN.path, total),
            rows: found
                .into_iter()
                .skip(Paging::offset(visit))
                .take(ROWS)
                .map(row)
                .collect(),
            new: visit
                .may(make::CREATE)
                .then(|| visit.address("/webhooks/new")),
            about_events: visit
                .may(make::EVENTS)
                .then(|| visit.address("/webhooks/events")),
            events: known
                .iter()
                .map(|known| (known.event.clone(), event == Some(known.event.as_str())))
                .collect(),
        };
        Ok(reply::of(visit, 200, &page))
    })
}

#[derive(Template)]
#[template(path = "console/events.html")]
struct Events<'v> {
    frame: ConsoleFrame<'v>,
    /// Each event with its example as text, and the permission that it needs.
    events: Vec<(SubscribableEvent, String, Option<&'static str>)>,
}

fn events(visit: &ConsoleRequest) -> ScreenAnswer<'_> {
    Box::pin(async move {
        let words = visit.words;
        let events: Vec<SubscribableEvent> = visit.get(make::EVENTS, json!({})).await?;
        let shown = |event: SubscribableEvent| {
            let example = serde_json::to_string_pretty(&event.example).unwrap_or_default();
            let needs = event
                .permission
                .as_deref()
                .map(|permission| words.access.permission(permission));
            (event, example, needs)
        };
        let page = Events {
            frame: ConsoleFrame::new(visit, words.webhooks.events).below(
                visit,
                words.webhooks.webhooks,
                SCREEN.path,
            ),
            events: events.into_iter().map(shown).collect(),
        };
        Ok(reply::of(visit, 200, &page))
    })
}
