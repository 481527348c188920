//! Records of tasks.

use engine::field::Label;
use engine::moment::Moment;
use serde::{Deserialize, Serialize};
use strum::VariantArray;
use uuid::Uuid;

use super::FLAT;
use super::values::{DepartmentId, LongText, OneOf, PropertyId, ReservationId};

record! {
    /// A task in a property.
    pub struct TaskRecord {
        /// Id of the property that the task is about.
        property_id: PropertyId;
        /// Title of the task; may be empty.
        title: Label;
        /// Status of the task; a change to a status other than `open` fires an event, such as
        /// `task.started`.
        status: OneOf<TaskStatus>, read as TaskStatus;
        /// Id of the assignee; a new assignee fires `task.assigned`. Null: nobody yet.
        assignee_id: Option<Uuid>, read as Option<Uuid>;
        /// Deadline of the task; null: no deadline.
        due_at: Option<Moment>;
        /// Id of the department that the task is for; null: none.
        department_id: Option<DepartmentId>;
        /// Detailed description of the task, up to 20,000 characters; null: none.
        description: Option<LongText>;
        /// Id of the reservation that the task is about; null: none.
        reservation_id: Option<ReservationId>;
        /// Origin of the task: `guest_portal` for an issue that a guest reported. Null: unknown.
        source: Option<Label>;
    }
    example { "propertyId": FLAT, "title": "Change the linen", "status": "open" }
}

/// The status of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    Open,
    InProgress,
    Completed,
    Cancelled,
}
