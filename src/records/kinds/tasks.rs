//! What is to be done.

use engine::field::Label;
use engine::moment::Moment;
use serde::{Deserialize, Serialize};
use strum::VariantArray;
use uuid::Uuid;

use super::FLAT;
use super::values::{DepartmentId, OneOf, PropertyId};

record! {
    /// Something to be done in a property.
    pub struct Task {
        /// Id of the property that the task is about.
        property_id: PropertyId;
        /// What is to be done; may be empty.
        title: Label;
        /// Where the task stands; entering a status other than `open` fires that event.
        status: OneOf<TaskStatus>, read as TaskStatus;
        /// Id of whoever is to do it; another one fires `task.assigned`. Null: nobody yet.
        assignee_id: Option<Uuid>, read as Option<Uuid>;
        /// By when it is to be done; null: no deadline.
        due_at: Option<Moment>;
        /// Id of the department that it is for; null: none.
        department_id: Option<DepartmentId>;
    }
    example { "propertyId": FLAT, "title": "Change the linen", "status": "open" }
}

/// Where a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each says what it is")]
pub enum TaskStatus {
    Open,
    InProgress,
    Completed,
    Cancelled,
}
