//! Calendar feeds: the list, the form for a new feed, and a page for each feed. That page shows the
//! state of the feed, and the entries that wait for the member's decision.

use std::sync::Arc;

use askama::Template;
use axum::response::Response;
use features::calendars::{Ambiguous, CalendarFeed, GET_CALENDAR_FEED, LIST_CALENDAR_FEEDS};
use features::words::fill;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::flats;
use super::frame::{CompletedAction, ConsoleFrame};
use super::paging::Paging;
use super::refusal::{ConsoleRefusal, FormAttempt};
use super::reply;
use super::request::ConsoleRequest;
use super::screens::{Screen, ScreenGroup, ScreenPage, ScreenResponse, resource_address};
use super::time_format::{self, FormattedTime};

const READ: &str = GET_CALENDAR_FEED.id();
const CREATE: &str = "createCalendarFeed";
const DELETE: &str = "deleteCalendarFeed";
/// The operation that finds the flat of a new feed by the name that the member typed.
const FLATS: &str = "listProperties";
const REFRESH: &str = "refreshCalendarFeed";
const HELD: &str = "listHeldReservations";
/// The operation that saves the member's decision whether a calendar entry is a booking.
const DECIDE: &str = "putRecords";

pub static SCREEN: Screen = Screen {
    path: "/calendars",
    icon: "calendar-sync",
    title: |words| words.calendars.feeds,
    group: ScreenGroup::Setup,
    needs: Some(LIST_CALENDAR_FEEDS.id()),
    pages: &[
        ScreenPage::get("getCalendarsScreen", "/calendars", list),
        ScreenPage::get("getNewCalendarScreen", "/calendars/new", new).with_needs(&[CREATE, FLATS]),
        ScreenPage::post("createCalendarOnScreen", "/calendars/new", create)
            .with_needs(&[CREATE, FLATS]),
        ScreenPage::get("getCalendarScreen", "/calendars/{id}", show).with_needs(&[READ]),
        ScreenPage::post(
            "refreshCalendarOnScreen",
            "/calendars/{id}/refresh",
            refresh,
        )
        .with_needs(&[READ, REFRESH]),
        ScreenPage::post("decideOnScreen", "/calendars/{id}/held", decide)
            .with_needs(&[READ, HELD, DECIDE]),
        ScreenPage::get("getDeleteCalendarScreen", "/calendars/{id}/delete", ask)
            .with_needs(&[READ, DELETE]),
        ScreenPage::post("deleteCalendarOnScreen", "/calendars/{id}/delete", delete)
            .with_needs(&[READ, DELETE]),
    ],
};

/// Returns the label of a feed's state, and the CSS class of the label.
fn state_label(request: &ConsoleRequest, feed: &CalendarFeed) -> (&'static str, &'static str) {
    let words = &request.texts.calendars;
    if feed.last_error.is_some() {
        (words.failing, "bad")
    } else if feed.last_fetched_at.is_some() {
        (words.working, "on")
    } else {
        (words.waiting, "off")
    }
}

/// Describes why the last fetch of a feed failed.
fn failure(request: &ConsoleRequest, feed: &CalendarFeed) -> Option<String> {
    let error = feed.last_error.as_ref()?;
    let known = feed
        .last_error_code
        .and_then(|code| request.texts.calendars.failure(code));
    Some(match known {
        // The message in `last_error` has details, such as an HTTP status, but exists only in
        // English.
        Some(_) if request.language == "en" => error.clone(),
        Some(known) => known.to_owned(),
        None => error.clone(),
    })
}

/// Reads the calendar feed whose id is in the path of the request.
async fn named(request: &ConsoleRequest) -> Result<Arc<CalendarFeed>, ConsoleRefusal> {
    let arguments = json!({ "id": request.path_id("id")? });
    request.read(GET_CALENDAR_FEED, arguments).await
}

/// A feed in the list of calendar feeds. `way` is the address of the feed's page, and `state` is a
/// label with its CSS class.
struct FeedRow {
    way: String,
    flat: String,
    channel: String,
    url: String,
    state: (&'static str, &'static str),
    failure: Option<String>,
}

#[derive(Template)]
#[template(path = "calendars.html")]
struct CalendarList<'v> {
    frame: ConsoleFrame<'v>,
    rows: Vec<FeedRow>,
    paging: Paging,
    new: Option<String>,
}

fn list(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        let feeds = request.read(LIST_CALENDAR_FEEDS, json!({})).await?;
        let paging = Paging::of(request, SCREEN.path, feeds.len());
        let feeds = paging.rows_of_page(feeds.iter().collect());
        let flats = flats::by_ids(request, feeds.iter().map(|feed| feed.property_id)).await?;
        let row = |feed: &CalendarFeed| FeedRow {
            way: request.address(&format!("/calendars/{}", feed.id)),
            flat: flats
                .get(&feed.property_id)
                .map(|flat| flat.name.clone())
                .filter(|name| !name.trim().is_empty())
                .unwrap_or_else(|| feed.property_id.to_string()),
            state: state_label(request, feed),
            failure: failure(request, feed),
            channel: feed.channel.clone(),
            url: feed.url.clone(),
        };
        let page = CalendarList {
            frame: ConsoleFrame::new(request, request.texts.calendars.feeds),
            rows: feeds.into_iter().map(row).collect(),
            paging,
            new: resource_address(request, "/calendars/new", ""),
        };
        Ok(reply::page_of_template(request, 200, &page))
    })
}

#[derive(Template)]
#[template(path = "calendar-new.html")]
struct NewCalendar<'v> {
    frame: ConsoleFrame<'v>,
    action: String,
    key: String,
    flat: String,
    url: String,
    channel: String,
    /// The ways to treat calendar entries that may or may not be bookings. Each has its form value,
    /// its label, and whether it is selected.
    choices: Vec<(&'static str, &'static str, bool)>,
    messages: Vec<String>,
    is_kept: bool,
}

fn form(request: &ConsoleRequest, attempt: FormAttempt) -> Response {
    let words = &request.texts.calendars;
    // A link from the page of a flat to this form contains the name of the flat in its query.
    let query = |name: &str| {
        let text = request
            .form_value(name)
            .or_else(|| request.query_parameter(name));
        text.unwrap_or_default().to_owned()
    };
    let chosen = query("ambiguous");
    let choices = [
        ("hold", words.hold),
        ("import", words.import),
        ("ignore", words.ignore),
    ];
    let page = NewCalendar {
        frame: ConsoleFrame::new(request, words.new).with_parent(request, words.feeds, SCREEN.path),
        action: request.address("/calendars/new"),
        key: request.form_key(),
        flat: query("flat"),
        url: query("url"),
        channel: query("channel"),
        choices: choices
            .map(|(value, label)| (value, label, value == chosen))
            .into(),
        messages: attempt.messages,
        is_kept: attempt.is_returned,
    };
    reply::page_of_template(request, attempt.status, &page)
}

fn new(request: &ConsoleRequest) -> ScreenResponse<'_> {
    let attempt = FormAttempt::of(request, None);
    Box::pin(std::future::ready(Ok(form(request, attempt))))
}

fn create(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        if !request.may_write() {
            return Ok(form(request, FormAttempt::of(request, None)));
        }
        if !request.may(CREATE) {
            return Err(ConsoleRefusal::forbidden());
        }
        let typed = |name: &str| request.form_value(name).unwrap_or_default().trim();
        let flat = typed("flat");
        let Ok(property) = flats::by_name(request, flat).await? else {
            let problem = fill(request.texts.calendars.which_flat, &[("name", flat)]);
            return Ok(form(
                request,
                FormAttempt::with_messages(request, 400, vec![problem]),
            ));
        };
        let ambiguous = Some(typed("ambiguous")).filter(|choice| !choice.is_empty());
        let arguments = json!({
            "propertyId": property,
            "url": typed("url"),
            "channel": typed("channel"),
            "ambiguous": ambiguous,
        });
        let created = request
            .create::<Value>(CREATE, arguments, &request.key(CREATE))
            .await;
        match ConsoleRefusal::split_by_input(created)? {
            Ok(created) => {
                let path = format!("/calendars/{}", created["id"].as_str().unwrap_or_default());
                Ok(reply::redirect_with_confirmation(
                    request,
                    &path,
                    CompletedAction::Created,
                ))
            }
            Err(refusal) => Ok(form(request, FormAttempt::of(request, Some(&refusal)))),
        }
    })
}

/// A calendar entry that waits until a member decides whether it is a booking.
struct HeldRow {
    id: Uuid,
    days: String,
    way: Option<String>,
}

#[derive(Template)]
#[template(path = "calendar.html")]
struct CalendarPage<'v> {
    frame: ConsoleFrame<'v>,
    feed: Arc<CalendarFeed>,
    flat: String,
    state: (&'static str, &'static str),
    failure: Option<String>,
    ambiguous: &'static str,
    last: Option<FormattedTime>,
    tried: Option<FormattedTime>,
    /// The entries of the calendar that wait until a member decides whether they are bookings.
    /// `None` if the member may not read them.
    held: Option<Vec<HeldRow>>,
    may_decide: bool,
    may_refresh: bool,
    delete: Option<String>,
    path: String,
    key: String,
    messages: Vec<String>,
}

async fn one(
    request: &ConsoleRequest,
    status: u16,
    messages: Vec<String>,
) -> Result<Response, ConsoleRefusal> {
    let feed = named(request).await?;
    let words = &request.texts.calendars;
    let flats = flats::by_ids(request, std::iter::once(feed.property_id)).await?;
    let flat = flats
        .get(&feed.property_id)
        .map_or_else(|| feed.property_id.to_string(), |flat| flat.name.clone());
    let held = if request.may(HELD) {
        Some(held(request, feed.id).await?)
    } else {
        None
    };
    let title = format!("{flat} · {}", feed.channel);
    let id = feed.id.to_string();
    let page = CalendarPage {
        frame: ConsoleFrame::new(request, title).with_parent(request, words.feeds, SCREEN.path),
        state: state_label(request, &feed),
        failure: failure(request, &feed),
        ambiguous: match feed.ambiguous {
            Ambiguous::Hold => words.hold,
            Ambiguous::Ignore => words.ignore,
            Ambiguous::Import => words.import,
        },
        last: time_format::of_any(request, feed.last_fetched_at),
        tried: time_format::of_any(request, feed.last_attempt_at),
        held,
        may_decide: may_decide(request),
        may_refresh: request.may(REFRESH),
        delete: resource_address(request, "/calendars/{id}/delete", &id),
        path: request.address(&format!("/calendars/{id}")),
        key: request.new_key(),
        feed,
        flat,
        messages,
    };
    Ok(reply::page_of_template(request, status, &page))
}

/// Reads the reservations of a feed that wait for the member's decision.
async fn held_records(
    request: &ConsoleRequest,
    feed: Uuid,
) -> Result<Vec<Map<String, Value>>, ConsoleRefusal> {
    request.get(HELD, json!({ "id": feed })).await
}

async fn held(request: &ConsoleRequest, feed: Uuid) -> Result<Vec<HeldRow>, ConsoleRefusal> {
    let row = |record: Map<String, Value>| {
        let text = |field: &str| {
            record
                .get(field)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let id: Uuid = text("id").parse().ok()?;
        Some(HeldRow {
            id,
            days: time_format::days(request, text("checkIn"), text("checkOut")),
            way: resource_address(request, "/stays/{id}", &id.to_string()),
        })
    };
    let records = held_records(request, feed).await?;
    Ok(records.into_iter().filter_map(row).collect())
}

fn show(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(one(request, 200, Vec::new()))
}

fn refresh(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        let feed = named(request).await?;
        let path = format!("/calendars/{}", feed.id);
        if !request.may_write() {
            return one(request, 200, Vec::new()).await;
        }
        let refreshed = request
            .create::<Value>(REFRESH, json!({ "id": feed.id }), &request.key(REFRESH))
            .await;
        match ConsoleRefusal::split_by_input(refreshed)? {
            Ok(_) => Ok(reply::redirect(request, &path)),
            Err(refusal) => one(request, refusal.status, refusal.sentences(request)).await,
        }
    })
}

/// Returns whether the member may decide which calendar entries are bookings. The decision changes
/// a reservation, and only members with access to all flats may change records.
fn may_decide(request: &ConsoleRequest) -> bool {
    request.manages_whole_organization() && request.may(DECIDE)
}

/// Confirms or cancels the tentative reservation of a calendar entry, as the member decided.
fn decide(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        if !may_decide(request) {
            return Err(ConsoleRefusal::missing());
        }
        let feed = named(request).await?;
        if !request.may_write() {
            return one(request, 200, Vec::new()).await;
        }
        let path = format!("/calendars/{}", feed.id);
        let (sent, status) = match (request.form_value("confirm"), request.form_value("refuse")) {
            (Some(id), _) => (id, "confirmed"),
            (None, Some(id)) => (id, "cancelled"),
            (None, None) => {
                return Ok(reply::redirect_with_confirmation(
                    request,
                    &path,
                    CompletedAction::Unchanged,
                ));
            }
        };
        let records = held_records(request, feed.id).await?;
        let found = records
            .into_iter()
            .find(|record| record.get("id").and_then(Value::as_str) == Some(sent));
        // Another member has confirmed or refused the reservation in the meantime, so the
        // reservation no longer waits for a decision.
        let Some(mut data) = found else {
            return Ok(reply::redirect_with_confirmation(
                request,
                &path,
                CompletedAction::Unchanged,
            ));
        };
        for own in ["id", "createdAt", "updatedAt", "origin"] {
            data.remove(own);
        }
        data.insert("status".into(), status.into());
        let record = json!({ "kind": "reservation", "id": sent, "data": data });
        let decided = request.change(DECIDE, json!({ "records": [record] })).await;
        match ConsoleRefusal::split_by_input(decided)? {
            Ok(_) => Ok(reply::redirect_with_confirmation(
                request,
                &path,
                CompletedAction::Saved,
            )),
            Err(refusal) => one(request, refusal.status, refusal.sentences(request)).await,
        }
    })
}

#[derive(Template)]
#[template(path = "calendar-delete.html")]
struct CalendarConfirmation<'v> {
    frame: ConsoleFrame<'v>,
    feed: Arc<CalendarFeed>,
    action: String,
    back: String,
    messages: Vec<String>,
    is_kept: bool,
}

async fn confirmation(
    request: &ConsoleRequest,
    refused: Option<ConsoleRefusal>,
) -> Result<Response, ConsoleRefusal> {
    let feed = named(request).await?;
    let words = &request.texts.calendars;
    let path = format!("/calendars/{}", feed.id);
    let FormAttempt {
        status,
        messages,
        is_returned: is_kept,
    } = FormAttempt::of(request, refused.as_ref());
    let page = CalendarConfirmation {
        frame: ConsoleFrame::new(request, words.delete_title)
            .with_parent(request, words.feeds, SCREEN.path)
            .with_parent(request, feed.channel.clone(), &path),
        action: request.address(&format!("{path}/delete")),
        back: request.address(&path),
        feed,
        messages,
        is_kept,
    };
    Ok(reply::page_of_template(request, status, &page))
}

fn ask(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(confirmation(request, None))
}

fn delete(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        if !request.may_write() {
            return confirmation(request, None).await;
        }
        let arguments = json!({
            "id": request.path_id("id")?,
            "cancelUpcoming": request.form_value("cancelUpcoming").is_some(),
        });
        let deleted = request.change(DELETE, arguments).await;
        match ConsoleRefusal::split_by_input(deleted)? {
            Ok(_) => Ok(reply::redirect_with_confirmation(
                request,
                SCREEN.path,
                CompletedAction::Removed,
            )),
            Err(refusal) => confirmation(request, Some(refusal)).await,
        }
    })
}
