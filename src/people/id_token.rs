//! Verifies an ID token (Core 1.0, sections 2 and 3.1.3.7; RFC 7515; RFC 7519).
//!
//! Of the claims only these are read: `iss`, `sub`, `aud`, `azp`, `exp`, `iat`, `nbf`, `nonce`,
//! `email` and `email_verified`. Any other claim may have any type, because providers differ.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use openidconnect::core::CoreJwsSigningAlgorithm;
use openidconnect::{JsonWebKey as _, JsonWebKeyAlgorithm, JwsSigningAlgorithm as _};
use serde_json::Value;

use super::discovery::{ProviderMetadata, is_same_issuer};

/// Tolerated lead of the provider's clock, in seconds.
const AHEAD: f64 = 60.0;
/// Maximum length of a value in a message, in characters.
const LONGEST_SHOWN: usize = 100;

/// The reason why a token is not believed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum InvalidToken {
    /// No known key could have signed it. The provider may have new keys.
    NoKey,
    /// A claim or the signature is wrong, in words. The text has no secret.
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

fn wrong<T>(text: impl Into<String>) -> Result<T, InvalidToken> {
    Err(InvalidToken::Claim(text.into()))
}

/// The values that a token must have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Expected<'a> {
    pub(super) issuer: &'a str,
    pub(super) client_id: &'a str,
    pub(super) nonce: &'a str,
    /// The time, in seconds.
    pub(super) now: i64,
}

/// The claims about a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PersonClaims {
    /// The person's name at the provider.
    pub(super) subject: String,
    /// The mail address and whether the provider has verified it. `None` if the claims do not say
    /// both.
    pub(super) address: Option<(String, bool)>,
    /// The claim that is missing if there is no address.
    pub(super) missing: Option<&'static str>,
}

impl PersonClaims {
    /// Reads the claims about a person, of an ID token or of the userinfo endpoint.
    pub(super) fn read(claims: &Value) -> Result<Self, InvalidToken> {
        let Some(subject) = claims["sub"].as_str().filter(|text| !text.is_empty()) else {
            return wrong(format!("sub is {}; expected a text", shown(&claims["sub"])));
        };
        let email = match &claims["email"] {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            _ => return wrong("email is no text"),
        };
        let is_verified = match &claims["email_verified"] {
            Value::Null => None,
            Value::Bool(is_verified) => Some(*is_verified),
            // Some providers send texts.
            Value::String(text) if text == "true" => Some(true),
            Value::String(text) if text == "false" => Some(false),
            other => {
                return wrong(format!(
                    "email_verified is {}; expected true or false",
                    shown(other)
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

/// Verifies an ID token in its compact form, and returns its claims about the person.
pub(super) fn verify(
    token: &str,
    metadata: &ProviderMetadata,
    expected: Expected<'_>,
) -> Result<PersonClaims, InvalidToken> {
    let claims = signed(token, metadata)?;
    check(&claims, expected)?;
    PersonClaims::read(&claims)
}

/// Verifies the signature of a token with the provider's keys, and returns its payload.
pub(super) fn signed(token: &str, metadata: &ProviderMetadata) -> Result<Value, InvalidToken> {
    let parts: Vec<&str> = token.split('.').collect();
    let [header, payload, signature] = parts[..] else {
        return wrong("it is no signed token");
    };
    let decoded = |part: &str| URL_SAFE_NO_PAD.decode(part.trim_end_matches('=')).ok();
    let object = |part: &str| {
        let value = decoded(part).and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
        value.filter(Value::is_object)
    };
    let (Some(head), Some(claims), Some(bytes)) =
        (object(header), object(payload), decoded(signature))
    else {
        return wrong("it cannot be read");
    };
    if !head["crit"].is_null() {
        return wrong("its header has an extension that must be understood");
    }
    let algorithm = serde_json::from_value(head["alg"].clone()).ok();
    let Some(algorithm) = algorithm.filter(|algorithm| metadata.algorithms.contains(algorithm))
    else {
        return wrong(format!(
            "alg is {}; expected one of those that the provider's metadata names",
            shown(&head["alg"])
        ));
    };
    let message = &token.as_bytes()[..header.len() + 1 + payload.len()];
    let mut has_key = false;
    for key in candidates(metadata, &algorithm, head["kid"].as_str()) {
        has_key = true;
        if key.verify_signature(&algorithm, message, &bytes).is_ok() {
            return Ok(claims);
        }
    }
    if has_key {
        wrong("its signature is not that of the provider's key")
    } else {
        Err(InvalidToken::NoKey)
    }
}

/// Returns the keys that may have signed a token with an algorithm and a key id.
fn candidates<'m>(
    metadata: &'m ProviderMetadata,
    algorithm: &'m CoreJwsSigningAlgorithm,
    id: Option<&'m str>,
) -> impl Iterator<Item = &'m openidconnect::core::CoreJsonWebKey> {
    metadata.keys.iter().filter(move |key| {
        let has_id = match (id, key.key_id()) {
            (Some(id), Some(own)) => own.as_str() == id,
            _ => true,
        };
        let is_for_this = match key.signing_alg() {
            JsonWebKeyAlgorithm::Algorithm(own) => own == algorithm,
            JsonWebKeyAlgorithm::Unspecified => true,
            JsonWebKeyAlgorithm::Unsupported => false,
        };
        has_id
            && is_for_this
            && algorithm.key_type().as_ref() == Some(key.key_type())
            && key
                .key_use()
                .is_none_or(openidconnect::JsonWebKeyUse::allows_signature)
    })
}

/// Checks the claims that say for whom and for when a token is (Core 1.0, 3.1.3.7).
fn check(claims: &Value, expected: Expected<'_>) -> Result<(), InvalidToken> {
    let Expected {
        issuer,
        client_id,
        nonce,
        now,
    } = expected;
    if !claims["iss"]
        .as_str()
        .is_some_and(|own| is_same_issuer(own, issuer))
    {
        let came = shown(&claims["iss"]);
        return wrong(format!("iss is {came}; expected {issuer:?}"));
    }
    let audience = match &claims["aud"] {
        Value::Array(listed) => listed.as_slice(),
        one => std::slice::from_ref(one),
    };
    let party = &claims["azp"];
    if !audience.iter().any(|one| one == client_id) {
        let came = shown(&claims["aud"]);
        return wrong(format!(
            "aud is {came}; expected the client id {client_id:?}"
        ));
    }
    // With other recipients, the token must say that it was made for this one.
    if !(party == client_id || (party.is_null() && audience.len() == 1)) {
        let came = shown(party);
        return wrong(format!(
            "azp is {came}; expected the client id {client_id:?}"
        ));
    }
    #[expect(clippy::cast_precision_loss, reason = "exact up to 2^53")]
    let seconds = now as f64;
    let moment = |name: &str| match &claims[name] {
        Value::Null => Ok(None),
        value => value.as_f64().map(Some).ok_or_else(|| {
            let came = shown(value);
            InvalidToken::Claim(format!("{name} is {came}; expected a number of seconds"))
        }),
    };
    let (Some(expires), Some(issued)) = (moment("exp")?, moment("iat")?) else {
        return wrong("exp or iat is missing");
    };
    if expires <= seconds {
        return wrong(format!(
            "exp is {expires}; it is {now} here, check the clocks"
        ));
    }
    for (name, moment) in [("iat", Some(issued)), ("nbf", moment("nbf")?)] {
        if let Some(moment) = moment.filter(|moment| *moment > seconds + AHEAD) {
            return wrong(format!(
                "{name} is {moment}, more than {AHEAD} s in the future; it is {now} here, check \
                 the clocks"
            ));
        }
    }
    if claims["nonce"] != nonce {
        return wrong("nonce is not that of this sign-in");
    }
    Ok(())
}

/// Returns a claim for the log, shortened.
fn shown(value: &Value) -> String {
    value.to_string().chars().take(LONGEST_SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const EXPECTED: Expected<'static> = Expected {
        issuer: "https://id.example.com",
        client_id: "ours",
        nonce: "n",
        now: 1_000,
    };

    fn claims(more: &Value) -> Value {
        let mut claims = json!({
            "iss": "https://id.example.com", "sub": "ada", "aud": "ours", "exp": 1_300, "iat": 1_000, "nonce": "n",
            "email": "ada@example.com", "email_verified": true,
        });
        for (name, value) in more.as_object().unwrap() {
            claims[name] = value.clone();
        }
        claims
    }

    fn judged(more: &Value) -> Result<PersonClaims, InvalidToken> {
        let claims = claims(more);
        check(&claims, EXPECTED)?;
        PersonClaims::read(&claims)
    }

    #[test]
    fn a_token_for_several_names_the_one_it_was_made_for() {
        for more in [
            json!({ "aud": ["ours"] }),
            json!({ "aud": ["ours", "project"], "azp": "ours" }),
            json!({ "aud": ["project", "ours", 5], "azp": "ours" }),
            json!({ "azp": "ours" }),
        ] {
            assert!(judged(&more).is_ok(), "{more}");
        }
        for more in [
            json!({ "aud": ["ours", "project"] }),
            json!({ "aud": ["ours", "project"], "azp": "project" }),
            json!({ "aud": ["ours", "project"], "azp": 5 }),
            json!({ "aud": ["project"], "azp": "ours" }),
            json!({ "aud": [] }),
            json!({ "azp": "another" }),
        ] {
            let Err(InvalidToken::Claim(reason)) = judged(&more) else {
                panic!("{more}");
            };
            assert!(reason.contains("ours"), "{reason}");
        }
    }

    #[test]
    fn an_address_is_verified_where_that_is_said() {
        let verified = |value: Value| judged(&json!({ "email_verified": value }));
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
        /// A claim that is not read may have any value.
        #[test]
        fn any_other_claim_may_be_anything(
            name in "updated_at|amr|acr|locale|name|at_hash|auth_time|address|phone_number|[a-z]{6,9}",
            value in prop_oneof![
                Just(json!(null)), Just(json!("")), Just(json!(5)), Just(json!([1])), Just(json!({ "a": 1 })),
                "[a-z]{0,9}".prop_map(Value::from),
            ],
        ) {
            let judged = judged(&json!({ name: value }));
            prop_assert!(judged.is_ok());
        }

        #[test]
        fn no_token_makes_it_panic(token in ".{0,60}") {
            let document = json!({
                "issuer": "https://a.example", "authorization_endpoint": "https://a.example",
                "token_endpoint": "https://a.example", "jwks_uri": "https://a.example",
            });
            let metadata = ProviderMetadata::read(&document, "https://a.example").unwrap();
            prop_assert!(signed(&token, &metadata).is_err());
        }
    }
}
