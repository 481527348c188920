//! The signing keys of an OpenID provider, and the verification of signatures with them (RFC 7515,
//! RFC 7517, RFC 7518 and RFC 8037).
//!
//! The signatures are verified by the library that TLS uses. Libraries for OpenID Connect would add
//! a second implementation of RSA and of each curve.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters, RsaPublicKeyComponents,
    UnparsedPublicKey, VerificationAlgorithm,
};
use serde::Deserialize;
use serde_json::Value;
use strum::{AsRefStr, EnumString};

/// A signature algorithm with a private and a public key, by its name in a token (`alg`).
/// Algorithms with a shared secret, and `none`, are not supported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, AsRefStr, EnumString)]
#[strum(serialize_all = "UPPERCASE")]
pub(super) enum Algorithm {
    Rs256,
    Rs384,
    Rs512,
    Ps256,
    Ps384,
    Ps512,
    Es256,
    Es384,
    #[strum(serialize = "EdDSA")]
    EdDsa,
}

/// How a signature of an algorithm is verified.
enum Verification {
    Rsa(&'static RsaParameters),
    /// With a point on the curve of this name (`crv`) as the public key.
    Curve(&'static str, &'static dyn VerificationAlgorithm),
}

impl Algorithm {
    fn verification(self) -> Verification {
        use Verification::{Curve, Rsa};
        match self {
            Self::Rs256 => Rsa(&RSA_PKCS1_2048_8192_SHA256),
            Self::Rs384 => Rsa(&RSA_PKCS1_2048_8192_SHA384),
            Self::Rs512 => Rsa(&RSA_PKCS1_2048_8192_SHA512),
            Self::Ps256 => Rsa(&RSA_PSS_2048_8192_SHA256),
            Self::Ps384 => Rsa(&RSA_PSS_2048_8192_SHA384),
            Self::Ps512 => Rsa(&RSA_PSS_2048_8192_SHA512),
            Self::Es256 => Curve("P-256", &ECDSA_P256_SHA256_FIXED),
            Self::Es384 => Curve("P-384", &ECDSA_P384_SHA384_FIXED),
            Self::EdDsa => Curve("Ed25519", &ED25519),
        }
    }
}

/// A public key of a provider (JSON Web Key).
#[derive(Debug, Deserialize)]
pub(super) struct SigningKey {
    #[serde(flatten)]
    numbers: Numbers,
    /// The id of the key. A token names it in its header.
    kid: Option<String>,
    /// The only algorithm of the key. `None` if the key may be used with any algorithm of its type.
    alg: Option<String>,
    /// Purpose of the key: `sig` for signatures. `None` if the key may be used for any purpose.
    #[serde(rename = "use")]
    usage: Option<String>,
}

/// The numbers of a public key, as big-endian bytes in base64url.
#[derive(Debug, Deserialize)]
#[serde(tag = "kty")]
enum Numbers {
    #[serde(rename = "RSA")]
    Rsa { n: String, e: String },
    #[serde(rename = "EC")]
    EllipticCurve { crv: String, x: String, y: String },
    #[serde(rename = "OKP")]
    OctetKeyPair { crv: String, x: String },
}

impl SigningKey {
    /// Reads a key of a key set. Returns `None` if it is not a key of a supported type.
    pub(super) fn read(key: &Value) -> Option<Self> {
        Self::deserialize(key).ok()
    }

    /// Returns whether this key may verify a token with the algorithm and the key id in the token's
    /// header. If the key or the token has no key id, the ids are not compared.
    pub(super) fn fits(&self, algorithm: Algorithm, id: Option<&str>) -> bool {
        let has_id = match (id, &self.kid) {
            (Some(id), Some(kid)) => kid == id,
            _ => true,
        };
        let is_of_type = match (algorithm.verification(), &self.numbers) {
            (Verification::Rsa(_), Numbers::Rsa { .. }) => true,
            (
                Verification::Curve(name, _),
                Numbers::EllipticCurve { crv, .. } | Numbers::OctetKeyPair { crv, .. },
            ) => crv == name,
            _ => false,
        };
        let may_be_used = |value: &Option<String>, wanted: &str| {
            value.as_ref().is_none_or(|value| value == wanted)
        };
        has_id
            && is_of_type
            && may_be_used(&self.alg, algorithm.as_ref())
            && may_be_used(&self.usage, "sig")
    }

    /// Returns whether `signature` is a signature of `message` by the owner of this key. Returns
    /// false for a key whose numbers cannot be read, and for an RSA key with fewer than 2,048 bits.
    pub(super) fn verifies(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        let verify = || match (algorithm.verification(), &self.numbers) {
            (Verification::Rsa(parameters), Numbers::Rsa { n, e }) => {
                let (n, e) = (positive(n)?, positive(e)?);
                RsaPublicKeyComponents { n, e }
                    .verify(parameters, message, signature)
                    .ok()
            }
            (Verification::Curve(_, curve), Numbers::EllipticCurve { x, y, .. }) => {
                // The prefix says that both coordinates follow (SEC 1, section 2.3.3).
                let point = [vec![4], from_base64url(x)?, from_base64url(y)?].concat();
                UnparsedPublicKey::new(curve, point)
                    .verify(message, signature)
                    .ok()
            }
            (Verification::Curve(_, curve), Numbers::OctetKeyPair { x, .. }) => {
                UnparsedPublicKey::new(curve, from_base64url(x)?)
                    .verify(message, signature)
                    .ok()
            }
            _ => None,
        };
        verify().is_some()
    }
}

/// Reads bytes in base64url, with or without padding.
pub(super) fn from_base64url(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok()
}

/// Reads a number without the leading zeros that some providers write.
fn positive(text: &str) -> Option<Vec<u8>> {
    let mut bytes = from_base64url(text)?;
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    bytes.drain(..zeros);
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use ring::rand::SystemRandom;
    use ring::signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair,
        EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair as _,
    };
    use serde_json::json;

    use super::*;

    const MESSAGE: &[u8] = b"header.payload";

    fn key(value: &Value) -> SigningKey {
        SigningKey::read(value).unwrap()
    }

    fn text(bytes: &[u8]) -> String {
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Returns a new key on an elliptic curve, and its signature of [`MESSAGE`].
    fn elliptic(curve: &str, algorithm: &'static EcdsaSigningAlgorithm) -> (Value, Vec<u8>) {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).unwrap();
        let point = &pair.public_key().as_ref()[1..];
        let (x, y) = point.split_at(point.len() / 2);
        let key = json!({ "kty": "EC", "crv": curve, "x": text(x), "y": text(y) });
        let signature = pair.sign(&random, MESSAGE).unwrap().as_ref().to_vec();
        (key, signature)
    }

    #[test]
    fn a_signature_is_valid_for_its_own_message_and_key_only() {
        let pair = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
        let edwards = json!({
            "kty": "OKP",
            "crv": "Ed25519",
            "x": text(pair.public_key().as_ref()),
        });
        let cases = [
            (
                Algorithm::Es256,
                elliptic("P-256", &ECDSA_P256_SHA256_FIXED_SIGNING),
            ),
            (
                Algorithm::Es384,
                elliptic("P-384", &ECDSA_P384_SHA384_FIXED_SIGNING),
            ),
            (
                Algorithm::EdDsa,
                (edwards, pair.sign(MESSAGE).as_ref().to_vec()),
            ),
        ];
        for (algorithm, (key_value, signature)) in &cases {
            let own = key(key_value);
            assert!(own.verifies(*algorithm, MESSAGE, signature), "{key_value}");
            assert!(!own.verifies(*algorithm, b"header.other", signature));
            for index in 0..signature.len() {
                let mut changed = signature.clone();
                changed[index] ^= 1;
                assert!(!own.verifies(*algorithm, MESSAGE, &changed), "{index}");
            }
            for (other, (other_key, _)) in &cases {
                let is_own = other == algorithm;
                assert_eq!(own.fits(*other, None), is_own, "{key_value} {other:?}");
                let verifies = key(other_key).verifies(*algorithm, MESSAGE, signature);
                assert_eq!(verifies, is_own, "{other_key} {algorithm:?}");
            }
        }
    }

    #[test]
    fn a_key_is_used_only_as_it_says() {
        let rsa = |more: Value| {
            let mut value = json!({ "kty": "RSA", "n": "AQAB", "e": "AQAB" });
            for (name, entry) in more.as_object().unwrap() {
                value[name] = entry.clone();
            }
            key(&value)
        };
        for (more, id, fits) in [
            (json!({}), None, true),
            (json!({ "kid": "a" }), None, true),
            (json!({}), Some("a"), true),
            (json!({ "kid": "a" }), Some("a"), true),
            (json!({ "kid": "b" }), Some("a"), false),
            (json!({ "use": "sig" }), None, true),
            (json!({ "use": "enc" }), None, false),
            (json!({ "alg": "RS256" }), None, true),
            (json!({ "alg": "RS512" }), None, false),
            (json!({ "alg": "RSA-OAEP" }), None, false),
        ] {
            assert_eq!(
                rsa(more.clone()).fits(Algorithm::Rs256, id),
                fits,
                "{more} {id:?}"
            );
        }
        assert!(!rsa(json!({})).fits(Algorithm::Es256, None));
        assert!(!rsa(json!({})).verifies(Algorithm::Rs256, MESSAGE, b"signature"));
    }
}
