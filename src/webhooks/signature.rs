//! How a delivery is signed: Standard Webhooks 1.0, symmetric.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use crate::ambient::Ids;
use crate::error::{Error, Result};

/// What a secret begins with, so that people and scanners know one when they see it.
const PREFIX: &str = "whsec_";
/// 192 bits: the least the standard asks for, and a length whose base64 needs no padding to get lost in a copy.
const LENGTH: usize = 24;

/// A subscription's signing secret, as its owner was shown it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Secret(String);

impl Secret {
    /// One that nobody can guess.
    pub(super) fn fresh(ids: &Ids) -> Self {
        Self(format!("{PREFIX}{}", STANDARD.encode(ids.secret::<LENGTH>())))
    }

    /// The text to show its owner, once.
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }
}

/// A secret that gets into a log by accident is not readable there.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("whsec_…")
    }
}

/// The value of `webhook-signature` for a message: its id, the moment it is sent (Unix seconds), its body.
pub(super) fn sign(secret: &Secret, id: &str, timestamp: i64, body: &str) -> Result<String> {
    let encoded = secret.0.strip_prefix(PREFIX).unwrap_or(&secret.0);
    let key = STANDARD.decode(encoded).map_err(|error| Error::internal(format!("a signing secret does not read: {error}")))?;
    let mac = Hmac::<Sha256>::new_from_slice(&key).map_err(Error::internal)?;
    let tag = mac.chain_update(format!("{id}.{timestamp}.")).chain_update(body).finalize().into_bytes();
    Ok(format!("v1,{}", STANDARD.encode(tag)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_as_the_standard_does() {
        let secret = Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".into());
        let signature = sign(&secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, r#"{"test": 2432232314}"#).unwrap();
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn a_fresh_secret_is_long_enough_and_signs() {
        let ids = Ids::default();
        let (one, other) = (Secret::fresh(&ids), Secret::fresh(&ids));
        assert_ne!(one.reveal(), other.reveal());
        let encoded = one.reveal().strip_prefix("whsec_").unwrap();
        assert_eq!(STANDARD.decode(encoded).unwrap().len(), LENGTH);
        assert_ne!(sign(&one, "a", 1, "{}").unwrap(), sign(&one, "a", 2, "{}").unwrap());
        assert_ne!(sign(&one, "a", 1, "{}").unwrap(), sign(&other, "a", 1, "{}").unwrap());
    }

    #[test]
    fn a_secret_is_not_readable_in_a_log() {
        let secret = Secret::fresh(&Ids::default());
        assert_eq!(format!("{secret:?}"), "whsec_…");
    }

    #[test]
    fn what_is_no_secret_does_not_sign() {
        assert!(sign(&Secret("whsec_not base64!".into()), "a", 1, "{}").is_err());
    }
}
