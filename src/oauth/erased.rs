//! How the rows of this chapter go with their organization. Access tokens go with their grants, and with the engine's.

use engine::some_of;

store::statements! {
    /// Refresh tokens.
    REFRESH_TOKENS = some_of!("oauth_refresh_token", "organization_id, token_hash");
    /// What members have allowed.
    GRANTS = some_of!("oauth_grant", "organization_id, member_id, id");
}
