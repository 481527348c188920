//! The metadata and keys of an OpenID provider (Discovery 1.0, section 3; RFC 7517).
//!
//! Providers publish much more than this service uses, and not always in the types of the
//! specification. This module validates only the entries that it uses.

use serde_json::Value;
use url::Url;

use super::signing_key::{Algorithm, SigningKey};

/// The entries of a provider's metadata that this service uses.
#[derive(Debug)]
pub(super) struct ProviderMetadata {
    /// The authorization endpoint, at which a browser signs in.
    pub(super) authorization: Url,
    /// The token endpoint, which exchanges a code for tokens.
    pub(super) token: Url,
    /// The endpoint that returns claims about the person, such as the mail address. This service
    /// needs it if the ID token lacks these claims.
    pub(super) userinfo: Option<Url>,
    /// The URL from which this service fetches the provider's signing keys.
    pub(super) jwks: Url,
    /// Whether the provider accepts the client secret only in the request body, not in the
    /// `Authorization` header.
    pub(super) is_secret_in_body: bool,
    /// The signature algorithms that this service accepts in ID tokens of the provider.
    pub(super) algorithms: Vec<Algorithm>,
    /// The provider's signing keys; empty until they are fetched.
    pub(super) keys: Vec<SigningKey>,
}

impl ProviderMetadata {
    /// Reads a discovery document. The document must name `issuer` as its issuer (Discovery 1.0,
    /// 4.3).
    ///
    /// The error names the entry, the expected value and the received value.
    pub(super) fn read(document: &Value, issuer: &str) -> Result<Self, String> {
        let published_issuer = document["issuer"].as_str();
        if !published_issuer.is_some_and(|published| is_same_issuer(published, issuer)) {
            return Err(format!(
                "issuer of its metadata is {}; expected {issuer:?}, as --oidc-issuer says",
                document["issuer"]
            ));
        }
        let texts = |name: &str| -> Option<Vec<&str>> {
            let items = document[name].as_array()?;
            Some(items.iter().filter_map(Value::as_str).collect())
        };
        let methods = texts("token_endpoint_auth_methods_supported");
        let supports = |method| {
            methods
                .as_ref()
                .is_none_or(|methods| methods.contains(&method))
        };
        Ok(Self {
            authorization: required(document, "authorization_endpoint")?,
            token: required(document, "token_endpoint")?,
            userinfo: optional(document, "userinfo_endpoint")?,
            jwks: required(document, "jwks_uri")?,
            is_secret_in_body: !supports("client_secret_basic") && supports("client_secret_post"),
            algorithms: algorithms(texts("id_token_signing_alg_values_supported")),
            keys: Vec::new(),
        })
    }
}

/// Returns whether two issuers are equal. Ignores the case of scheme and host.
pub(super) fn is_same_issuer(one: &str, other: &str) -> bool {
    if one == other {
        return true;
    }
    let split = |issuer: &str| {
        let url = Url::parse(issuer).ok()?;
        let rest = issuer.split_once("://")?.1;
        let path = rest
            .find('/')
            .map_or("", |offset| &rest[offset..])
            .to_owned();
        Some((url.origin(), path))
    };
    split(one).is_some_and(|one| Some(one) == split(other))
}

fn required(document: &Value, name: &str) -> Result<Url, String> {
    optional(document, name)?.ok_or_else(|| format!("its metadata has no {name}"))
}

/// Reads the URL in the field `name` of the provider's metadata. Returns `None` if the field is
/// absent, null or empty.
fn optional(document: &Value, name: &str) -> Result<Option<Url>, String> {
    match &document[name] {
        Value::Null => Ok(None),
        Value::String(text) if text.is_empty() => Ok(None),
        value => {
            let url = value.as_str().and_then(|text| Url::parse(text).ok());
            let error = || format!("{name} of its metadata is {value}; expected an address");
            url.map(Some).ok_or_else(error)
        }
    }
}

/// Returns those of the named signature algorithms that this service supports. If the provider
/// names no algorithms, the default is RS256, which every provider supports (Core 1.0, 3.1.3.7).
fn algorithms(names: Option<Vec<&str>>) -> Vec<Algorithm> {
    let names = names.unwrap_or_else(|| vec!["RS256"]);
    names
        .into_iter()
        .filter_map(|name| name.parse().ok())
        .collect()
}

/// Reads the keys of a key set. Omits each key of a type that this service does not support (RFC
/// 7517, section 5). Returns an error if the document is not a key set.
pub(super) fn keys(document: &Value) -> Result<Vec<SigningKey>, String> {
    let items = match &document["keys"] {
        Value::Null if document.is_object() => return Ok(Vec::new()),
        Value::Array(items) => items,
        _ => return Err("its keys are not a set of keys".into()),
    };
    Ok(items.iter().filter_map(SigningKey::read).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ISSUER: &str = "https://id.example.com/realm";

    fn document(more: &Value) -> Value {
        let mut document = json!({
            "issuer": ISSUER,
            "authorization_endpoint": "https://id.example.com/authorize",
            "token_endpoint": "https://id.example.com/token",
            "jwks_uri": "https://id.example.com/keys",
        });
        for (name, value) in more.as_object().unwrap() {
            document[name] = value.clone();
        }
        document
    }

    #[test]
    fn only_used_entries_are_validated() {
        for more in [
            json!({ "op_tos_uri": "", "op_policy_uri": 5, "service_documentation": {} }),
            json!({ "response_types_supported": "code", "subject_types_supported": null }),
            json!({ "scopes_supported": [1], "claims_supported": {}, "acr_values_supported": 1 }),
            json!({ "registration_endpoint": "", "end_session_endpoint": "no address" }),
            json!({ "userinfo_endpoint": "" }),
            json!({ "token_endpoint_auth_methods_supported": [5, "client_secret_post"] }),
            json!({ "id_token_signing_alg_values_supported": ["RS256", 5, "XY99"] }),
            json!({ "issuer": "HTTPS://ID.example.com/realm" }),
        ] {
            let metadata = ProviderMetadata::read(&document(&more), ISSUER);
            assert!(metadata.is_ok(), "{more}: {metadata:?}");
        }
        for (more, name) in [
            (json!({ "issuer": "https://id.example.com" }), "issuer"),
            (json!({ "issuer": null }), "issuer"),
            (json!({ "token_endpoint": "" }), "token_endpoint"),
            (json!({ "jwks_uri": 5 }), "jwks_uri"),
            (
                json!({ "authorization_endpoint": "/authorize" }),
                "authorization_endpoint",
            ),
            (
                json!({ "userinfo_endpoint": "no address" }),
                "userinfo_endpoint",
            ),
        ] {
            let error = ProviderMetadata::read(&document(&more), ISSUER).unwrap_err();
            assert!(error.contains(name), "{more}: {error}");
        }
    }

    #[test]
    fn shared_and_missing_signatures_are_not_accepted() {
        let of = |names: Value| {
            let more = json!({ "id_token_signing_alg_values_supported": names });
            ProviderMetadata::read(&document(&more), ISSUER)
                .unwrap()
                .algorithms
        };
        assert!(of(json!(["none", "HS256", "HS512"])).is_empty());
        assert_eq!(of(json!(["ES256", "none"])).len(), 1);
        assert_eq!(of(json!(null)).len(), 1);
        assert_eq!(of(json!("RS256")).len(), 1);
    }

    #[test]
    fn an_unsupported_key_is_omitted() {
        let supported = json!({
            "kty": "OKP",
            "crv": "Ed25519",
            "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
        });
        let set = json!({ "keys": [{ "kty": "XYZ" }, 5, supported, { "kty": 1 }] });
        assert_eq!(keys(&set).unwrap().len(), 1);
        assert_eq!(keys(&json!({})).unwrap().len(), 0);
        for invalid in [json!([]), json!({ "keys": 5 }), json!("x")] {
            assert!(keys(&invalid).is_err(), "{invalid}");
        }
    }
}
