//! Flats and other records that members enter by hand. Each record kind has a list and a form,
//! derived from its schema. Members can also import CSV files.
//!
//! The query names the record kind (`?kind=tag`). Without that parameter the pages are about flats.

mod fields;
mod flat;
mod import;

use askama::Template;
use axum::response::Response;
use engine::fold::natural;
use engine::typed;
use features::records::{RecordKind, RecordOrigin, default_fields};
use features::tables::IMPORT_RECORDS;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use self::fields::specs;
use self::flat::FlatPart;
use super::audit::LatestChanges;
use super::form::{FieldSpec, FormOutcome, FormView, FreeForm, StoredResource};
use super::frame::{CompletedAction, ConsoleFrame};
use super::paging::{Paging, ROWS};
use super::refusal::{ConsoleRefusal, Issue};
use super::reply;
use super::request::ConsoleRequest;
use super::screens::{Screen, ScreenGroup, ScreenPage, ScreenResponse, resource_address};
use super::time_format;
use super::words::{add_label, records_title};

pub static SCREEN: Screen = Screen {
    path: "/flats",
    icon: "building",
    title: |words| words.records.flats,
    group: ScreenGroup::Setup,
    needs: Some(LIST),
    pages: &[
        ScreenPage::get("getRecordsScreen", "/flats", list),
        ScreenPage::get("getNewRecordScreen", "/flats/new", new).with_needs(&[PUT]),
        ScreenPage::post("createRecordOnScreen", "/flats/new", create).with_needs(&[PUT]),
        ScreenPage::get("getImportScreen", "/flats/import", import::ask).with_needs(&[IMPORT]),
        ScreenPage::post("importRecordsOnScreen", "/flats/import", import::import)
            .with_needs(&[IMPORT])
            .with_file(),
        ScreenPage::get("getRecordScreen", "/flats/{id}", show).with_needs(&[READ]),
        ScreenPage::post("updateRecordOnScreen", "/flats/{id}", save).with_needs(&[READ, UPDATE]),
        ScreenPage::get("getRemoveRecordScreen", "/flats/{id}/remove", ask)
            .with_needs(&[READ, PUT]),
        ScreenPage::post("removeRecordOnScreen", "/flats/{id}/remove", remove)
            .with_needs(&[READ, PUT]),
    ],
};

const LIST: &str = "listRecords";
const READ: &str = "getRecord";
const PUT: &str = "putRecords";
const UPDATE: &str = "updateRecord";
const IMPORT: &str = IMPORT_RECORDS.id();

/// The record kinds that the screen shows, in the order of its tabs.
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

/// Returns the record kind in the query parameter `kind`; properties if the parameter is missing.
fn kind_of(request: &ConsoleRequest) -> Result<RecordKind, ConsoleRefusal> {
    match request.query_parameter("kind") {
        None => Ok(RecordKind::Property),
        Some(name) => name
            .parse()
            .ok()
            .filter(|kind| KINDS.contains(kind))
            .ok_or_else(ConsoleRefusal::missing),
    }
}

/// Returns the address of a page about a record kind, for example `…/console/flats?kind=tag`.
fn address(request: &ConsoleRequest, path: &str, kind: RecordKind) -> String {
    if kind == RecordKind::Property {
        request.address(path)
    } else {
        request.address_with(path, &[("kind", kind.as_ref())])
    }
}

/// Returns the path of a page about a record kind, relative to the console, for example
/// `/flats?kind=tag`.
fn path(path: &str, kind: RecordKind) -> String {
    if kind == RecordKind::Property {
        path.to_owned()
    } else {
        format!("{path}?kind={}", kind.as_ref())
    }
}

/// Returns 404 for a member who may not manage the organization or can access only some of its
/// flats. Such a member may not change records.
fn require(request: &ConsoleRequest) -> Result<(), ConsoleRefusal> {
    if request.manages_whole_organization() {
        Ok(())
    } else {
        Err(ConsoleRefusal::missing())
    }
}

/// A tab of the screen for records: label, address, and whether the tab is selected. Each record
/// kind in [`KINDS`] has a tab, but the tab of reservations is shown only while it is selected.
type RecordTab = (&'static str, String, bool);

fn tabs(request: &ConsoleRequest, shown: RecordKind) -> Vec<RecordTab> {
    KINDS
        .into_iter()
        .filter(|kind| *kind != RecordKind::Reservation || *kind == shown)
        .map(|kind| {
            (
                records_title(&request.texts.records, kind),
                address(request, SCREEN.path, kind),
                kind == shown,
            )
        })
        .collect()
}

struct RecordRow {
    name: String,
    about: String,
    /// Label that says where the record comes from: from the platform or from a calendar feed.
    /// `None` for a record that members enter by hand.
    origin: Option<&'static str>,
    way: String,
}

#[derive(Template)]
#[template(path = "records.html")]
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

fn list(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        let kind = kind_of(request)?;
        let words = &request.texts.records;
        let query = request
            .query_parameter("query")
            .unwrap_or_default()
            .trim()
            .to_owned();
        let asked = (!query.is_empty()).then(|| query.clone());
        let arguments = json!({
            "kind": kind, "query": asked, "limit": ROWS, "offset": Paging::offset(request),
        });
        let answer = request.call::<Vec<Value>>(LIST, arguments).await?;
        let total = answer.total.unwrap_or(answer.data.len());
        let is_open = request.manages_whole_organization();
        let rows = answer.data.iter().map(|record| row(request, kind, record));
        let page = RecordList {
            frame: ConsoleFrame::new(request, records_title(words, kind)),
            tabs: tabs(request, kind),
            action: request.address(SCREEN.path),
            kind: (kind != RecordKind::Property).then(|| kind.into()),
            query,
            all: address(request, SCREEN.path, kind),
            rows: rows.collect(),
            paging: Paging::of(request, SCREEN.path, total),
            new: (is_open && request.may(PUT))
                .then(|| (add_label(words, kind), address(request, "/flats/new", kind))),
            import: (is_open && request.may(IMPORT))
                .then(|| address(request, "/flats/import", kind)),
            empty: if kind == RecordKind::Property {
                words.empty_flats
            } else {
                words.empty
            },
        };
        Ok(reply::page_of_template(request, 200, &page))
    })
}

fn text<'r>(record: &'r Value, field: &str) -> &'r str {
    record[field].as_str().unwrap_or_default()
}

/// Returns the name under which a record is shown: the first text that is not blank among the name,
/// the title, the host and the guest's name. If all are blank, returns the title of the record
/// kind.
fn name(request: &ConsoleRequest, kind: RecordKind, record: &Value) -> String {
    let names = [
        text(record, "name").to_owned(),
        text(record, "title").to_owned(),
        text(record, "host").to_owned(),
        ["firstName", "lastName"]
            .map(|part| typed::trim(record["guest"][part].as_str().unwrap_or_default()))
            .join(" ")
            .trim()
            .to_owned(),
    ];
    let name = names.into_iter().find(|name| !typed::is_blank(name));
    name.unwrap_or_else(|| records_title(&request.texts.records, kind).to_owned())
}

fn row(request: &ConsoleRequest, kind: RecordKind, record: &Value) -> RecordRow {
    let words = &request.texts.records;
    let about = match kind {
        RecordKind::Property => text(record, "address").to_owned(),
        RecordKind::Reservation => {
            format!("{} – {}", text(record, "checkIn"), text(record, "checkOut"))
        }
        _ => String::new(),
    };
    let origin = text(record, "origin");
    RecordRow {
        name: name(request, kind, record),
        about,
        origin: if origin == RecordOrigin::Platform.as_ref() {
            Some(words.by_platform)
        } else if origin == RecordOrigin::Calendar.as_ref() {
            Some(words.by_calendar)
        } else {
            None
        },
        way: address(request, &format!("/flats/{}", text(record, "id")), kind),
    }
}

#[derive(Template)]
#[template(path = "record.html")]
struct RecordPage<'v> {
    frame: ConsoleFrame<'v>,
    form: FormView,
    /// Whether the platform manages the record. The form is then read-only.
    is_of_platform: bool,
    /// Links to other pages about the record. Each has its label and its address.
    ways: Vec<(&'static str, String)>,
    /// The sections of a flat's page. Empty for any other record kind.
    parts: Vec<FlatPart>,
    remove: Option<String>,
    changed: Option<LatestChanges>,
}

fn frame(request: &ConsoleRequest, kind: RecordKind, title: String) -> ConsoleFrame<'_> {
    ConsoleFrame::new(request, title).with_parent(
        request,
        records_title(&request.texts.records, kind),
        &path(SCREEN.path, kind),
    )
}

fn form_of_new<'s>(
    request: &ConsoleRequest,
    kind: RecordKind,
    specs: &'s [FieldSpec],
) -> FreeForm<'s> {
    FreeForm {
        operation: PUT,
        specs,
        action: address(request, "/flats/new", kind),
        is_new: true,
        is_locked: false,
    }
}

fn new_page(request: &ConsoleRequest, kind: RecordKind, form: FormView) -> Response {
    let status = form.status;
    let page = RecordPage {
        frame: frame(
            request,
            kind,
            add_label(&request.texts.records, kind).to_owned(),
        ),
        form,
        is_of_platform: false,
        ways: Vec::new(),
        parts: Vec::new(),
        remove: None,
        changed: None,
    };
    reply::page_of_template(request, status, &page)
}

fn new(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        require(request)?;
        let kind = kind_of(request)?;
        let specs = specs(request, kind, None).await;
        let settings = &request.signed_in.organization.settings;
        let mut values = default_fields(kind, settings, request.service.clock.now());
        for spec in &specs {
            // A link to this form can contain initial values in its query.
            if let Some(text) = request.query_parameter(&spec.name) {
                values.insert(spec.name.clone(), json!(text));
            }
        }
        let form = form_of_new(request, kind, &specs)
            .begin(request, values)
            .await?;
        Ok(new_page(request, kind, form))
    })
}

fn create(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        require(request)?;
        let kind = kind_of(request)?;
        let specs = specs(request, kind, None).await;
        let form = form_of_new(request, kind, &specs);
        if !request.may_write() {
            return Ok(new_page(request, kind, form.again(request, None).await?));
        }
        let typed = match form.typed(request).await? {
            FormOutcome::Done(typed) => typed,
            FormOutcome::Refused(form) => return Ok(new_page(request, kind, *form)),
        };
        let mut data = completed(request, kind, typed);
        if let Some(refusal) = with_timestamps(request, &mut data) {
            let form = form.again(request, Some(&refusal)).await?;
            return Ok(new_page(request, kind, form));
        }
        // The key in the form is also the id of the new record. So a form that is sent twice
        // creates one record.
        let id = request
            .form_value("key")
            .and_then(|key| key.parse::<Uuid>().ok())
            .unwrap_or_else(|| {
                request
                    .service
                    .app_state
                    .ids
                    .uuid(request.service.clock.now())
            });
        let arguments = json!({ "records": [{ "kind": kind, "id": id, "data": data }] });
        match request
            .create::<Value>(PUT, arguments, &request.key("create"))
            .await
        {
            Ok(_) if kind == RecordKind::Reservation => Ok(reply::redirect_with_confirmation(
                request,
                &format!("/stays/{id}"),
                CompletedAction::Created,
            )),
            Ok(_) => {
                let to = path(&format!("/flats/{id}"), kind);
                Ok(reply::redirect_with_confirmation(
                    request,
                    &to,
                    CompletedAction::Created,
                ))
            }
            Err(refusal) => {
                let refusal = below_data(refusal);
                let form = form.again(request, Some(&refusal)).await?;
                Ok(new_page(request, kind, form))
            }
        }
    })
}

/// Returns the typed values of a new record, and the default values of the fields that the member
/// left out.
fn completed(
    request: &ConsoleRequest,
    kind: RecordKind,
    typed: Map<String, Value>,
) -> Map<String, Value> {
    let settings = &request.signed_in.organization.settings;
    let mut data = default_fields(kind, settings, request.service.clock.now());
    data.extend(typed);
    data
}

/// The fields that contain a timestamp. Members type the local time in the organization's time
/// zone, without an offset.
const TIMESTAMPS: [&str; 3] = ["bookedAt", "startsAt", "endsAt"];

/// Converts the typed local times to timestamps. Returns a refusal if a typed text is not a time.
fn with_timestamps(
    request: &ConsoleRequest,
    data: &mut Map<String, Value>,
) -> Option<ConsoleRefusal> {
    let settings = &request.signed_in.organization.settings;
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
        if let Some(time) = time_format::parse_local(text, &zone) {
            data.insert(field.to_owned(), json!(time));
        } else {
            issues.push(Issue {
                path: vec![field.to_owned()],
                message: request.texts.records.no_moment.to_owned(),
            });
        }
    }
    (!issues.is_empty()).then(|| ConsoleRefusal {
        status: 400,
        issues,
        ..ConsoleRefusal::default()
    })
}

/// Removes the segment `data`, and all segments before it, from the path of each issue. The rest of
/// the path is the name of a form field.
fn below_data(mut refusal: ConsoleRefusal) -> ConsoleRefusal {
    for issue in &mut refusal.issues {
        if let Some(place) = issue.path.iter().position(|step| step == "data") {
            issue.path.drain(..=place);
        }
    }
    refusal
}

async fn stored(
    request: &ConsoleRequest,
    kind: RecordKind,
) -> Result<StoredResource, ConsoleRefusal> {
    let id = request.path_id("id")?;
    let value = request.get(READ, json!({ "kind": kind, "id": id })).await?;
    Ok(StoredResource::of(id, value))
}

fn form_of<'s>(
    request: &ConsoleRequest,
    kind: RecordKind,
    stored: &StoredResource,
    specs: &'s [FieldSpec],
) -> FreeForm<'s> {
    FreeForm {
        operation: UPDATE,
        specs,
        action: address(request, &format!("/flats/{}", stored.id), kind),
        is_new: false,
        is_locked: is_of_platform(stored) || !request.manages_whole_organization(),
    }
}

fn is_of_platform(stored: &StoredResource) -> bool {
    stored.value.get("origin").and_then(Value::as_str) == Some(RecordOrigin::Platform.as_ref())
}

async fn page(
    request: &ConsoleRequest,
    kind: RecordKind,
    stored: StoredResource,
    mut form: FormView,
) -> Response {
    let (status, id) = (form.status, stored.id.to_string());
    let is_of_platform = is_of_platform(&stored);
    if is_of_platform {
        // The page says why the form is read-only, so the form needs no note about it.
        form.read_only_note = None;
    }
    let words = &request.texts.records;
    let mut ways = Vec::new();
    if kind == RecordKind::Reservation {
        ways.extend(resource_address(request, "/stays/{id}", &id).map(|way| (words.page_of, way)));
    }
    let is_open = request.manages_whole_organization() && !is_of_platform && request.may(PUT);
    let parts = if kind == RecordKind::Property {
        let may_change = request.manages_whole_organization() && !is_of_platform;
        flat::parts(request, stored.id, &stored.value, may_change).await
    } else {
        Vec::new()
    };
    let title = name(request, kind, &Value::Object(stored.value.clone()));
    let page = RecordPage {
        frame: frame(request, kind, title),
        form,
        is_of_platform,
        ways,
        parts,
        remove: is_open.then(|| address(request, &format!("/flats/{id}/remove"), kind)),
        changed: LatestChanges::of(request, stored.id).await,
    };
    reply::page_of_template(request, status, &page)
}

fn show(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        let kind = kind_of(request)?;
        let stored = stored(request, kind).await?;
        let specs = specs(request, kind, Some(&stored.value)).await;
        let form = form_of(request, kind, &stored, &specs)
            .begin(request, stored.value.clone())
            .await?;
        Ok(page(request, kind, stored, form).await)
    })
}

fn save(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        require(request)?;
        let kind = kind_of(request)?;
        let stored = stored(request, kind).await?;
        let specs = specs(request, kind, Some(&stored.value)).await;
        let form = form_of(request, kind, &stored, &specs);
        if !request.may_write() {
            let form = form.again(request, None).await?;
            return Ok(page(request, kind, stored, form).await);
        }
        let to = path(&format!("/flats/{}", stored.id), kind);
        let mut changes = match form.typed(request).await? {
            FormOutcome::Done(changes) => changes,
            FormOutcome::Refused(form) => return Ok(page(request, kind, stored, *form).await),
        };
        if let Some(refusal) = with_timestamps(request, &mut changes) {
            let form = form.again(request, Some(&refusal)).await?;
            return Ok(page(request, kind, stored, form).await);
        }
        if changes.is_empty() {
            return Ok(reply::redirect_with_confirmation(
                request,
                &to,
                CompletedAction::Unchanged,
            ));
        }
        let was = request.form_value("updatedAt").unwrap_or_default();
        if !was.is_empty() && stored.value.get("updatedAt").and_then(Value::as_str) != Some(was) {
            let form = form.conflicting(request, &stored).await?;
            return Ok(page(request, kind, stored, form).await);
        }
        let expected = (!was.is_empty()).then_some(was);
        let arguments = json!({
            "kind": kind, "id": stored.id, "data": changes, "expectedUpdatedAt": expected,
        });
        match request.change(UPDATE, arguments).await {
            Ok(_) => Ok(reply::redirect_with_confirmation(
                request,
                &to,
                CompletedAction::Saved,
            )),
            Err(refusal) => {
                let refusal = below_data(refusal);
                let form = form.again(request, Some(&refusal)).await?;
                Ok(page(request, kind, stored, form).await)
            }
        }
    })
}

#[derive(Template)]
#[template(path = "record-remove.html")]
struct RecordConfirmation<'v> {
    frame: ConsoleFrame<'v>,
    action: String,
    back: String,
    problem: Option<String>,
}

async fn ask_page(
    request: &ConsoleRequest,
    problem: Option<(u16, String)>,
) -> Result<Response, ConsoleRefusal> {
    require(request)?;
    let kind = kind_of(request)?;
    let stored = stored(request, kind).await?;
    let own = format!("/flats/{}", stored.id);
    let title = name(request, kind, &Value::Object(stored.value));
    let page = RecordConfirmation {
        frame: frame(request, kind, title),
        action: address(request, &format!("{own}/remove"), kind),
        back: address(request, &own, kind),
        problem: problem.as_ref().map(|(_, text)| text.clone()),
    };
    Ok(reply::page_of_template(
        request,
        problem.map_or(200, |(status, _)| status),
        &page,
    ))
}

fn ask(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(ask_page(request, None))
}

fn remove(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        require(request)?;
        let kind = kind_of(request)?;
        let stored = stored(request, kind).await?;
        if !request.may_write() {
            return ask_page(request, None).await;
        }
        let record = json!({ "kind": kind, "id": stored.id, "isDeleted": true });
        match request.change(PUT, json!({ "records": [record] })).await {
            Ok(_) => Ok(reply::redirect_with_confirmation(
                request,
                &path(SCREEN.path, kind),
                CompletedAction::Removed,
            )),
            Err(refusal) => {
                let text = refusal.sentences(request).join(" ");
                ask_page(request, Some((refusal.status, text))).await
            }
        }
    })
}

/// Returns the address of the page that adds a stay. `None` if the member may not add stays.
pub fn new_stay(request: &ConsoleRequest) -> Option<String> {
    (request.manages_whole_organization() && request.may(LIST) && request.may(PUT))
        .then(|| address(request, "/flats/new", RecordKind::Reservation))
}

/// Returns the address of the page that imports stays. `None` if the member may not import stays.
pub fn import_stays(request: &ConsoleRequest) -> Option<String> {
    (request.manages_whole_organization() && request.may(LIST) && request.may(IMPORT))
        .then(|| address(request, "/flats/import", RecordKind::Reservation))
}

/// Returns the address of the page of a stay, which contains the form that changes the stay. `None`
/// if the member may not open the page.
pub fn edit_stay(request: &ConsoleRequest, id: Uuid) -> Option<String> {
    (request.may(LIST) && request.may(READ))
        .then(|| address(request, &format!("/flats/{id}"), RecordKind::Reservation))
}

/// Sorts rows by name, ignoring case and accents.
pub fn by_name<T>(rows: &mut [T], name: impl Fn(&T) -> &str) {
    rows.sort_by(|one, other| natural(name(one), name(other)));
}
