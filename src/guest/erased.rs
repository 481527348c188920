//! The statements that remove the rows of this module when their organization is erased.

use engine::some_of;

store::statements! {
    /// Charges of their stays.
    CHARGES = some_of!("guest_charge", "organization_id, id");
    /// Answers of guests.
    ANSWERS = some_of!("precheck_answer", "organization_id, reservation_id, step_id");
    /// Texts of agreements that their guests accepted.
    TEXTS = some_of!("accepted_text", "organization_id, sha256");
    /// Progress of steps that other systems carry out.
    PROGRESS = some_of!("step_progress", "organization_id, reservation_id, step_id");
    /// Submissions.
    PRECHECKINS = some_of!("precheckin", "organization_id, reservation_id");
    /// Messages of guests.
    MESSAGES = some_of!("guest_message", "organization_id, id");
    /// Issues that guests reported.
    ISSUES = some_of!("guest_issue", "organization_id, id");
    /// Surveys that guests answered.
    SURVEYS = some_of!("guest_survey", "organization_id, reservation_id, kind");
    /// Carts of guests.
    CARTS = some_of!("guest_cart", "organization_id, reservation_id");
    /// Devices with wallet passes.
    PASS_REGISTRATIONS = some_of!("pass_registration", "organization_id, reservation_id, device_id");
    /// The content of wallet passes.
    PASS_STATES = some_of!("pass_state", "organization_id, reservation_id");
    /// Changes made by guests.
    CHANGES = some_of!("guest_change", "organization_id, cursor");
    /// The last cursor of these changes.
    CHANGE_CURSORS = some_of!("guest_change_cursor", "organization_id");
    /// Rows of guests' files. The bytes are queued for deletion when the organization is erased.
    FILES = some_of!("guest_file", "organization_id, id");
    /// Links to stays.
    GUEST_LINKS = some_of!("guest_link", "organization_id, reservation_id");
    /// Links to previews.
    PREVIEWS = some_of!("portal_preview", "organization_id, id");
}
