//! The form for a new subscription. The response to the form shows the signing secret. No later
//! page can show that secret again.

use askama::Template;
use axum::response::Response;
use features::events::{CREATE_WEBHOOK_SUBSCRIPTION, Event, LIST_WEBHOOK_EVENT_TYPES};
use features::words::fill;
use serde_json::json;
use uuid::Uuid;

use super::super::flats;
use super::super::frame::ConsoleFrame;
use super::super::refusal::ConsoleRefusal;
use super::super::reply;
use super::super::request::ConsoleRequest;
use super::super::screens::ScreenResponse;
use super::{OF_APPS, SCREEN, secret};

pub(super) const CREATE: &str = CREATE_WEBHOOK_SUBSCRIPTION.id();
pub(super) const EVENTS: &str = LIST_WEBHOOK_EVENT_TYPES.id();

#[derive(Template)]
#[template(path = "webhook-new.html")]
struct NewSubscription<'v> {
    frame: ConsoleFrame<'v>,
    action: String,
    key: String,
    /// Each event that the form offers, and whether the member has chosen this event.
    events: Vec<(Event, bool)>,
    url: String,
    /// Whether the form omits an event because only apps can subscribe to that event.
    is_for_apps: bool,
    /// The typed text of the field for flats, with one name per line, and the help text of the
    /// field. `None` if the member may not read flats.
    flats: Option<(String, String)>,
    messages: Vec<String>,
    is_kept: bool,
}

/// Maximum number of flats that the member can name, because each name needs a search.
const MOST: usize = 20;

/// Returns the ids of the flats that the form field `flats` names, one name per line. If there are
/// too many names, or if a name does not identify exactly one flat, the inner error is a message
/// about the problem.
async fn flats_named(
    request: &ConsoleRequest,
) -> Result<Result<Vec<Uuid>, String>, ConsoleRefusal> {
    let words = &request.texts.webhooks;
    let names: Vec<&str> = request
        .form_value("flats")
        .unwrap_or_default()
        .lines()
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .collect();
    if names.len() > MOST {
        return Ok(Err(fill(
            words.too_many_flats,
            &[("count", &MOST.to_string())],
        )));
    }
    let mut ids = Vec::new();
    for name in names {
        match flats::by_name(request, name).await? {
            Ok(id) => ids.push(id),
            Err(_) => return Ok(Err(fill(words.which_flat, &[("name", name)]))),
        }
    }
    Ok(Ok(ids))
}

async fn page(
    request: &ConsoleRequest,
    status: u16,
    messages: Vec<String>,
) -> Result<Response, ConsoleRefusal> {
    let words = &request.texts.webhooks;
    let all = request.read(LIST_WEBHOOK_EVENT_TYPES, json!({})).await?;
    let mut events: Vec<Event> = all.iter().map(|one| one.event).collect();
    let is_known = events.contains(&OF_APPS);
    events.retain(|event| request.may_send(CREATE, &json!({ "event": event })));
    // The fields show the values of the submitted form, or else those in the query of the URL. A
    // link that creates a similar subscription has the event and the target in its query.
    let query = |name: &str| {
        request
            .form_value(name)
            .or_else(|| request.query_parameter(name))
            .unwrap_or_default()
    };
    let chosen = query("event");
    let page = NewSubscription {
        frame: ConsoleFrame::new(request, words.new).with_parent(
            request,
            words.webhooks,
            SCREEN.path,
        ),
        action: request.address("/webhooks/new"),
        key: request.form_key(),
        is_for_apps: is_known && !events.contains(&OF_APPS),
        flats: flats::may_search(request).then(|| {
            (
                request.form_value("flats").unwrap_or_default().to_owned(),
                fill(words.only_flats_hint, &[("count", &MOST.to_string())]),
            )
        }),
        events: events
            .into_iter()
            .map(|event| (event, <&str>::from(event) == chosen))
            .collect(),
        url: query("targetUrl").to_owned(),
        messages,
        is_kept: !request.fields.is_empty() && !request.may_write(),
    };
    Ok(reply::page_of_template(request, status, &page))
}

pub(super) fn new(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(page(request, 200, Vec::new()))
}

pub(super) fn create(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        if !request.may_write() {
            return page(request, 200, Vec::new()).await;
        }
        let url = request.form_value("targetUrl").unwrap_or_default().trim();
        let flats = match flats_named(request).await? {
            Ok(flats) => flats,
            Err(problem) => return page(request, 400, vec![problem]).await,
        };
        let mut arguments =
            json!({ "event": request.form_value("event").unwrap_or_default(), "targetUrl": url });
        if !flats.is_empty() {
            arguments["filters"] = json!({ "propertyIds": flats });
        }
        let created = request
            .create_as(CREATE_WEBHOOK_SUBSCRIPTION, arguments, &request.key(CREATE))
            .await;
        match ConsoleRefusal::split_by_input(created)? {
            Ok(created) => Ok(secret::secret_page(request, &created)),
            Err(refusal) => page(request, refusal.status, refusal.sentences(request)).await,
        }
    })
}
