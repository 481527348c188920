//! Statements that delete this module's rows when an organization is erased.

use engine::some_of;

store::statements! {
    /// Deletes some sessions of members.
    SESSIONS = some_of!("member_session", "organization_id, id");
    /// Deletes some sign-in tickets of members.
    TICKETS = some_of!("sign_in_ticket", "organization_id, id");
}
