//! Proof key for code exchange (PKCE, RFC 7636). A client sends the hash of a secret (the
//! challenge) with the authorization request, and the secret itself (the verifier) with the
//! exchange. This server requires PKCE and supports only the method `S256` (OAuth 2.1, sections
//! 4.1.1 and 7.5.2).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

use super::refusal::OauthError;

/// The only challenge method that this server supports.
pub(super) const METHOD: &str = "S256";

/// The challenge of an authorization request, as the client sent it: a SHA-256 hash in base64url.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Challenge(String);

impl Challenge {
    /// Parses the PKCE parameters of an authorization request (RFC 7636, section 4.3). A missing
    /// method is an error, because the default of the RFC is `plain`, which this server does not
    /// support.
    pub(super) fn parse(challenge: Option<&str>, method: Option<&str>) -> Result<Self, OauthError> {
        let challenge = challenge.ok_or(OauthError::invalid_request(
            "code_challenge is missing: PKCE is required.",
        ))?;
        if method != Some(METHOD) {
            return Err(OauthError::invalid_request(
                "code_challenge_method must be S256.",
            ));
        }
        let is_hash = URL_SAFE_NO_PAD
            .decode(challenge)
            .is_ok_and(|bytes| bytes.len() == <Sha256 as sha2::Digest>::output_size());
        if is_hash {
            Ok(Self(challenge.to_owned()))
        } else {
            Err(OauthError::invalid_request(
                "code_challenge must be a SHA-256 hash in base64url.",
            ))
        }
    }

    /// Returns the challenge as text, as it is stored.
    pub(super) fn as_text(&self) -> &str {
        &self.0
    }
}

/// Returns whether `challenge` is the hash of `verifier` (RFC 7636, sections 4.1 and 4.6).
pub(super) fn verify_challenge(verifier: &str, challenge: &str) -> bool {
    is_verifier(verifier) && URL_SAFE_NO_PAD.encode(Sha256::digest(verifier)) == challenge
}

/// Returns whether a text has the form of a verifier: 43 to 128 unreserved characters (RFC 7636,
/// section 4.1).
fn is_verifier(text: &str) -> bool {
    (43..=128).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The example of RFC 7636, appendix B.
    const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

    #[test]
    fn the_pkce_example_of_the_rfc_is_verified() {
        let challenge = Challenge::parse(Some(CHALLENGE), Some("S256")).unwrap();
        assert!(verify_challenge(VERIFIER, challenge.as_text()));
        assert!(!verify_challenge(CHALLENGE, challenge.as_text()));
    }

    #[test]
    fn only_an_s256_challenge_is_accepted() {
        for (challenge, method) in [
            (None, Some("S256")),
            (Some(CHALLENGE), None),
            (Some(CHALLENGE), Some("plain")),
            (Some(CHALLENGE), Some("s256")),
            (Some(VERIFIER), Some("S512")),
            (Some("short"), Some("S256")),
            (
                Some("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM="),
                Some("S256"),
            ),
            (
                Some("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw+cM"),
                Some("S256"),
            ),
        ] {
            assert!(
                Challenge::parse(challenge, method).is_err(),
                "{challenge:?} {method:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn a_verifier_matches_only_its_own_challenge(
            verifier in "[A-Za-z0-9._~-]{43,128}",
            other in "[A-Za-z0-9._~-]{43,128}",
        ) {
            let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(&verifier));
            prop_assert!(Challenge::parse(Some(&challenge), Some(METHOD)).is_ok());
            prop_assert!(verify_challenge(&verifier, &challenge));
            prop_assert!(other == verifier || !verify_challenge(&other, &challenge));
        }

        #[test]
        fn an_invalid_verifier_matches_no_challenge(
            text in "[A-Za-z0-9._~-]{0,42}|[A-Za-z0-9._~-]{129,140}|.{43,60}",
        ) {
            let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(&text));
            prop_assert!(is_verifier(&text) || !verify_challenge(&text, &challenge));
        }
    }
}
