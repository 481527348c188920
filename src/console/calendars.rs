//! Calendar feeds: the list, the form for a new one, and a page with the state of each, with the
//! entries that wait for a decision.

use askama::Template;
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::flats;
use super::frame::{Done, Frame};
use super::paging::Paging;
use super::refusal::{FormAttempt, Refusal};
use super::reply;
use super::screens::{Answering, Group, Page, Screen, way};
use super::visit::Visit;
use super::when::{self, When};
use crate::words::fill;

const LIST: &str = "listCalendarFeeds";
const READ: &str = "getCalendarFeed";
const CREATE: &str = "createCalendarFeed";
const DELETE: &str = "deleteCalendarFeed";
/// The operation that finds the flat of a new feed.
const FLATS: &str = "listProperties";
const REFRESH: &str = "refreshCalendarFeed";
const HELD: &str = "listHeldReservations";
/// The operation that decides on a held entry.
const DECIDE: &str = "putRecords";

/// The screen of the calendar feeds.
pub static SCREEN: Screen = Screen {
    path: "/calendars",
    icon: "calendar-sync",
    title: |words| words.calendars.feeds,
    group: Group::Setup,
    needs: Some(LIST),
    pages: &[
        Page::get("getCalendarsScreen", "/calendars", list),
        Page::get("getNewCalendarScreen", "/calendars/new", new).needing(&[CREATE, FLATS]),
        Page::post("createCalendarOnScreen", "/calendars/new", create).needing(&[CREATE, FLATS]),
        Page::get("getCalendarScreen", "/calendars/{id}", show).needing(&[READ]),
        Page::post(
            "refreshCalendarOnScreen",
            "/calendars/{id}/refresh",
            refresh,
        )
        .needing(&[READ, REFRESH]),
        Page::post("decideOnScreen", "/calendars/{id}/held", decide).needing(&[READ, HELD, DECIDE]),
        Page::get("getDeleteCalendarScreen", "/calendars/{id}/delete", ask)
            .needing(&[READ, DELETE]),
        Page::post("deleteCalendarOnScreen", "/calendars/{id}/delete", delete)
            .needing(&[READ, DELETE]),
    ],
};

/// A feed, as the operations return it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feed {
    id: Uuid,
    property_id: Uuid,
    url: String,
    channel: String,
    ambiguous: String,
    last_fetched_at: Option<String>,
    last_attempt_at: Option<String>,
    last_error: Option<String>,
    last_error_code: Option<String>,
    consecutive_failures: u32,
    reservation_count: u64,
    skipped_count: u32,
    warnings: Vec<Fault>,
}

#[derive(Debug, Clone, Deserialize)]
struct Fault {
    uid: Option<String>,
    problem: String,
}

impl Feed {
    /// Returns the label of its state, and the class of the label.
    fn standing(&self, visit: &Visit) -> (&'static str, &'static str) {
        let words = &visit.words.calendars;
        if self.last_error.is_some() {
            (words.failing, "bad")
        } else if self.last_fetched_at.is_some() {
            (words.working, "on")
        } else {
            (words.waiting, "off")
        }
    }

    /// Describes why the last fetch failed.
    fn failure(&self, visit: &Visit) -> Option<String> {
        let error = self.last_error.as_ref()?;
        let known = self
            .last_error_code
            .as_deref()
            .and_then(|code| visit.words.calendars.failure(code));
        Some(match known {
            // The message has details, such as a status, and is in English.
            Some(_) if visit.language == "en" => error.clone(),
            Some(known) => known.to_owned(),
            None => error.clone(),
        })
    }
}

async fn all(visit: &Visit) -> Result<Vec<Feed>, Refusal> {
    visit.get(LIST, json!({})).await
}

/// Reads the feed that the path names.
async fn named(visit: &Visit) -> Result<Feed, Refusal> {
    visit.get(READ, json!({ "id": visit.named("id")? })).await
}

/// A feed, as the list shows it.
struct Row {
    way: String,
    flat: String,
    channel: String,
    url: String,
    standing: (&'static str, &'static str),
    failure: Option<String>,
}

#[derive(Template)]
#[template(path = "console/calendars.html")]
struct List<'v> {
    frame: Frame<'v>,
    rows: Vec<Row>,
    paging: Paging,
    new: Option<String>,
}

fn list(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        let feeds = all(visit).await?;
        let paging = Paging::of(visit, SCREEN.path, feeds.len());
        let feeds = paging.cut(feeds);
        let flats = flats::among(visit, feeds.iter().map(|feed| feed.property_id)).await?;
        let row = |feed: Feed| Row {
            way: visit.address(&format!("/calendars/{}", feed.id)),
            flat: flats
                .get(&feed.property_id)
                .map(|flat| flat.name.clone())
                .filter(|name| !name.trim().is_empty())
                .unwrap_or_else(|| feed.property_id.to_string()),
            standing: feed.standing(visit),
            failure: feed.failure(visit),
            channel: feed.channel,
            url: feed.url,
        };
        let page = List {
            frame: Frame::new(visit, visit.words.calendars.feeds),
            rows: feeds.into_iter().map(row).collect(),
            paging,
            new: way(visit, "/calendars/new", ""),
        };
        Ok(reply::of(visit, 200, &page))
    })
}

#[derive(Template)]
#[template(path = "console/calendar-new.html")]
struct New<'v> {
    frame: Frame<'v>,
    action: String,
    key: String,
    flat: String,
    url: String,
    channel: String,
    /// The choices for unclear entries: value, label, and whether it is chosen.
    choices: Vec<(&'static str, &'static str, bool)>,
    said: Vec<String>,
    is_kept: bool,
}

fn form(visit: &Visit, attempt: FormAttempt) -> Response {
    let words = &visit.words.calendars;
    // A link from a flat contains its name.
    let given = |name: &str| {
        let text = visit.sent(name).or_else(|| visit.asks(name));
        text.unwrap_or_default().to_owned()
    };
    let chosen = given("ambiguous");
    let choices = [
        ("hold", words.hold),
        ("import", words.import),
        ("ignore", words.ignore),
    ];
    let page = New {
        frame: Frame::new(visit, words.new).below(visit, words.feeds, SCREEN.path),
        action: visit.address("/calendars/new"),
        key: visit.form_key(),
        flat: given("flat"),
        url: given("url"),
        channel: given("channel"),
        choices: choices
            .map(|(value, label)| (value, label, value == chosen))
            .into(),
        said: attempt.said,
        is_kept: attempt.is_kept,
    };
    reply::of(visit, attempt.status, &page)
}

fn new(visit: &Visit) -> Answering<'_> {
    let attempt = FormAttempt::of(visit, None);
    Box::pin(std::future::ready(Ok(form(visit, attempt))))
}

fn create(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        if !visit.may_write() {
            return Ok(form(visit, FormAttempt::of(visit, None)));
        }
        if !visit.may(CREATE) {
            return Err(Refusal::forbidden());
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
        let made = visit
            .create::<Value>(CREATE, arguments, &visit.key(CREATE))
            .await;
        match Refusal::of_what_was_sent(made)? {
            Ok(made) => {
                let path = format!("/calendars/{}", made["id"].as_str().unwrap_or_default());
                Ok(reply::done(visit, &path, Done::Created))
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
struct Shown<'v> {
    frame: Frame<'v>,
    feed: Feed,
    flat: String,
    standing: (&'static str, &'static str),
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
    said: Vec<String>,
}

async fn one(visit: &Visit, status: u16, said: Vec<String>) -> Result<Response, Refusal> {
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
    let page = Shown {
        frame: Frame::new(visit, title).below(visit, words.feeds, SCREEN.path),
        standing: feed.standing(visit),
        failure: feed.failure(visit),
        ambiguous: match feed.ambiguous.as_str() {
            "import" => words.import,
            "ignore" => words.ignore,
            _ => words.hold,
        },
        last: when::maybe(visit, feed.last_fetched_at.as_deref()),
        tried: when::maybe(visit, feed.last_attempt_at.as_deref()),
        held,
        may_decide: may_decide(visit),
        may_refresh: visit.may(REFRESH),
        delete: way(visit, "/calendars/{id}/delete", &id),
        path: visit.address(&format!("/calendars/{id}")),
        key: visit.new_key(),
        feed,
        flat,
        said,
    };
    Ok(reply::of(visit, status, &page))
}

/// Reads the reservations of a feed that wait for a decision.
async fn held_records(visit: &Visit, feed: Uuid) -> Result<Vec<Map<String, Value>>, Refusal> {
    visit.get(HELD, json!({ "id": feed })).await
}

async fn held(visit: &Visit, feed: Uuid) -> Result<Vec<HeldRow>, Refusal> {
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

fn show(visit: &Visit) -> Answering<'_> {
    Box::pin(one(visit, 200, Vec::new()))
}

fn refresh(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        let feed = named(visit).await?;
        let path = format!("/calendars/{}", feed.id);
        if !visit.may_write() {
            return one(visit, 200, Vec::new()).await;
        }
        let refreshed = visit
            .create::<Value>(REFRESH, json!({ "id": feed.id }), &visit.key(REFRESH))
            .await;
        match Refusal::of_what_was_sent(refreshed)? {
            Ok(_) => Ok(reply::to(visit, &path)),
            Err(refusal) => one(visit, refusal.status, refusal.sentences(visit)).await,
        }
    })
}

/// Returns whether the member may decide on held entries. Like every other change of records by hand,
/// a decision needs access to all flats.
fn may_decide(visit: &Visit) -> bool {
    visit.answers_for_organization() && visit.may(DECIDE)
}

/// Confirms or cancels a held entry.
fn decide(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        if !may_decide(visit) {
            return Err(Refusal::missing());
        }
        let feed = named(visit).await?;
        if !visit.may_write() {
            return one(visit, 200, Vec::new()).await;
        }
        let path = format!("/calendars/{}", feed.id);
        let (sent, status) = match (visit.sent("confirm"), visit.sent("refuse")) {
            (Some(id), _) => (id, "confirmed"),
            (None, Some(id)) => (id, "cancelled"),
            (None, None) => return Ok(reply::done(visit, &path, Done::Unchanged)),
        };
        let records = held_records(visit, feed.id).await?;
        let found = records
            .into_iter()
            .find(|record| record.get("id").and_then(Value::as_str) == Some(sent));
        // Somebody else has decided meanwhile.
        let Some(mut data) = found else {
            return Ok(reply::done(visit, &path, Done::Unchanged));
        };
        for own in ["id", "createdAt", "updatedAt", "origin"] {
            data.remove(own);
        }
        data.insert("status".into(), status.into());
        let record = json!({ "kind": "reservation", "id": sent, "data": data });
        let decided = visit.change(DECIDE, json!({ "records": [record] })).await;
        match Refusal::of_what_was_sent(decided)? {
            Ok(_) => Ok(reply::done(visit, &path, Done::Saved)),
            Err(refusal) => one(visit, refusal.status, refusal.sentences(visit)).await,
        }
    })
}

#[derive(Template)]
#[template(path = "console/calendar-delete.html")]
struct Ask<'v> {
    frame: Frame<'v>,
    feed: Feed,
    action: String,
    back: String,
    said: Vec<String>,
    is_kept: bool,
}

async fn asked(visit: &Visit, refused: Option<Refusal>) -> Result<Response, Refusal> {
    let feed = named(visit).await?;
    let words = &visit.words.calendars;
    let path = format!("/calendars/{}", feed.id);
    let FormAttempt {
        status,
        said,
        is_kept,
    } = FormAttempt::of(visit, refused.as_ref());
    let page = Ask {
        frame: Frame::new(visit, words.delete_title)
            .below(visit, words.feeds, SCREEN.path)
            .below(visit, feed.channel.clone(), &path),
        action: visit.address(&format!("{path}/delete")),
        back: visit.address(&path),
        feed,
        said,
        is_kept,
    };
    Ok(reply::of(visit, status, &page))
}

fn ask(visit: &Visit) -> Answering<'_> {
    Box::pin(asked(visit, None))
}

fn delete(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        if !visit.may_write() {
            return asked(visit, None).await;
        }
        let arguments = json!({
            "id": visit.named("id")?, "cancelUpcoming": visit.sent("cancelUpcoming").is_some(),
        });
        let deleted = visit.change(DELETE, arguments).await;
        match Refusal::of_what_was_sent(deleted)? {
            Ok(_) => Ok(reply::done(visit, SCREEN.path, Done::Removed)),
            Err(refusal) => asked(visit, Some(refusal)).await,
        }
    })
}
