//! Names and time zones of flats for filters and lists, and the search for a flat by its name.

use std::collections::{BTreeMap, BTreeSet};

use engine::fold::natural;
use engine::format;
use jiff::tz::TimeZone;
use serde::Deserialize;
use serde_json::json;
use uuid::Uuid;

use super::refusal::ConsoleRefusal;
use super::request::ConsoleRequest;

const READ: &str = "listProperties";
/// Maximum number of flats that one request reads. No page shows more flats.
const MOST: usize = 500;
/// Maximum number of flats that the member can choose from if several flats match the typed name.
const OFFERED: usize = 20;

/// The fields of a flat that the console uses. The JSON of a flat can have more fields, which the
/// platform defines and the console does not parse.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FlatSummary {
    id: Uuid,
    pub name: String,
    #[serde(default)]
    timezone: Option<String>,
}

impl FlatSummary {
    /// Returns the time zone of the flat; UTC if the flat has no time zone or an unknown one.
    fn zone(&self) -> TimeZone {
        self.timezone
            .as_deref()
            .and_then(|zone| TimeZone::get(zone).ok())
            .unwrap_or(TimeZone::UTC)
    }
}

/// Reads the flats with the first `MOST` of these ids. Omits flats that the member cannot access.
/// Returns no flats if the member may not call the operation.
pub async fn by_ids(
    request: &ConsoleRequest,
    ids: impl Iterator<Item = Uuid>,
) -> Result<BTreeMap<Uuid, FlatSummary>, ConsoleRefusal> {
    let ids: BTreeSet<Uuid> = ids.take(MOST).collect();
    if ids.is_empty() || !request.may(READ) {
        return Ok(BTreeMap::new());
    }
    let flats: Vec<FlatSummary> = request
        .get(READ, json!({ "ids": ids, "limit": MOST }))
        .await?;
    Ok(flats.into_iter().map(|flat| (flat.id, flat)).collect())
}

/// Returns the time zone of the flat with this id, if `flats` contains the flat. Returns UTC
/// otherwise.
pub fn zone_among(flats: &BTreeMap<Uuid, FlatSummary>, id: Option<Uuid>) -> TimeZone {
    id.and_then(|id| flats.get(&id))
        .map_or(TimeZone::UTC, FlatSummary::zone)
}

/// Reads the time zone of a flat. Returns UTC if the time zone cannot be read.
pub async fn zone(request: &ConsoleRequest, id: Option<Uuid>) -> TimeZone {
    zone_among(
        &by_ids(request, id.into_iter()).await.unwrap_or_default(),
        id,
    )
}

/// A filter that limits a list to the entries of one flat. The member types the name of the flat,
/// or follows a link that contains the id of the flat.
#[derive(Default)]
pub struct FlatFilter {
    /// Whether the page shows the filter, because the member may search flats.
    pub is_offered: bool,
    /// The name of a flat that the member typed.
    pub text: String,
    pub id: Option<Uuid>,
    /// The flats whose names match the typed name, if there are several. Each entry has the flat's
    /// name, and the URL of the same list limited to this flat.
    pub choices: Vec<(String, String)>,
}

impl FlatFilter {
    /// Reads the filter from the query. The query names the flat by its id, or by a name that the
    /// member typed. `path` is the path of the list.
    pub async fn of(request: &ConsoleRequest, path: &str) -> Result<Self, ConsoleRefusal> {
        let text = request
            .query_parameter("flat")
            .unwrap_or_default()
            .trim()
            .to_owned();
        let id = request
            .query_parameter("propertyId")
            .filter(|id| format::is_uuid(id))
            .and_then(|id| id.parse().ok());
        let is_offered = may_search(request);
        let known = Self {
            is_offered,
            text,
            id,
            choices: Vec::new(),
        };
        if id.is_some() || known.text.is_empty() || !is_offered {
            return Ok(known);
        }
        match by_name(request, &known.text).await? {
            Ok(id) => Ok(Self {
                id: Some(id),
                ..known
            }),
            Err(flats) => {
                let choices = flats
                    .iter()
                    .map(|flat| {
                        (
                            flat.name.clone(),
                            of_flat(request, path, flat.id, &flat.name),
                        )
                    })
                    .collect();
                Ok(Self { choices, ..known })
            }
        }
    }

    /// Returns whether the typed name matches no flat or several flats. The list then shows no
    /// rows.
    pub const fn is_ambiguous(&self) -> bool {
        self.is_offered && self.id.is_none() && !self.text.is_empty()
    }
}

/// Returns whether the member may search flats.
pub fn may_search(request: &ConsoleRequest) -> bool {
    request.may(READ)
}

/// Returns the id of the flat that a typed name identifies: the only flat that matches the name, or
/// the only flat with exactly this name. If there is no such flat, the inner error has the matching
/// flats.
pub async fn by_name(
    request: &ConsoleRequest,
    name: &str,
) -> Result<Result<Uuid, Vec<FlatSummary>>, ConsoleRefusal> {
    let query: String = name.chars().take(200).collect();
    // Many flats may contain the typed text in their names, and the flat with exactly this name may
    // come late in the list. So the request reads many flats.
    let mut flats: Vec<FlatSummary> = request
        .get(READ, json!({ "query": query, "limit": MOST }))
        .await?;
    let is_same = |flat: &&FlatSummary| flat.name.to_lowercase() == query.to_lowercase();
    let mut same = flats.iter().filter(is_same);
    if let ([only], ..) | (_, Some(only), None) = (flats.as_slice(), same.next(), same.next()) {
        return Ok(Ok(only.id));
    }
    flats.sort_by(|one, other| natural(&one.name, &other.name));
    flats.truncate(OFFERED);
    Ok(Err(flats))
}

/// Returns the address of the list at `path`, filtered by this flat. It keeps the other query
/// parameters of the request, except the position in the list (`from`) and the confirmation of a
/// completed action (`done`).
fn of_flat(request: &ConsoleRequest, path: &str, id: Uuid, name: &str) -> String {
    let id = id.to_string();
    let others = request
        .query
        .iter()
        .filter(|(known, _)| !["flat", "propertyId", "from", "done"].contains(&known.as_str()));
    let others = others.map(|(known, value)| (known.as_str(), value.as_str()));
    let query: Vec<(&str, &str)> = others
        .chain([("flat", name), ("propertyId", id.as_str())])
        .collect();
    request.address_with(path, &query)
}
