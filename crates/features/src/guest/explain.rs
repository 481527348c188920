//! The operation `explainGuestView`: which portal serves a stay, and why the guest gets or does not
//! get each step and each manual. Each explanation names the one rule that decided. The rules are
//! in `scopes/resolution.rs`, `precheck/targeting.rs` and `manuals/visibility.rs`.

use std::collections::{BTreeSet, HashMap};

use engine::context::Context;
use engine::error::Result;
use engine::operation::Object;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::about::is_over;
use super::hours::StayHours;
use super::phase::Phase;
use super::placeholders::{self, CustomValues, MissingPlaceholder, TextPlacement, Values};
use super::precheckin;
use super::stay::{Stay, StayFlat};
use super::step_view::linked_texts;
use super::view::language_of;
use crate::manuals::{self, DisplayMode, Visibility, WrittenManual};
use crate::portals;
use crate::precheck::{self, Step, StepType, Targeting, TargetingInput, TargetingVerdict};
use crate::records::record_as;
use crate::scopes::{self, EntityType, PortalSource, ResolvedPortal, Target, TargetKind};
use crate::translations::{self, Texts};

/// The names of the groups, tags and portals that an explanation can mention.
pub(super) type TargetNames = HashMap<Target, String>;

/// Explanation of a guest's view.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(example = example())]
pub struct Explanation {
    /// The portal that serves the stay.
    pub portal: ExplainedPortal,
    /// Every step that the caller may see, in the order in which guests get steps.
    pub steps: Vec<ExplainedStep>,
    /// Every manual that the caller may see, sorted by nickname.
    pub manuals: Vec<ExplainedItem>,
    /// The values that the guest does not get, because the booking is not confirmed yet.
    pub withheld: Vec<Withheld>,
}

/// A value that the guest gets only once the booking is confirmed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Withheld {
    pub value: WithheldValue,
    reason: Reason,
}

/// A value that is withheld from a guest.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WithheldValue {
    /// The flat's wireless network and its password.
    Wifi,
    /// The codes of the flat's locks.
    DoorCodes,
    /// The wallet pass.
    WalletPass,
}

/// The portal that serves a stay, and the rule that selected it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedPortal {
    pub id: Option<Uuid>,
    pub name: Option<String>,
    pub reason: Reason,
    /// Texts of the portal that the guest does not get, because a placeholder has no value.
    pub hidden_texts: Vec<HiddenText>,
}

/// A text that the guest does not get.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HiddenText {
    /// Name of the field that links the text, such as `displayTitleMlTextId`.
    field: &'static str,
    /// Placeholder without a value, as the text writes its name.
    pub placeholder: String,
    /// The reason as a sentence, for people.
    message: String,
}

/// A step or manual, and why it is shown or not.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedItem {
    pub id: Uuid,
    pub nickname: String,
    pub is_shown: bool,
    pub reason: Reason,
    /// The objects from the assignment to the property; empty if the step or manual is not
    /// assigned.
    pub path: Vec<Hop>,
    /// Texts that the guest does not get, because a placeholder in them has no value. Only a step
    /// that is shown has such texts.
    pub hidden_texts: Vec<HiddenText>,
    /// Languages in which a text of the step or manual is older than its English text.
    pub outdated_languages: Vec<String>,
}

/// A step, its type, and why it is shown or not.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedStep {
    #[serde(flatten)]
    pub item: ExplainedItem,
    step_type: StepType,
}

/// The rule that decided whether a step or manual is shown, or which portal serves a stay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Reason {
    /// Name of the rule, for programs.
    pub key: &'static str,
    /// The reason as a sentence, for people.
    pub message: String,
    /// Values of the stay and of the rule that led to the decision; absent if `key` alone explains
    /// the decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub facts: Option<Facts>,
}

/// The values of the stay and of the rule that led to a decision: numbers, a name or a time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Facts {
    /// Nights of the stay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nights: Option<i64>,
    /// Days from booking to check-in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub days: Option<i64>,
    /// Number of nights or days that the rule sets as its limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Name of the channel, the verification status, the group, the tag or the placeholder that led
    /// to the decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Time at which the visibility begins or ends, in the property's time zone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
}

/// An object between an assignment and the property: a portal, a group, a tag, or the property.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Hop {
    #[serde(rename = "type")]
    pub kind: TargetKind,
    pub id: Uuid,
    pub name: Option<String>,
}

impl Reason {
    fn new(key: &'static str, message: impl Into<String>) -> Self {
        Self {
            key,
            message: message.into(),
            facts: None,
        }
    }

    fn with(self, facts: Facts) -> Self {
        Self {
            facts: Some(facts),
            ..self
        }
    }
}

/// Explains the view of a reservation's guest at a time. If `only` is the id of a step, only that
/// step is explained, and no manual; 404 if the caller cannot access the step.
pub(super) fn explain(
    context: &mut Context<'_, '_>,
    reservation: Uuid,
    at: Timestamp,
    only: Option<Uuid>,
) -> Result<Explanation> {
    let stay = Stay::load(context, reservation)?;
    let names = names(context, stay.flat.as_deref())?;
    let steps = match only {
        None => precheck::all_steps(context)?,
        Some(id) => {
            precheck::check_exists(context, id)?;
            precheck::step_by_id(context, id)?.into_iter().collect()
        }
    };
    let steps = explained_steps(context, steps, &stay, &names)?;
    let manuals = if only.is_none() {
        manuals(context, &stay, &names, at)?
    } else {
        Vec::new()
    };
    let mut portal = portal(stay.flat.as_deref(), &names);
    portal.hidden_texts = hidden_texts_of_portal(context, &stay)?;
    Ok(Explanation {
        portal,
        steps,
        manuals,
        withheld: withheld(&stay),
    })
}

/// Returns the values that are withheld from the guest of a stay.
fn withheld(stay: &Stay) -> Vec<Withheld> {
    if !stay.is_tentative() {
        return Vec::new();
    }
    let of = |value, words: &str| Withheld {
        value,
        reason: Reason::new(
            "tentative",
            format!("The booking is not confirmed yet, so the guest does not get {words}."),
        ),
    };
    vec![
        of(WithheldValue::Wifi, "the flat's wireless network"),
        of(WithheldValue::DoorCodes, "the flat's door codes"),
        of(WithheldValue::WalletPass, "a wallet pass"),
    ]
}

fn explained_steps(
    context: &mut Context<'_, '_>,
    mut steps: Vec<Step>,
    stay: &Stay,
    names: &TargetNames,
) -> Result<Vec<ExplainedStep>> {
    let visible = precheck::visible_ids(context, &steps)?;
    steps.retain(|step| visible.contains(&step.id));
    precheckin::sort(&mut steps, stay.portal());
    let assigned = closest_assignments(context, EntityType::PrecheckStep, stay)?;
    let targeting_input = stay.targeting_input();
    let linked = steps.iter().flat_map(linked_texts).collect();
    let contracts = steps
        .iter()
        .filter_map(|step| step.write_only.contract_template_text.as_deref());
    let guest_texts = TextsOfGuest::load(context, stay, linked, contracts)?;
    let values = guest_texts.values(stay);
    let texts = |step: &Step| linked_texts(step).collect::<Vec<_>>();
    let outdated = translations::outdated(context, steps.iter().flat_map(texts).collect())?;
    let explained = steps.into_iter().map(|step| {
        let target = assigned.get(&step.id).copied();
        let (mut is_shown, mut reason) =
            decide_step(&step, target.is_some(), stay, &targeting_input);
        let missing = placeholders::missing_of_step(&step, &guest_texts.texts, &values);
        if let Some(missing) = missing.filter(|_| is_shown) {
            (is_shown, reason) = (false, value_missing(&missing));
        }
        let own = [
            ("displayTitleMlTextId", step.display_title_ml_text_id),
            (
                "guestDescriptionMlTextId",
                step.write_only.guest_description_ml_text_id,
            ),
        ];
        let hidden_texts = if is_shown {
            guest_texts.hidden(&values, own)
        } else {
            Vec::new()
        };
        let item = ExplainedItem {
            hidden_texts,
            is_shown,
            reason,
            path: path(target, stay, names),
            outdated_languages: languages(&outdated, texts(&step)),
            id: step.id,
            nickname: step.nickname,
        };
        ExplainedStep {
            item,
            step_type: step.step_type,
        }
    });
    Ok(explained.collect())
}

fn manuals(
    context: &mut Context<'_, '_>,
    stay: &Stay,
    names: &TargetNames,
    at: Timestamp,
) -> Result<Vec<ExplainedItem>> {
    let all = manuals::all_manuals(context)?;
    let visible = manuals::visible_ids(
        context,
        all.iter().map(|covered| covered.manual.answered.id),
    )?;
    let assigned = closest_assignments(context, EntityType::Manual, stay)?;
    let visibility_input = super::manuals::visibility_input(stay);
    let phase = StayHours::of(stay).map_or(Phase::Before, |hours| hours.phase(at));
    let visible_manuals: Vec<WrittenManual> = all
        .into_iter()
        .map(|covered| covered.manual.answered)
        .filter(|manual| visible.contains(&manual.id))
        .collect();
    let linked = visible_manuals
        .iter()
        .flat_map(|manual| texts_of(manual).into_iter());
    let linked = linked.filter_map(|(_, id)| id).collect();
    let guest_texts = TextsOfGuest::load(context, stay, linked, std::iter::empty())?;
    let values = guest_texts.values(stay);
    let texts = |manual: &WrittenManual| {
        [manual.title_id, manual.description_id]
            .into_iter()
            .flatten()
    };
    let outdated =
        translations::outdated(context, visible_manuals.iter().flat_map(texts).collect())?;
    let explained = visible_manuals.into_iter().map(|manual| {
        let target = assigned.get(&manual.id).copied();
        let visibility = visibility_input
            .as_ref()
            .and_then(|input| super::manuals::visibility_of(&manual.visibility_rules, input, at));
        let (is_shown, reason) = match (stay_refusal(stay), visibility) {
            (Some(reason), _) => (false, reason),
            _ if target.is_none() => (
                false,
                Reason::new(
                    "not_assigned",
                    "The manual is not assigned to the property, its group or its tags.",
                ),
            ),
            _ if !manual.is_active => (false, Reason::new("inactive", "The manual is not active.")),
            _ if is_over(manual.icon_name.as_deref(), &manual.visibility_rules, phase) => (
                false,
                Reason::new(
                    "stay_over",
                    "The stay is over, and the manual is about the door or the network. A \
                        relative_date rule with an end decides otherwise.",
                ),
            ),
            (None, None) => (
                true,
                Reason::new(
                    "always_visible",
                    "The manual is assigned and active, and has no visibility rules.",
                ),
            ),
            (None, Some(visibility)) => (visibility.is_shown(), visibility_reason(&visibility)),
        };
        let missing = texts_of(&manual).into_iter().find_map(|(placement, id)| {
            let text = guest_texts.texts.unfilled_text(id)?;
            values.plain(text, placement).err()
        });
        let (is_shown, reason) = match missing {
            Some(missing) if is_shown => (false, value_missing(&missing)),
            _ => (is_shown, reason),
        };
        ExplainedItem {
            hidden_texts: Vec::new(),
            is_shown,
            reason,
            path: path(target, stay, names),
            outdated_languages: languages(&outdated, texts(&manual)),
            id: manual.id,
            nickname: manual.nickname,
        }
    });
    Ok(explained.collect())
}

/// The texts that an explanation checks, in the guest's language, and the values of the custom
/// fields that these texts name.
struct TextsOfGuest {
    texts: Texts,
    custom: CustomValues,
    language: String,
}

impl TextsOfGuest {
    /// Reads the texts with the ids `linked`. `others` are further texts that may contain
    /// placeholders of custom fields.
    fn load<'t>(
        context: &mut Context<'_, '_>,
        stay: &Stay,
        linked: Vec<Uuid>,
        others: impl Iterator<Item = &'t str>,
    ) -> Result<Self> {
        let language = language_of(None, &stay.reservation.guest);
        let texts = translations::texts(context, linked, &language)?;
        let flat = placeholders::flat_id(stay.flat.as_deref());
        let mut custom = placeholders::custom_values(context, flat, texts.all())?;
        custom.extend(placeholders::custom_values(context, flat, others)?);
        Ok(Self {
            texts,
            custom,
            language,
        })
    }

    fn values<'s>(&'s self, stay: &'s Stay) -> Values<'s> {
        Values::of(stay, &self.custom, &self.language, false)
    }

    /// Returns those of the texts in `fields` that the guest does not get, because a placeholder in
    /// the text has no value.
    fn hidden<const N: usize>(
        &self,
        values: &Values<'_>,
        fields: [(&'static str, Option<Uuid>); N],
    ) -> Vec<HiddenText> {
        let hidden = |(field, id)| {
            let missing = values
                .plain(self.texts.unfilled_text(id)?, TextPlacement::Elsewhere)
                .err()?;
            Some(HiddenText {
                field,
                message: missing.message(),
                placeholder: missing.name,
            })
        };
        fields.into_iter().filter_map(hidden).collect()
    }
}

/// Returns the ids of a manual's texts, each with its placement. If the manual shows a custom
/// field, the description is the value of that field, so the id of the description is `None`.
fn texts_of(manual: &WrittenManual) -> [(TextPlacement, Option<Uuid>); 2] {
    let is_text = manual.display_mode == DisplayMode::MultiLingualText;
    [
        (TextPlacement::Elsewhere, manual.title_id),
        (
            TextPlacement::of_icon(manual.icon_name.as_deref()),
            manual.description_id.filter(|_| is_text),
        ),
    ]
}

/// Returns the texts of the portal and of its branding that are hidden from the guest, because a
/// placeholder in them has no value.
fn hidden_texts_of_portal(context: &mut Context<'_, '_>, stay: &Stay) -> Result<Vec<HiddenText>> {
    let Some(portal) = stay.portal() else {
        return Ok(Vec::new());
    };
    let branding = match portal.branding_id {
        Some(id) => portals::find_branding(context, id)?,
        None => portals::default_branding(context)?,
    };
    let [title, kind, call, prompt] = portal.linked_texts();
    let callout = branding.and_then(|branding| branding.callout_message_id);
    let fields = [title, kind, call, prompt, ("calloutMessageId", callout)];
    let linked = fields.iter().filter_map(|(_, id)| *id).collect();
    let guest_texts = TextsOfGuest::load(context, stay, linked, std::iter::empty())?;
    Ok(guest_texts.hidden(&guest_texts.values(stay), fields))
}

/// Returns the reason that an explanation gives for a placeholder without a value.
fn value_missing(missing: &MissingPlaceholder) -> Reason {
    Reason::new("value_missing", missing.message()).with(Facts {
        name: Some(format!("{{{{{}}}}}", missing.name)),
        ..Facts::default()
    })
}

/// Returns the languages in which any of these texts is outdated, each once.
fn languages(
    outdated: &HashMap<Uuid, Vec<String>>,
    texts: impl IntoIterator<Item = Uuid>,
) -> Vec<String> {
    let languages = texts
        .into_iter()
        .filter_map(|id| outdated.get(&id))
        .flatten();
    let languages: BTreeSet<&String> = languages.collect();
    languages.into_iter().cloned().collect()
}

/// Converts a result of the visibility rules to the reason that an explanation contains.
fn visibility_reason(visibility: &Visibility) -> Reason {
    let facts = match visibility {
        Visibility::Visible | Visibility::OutOfSeason => None,
        Visibility::TooEarly(at) | Visibility::TooLate(at) => Some(Facts {
            at: Some(format!("{at:.0}")),
            ..Facts::default()
        }),
        Visibility::StayTooShort {
            nights,
            least: limit,
        }
        | Visibility::StayTooLong {
            nights,
            most: limit,
        } => Some(Facts {
            nights: Some(*nights),
            limit: Some(*limit),
            ..Facts::default()
        }),
        Visibility::BookingSource(channel) => Some(Facts {
            name: Some(channel.clone()),
            ..Facts::default()
        }),
        Visibility::VerificationStatus(status) => Some(Facts {
            name: Some(status.as_ref().to_owned()),
            ..Facts::default()
        }),
    };
    Reason {
        facts,
        ..Reason::new(visibility.into(), visibility.message())
    }
}

/// Returns the ids of the entities that are assigned to the flat, its group, its tags or its
/// portal, each with its closest assignment. The flat is closer than its group, the group closer
/// than a tag, and a tag closer than the portal.
fn closest_assignments(
    context: &mut Context<'_, '_>,
    entity_type: EntityType,
    stay: &Stay,
) -> Result<HashMap<Uuid, Target>> {
    let mut assigned = HashMap::<Uuid, Target>::new();
    for (entity, target) in scopes::reaching(context, entity_type, &stay.targets())? {
        assigned
            .entry(entity)
            .and_modify(|closest_assignments| {
                *closest_assignments = target.min(*closest_assignments);
            })
            .or_insert(target);
    }
    Ok(assigned)
}

/// Returns the reason why a stay gets no steps and no manuals at all; `None` if the stay can get
/// some.
fn stay_refusal(stay: &Stay) -> Option<Reason> {
    if stay.is_cancelled() {
        return Some(Reason::new("cancelled", "The reservation is cancelled."));
    }
    stay.flat
        .is_none()
        .then(|| Reason::new("no_property", "The reservation has no property yet."))
}

/// Returns whether a guest gets a step, and the reason. The rules are checked in this order, and
/// the first one that excludes the step gives the reason: the stay, the step's assignment and
/// state, the portal, the step's targeting rules.
fn decide_step(
    step: &Step,
    is_assigned: bool,
    stay: &Stay,
    input: &TargetingInput,
) -> (bool, Reason) {
    let refusal = if let Some(reason) = stay_refusal(stay) {
        Some(reason)
    } else if !is_assigned {
        Some(Reason::new(
            "not_assigned",
            "The step is not assigned to the property, its group, its tags or its portal.",
        ))
    } else if !step.is_active {
        Some(Reason::new("inactive", "The step is not active."))
    } else {
        match stay.portal() {
            None => Some(Reason::new(
                "no_portal",
                "No portal serves the property, so nothing is asked.",
            )),
            Some(portal) if !portal.is_precheckin_enabled => Some(Reason::new(
                "precheckin_disabled",
                "Pre-check-in is switched off on the portal.",
            )),
            Some(_) => None,
        }
    };
    if let Some(reason) = refusal {
        return (false, reason);
    }
    let verdict = precheck::decide(&step.targeting, input);
    (
        verdict.is_shown(),
        targeting_reason(verdict, &step.targeting, input),
    )
}

fn with_unit(number: i64, unit: &str) -> String {
    format!("{number} {unit}{}", if number == 1 { "" } else { "s" })
}

/// Returns the reason that an explanation gives for a verdict of the targeting rules.
fn targeting_reason(verdict: TargetingVerdict, rules: &Targeting, stay: &TargetingInput) -> Reason {
    let (nights, days) = (
        precheck::days_between(stay.check_in, stay.check_out),
        precheck::days_ahead(stay),
    );
    let (stays, lead) = (with_unit(nights, "night"), with_unit(days, "day"));
    let channel = &stay.channel;
    let (minimum, maximum) = (
        rules.lead_time_min_days.unwrap_or_default(),
        rules.lead_time_max_days.unwrap_or_default(),
    );
    let of_nights = |limit| Facts {
        nights: Some(nights),
        limit: Some(limit),
        ..Facts::default()
    };
    let of_days = |limit| Facts {
        days: Some(days),
        limit: Some(limit),
        ..Facts::default()
    };
    let of_channel = || Facts {
        name: Some(channel.clone()),
        ..Facts::default()
    };
    match verdict {
        TargetingVerdict::AlwaysShown => Reason::new(
            "always_shown",
            "The step is always shown; its other rules are ignored.",
        ),
        TargetingVerdict::AllRulesPass => Reason::new(
            "all_rules_pass",
            "The step is assigned and active, and every rule lets it through.",
        ),
        TargetingVerdict::MinLos => Reason::new(
            "min_los",
            format!(
                "The stay ({stays}) is shorter than minLos ({}).",
                with_unit(rules.min_los.into(), "night")
            ),
        )
        .with(of_nights(rules.min_los)),
        TargetingVerdict::MaxLos => Reason::new(
            "max_los",
            format!(
                "The stay ({stays}) is longer than maxLos ({}).",
                with_unit(rules.max_los.into(), "night")
            ),
        )
        .with(of_nights(rules.max_los)),
        TargetingVerdict::LeadTimeMin => Reason::new(
            "lead_time_min",
            format!(
                "Booked {lead} before check-in, which is less than leadTimeMinDays ({minimum})."
            ),
        )
        .with(of_days(minimum)),
        TargetingVerdict::LeadTimeMax => Reason::new(
            "lead_time_max",
            format!(
                "Booked {lead} before check-in, which is more than leadTimeMaxDays ({maximum})."
            ),
        )
        .with(of_days(maximum)),
        TargetingVerdict::ChannelExcluded => Reason::new(
            "channel_excluded",
            format!("The channel {channel} is among excludedSources."),
        )
        .with(of_channel()),
        TargetingVerdict::ChannelNotIncluded => Reason::new(
            "channel_not_included",
            format!("The channel {channel} is not among includedSourcesReturning."),
        )
        .with(of_channel()),
        TargetingVerdict::ReturningGuest => Reason::new(
            "returning_guest",
            "The guest stayed before, and returning guests skip the step.",
        ),
    }
}

/// Returns the portal that serves a flat, and the rule that selected it.
pub(super) fn portal(flat: Option<&StayFlat>, names: &TargetNames) -> ExplainedPortal {
    let name_of = |kind, id: &Uuid| names.get(&(kind, *id)).cloned().unwrap_or_default();
    let Some((portal, ResolvedPortal { source: route, .. })) =
        flat.and_then(|flat| flat.portal.as_ref())
    else {
        let reason = match flat {
            None => Reason::new("no_property", "The reservation has no property yet."),
            Some(_) => Reason::new(
                "no_portal",
                "No portal is assigned to the property, its group or its tags, and there is no \
                    default.",
            ),
        };
        return ExplainedPortal {
            id: None,
            name: None,
            reason,
            hidden_texts: Vec::new(),
        };
    };
    let scoped_to = |key, kind: &str, name: String| {
        Reason::new(key, format!("The portal is scoped to the {kind} {name}.")).with(Facts {
            name: Some(name),
            ..Facts::default()
        })
    };
    let reason = match route {
        PortalSource::Direct => Reason::new("property", "The portal is assigned to the property."),
        PortalSource::Group(id) => scoped_to(
            "property_group",
            "group",
            name_of(TargetKind::PropertyGroup, id),
        ),
        PortalSource::Tag(id) => scoped_to("tag", "tag", name_of(TargetKind::Tag, id)),
        PortalSource::Default => Reason::new(
            "default",
            "No portal is assigned to the property, its group or its tags; this is the default.",
        ),
    };
    ExplainedPortal {
        id: Some(portal.id),
        name: portal.name.clone(),
        reason,
        hidden_texts: Vec::new(),
    }
}

/// Reads the names of all objects that an explanation can mention.
pub(super) fn names(context: &mut Context<'_, '_>, flat: Option<&StayFlat>) -> Result<TargetNames> {
    let mut names = HashMap::new();
    for (kind, id) in flat.map(StayFlat::targets).unwrap_or_default() {
        let name = match kind.record() {
            Some(record) => record_as::<Object>(context, record, id)?
                .and_then(|data| data.get("name").and_then(Value::as_str).map(str::to_owned)),
            None => flat
                .and_then(StayFlat::portal)
                .and_then(|portal| portal.name.clone()),
        };
        names.extend(name.map(|name| ((kind, id), name)));
    }
    Ok(names)
}

/// Returns the objects through which an assignment reaches the property, such as a portal and the
/// group to which this portal is assigned.
fn path(target: Option<Target>, stay: &Stay, names: &TargetNames) -> Vec<Hop> {
    let (
        Some(target),
        Some(StayFlat {
            placement, portal, ..
        }),
    ) = (target, stay.flat.as_deref())
    else {
        return Vec::new();
    };
    let through = match (portal, target.0) {
        (
            Some((
                _,
                ResolvedPortal {
                    source: PortalSource::Group(id),
                    ..
                },
            )),
            TargetKind::Portal,
        ) => Some((TargetKind::PropertyGroup, *id)),
        (
            Some((
                _,
                ResolvedPortal {
                    source: PortalSource::Tag(id),
                    ..
                },
            )),
            TargetKind::Portal,
        ) => Some((TargetKind::Tag, *id)),
        _ => None,
    };
    let property = (TargetKind::Property, placement.property);
    let last = (target != property).then_some(property);
    let hops = [Some(target), through, last].into_iter().flatten();
    hops.map(|(kind, id)| Hop {
        kind,
        id,
        name: names.get(&(kind, id)).cloned(),
    })
    .collect()
}

fn example() -> Value {
    json!({
        "portal": {
            "id": "0192f0c1-2345-7abc-8def-0123456789ab", "name": "Casa Azul",
            "reason": { "key": "property", "message": "The portal is assigned to the property." },
            "hiddenTexts": [],
        },
        "steps": [
            {
                "id": "0192f0c1-2345-7abc-8def-0123456789ac",
                "nickname": "House rules",
                "stepType": "agreement",
                "isShown": false,
                "reason": {
                    "key": "min_los",
                    "message": "The stay (1 night) is shorter than minLos (2 nights).",
                    "facts": { "nights": 1, "limit": 2 },
                },
                "path": [
                    {
                        "type": "tag",
                        "id": "0192f0c1-2345-7abc-8def-0123456789ad",
                        "name": "Sea view",
                    },
                    {
                        "type": "property",
                        "id": "0192f0c1-2345-7abc-8def-0123456789ae",
                        "name": "Casa Azul 2-1",
                    },
                ],
                "hiddenTexts": [],
                "outdatedLanguages": [],
            },
        ],
        "manuals": [
            {
                "id": "0192f0c1-2345-7abc-8def-0123456789af",
                "nickname": "Door code",
                "isShown": false,
                "reason": {
                    "key": "too_early",
                    "message": "It is shown from 2026-12-11T13:00:00, in the property's time zone.",
                    "facts": { "at": "2026-12-11T13:00:00" },
                },
                "path": [
                    {
                        "type": "property",
                        "id": "0192f0c1-2345-7abc-8def-0123456789ae",
                        "name": "Casa Azul 2-1",
                    },
                ],
                "hiddenTexts": [],
                "outdatedLanguages": ["es"],
            },
        ],
        "withheld": [],
    })
}
