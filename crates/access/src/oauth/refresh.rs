//! Refresh tokens (RFC 6749, section 6; OAuth 2.1, section 4.3). A client exchanges a refresh token
//! for a pair of new tokens: an access token and a refresh token. If a client sends a replaced
//! token after the grace period, the token has leaked, and the server ends the grant.
//!
//! Within the grace period, the server answers a replaced token with the same pair again. So
//! several processes of one client that use the same token continue with the same new tokens.
//!
//! The server derives the pair from the replaced token and a random seed. The database contains the
//! seed and the hash of the replaced token. An attacker with only the token, or only the database,
//! cannot derive the pair.

use engine::access::{self, AccessToken, Resource};
use engine::context::Context;
use engine::error::Result;
use engine::moment::Moment;
use engine::values;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use store::{Json, Value};
use uuid::Uuid;

use super::grant::{ACCESS_TOKEN_LIFETIME, Grant, after};
use super::refusal::{OauthError, OauthErrorCode};
use super::scope::ScopeSet;
use crate::people;

store::statements! {
    /// Inserts a refresh token.
    INSERT = "insert into oauth_refresh_token
        (organization_id, token_hash, grant_id, id, replaced_at, expires_at)
        values (?1, ?2, ?3, ?4, null, ?5)";
    /// Selects a refresh token: its grant, the time at which it was replaced, its expiry, and the
    /// seed and the scope of the token pair that replaced it.
    BY_HASH = "select grant_id, replaced_at, expires_at, seed, scope from oauth_refresh_token
        where organization_id = ?1 and token_hash = ?2";
    /// Marks a refresh token as replaced. Stores the seed and the scope of the token pair that
    /// replaces it.
    REPLACE = "update oauth_refresh_token set replaced_at = ?3, seed = ?4, scope = ?5
        where organization_id = ?1 and token_hash = ?2";
    /// Selects the access token with this hash.
    ACCESS_TOKEN = "select doc from access_token where organization_id = ?1 and token_hash = ?2";
    /// Sets the expiry of an access token, and replaces its document.
    EXTEND = "update access_token set expires_at = ?3, doc = ?4 where organization_id = ?1
        and token_hash = ?2";
    /// Deletes the oldest refresh tokens of a grant, if the grant has more than the maximum.
    LIMIT = "delete from oauth_refresh_token where organization_id = ?1 and token_hash in
        (select token_hash from oauth_refresh_token where organization_id = ?1 and grant_id = ?2
        order by id desc limit ?3 offset ?4)";
}

/// Time after which an unused refresh token expires (rules: oauth#tokens).
const LIFETIME: SignedDuration = SignedDuration::from_hours(30 * 24);
/// The grace period: the time for which a replaced token stays valid, because the client may not
/// have received the response with the new tokens (rules: oauth#tokens).
const GRACE: SignedDuration = SignedDuration::from_secs(60);
/// The prefix of a refresh token.
pub(super) const PREFIX: &str = "rt_";
/// The prefix of an access token.
const ACCESS_PREFIX: &str = "at_";
/// Maximum number of stored refresh tokens of a grant, including tokens that have been replaced.
const MAX_TOKENS: i64 = 500;
/// Maximum number of rows that one statement deletes to enforce [`MAX_TOKENS`].
const DELETE_BATCH: i64 = 500;

/// The response that sends an access token and a refresh token to a client (RFC 6749, section 5.1).
#[derive(Debug, Serialize)]
pub(super) struct TokenResponse {
    access_token: String,
    token_type: &'static str,
    expires_in: i64,
    refresh_token: String,
    scope: String,
}

/// A client's request to exchange a refresh token.
#[derive(Debug, Clone)]
pub(super) struct RefreshRequest {
    pub(super) app: Uuid,
    pub(super) token: String,
    /// The requested scope. `None` means all granted scopes.
    pub(super) scope: Option<String>,
    /// The requested resource; `None` if the request names none.
    pub(super) resource: Option<Resource>,
}

/// A new access token and a new refresh token, in clear text.
struct TokenPair {
    access: String,
    refresh: String,
}

impl TokenPair {
    /// Creates a random token pair.
    fn random(context: &Context<'_, '_>) -> Self {
        let token = |prefix| access::token_of(prefix, context.organization.id, context.ids());
        Self {
            access: token(ACCESS_PREFIX),
            refresh: token(PREFIX),
        }
    }

    /// Derives the token pair that replaces a refresh token. `token` is the replaced token. `seed`
    /// is the seed that is stored with the replaced token.
    fn derive(context: &Context<'_, '_>, token: &str, seed: &str) -> Self {
        let secret = format!("{seed} {token}");
        let token_of = |prefix| {
            let derived_secret = people::derive_token(&secret, prefix);
            access::token_with(prefix, context.organization.id, &derived_secret)
        };
        Self {
            access: token_of(ACCESS_PREFIX),
            refresh: token_of(PREFIX),
        }
    }

    /// Returns the response that sends the token pair to the client.
    fn response(self, scopes: &ScopeSet) -> TokenResponse {
        TokenResponse {
            access_token: self.access,
            token_type: "Bearer",
            expires_in: ACCESS_TOKEN_LIFETIME.as_secs(),
            refresh_token: self.refresh,
            scope: scopes.to_string(),
        }
    }
}

/// Creates an access token and a refresh token for a grant.
pub(super) fn create_token_pair(
    context: &mut Context<'_, '_>,
    grant: &Grant,
    scopes: &ScopeSet,
) -> Result<TokenResponse> {
    let pair = TokenPair::random(context);
    store(context, grant, scopes, pair)
}

/// Stores the hashes of a token pair. Returns the token response.
fn store(
    context: &mut Context<'_, '_>,
    grant: &Grant,
    scopes: &ScopeSet,
    pair: TokenPair,
) -> Result<TokenResponse> {
    grant.issue(context, scopes, &pair.access)?;
    let (id, expires_at) = (context.new_id(), after(context.now(), LIFETIME));
    let hash = Value::Bytes(access::hash(&pair.refresh));
    context.execute_deferred(&INSERT, values![hash, grant.id, id, expires_at])?;
    context.execute_deferred(&LIMIT, values![grant.id, DELETE_BATCH, MAX_TOKENS])?;
    Ok(pair.response(scopes))
}

/// Returns the token response for a replaced refresh token, with the pair that replaced it. In the
/// response, `expires_in` is the full lifetime of the access token. So the function sets the expiry
/// of the access token to this lifetime from now, unless the client has revoked the token.
fn repeat_response(
    context: &mut Context<'_, '_>,
    token: &str,
    seed: &str,
    scopes: &ScopeSet,
) -> Result<TokenResponse> {
    let pair = TokenPair::derive(context, token, seed);
    let hash = Value::Bytes(access::hash(&pair.access));
    if let Some(row) = context.row(&ACCESS_TOKEN, values![hash.clone()])? {
        let Json(mut token): Json<AccessToken> = row.get(0)?;
        let expires_at = after(context.now(), ACCESS_TOKEN_LIFETIME);
        token.expires_at = Some(Moment(expires_at));
        let doc = Value::json(&token)?;
        context.touch_configuration();
        context.execute_deferred(&EXTEND, values![hash, expires_at, doc])?;
    }
    Ok(pair.response(scopes))
}

/// The state of a refresh token at a given time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TokenState {
    /// The client can exchange the token for a new token pair.
    Valid,
    /// The token has expired.
    Expired,
    /// The token was replaced longer ago than the grace period. If a client sends the token, it has
    /// leaked (OAuth 2.1, section 4.3.1).
    Reused,
}

fn token_state(
    replaced_at: Option<Timestamp>,
    expires_at: Timestamp,
    now: Timestamp,
) -> TokenState {
    match replaced_at {
        Some(replaced_at) if after(replaced_at, GRACE) <= now => TokenState::Reused,
        _ if expires_at <= now => TokenState::Expired,
        _ => TokenState::Valid,
    }
}

/// Exchanges a refresh token for a new token pair.
pub(super) fn refresh(
    context: &mut Context<'_, '_>,
    presented: &RefreshRequest,
) -> Result<Result<TokenResponse, OauthError>> {
    let hash = Value::Bytes(access::hash(&presented.token));
    let Some(row) = context.row(&BY_HASH, values![hash.clone()])? else {
        return Ok(Err(UNKNOWN));
    };
    let current = token_state(row.get(1)?, row.get(2)?, context.now());
    let replaced_by: Option<(String, String)> = row
        .get::<Option<String>>(3)?
        .zip(row.get::<Option<String>>(4)?);
    let Some(grant) = Grant::by_id(context, row.get(0)?)? else {
        return Ok(Err(UNKNOWN));
    };
    if grant.app != presented.app {
        return Ok(Err(OauthError::invalid_grant(
            "The refresh token was issued to another client.",
        )));
    }
    match current {
        TokenState::Reused => {
            grant.end(context)?;
            return Ok(Err(OauthError::invalid_grant(
                "The refresh token was already replaced; the grant has been revoked.",
            )));
        }
        TokenState::Valid if grant.expires_at > context.now() => {}
        TokenState::Valid | TokenState::Expired => return Ok(Err(UNKNOWN)),
    }
    if presented
        .resource
        .is_some_and(|resource| Some(resource) != grant.allowed.resource)
    {
        return Ok(Err(OauthError::new(
            OauthErrorCode::InvalidTarget,
            "The refresh token was issued for another resource.",
        )));
    }
    let scopes = match grant.allowed.scopes().narrow(presented.scope.as_deref()) {
        Ok(scopes) => scopes,
        Err(error) => return Ok(Err(error)),
    };
    if !grant.has_eligible_member(&context.organization.settings) {
        return Ok(Err(OauthError::invalid_grant(
            "The member is inactive, or must enrol in two-factor authentication first.",
        )));
    }
    grant.record_use(context)?;
    if let Some((seed, scope)) = replaced_by {
        let replaced_scopes = ScopeSet::parse(&scope).ok().flatten().unwrap_or(scopes);
        return repeat_response(context, &presented.token, &seed, &replaced_scopes).map(Ok);
    }
    let (seed, now) = (access::token("", context.ids()), context.now());
    let pair = TokenPair::derive(context, &presented.token, &seed);
    context.execute_deferred(&REPLACE, values![hash, now, seed, scopes.to_string()])?;
    store(context, &grant, &scopes, pair).map(Ok)
}

/// Returns the grant of a refresh token.
pub(super) fn grant_of(context: &mut Context<'_, '_>, hash: &[u8]) -> Result<Option<Grant>> {
    match context.row(&BY_HASH, values![Value::Bytes(hash.to_vec())])? {
        Some(row) => Grant::by_id(context, row.get(0)?),
        None => Ok(None),
    }
}

/// The error for a refresh token that does not exist or has expired.
pub(super) const UNKNOWN: OauthError =
    OauthError::invalid_grant("The refresh token is unknown or has expired.");

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// A token is valid until its expiry. If a token is replaced, it stays valid for a minute
        /// after its replacement, but not beyond its expiry. After this minute, the token's state
        /// is `Reused`, even if the token has also expired.
        #[test]
        fn a_replaced_refresh_token_is_valid_for_another_minute(
            replaced in proptest::option::of(0_i64..5_000_000),
            now in 0_i64..5_000_000,
        ) {
            let at = |second| Timestamp::from_second(second).unwrap();
            let expires = 30 * 86_400;
            let expected = match replaced {
                Some(replaced) if now >= replaced + 60 => TokenState::Reused,
                _ if now >= expires => TokenState::Expired,
                _ => TokenState::Valid,
            };
            prop_assert_eq!(
                token_state(replaced.map(at), at(expires), at(now)),
                expected
            );
        }
    }
}
