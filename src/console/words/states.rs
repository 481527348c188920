//! Labels and styles of states.

use texts::console::{
    ConsoleChargesWords, ConsoleStaysWords, ConsoleSubmissionsWords, ConsoleWebhooksWords,
};

/// Returns the label and the style of a status.
pub fn charge_status(words: &ConsoleChargesWords, status: &str) -> (&'static str, &'static str) {
    match status {
        "paid" => (words.paid, "on"),
        "failed" => (words.failed, "bad"),
        "released" => (words.released, ""),
        "cancelled" => (words.cancelled, ""),
        _ => (words.due, "off"),
    }
}

/// Returns the label and the style of a stay's status.
pub fn stay_status(words: &ConsoleStaysWords, status: &str) -> (&'static str, &'static str) {
    match status {
        "cancelled" => (words.cancelled, "bad"),
        "tentative" => (words.tentative, "off"),
        _ => (words.confirmed, "on"),
    }
}

/// Returns the label and the style for the status of a step that another system carries out.
pub fn progress_status(
    words: &ConsoleSubmissionsWords,
    status: &str,
) -> (&'static str, &'static str) {
    match status {
        "completed" => (words.completed, "on"),
        "failed" => (words.failed, "bad"),
        "action_required" => (words.action_required, "off"),
        _ => (words.pending, ""),
    }
}

/// Returns the label and the style for the state of a step.
pub fn step_state(words: &ConsoleSubmissionsWords, state: &str) -> (&'static str, &'static str) {
    match state {
        "done" => (words.complete, "on"),
        "pending" => (words.waits_for_others, ""),
        "action_required" => (words.needs_guest, "off"),
        _ => (words.incomplete, ""),
    }
}

/// Returns the label and the style for the status of a pre-check-in.
pub fn precheckin_status(
    words: &ConsoleSubmissionsWords,
    status: &str,
) -> (&'static str, &'static str) {
    match status {
        "in_progress" => (words.in_progress, ""),
        "in_review" => (words.in_review, "off"),
        "changes_requested" => (words.changes_requested, "off"),
        "approved" => (words.approved, "on"),
        _ => (words.not_started, ""),
    }
}

/// Returns the label and the style of a delivery's status.
pub fn delivery_status(words: &ConsoleWebhooksWords, status: &str) -> (&'static str, &'static str) {
    match status {
        "delivered" => (words.delivered, "on"),
        "failed" => (words.failed, "bad"),
        "discarded" => (words.discarded, ""),
        _ => (words.pending, "off"),
    }
}
