//! Statements that delete this module's rows when an organization is erased. The engine deletes the
//! access tokens.

use engine::some_of;

store::statements! {
    /// Deletes some refresh tokens.
    REFRESH_TOKENS = some_of!("oauth_refresh_token", "organization_id, token_hash");
    /// Deletes some grants of members.
    GRANTS = some_of!("oauth_grant", "organization_id, member_id, id");
}
