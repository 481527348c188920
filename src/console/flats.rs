//! Flats on the screens for work: what they are called, and which one is meant by a name.

use std::collections::{BTreeMap, BTreeSet};

use engine::format;
use jiff::tz::TimeZone;
use serde::Deserialize;
use serde_json::json;
use uuid::Uuid;

use super::refusal::Refusal;
use super::visit::Visit;

/// What reads flats.
const READ: &str = "listProperties";
/// Flats that are asked for at once; no page shows as many.
const MOST: usize = 500;
/// Flats that are offered where several bear a name.
const OFFERED: usize = 20;

/// A flat, as far as these screens know it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Flat {
    id: Uuid,
    pub name: String,
    #[serde(default)]
    timezone: Option<String>,
}

impl Flat {
    /// Its time zone; UTC where it has none.
    fn zone(&self) -> TimeZone {
        self.timezone.as_deref().and_then(|zone| TimeZone::get(zone).ok()).unwrap_or(TimeZone::UTC)
    }
}

/// Some flats, by their ids; those that the member may see.
pub async fn among(visit: &Visit, ids: impl Iterator<Item = Uuid>) -> Result<BTreeMap<Uuid, Flat>, Refusal> {
    let ids: BTreeSet<Uuid> = ids.take(MOST).collect();
    if ids.is_empty() || !visit.may(READ) {
        return Ok(BTreeMap::new());
    }
    let flats: Vec<Flat> = visit.get(READ, json!({ "ids": ids, "limit": MOST })).await?;
    Ok(flats.into_iter().map(|flat| (flat.id, flat)).collect())
}

/// The time zone of one among some flats; UTC where it is not to be had.
pub fn zone_among(flats: &BTreeMap<Uuid, Flat>, id: Option<Uuid>) -> TimeZone {
    id.and_then(|id| flats.get(&id)).map_or(TimeZone::UTC, Flat::zone)
}

/// The time zone of a flat.
pub async fn zone(visit: &Visit, id: Option<Uuid>) -> TimeZone {
    zone_among(&among(visit, id.into_iter()).await.unwrap_or_default(), id)
}

/// Which flat a list is asked to keep to.
#[derive(Default)]
pub struct Wanted {
    /// Whether the member may look for flats.
    pub is_offered: bool,
    /// What was typed.
    pub text: String,
    pub id: Option<Uuid>,
    /// Flats that may be meant: what they are called, and where the list is of each.
    pub choices: Vec<(String, String)>,
}

impl Wanted {
    /// What the query asks for, at a path: the flat that it names by its id, or the one whose name was typed.
    pub async fn of(visit: &Visit, path: &str) -> Result<Self, Refusal> {
        let text = visit.asks("flat").unwrap_or_default().trim().to_owned();
        let id = visit.asks("propertyId").filter(|id| format::is_uuid(id)).and_then(|id| id.parse().ok());
        let is_offered = are_found(visit);
        let known = Self { is_offered, text, id, choices: Vec::new() };
        if id.is_some() || known.text.is_empty() || !is_offered {
            return Ok(known);
        }
        match meant(visit, &known.text).await? {
            Ok(id) => Ok(Self { id: Some(id), ..known }),
            Err(flats) => {
                let choices = flats.iter().map(|flat| (flat.name.clone(), of_flat(visit, path, flat.id, &flat.name))).collect();
                Ok(Self { choices, ..known })
            }
        }
    }

    /// Whether something was typed that is the name of no single flat: there is nothing to list then.
    pub const fn is_open(&self) -> bool {
        self.is_offered && self.id.is_none() && !self.text.is_empty()
    }
}

/// Whether the member may look for flats.
pub fn are_found(visit: &Visit) -> bool {
    visit.may(READ)
}

/// The flat that a name means: the only one found by it, or the only one that is called so; those that may be meant where it is none.
pub async fn meant(visit: &Visit, name: &str) -> Result<Result<Uuid, Vec<Flat>>, Refusal> {
    let query: String = name.chars().take(200).collect();
    let flats: Vec<Flat> = visit.get(READ, json!({ "query": query, "limit": OFFERED })).await?;
    let is_same = |flat: &&Flat| flat.name.to_lowercase() == query.to_lowercase();
    let mut same = flats.iter().filter(is_same);
    Ok(match (flats.as_slice(), same.next(), same.next()) {
        ([only], ..) | (_, Some(only), None) => Ok(only.id),
        _ => Err(flats),
    })
}

/// The same list of one flat.
fn of_flat(visit: &Visit, path: &str, id: Uuid, name: &str) -> String {
    let id = id.to_string();
    let others = visit.query.iter().filter(|(known, _)| !["flat", "propertyId", "from", "done"].contains(&known.as_str()));
    let others = others.map(|(known, value)| (known.as_str(), value.as_str()));
    let query: Vec<(&str, &str)> = others.chain([("flat", name), ("propertyId", id.as_str())]).collect();
    visit.address_with(path, &query)
}
