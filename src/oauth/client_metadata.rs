//! What a client says of itself, when it registers and in its metadata document (RFC 7591, section 2).

use engine::format::is_redirect_uri;
use serde::Deserialize;

use super::refusal::{Code, Refusal};
use crate::platform::OauthApp;

/// Addresses at the most.
pub(super) const MOST_ADDRESSES: usize = 10;
/// Characters of a name at the most.
const LONGEST_NAME: usize = 200;

/// What of a client's metadata means something here; the rest is passed over (RFC 7591, section 2).
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Metadata {
    /// In a metadata document, the address of the document itself.
    pub(super) client_id: Option<String>,
    client_name: Option<String>,
    redirect_uris: Vec<String>,
    token_endpoint_auth_method: Option<String>,
    grant_types: Option<Vec<String>>,
    response_types: Option<Vec<String>>,
}

/// Whether a character has what follows it written in another direction (Unicode Standard Annex 9, section 2): a name with such a one
/// could make what stands around it read as something else.
const fn turns(letter: char) -> bool {
    matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// How a client shows who it is (RFC 7591, section 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::AsRefStr, strum::EnumString)]
#[strum(serialize_all = "snake_case")]
pub(super) enum Method {
    /// It has no secret.
    None,
    /// By a secret in the header.
    ClientSecretBasic,
    /// By a secret in the body.
    ClientSecretPost,
}

const fn unfit(description: &'static str) -> Refusal {
    Refusal::new(Code::InvalidClientMetadata, description)
}

impl Metadata {
    /// Reads a JSON object.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, Refusal> {
        let wrong = unfit("The metadata must be a JSON object with fields of the right types.");
        // A list of values would be read as the fields in their order.
        if bytes.trim_ascii_start().first() != Some(&b'{') {
            return Err(wrong);
        }
        serde_json::from_slice(bytes).map_err(|_| wrong)
    }

    /// How the client shows who it is; by a secret in the header where it does not say (RFC 7591, section 2).
    pub(super) fn method(&self) -> Result<Method, Refusal> {
        let Some(method) = &self.token_endpoint_auth_method else { return Ok(Method::ClientSecretBasic) };
        method.parse().map_err(|_| unfit("token_endpoint_auth_method must be none, client_secret_basic or client_secret_post."))
    }

    /// Whether the client shows who it is by nothing; one that is described by a document can have no secret, so that it need not say
    /// so (draft client-id-metadata-document, section 4.1).
    pub(super) fn is_public_document(&self) -> bool {
        self.token_endpoint_auth_method.as_deref().is_none_or(|method| method == Method::None.as_ref())
    }

    /// The app, each address of which must be one that people may be sent back to.
    pub(super) fn strictly(self) -> Result<OauthApp, Refusal> {
        if !self.redirect_uris.iter().all(|uri| is_redirect_uri(uri)) {
            return Err(Refusal::new(
                Code::InvalidRedirectUri,
                "Each redirect URI must be https, http on a loopback address, or of a private-use scheme with a dot, without a fragment.",
            ));
        }
        self.leniently()
    }

    /// The app, with those of its addresses that people may be sent back to: a document is written for other servers as well.
    pub(super) fn leniently(mut self) -> Result<OauthApp, Refusal> {
        if self.redirect_uris.len() > MOST_ADDRESSES {
            return Err(Refusal::new(Code::InvalidRedirectUri, "There are more than 10 redirect URIs."));
        }
        self.redirect_uris.retain(|uri| is_redirect_uri(uri));
        if self.redirect_uris.is_empty() {
            return Err(Refusal::new(Code::InvalidRedirectUri, "There is no redirect URI that can be used."));
        }
        let lacks = |list: &Option<Vec<String>>, wanted| list.as_ref().is_some_and(|list| !list.iter().any(|item| item == wanted));
        if lacks(&self.grant_types, "authorization_code") || lacks(&self.response_types, "code") {
            return Err(unfit("There is the grant type authorization_code alone, with the response type code."));
        }
        let name = self.client_name.unwrap_or_default();
        if name.chars().count() > LONGEST_NAME || name.contains(|letter: char| letter.is_control() || turns(letter)) {
            return Err(unfit("client_name has at most 200 characters, none of them a control character or a change of direction."));
        }
        Ok(OauthApp { name, redirect_uris: self.redirect_uris, fetched_at: None })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn read(value: &Value) -> Metadata {
        Metadata::read(value.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn what_a_client_says_is_read_and_the_rest_passed_over() {
        let metadata = read(&json!({
            "client_name": "Notes", "redirect_uris": ["https://a.example/cb", "com.example.app:/cb"], "logo_uri": 5, "jwks": {},
            "grant_types": ["authorization_code", "implicit"], "response_types": ["code"], "token_endpoint_auth_method": "none",
        }));
        assert_eq!(metadata.method().unwrap(), Method::None);
        let app = metadata.strictly().unwrap();
        assert_eq!((app.name.as_str(), app.redirect_uris.len()), ("Notes", 2));
        assert_eq!(read(&json!({})).method().unwrap(), Method::ClientSecretBasic);
    }

    #[test]
    fn what_cannot_be_used_is_refused() {
        let uri = "https://a.example/cb";
        for (value, code) in [
            (json!({}), Code::InvalidRedirectUri),
            (json!({ "redirect_uris": [] }), Code::InvalidRedirectUri),
            (json!({ "redirect_uris": [uri, "http://a.example/cb"] }), Code::InvalidRedirectUri),
            (json!({ "redirect_uris": [uri, "javascript:alert(1)"] }), Code::InvalidRedirectUri),
            (json!({ "redirect_uris": ["https://a.example/cb#x"] }), Code::InvalidRedirectUri),
            (json!({ "redirect_uris": ["cursor://x/cb"] }), Code::InvalidRedirectUri),
            (json!({ "redirect_uris": vec![uri; 11] }), Code::InvalidRedirectUri),
            (json!({ "redirect_uris": [format!("https://a.example/{}", "a".repeat(2_000))] }), Code::InvalidRedirectUri),
            (json!({ "redirect_uris": [uri], "client_name": "a".repeat(201) }), Code::InvalidClientMetadata),
            (json!({ "redirect_uris": [uri], "client_name": "a\u{0}" }), Code::InvalidClientMetadata),
            (json!({ "redirect_uris": [uri], "client_name": "a\u{202e}b" }), Code::InvalidClientMetadata),
            (json!({ "redirect_uris": [uri], "grant_types": ["implicit"] }), Code::InvalidClientMetadata),
            (json!({ "redirect_uris": [uri], "response_types": ["token"] }), Code::InvalidClientMetadata),
        ] {
            assert_eq!(read(&value).strictly().unwrap_err().code, code, "{value}");
        }
        for method in ["private_key_jwt", "client_secret_jwt", "", "NONE"] {
            assert!(read(&json!({ "token_endpoint_auth_method": method })).method().is_err(), "{method}");
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
            assert_eq!(Metadata::read(text.as_bytes()).unwrap_err().code, Code::InvalidClientMetadata, "{text}");
        }
    }

    #[test]
    fn a_document_may_name_what_is_of_no_use_here_and_no_secret() {
        let metadata = read(&json!({ "redirect_uris": ["cursor://x/cb", "https://a.example/cb"] }));
        assert!(metadata.is_public_document());
        assert_eq!(metadata.leniently().unwrap().redirect_uris, ["https://a.example/cb"]);
        assert!(read(&json!({ "redirect_uris": ["cursor://x/cb"] })).leniently().is_err());
        for method in ["private_key_jwt", "client_secret_basic"] {
            assert!(!read(&json!({ "token_endpoint_auth_method": method })).is_public_document());
        }
    }

    proptest! {
        #[test]
        fn no_body_makes_it_panic(bytes: Vec<u8>, text in "[\\[{\"a:,}\\]]{0,40}") {
            let _ = Metadata::read(&bytes);
            let _ = Metadata::read(text.as_bytes());
        }
    }
}
