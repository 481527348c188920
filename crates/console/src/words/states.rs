//! Descriptions of permissions, and labels of the states of stays, charges, steps, submissions and
//! webhook deliveries. Most labels come with a CSS class for their style.

use delivery::{DisabledReason, Status};
use engine::access::Permission;
use texts::console::{
    ConsoleAccessWords, ConsoleChargesWords, ConsoleStaysWords, ConsoleSubmissionsWords,
    ConsoleWebhooksWords,
};

use features::guest::{ChargeKind, ChargeStatus, PrecheckinStatus, ProgressStatus};
use features::precheck::StepState;
use features::records::ReservationStatus;

/// Returns the description of a permission.
pub const fn permission_text(words: &ConsoleAccessWords, permission: Permission) -> &'static str {
    match permission {
        Permission::ViewProperties => words.view_properties,
        Permission::ModifyProperties => words.modify_properties,
        Permission::ViewGuides => words.view_guides,
        Permission::ModifyGuides => words.modify_guides,
        Permission::ModifyTasks => words.modify_tasks,
        Permission::ManageOrganization => words.manage_organization,
        Permission::ViewReservations => words.view_reservations,
        Permission::ViewTasks => words.view_tasks,
        Permission::ViewDevices => words.view_devices,
        Permission::ViewWorkflows => words.view_workflows,
        Permission::ViewAnalytics => words.view_analytics,
    }
}

/// Returns the description of the permission with this name. The audit log can contain the name of
/// a permission that no longer exists. Such a permission gets a general description.
pub fn named_permission_text(words: &ConsoleAccessWords, name: &str) -> &'static str {
    name.parse().map_or(words.other_permission, |permission| {
        permission_text(words, permission)
    })
}

/// Returns the label of a charge's kind.
pub const fn charge_kind(words: &ConsoleChargesWords, kind: ChargeKind) -> &'static str {
    match kind {
        ChargeKind::Fee => words.fee,
        ChargeKind::Waiver => words.waiver,
        ChargeKind::Deposit => words.deposit,
    }
}

/// Returns the label of a charge's status, and the CSS class of the label.
pub const fn charge_status(
    words: &ConsoleChargesWords,
    status: ChargeStatus,
) -> (&'static str, &'static str) {
    match status {
        ChargeStatus::Due => (words.due, "off"),
        ChargeStatus::Paid => (words.paid, "on"),
        ChargeStatus::Failed => (words.failed, "bad"),
        ChargeStatus::Released => (words.released, ""),
        ChargeStatus::Cancelled => (words.cancelled, ""),
    }
}

/// Returns the label of a stay's status, and the CSS class of the label.
pub const fn stay_status(
    words: &ConsoleStaysWords,
    status: ReservationStatus,
) -> (&'static str, &'static str) {
    match status {
        ReservationStatus::Confirmed => (words.confirmed, "on"),
        ReservationStatus::Tentative => (words.tentative, "off"),
        ReservationStatus::Cancelled => (words.cancelled, "bad"),
    }
}

/// Returns the label of the progress that an outside system reports for a step, and the CSS class
/// of the label.
pub const fn progress_status(
    words: &ConsoleSubmissionsWords,
    status: ProgressStatus,
) -> (&'static str, &'static str) {
    match status {
        ProgressStatus::Pending => (words.pending, ""),
        ProgressStatus::ActionRequired => (words.action_required, "off"),
        ProgressStatus::Completed => (words.completed, "on"),
        ProgressStatus::Failed => (words.failed, "bad"),
    }
}

/// Returns the label of a step's state, and the CSS class of the label.
pub const fn step_state(
    words: &ConsoleSubmissionsWords,
    state: StepState,
) -> (&'static str, &'static str) {
    match state {
        StepState::Todo => (words.incomplete, ""),
        StepState::Done => (words.complete, "on"),
        StepState::Pending => (words.waits_for_others, ""),
        StepState::ActionRequired => (words.needs_guest, "off"),
    }
}

/// Returns the label of a pre-check-in's status, and the CSS class of the label.
pub const fn precheckin_status(
    words: &ConsoleSubmissionsWords,
    status: PrecheckinStatus,
) -> (&'static str, &'static str) {
    match status {
        PrecheckinStatus::NotStarted => (words.not_started, ""),
        PrecheckinStatus::InProgress => (words.in_progress, ""),
        PrecheckinStatus::InReview => (words.in_review, "off"),
        PrecheckinStatus::ChangesRequested => (words.changes_requested, "off"),
        PrecheckinStatus::Approved => (words.approved, "on"),
    }
}

/// Returns the label of a delivery's status, and the CSS class of the label.
pub const fn delivery_status(
    words: &ConsoleWebhooksWords,
    status: Status,
) -> (&'static str, &'static str) {
    match status {
        Status::Pending => (words.pending, "off"),
        Status::Delivered => (words.delivered, "on"),
        Status::Failed => (words.failed, "bad"),
        Status::Discarded => (words.discarded, ""),
    }
}

/// Returns the text that says why a subscription is disabled.
pub const fn disabled_reason(words: &ConsoleWebhooksWords, reason: DisabledReason) -> &'static str {
    match reason {
        DisabledReason::Failures => words.d_failures,
        DisabledReason::CredentialInvalid => words.d_credential,
        DisabledReason::PermissionLost => words.d_permission,
        DisabledReason::PrivateTarget => words.d_target,
    }
}
