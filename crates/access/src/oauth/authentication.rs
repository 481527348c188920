//! Client authentication (RFC 6749, sections 2.3 and 3.2.1): a client sends its secret in the
//! `Authorization` header or in the body. A client without a secret sends only its id.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use engine::access;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use jiff::Timestamp;

use super::client::{ClientId, OauthClient};
use super::parameters::OauthParameters;
use super::refusal::{OauthError, OauthErrorCode};

/// The client id and the secret that a request contains. They have not been verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ClaimedClient {
    pub(super) client: String,
    /// The hash of the client's secret, if the request has one.
    secret: Option<Vec<u8>>,
}

/// The error for an unknown client and for wrong credentials. The error is the same for both, so
/// that it does not reveal which clients exist.
const UNKNOWN: OauthError = OauthError::new(
    OauthErrorCode::InvalidClient,
    "The client is unknown, or did not authenticate.",
);

impl ClaimedClient {
    /// Reads the client's credentials from the header and the body. Returns an error if both
    /// contain credentials (RFC 6749, section 2.3).
    pub(super) fn read(
        headers: &HeaderMap,
        parameters: &OauthParameters,
    ) -> Result<Self, OauthError> {
        let mut headers_iter = headers.get_all(AUTHORIZATION).iter();
        let (header, secret) = (headers_iter.next(), parameters.get("client_secret"));
        if headers_iter.next().is_some() || (header.is_some() && secret.is_some()) {
            return Err(OauthError::invalid_request(
                "A client must authenticate in only one way.",
            ));
        }
        let Some(header) = header else {
            let client = parameters.get("client_id").ok_or(OauthError::new(
                OauthErrorCode::InvalidClient,
                "client_id is missing.",
            ))?;
            return Ok(Self {
                client: client.to_owned(),
                secret: secret.map(access::hash),
            });
        };
        let (client, secret) = basic(header.to_str().unwrap_or_default()).ok_or(UNKNOWN)?;
        if parameters.get("client_id").is_some_and(|id| id != client) {
            return Err(OauthError::invalid_request(
                "The client_id in the body is not the one in the Authorization header.",
            ));
        }
        Ok(Self {
            client,
            secret: Some(access::hash(&secret)),
        })
    }

    /// Parses the `client_id` of the request. Does not check whether the client exists.
    pub(super) fn id(&self) -> Result<ClientId, OauthError> {
        ClientId::parse(&self.client).ok_or(UNKNOWN)
    }

    /// Verifies the credentials of the request. `client` is the client in the database. A
    /// confidential client must send its secret. A public client must not send a secret.
    pub(super) fn verify(
        &self,
        client: Option<OauthClient>,
        now: Timestamp,
    ) -> Result<OauthClient, OauthError> {
        let client = client.ok_or(UNKNOWN)?;
        let is_authenticated = match &self.secret {
            Some(hash) => client.has_secret(hash, now),
            None => !client.is_confidential(),
        };
        if is_authenticated {
            Ok(client)
        } else {
            Err(UNKNOWN)
        }
    }
}

/// Parses the client id and the secret of HTTP Basic. Each is form-encoded (RFC 6749, section 2.3.1
/// and appendix B).
fn basic(header: &str) -> Option<(String, String)> {
    let (scheme, encoded) = header.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let text = String::from_utf8(BASE64_STANDARD.decode(encoded.trim()).ok()?).ok()?;
    let (client, secret) = text.split_once(':')?;
    Some((decode_form_value(client)?, decode_form_value(secret)?))
}

/// Decodes one value as form data. If the text contains `&` or `=`, they are part of the value.
fn decode_form_value(text: &str) -> Option<String> {
    let escaped = text.replace('&', "%26").replace('=', "%3D");
    let (value, _) = form_urlencoded::parse(escaped.as_bytes()).next()?;
    (!value.contains(|c: char| c.is_control() || c == char::REPLACEMENT_CHARACTER))
        .then(|| value.into_owned())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    fn read(header: Option<&str>, query: &str) -> Result<ClaimedClient, OauthError> {
        let headers = header.map(|header| (AUTHORIZATION, HeaderValue::from_str(header).unwrap()));
        ClaimedClient::read(
            &headers.into_iter().collect(),
            &OauthParameters::from_query(Some(query)),
        )
    }

    fn header(text: &str) -> String {
        format!("Basic {}", BASE64_STANDARD.encode(text))
    }

    #[test]
    fn a_client_authenticates_by_a_single_method() {
        let expected = |client: &str, secret: Option<&str>| {
            Ok(ClaimedClient {
                client: client.into(),
                secret: secret.map(access::hash),
            })
        };
        assert_eq!(read(None, "client_id=a"), expected("a", None));
        assert_eq!(
            read(None, "client_id=a&client_secret=s%2B"),
            expected("a", Some("s+"))
        );
        assert_eq!(read(Some(&header("a:s")), ""), expected("a", Some("s")));
        assert_eq!(
            read(Some(&header("a:s")), "client_id=a"),
            expected("a", Some("s"))
        );
        assert_eq!(
            read(Some(&header("https%3A%2F%2Fx.example%2Fc:p%25q+r%3As")), ""),
            expected("https://x.example/c", Some("p%q r:s"))
        );
        assert_eq!(
            read(Some(&header("a:b:c=d&e")), ""),
            expected("a", Some("b:c=d&e"))
        );
        for (header, query, code) in [
            (None, "", OauthErrorCode::InvalidClient),
            (None, "client_secret=s", OauthErrorCode::InvalidClient),
            (
                Some(header("a:s")),
                "client_id=a&client_secret=s",
                OauthErrorCode::InvalidRequest,
            ),
            (
                Some(header("a:s")),
                "client_id=b",
                OauthErrorCode::InvalidRequest,
            ),
            (
                Some("Bearer x".into()),
                "client_id=a",
                OauthErrorCode::InvalidClient,
            ),
            (
                Some("Basic".into()),
                "client_id=a",
                OauthErrorCode::InvalidClient,
            ),
            (
                Some("Basic !".into()),
                "client_id=a",
                OauthErrorCode::InvalidClient,
            ),
            (
                Some(header("a")),
                "client_id=a",
                OauthErrorCode::InvalidClient,
            ),
            (Some(header(":")), "", OauthErrorCode::InvalidClient),
            (Some(header("a:%00")), "", OauthErrorCode::InvalidClient),
        ] {
            assert_eq!(
                read(header.as_deref(), query).unwrap_err().code,
                code,
                "{header:?} {query}"
            );
        }
    }

    proptest! {
        #[test]
        fn form_encoded_basic_credentials_read_back(
            client in "[^\\p{Cc}\u{fffd}]{1,20}",
            secret in "[^\\p{Cc}\u{fffd}]{1,20}",
        ) {
            let encoded =
                |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
            let header = header(&format!("{}:{}", encoded(&client), encoded(&secret)));
            prop_assert_eq!(basic(&header), Some((client, secret)));
        }

        #[test]
        fn parsing_an_authorization_header_never_panics(
            text in ".{0,60}",
            bytes in any::<Vec<u8>>(),
        ) {
            basic(&text);
            basic(&format!("basic {}", BASE64_STANDARD.encode(bytes)));
        }
    }
}
