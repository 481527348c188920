//! Authorization codes (RFC 6749, sections 4.1.2 and 4.1.3). A code is valid for a minute and for
//! one exchange, and only with its client, redirect address, verifier and resource.

use engine::access::{self, Resource};
use engine::context::Context;
use engine::error::Result;
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use super::grant::{self, Allowed, Grant};
use super::pkce;
use super::refresh::{self, TokenAnswer};
use super::refusal::{Code, OauthRefusal};

/// Lifetime of a code (rules: oauth#codes; RFC 6749, section 4.1.2, allows at most ten minutes).
const LASTS: SignedDuration = SignedDuration::from_secs(60);
/// The prefix of a code.
pub(super) const PREFIX: &str = "ac_";

/// The credentials that a client presents to exchange a code.
#[derive(Debug, Clone)]
pub(super) struct PresentedCode {
    /// The client's app.
    pub(super) app: Uuid,
    /// The hash of the code.
    pub(super) hash: Vec<u8>,
    /// The secret whose hash is the challenge.
    pub(super) verifier: String,
    /// The address that the code was sent to, if the client names it. It is optional (OAuth 2.1,
    /// section 10.2).
    pub(super) redirect_uri: Option<String>,
    /// The resource, if the client names it. It is optional (RFC 8707, section 2.2).
    pub(super) resource: Option<Resource>,
}

/// Creates a code for a member's grant to an app.
pub(super) fn make(
    context: &mut Context<'_, '_>,
    member: Uuid,
    app: Uuid,
    allowed: &Allowed,
) -> Result<String> {
    let code = access::token_of(PREFIX, context.organization.id, context.ids());
    let until = grant::after(context.now(), LASTS);
    grant::begin(context, (member, app), allowed, access::hash(&code), until)?;
    Ok(code)
}

/// Exchanges a code for tokens.
///
/// The lock of the organization serializes all exchanges of a code, on every node. The first valid
/// exchange gets the tokens; each later one finds the code exchanged. A code that is presented
/// again has leaked, so the grant ends (RFC 6749, section 4.1.2). Any other refusal leaves the code
/// unchanged.
pub(super) fn exchange(
    context: &mut Context<'_, '_>,
    shown: &PresentedCode,
) -> Result<Result<TokenAnswer, OauthRefusal>> {
    let Some(grant) = Grant::by_code(context, &shown.hash)? else {
        return Ok(Err(UNKNOWN));
    };
    if grant.exchanged_at.is_some() {
        grant.end(context)?;
        return Ok(Err(OauthRefusal::grant(
            "The code was already exchanged; the tokens from that exchange have been revoked.",
        )));
    }
    if let Err(refusal) = judge(
        shown,
        grant.app,
        grant.expires_at,
        &grant.allowed,
        context.now(),
    ) {
        return Ok(Err(refusal));
    }
    if !grant.has_good_member(&context.organization.settings) {
        return Ok(Err(OauthRefusal::grant(
            "The member is inactive, or must enrol in two-factor authentication first.",
        )));
    }
    if !grant.exchange(context)? {
        return Ok(Err(UNKNOWN));
    }
    let scopes = grant.allowed.scopes();
    refresh::pair(context, &grant, &scopes).map(Ok)
}

/// The error for a code that does not exist or has expired.
pub(super) const UNKNOWN: OauthRefusal = OauthRefusal::grant("The code is unknown or has expired.");

/// Checks that a client presents the values that the code was made for (RFC 6749, section 4.1.3;
/// RFC 7636, section 4.6; RFC 8707, section 2.2).
fn judge(
    shown: &PresentedCode,
    app: Uuid,
    until: Timestamp,
    allowed: &Allowed,
    now: Timestamp,
) -> Result<(), OauthRefusal> {
    if until <= now {
        return Err(UNKNOWN);
    }
    if shown.app != app {
        return Err(OauthRefusal::grant(
            "The code was issued to another client.",
        ));
    }
    if shown
        .redirect_uri
        .as_ref()
        .is_some_and(|uri| *uri != allowed.redirect_uri)
    {
        return Err(OauthRefusal::grant(
            "The code was issued for another redirect_uri.",
        ));
    }
    if !pkce::answers(&shown.verifier, &allowed.challenge) {
        return Err(OauthRefusal::grant(
            "code_verifier does not match code_challenge.",
        ));
    }
    if shown
        .resource
        .is_some_and(|resource| Some(resource) != allowed.resource)
    {
        return Err(OauthRefusal::new(
            Code::InvalidTarget,
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
        /// A code is valid only if every presented value is that of the code. Optional values may
        /// be left out.
        #[test]
        fn a_code_is_valid_only_with_the_values_of_its_request(
            is_own: bool,
            redirect in proptest::option::of(any::<bool>()),
            is_secret: bool,
            resource in proptest::option::of(any::<bool>()),
            second in 0_i64..120,
        ) {
            let allowed = Allowed {
                resource: Some(Resource::Mcp),
                redirect_uri: "https://a.example/cb".into(),
                challenge: CHALLENGE.into(),
                ..Allowed::default()
            };
            let shown = PresentedCode {
                app: Uuid::from_u128(if is_own { 1 } else { 2 }),
                hash: Vec::new(),
                verifier: if is_secret { VERIFIER } else { CHALLENGE }.into(),
                redirect_uri: redirect.map(|is_right| if is_right { "https://a.example/cb" } else { "https://a.example/CB" }.into()),
                resource: resource.map(|is_right| if is_right { Resource::Mcp } else { Resource::Api }),
            };
            let judged = judge(&shown, Uuid::from_u128(1), at(60), &allowed, at(second));
            let is_good = is_own && redirect != Some(false) && is_secret && resource != Some(false) && second < 60;
            prop_assert_eq!(judged.is_ok(), is_good);
        }
    }
}
