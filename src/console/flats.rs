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
/// Flats of one answer, and the answers that are looked through for names at the most.
const MOST: usize = 500;
const ANSWERS: usize = 4;
/// Flats that are offered where several bear a name.
const OFFERED: usize = 20;

/// A flat, as far as these screens know it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Flat {
    id: Uuid,
    name: String,
    #[serde(default)]
    timezone: Option<String>,
}

/// What each of these flats is called. Where there are very many flats some stay without a name: it is on the screen of their stay.
pub async fn names(visit: &Visit, mut wanted: BTreeSet<Uuid>) -> Result<BTreeMap<Uuid, String>, Refusal> {
    let mut names = BTreeMap::new();
    if !visit.may(READ) {
        return Ok(names);
    }
    for answer in 0..ANSWERS {
        if wanted.is_empty() {
            break;
        }
        let flats: Vec<Flat> = visit.get(READ, json!({ "limit": MOST, "offset": answer * MOST })).await?;
        let is_last = flats.len() < MOST;
        names.extend(flats.into_iter().filter(|flat| wanted.remove(&flat.id)).map(|flat| (flat.id, flat.name)));
        if is_last {
            break;
        }
    }
    Ok(names)
}

/// The time zone of a flat of a name; UTC where it is not to be had.
pub async fn zone(visit: &Visit, id: Option<Uuid>, name: Option<&str>) -> TimeZone {
    let (Some(id), Some(name)) = (id, name.filter(|name| !name.trim().is_empty() && visit.may(READ))) else { return TimeZone::UTC };
    let query: String = name.chars().take(200).collect();
    let flats: Vec<Flat> = visit.get(READ, json!({ "query": query, "limit": MOST })).await.unwrap_or_default();
    let zone = flats.into_iter().find(|flat| flat.id == id).and_then(|flat| flat.timezone);
    zone.and_then(|zone| TimeZone::get(&zone).ok()).unwrap_or(TimeZone::UTC)
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
        let is_offered = visit.may(READ);
        let known = Self { is_offered, text, id, choices: Vec::new() };
        if id.is_some() || known.text.is_empty() || !is_offered {
            return Ok(known);
        }
        let query: String = known.text.chars().take(200).collect();
        let flats: Vec<Flat> = visit.get(READ, json!({ "query": query, "limit": OFFERED })).await?;
        let is_same = |flat: &&Flat| flat.name.to_lowercase() == query.to_lowercase();
        let mut same = flats.iter().filter(is_same);
        match (flats.as_slice(), same.next(), same.next()) {
            ([only], ..) | (_, Some(only), None) => Ok(Self { id: Some(only.id), ..known }),
            _ => {
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

/// The same list of one flat.
fn of_flat(visit: &Visit, path: &str, id: Uuid, name: &str) -> String {
    let id = id.to_string();
    let others = visit.query.iter().filter(|(known, _)| !["flat", "propertyId", "from", "done"].contains(&known.as_str()));
    let others = others.map(|(known, value)| (known.as_str(), value.as_str()));
    let query: Vec<(&str, &str)> = others.chain([("flat", name), ("propertyId", id.as_str())]).collect();
    visit.address_with(path, &query)
}
