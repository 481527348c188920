//! Deletion of this module's rows when their organization is erased. Access tokens are deleted with
//! their grants, and with the engine's rows.

use engine::some_of;

store::statements! {
    REFRESH_TOKENS = some_of!("oauth_refresh_token", "organization_id, token_hash");
    /// The grants of members.
    GRANTS = some_of!("oauth_grant", "organization_id, member_id, id");
}
