//! Flats and other records that are kept by hand: a list and a form for every kind, derived from
//! its schema, and the import of CSV files.
//!
//! The kind is in the query (`?kind=tag`). Without it the pages are about flats.

mod fields;
mod flat;
mod import;

use askama::Template;
use axum::response::Response;
use engine::fold::natural;
use engine::typed;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use self::fields::specs;
use self::flat::FlatPart;
use super::audit::Changed;
use super::form::{FormOutcome, FormView, FreeForm, Spec, StoredResource};
use super::frame::{CompletedAction, ConsoleFrame};
use super::paging::{Paging, ROWS};
use super::refusal::{ConsoleRefusal, Issue};
use super::reply;
use super::screens::{Screen, ScreenAnswer, ScreenGroup, ScreenPage, way};
use super::visit::ConsoleRequest;
use super::when;
use super::words::{add_label, records_title};
use crate::records::{RecordKind, RecordOrigin, defaults};
use crate::tables::IMPORT_RECORDS;

/// The screen of the records.
pub static SCREEN: Screen = Screen {
    path: "/flats",
    icon: "building",
    title: |words| words.records.flats,
    group: ScreenGroup::Setup,
    needs: Some(LIST),
    pages: &[
        ScreenPage::get("getRecordsScreen", "/flats", list),
        ScreenPage::get("getNewRecordScreen", "/flats/new", new).needing(&[PUT]),
        ScreenPage::post("createRecordOnScreen", "/flats/new", create).needing(&[PUT]),
        ScreenPage::get("getImportScreen", "/flats/import", import::ask).needing(&[IMPORT]),
        ScreenPage::post("importRecordsOnScreen", "/flats/import", import::import)
            .needing(&[IMPORT])
            .taking_file(),
        ScreenPage::get("getRecordScreen", "/flats/{id}", show).needing(&[READ]),
        ScreenPage::post("updateRecordOnScreen", "/flats/{id}", save).needing(&[READ, UPDATE]),
        ScreenPage::get("getRemoveRecordScreen", "/flats/{id}/remove", ask).needing(&[READ, PUT]),
        ScreenPage::post("removeRecordOnScreen", "/flats/{id}/remove", remove)
            .needing(&[READ, PUT]),
    ],
};

const LIST: &str = "listRecords";
const READ: &str = "getRecord";
const PUT: &str = "putRecords";
const UPDATE: &str = "updateRecord";
const IMPORT: &str = IMPORT_RECORDS.id();

/// The kinds that the screen shows, in the order of its tabs.
const KINDS: [RecordKind; 13] = [
    RecordKind::Property,
    RecordKind::PropertyGroup,
    RecordKind::Tag,
    RecordKind::Reservation,
    RecordKind::LockCode,
    RecordKind::Instruction,
    RecordKind::Upsell,
    RecordKind::FeeProduct,
    RecordKind::DamageWaiver,
    RecordKind::PaymentAccount,
    RecordKind::CustomField,
    RecordKind::CustomUrl,
    RecordKind::BackgroundCheckAccount,
];

/// Returns the kind that the query names.
fn kind_of(visit: &ConsoleRequest) -> Result<RecordKind, ConsoleRefusal> {
    match visit.asks("kind") {
        None => Ok(RecordKind::Property),
        Some(name) => name
            .parse()
            .ok()
            .filter(|kind| KINDS.contains(kind))
            .ok_or_else(ConsoleRefusal::missing),
    }
}

/// Returns the address of a page about a kind.
fn address(visit: &ConsoleRequest, path: &str, kind: RecordKind) -> String {
    if kind == RecordKind::Property {
        visit.address(path)
    } else {
        visit.address_with(path, &[("kind", kind.as_ref())])
    }
}

/// Returns the path of a page about a kind, below the console, with its query.
fn path(path: &str, kind: RecordKind) -> String {
    if kind == RecordKind::Property {
        path.to_owned()
    } else {
        format!("{path}?kind={}", kind.as_ref())
    }
}

/// Refuses limited members, who may not change records.
fn require(visit: &ConsoleRequest) -> Result<(), ConsoleRefusal> {
    if visit.answers_for_organization() {
        Ok(())
    } else {
        Err(ConsoleRefusal::missing())
    }
}

/// A tab of the screen: label, address, and whether it is selected.
type RecordTab = (&'static str, String, bool);

fn tabs(visit: &ConsoleRequest, shown: RecordKind) -> Vec<RecordTab> {
    KINDS
        .into_iter()
        .filter(|kind| *kind != RecordKind::Reservation || *kind == shown)
        .map(|kind| {
            (
                records_title(&visit.words.records, kind),
                address(visit, SCREEN.path, kind),
                kind == shown,
            )
        })
        .collect()
}

struct RecordRow {
    name: String,
    about: String,
    /// Label of the record's origin. `None` for records kept by hand.
    origin: Option<&'static str>,
    way: String,
}

#[derive(Template)]
#[template(path = "console/records.html")]
struct RecordList<'v> {
    frame: ConsoleFrame<'v>,
    tabs: Vec<RecordTab>,
    action: String,
    kind: Option<&'static str>,
    query: String,
    /// Address of the list without filters.
    all: String,
    rows: Vec<RecordRow>,
    paging: Paging,
    new: Option<(&'static str, String)>,
    import: Option<String>,
    empty: &'static str,
}

fn list(visit: &ConsoleRequest) -> ScreenAnswer<'_> {
    Box::pin(async move {
        let kind = kind_of(visit)?;
        let words = &visit.words.records;
        let query = visit.asks("query").unwrap_or_default().trim().to_owned();
        let asked = (!query.is_empty()).then(|| query.clone());
        let arguments = json!({
            "kind": kind, "query": asked, "limit": ROWS, "offset": Paging::offset(visit),
        });
        let answer = visit.ask::<Vec<Value>>(LIST, arguments).await?;
        let total = answer.total.unwrap_or(answer.data.len());
        let is_open = visit.answers_for_organization();
        let rows = answer.data.iter().map(|record| row(visit, kind, record));
        let page = RecordList {
            frame: ConsoleFrame::new(visit, records_title(words, kind)),
            tabs: tabs(visit, kind),
            action: visit.address(SCREEN.path),
            kind: (kind != RecordKind::Property).then(|| kind.into()),
            query,
            all: address(visit, SCREEN.path, kind),
            rows: rows.collect(),
            paging: Paging::of(visit, SCREEN.path, total),
            new: (is_open && visit.may(PUT))
                .then(|| (add_label(words, kind), address(visit, "/flats/new", kind))),
            import: (is_open && visit.may(IMPORT)).then(|| address(visit, "/flats/import", kind)),
            empty: if kind == RecordKind::Property {
                words.empty_flats
            } else {
                words.empty
            },
        };
        Ok(reply::of(visit, 200, &page))
    })
}

fn text<'r>(record: &'r Value, field: &str) -> &'r str {
    record[field].as_str().unwrap_or_default()
}

/// Returns the name of a record.
fn name(visit: &ConsoleRequest, kind: RecordKind, record: &Value) -> String {
    let names = [
        text(record, "name").to_owned(),
        text(record, "title").to_owned(),
        text(record, "host").to_owned(),
        ["firstName", "lastName"]
            .map(|part| typed::trimmed(record["guest"][part].as_str().unwrap_or_default()))
            .join(" ")
            .trim()
            .to_owned(),
    ];
    let name = names.into_iter().find(|name| !typed::is_blank(name));
    name.unwrap_or_else(|| records_title(&visit.words.records, kind).to_owned())
}

fn row(visit: &ConsoleRequest, kind: RecordKind, record: &Value) -> RecordRow {
    let words = &visit.words.records;
    let about = match kind {
        RecordKind::Property => text(record, "address").to_owned(),
        RecordKind::Reservation => {
            format!("{} – {}", text(record, "checkIn"), text(record, "checkOut"))
        }
        _ => String::new(),
    };
    let origin = text(record, "origin");
    RecordRow {
        name: name(visit, kind, record),
        about,
        origin: if origin == RecordOrigin::Platform.as_ref() {
            Some(words.by_platform)
        } else if origin == RecordOrigin::Calendar.as_ref() {
            Some(words.by_calendar)
        } else {
            None
        },
        way: address(visit, &format!("/flats/{}", text(record, "id")), kind),
    }
}

#[derive(Template)]
#[template(path = "console/record.html")]
struct RecordPage<'v> {
    frame: ConsoleFrame<'v>,
    form: FormView,
    /// Whether the platform manages the record, so that it is read-only.
    is_of_platform: bool,
    /// Links to further pages about the record: label and address.
    ways: Vec<(&'static str, String)>,
    /// The sections of a flat's page; empty for other kinds.
    parts: Vec<FlatPart>,
    remove: Option<String>,
    changed: Option<Changed>,
}

fn frame(visit: &ConsoleRequest, kind: RecordKind, title: String) -> ConsoleFrame<'_> {
    ConsoleFrame::new(visit, title).below(
        visit,
        records_title(&visit.words.records, kind),
        &path(SCREEN.path, kind),
    )
}

fn form_of_new<'s>(visit: &ConsoleRequest, kind: RecordKind, specs: &'s [Spec]) -> FreeForm<'s> {
    FreeForm {
        operation: PUT,
        specs,
        action: address(visit, "/flats/new", kind),
        is_new: true,
        is_locked: false,
    }
}

fn new_page(visit: &ConsoleRequest, kind: RecordKind, form: FormView) -> Response {
    let status = form.status;
    let page = RecordPage {
        frame: frame(
            visit,
            kind,
            add_label(&visit.words.records, kind).to_owned(),
        ),
        form,
        is_of_platform: false,
        ways: Vec::new(),
        parts: Vec::new(),
        remove: None,
        changed: None,
    };
    reply::of(visit, status, &page)
}

fn new(visit: &ConsoleRequest) -> ScreenAnswer<'_> {
    Box::pin(async move {
        require(visit)?;
        let kind = kind_of(visit)?;
        let specs = specs(visit, kind, None).await;
        let settings = &visit.signed_in.organization.settings;
        let mut values = defaults(kind, settings, visit.service.clock.now());
        for spec in &specs {
            // A link to this form can contain initial values in its query.
            if let Some(text) = visit.asks(&spec.name) {
                values.insert(spec.name.clone(), json!(text));
            }
        }
        let form = form_of_new(visit, kind, &specs)
            .begin(visit, values)
            .await?;
        Ok(new_page(visit, kind, form))
    })
}

fn create(visit: &ConsoleRequest) -> ScreenAnswer<'_> {
    Box::pin(async move {
        require(visit)?;
        let kind = kind_of(visit)?;
        let specs = specs(visit, kind, None).await;
        let form = form_of_new(visit, kind, &specs);
        if !visit.may_write() {
            return Ok(new_page(visit, kind, form.again(visit, None).await?));
        }
        let typed = match form.typed(visit).await? {
            FormOutcome::Done(typed) => typed,
            FormOutcome::Again(form) => return Ok(new_page(visit, kind, *form)),
        };
        let mut data = completed(visit, kind, typed);
        if let Some(refusal) = with_timestamps(visit, &mut data) {
            let form = form.again(visit, Some(&refusal)).await?;
            return Ok(new_page(visit, kind, form));
        }
        // The form's id becomes the record's id, so sending the form twice creates one record.
        let id = visit
            .sent("key")
            .and_then(|key| key.parse::<Uuid>().ok())
            .unwrap_or_else(|| visit.service.app_state.ids.uuid(visit.service.clock.now()));
        let arguments = json!({ "records": [{ "kind": kind, "id": id, "data": data }] });
        match visit
            .create::<Value>(PUT, arguments, &visit.key("create"))
            .await
        {
            Ok(_) if kind == RecordKind::Reservation => Ok(reply::done(
                visit,
                &format!("/stays/{id}"),
                CompletedAction::Created,
            )),
            Ok(_) => {
                let to = path(&format!("/flats/{id}"), kind);
                Ok(reply::done(visit, &to, CompletedAction::Created))
            }
            Err(refusal) => {
                let refusal = below_data(refusal);
                let form = form.again(visit, Some(&refusal)).await?;
                Ok(new_page(visit, kind, form))
            }
        }
    })
}

/// Adds required fields that the form leaves empty and that have an obvious value.
fn completed(
    visit: &ConsoleRequest,
    kind: RecordKind,
    typed: Map<String, Value>,
) -> Map<String, Value> {
    let settings = &visit.signed_in.organization.settings;
    let mut data = defaults(kind, settings, visit.service.clock.now());
    data.extend(typed);
    data
}

/// Fields with a timestamp. Members type them in the organization's time zone, without an offset.
const TIMESTAMPS: [&str; 3] = ["bookedAt", "startsAt", "endsAt"];

/// Converts typed local times to timestamps. Returns a refusal if a text is not a time.
fn with_timestamps(
    visit: &ConsoleRequest,
    data: &mut Map<String, Value>,
) -> Option<ConsoleRefusal> {
    let settings = &visit.signed_in.organization.settings;
    let zone = settings.timezone.as_deref();
    let zone = zone.and_then(|zone| TimeZone::get(zone).ok());
    let zone = zone.unwrap_or(TimeZone::UTC);
    let mut issues = Vec::new();
    for field in TIMESTAMPS {
        let Some(text) = data.get(field).and_then(Value::as_str) else {
            continue;
        };
        if text.parse::<Timestamp>().is_ok() {
            continue;
        }
        if let Some(time) = when::typed(text, &zone) {
            data.insert(field.to_owned(), json!(time));
        } else {
            issues.push(Issue {
                path: vec![field.to_owned()],
                message: visit.words.records.no_moment.to_owned(),
            });
        }
    }
    (!issues.is_empty()).then(|| ConsoleRefusal {
        status: 400,
        issues,
        ..ConsoleRefusal::default()
    })
}

/// Converts the paths of a record's issues to the names of the form's fields.
fn below_data(mut refusal: ConsoleRefusal) -> ConsoleRefusal {
    for issue in &mut refusal.issues {
        if let Some(place) = issue.path.iter().position(|step| step == "data") {
            issue.path.drain(..=place);
        }
    }
    refusal
}

async fn stored(
    visit: &ConsoleRequest,
    kind: RecordKind,
) -> Result<StoredResource, ConsoleRefusal> {
    let id = visit.named("id")?;
    let value = visit.get(READ, json!({ "kind": kind, "id": id })).await?;
    Ok(StoredResource::of(id, value))
}

fn form_of<'s>(
    visit: &ConsoleRequest,
    kind: RecordKind,
    stored: &StoredResource,
    specs: &'s [Spec],
) -> FreeForm<'s> {
    FreeForm {
        operation: UPDATE,
        specs,
        action: address(visit, &format!("/flats/{}", stored.id), kind),
        is_new: false,
        is_locked: is_of_platform(stored) || !visit.answers_for_organization(),
    }
}

fn is_of_platform(stored: &StoredResource) -> bool {
    stored.value.get("origin").and_then(Value::as_str) == Some(RecordOrigin::Platform.as_ref())
}

async fn page(
    visit: &ConsoleRequest,
    kind: RecordKind,
    stored: StoredResource,
    mut form: FormView,
) -> Response {
    let (status, id) = (form.status, stored.id.to_string());
    let is_of_platform = is_of_platform(&stored);
    if is_of_platform {
        // This page itself explains why the form is read-only.
        form.read_only_note = None;
    }
    let words = &visit.words.records;
    let mut ways = Vec::new();
    if kind == RecordKind::Reservation {
        ways.extend(way(visit, "/stays/{id}", &id).map(|way| (words.page_of, way)));
    }
    let is_open = visit.answers_for_organization() && !is_of_platform && visit.may(PUT);
    let parts = if kind == RecordKind::Property {
        let may_change = visit.answers_for_organization() && !is_of_platform;
        flat::parts(visit, stored.id, &stored.value, may_change).await
    } else {
        Vec::new()
    };
    let title = name(visit, kind, &Value::Object(stored.value.clone()));
    let page = RecordPage {
        frame: frame(visit, kind, title),
        form,
        is_of_platform,
        ways,
        parts,
        remove: is_open.then(|| address(visit, &format!("/flats/{id}/remove"), kind)),
        changed: Changed::of(visit, stored.id).await,
    };
    reply::of(visit, status, &page)
}

fn show(visit: &ConsoleRequest) -> ScreenAnswer<'_> {
    Box::pin(async move {
        let kind = kind_of(visit)?;
        let stored = stored(visit, kind).await?;
        let specs = specs(visit, kind, Some(&stored.value)).await;
        let form = form_of(visit, kind, &stored, &specs)
            .begin(visit, stored.value.clone())
            .await?;
        Ok(page(visit, kind, stored, form).await)
    })
}

fn save(visit: &ConsoleRequest) -> ScreenAnswer<'_> {
    Box::pin(async move {
        require(visit)?;
        let kind = kind_of(visit)?;
        let stored = stored(visit, kind).await?;
        let specs = specs(visit, kind, Some(&stored.value)).await;
        let form = form_of(visit, kind, &stored, &specs);
        if !visit.may_write() {
            let form = form.again(visit, None).await?;
            return Ok(page(visit, kind, stored, form).await);
        }
        let to = path(&format!("/flats/{}", stored.id), kind);
        let mut changes = match form.typed(visit).await? {
            FormOutcome::Done(changes) => changes,
            FormOutcome::Again(form) => return Ok(page(visit, kind, stored, *form).await),
        };
        if let Some(refusal) = with_timestamps(visit, &mut changes) {
            let form = form.again(visit, Some(&refusal)).await?;
            return Ok(page(visit, kind, stored, form).await);
        }
        if changes.is_empty() {
            return Ok(reply::done(visit, &to, CompletedAction::Unchanged));
        }
        let was = visit.sent("updatedAt").unwrap_or_default();
        if !was.is_empty() && stored.value.get("updatedAt").and_then(Value::as_str) != Some(was) {
            let form = form.conflicting(visit, &stored).await?;
            return Ok(page(visit, kind, stored, form).await);
        }
        let expected = (!was.is_empty()).then_some(was);
        let arguments = json!({
            "kind": kind, "id": stored.id, "data": changes, "expectedUpdatedAt": expected,
        });
        match visit.change(UPDATE, arguments).await {
            Ok(_) => Ok(reply::done(visit, &to, CompletedAction::Saved)),
            Err(refusal) => {
                let refusal = below_data(refusal);
                let form = form.again(visit, Some(&refusal)).await?;
                Ok(page(visit, kind, stored, form).await)
            }
        }
    })
}

#[derive(Template)]
#[template(path = "console/record-remove.html")]
struct RecordConfirmation<'v> {
    frame: ConsoleFrame<'v>,
    action: String,
    back: String,
    problem: Option<String>,
}

async fn ask_page(
    visit: &ConsoleRequest,
    problem: Option<(u16, String)>,
) -> Result<Response, ConsoleRefusal> {
    require(visit)?;
    let kind = kind_of(visit)?;
    let stored = stored(visit, kind).await?;
    let own = format!("/flats/{}", stored.id);
    let title = name(visit, kind, &Value::Object(stored.value));
    let page = RecordConfirmation {
        frame: frame(visit, kind, title),
        action: address(visit, &format!("{own}/remove"), kind),
        back: address(visit, &own, kind),
        problem: problem.as_ref().map(|(_, text)| text.clone()),
    };
    Ok(reply::of(
        visit,
        problem.map_or(200, |(status, _)| status),
        &page,
    ))
}

fn ask(visit: &ConsoleRequest) -> ScreenAnswer<'_> {
    Box::pin(ask_page(visit, None))
}

fn remove(visit: &ConsoleRequest) -> ScreenAnswer<'_> {
    Box::pin(async move {
        require(visit)?;
        let kind = kind_of(visit)?;
        let stored = stored(visit, kind).await?;
        if !visit.may_write() {
            return ask_page(visit, None).await;
        }
        let record = json!({ "kind": kind, "id": stored.id, "isDeleted": true });
        match visit.change(PUT, json!({ "records": [record] })).await {
            Ok(_) => Ok(reply::done(
                visit,
                &path(SCREEN.path, kind),
                CompletedAction::Removed,
            )),
            Err(refusal) => {
                let text = refusal.sentences(visit).join(" ");
                ask_page(visit, Some((refusal.status, text))).await
            }
        }
    })
}

/// Returns the address of the page that adds a stay. `None` if the member may not add stays.
pub fn new_stay(visit: &ConsoleRequest) -> Option<String> {
    (visit.answers_for_organization() && visit.may(LIST) && visit.may(PUT))
        .then(|| address(visit, "/flats/new", RecordKind::Reservation))
}

/// Returns the address of the page that imports stays. `None` if the member may not import stays.
pub fn import_stays(visit: &ConsoleRequest) -> Option<String> {
    (visit.answers_for_organization() && visit.may(LIST) && visit.may(IMPORT))
        .then(|| address(visit, "/flats/import", RecordKind::Reservation))
}

/// Returns the address of the form of a stay. `None` if the member may not open it.
pub fn edit_stay(visit: &ConsoleRequest, id: Uuid) -> Option<String> {
    (visit.may(LIST) && visit.may(READ))
        .then(|| address(visit, &format!("/flats/{id}"), RecordKind::Reservation))
}

/// Sorts rows by name, ignoring case and accents.
pub fn by_name<T>(rows: &mut [T], name: impl Fn(&T) -> &str) {
    rows.sort_by(|one, other| natural(name(one), name(other)));
}
