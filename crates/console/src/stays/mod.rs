//! Stays: the list with filters by guest, flat, date and status, and the pages about a single stay.

mod explanation;
mod one;

use askama::Template;
use engine::typed;
use features::records::ReservationStatus;
use jiff::ToSpan as _;
use serde::Deserialize;
use serde_json::{Value, json};
use strum::VariantArray as _;
use uuid::Uuid;

use super::flats::{self, FlatFilter};
use super::frame::ConsoleFrame;
use super::paging::{Paging, ROWS};
use super::records;
use super::reply;
use super::request::ConsoleRequest;
use super::screens::{Screen, ScreenGroup, ScreenPage, ScreenResponse};
use super::time_format;
use super::words::stay_status;

pub static SCREEN: Screen = Screen {
    path: "/stays",
    icon: "bed-double",
    title: |words| words.stays.stays,
    group: ScreenGroup::Today,
    needs: Some(LIST),
    pages: &[
        ScreenPage::get("getStaysScreen", "/stays", list),
        ScreenPage::get("getStayScreen", "/stays/{id}", one::show).with_needs(&[
            "getReservation",
            "getPrecheckinSubmission",
            "explainGuestView",
        ]),
        ScreenPage::post("previewStayOnScreen", "/stays/{id}/preview", one::preview)
            .with_needs(&["getReservation", "createPortalPreview"]),
        ScreenPage::get("getWhyScreen", "/stays/{id}/why", explanation::show)
            .with_needs(&["getReservation", "explainGuestView"]),
    ],
};

pub const LIST: &str = "listReservations";

/// The names of the form fields with the filters of the list.
const FILTERS: [&str; 6] = [
    "query",
    "flat",
    "propertyId",
    "from-day",
    "to-day",
    "status",
];

/// The fields of a stay that the console uses. The JSON of a stay can have more fields, which the
/// platform defines and the console does not parse.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StayItem {
    pub id: Uuid,
    pub property_id: Option<Uuid>,
    pub status: ReservationStatus,
    pub check_in: String,
    pub check_out: String,
    channel: String,
    booked_at: String,
    guest: StayGuest,
    adults: Option<u32>,
    children: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StayGuest {
    first_name: Option<String>,
    last_name: Option<String>,
    email: Option<String>,
    phone: Option<String>,
    language: Option<String>,
}

impl StayItem {
    /// Returns the name of the stay's guest, or a built-in text if the name is unknown.
    pub fn called(&self, request: &ConsoleRequest) -> String {
        let names = [&self.guest.first_name, &self.guest.last_name]
            .into_iter()
            .flatten()
            .map(|name| typed::trim(name));
        let names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
        if names.is_empty() {
            request.texts.submissions.unknown_guest.to_owned()
        } else {
            names.join(" ")
        }
    }
}

struct StayRow {
    guest: String,
    flat: String,
    dates: String,
    status: (&'static str, &'static str),
    way: String,
}

#[derive(Template)]
#[template(path = "stays.html")]
struct StayList<'v> {
    frame: ConsoleFrame<'v>,
    path: String,
    query: String,
    from: String,
    to: String,
    statuses: Vec<(&'static str, &'static str, bool)>,
    flat: FlatFilter,
    /// Whether the member has set no filter. The list then shows the stays of the next days.
    is_near: bool,
    problem: Option<String>,
    rows: Vec<StayRow>,
    paging: Paging,
    /// Path of the page on which the member adds a stay. `None` if the member may not add stays.
    new: Option<String>,
    /// Path of the page on which the member imports stays. `None` if the member may not import
    /// stays.
    import: Option<String>,
}

fn list(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        let words = request.texts;
        let is_near = !request
            .query
            .iter()
            .any(|(name, _)| FILTERS.contains(&name.as_str()));
        let asked = |name: &str| {
            request
                .query_parameter(name)
                .unwrap_or_default()
                .trim()
                .to_owned()
        };
        let (from, to) = if is_near {
            let today = time_format::today(request);
            (
                today.to_string(),
                today.saturating_add(6.days()).to_string(),
            )
        } else {
            (asked("from-day"), asked("to-day"))
        };
        let (query, status) = (asked("query"), asked("status"));
        let flat = FlatFilter::of(request, SCREEN.path).await?;
        let message = |text: &str| {
            if text.is_empty() {
                Value::Null
            } else {
                json!(text)
            }
        };
        let arguments = json!({
            "limit": ROWS,
            "offset": Paging::offset(request),
            "query": message(&query),
            "propertyId": flat.id,
            "checkInFrom": message(&from),
            "checkInTo": message(&to),
            "status": message(&status),
        });
        let answer = if flat.is_ambiguous() {
            None
        } else {
            Some(request.call::<Vec<StayItem>>(LIST, arguments).await)
        };
        let (mut found, total, problem) = match answer {
            None => (Vec::new(), 0, None),
            Some(Ok(answer)) => (answer.data, answer.total.unwrap_or_default(), None),
            // The page repeats invalid filters, so that the member can correct them.
            Some(Err(refusal)) if refusal.status == 400 => (Vec::new(), 0, Some(refusal)),
            Some(Err(refusal)) => return Err(refusal),
        };
        if total <= ROWS {
            found.sort_by(|one, other| (&one.check_in, one.id).cmp(&(&other.check_in, other.id)));
        }
        let flats =
            flats::by_ids(request, found.iter().filter_map(|stay| stay.property_id)).await?;
        let row = |stay: &StayItem| StayRow {
            guest: stay.called(request),
            flat: match stay.property_id {
                None => words.submissions.no_flat.to_owned(),
                Some(id) => flats
                    .get(&id)
                    .map(|flat| flat.name.clone())
                    .unwrap_or_default(),
            },
            dates: time_format::days(request, &stay.check_in, &stay.check_out),
            status: stay_status(&words.stays, stay.status),
            way: request.address(&format!("/stays/{}", stay.id)),
        };
        let page = StayList {
            frame: ConsoleFrame::new(request, words.stays.stays),
            path: request.address(SCREEN.path),
            rows: found.iter().map(row).collect(),
            paging: Paging::of(request, SCREEN.path, total),
            new: records::new_stay(request),
            import: records::import_stays(request),
            statuses: ReservationStatus::VARIANTS
                .iter()
                .map(|known| {
                    let name: &'static str = known.as_ref();
                    (name, stay_status(&words.stays, *known).0, name == status)
                })
                .collect(),
            query,
            from,
            to,
            flat,
            is_near,
            problem: problem.map(|refusal| refusal.sentences(request).join(" ")),
        };
        let status = if page.problem.is_some() { 400 } else { 200 };
        Ok(reply::page_of_template(request, status, &page))
    })
}
