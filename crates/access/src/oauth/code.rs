//! Authorization codes (RFC 6749, sections 4.1.2 and 4.1.3). A code is valid for a minute and can
//! be exchanged once. The request for the exchange must have the client, the redirect address and
//! the resource of the authorization request, and the PKCE verifier for the challenge of that
//! request.

use engine::access::{self, Resource};
use engine::context::Context;
use engine::error::Result;
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use super::grant::{self, Grant, GrantData};
use super::pkce;
use super::refresh::{self, TokenResponse};
use super::refusal::{OauthError, OauthErrorCode};

/// Lifetime of an authorization code (rules: oauth#codes; RFC 6749, section 4.1.2, allows at most
/// ten minutes).
const LIFETIME: SignedDuration = SignedDuration::from_secs(60);
/// The prefix of an authorization code.
pub(super) const PREFIX: &str = "ac_";

/// A client's request to exchange an authorization code.
#[derive(Debug, Clone)]
pub(super) struct CodeRequest {
    pub(super) app: Uuid,
    pub(super) hash: Vec<u8>,
    /// The PKCE verifier. Its hash must be the challenge of the authorization request.
    pub(super) verifier: String,
    /// The redirect address that the client repeats in this request. Optional (OAuth 2.1, section
    /// 10.2).
    pub(super) redirect_uri: Option<String>,
    /// The resource for which the client requests the tokens. Optional (RFC 8707, section 2.2).
    pub(super) resource: Option<Resource>,
}

/// Creates an authorization code, with which an app gets the tokens of a member's grant.
pub(super) fn create_code(
    context: &mut Context<'_, '_>,
    member: Uuid,
    app: Uuid,
    allowed: &GrantData,
) -> Result<String> {
    let code = access::token_of(PREFIX, context.organization.id, context.ids());
    let expires_at = grant::after(context.now(), LIFETIME);
    grant::create_grant(
        context,
        (member, app),
        allowed,
        access::hash(&code),
        expires_at,
    )?;
    Ok(code)
}

/// Exchanges an authorization code for tokens.
///
/// The transaction locks the organization. So two nodes cannot exchange the same code at the same
/// time. The first valid exchange gets the tokens. A second exchange of the same code means that
/// the code has leaked, so the function ends the grant (RFC 6749, section 4.1.2). Any other error
/// leaves the code valid.
pub(super) fn redeem_code(
    context: &mut Context<'_, '_>,
    presented: &CodeRequest,
) -> Result<Result<TokenResponse, OauthError>> {
    let Some(grant) = Grant::by_code(context, &presented.hash)? else {
        return Ok(Err(UNKNOWN));
    };
    if grant.exchanged_at.is_some() {
        grant.end(context)?;
        return Ok(Err(OauthError::invalid_grant(
            "The code was already exchanged; the tokens from that exchange have been revoked.",
        )));
    }
    if let Err(error) = check(
        presented,
        grant.app,
        grant.expires_at,
        &grant.allowed,
        context.now(),
    ) {
        return Ok(Err(error));
    }
    if !grant.has_eligible_member(&context.organization.settings) {
        return Ok(Err(OauthError::invalid_grant(
            "The member is inactive, or must enrol in two-factor authentication first.",
        )));
    }
    if !grant.exchange(context)? {
        return Ok(Err(UNKNOWN));
    }
    let scopes = grant.allowed.scopes();
    refresh::create_token_pair(context, &grant, &scopes).map(Ok)
}

/// The error for an authorization code that does not exist or has expired.
pub(super) const UNKNOWN: OauthError =
    OauthError::invalid_grant("The code is unknown or has expired.");

/// Checks that the authorization code has not expired, and that the token request fits the
/// authorization request: the client and the PKCE verifier, and the redirect URI and the resource
/// if they were sent (RFC 6749, section 4.1.3; RFC 7636, section 4.6; RFC 8707, section 2.2).
fn check(
    presented: &CodeRequest,
    app: Uuid,
    expires_at: Timestamp,
    allowed: &GrantData,
    now: Timestamp,
) -> Result<(), OauthError> {
    if expires_at <= now {
        return Err(UNKNOWN);
    }
    if presented.app != app {
        return Err(OauthError::invalid_grant(
            "The code was issued to another client.",
        ));
    }
    if presented
        .redirect_uri
        .as_ref()
        .is_some_and(|uri| *uri != allowed.redirect_uri)
    {
        return Err(OauthError::invalid_grant(
            "The code was issued for another redirect_uri.",
        ));
    }
    if !pkce::verify_challenge(&presented.verifier, &allowed.challenge) {
        return Err(OauthError::invalid_grant(
            "code_verifier does not match code_challenge.",
        ));
    }
    if presented
        .resource
        .is_some_and(|resource| Some(resource) != allowed.resource)
    {
        return Err(OauthError::new(
            OauthErrorCode::InvalidTarget,
            "The code was issued for another resource.",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    proptest! {
        /// Checks exchanges of a code in which the client, the code verifier, the redirect address,
        /// the resource and the time are each right or wrong. The redirect address and the resource
        /// may also be missing, which does not make the exchange invalid.
        #[test]
        fn a_code_is_valid_only_with_the_values_of_its_request(
            is_own: bool,
            redirect in proptest::option::of(any::<bool>()),
            is_secret: bool,
            resource in proptest::option::of(any::<bool>()),
            second in 0_i64..120,
        ) {
            let allowed = GrantData {
                resource: Some(Resource::Mcp),
                redirect_uri: "https://a.example/cb".into(),
                challenge: CHALLENGE.into(),
                ..GrantData::default()
            };
            let presented = CodeRequest {
                app: Uuid::from_u128(if is_own { 1 } else { 2 }),
                hash: Vec::new(),
                verifier: if is_secret { VERIFIER } else { CHALLENGE }.into(),
                redirect_uri: redirect.map(|is_right| {
                    if is_right {
                        "https://a.example/cb"
                    } else {
                        "https://a.example/CB"
                    }
                    .into()
                }),
                resource: resource.map(|is_right| {
                    if is_right {
                        Resource::Mcp
                    } else {
                        Resource::Api
                    }
                }),
            };
            let result = check(&presented, Uuid::from_u128(1), at(60), &allowed, at(second));
            let is_valid = is_own
                && redirect != Some(false)
                && is_secret
                && resource != Some(false)
                && second < 60;
            prop_assert_eq!(result.is_ok(), is_valid);
        }
    }
}
