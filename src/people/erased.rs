//! Statements that delete this module's rows when an organization is erased.

use engine::some_of;

store::statements! {
    /// Sessions of members.
    SESSIONS = some_of!("member_session", "organization_id, id");
    /// Sign-in tickets of members.
    TICKETS = some_of!("sign_in_ticket", "organization_id, id");
}
