//! Records of the platform's workflows.

use engine::field::Label;
use engine::moment::Moment;
use serde::Serialize;
use strum::VariantArray;
use uuid::Uuid;

use super::values::{NestedObject, OneOf, WorkflowId};
use crate::records::RecordKind;

record! {
    /// An automation that runs the nodes of its live version.
    pub struct Workflow {
        /// Name of the workflow; may be empty.
        name: Label, read as String;
        /// The nodes of the version that is being edited; null: there is none.
        draft_nodes: Option<Vec<NestedObject<WorkflowNode>>>, read as Option<Vec<WorkflowNode>>;
        /// The nodes of the version that runs; null: there is none.
        live_nodes: Option<Vec<NestedObject<WorkflowNode>>>, read as Option<Vec<WorkflowNode>>;
    }
}

record! {
    /// A node of a workflow.
    pub struct WorkflowNode {
        /// Id of the node, unique in its workflow.
        id: Label, read as String;
        /// Action of the node; `external_automation` is a step that webhooks can report.
        node_type: Label, read as String;
        /// Name of the node; lists of steps show it.
        label: Label, read as String;
    }
}

record! {
    /// A run of a workflow's node.
    pub struct WorkflowStepRun {
        /// Id of the workflow that ran.
        workflow_id: WorkflowId, read as Option<Uuid>;
        /// Id of the node that ran, as in the workflow.
        node_id: Label, read as String;
        /// When the node ran; the run fires `workflow.step` once.
        occurred_at: Moment, read as Moment;
        /// Kind of the record that the run was about; null if there was no record.
        record_type: Option<OneOf<WorkflowSubject>>, read as Option<RecordKind>;
        /// Id of the record that the run was about; null if there was no record.
        record_id: Option<Uuid>, read as Option<Uuid>;
    }
    example {
        "workflowId": "0192f0c1-2345-7abc-8def-0123456789ad", "nodeId": "node-1",
        "occurredAt": "2026-11-21T09:30:00.000Z",
        "recordType": null, "recordId": null,
    }
}

/// The kind of a record that a run can be about.
#[derive(Serialize, VariantArray)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WorkflowSubject {
    Reservation,
    Task,
    Review,
    Device,
    Upsell,
}
