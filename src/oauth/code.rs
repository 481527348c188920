//! Codes (RFC 6749, sections 4.1.2 and 4.1.3): good for a minute, once, for the client, the address, the verifier and the resource
//! that they were made for.

use engine::access::{self, Resource};
use engine::context::Context;
use engine::error::Result;
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use super::grant::{self, Allowed, Grant};
use super::pkce;
use super::refresh::{self, Tokens};
use super::refusal::{Code, Refusal};

/// How long a code is good (contract: People: OAuth 2.1; RFC 6749, section 4.1.2, has ten minutes at the most).
const LASTS: SignedDuration = SignedDuration::from_secs(60);
/// What a code begins with.
pub(super) const PREFIX: &str = "ac_";

/// What a client shows to exchange a code.
#[derive(Debug, Clone)]
pub(super) struct Presented {
    /// The client's app.
    pub(super) app: Uuid,
    /// The hash of the code.
    pub(super) hash: Vec<u8>,
    /// The secret that the challenge was the hash of.
    pub(super) verifier: String,
    /// Where the code was sent, where the client says so (OAuth 2.1, section 10.2: it need not).
    pub(super) redirect_uri: Option<String>,
    /// The resource, where the client says so (RFC 8707, section 2.2: it need not).
    pub(super) resource: Option<Resource>,
}

/// Makes a code of what a member allows an app.
pub(super) fn make(context: &mut Context<'_, '_>, member: Uuid, app: Uuid, allowed: &Allowed) -> Result<String> {
    let code = access::token_of(PREFIX, context.organization.id, context.ids());
    let until = grant::after(context.now(), LASTS);
    grant::begin(context, (member, app), allowed, access::hash(&code), until)?;
    Ok(code)
}

/// Exchanges a code for tokens.
///
/// Under the lock of its organization one presentation comes after another, on whichever node: the first that is right has the tokens,
/// and each one after that finds the code exchanged. A code that is shown again has been in more hands than its client's, so that ends
/// what came of it (RFC 6749, section 4.1.2). What is refused otherwise leaves the code as it is.
pub(super) fn exchange(context: &mut Context<'_, '_>, shown: &Presented) -> Result<Result<Tokens, Refusal>> {
    let Some(grant) = Grant::by_code(context, &shown.hash)? else { return Ok(Err(UNKNOWN)) };
    if grant.exchanged_at.is_some() {
        grant.end(context)?;
        return Ok(Err(Refusal::grant("The code has been exchanged before; what came of it has ended.")));
    }
    if let Err(refusal) = judge(shown, grant.app, grant.expires_at, &grant.allowed, context.now()) {
        return Ok(Err(refusal));
    }
    if !grant.has_good_member(&context.organization.settings) {
        return Ok(Err(Refusal::grant("The member may not connect apps at the moment.")));
    }
    if !grant.exchange(context)? {
        return Ok(Err(UNKNOWN));
    }
    let scopes = grant.allowed.scopes();
    refresh::pair(context, &grant, &scopes).map(Ok)
}

/// What is said of a code that nobody has made, or that has gone.
pub(super) const UNKNOWN: Refusal = Refusal::grant("The code is unknown or has expired.");

/// Whether what a client shows is what a code was made for (RFC 6749, section 4.1.3; RFC 7636, section 4.6; RFC 8707, section 2.2).
fn judge(shown: &Presented, app: Uuid, until: Timestamp, allowed: &Allowed, now: Timestamp) -> Result<(), Refusal> {
    if until <= now {
        return Err(UNKNOWN);
    }
    if shown.app != app {
        return Err(Refusal::grant("The code was made for another client."));
    }
    if shown.redirect_uri.as_ref().is_some_and(|uri| *uri != allowed.redirect_uri) {
        return Err(Refusal::grant("The code was sent to another redirect_uri."));
    }
    if !pkce::answers(&shown.verifier, &allowed.challenge) {
        return Err(Refusal::grant("code_verifier is not what code_challenge was made of."));
    }
    if shown.resource.is_some_and(|resource| Some(resource) != allowed.resource) {
        return Err(Refusal::new(Code::InvalidTarget, "The code was made for another resource."));
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
        /// A code is good exactly where everything is as it was made, and what the client leaves out it need not say.
        #[test]
        fn a_code_is_good_for_what_it_was_made_for(
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
            let shown = Presented {
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
