//! Deletion of this module's rows when their organization is erased.

use engine::some_of;

store::statements! {
    SESSIONS = some_of!("member_session", "organization_id, id");
    /// Sign-in tickets of its members.
    TICKETS = some_of!("sign_in_ticket", "organization_id, id");
}
