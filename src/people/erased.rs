//! How the rows of this chapter go with their organization.

use engine::some_of;

store::statements! {
    /// Sessions of its members.
    SESSIONS = some_of!("member_session", "organization_id, id");
    /// Links by which they would have signed in.
    TICKETS = some_of!("sign_in_ticket", "organization_id, id");
}
