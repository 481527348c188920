//! The external-automation steps of workflows, for subscriptions to `workflow.step`. This file has
//! the operation `listWorkflowZapierSteps` and builds the data of a step's run.

use std::collections::{HashMap, HashSet};

use engine::access::Permission;
use engine::context::Context;
use engine::error::Result;
use engine::format;
use engine::operation::{Listing, Needs, Nothing, Operation, Page, PageLimits};
use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use crate::records::{
    Record, RecordKind, Workflow, WorkflowNode, WorkflowStepRun, find_record, list_all, record_as,
    records_as,
};

/// The `nodeType` of steps to which other systems can subscribe.
const EXTERNAL_AUTOMATION: &str = "external_automation";

impl Workflow {
    /// Returns the external-automation step with this node id; `None` if there is none. If the live
    /// version and the draft both have it, returns the step of the live version.
    fn step(&self, id: &str) -> Option<&WorkflowNode> {
        let mut nodes = self.live_nodes.iter().chain(&self.draft_nodes).flatten();
        nodes.find(|node| node.id == id && node.node_type == EXTERNAL_AUTOMATION)
    }

    /// Returns every external-automation step once: first the steps of the live version, then the
    /// steps that only the draft has.
    fn steps(&self, id: Uuid) -> Vec<WorkflowStep> {
        let versions = [(&self.live_nodes, true), (&self.draft_nodes, false)];
        let nodes = versions
            .into_iter()
            .flat_map(|(nodes, is_live)| nodes.iter().flatten().map(move |node| (node, is_live)));
        let mut seen = HashSet::new();
        nodes
            .filter(|(node, _)| node.node_type == EXTERNAL_AUTOMATION && seen.insert(&node.id))
            .map(|(node, is_live)| WorkflowStep {
                id: step_id(id, &node.id),
                name: format!("{} → {}", self.name, node.label),
                workflow_id: id,
                node_id: node.id.clone(),
                label: node.label.clone(),
                is_live,
            })
            .collect()
    }
}

/// An external-automation step of a workflow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(example = json!({
    "id": "0192f0c1-2345-7abc-8def-0123456789ab:node-1",
    "name": "Welcome call → Tell the concierge",
    "workflowId": "0192f0c1-2345-7abc-8def-0123456789ab",
    "nodeId": "node-1",
    "label": "Tell the concierge",
    "isLive": true,
}))]
struct WorkflowStep {
    /// Value of a subscription's `filters.workflowStep`: `<workflow id>:<node id>`.
    id: String,
    /// Name of the step, as `<workflow name> → <step label>`.
    name: String,
    workflow_id: Uuid,
    node_id: String,
    label: String,
    /// Whether the step is in the live version. Otherwise it is in the draft only.
    is_live: bool,
}

/// A workflow as the read operations return it.
#[derive(Debug, Deserialize)]
struct ListedWorkflow {
    id: Uuid,
    #[serde(flatten)]
    workflow: Workflow,
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::public(
            "listWorkflowZapierSteps",
            Method::GET,
            "/workflow-zapier-steps",
            Needs::Permission(Permission::ViewWorkflows),
        )
        .summary(
            "List the external-automation steps of workflows, live and draft, which workflow.step \
                can be subscribed for",
        )
        .tool(
            "records",
            "List workflow steps",
            "Steps of workflows that hand over to an external automation, live and draft: id, \
                name.",
        )
        .pages(
            PageLimits {
                default: 50,
                max: 100,
            },
            list,
        ),
    ]
}

/// Lists the steps of all workflows, in the order in which the workflows were created. The steps of
/// one workflow have the order of [`Workflow::steps`].
fn list(context: &mut Context<'_, '_>, _: Nothing, page: Page) -> Result<Listing<WorkflowStep>> {
    let mut steps = Vec::new();
    for record in list_all(context, RecordKind::Workflow)? {
        let ListedWorkflow { id, workflow } = record.read()?;
        steps.extend(workflow.steps(id));
    }
    let total = i64::try_from(steps.len()).unwrap_or(i64::MAX);
    let offset = usize::try_from(page.offset).unwrap_or(usize::MAX);
    let limit = usize::try_from(page.limit).unwrap_or(usize::MAX);
    Ok(Listing {
        items: steps.into_iter().skip(offset).take(limit).collect(),
        total,
    })
}

impl WorkflowStepRun {
    /// Returns the id of the step that ran, as `<workflow id>:<node id>`; `None` if the run names
    /// no workflow.
    pub(super) fn step(&self) -> Option<String> {
        self.workflow_id
            .map(|workflow| step_id(workflow, &self.node_id))
    }
}

/// Returns the id of a step in the format of `filters.workflowStep`: `<workflow id>:<node id>`.
fn step_id(workflow: Uuid, node: &str) -> String {
    format!("{workflow}:{node}")
}

/// Splits a step's id into the workflow id and the node id. Returns `None` if the id has another
/// form.
fn split_step_id(id: &str) -> Option<(Uuid, &str)> {
    let (workflow, node) = id.split_once(':')?;
    if format::is_uuid(workflow) {
        Some((workflow.parse().ok()?, node))
    } else {
        None
    }
}

/// Reads a workflow that the caller may see.
fn find_workflow(context: &mut Context<'_, '_>, id: Uuid) -> Result<Option<Workflow>> {
    let record = find_record(context, RecordKind::Workflow, id)?;
    record.map(|record| record.read()).transpose()
}

/// Finds a step by its id. Returns the id in canonical form. Returns `None` if no workflow that the
/// caller can access has the step.
pub(super) fn find_step(context: &mut Context<'_, '_>, id: &str) -> Result<Option<String>> {
    let Some((workflow_id, node)) = split_step_id(id) else {
        return Ok(None);
    };
    let workflow = find_workflow(context, workflow_id)?;
    Ok(workflow.and_then(|workflow| {
        workflow
            .step(node)
            .map(|step| step_id(workflow_id, &step.id))
    }))
}

/// Reads the runs of workflow steps with these ids.
pub(super) fn find_runs(
    context: &mut Context<'_, '_>,
    ids: Vec<Uuid>,
) -> Result<HashMap<Uuid, WorkflowStepRun>> {
    records_as(context, RecordKind::WorkflowStepRun, ids)
}

/// Reads a run of a workflow step.
pub(super) fn find_run(context: &mut Context<'_, '_>, id: Uuid) -> Result<Option<WorkflowStepRun>> {
    record_as(context, RecordKind::WorkflowStepRun, id)
}

/// The `data` of `workflow.step`.
#[derive(Debug, Serialize)]
pub(super) struct StepRunData {
    workflow: NamedWorkflow,
    step: LabelledStep,
    record_type: Option<RecordKind>,
    data: Option<Record>,
}

#[derive(Debug, Serialize)]
struct NamedWorkflow {
    id: Uuid,
    name: String,
}

#[derive(Debug, Serialize)]
struct LabelledStep {
    id: String,
    label: String,
}

/// Returns the data of a run. Returns `None` if the run or its workflow was deleted or is not
/// visible to the caller, or if the caller cannot read the record that the run is about.
pub(super) fn run_data(context: &mut Context<'_, '_>, run: Uuid) -> Result<Option<StepRunData>> {
    let Some(run) = find_run(context, run)? else {
        return Ok(None);
    };
    let Some(workflow_id) = run.workflow_id else {
        return Ok(None);
    };
    let Some(workflow) = find_workflow(context, workflow_id)? else {
        return Ok(None);
    };
    let subject = run.record_type.zip(run.record_id);
    let record = match subject {
        Some((kind, id)) if context.access.permissions.has(kind.read_permission()) => {
            match find_record(context, kind, id)? {
                Some(record) => Some(record),
                None => return Ok(None),
            }
        }
        Some(_) => return Ok(None),
        None => None,
    };
    // If the step was removed from the workflow, the label in the event's data is the step's id.
    let label = workflow
        .step(&run.node_id)
        .map_or_else(|| run.node_id.clone(), |step| step.label.clone());
    Ok(Some(StepRunData {
        workflow: NamedWorkflow {
            id: workflow_id,
            name: workflow.name,
        },
        step: LabelledStep {
            id: run.node_id,
            label,
        },
        record_type: subject.map(|(kind, _)| kind),
        data: record,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOW: &str = "0192f0c1-2345-7abc-8def-0123456789ab";

    #[test]
    fn a_step_is_found_in_the_live_version_before_the_draft() {
        let workflow: Workflow = serde_json::from_value(json!({
            "name": "Welcome",
            "draftNodes": [
                { "id": "a", "nodeType": "external_automation", "label": "Draft A" },
                { "id": "b", "nodeType": "external_automation", "label": "Draft B" },
                { "id": "c", "nodeType": "delay", "label": "Wait" },
            ],
            "liveNodes": [
                { "id": "a", "nodeType": "external_automation", "label": "Live A", "more": 1 },
            ],
        }))
        .unwrap();
        let label = |id| workflow.step(id).map(|step| step.label.as_str());
        assert_eq!(label("a"), Some("Live A"));
        assert_eq!(label("b"), Some("Draft B"));
        assert_eq!(label("c"), None);
        assert_eq!(label("d"), None);
        let bare: Workflow =
            serde_json::from_value(json!({ "name": "", "draftNodes": null })).unwrap();
        assert!(bare.step("a").is_none());
    }

    #[test]
    fn a_step_in_both_versions_is_listed_once() {
        let node = |id: &str, node_type: &str, label: &str| {
            json!({
                "id": id,
                "nodeType": node_type,
                "label": label,
            })
        };
        let listed: ListedWorkflow = serde_json::from_value(json!({
            "id": FLOW,
            "name": "Welcome",
            "createdAt": "2026-11-21T09:30:00.000Z",
            "draftNodes": [
                node("d", "external_automation", "Draft D"),
                node("b", "external_automation", "Draft B"),
                node("e", "delay", "Wait"),
                node("a", "external_automation", "Draft A"),
            ],
            "liveNodes": [
                node("b", "external_automation", "Live B"),
                node("d", "delay", "Wait"),
                node("b", "external_automation", "B again"),
            ],
        }))
        .unwrap();
        let steps = listed.workflow.steps(listed.id);
        let reported: Vec<_> = steps
            .iter()
            .map(|step| (step.node_id.as_str(), step.label.as_str(), step.is_live))
            .collect();
        assert_eq!(
            reported,
            [
                ("b", "Live B", true),
                ("d", "Draft D", false),
                ("a", "Draft A", false)
            ]
        );
        assert_eq!(
            (steps[0].id.as_str(), steps[0].name.as_str()),
            (&*format!("{FLOW}:b"), "Welcome → Live B")
        );
        for step in &steps {
            assert_eq!(
                listed.workflow.step(&step.node_id).map(|node| &node.label),
                Some(&step.label),
                "`step` and `steps` agree on the version"
            );
        }
    }

    #[test]
    fn a_step_id_is_a_workflow_id_and_a_node_id() {
        let flow: Uuid = FLOW.parse().unwrap();
        assert_eq!(split_step_id(&format!("{FLOW}:a:b")), Some((flow, "a:b")));
        assert_eq!(
            split_step_id(&format!("{}:a", FLOW.to_uppercase())),
            Some((flow, "a"))
        );
        for id in [
            "",
            ":",
            "a:b",
            FLOW,
            "urn:uuid:0192f0c1-2345-7abc-8def-0123456789ab:a",
            "0192f0c123457abc8def0123456789ab:a",
        ] {
            assert_eq!(split_step_id(id), None, "{id}");
        }
    }

    #[test]
    fn a_run_names_its_step_in_the_format_of_filters() {
        let run = |workflow: serde_json::Value| -> WorkflowStepRun {
            let run = json!({
                "workflowId": workflow,
                "nodeId": "a",
                "occurredAt": "2026-11-21T09:30:00Z",
                "recordType": "task",
            });
            serde_json::from_value(run).unwrap()
        };
        assert_eq!(run(json!(FLOW)).step(), Some(format!("{FLOW}:a")));
        assert_eq!(run(json!(null)).step(), None);
        assert_eq!(run(json!(FLOW)).record_type, Some(RecordKind::Task));
    }
}
