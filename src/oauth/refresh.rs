//! Refresh tokens (RFC 6749, section 6; OAuth 2.1, section 4.3): each is exchanged for a new pair, and ends the grant if somebody
//! shows it long after that.
//!
//! One that is shown again while it still answers has more than one heir. Of these the first that is shown goes on; the others count as
//! replaced from then on, answer for as long as what has been replaced does, and end the grant after that (RFC 9700, section 4.14.2).

use engine::access::{self, Resource};
use engine::context::Context;
use engine::error::Result;
use engine::values;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use store::Value;
use uuid::Uuid;

use super::grant::{Grant, TOKEN_LASTS, after};
use super::refusal::{Code, Refusal};
use super::scope::Scopes;

store::statements! {
    /// A new refresh token.
    INSERT = "insert into oauth_refresh_token (organization_id, token_hash, grant_id, id, replaced_at, expires_at) values (?1, ?2, ?3, ?4, null, ?5)";
    /// A refresh token: its grant, and when it was replaced and expires.
    BY_HASH = "select grant_id, replaced_at, expires_at from oauth_refresh_token where organization_id = ?1 and token_hash = ?2";
    /// Notes that a refresh token has been replaced; the first time counts.
    REPLACE = "update oauth_refresh_token set replaced_at = ?3 where organization_id = ?1 and token_hash = ?2 and replaced_at is null";
    /// Notes of the other refresh tokens of a grant that nobody has shown that they have been replaced since a moment.
    SUPERSEDE = "update oauth_refresh_token set replaced_at = ?4
        where organization_id = ?1 and grant_id = ?2 and token_hash <> ?3 and replaced_at is null";
    /// Forgets the refresh tokens of a grant beyond so many, the oldest of them.
    LIMIT = "delete from oauth_refresh_token where organization_id = ?1 and token_hash in
        (select token_hash from oauth_refresh_token where organization_id = ?1 and grant_id = ?2 order by id desc limit ?3 offset ?4)";
}

/// How long a refresh token is good without use (contract: People: OAuth 2.1).
const LASTS: SignedDuration = SignedDuration::from_hours(30 * 24);
/// How long one that has been replaced still answers: clients lose answers (contract: People: OAuth 2.1).
const GRACE: SignedDuration = SignedDuration::from_secs(60);
/// What a refresh token begins with.
pub(super) const PREFIX: &str = "rt_";
/// Refresh tokens of a grant that are known, those that have been replaced among them.
const MOST: i64 = 500;
/// Of them, so many are forgotten at once.
const STEP: i64 = 500;

/// What a client is answered (RFC 6749, section 5.1).
#[derive(Debug, Serialize)]
pub(super) struct Tokens {
    access_token: String,
    token_type: &'static str,
    expires_in: i64,
    refresh_token: String,
    scope: String,
}

/// What a client shows to have new tokens.
#[derive(Debug, Clone)]
pub(super) struct Presented {
    /// The client's app.
    pub(super) app: Uuid,
    /// The hash of the refresh token.
    pub(super) hash: Vec<u8>,
    /// What it asks for, where it asks for less.
    pub(super) scope: Option<String>,
    /// The resource, where the client says so.
    pub(super) resource: Option<Resource>,
}

/// An access token and a refresh token of a grant.
pub(super) fn pair(context: &mut Context<'_, '_>, grant: &Grant, scopes: &Scopes) -> Result<Tokens> {
    let access_token = grant.issue(context, scopes)?;
    let refresh_token = access::token_of(PREFIX, context.organization.id, context.ids());
    let (id, until) = (context.new_id(), after(context.now(), LASTS));
    context.execute_along(&INSERT, values![Value::Bytes(access::hash(&refresh_token)), grant.id, id, until])?;
    context.execute_along(&LIMIT, values![grant.id, STEP, MOST])?;
    let expires_in = TOKEN_LASTS.as_secs();
    Ok(Tokens { access_token, token_type: "Bearer", expires_in, refresh_token, scope: scopes.to_string() })
}

/// What a refresh token is worth at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// A new pair.
    Good,
    /// Nothing, by itself.
    Expired,
    /// It has been replaced for too long: somebody else has it (OAuth 2.1, section 4.3.1).
    Reused,
}

fn standing(replaced_at: Option<Timestamp>, expires_at: Timestamp, now: Timestamp) -> Standing {
    match replaced_at {
        Some(replaced_at) if after(replaced_at, GRACE) <= now => Standing::Reused,
        _ if expires_at <= now => Standing::Expired,
        _ => Standing::Good,
    }
}

/// Exchanges a refresh token for a new pair.
pub(super) fn refresh(context: &mut Context<'_, '_>, shown: &Presented) -> Result<Result<Tokens, Refusal>> {
    let Some(row) = context.row(&BY_HASH, values![Value::Bytes(shown.hash.clone())])? else { return Ok(Err(UNKNOWN)) };
    let standing = standing(row.get(1)?, row.get(2)?, context.now());
    let Some(grant) = Grant::by_id(context, row.get(0)?)? else { return Ok(Err(UNKNOWN)) };
    if grant.app != shown.app {
        return Ok(Err(Refusal::grant("The refresh token was made for another client.")));
    }
    match standing {
        Standing::Reused => {
            grant.end(context)?;
            return Ok(Err(Refusal::grant("The refresh token has been replaced before; the grant has ended.")));
        }
        Standing::Good if grant.expires_at > context.now() => {}
        Standing::Good | Standing::Expired => return Ok(Err(UNKNOWN)),
    }
    if shown.resource.is_some_and(|resource| Some(resource) != grant.allowed.resource) {
        return Ok(Err(Refusal::new(Code::InvalidTarget, "The refresh token was made for another resource.")));
    }
    let scopes = match grant.allowed.scopes().narrowed(shown.scope.as_deref()) {
        Ok(scopes) => scopes,
        Err(refusal) => return Ok(Err(refusal)),
    };
    if !grant.has_good_member(&context.organization.settings) {
        return Ok(Err(Refusal::grant("The member may not connect apps at the moment.")));
    }
    let (hash, now) = (Value::Bytes(shown.hash.clone()), context.now());
    if context.execute(&REPLACE, values![hash.clone(), now])? > 0 {
        context.execute_along(&SUPERSEDE, values![grant.id, hash, now])?;
    }
    grant.note_use(context)?;
    pair(context, &grant, &scopes).map(Ok)
}

/// The grant of a refresh token.
pub(super) fn grant_of(context: &mut Context<'_, '_>, hash: &[u8]) -> Result<Option<Grant>> {
    match context.row(&BY_HASH, values![Value::Bytes(hash.to_vec())])? {
        Some(row) => Grant::by_id(context, row.get(0)?),
        None => Ok(None),
    }
}

/// What is said of a refresh token that nobody has made, or that has gone.
pub(super) const UNKNOWN: Refusal = Refusal::grant("The refresh token is unknown or has expired.");

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Never replaced: good until it expires. Replaced: for a minute as before, and then somebody else's, however old it is.
        #[test]
        fn a_refresh_token_has_a_minute_of_grace(replaced in proptest::option::of(0_i64..5_000_000), now in 0_i64..5_000_000) {
            let at = |second| Timestamp::from_second(second).unwrap();
            let expires = 30 * 86_400;
            let expected = match replaced {
                Some(replaced) if now >= replaced + 60 => Standing::Reused,
                _ if now >= expires => Standing::Expired,
                _ => Standing::Good,
            };
            prop_assert_eq!(standing(replaced.map(at), at(expires), at(now)), expected);
        }
    }
}
