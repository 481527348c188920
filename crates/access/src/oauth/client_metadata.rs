//! Metadata of a client, from its registration or its metadata document (RFC 7591, section 2).

use engine::format::is_redirect_uri;
use features::platform::OauthApp;
use serde::Deserialize;

use super::refusal::{OauthError, OauthErrorCode};

/// Maximum number of a client's redirect addresses.
pub(super) const MAX_REDIRECT_ADDRESSES: usize = 10;
/// Maximum length of a client's name, in characters.
const MAX_NAME_LENGTH: usize = 200;

/// The fields of a client's metadata that this server uses. Other fields are ignored (RFC 7591,
/// section 2).
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct ClientMetadata {
    /// In a metadata document, this is the address of the document. Not used in a registration.
    pub(super) client_id: Option<String>,
    client_name: Option<String>,
    redirect_uris: Vec<String>,
    token_endpoint_auth_method: Option<String>,
    grant_types: Option<Vec<String>>,
    response_types: Option<Vec<String>>,
}

/// Returns whether a character changes the direction of the text after it (Unicode Standard Annex
/// 9, section 2). A name with such a character could change the appearance of the text after the
/// name on the consent page.
const fn changes_direction(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The method by which a client authenticates (RFC 7591, section 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::AsRefStr, strum::EnumString)]
#[strum(serialize_all = "snake_case")]
pub(super) enum ClientAuthMethod {
    /// No authentication; the client has no secret.
    None,
    /// The client sends its secret in the `Authorization` header.
    ClientSecretBasic,
    /// The client sends its secret in the request body.
    ClientSecretPost,
}

const fn invalid_metadata(description: &'static str) -> OauthError {
    OauthError::new(OauthErrorCode::InvalidClientMetadata, description)
}

impl ClientMetadata {
    /// Parses a client's metadata, which must be a JSON object.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, OauthError> {
        let error =
            invalid_metadata("The metadata must be a JSON object with fields of the right types.");
        // Serde would also accept an array that has the values of the fields in their order. So
        // check for an object.
        if bytes.trim_ascii_start().first() != Some(&b'{') {
            return Err(error);
        }
        serde_json::from_slice(bytes).map_err(|_| error)
    }

    /// Returns the client's authentication method. The default is a secret in the `Authorization`
    /// header (RFC 7591, section 2).
    pub(super) fn method(&self) -> Result<ClientAuthMethod, OauthError> {
        let Some(method) = &self.token_endpoint_auth_method else {
            return Ok(ClientAuthMethod::ClientSecretBasic);
        };
        method.parse().map_err(|_| {
            invalid_metadata(
                "token_endpoint_auth_method must be none, client_secret_basic or \
                    client_secret_post.",
            )
        })
    }

    /// Returns whether the authentication method of a metadata document is `none` or absent. A
    /// client with a document has no secret, so the document may omit the method (draft
    /// client-id-metadata-document, section 4.1).
    pub(super) fn is_public_document(&self) -> bool {
        self.token_endpoint_auth_method
            .as_deref()
            .is_none_or(|method| method == ClientAuthMethod::None.as_ref())
    }

    /// Validates the metadata with which an app registers itself. Every redirect address must be
    /// valid.
    pub(super) fn into_registered_app(self) -> Result<OauthApp, OauthError> {
        if !self.redirect_uris.iter().all(|uri| is_redirect_uri(uri)) {
            return Err(OauthError::new(
                OauthErrorCode::InvalidRedirectUri,
                "Each redirect URI must be https, http on a loopback address, or of an app's own \
                    scheme (com.example.app:/callback, or app://host.example/callback), without a \
                    fragment.",
            ));
        }
        self.into_document_app()
    }

    /// Validates the content of a metadata document. Omits invalid redirect addresses, because an
    /// app writes the document for other servers as well, which may accept them.
    pub(super) fn into_document_app(mut self) -> Result<OauthApp, OauthError> {
        if self.redirect_uris.len() > MAX_REDIRECT_ADDRESSES {
            return Err(OauthError::new(
                OauthErrorCode::InvalidRedirectUri,
                "redirect_uris must have at most 10 items.",
            ));
        }
        self.redirect_uris.retain(|uri| is_redirect_uri(uri));
        if self.redirect_uris.is_empty() {
            return Err(OauthError::new(
                OauthErrorCode::InvalidRedirectUri,
                "redirect_uris contains no usable redirect URI.",
            ));
        }
        let lacks = |list: &Option<Vec<String>>, value| {
            list.as_ref()
                .is_some_and(|list| !list.iter().any(|item| item == value))
        };
        if lacks(&self.grant_types, "authorization_code") || lacks(&self.response_types, "code") {
            return Err(invalid_metadata(
                "grant_types must contain authorization_code, and response_types must contain \
                    code.",
            ));
        }
        let name = self.client_name.unwrap_or_default();
        if name.chars().count() > MAX_NAME_LENGTH
            || name.contains(|c: char| c.is_control() || changes_direction(c))
        {
            return Err(invalid_metadata(
                "client_name must have at most 200 characters, without control characters or \
                    changes of text direction.",
            ));
        }
        Ok(OauthApp {
            name,
            redirect_uris: self.redirect_uris,
            fetched_at: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn read(value: &Value) -> ClientMetadata {
        ClientMetadata::read(value.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn known_metadata_is_read_and_unknown_metadata_is_ignored() {
        let metadata = read(&json!({
            "client_name": "Notes",
            "redirect_uris": ["https://a.example/cb", "com.example.app:/cb"],
            "logo_uri": 5,
            "jwks": {},
            "grant_types": ["authorization_code", "implicit"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
        }));
        assert_eq!(metadata.method().unwrap(), ClientAuthMethod::None);
        let app = metadata.into_registered_app().unwrap();
        assert_eq!((app.name.as_str(), app.redirect_uris.len()), ("Notes", 2));
        assert_eq!(
            read(&json!({})).method().unwrap(),
            ClientAuthMethod::ClientSecretBasic
        );
    }

    #[test]
    fn unusable_metadata_is_refused() {
        let uri = "https://a.example/cb";
        for (value, code) in [
            (json!({}), OauthErrorCode::InvalidRedirectUri),
            (
                json!({ "redirect_uris": [] }),
                OauthErrorCode::InvalidRedirectUri,
            ),
            (
                json!({ "redirect_uris": [uri, "http://a.example/cb"] }),
                OauthErrorCode::InvalidRedirectUri,
            ),
            (
                json!({ "redirect_uris": [uri, "javascript:alert(1)"] }),
                OauthErrorCode::InvalidRedirectUri,
            ),
            (
                json!({ "redirect_uris": ["https://a.example/cb#x"] }),
                OauthErrorCode::InvalidRedirectUri,
            ),
            (
                json!({ "redirect_uris": ["cursor://x/cb"] }),
                OauthErrorCode::InvalidRedirectUri,
            ),
            (
                json!({ "redirect_uris": vec![uri; 11] }),
                OauthErrorCode::InvalidRedirectUri,
            ),
            (
                json!({ "redirect_uris": [format!("https://a.example/{}", "a".repeat(2_000))] }),
                OauthErrorCode::InvalidRedirectUri,
            ),
            (
                json!({ "redirect_uris": [uri], "client_name": "a".repeat(201) }),
                OauthErrorCode::InvalidClientMetadata,
            ),
            (
                json!({ "redirect_uris": [uri], "client_name": "a\u{0}" }),
                OauthErrorCode::InvalidClientMetadata,
            ),
            (
                json!({ "redirect_uris": [uri], "client_name": "a\u{202e}b" }),
                OauthErrorCode::InvalidClientMetadata,
            ),
            (
                json!({ "redirect_uris": [uri], "grant_types": ["implicit"] }),
                OauthErrorCode::InvalidClientMetadata,
            ),
            (
                json!({ "redirect_uris": [uri], "response_types": ["token"] }),
                OauthErrorCode::InvalidClientMetadata,
            ),
        ] {
            assert_eq!(
                read(&value).into_registered_app().unwrap_err().code,
                code,
                "{value}"
            );
        }
        for method in ["private_key_jwt", "client_secret_jwt", "", "NONE"] {
            assert!(
                read(&json!({ "token_endpoint_auth_method": method }))
                    .method()
                    .is_err(),
                "{method}"
            );
        }
        for text in [
            "",
            "[]",
            "null",
            "{",
            r#"{"redirect_uris":"x"}"#,
            r#"{"client_name":5}"#,
            r#"{"client_name":"a","client_name":"b"}"#,
            "\u{feff}{}",
        ] {
            assert_eq!(
                ClientMetadata::read(text.as_bytes()).unwrap_err().code,
                OauthErrorCode::InvalidClientMetadata,
                "{text}"
            );
        }
    }

    #[test]
    fn a_document_may_name_unusable_redirects_but_no_secret() {
        let metadata = read(&json!({ "redirect_uris": ["cursor://x/cb", "https://a.example/cb"] }));
        assert!(metadata.is_public_document());
        assert_eq!(
            metadata.into_document_app().unwrap().redirect_uris,
            ["https://a.example/cb"]
        );
        assert!(
            read(&json!({ "redirect_uris": ["cursor://x/cb"] }))
                .into_document_app()
                .is_err()
        );
        for method in ["private_key_jwt", "client_secret_basic"] {
            assert!(!read(&json!({ "token_endpoint_auth_method": method })).is_public_document());
        }
    }

    proptest! {
        #[test]
        fn parsing_client_metadata_never_panics(bytes: Vec<u8>, text in "[\\[{\"a:,}\\]]{0,40}") {
            let _ = ClientMetadata::read(&bytes);
            let _ = ClientMetadata::read(text.as_bytes());
        }
    }
}
