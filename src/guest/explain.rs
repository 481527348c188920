//! explainGuestView: for the portal and for every step, whether this guest gets it, and the one rule that decided.

use std::collections::HashMap;

use engine::context::Context;
use engine::error::Result;
use engine::operation::Object;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::precheckin;
use super::stay::{Flat, Stay};
use crate::manuals::{self, Visibility};
use crate::precheck::{self, StayFacts, Step, StepType, Targeting, Verdict};
use crate::records::typed;
use crate::scopes::{self, EntityType, Resolved, Route, Target, TargetKind};

/// What things on the way to the flat are called.
type Names = HashMap<Target, String>;

/// Why a guest sees what they see.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(example = example())]
pub(super) struct Explanation {
    /// The portal that serves the stay.
    portal: ExplainedPortal,
    /// Every step of the organization that the caller may know of, in guest order.
    steps: Vec<ExplainedStep>,
    /// Every manual of the organization that the caller may know of, by nickname.
    manuals: Vec<ExplainedItem>,
}

/// The portal, and why it is the one.
#[derive(Debug, Serialize, JsonSchema)]
struct ExplainedPortal {
    id: Option<Uuid>,
    name: Option<String>,
    reason: Reason,
}

/// A step or a manual, and why the guest gets it or not.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ExplainedItem {
    id: Uuid,
    nickname: String,
    is_shown: bool,
    reason: Reason,
    /// From what it is assigned to, to the property; empty where nothing reaches it.
    path: Vec<Hop>,
}

/// A step, what it asks, and why the guest gets it or not.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ExplainedStep {
    #[serde(flatten)]
    item: ExplainedItem,
    step_type: StepType,
}

/// The one rule that decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
struct Reason {
    /// For programs.
    key: &'static str,
    /// For people.
    message: String,
    /// What of the stay and of the rule decided; absent where the key says it all.
    #[serde(skip_serializing_if = "Option::is_none")]
    facts: Option<Facts>,
}

/// What decided, as far as it is a number, a name or a moment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
struct Facts {
    /// Nights of the stay.
    #[serde(skip_serializing_if = "Option::is_none")]
    nights: Option<i64>,
    /// Days from booking to check-in.
    #[serde(skip_serializing_if = "Option::is_none")]
    days: Option<i64>,
    /// How many of them the rule asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<u32>,
    /// The channel, the verification status, the group or the tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// From when on, or until when, in the property's time.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<String>,
}

/// A thing on the way from an assignment to the property.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
struct Hop {
    #[serde(rename = "type")]
    kind: TargetKind,
    id: Uuid,
    name: Option<String>,
}

impl Reason {
    fn new(key: &'static str, message: impl Into<String>) -> Self {
        Self { key, message: message.into(), facts: None }
    }

    fn with(self, facts: Facts) -> Self {
        Self { facts: Some(facts), ..self }
    }
}

/// Explains what the guest of a reservation sees at a moment; of one step alone where one is named, which the caller must
/// be able to see (404).
pub(super) fn explain(context: &mut Context<'_, '_>, reservation: Uuid, at: Timestamp, only: Option<Uuid>) -> Result<Explanation> {
    let stay = Stay::load(context, reservation)?;
    let names = names(context, &stay)?;
    let steps = match only {
        None => precheck::all(context)?,
        Some(id) => {
            precheck::check_exists(context, id)?;
            precheck::one(context, id)?.into_iter().collect()
        }
    };
    let steps = explained_steps(context, steps, &stay, &names)?;
    let manuals = if only.is_none() { manuals(context, &stay, &names, at)? } else { Vec::new() };
    Ok(Explanation { portal: portal(&stay, &names), steps, manuals })
}

fn explained_steps(context: &mut Context<'_, '_>, mut steps: Vec<Step>, stay: &Stay, names: &Names) -> Result<Vec<ExplainedStep>> {
    let visible = precheck::visible_ids(context, &steps)?;
    steps.retain(|step| visible.contains(&step.id));
    precheckin::sort(&mut steps, stay.portal());
    let assigned = closest(context, EntityType::PrecheckStep, stay)?;
    let facts = stay.facts();
    let explained = steps.into_iter().map(|step| {
        let target = assigned.get(&step.id).copied();
        let (is_shown, reason) = judge(&step, target.is_some(), stay, &facts);
        let item = ExplainedItem { is_shown, reason, path: path(target, stay, names), id: step.id, nickname: step.nickname };
        ExplainedStep { item, step_type: step.step_type }
    });
    Ok(explained.collect())
}

fn manuals(context: &mut Context<'_, '_>, stay: &Stay, names: &Names, at: Timestamp) -> Result<Vec<ExplainedItem>> {
    let all = manuals::all(context)?;
    let visible = manuals::visible_ids(context, all.iter().map(|covered| covered.manual.answered.id))?;
    let assigned = closest(context, EntityType::Manual, stay)?;
    let facts = super::manuals::facts(stay);
    let explained = all.into_iter().map(|covered| covered.manual.answered).filter(|manual| visible.contains(&manual.id)).map(|manual| {
        let target = assigned.get(&manual.id).copied();
        let visibility = facts.as_ref().and_then(|facts| super::manuals::judge(&manual.visibility_rules, facts, at));
        let (is_shown, reason) = match (of_stay(stay), visibility) {
            (Some(reason), _) => (false, reason),
            _ if target.is_none() => {
                (false, Reason::new("not_assigned", "The manual is not assigned to the property, its group or its tags."))
            }
            _ if !manual.is_active => (false, Reason::new("inactive", "The manual is not active.")),
            (None, None) => (true, Reason::new("always_visible", "The manual is assigned and active, and has no visibility rules.")),
            (None, Some(visibility)) => (visibility.is_shown(), of_visibility(&visibility)),
        };
        ExplainedItem { is_shown, reason, path: path(target, stay, names), id: manual.id, nickname: manual.nickname }
    });
    Ok(explained.collect())
}

/// What visibility rules come to, in words.
fn of_visibility(visibility: &Visibility) -> Reason {
    let facts = match visibility {
        Visibility::Visible | Visibility::OutOfSeason => None,
        Visibility::TooEarly(at) | Visibility::TooLate(at) => Some(Facts { at: Some(format!("{at:.0}")), ..Facts::default() }),
        Visibility::StayTooShort { nights, least: limit } | Visibility::StayTooLong { nights, most: limit } => {
            Some(Facts { nights: Some(*nights), limit: Some(*limit), ..Facts::default() })
        }
        Visibility::BookingSource(channel) => Some(Facts { name: Some(channel.clone()), ..Facts::default() }),
        Visibility::VerificationStatus(status) => Some(Facts { name: Some(status.as_ref().to_owned()), ..Facts::default() }),
    };
    Reason { facts, ..Reason::new(visibility.into(), visibility.message()) }
}

/// What reaches the flat, each with its closest assignment: where several reach it, that one is named.
fn closest(context: &mut Context<'_, '_>, entity_type: EntityType, stay: &Stay) -> Result<HashMap<Uuid, Target>> {
    let mut assigned = HashMap::<Uuid, Target>::new();
    for (entity, target) in scopes::reaching(context, entity_type, &stay.targets())? {
        assigned.entry(entity).and_modify(|closest| *closest = target.min(*closest)).or_insert(target);
    }
    Ok(assigned)
}

/// Why a stay gets nothing at all.
fn of_stay(stay: &Stay) -> Option<Reason> {
    if stay.is_cancelled() {
        return Some(Reason::new("cancelled", "The reservation is cancelled."));
    }
    stay.flat.is_none().then(|| Reason::new("no_property", "The reservation has no property yet."))
}

/// Whether a guest gets a step, and the first rule that says so: the step's own before the portal's.
fn judge(step: &Step, is_assigned: bool, stay: &Stay, facts: &StayFacts) -> (bool, Reason) {
    let refusal = if let Some(reason) = of_stay(stay) {
        Some(reason)
    } else if !is_assigned {
        Some(Reason::new("not_assigned", "The step is not assigned to the property, its group, its tags or its portal."))
    } else if !step.is_active {
        Some(Reason::new("inactive", "The step is not active."))
    } else {
        match stay.portal() {
            None => Some(Reason::new("no_portal", "No portal serves the property, so nothing is asked.")),
            Some(portal) if !portal.is_precheckin_enabled => {
                Some(Reason::new("precheckin_disabled", "Pre-check-in is switched off on the portal."))
            }
            Some(_) => None,
        }
    };
    if let Some(reason) = refusal {
        return (false, reason);
    }
    let verdict = precheck::decide(&step.targeting, facts);
    (verdict.is_shown(), rule(verdict, &step.targeting, facts))
}

fn counted(number: i64, unit: &str) -> String {
    format!("{number} {unit}{}", if number == 1 { "" } else { "s" })
}

/// A verdict in words.
fn rule(verdict: Verdict, rules: &Targeting, stay: &StayFacts) -> Reason {
    let (nights, days) = (precheck::days(stay.check_in, stay.check_out), precheck::days(stay.booked_on, stay.check_in));
    let (stays, lead) = (counted(nights, "night"), counted(days, "day"));
    let channel = &stay.channel;
    let (least, most) = (rules.lead_time_min_days.unwrap_or_default(), rules.lead_time_max_days.unwrap_or_default());
    let of_nights = |limit| Facts { nights: Some(nights), limit: Some(limit), ..Facts::default() };
    let of_days = |limit| Facts { days: Some(days), limit: Some(limit), ..Facts::default() };
    let of_channel = || Facts { name: Some(channel.clone()), ..Facts::default() };
    match verdict {
        Verdict::AlwaysShown => Reason::new("always_shown", "The step is always shown; its other rules are ignored."),
        Verdict::AllRulesPass => Reason::new("all_rules_pass", "The step is assigned and active, and every rule lets it through."),
        Verdict::MinLos => {
            Reason::new("min_los", format!("The stay ({stays}) is shorter than minLos ({}).", counted(rules.min_los.into(), "night")))
                .with(of_nights(rules.min_los))
        }
        Verdict::MaxLos => {
            Reason::new("max_los", format!("The stay ({stays}) is longer than maxLos ({}).", counted(rules.max_los.into(), "night")))
                .with(of_nights(rules.max_los))
        }
        Verdict::LeadTimeMin => {
            Reason::new("lead_time_min", format!("Booked {lead} before check-in, which is less than leadTimeMinDays ({least})."))
                .with(of_days(least))
        }
        Verdict::LeadTimeMax => {
            Reason::new("lead_time_max", format!("Booked {lead} before check-in, which is more than leadTimeMaxDays ({most})."))
                .with(of_days(most))
        }
        Verdict::ChannelExcluded => {
            Reason::new("channel_excluded", format!("The channel {channel} is among excludedSources.")).with(of_channel())
        }
        Verdict::ChannelNotIncluded => {
            Reason::new("channel_not_included", format!("The channel {channel} is not among includedSourcesReturning.")).with(of_channel())
        }
        Verdict::ReturningGuest => Reason::new("returning_guest", "The guest stayed before, and returning guests skip the step."),
    }
}

fn portal(stay: &Stay, names: &Names) -> ExplainedPortal {
    let called = |kind, id: &Uuid| names.get(&(kind, *id)).cloned().unwrap_or_default();
    let Some((portal, Resolved { route, .. })) = stay.flat.as_ref().and_then(|flat| flat.portal.as_ref()) else {
        let reason = match stay.flat {
            None => Reason::new("no_property", "The reservation has no property yet."),
            Some(_) => Reason::new("no_portal", "No portal is assigned to the property, its group or its tags, and there is no default."),
        };
        return ExplainedPortal { id: None, name: None, reason };
    };
    let scoped_to = |key, kind: &str, name: String| {
        Reason::new(key, format!("The portal is scoped to the {kind} {name}.")).with(Facts { name: Some(name), ..Facts::default() })
    };
    let reason = match route {
        Route::Direct => Reason::new("property", "The portal is assigned to the property."),
        Route::Group(id) => scoped_to("property_group", "group", called(TargetKind::PropertyGroup, id)),
        Route::Tag(id) => scoped_to("tag", "tag", called(TargetKind::Tag, id)),
        Route::Default => Reason::new("default", "No portal is assigned to the property, its group or its tags; this is the default."),
    };
    ExplainedPortal { id: Some(portal.id), name: portal.name.clone(), reason }
}

/// The names of what can stand on a path to the property.
fn names(context: &mut Context<'_, '_>, stay: &Stay) -> Result<Names> {
    let mut names = HashMap::new();
    for (kind, id) in stay.targets() {
        let name = match kind.record() {
            Some(record) => {
                typed::<Object>(context, record, id)?.and_then(|data| data.get("name").and_then(Value::as_str).map(str::to_owned))
            }
            None => stay.portal().and_then(|portal| portal.name.clone()),
        };
        names.extend(name.map(|name| ((kind, id), name)));
    }
    Ok(names)
}

/// The way from an assignment to the property: through the portal, and through what the portal is assigned to.
fn path(target: Option<Target>, stay: &Stay, names: &Names) -> Vec<Hop> {
    let (Some(target), Some(Flat { placement, portal, .. })) = (target, stay.flat.as_deref()) else { return Vec::new() };
    let through = match (portal, target.0) {
        (Some((_, Resolved { route: Route::Group(id), .. })), TargetKind::Portal) => Some((TargetKind::PropertyGroup, *id)),
        (Some((_, Resolved { route: Route::Tag(id), .. })), TargetKind::Portal) => Some((TargetKind::Tag, *id)),
        _ => None,
    };
    let property = (TargetKind::Property, placement.property);
    let last = (target != property).then_some(property);
    let hops = [Some(target), through, last].into_iter().flatten();
    hops.map(|(kind, id)| Hop { kind, id, name: names.get(&(kind, id)).cloned() }).collect()
}

fn example() -> Value {
    json!({
        "portal": {
            "id": "0192f0c1-2345-7abc-8def-0123456789ab", "name": "Casa Azul",
            "reason": { "key": "property", "message": "The portal is assigned to the property." },
        },
        "steps": [{
            "id": "0192f0c1-2345-7abc-8def-0123456789ac", "nickname": "House rules", "stepType": "agreement", "isShown": false,
            "reason": { "key": "min_los", "message": "The stay (1 night) is shorter than minLos (2 nights).", "facts": { "nights": 1, "limit": 2 } },
            "path": [
                { "type": "tag", "id": "0192f0c1-2345-7abc-8def-0123456789ad", "name": "Sea view" },
                { "type": "property", "id": "0192f0c1-2345-7abc-8def-0123456789ae", "name": "Casa Azul 2-1" },
            ],
        }],
        "manuals": [{
            "id": "0192f0c1-2345-7abc-8def-0123456789af", "nickname": "Door code", "isShown": false,
            "reason": {
                "key": "too_early", "message": "It is shown from 2026-12-11T13:00:00 on, in the property's time.",
                "facts": { "at": "2026-12-11T13:00:00" },
            },
            "path": [{ "type": "property", "id": "0192f0c1-2345-7abc-8def-0123456789ae", "name": "Casa Azul 2-1" }],
        }],
    })
}
