//! How the rows of this chapter go with their organization.

use engine::some_of;

store::statements! {
    /// What guests answered.
    ANSWERS = some_of!("precheck_answer", "organization_id, reservation_id, step_id");
    /// How their steps stand that others carry out.
    PROGRESS = some_of!("step_progress", "organization_id, reservation_id, step_id");
    /// What they submitted.
    PRECHECKINS = some_of!("precheckin", "organization_id, reservation_id");
    /// What they wrote.
    MESSAGES = some_of!("guest_message", "organization_id, id");
    /// Their links.
    GUEST_LINKS = some_of!("guest_link", "organization_id, reservation_id");
}
