//! Proof of who a code was made for (RFC 7636): a client shows the hash of a secret when it asks for a code, and the secret itself
//! when it exchanges it. Always asked for, and by `S256` alone (OAuth 2.1, sections 4.1.1 and 7.5.2).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

use super::refusal::Refusal;

/// The one method there is.
pub(super) const METHOD: &str = "S256";

/// The hash that a client has shown, as it has written it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Challenge(String);

impl Challenge {
    /// What an authorization request says (RFC 7636, section 4.3). A method that is left out is `plain`, which there is not.
    pub(super) fn parse(challenge: Option<&str>, method: Option<&str>) -> Result<Self, Refusal> {
        let challenge = challenge.ok_or(Refusal::request("code_challenge is missing: PKCE is required."))?;
        if method != Some(METHOD) {
            return Err(Refusal::request("code_challenge_method must be S256."));
        }
        let is_hash = URL_SAFE_NO_PAD.decode(challenge).is_ok_and(|bytes| bytes.len() == <Sha256 as sha2::Digest>::output_size());
        if is_hash { Ok(Self(challenge.to_owned())) } else { Err(Refusal::request("code_challenge must be a SHA-256 hash in base64url.")) }
    }

    /// As it is stored.
    pub(super) fn as_text(&self) -> &str {
        &self.0
    }
}

/// Whether a verifier is the secret of a challenge (RFC 7636, sections 4.1 and 4.6).
pub(super) fn answers(verifier: &str, challenge: &str) -> bool {
    is_verifier(verifier) && URL_SAFE_NO_PAD.encode(Sha256::digest(verifier)) == challenge
}

/// 43 to 128 unreserved characters (RFC 7636, section 4.1).
fn is_verifier(text: &str) -> bool {
    (43..=128).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// RFC 7636, appendix B.
    const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

    #[test]
    fn the_example_of_the_rfc_holds() {
        let challenge = Challenge::parse(Some(CHALLENGE), Some("S256")).unwrap();
        assert!(answers(VERIFIER, challenge.as_text()));
        assert!(!answers(CHALLENGE, challenge.as_text()));
    }

    #[test]
    fn nothing_else_than_a_hash_and_its_method_is_taken() {
        for (challenge, method) in [
            (None, Some("S256")),
            (Some(CHALLENGE), None),
            (Some(CHALLENGE), Some("plain")),
            (Some(CHALLENGE), Some("s256")),
            (Some(VERIFIER), Some("S512")),
            (Some("short"), Some("S256")),
            (Some("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM="), Some("S256")),
            (Some("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw+cM"), Some("S256")),
        ] {
            assert!(Challenge::parse(challenge, method).is_err(), "{challenge:?} {method:?}");
        }
    }

    proptest! {
        #[test]
        fn a_verifier_answers_its_own_challenge_alone(verifier in "[A-Za-z0-9._~-]{43,128}", other in "[A-Za-z0-9._~-]{43,128}") {
            let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(&verifier));
            prop_assert!(Challenge::parse(Some(&challenge), Some(METHOD)).is_ok());
            prop_assert!(answers(&verifier, &challenge));
            prop_assert!(other == verifier || !answers(&other, &challenge));
        }

        #[test]
        fn what_is_no_verifier_answers_nothing(text in "[A-Za-z0-9._~-]{0,42}|[A-Za-z0-9._~-]{129,140}|.{43,60}") {
            let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(&text));
            prop_assert!(is_verifier(&text) || !answers(&text, &challenge));
        }
    }
}
