//! The sections of a flat's page: portal, steps, manuals, stays, door codes, calendar feeds and
//! network. Each section has links to the pages that change its content.

use features::calendars::{CalendarFeed, LIST_CALENDAR_FEEDS};
use features::guest::GET_PROPERTY_SETUP;
use features::manuals::LIST_PORTAL_MANUALS_BY_PROPERTY;
use features::records::RecordKind;
use features::words::fill;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::{PUT, address};
use crate::request::ConsoleRequest;
use crate::screens::resource_address;
use crate::stays::StayItem;
use crate::time_format;
use crate::words::stay_status;

const STAYS: &str = "listReservations";
const CODES: &str = "listCodes";

/// Maximum number of rows that a section shows.
const MAX_ROWS: usize = 8;
/// Maximum number of rows that a section reads. It shows the first [`MAX_ROWS`] of them.
const MOST_READ: usize = 100;

/// A section of a flat's page, such as its manuals.
pub(super) struct FlatPart {
    pub title: &'static str,
    pub rows: Vec<PartRow>,
    /// A sentence about the rows that the section does not show. `None` if it shows all rows.
    pub more: Option<String>,
    /// The links below the rows. Each has its label and its address.
    pub ways: Vec<(&'static str, String)>,
}

/// A row of a section: a name, a note and a link.
pub(super) struct PartRow {
    pub name: String,
    pub note: String,
    pub way: Option<String>,
}

/// The data of a flat that several sections of the flat's page use.
struct Flat<'s> {
    request: &'s ConsoleRequest,
    id: String,
    name: &'s str,
    /// Whether the member may add records to the flat.
    is_open: bool,
}

/// Reads the sections of a flat's page. Omits the sections that the member may not read.
pub(super) async fn parts(
    request: &ConsoleRequest,
    id: Uuid,
    value: &Map<String, Value>,
    is_open: bool,
) -> Vec<FlatPart> {
    let text = |field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default();
    let flat = Flat {
        request,
        id: id.to_string(),
        name: text("name"),
        is_open: request.manages_whole_organization() && request.may(PUT),
    };
    let (setup, manuals, stays, codes, feeds) = tokio::join!(
        Box::pin(flat.setup()),
        Box::pin(flat.manuals()),
        Box::pin(flat.stays()),
        Box::pin(flat.codes()),
        Box::pin(flat.feeds(id)),
    );
    setup
        .into_iter()
        .chain(manuals)
        .chain(stays)
        .chain(codes)
        .chain(feeds)
        .chain([flat.network(text("wifiName"), is_open)])
        .collect()
}

impl Flat<'_> {
    /// Builds a section of the flat's page. It shows the first [`MAX_ROWS`] of `rows`, and links to
    /// the pages in `ways`.
    fn part(
        &self,
        title: &'static str,
        mut rows: Vec<PartRow>,
        ways: Vec<(&'static str, Option<String>)>,
    ) -> FlatPart {
        let more = rows.len().saturating_sub(MAX_ROWS);
        rows.truncate(MAX_ROWS);
        let words = &self.request.texts.forms;
        let found = ways
            .into_iter()
            .filter_map(|(label, way)| Some((label, way?)));
        FlatPart {
            title,
            rows,
            more: (more > 0).then(|| fill(words.more_problems, &[("count", &more.to_string())])),
            ways: found.collect(),
        }
    }

    /// Returns the path of the page on which a member adds a record of this kind to the flat;
    /// `None` if the member may not add records.
    fn new_record(&self, kind: RecordKind) -> Option<String> {
        let query: [(&str, &str); 2] = [("kind", kind.as_ref()), ("propertyId", &*self.id)];
        self.is_open
            .then(|| self.request.address_with("/flats/new", &query))
    }

    async fn setup(&self) -> Vec<FlatPart> {
        let request = self.request;
        let arguments = json!({ "propertyId": self.id });
        let Ok(setup) = request.read(GET_PROPERTY_SETUP, arguments).await else {
            return Vec::new();
        };
        let portal = &setup.portal;
        let words = request.texts;
        let id = portal.id.map(|id| id.to_string());
        let reason = words.stays.reason(portal.reason.key);
        let facts = portal.reason.facts.as_ref();
        let name = facts.and_then(|facts| facts.name.as_deref());
        let row = PartRow {
            name: match (&id, &portal.name) {
                (None, _) => words.stays.no_portal_serves.to_owned(),
                (Some(id), name) => name.as_ref().unwrap_or(id).clone(),
            },
            note: reason.map_or_else(
                || portal.reason.message.clone(),
                |text| fill(text, &[("name", name.unwrap_or_default())]),
            ),
            way: id
                .as_ref()
                .and_then(|id| resource_address(request, "/portals/{id}", id)),
        };
        let assignments = id.as_ref().filter(|_| request.may("listEntityScopes"));
        let assignments =
            assignments.map(|id| request.address(&format!("/assignments/portals/{id}")));
        let of_portal = self.part(
            words.stays.portal,
            vec![row],
            vec![
                (words.stays.open_assignments, assignments),
                (
                    words.stays.open_portals,
                    resource_address(request, "/portals", ""),
                ),
            ],
        );
        let items = setup.steps.iter();
        let items = items.map(|step| (step.id, &*step.nickname, step.is_active));
        let rows = self.items(items, "/steps/{id}", words.steps.inactive);
        let of_steps = self.part(
            words.steps.steps,
            rows,
            vec![
                (words.steps.new, resource_address(request, "/steps/new", "")),
                (
                    words.records.to_list,
                    resource_address(request, "/steps", ""),
                ),
            ],
        );
        vec![of_portal, of_steps]
    }

    async fn manuals(&self) -> Option<FlatPart> {
        let request = self.request;
        if !request.may(LIST_PORTAL_MANUALS_BY_PROPERTY.id()) {
            return None;
        }
        let arguments = json!({ "propertyId": self.id });
        let manuals = request
            .read(LIST_PORTAL_MANUALS_BY_PROPERTY, arguments)
            .await
            .ok()?;
        let items = manuals.iter().map(|placed| &placed.row.manual);
        let items = items.map(|manual| (manual.id, &*manual.nickname, manual.is_active));
        let words = request.texts;
        let rows = self.items(items, "/manuals/{id}", words.manuals.inactive);
        let ways = vec![
            (
                words.manuals.new,
                resource_address(request, "/manuals/new", ""),
            ),
            (
                words.records.to_list,
                resource_address(request, "/manuals", ""),
            ),
        ];
        Some(self.part(words.manuals.manuals, rows, ways))
    }

    /// Converts steps or manuals into rows. Each item of the input has an id, a name, and whether
    /// it is active.
    fn items<'i>(
        &self,
        items: impl Iterator<Item = (Uuid, &'i str, bool)>,
        path: &str,
        inactive: &str,
    ) -> Vec<PartRow> {
        let row = |(id, nickname, is_active): (Uuid, &str, bool)| PartRow {
            note: if is_active {
                String::new()
            } else {
                inactive.to_owned()
            },
            way: resource_address(self.request, path, &id.to_string()),
            name: nickname.to_owned(),
        };
        items.map(row).collect()
    }

    /// Builds the section with the flat's stays whose check-in is today or later. Returns `None` if
    /// the member may not read stays, or if they cannot be read.
    async fn stays(&self) -> Option<FlatPart> {
        let request = self.request;
        if !request.may(STAYS) {
            return None;
        }
        let arguments = json!({
            "propertyId": self.id,
            "checkInFrom": time_format::today(request).to_string(),
            "limit": MOST_READ,
        });
        let mut stays: Vec<StayItem> = request.get(STAYS, arguments).await.ok()?;
        stays.sort_by(|one, other| one.check_in.cmp(&other.check_in));
        let words = request.texts;
        let row = |stay: &StayItem| PartRow {
            name: stay.called(request),
            note: format!(
                "{} · {}",
                time_format::days(request, &stay.check_in, &stay.check_out),
                stay_status(&words.stays, stay.status).0
            ),
            way: resource_address(request, "/stays/{id}", &stay.id.to_string()),
        };
        let rows = stays.iter().map(row).collect();
        let all = request.address_with("/stays", &[("flat", self.name), ("propertyId", &self.id)]);
        let ways = vec![
            (
                words.records.new_stay,
                self.new_record(RecordKind::Reservation),
            ),
            (words.records.stays_of, Some(all)),
        ];
        Some(self.part(words.records.stays, rows, ways))
    }

    async fn codes(&self) -> Option<FlatPart> {
        let request = self.request;
        if !request.may(CODES) {
            return None;
        }
        let arguments = json!({ "propertyId": self.id, "limit": MOST_READ });
        // The platform may send fields that the type of a door code lacks. So the codes are read as
        // JSON.
        let codes: Vec<Value> = request.get(CODES, arguments).await.ok()?;
        let words = &request.texts.records;
        let row = |code: &Value| {
            let path = format!("/flats/{}", code["id"].as_str().unwrap_or_default());
            let name = code["name"].as_str().filter(|name| !name.trim().is_empty());
            PartRow {
                name: name.unwrap_or(words.codes).to_owned(),
                note: String::new(),
                way: Some(address(request, &path, RecordKind::LockCode)),
            }
        };
        let rows = codes.iter().map(row).collect();
        let all = address(request, "/flats", RecordKind::LockCode);
        let ways = vec![
            (words.new_code, self.new_record(RecordKind::LockCode)),
            (words.to_list, Some(all)),
        ];
        Some(self.part(words.codes, rows, ways))
    }

    async fn feeds(&self, id: Uuid) -> Option<FlatPart> {
        let request = self.request;
        if !request.may(LIST_CALENDAR_FEEDS.id()) {
            return None;
        }
        let feeds = request.read(LIST_CALENDAR_FEEDS, json!({})).await.ok()?;
        let words = &request.texts.calendars;
        let row = |feed: &CalendarFeed| PartRow {
            way: resource_address(request, "/calendars/{id}", &feed.id.to_string()),
            name: feed.channel.clone(),
            note: if feed.last_error.is_some() {
                words.failing.to_owned()
            } else {
                String::new()
            },
        };
        let own = feeds.iter().filter(|feed| feed.property_id == id);
        let rows = own.map(row).collect();
        let new = resource_address(request, "/calendars/new", "")
            .map(|_| request.address_with("/calendars/new", &[("flat", self.name)]));
        let ways = vec![
            (words.new, new),
            (
                request.texts.records.to_list,
                resource_address(request, "/calendars", ""),
            ),
        ];
        Some(self.part(words.feeds, rows, ways))
    }

    /// Builds the section about the Wi-Fi network. The form on the same page changes the network.
    fn network(&self, name: &str, is_open: bool) -> FlatPart {
        let row = PartRow {
            name: name.to_owned(),
            note: String::new(),
            way: None,
        };
        let rows = if name.trim().is_empty() {
            Vec::new()
        } else {
            vec![row]
        };
        let change = is_open.then(|| "#f-wifiName".to_owned());
        let words = self.request.texts;
        self.part(
            words.records.network,
            rows,
            vec![(words.forms.edit, change)],
        )
    }
}
