//! Client authentication (RFC 6749, sections 2.3 and 3.2.1): by a secret in the header or in the
//! body. A client without a secret presents its id only.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use engine::access;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use jiff::Timestamp;

use super::client::{Client, ClientId};
use super::parameters::Parameters;
use super::refusal::{Code, OauthRefusal};

/// The client that a request claims to be from, with its credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ClaimedClient {
    /// The client's `client_id`.
    pub(super) client: String,
    /// The hash of the client's secret, if the request has one.
    secret: Option<Vec<u8>>,
}

const UNKNOWN: OauthRefusal = OauthRefusal::new(
    Code::InvalidClient,
    "The client is unknown, or did not authenticate.",
);

impl ClaimedClient {
    /// Reads header and body. A request with two credentials is refused (RFC 6749, section 2.3).
    pub(super) fn read(headers: &HeaderMap, parameters: &Parameters) -> Result<Self, OauthRefusal> {
        let mut all = headers.get_all(AUTHORIZATION).iter();
        let (header, secret) = (all.next(), parameters.get("client_secret"));
        if all.next().is_some() || (header.is_some() && secret.is_some()) {
            return Err(OauthRefusal::request(
                "A client must authenticate in only one way.",
            ));
        }
        let Some(header) = header else {
            let client = parameters.get("client_id").ok_or(OauthRefusal::new(
                Code::InvalidClient,
                "client_id is missing.",
            ))?;
            return Ok(Self {
                client: client.to_owned(),
                secret: secret.map(access::hash),
            });
        };
        let (client, secret) = basic(header.to_str().unwrap_or_default()).ok_or(UNKNOWN)?;
        if parameters
            .get("client_id")
            .is_some_and(|named| named != client)
        {
            return Err(OauthRefusal::request(
                "The client_id in the body is not the one in the Authorization header.",
            ));
        }
        Ok(Self {
            client,
            secret: Some(access::hash(&secret)),
        })
    }

    /// Parses the `client_id` of the request.
    pub(super) fn id(&self) -> Result<ClientId, OauthRefusal> {
        ClientId::parse(&self.client).ok_or(UNKNOWN)
    }

    /// Returns the client that was found, if its credentials are right. A confidential client must
    /// present its secret. A public client must present none.
    pub(super) fn verify(
        &self,
        found: Option<Client>,
        now: Timestamp,
    ) -> Result<Client, OauthRefusal> {
        let client = found.ok_or(UNKNOWN)?;
        let is_it = match &self.secret {
            Some(hash) => client.has_secret(hash, now),
            None => !client.is_confidential(),
        };
        if is_it { Ok(client) } else { Err(UNKNOWN) }
    }
}

/// Parses id and secret of HTTP Basic; each is form-encoded (RFC 6749, section 2.3.1 and appendix
/// B).
fn basic(header: &str) -> Option<(String, String)> {
    let (scheme, encoded) = header.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let text = String::from_utf8(BASE64_STANDARD.decode(encoded.trim()).ok()?).ok()?;
    let (client, secret) = text.split_once(':')?;
    Some((decoded(client)?, decoded(secret)?))
}

/// Decodes one form value. Separators in the text are part of the value.
fn decoded(text: &str) -> Option<String> {
    let whole = text.replace('&', "%26").replace('=', "%3D");
    let (value, _) = form_urlencoded::parse(whole.as_bytes()).next()?;
    (!value.contains(|letter: char| letter.is_control() || letter == char::REPLACEMENT_CHARACTER))
        .then(|| value.into_owned())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    fn read(header: Option<&str>, query: &str) -> Result<ClaimedClient, OauthRefusal> {
        let headers = header.map(|header| (AUTHORIZATION, HeaderValue::from_str(header).unwrap()));
        ClaimedClient::read(
            &headers.into_iter().collect(),
            &Parameters::of_query(Some(query)),
        )
    }

    fn header(text: &str) -> String {
        format!("Basic {}", BASE64_STANDARD.encode(text))
    }

    #[test]
    fn a_client_authenticates_by_a_single_method() {
        let shown = |client: &str, secret: Option<&str>| {
            Ok(ClaimedClient {
                client: client.into(),
                secret: secret.map(access::hash),
            })
        };
        assert_eq!(read(None, "client_id=a"), shown("a", None));
        assert_eq!(
            read(None, "client_id=a&client_secret=s%2B"),
            shown("a", Some("s+"))
        );
        assert_eq!(read(Some(&header("a:s")), ""), shown("a", Some("s")));
        assert_eq!(
            read(Some(&header("a:s")), "client_id=a"),
            shown("a", Some("s"))
        );
        assert_eq!(
            read(Some(&header("https%3A%2F%2Fx.example%2Fc:p%25q+r%3As")), ""),
            shown("https://x.example/c", Some("p%q r:s"))
        );
        assert_eq!(
            read(Some(&header("a:b:c=d&e")), ""),
            shown("a", Some("b:c=d&e"))
        );
        for (header, query, code) in [
            (None, "", Code::InvalidClient),
            (None, "client_secret=s", Code::InvalidClient),
            (
                Some(header("a:s")),
                "client_id=a&client_secret=s",
                Code::InvalidRequest,
            ),
            (Some(header("a:s")), "client_id=b", Code::InvalidRequest),
            (Some("Bearer x".into()), "client_id=a", Code::InvalidClient),
            (Some("Basic".into()), "client_id=a", Code::InvalidClient),
            (Some("Basic !".into()), "client_id=a", Code::InvalidClient),
            (Some(header("a")), "client_id=a", Code::InvalidClient),
            (Some(header(":")), "", Code::InvalidClient),
            (Some(header("a:%00")), "", Code::InvalidClient),
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
        fn form_encoded_basic_credentials_read_back(client in "[^\\p{Cc}\u{fffd}]{1,20}", secret in "[^\\p{Cc}\u{fffd}]{1,20}") {
            let encoded = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
            let header = header(&format!("{}:{}", encoded(&client), encoded(&secret)));
            prop_assert_eq!(basic(&header), Some((client, secret)));
        }

        #[test]
        fn parsing_an_authorization_header_never_panics(text in ".{0,60}", bytes in any::<Vec<u8>>()) {
            basic(&text);
            basic(&format!("basic {}", BASE64_STANDARD.encode(bytes)));
        }
    }
}
