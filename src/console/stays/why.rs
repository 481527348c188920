//! Why a guest sees what they see: the portal, every step and every manual, each with the rule that decided and what would change it.

use askama::Template;
use serde::Deserialize;
use serde_json::json;
use uuid::Uuid;

use super::super::flats;
use super::super::frame::Frame;
use super::super::paging::Paging;
use super::super::refusal::Refusal;
use super::super::reply;
use super::super::screens::{Answering, way};
use super::super::submissions::Submission;
use super::super::visit::Visit;
use super::super::when;
use super::SCREEN;
use crate::words::fill;

/// The explanation of a stay, as it is answered.
#[derive(Debug, Deserialize)]
pub(super) struct Explanation {
    portal: Serving,
    pub steps: Vec<Item>,
    pub manuals: Vec<Item>,
}

#[derive(Debug, Deserialize)]
struct Serving {
    id: Option<Uuid>,
    name: Option<String>,
    reason: Reason,
}

/// A step or a manual.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Item {
    id: Uuid,
    nickname: String,
    pub is_shown: bool,
    reason: Reason,
    path: Vec<Hop>,
}

#[derive(Debug, Deserialize)]
struct Reason {
    key: String,
    message: String,
}

#[derive(Debug, Deserialize)]
struct Hop {
    #[serde(rename = "type")]
    kind: String,
    id: Uuid,
    name: Option<String>,
}

/// A reason in the language of the page, and in the interface's own words where these are others.
pub(super) struct Said {
    pub text: String,
    pub original: Option<String>,
}

impl Reason {
    fn said(&self, visit: &Visit) -> Said {
        let own = visit.words.stays.reason(&self.key).filter(|_| visit.language != "en");
        match own {
            Some(text) => Said { text: text.to_owned(), original: Some(self.message.clone()) },
            None => Said { text: self.message.clone(), original: None },
        }
    }
}

/// The portal that serves a stay.
pub(super) struct Portal {
    pub name: String,
    pub reason: Said,
    pub way: Option<String>,
    /// Where it is decided that it serves the stay.
    pub rule: Option<(&'static str, String)>,
}

impl Explanation {
    pub async fn read(visit: &Visit, id: Uuid, at: Option<&str>) -> Result<Self, Refusal> {
        visit.get("explainGuestView", json!({ "id": id, "at": at })).await
    }

    /// Which portal serves the stay.
    pub const fn portal_id(&self) -> Option<Uuid> {
        self.portal.id
    }

    pub fn portal(&self, visit: &Visit) -> Portal {
        let words = &visit.words.stays;
        let name = self.portal.id.map(|id| self.portal.name.clone().unwrap_or_else(|| id.to_string()));
        Portal {
            name: name.unwrap_or_else(|| words.no_portal_serves.to_owned()),
            reason: self.portal.reason.said(visit),
            way: self.portal.id.and_then(|id| way(visit, "/portals/{id}", &id.to_string())),
            rule: self.rule_of_portal(visit),
        }
    }

    /// Where it is decided which portal serves the stay: its assignments, that it is the default, or the list where there is none.
    fn rule_of_portal(&self, visit: &Visit) -> Option<(&'static str, String)> {
        let words = &visit.words.stays;
        let assigned = |id: Uuid, to: &str| {
            let path = format!("/assignments/portals/{id}");
            visit.may("listEntityScopes").then(|| (words.open_assignments, visit.address_with(&path, &[("to", to)])))
        };
        match (self.portal.reason.key.as_str(), self.portal.id) {
            ("property", Some(id)) => assigned(id, "properties"),
            ("property_group", Some(id)) => assigned(id, "groups"),
            ("tag", Some(id)) => assigned(id, "tags"),
            ("default", Some(id)) => Some((words.open_rule, way(visit, "/portals/{id}", &id.to_string())? + "#f-isDefault")),
            ("no_portal", _) => Some((words.open_portals, way(visit, "/portals", "")?)),
            _ => None,
        }
    }
}

/// What can be explained.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Steps,
    Manuals,
}

impl Kind {
    const fn word(self) -> &'static str {
        match self {
            Self::Steps => "steps",
            Self::Manuals => "manuals",
        }
    }
}

/// The field of a step's form that a rule of steps is, by its key.
fn field_of(key: &str) -> Option<&'static str> {
    Some(match key {
        "inactive" => "isActive",
        "always_shown" => "isAlwaysShown",
        "min_los" => "minLos",
        "max_los" => "maxLos",
        "lead_time_min" => "leadTimeMinDays",
        "lead_time_max" => "leadTimeMaxDays",
        "channel_excluded" => "excludedSources",
        "channel_not_included" => "includedSourcesReturning",
        "returning_guest" => "isReturningGuestExcluded",
        _ => return None,
    })
}

/// Where the rule stands that decided.
fn rule(visit: &Visit, kind: Kind, key: &str, id: &str, portal: Option<Uuid>) -> Option<(&'static str, String)> {
    let words = &visit.words.stays;
    let of_visibility = ["visible", "too_early", "too_late", "out_of_season", "stay_too_short", "stay_too_long", "booking_source"];
    match (kind, key) {
        (_, "no_portal") => Some((words.open_portals, way(visit, "/portals", "")?)),
        (_, "precheckin_disabled") => {
            Some((words.open_portal, way(visit, "/portals/{id}", &portal?.to_string())? + "#f-isPrecheckinEnabled"))
        }
        (Kind::Manuals, key) if of_visibility.contains(&key) || matches!(key, "verification_status" | "always_visible") => {
            Some((words.open_rule, way(visit, "/manuals/{id}/visibility", id)?))
        }
        (Kind::Manuals, "inactive") => Some((words.open_rule, way(visit, "/manuals/{id}", id)? + "#f-isActive")),
        (Kind::Steps, key) => Some((words.open_rule, format!("{}#f-{}", way(visit, "/steps/{id}", id)?, field_of(key)?))),
        _ => None,
    }
}

struct Row {
    name: String,
    is_shown: bool,
    reason: Said,
    /// How an assignment reaches the flat.
    path: Vec<String>,
    change: &'static str,
    /// Where the rule is that decided, the thing itself and its assignments: what each is called, and its address.
    ways: Vec<(&'static str, String)>,
}

fn row(visit: &Visit, kind: Kind, item: &Item, portal: Option<Uuid>) -> Row {
    let words = &visit.words.stays;
    let hop = |hop: &Hop| {
        let text = match hop.kind.as_str() {
            "property" => words.hop_property,
            "property_group" => words.hop_group,
            "tag" => words.hop_tag,
            _ => words.hop_portal,
        };
        fill(text, &[("name", hop.name.as_deref().unwrap_or(&hop.id.to_string()))])
    };
    let id = item.id.to_string();
    let own = way(visit, &format!("/{}/{{id}}", kind.word()), &id).map(|way| (words.open_it, way));
    let rule = rule(visit, kind, &item.reason.key, &id, portal);
    let is_assigned = own.is_some() && visit.may("listEntityScopes") && item.reason.key != "cancelled";
    let assignments = is_assigned.then(|| (words.open_assignments, visit.address(&format!("/assignments/{}/{id}", kind.word()))));
    Row {
        name: item.nickname.clone(),
        is_shown: item.is_shown,
        reason: item.reason.said(visit),
        path: item.path.iter().map(hop).collect(),
        change: words.change(&item.reason.key, item.is_shown),
        ways: rule.into_iter().chain(own).chain(assignments).collect(),
    }
}

#[derive(Template)]
#[template(path = "console/why.html")]
struct Shown<'v> {
    frame: Frame<'v>,
    path: String,
    portal: Portal,
    tabs: Vec<(&'static str, usize, String, bool)>,
    of: &'static str,
    shown: &'static str,
    query: String,
    at: String,
    at_hint: String,
    rows: Vec<Row>,
    paging: Paging,
}

pub(super) fn show(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        let words = &visit.words.stays;
        let id = visit.named("id")?;
        let submission = Submission::read(visit, id).await?;
        let zone = flats::zone(visit, submission.property_id).await;
        let at = visit.asks("at").unwrap_or_default().trim().to_owned();
        let moment = (!at.is_empty()).then(|| when::typed(&at, &zone).unwrap_or_else(|| at.clone()));
        let explanation = Explanation::read(visit, id, moment.as_deref()).await?;
        let kind = if visit.asks("of") == Some("manuals") { Kind::Manuals } else { Kind::Steps };
        let shown = match visit.asks("shown") {
            Some("yes") => "yes",
            Some("no") => "no",
            _ => "",
        };
        let query = visit.asks("query").unwrap_or_default().to_owned();
        let path = format!("/stays/{id}/why");
        let tab = |known: Kind| {
            let (called, count) = match known {
                Kind::Steps => (visit.words.assign.steps, explanation.steps.len()),
                Kind::Manuals => (visit.words.assign.manuals, explanation.manuals.len()),
            };
            let asked: [(&str, &str); 4] = [("of", known.word()), ("shown", shown), ("query", &query), ("at", &at)];
            let asked: Vec<_> = asked.into_iter().filter(|(_, value)| !value.is_empty()).collect();
            (called, count, visit.address_with(&path, &asked), known == kind)
        };
        let tabs = [Kind::Steps, Kind::Manuals].map(tab).into();
        let wanted = query.to_lowercase();
        let items = if kind == Kind::Steps { &explanation.steps } else { &explanation.manuals };
        let is_wanted = |item: &&Item| {
            (shown.is_empty() || item.is_shown == (shown == "yes")) && (wanted.is_empty() || item.nickname.to_lowercase().contains(&wanted))
        };
        let items: Vec<&Item> = items.iter().filter(is_wanted).collect();
        let paging = Paging::of(visit, &path, items.len());
        let guest = submission.guest_name.clone().unwrap_or_else(|| visit.words.submissions.unknown_guest.to_owned());
        let page = Shown {
            frame: Frame::new(visit, words.why).below(visit, words.stays, SCREEN.path).below(visit, guest, &format!("/stays/{id}")),
            portal: explanation.portal(visit),
            rows: paging.cut(items).into_iter().map(|item| row(visit, kind, item, explanation.portal_id())).collect(),
            path: visit.address(&path),
            tabs,
            of: kind.word(),
            shown,
            query,
            at,
            at_hint: fill(words.at_hint, &[("zone", zone.iana_name().unwrap_or("UTC"))]),
            paging,
        };
        Ok(reply::of(visit, 200, &page))
    })
}
