//! Statements that delete this module's rows when an organization is erased.

use engine::some_of;

store::statements! {
    /// Deletes a batch of an organization's member sessions.
    SESSIONS = some_of!("member_session", "organization_id, id");
    /// Deletes a batch of an organization's sign-in tickets.
    TICKETS = some_of!("sign_in_ticket", "organization_id, id");
}
