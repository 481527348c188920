//! The operation `listPrecheckSteps`: every step of the organization, in the order in which guests
//! see them.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use engine::access::Permission;
use engine::context::Context;
use engine::error::{Error, Result};
use engine::moment::Moment;
use engine::operation::{CacheBasis, Needs, Operation};
use http::Method;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::{Json, Row};
use uuid::Uuid;

use super::charging::{
    Accounts, ConfigurationIssue, accounts_of, configuration_issue, has_usable_damage_waiver,
};
use super::order::{SortKey, compare};
use super::step::Step;
use super::step_answers::WrittenStep;
use crate::portals;
use crate::records::{RecordKind, all_records};
use crate::scopes::{self, Coverage, EntityType, Target, TargetKind};

store::statements! {
    /// Selects the stored list item of every step. The list item alone cannot show whether a step
    /// lacks an account. So the statement also selects the document of each active step whose type
    /// needs an account.
    LIST = "select id, step_type, sort_order, created_at, summary,
        case when is_active = true and step_type in
        ('damage_deposit', 'background_check') then doc end
        from precheck_step where organization_id = ?1";
}

/// Whether to list steps with assignments or those without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Assignment {
    Assigned,
    Unassigned,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListSteps {
    /// Only steps assigned directly to any of these properties. Steps that reach a property only by
    /// a group, a tag or a portal are left out. A step must match all filters.
    #[serde(default)]
    #[schemars(length(max = 1000))]
    property_ids: Option<Vec<Uuid>>,
    /// Only steps assigned to any of these property groups. A step must match all filters.
    #[serde(default)]
    #[schemars(length(max = 1000))]
    property_group_ids: Option<Vec<Uuid>>,
    /// Only steps assigned to any of these portals. If the list has exactly one portal, that portal
    /// also decides the order; otherwise the organization's default portal does.
    #[serde(default)]
    #[schemars(length(max = 1000))]
    portal_settings_ids: Option<Vec<Uuid>>,
    /// Only steps assigned to any of these tags. A step must match all filters.
    #[serde(default)]
    #[schemars(length(max = 1000))]
    tag_ids: Option<Vec<Uuid>>,
    /// Only steps with an assignment (`assigned`) or without any (`unassigned`). `unassigned`
    /// together with a filter by ids of properties, groups, portals or tags finds nothing. Left
    /// out: both.
    #[serde(default)]
    assignment: Option<Assignment>,
}

/// Numbers of a step's assignments, by kind of target: property, group, tag or portal. Only
/// assignments that the caller can see are counted.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScopeCounts {
    pub property_count: i64,
    pub portal_count: i64,
    pub property_group_count: i64,
    pub tag_count: i64,
}

impl ScopeCounts {
    fn of_mut(&mut self, kind: TargetKind) -> &mut i64 {
        match kind {
            TargetKind::Property => &mut self.property_count,
            TargetKind::PropertyGroup => &mut self.property_group_count,
            TargetKind::Tag => &mut self.tag_count,
            TargetKind::Portal => &mut self.portal_count,
        }
    }

    fn is_zero(self) -> bool {
        self.property_count + self.portal_count + self.property_group_count + self.tag_count == 0
    }
}

/// Fields of a row that the service computes for each request. The other fields of a row are stored
/// in the step's summary.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ListFields {
    /// Numbers of the step's assignments. For a limited caller, only visible assignments are
    /// counted.
    scope: ScopeCounts,
    /// Configuration that an active step lacks; null if it lacks none, and for an inactive step.
    configuration_issue: Option<ConfigurationIssue>,
    /// Whether an active deposit step offers a waiver that can be charged.
    has_usable_damage_waiver: bool,
}

/// A row of the list.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PrecheckStepRow", transform = exemplify)]
struct StepRow {
    #[serde(flatten)]
    step: WrittenStep,
    #[serde(flatten)]
    additions: ListFields,
}

/// Adds values for [`ListFields`] to the example in the schema of a list row. Without them, the
/// example would be that of a single step and would lack these fields.
fn exemplify(schema: &mut Schema) {
    let additions = ListFields {
        scope: ScopeCounts {
            tag_count: 2,
            ..ScopeCounts::default()
        },
        configuration_issue: None,
        has_usable_damage_waiver: false,
    };
    if let Some(Value::Object(example)) = schema
        .get_mut("examples")
        .and_then(|examples| examples.get_mut(0))
        && let Ok(Value::Object(additions)) = serde_json::to_value(additions)
    {
        example.extend(additions);
    }
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::public(
            "listPrecheckSteps",
            Method::GET,
            "/precheck-steps",
            Needs::Permission(Permission::ViewProperties),
        )
        .summary("List every step of the organization, in the order guests meet them")
        .tool(
            "steps",
            "List steps",
            "All pre-check-in steps in the order guests meet them: type, title, whether active, \
                how much they are assigned to, what an active one lacks. Why a guest does or does \
                not get one says `explainGuestView`.",
        )
        .cached(CacheBasis::Configuration)
        .run_text::<_, Vec<StepRow>>(list),
    ]
}

fn list(context: &mut Context<'_, '_>, input: ListSteps) -> Result<String> {
    let filters = StepFilters::of(&input);
    if filters.finds_nothing() {
        return Ok("[]".into());
    }
    let is_automatic = is_automatic(context, &filters)?;
    let rows = context.rows(&LIST, [])?;
    let mut listed = rows
        .iter()
        .map(ListedStep::from_row)
        .collect::<Result<Vec<_>>>()?;
    let assignments = StepAssignments::load(context, &filters)?;
    listed.retain(|step| assignments.admit(step.sort_key.id, &filters));
    listed.sort_by(|one, other| compare(&one.sort_key, &other.sort_key, is_automatic));
    let accounts = if listed.iter().any(|step| step.document.is_some()) {
        accounts(context)?
    } else {
        Accounts::default()
    };

    let mut text = String::from("[");
    for step in &listed {
        if text.len() > 1 {
            text.push(',');
        }
        let additions = ListFields {
            scope: assignments.count(step.sort_key.id),
            configuration_issue: step
                .document
                .as_ref()
                .and_then(|step| configuration_issue(step, &accounts)),
            has_usable_damage_waiver: step
                .document
                .as_ref()
                .is_some_and(|step| has_usable_damage_waiver(step, &accounts)),
        };
        step.write(&additions, &mut text)?;
    }
    text.push(']');
    Ok(text)
}

/// A step of the list. The stored list item (`summary`) is copied into the response and not
/// decoded.
struct ListedStep {
    sort_key: SortKey,
    summary: String,
    /// The whole step; `None` unless the step is active and its type needs a payment account or a
    /// background-check account.
    document: Option<Step>,
}

impl ListedStep {
    fn from_row(row: &Row) -> Result<Self> {
        let step_type = row
            .get::<String>(1)?
            .parse()
            .map_err(|_| Error::internal("a step has an unknown type"))?;
        let sort_order = row
            .get::<Option<i64>>(2)?
            .and_then(|order| u32::try_from(order).ok());
        let sort_key = SortKey {
            id: row.get(0)?,
            step_type,
            sort_order,
            created_at: Moment(row.get(3)?),
        };
        let document: Option<Json<Step>> = row.get(5)?;
        Ok(Self {
            sort_key,
            summary: row.get(4)?,
            document: document.map(|Json(step)| step),
        })
    }

    /// Writes a JSON object: the fields of the step's stored summary, followed by the fields of
    /// `additions`.
    fn write(&self, additions: &ListFields, text: &mut String) -> Result<()> {
        let additions = serde_json::to_string(additions).map_err(Error::internal)?;
        let (open, rest) = (self.summary.strip_suffix('}'), additions.strip_prefix('{'));
        let (Some(open), Some(rest)) = (open, rest) else {
            return Err(Error::internal("a summary is not an object"));
        };
        write!(text, "{open},{rest}").map_err(Error::internal)
    }
}

/// The filters of a request for the list of steps.
struct StepFilters {
    /// For each filter of the request, the targets that the filter accepts. A step matches the
    /// filter if the step is assigned to one of these targets.
    targets: Vec<HashSet<Target>>,
    assignment: Option<Assignment>,
    /// The id of the portal whose setting decides the order; `None` unless the request names
    /// exactly one portal.
    portal: Option<Uuid>,
}

impl StepFilters {
    fn of(input: &ListSteps) -> Self {
        let filters = [
            (TargetKind::Property, &input.property_ids),
            (TargetKind::PropertyGroup, &input.property_group_ids),
            (TargetKind::Portal, &input.portal_settings_ids),
            (TargetKind::Tag, &input.tag_ids),
        ];
        let targets_by_filter = filters.into_iter().filter_map(|(kind, ids)| {
            ids.as_ref()
                .map(|ids| ids.iter().map(|id| (kind, *id)).collect())
        });
        let portal = match input.portal_settings_ids.as_deref() {
            Some([only]) => Some(*only),
            _ => None,
        };
        Self {
            targets: targets_by_filter.collect(),
            assignment: input.assignment,
            portal,
        }
    }

    /// Whether the filters contradict each other: the request asks for steps without assignments,
    /// and also for steps that are assigned to certain targets.
    fn finds_nothing(&self) -> bool {
        self.assignment == Some(Assignment::Unassigned) && !self.targets.is_empty()
    }
}

/// Returns whether steps are listed in automatic order. The requested portal decides this, else the
/// default portal. Without either, the order is automatic.
fn is_automatic(context: &mut Context<'_, '_>, filters: &StepFilters) -> Result<bool> {
    let portal = match filters.portal {
        Some(id) => portals::find_portal(context, id)?,
        None => portals::default_portal(context)?,
    };
    Ok(portal.is_none_or(|portal| portal.is_precheck_order_automatic))
}

/// The assignments of the listed steps. Only assignments that the caller can see are included.
struct StepAssignments {
    counts: HashMap<Uuid, ScopeCounts>,
    /// Steps whose assignments are all outside the caller's access.
    hidden: HashSet<Uuid>,
    /// For each filter of the request, the ids of the steps that match the filter.
    matches: Vec<HashSet<Uuid>>,
}

impl StepAssignments {
    fn load(context: &mut Context<'_, '_>, filters: &StepFilters) -> Result<Self> {
        let mut counts = HashMap::<Uuid, ScopeCounts>::new();
        let mut hidden = HashSet::new();
        let coverage = Coverage::load(context)?;
        if context.property_scope().is_limited() {
            for (step, targets) in scopes::all_targets(context, EntityType::PrecheckStep)? {
                if !coverage.combined_coverage(&targets).is_inside {
                    hidden.insert(step);
                }
                let visible = targets
                    .iter()
                    .filter(|(kind, id)| coverage.is_visible(*kind, *id));
                visible.for_each(|(kind, _)| *counts.entry(step).or_default().of_mut(*kind) += 1);
            }
        } else {
            for (step, kind, count) in scopes::counts(context, EntityType::PrecheckStep)? {
                *counts.entry(step).or_default().of_mut(kind) = count;
            }
        }
        let mut matches = Vec::new();
        for filter in &filters.targets {
            let visible: Vec<Target> = filter
                .iter()
                .filter(|(kind, id)| coverage.is_visible(*kind, *id))
                .copied()
                .collect();
            matches.push(
                scopes::reaching(context, EntityType::PrecheckStep, &visible)?
                    .into_iter()
                    .map(|(step, _)| step)
                    .collect(),
            );
        }
        Ok(Self {
            counts,
            hidden,
            matches,
        })
    }

    fn admit(&self, step: Uuid, filters: &StepFilters) -> bool {
        let fits_assignment = filters.assignment.is_none_or(|assignment| {
            (assignment == Assignment::Unassigned) == self.count(step).is_zero()
        });
        !self.hidden.contains(&step)
            && fits_assignment
            && self.matches.iter().all(|steps| steps.contains(&step))
    }

    fn count(&self, step: Uuid) -> ScopeCounts {
        self.counts.get(&step).copied().unwrap_or_default()
    }
}

fn accounts(context: &mut Context<'_, '_>) -> Result<Accounts> {
    let payment = all_records(context, RecordKind::PaymentAccount)?;
    let background_check = all_records(context, RecordKind::BackgroundCheckAccount)?;
    Ok(accounts_of(&payment, &background_check))
}

#[cfg(test)]
mod tests {
    use strum::VariantArray as _;

    use super::super::step_type::{ActivationNeed, StepType};
    use super::LIST;

    /// The SQL of `LIST` contains the names of the step types that need an account, because SQL
    /// cannot call `activation_need`. This test compares these names with the result of that
    /// method.
    #[test]
    fn the_list_reads_the_documents_of_steps_that_need_an_account() {
        for step_type in StepType::VARIANTS {
            let needs_account = match step_type.activation_need() {
                ActivationNeed::PaymentAccount | ActivationNeed::BackgroundCheckAccount => true,
                ActivationNeed::Nothing
                | ActivationNeed::ContractText
                | ActivationNeed::Questions
                | ActivationNeed::FeeProducts => false,
            };
            let name: &str = step_type.as_ref();
            let is_named = LIST.text().contains(&format!("'{name}'"));
            assert_eq!(is_named, needs_account, "{name}");
        }
    }
}
