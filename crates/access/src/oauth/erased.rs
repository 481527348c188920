//! Statements that delete this module's rows when an organization is erased. The engine deletes the
//! access tokens.

use engine::some_of;

store::statements! {
    /// Deletes a batch of an organization's refresh tokens.
    REFRESH_TOKENS = some_of!("oauth_refresh_token", "organization_id, token_hash");
    /// Deletes a batch of the grants of an organization's members.
    GRANTS = some_of!("oauth_grant", "organization_id, member_id, id");
}
