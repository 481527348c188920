//! Webhooks: the member's subscriptions, their deliveries, and the actions on both.

mod log;
mod make;
mod secret;

use std::sync::Arc;

use askama::Template;
use features::events::{
    Event, LIST_WEBHOOK_EVENT_TYPES, LIST_WEBHOOK_SUBSCRIPTIONS, WebhookEventType,
    WebhookSubscription,
};
use features::words::fill;
use serde_json::json;
use strum::{AsRefStr, EnumString, VariantArray};
use texts::console::ConsoleWebhooksWords;

pub use secret::{MAX_GRACE, grace_hours, hours};

use super::flats;
use super::frame::ConsoleFrame;
use super::paging::{Paging, ROWS};
use super::refusal::ConsoleRefusal;
use super::reply;
use super::request::ConsoleRequest;
use super::screens::{Screen, ScreenGroup, ScreenPage, ScreenResponse};
use super::words::permission_text;

pub static SCREEN: Screen = Screen {
    path: "/webhooks",
    icon: "webhook",
    title: |words| words.webhooks.webhooks,
    group: ScreenGroup::Organization,
    needs: Some(LIST),
    pages: &[
        ScreenPage::get("getWebhooksScreen", "/webhooks", list),
        ScreenPage::get("getNewWebhookScreen", "/webhooks/new", make::new)
            .with_needs(&["listWebhookEventTypes", "createWebhookSubscription"]),
        ScreenPage::post("createWebhookOnScreen", "/webhooks/new", make::create)
            .with_needs(&["createWebhookSubscription"]),
        ScreenPage::get("getEventsScreen", "/webhooks/events", events)
            .with_needs(&["listWebhookEventTypes"]),
        ScreenPage::get("getWebhookScreen", "/webhooks/{id}", log::show)
            .with_needs(&["listWebhookDeliveries"]),
        ScreenPage::post("pingWebhookOnScreen", "/webhooks/{id}/ping", log::ping)
            .with_needs(&["pingWebhookSubscription"]),
        ScreenPage::post(
            "redeliverFailedOnScreen",
            "/webhooks/{id}/failed",
            log::redeliver_failed,
        )
        .with_needs(&["redeliverFailedWebhooks"]),
        ScreenPage::post(
            "redeliverOnScreen",
            "/webhooks/{id}/deliveries/{delivery}",
            log::redeliver,
        )
        .with_needs(&["redeliverWebhook"]),
        ScreenPage::get("getRotateScreen", "/webhooks/{id}/rotate", secret::ask)
            .with_needs(&["rotateWebhookSecret"]),
        ScreenPage::post(
            "rotateSecretOnScreen",
            "/webhooks/{id}/rotate",
            secret::rotate,
        )
        .with_needs(&["rotateWebhookSecret"]),
        ScreenPage::get(
            "getDeleteWebhookScreen",
            "/webhooks/{id}/delete",
            log::ask_to_delete,
        )
        .with_needs(&["deleteWebhookSubscription"]),
        ScreenPage::post(
            "deleteWebhookOnScreen",
            "/webhooks/{id}/delete",
            log::delete,
        )
        .with_needs(&["deleteWebhookSubscription"]),
    ],
};

const LIST: &str = LIST_WEBHOOK_SUBSCRIPTIONS.id();
/// The event that only apps can subscribe to.
const OF_APPS: Event = Event::WorkflowStep;
/// Maximum number of flats that the page names for a subscription that is limited to flats.
const MAX_NAMED: usize = 20;

/// The state of a subscription. Members can filter the list by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, AsRefStr, EnumString, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum SubscriptionState {
    Working,
    Failing,
    Disabled,
}

impl SubscriptionState {
    const fn of(one: &WebhookSubscription) -> Self {
        match (one.disabled_at, one.consecutive_failures) {
            (Some(_), _) => Self::Disabled,
            (None, 0) => Self::Working,
            (None, _) => Self::Failing,
        }
    }

    /// Returns the label that shows the state of the subscription, and the CSS class of the label.
    const fn label(self, words: &ConsoleWebhooksWords) -> (&'static str, &'static str) {
        match self {
            Self::Working => (words.working, "on"),
            Self::Failing => (words.failing, "off"),
            Self::Disabled => (words.disabled, "bad"),
        }
    }
}

/// Reads the member's subscriptions, the newest first.
async fn all(request: &ConsoleRequest) -> Result<Vec<WebhookSubscription>, ConsoleRefusal> {
    let all = request.read(LIST_WEBHOOK_SUBSCRIPTIONS, json!({})).await?;
    Ok(all.iter().rev().cloned().collect())
}

/// Reads at most `most` subscriptions that are in the state `wanted`.
pub async fn in_state(
    request: &ConsoleRequest,
    wanted: SubscriptionState,
    most: usize,
) -> Result<Vec<WebhookSubscription>, ConsoleRefusal> {
    let mut all = all(request).await?;
    all.retain(|one| SubscriptionState::of(one) == wanted);
    all.truncate(most);
    Ok(all)
}

/// Reads the subscription that the path names.
async fn named(request: &ConsoleRequest) -> Result<WebhookSubscription, ConsoleRefusal> {
    let id = request.path_id("id")?;
    let mut found = all(request).await?.into_iter();
    found
        .find(|one| one.id == id)
        .ok_or_else(ConsoleRefusal::missing)
}

/// Returns whether the URL of a subscription has this host. `host` can also be only the beginning
/// of a host name.
fn is_at(one: &WebhookSubscription, host: &str) -> bool {
    let url = one.target_url.to_lowercase();
    url.strip_prefix("https://")
        .is_some_and(|rest| rest.starts_with(&host.to_lowercase()))
}

/// Returns the names of the flats that a subscription is limited to: at most [`MAX_NAMED`] names,
/// and the number of the other flats. Returns `None` if the subscription covers all flats.
async fn flats_of(
    request: &ConsoleRequest,
    one: &WebhookSubscription,
) -> Result<Option<String>, ConsoleRefusal> {
    let ids = &one.filters.property_ids;
    if ids.is_empty() {
        return Ok(None);
    }
    let found = flats::by_ids(request, ids.iter().copied()).await?;
    let mut called: Vec<String> = found
        .into_values()
        .map(|flat| flat.name)
        .take(MAX_NAMED)
        .collect();
    if called.len() < ids.len() {
        called.push(fill(
            request.texts.webhooks.more_flats,
            &[("count", &(ids.len() - called.len()).to_string())],
        ));
    }
    Ok(Some(called.join(", ")))
}

/// Returns the label of a subscription's state, and the CSS class of the label.
fn state_label(
    request: &ConsoleRequest,
    one: &WebhookSubscription,
) -> (&'static str, &'static str) {
    SubscriptionState::of(one).label(&request.texts.webhooks)
}

fn path_of(one: &WebhookSubscription) -> String {
    format!("/webhooks/{}", one.id)
}

#[derive(Template)]
#[template(path = "webhooks.html")]
struct SubscriptionList<'v> {
    frame: ConsoleFrame<'v>,
    path: String,
    /// Events by which the member can filter the list. The second value is true for the chosen
    /// event.
    events: Vec<(Event, bool)>,
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
    event: Event,
    state: (&'static str, &'static str),
    way: String,
}

fn list(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        let words = &request.texts.webhooks;
        let known = if request.may(make::EVENTS) {
            request.read(LIST_WEBHOOK_EVENT_TYPES, json!({})).await?
        } else {
            Arc::default()
        };
        let event = request.query_parameter("event").and_then(|event| {
            let mut events = known.iter().map(|known| known.event);
            events.find(|known| <&str>::from(*known) == event)
        });
        let wanted = request
            .query_parameter("state")
            .and_then(|state| state.parse::<SubscriptionState>().ok());
        let host = request
            .query_parameter("host")
            .map(str::trim)
            .filter(|host| !host.is_empty());
        let mut found = all(request).await?;
        found.retain(|one| {
            event.is_none_or(|event| one.event == event)
                && wanted.is_none_or(|wanted| SubscriptionState::of(one) == wanted)
                && host.is_none_or(|host| is_at(one, host))
        });
        let total = found.len();
        let row = |one: WebhookSubscription| SubscriptionRow {
            state: state_label(request, &one),
            way: request.address(&path_of(&one)),
            url: one.target_url,
            event: one.event,
        };
        let page = SubscriptionList {
            frame: ConsoleFrame::new(request, words.webhooks),
            path: request.address(SCREEN.path),
            states: SubscriptionState::VARIANTS
                .iter()
                .map(|known| {
                    let name: &'static str = known.as_ref();
                    (name, known.label(words).0, wanted == Some(*known))
                })
                .collect(),
            is_filtered: event.is_some() || host.is_some() || wanted.is_some(),
            host: host.unwrap_or_default().to_owned(),
            paging: Paging::of(request, SCREEN.path, total),
            rows: found
                .into_iter()
                .skip(Paging::offset(request))
                .take(ROWS)
                .map(row)
                .collect(),
            new: request
                .may(make::CREATE)
                .then(|| request.address("/webhooks/new")),
            about_events: request
                .may(make::EVENTS)
                .then(|| request.address("/webhooks/events")),
            events: known
                .iter()
                .map(|known| (known.event, event == Some(known.event)))
                .collect(),
        };
        Ok(reply::page_of_template(request, 200, &page))
    })
}

#[derive(Template)]
#[template(path = "events.html")]
struct Events<'v> {
    frame: ConsoleFrame<'v>,
    /// The types of events. The `String` is an example of the event's `data` as JSON text. The
    /// `&str` is the label of the permission that a subscriber needs.
    events: Vec<(&'v WebhookEventType, String, &'static str)>,
}

fn events(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        let words = request.texts;
        let events = request.read(LIST_WEBHOOK_EVENT_TYPES, json!({})).await?;
        let described = events.iter().map(|event| {
            let example = serde_json::to_string_pretty(&event.example).unwrap_or_default();
            (
                event,
                example,
                permission_text(&words.access, event.permission),
            )
        });
        let page = Events {
            frame: ConsoleFrame::new(request, words.webhooks.events).with_parent(
                request,
                words.webhooks.webhooks,
                SCREEN.path,
            ),
            events: described.collect(),
        };
        Ok(reply::page_of_template(request, 200, &page))
    })
}
