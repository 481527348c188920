//! Verification of ID tokens (OpenID Connect Core 1.0, sections 2 and 3.1.3.7; RFC 7515; RFC 7519).
//!
//! This module reads only the claims `iss`, `sub`, `aud`, `azp`, `exp`, `iat`, `nbf`, `nonce`,
//! `email` and `email_verified`. Any other claim may have any type, because providers differ.

use serde_json::Value;

use super::discovery::{ProviderMetadata, is_same_issuer};
use super::signing_key::{Algorithm, from_base64url};

/// Number of seconds by which the provider's clock may be ahead of this server's clock.
const MAX_CLOCK_SKEW: f64 = 60.0;
/// Maximum length of a claim in an error message, in characters.
const MAX_EXCERPT: usize = 100;

/// The reason why an ID token is invalid.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum InvalidToken {
    /// None of the cached keys can verify the token. The provider may have new keys, so the calling
    /// function fetches the keys again.
    NoKey,
    /// A claim or the signature is invalid. The text describes the error and contains no secret.
    Claim(String),
}

impl std::fmt::Display for InvalidToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoKey => f.write_str("no key of the provider fits its signature"),
            Self::Claim(text) => f.write_str(text),
        }
    }
}

fn invalid<T>(text: impl Into<String>) -> Result<T, InvalidToken> {
    Err(InvalidToken::Claim(text.into()))
}

/// The values against which the claims of an ID token are checked.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExpectedClaims<'a> {
    pub(super) issuer: &'a str,
    pub(super) client_id: &'a str,
    pub(super) nonce: &'a str,
    /// The current time, in Unix seconds.
    pub(super) now: i64,
}

/// The claims that identify a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PersonClaims {
    /// The person's identifier at the provider (`sub`).
    pub(super) subject: String,
    /// The mail address, and whether the provider has verified the address. `None` if the claim
    /// `email` or `email_verified` is missing.
    pub(super) address: Option<(String, bool)>,
    /// The name of the missing claim if `address` is `None`.
    pub(super) missing: Option<&'static str>,
}

impl PersonClaims {
    /// Reads the claims about a person from an ID token or from the response of the userinfo
    /// endpoint.
    pub(super) fn read(claims: &Value) -> Result<Self, InvalidToken> {
        let Some(subject) = claims["sub"].as_str().filter(|text| !text.is_empty()) else {
            return invalid(format!(
                "sub is {}; expected a text",
                excerpt(&claims["sub"])
            ));
        };
        let email = match &claims["email"] {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            _ => return invalid("email is no text"),
        };
        let is_verified = match &claims["email_verified"] {
            Value::Null => None,
            Value::Bool(is_verified) => Some(*is_verified),
            // Some providers send `email_verified` as text instead of a boolean.
            Value::String(text) if text == "true" => Some(true),
            Value::String(text) if text == "false" => Some(false),
            other => {
                return invalid(format!(
                    "email_verified is {}; expected true or false",
                    excerpt(other)
                ));
            }
        };
        let missing = match (&email, is_verified) {
            (None, _) => Some("email"),
            (_, None) => Some("email_verified"),
            _ => None,
        };
        Ok(Self {
            subject: subject.to_owned(),
            address: email.zip(is_verified),
            missing,
        })
    }
}

/// Verifies an ID token in compact serialization. Returns its claims about the person.
pub(super) fn verify(
    token: &str,
    metadata: &ProviderMetadata,
    expected: ExpectedClaims<'_>,
) -> Result<PersonClaims, InvalidToken> {
    let claims = verify_signature(token, metadata)?;
    check(&claims, expected)?;
    PersonClaims::read(&claims)
}

/// Verifies the signature of a token with the provider's keys. Returns the payload.
pub(super) fn verify_signature(
    token: &str,
    metadata: &ProviderMetadata,
) -> Result<Value, InvalidToken> {
    let parts: Vec<&str> = token.split('.').collect();
    let [header, payload, signature] = parts[..] else {
        return invalid("it is no signed token");
    };
    let object = |part: &str| {
        let value =
            from_base64url(part).and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
        value.filter(Value::is_object)
    };
    let (Some(jose_header), Some(claims), Some(signature)) =
        (object(header), object(payload), from_base64url(signature))
    else {
        return invalid("it cannot be read");
    };
    if !jose_header["crit"].is_null() {
        return invalid("its header has an extension that must be understood");
    }
    let name = jose_header["alg"].as_str();
    let algorithm: Option<Algorithm> = name.and_then(|name| name.parse().ok());
    let Some(algorithm) = algorithm.filter(|algorithm| metadata.algorithms.contains(algorithm))
    else {
        return invalid(format!(
            "alg is {}; expected one of those that the provider's metadata names",
            excerpt(&jose_header["alg"])
        ));
    };
    let message = &token.as_bytes()[..header.len() + 1 + payload.len()];
    let id = jose_header["kid"].as_str();
    let mut fitting = metadata
        .keys
        .iter()
        .filter(|key| key.fits(algorithm, id))
        .peekable();
    if fitting.peek().is_none() {
        return Err(InvalidToken::NoKey);
    }
    if fitting.any(|key| key.verifies(algorithm, message, &signature)) {
        Ok(claims)
    } else {
        invalid("its signature is not that of the provider's key")
    }
}

/// Checks the claims about issuer, audience, lifetime and nonce of a token (Core 1.0, 3.1.3.7).
fn check(claims: &Value, expected: ExpectedClaims<'_>) -> Result<(), InvalidToken> {
    let ExpectedClaims {
        issuer,
        client_id,
        nonce,
        now,
    } = expected;
    if !claims["iss"]
        .as_str()
        .is_some_and(|token_issuer| is_same_issuer(token_issuer, issuer))
    {
        let received = excerpt(&claims["iss"]);
        return invalid(format!("iss is {received}; expected {issuer:?}"));
    }
    let audience = match &claims["aud"] {
        Value::Array(listed) => listed.as_slice(),
        entry => std::slice::from_ref(entry),
    };
    let authorized_party = &claims["azp"];
    if !audience.iter().any(|entry| entry == client_id) {
        let received = excerpt(&claims["aud"]);
        return invalid(format!(
            "aud is {received}; expected the client id {client_id:?}"
        ));
    }
    // If a token names an authorized party (`azp`), this must be the service. A token with several
    // audiences must name one.
    if !(authorized_party == client_id || (authorized_party.is_null() && audience.len() == 1)) {
        let received = excerpt(authorized_party);
        return invalid(format!(
            "azp is {received}; expected the client id {client_id:?}"
        ));
    }
    #[expect(clippy::cast_precision_loss, reason = "exact up to 2^53")]
    let seconds = now as f64;
    let time_claim = |name: &str| match &claims[name] {
        Value::Null => Ok(None),
        value => value.as_f64().map(Some).ok_or_else(|| {
            let received = excerpt(value);
            InvalidToken::Claim(format!(
                "{name} is {received}; expected a number of seconds"
            ))
        }),
    };
    let (Some(expires), Some(issued)) = (time_claim("exp")?, time_claim("iat")?) else {
        return invalid("exp or iat is missing");
    };
    if expires <= seconds {
        return invalid(format!(
            "exp is {expires}; it is {now} here, check the clocks"
        ));
    }
    for (name, time) in [("iat", Some(issued)), ("nbf", time_claim("nbf")?)] {
        if let Some(time) = time.filter(|time| *time > seconds + MAX_CLOCK_SKEW) {
            return invalid(format!(
                "{name} is {time}, more than {MAX_CLOCK_SKEW} s in the future; it is {now} here, \
                    check the clocks"
            ));
        }
    }
    if claims["nonce"] != nonce {
        return invalid("nonce is not that of this sign-in");
    }
    Ok(())
}

/// Returns a claim as a text for an error message, cut to [`MAX_EXCERPT`] characters.
fn excerpt(value: &Value) -> String {
    value.to_string().chars().take(MAX_EXCERPT).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const EXPECTED: ExpectedClaims<'static> = ExpectedClaims {
        issuer: "https://id.example.com",
        client_id: "ours",
        nonce: "n",
        now: 1_000,
    };

    fn claims(more: &Value) -> Value {
        let mut claims = json!({
            "iss": "https://id.example.com",
            "sub": "ada",
            "aud": "ours",
            "exp": 1_300,
            "iat": 1_000,
            "nonce": "n",
            "email": "ada@example.com",
            "email_verified": true,
        });
        for (name, value) in more.as_object().unwrap() {
            claims[name] = value.clone();
        }
        claims
    }

    fn check_claims(more: &Value) -> Result<PersonClaims, InvalidToken> {
        let claims = claims(more);
        check(&claims, EXPECTED)?;
        PersonClaims::read(&claims)
    }

    #[test]
    fn a_token_with_several_audiences_has_an_authorized_party() {
        for more in [
            json!({ "aud": ["ours"] }),
            json!({ "aud": ["ours", "project"], "azp": "ours" }),
            json!({ "aud": ["project", "ours", 5], "azp": "ours" }),
            json!({ "azp": "ours" }),
        ] {
            assert!(check_claims(&more).is_ok(), "{more}");
        }
        for more in [
            json!({ "aud": ["ours", "project"] }),
            json!({ "aud": ["ours", "project"], "azp": "project" }),
            json!({ "aud": ["ours", "project"], "azp": 5 }),
            json!({ "aud": ["project"], "azp": "ours" }),
            json!({ "aud": [] }),
            json!({ "azp": "another" }),
        ] {
            let Err(InvalidToken::Claim(reason)) = check_claims(&more) else {
                panic!("{more}");
            };
            assert!(reason.contains("ours"), "{reason}");
        }
    }

    #[test]
    fn email_verified_is_read_as_a_boolean_or_a_text() {
        let verified = |value: Value| check_claims(&json!({ "email_verified": value }));
        for (value, is_verified) in [
            (json!(true), Some(true)),
            (json!("true"), Some(true)),
            (json!(false), Some(false)),
            (json!("false"), Some(false)),
            (json!(null), None),
        ] {
            let address = verified(value.clone()).unwrap().address;
            assert_eq!(address.map(|(_, is)| is), is_verified, "{value}");
        }
        for value in [json!(1), json!("yes"), json!({}), json!([true])] {
            assert!(verified(value.clone()).is_err(), "{value}");
        }
    }

    proptest! {
        /// Checks that claims that this module does not read may have values of any type.
        #[test]
        fn any_other_claim_may_be_anything(
            name in "updated_at|amr|acr|locale|name|at_hash|auth_time|address|phone_number\
                |[a-z]{6,9}",
            value in prop_oneof![
                Just(json!(null)), Just(json!("")), Just(json!(5)), Just(json!([
                    1,
                ])), Just(json!({ "a": 1 })),
                "[a-z]{0,9}".prop_map(Value::from),
            ],
        ) {
            let checked = check_claims(&json!({ name: value }));
            prop_assert!(checked.is_ok());
        }

        #[test]
        fn no_token_makes_the_verification_panic(token in ".{0,60}") {
            let document = json!({
                "issuer": "https://a.example", "authorization_endpoint": "https://a.example",
                "token_endpoint": "https://a.example", "jwks_uri": "https://a.example",
            });
            let metadata = ProviderMetadata::read(&document, "https://a.example").unwrap();
            prop_assert!(verify_signature(&token, &metadata).is_err());
        }
    }
}
