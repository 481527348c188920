//! Calendar feeds: the list, the form for a new feed, and a page for each feed with its state and
//! the entries that wait for a decision.

use std::sync::Arc;

use askama::Template;
use axum::response::Response;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::flats;
use super::frame::{CompletedAction, ConsoleFrame};
use super::paging::Paging;
use super::refusal::{ConsoleRefusal, FormAttempt};
use super::reply;
use super::screens::{Screen, ScreenAnswer, ScreenGroup, ScreenPage, way};
use super::visit::ConsoleRequest;
use super::when::{self, When};
use crate::calendars::{Ambiguous, CalendarFeed, GET_CALENDAR_FEED, LIST_CALENDAR_FEEDS};
use crate::words::fill;

const READ: &str = GET_CALENDAR_FEED.id();
const CREATE: &str = "createCalendarFeed";
const DELETE: &str = "deleteCalendarFeed";
/// The operation with which the form finds the flat of a new feed.
const FLATS: &str = "listProperties";
const REFRESH: &str = "refreshCalendarFeed";
const HELD: &str = "listHeldReservations";
/// The operation that writes a decision on a held entry.
const DECIDE: &str = "putRecords";

/// The screen of the calendar feeds.
pub static SCREEN: Screen = Screen {
    path: "/calendars",
    icon: "calendar-sync",
    title: |words| words.calendars.feeds,
    group: ScreenGroup::Setup,
    needs: Some(LIST_CALENDAR_FEEDS.id()),
    pages: &[
        ScreenPage::get("getCalendarsScreen", "/calendars", list),
        ScreenPage::get("getNewCalendarScreen", "/calendars/new", new).needing(&[CREATE, FLATS]),
        ScreenPage::post("createCalendarOnScreen", "/calendars/new", create)
            .needing(&[CREATE, FLATS]),
        ScreenPage::get("getCalendarScreen", "/calendars/{id}", show).needing(&[READ]),
        ScreenPage::post(
            "refreshCalendarOnScreen",
            "/calendars/{id}/refresh",
            refresh,
        )
        .needing(&[READ, REFRESH]),
        ScreenPage::post("decideOnScreen", "/calendars/{id}/held", decide)
            .needing(&[READ, HELD, DECIDE]),
        ScreenPage::get("getDeleteCalendarScreen", "/calendars/{id}/delete", ask)
            .needing(&[READ, DELETE]),
        ScreenPage::post("deleteCalendarOnScreen", "/calendars/{id}/delete", delete)
            .needing(&[READ, DELETE]),
    ],
};

/// Returns the label of a feed's state, and the class of the label.
fn state_label(visit: &ConsoleRequest, feed: &CalendarFeed) -> (&'static str, &'static str) {
    let words = &visit.words.calendars;
    if feed.last_error.is_some() {
        (words.failing, "bad")
    } else if feed.last_fetched_at.is_some() {
        (words.working, "on")
    } else {
        (words.waiting, "off")
    }
}

/// Describes why the last fetch of a feed failed.
fn failure(visit: &ConsoleRequest, feed: &CalendarFeed) -> Option<String> {
    let error = feed.last_error.as_ref()?;
    let known = feed
        .last_error_code
        .and_then(|code| visit.words.calendars.failure(code));
    Some(match known {
        // The message has details, such as a status, and is in English.
        Some(_) if visit.language == "en" => error.clone(),
        Some(known) => known.to_owned(),
        None => error.clone(),
    })
}

/// Reads the feed that the path names.
async fn named(visit: &ConsoleRequest) -> Result<Arc<CalendarFeed>, ConsoleRefusal> {
    let arguments = json!({ "id": visit.named("id")? });
    visit.read(GET_CALENDAR_FEED, arguments).await
}

/// A feed, as the list shows it.
struct FeedRow {
    way: String,
    flat: String,
    channel: String,
    url: String,
    state: (&'static str, &'static str),
    failure: Option<String>,
}

#[derive(Template)]
#[template(path = "console/calendars.html")]
struct CalendarList<'v> {
    frame: ConsoleFrame<'v>,
    rows: Vec<FeedRow>,
    paging: Paging,
    new: Option<String>,
}

fn list(visit: &ConsoleRequest) -> ScreenAnswer<'_> {
    Box::pin(async move {
        let feeds = visit.read(LIST_CALENDAR_FEEDS, json!({})).await?;
        let paging = Paging::of(visit, SCREEN.path, feeds.len());
        let feeds = paging.cut(feeds.iter().collect());
        let flats = flats::among(visit, feeds.iter().map(|feed| feed.property_id)).await?;
        let row = |feed: &CalendarFeed| FeedRow {
            way: visit.address(&format!("/calendars/{}", feed.id)),
            flat: flats
                .get(&feed.property_id)
                .map(|flat| flat.name.clone())
                .filter(|name| !name.trim().is_empty())
                .unwrap_or_else(|| feed.property_id.to_string()),
            state: state_label(visit, feed),
            failure: failure(visit, feed),
            channel: feed.channel.clone(),
            url: feed.url.clone(),
        };
        let page = CalendarList {
            frame: ConsoleFrame::new(visit, visit.words.calendars.feeds),
            rows: feeds.into_iter().map(row).collect(),
            paging,
            new: way(visit, "/calendars/new", ""),
        };
        Ok(reply::of(visit, 200, &page))
    })
}

#[derive(Template)]
#[template(path = "console/calendar-new.html")]
struct NewCalendar<'v> {
    frame: ConsoleFrame<'v>,
    action: String,
    key: String,
    flat: String,
    url: String,
    channel: String,
    /// The options for entries that may not be bookings: value, label, and whether it is selected.
    choices: Vec<(&'static str, &'static str, bool)>,
    messages: Vec<String>,
    is_kept: bool,
}

fn form(visit: &ConsoleRequest, attempt: FormAttempt) -> Response {
    let words = &visit.words.calendars;
    // The link from a flat's page contains the name of the flat.
    let query = |name: &str| {
        let text = visit.sent(name).or_else(|| visit.asks(name));
        text.unwrap_or_default().to_owned()
    };
    let chosen = query("ambiguous");
    let choices = [
        ("hold", words.hold),
        ("import", words.import),
        ("ignore", words.ignore),
    ];
    let page = NewCalendar {
        frame: ConsoleFrame::new(visit, words.new).below(visit, words.feeds, SCREEN.path),
        action: visit.address("/calendars/new"),
        key: visit.form_key(),
        flat: query("flat"),
        url: query("url"),
        channel: query("channel"),
        choices: choices
            .map(|(value, label)| (value, label, value == chosen))
            .into(),
        messages: attempt.of,
        is_kept: attempt.is_kept,
    };
    reply::of(visit, attempt.status, &page)
}

fn new(visit: &ConsoleRequest) -> ScreenAnswer<'_> {
    let attempt = FormAttempt::of(visit, None);
    Box::pin(std::future::ready(Ok(form(visit, attempt))))
}

fn create(visit: &ConsoleRequest) -> ScreenAnswer<'_> {
    Box::pin(async move {
        if !visit.may_write() {
            return Ok(form(visit, FormAttempt::of(visit, None)));
        }
        if !visit.may(CREATE) {
            return Err(ConsoleRefusal::forbidden());
        }
        let typed = |name: &str| visit.sent(name).unwrap_or_default().trim();
        let flat = typed("flat");
        let Ok(property) = flats::meant(visit, flat).await? else {
            let problem = fill(visit.words.calendars.which_flat, &[("name", flat)]);
            return Ok(form(
                visit,
                FormAttempt::answered(visit, 400, vec![problem]),
            ));
        };
        let ambiguous = Some(typed("ambiguous")).filter(|choice| !choice.is_empty());
        let arguments = json!({
            "propertyId": property, "url": typed("url"), "channel": typed("channel"), "ambiguous": ambiguous,
        });
        let created = visit
            .create::<Value>(CREATE, arguments, &visit.key(CREATE))
            .await;
        match ConsoleRefusal::of_what_was_sent(created)? {
            Ok(created) => {
                let path = format!("/calendars/{}", created["id"].as_str().unwrap_or_default());
                Ok(reply::done(visit, &path, CompletedAction::Created))
            }
            Err(refusal) => Ok(form(visit, FormAttempt::of(visit, Some(&refusal)))),
        }
    })
}

/// A held entry, as the page shows it.
struct HeldRow {
    id: Uuid,
    days: String,
    way: Option<String>,
}

#[derive(Template)]
#[template(path = "console/calendar.html")]
struct CalendarPage<'v> {
    frame: ConsoleFrame<'v>,
    feed: Arc<CalendarFeed>,
    flat: String,
    state: (&'static str, &'static str),
    failure: Option<String>,
    ambiguous: &'static str,
    last: Option<When>,
    tried: Option<When>,
    /// The entries that wait for a decision. `None` if the member may not read them.
    held: Option<Vec<HeldRow>>,
    may_decide: bool,
    may_refresh: bool,
    delete: Option<String>,
    path: String,
    key: String,
    messages: Vec<String>,
}

async fn one(
    visit: &ConsoleRequest,
    status: u16,
    messages: Vec<String>,
) -> Result<Response, ConsoleRefusal> {
    let feed = named(visit).await?;
    let words = &visit.words.calendars;
    let flats = flats::among(visit, std::iter::once(feed.property_id)).await?;
    let flat = flats
        .get(&feed.property_id)
        .map_or_else(|| feed.property_id.to_string(), |flat| flat.name.clone());
    let held = if visit.may(HELD) {
        Some(held(visit, feed.id).await?)
    } else {
        None
    };
    let title = format!("{flat} · {}", feed.channel);
    let id = feed.id.to_string();
    let page = CalendarPage {
        frame: ConsoleFrame::new(visit, title).below(visit, words.feeds, SCREEN.path),
        state: state_label(visit, &feed),
        failure: failure(visit, &feed),
        ambiguous: match feed.ambiguous {
            Ambiguous::Hold => words.hold,
            Ambiguous::Ignore => words.ignore,
            Ambiguous::Import => words.import,
        },
        last: when::of_any(visit, feed.last_fetched_at),
        tried: when::of_any(visit, feed.last_attempt_at),
        held,
        may_decide: may_decide(visit),
        may_refresh: visit.may(REFRESH),
        delete: way(visit, "/calendars/{id}/delete", &id),
        path: visit.address(&format!("/calendars/{id}")),
        key: visit.new_key(),
        feed,
        flat,
        messages,
    };
    Ok(reply::of(visit, status, &page))
}

/// Reads the reservations of a feed that wait for a decision.
async fn held_records(
    visit: &ConsoleRequest,
    feed: Uuid,
) -> Result<Vec<Map<String, Value>>, ConsoleRefusal> {
    visit.get(HELD, json!({ "id": feed })).await
}

async fn held(visit: &ConsoleRequest, feed: Uuid) -> Result<Vec<HeldRow>, ConsoleRefusal> {
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
            days: when::days(visit, text("checkIn"), text("checkOut")),
            way: way(visit, "/stays/{id}", &id.to_string()),
        })
    };
    let records = held_records(visit, feed).await?;
    Ok(records.into_iter().filter_map(row).collect())
}

fn show(visit: &ConsoleRequest) -> ScreenAnswer<'_> {
    Box::pin(one(visit, 200, Vec::new()))
}

fn refresh(visit: &ConsoleRequest) -> ScreenAnswer<'_> {
    Box::pin(async move {
        let feed = named(visit).await?;
        let path = format!("/calendars/{}", feed.id);
        if !visit.may_write() {
            return one(visit, 200, Vec::new()).await;
        }
        let refreshed = visit
            .create::<Value>(REFRESH, json!({ "id": feed.id }), &visit.key(REFRESH))
            .await;
        match ConsoleRefusal::of_what_was_sent(refreshed)? {
            Ok(_) => Ok(reply::to(visit, &path)),
            Err(refusal) => one(visit, refusal.status, refusal.sentences(visit)).await,
        }
    })
}

/// Returns whether the member may decide on held entries. As for every change of records by hand,
/// the member needs access to all flats.
fn may_decide(visit: &ConsoleRequest) -> bool {
    visit.answers_for_organization() && visit.may(DECIDE)
}

/// Confirms or cancels a held entry.
fn decide(visit: &ConsoleRequest) -> ScreenAnswer<'_> {
    Box::pin(async move {
        if !may_decide(visit) {
            return Err(ConsoleRefusal::missing());
        }
        let feed = named(visit).await?;
        if !visit.may_write() {
            return one(visit, 200, Vec::new()).await;
        }
        let path = format!("/calendars/{}", feed.id);
        let (sent, status) = match (visit.sent("confirm"), visit.sent("refuse")) {
            (Some(id), _) => (id, "confirmed"),
            (None, Some(id)) => (id, "cancelled"),
            (None, None) => return Ok(reply::done(visit, &path, CompletedAction::Unchanged)),
        };
        let records = held_records(visit, feed.id).await?;
        let found = records
            .into_iter()
            .find(|record| record.get("id").and_then(Value::as_str) == Some(sent));
        // Another member has decided in the meantime.
        let Some(mut data) = found else {
            return Ok(reply::done(visit, &path, CompletedAction::Unchanged));
        };
        for own in ["id", "createdAt", "updatedAt", "origin"] {
            data.remove(own);
        }
        data.insert("status".into(), status.into());
        let record = json!({ "kind": "reservation", "id": sent, "data": data });
        let decided = visit.change(DECIDE, json!({ "records": [record] })).await;
        match ConsoleRefusal::of_what_was_sent(decided)? {
            Ok(_) => Ok(reply::done(visit, &path, CompletedAction::Saved)),
            Err(refusal) => one(visit, refusal.status, refusal.sentences(visit)).await,
        }
    })
}

#[derive(Template)]
#[template(path = "console/calendar-delete.html")]
struct CalendarConfirmation<'v> {
    frame: ConsoleFrame<'v>,
    feed: Arc<CalendarFeed>,
    action: String,
    back: String,
    messages: Vec<String>,
    is_kept: bool,
}

async fn confirmation(
    visit: &ConsoleRequest,
    refused: Option<ConsoleRefusal>,
) -> Result<Response, ConsoleRefusal> {
    let feed = named(visit).await?;
    let words = &visit.words.calendars;
    let path = format!("/calendars/{}", feed.id);
    let FormAttempt {
        status,
        of: messages,
        is_kept,
    } = FormAttempt::of(visit, refused.as_ref());
    let page = CalendarConfirmation {
        frame: ConsoleFrame::new(visit, words.delete_title)
            .below(visit, words.feeds, SCREEN.path)
            .below(visit, feed.channel.clone(), &path),
        action: visit.address(&format!("{path}/delete")),
        back: visit.address(&path),
        feed,
        messages,
        is_kept,
    };
    Ok(reply::of(visit, status, &page))
}

fn ask(visit: &ConsoleRequest) -> ScreenAnswer<'_> {
    Box::pin(confirmation(visit, None))
}

fn delete(visit: &ConsoleRequest) -> ScreenAnswer<'_> {
    Box::pin(async move {
        if !visit.may_write() {
            return confirmation(visit, None).await;
        }
        let arguments = json!({
            "id": visit.named("id")?, "cancelUpcoming": visit.sent("cancelUpcoming").is_some(),
        });
        let deleted = visit.change(DELETE, arguments).await;
        match ConsoleRefusal::of_what_was_sent(deleted)? {
            Ok(_) => Ok(reply::done(visit, SCREEN.path, CompletedAction::Removed)),
            Err(refusal) => confirmation(visit, Some(refusal)).await,
        }
    })
}
