//! The statements that remove the rows of this module when their organization is erased.

use engine::some_of;

store::statements! {
    /// Deletes a batch of the charges of an organization's stays.
    CHARGES = some_of!("guest_charge", "organization_id, id");
    /// Deletes a batch of the answers of an organization's guests.
    ANSWERS = some_of!("precheck_answer", "organization_id, reservation_id, step_id");
    /// Deletes a batch of the agreement texts that guests of an organization accepted.
    TEXTS = some_of!("accepted_text", "organization_id, sha256");
    /// Deletes a batch of the reports of other systems about the progress of steps.
    PROGRESS = some_of!("step_progress", "organization_id, reservation_id, step_id");
    /// Deletes a batch of an organization's pre-check-in submissions.
    PRECHECKINS = some_of!("precheckin", "organization_id, reservation_id");
    /// Deletes a batch of the messages that guests of an organization sent.
    MESSAGES = some_of!("guest_message", "organization_id, id");
    /// Deletes a batch of the issues that guests of an organization reported.
    ISSUES = some_of!("guest_issue", "organization_id, id");
    /// Deletes a batch of the surveys that guests of an organization answered.
    SURVEYS = some_of!("guest_survey", "organization_id, reservation_id, kind");
    /// Deletes a batch of the carts of an organization's guests.
    CARTS = some_of!("guest_cart", "organization_id, reservation_id");
    /// Deletes a batch of the registrations of devices for wallet passes.
    PASS_REGISTRATIONS = some_of!("pass_registration", "organization_id, reservation_id, \
        device_id");
    /// Deletes a batch of the hashes of the content of wallet passes.
    PASS_STATES = some_of!("pass_state", "organization_id, reservation_id");
    /// Deletes a batch of an organization's records of changes: the actions of guests that the
    /// platform reads.
    CHANGES = some_of!("guest_change", "organization_id, cursor");
    /// Deletes the row with the cursor of the latest change that a guest of the organization made.
    CHANGE_CURSORS = some_of!("guest_change_cursor", "organization_id");
    /// Deletes a batch of the rows of guests' files. The bytes of the files are queued for removal
    /// when the organization is erased.
    FILES = some_of!("guest_file", "organization_id, id");
    /// Deletes a batch of the guest links of an organization's stays.
    GUEST_LINKS = some_of!("guest_link", "organization_id, reservation_id");
    /// Deletes a batch of an organization's stored previews of portals. The link of a deleted
    /// preview no longer opens a page.
    PREVIEWS = some_of!("portal_preview", "organization_id, id");
}
