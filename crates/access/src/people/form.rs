//! Protection of the forms of the pages for members against cross-site request forgery (rules:
//! members#signing-in, 5).
//!
//! Each form has a token in a hidden field. The server derives the token from a secret in a cookie
//! of the browser, by a one-way function. So the server stores nothing. A page of an attacker
//! cannot contain the token, because the attacker does not know the secret.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::digest::Key;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};

/// Derives a token from a secret. Tokens for different purposes differ, for example for `form` and
/// `state`. A token reveals neither the secret nor the token for another purpose.
pub(crate) fn derive_token(secret: &str, purpose: &str) -> String {
    URL_SAFE_NO_PAD.encode(mac(secret, purpose).finalize().into_bytes())
}

/// Returns whether `token` is the token that [`derive_token`] derives from this secret for this
/// purpose. Compares in constant time.
pub(super) fn is_derived_token(token: &str, secret: &str, purpose: &str) -> bool {
    URL_SAFE_NO_PAD
        .decode(token)
        .is_ok_and(|bytes| mac(secret, purpose).verify_slice(&bytes).is_ok())
}

/// Returns an HMAC-SHA256 (RFC 2104) with a key derived from the secret. The key is not the plain
/// hash of the secret, because the database contains the plain hash of a session's secret.
fn mac(secret: &str, purpose: &str) -> Hmac<Sha256> {
    let mut key = Key::<Hmac<Sha256>>::default();
    let digest = Sha256::new()
        .chain_update("forms of ")
        .chain_update(secret)
        .finalize();
    key[..digest.len()].copy_from_slice(&digest);
    Hmac::new(&key).chain_update(purpose)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_form_token_is_valid_only_for_its_secret_and_purpose(
            secret in ".{0,80}",
            other in ".{0,80}",
            text in ".{0,60}",
        ) {
            let token = derive_token(&secret, "form");
            prop_assert!(is_derived_token(&token, &secret, "form"));
            prop_assert!(!is_derived_token(&token, &secret, "state"));
            prop_assert!(other == secret || !is_derived_token(&token, &other, "form"));
            prop_assert!(text == token || !is_derived_token(&text, &secret, "form"));
        }
    }
}
