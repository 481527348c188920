//! HTML forms of the pages for members: parsing, and protection against cross-site request forgery
//! (rules: members#signing-in, 5).
//!
//! Each form has a token in a hidden field. The server derives the token from a secret in a cookie
//! of the browser, by a one-way function. So the server stores nothing, and only a page for this
//! browser can contain the token.

use std::time::Duration;

use axum::body::Body;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::digest::Key;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http_body_util::{BodyExt as _, Limited};
use sha2::{Digest as _, Sha256};

/// Time limit for a client to send a form.
const DEADLINE: Duration = Duration::from_secs(30);
/// Maximum size of a form: 64 KiB.
const LIMIT: usize = 64 << 10;
/// Maximum number of fields of a form.
const MAX_FIELDS: usize = 200;

/// Derives a token from a secret for a purpose. The token reveals neither the secret nor the token
/// for another purpose.
pub(crate) fn derive_token(secret: &str, purpose: &str) -> String {
    URL_SAFE_NO_PAD.encode(mac(secret, purpose).finalize().into_bytes())
}

/// Returns whether a text is the token of a secret for a purpose. Compares in constant time.
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

/// The limits within which a form is read.
#[derive(Debug, Clone, Copy)]
pub struct FormLimits {
    /// Maximum size of the body in bytes; a longer body is refused.
    pub bytes: usize,
    /// Maximum number of fields. A form with more fields is refused as a whole, because the first
    /// fields alone could have another meaning.
    pub fields: usize,
}

/// Returns the fields of a form (`application/x-www-form-urlencoded`, at most 64 KiB and 200
/// fields, sent within 30 s). Returns `None` if the body is not such a form.
pub async fn read_form(headers: &HeaderMap, body: Body) -> Option<Vec<(String, String)>> {
    read_form_within(
        FormLimits {
            bytes: LIMIT,
            fields: MAX_FIELDS,
        },
        headers,
        body,
    )
    .await
}

/// Returns the fields of a form with files (`multipart/form-data`) within these limits. The value
/// of a file field is the file's content. Invalid UTF-8 is replaced by U+FFFD.
pub async fn read_form_with_files(
    bounds: FormLimits,
    headers: &HeaderMap,
    body: Body,
) -> Option<Vec<(String, String)>> {
    let kind = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    let Ok(boundary) = multer::parse_boundary(kind) else {
        return read_form_within(bounds, headers, body).await;
    };
    let read = async {
        let bytes = Limited::new(body, bounds.bytes).collect().await.ok()?;
        let stream =
            futures_util::stream::iter([Ok::<_, std::convert::Infallible>(bytes.to_bytes())]);
        let mut parts = multer::Multipart::new(stream, boundary);
        let mut fields = Vec::new();
        while let Some(part) = parts.next_field().await.ok()? {
            let name = part.name()?.to_owned();
            let value = part.bytes().await.ok()?;
            fields.push((name, String::from_utf8_lossy(&value).into_owned()));
            if fields.len() > bounds.fields {
                return None;
            }
        }
        Some(fields)
    };
    tokio::time::timeout(DEADLINE, read).await.ok()?
}

/// Returns the fields of a form (`application/x-www-form-urlencoded`) within these limits.
pub async fn read_form_within(
    bounds: FormLimits,
    headers: &HeaderMap,
    body: Body,
) -> Option<Vec<(String, String)>> {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let (Some(kind), None) = (types.next(), types.next()) else {
        return None;
    };
    let kind = kind.to_str().ok()?.split(';').next()?.trim();
    if headers.contains_key(CONTENT_ENCODING)
        || !kind.eq_ignore_ascii_case("application/x-www-form-urlencoded")
    {
        return None;
    }
    let bytes = tokio::time::timeout(DEADLINE, Limited::new(body, bounds.bytes).collect())
        .await
        .ok()?
        .ok()?
        .to_bytes();
    let fields = form_urlencoded::parse(&bytes).take(bounds.fields + 1);
    let fields: Vec<_> = fields
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect();
    (fields.len() <= bounds.fields).then_some(fields)
}

/// Returns the value of a field of a form or a query. Returns `None` if the field is missing or
/// occurs twice.
#[must_use]
pub fn form_value<'f>(fields: &'f [(String, String)], name: &str) -> Option<&'f str> {
    let mut values = fields
        .iter()
        .filter(|(field, _)| field == name)
        .map(|(_, value)| value.as_str());
    let value = values.next()?;
    values.next().is_none().then_some(value)
}

#[cfg(test)]
mod tests {
    use futures_util::{StreamExt as _, stream};
    use http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    async fn read(kind: &'static str, body: Vec<u8>) -> Option<Vec<(String, String)>> {
        read_form(
            &HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(kind))]),
            Body::from(body),
        )
        .await
    }

    #[tokio::test]
    async fn only_bounded_url_encoded_forms_are_read() {
        let kind = "application/x-www-form-urlencoded; charset=utf-8";
        let fields = read(kind, b"form=a%2Bb&x=1&x=2".to_vec()).await.unwrap();
        assert_eq!(
            (
                form_value(&fields, "form"),
                form_value(&fields, "x"),
                form_value(&fields, "y")
            ),
            (Some("a+b"), None, None)
        );
        assert_eq!(read("application/json", b"{}".to_vec()).await, None);
        assert!(read(kind, vec![b'a'; LIMIT]).await.is_some());
        assert_eq!(read(kind, vec![b'a'; LIMIT + 1]).await, None);
        assert_eq!(
            read(kind, b"a&".repeat(MAX_FIELDS))
                .await
                .map(|fields| fields.len()),
            Some(MAX_FIELDS)
        );
        assert_eq!(
            read(kind, b"a&".repeat(MAX_FIELDS + 1)).await,
            None,
            "nothing is cut off"
        );
    }

    /// Reads a form from a client that stops sending, and from a client that sends a little every
    /// second.
    #[tokio::test(start_paused = true)]
    async fn an_unfinished_form_is_dropped_at_its_deadline() {
        let headers = HeaderMap::from_iter([(
            CONTENT_TYPE,
            HeaderValue::from_static("application/x-www-form-urlencoded"),
        )]);
        let text = || Ok::<_, std::convert::Infallible>("form=x");
        let silent = stream::once(async move { text() }).chain(stream::pending());
        let slow = stream::unfold((), move |()| async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Some((text(), ()))
        });
        for body in [Body::from_stream(silent), Body::from_stream(slow)] {
            let start = tokio::time::Instant::now();
            assert_eq!(read_form(&headers, body).await, None);
            // A timer may be late by a tick.
            assert!(
                (DEADLINE..DEADLINE + Duration::from_secs(1)).contains(&start.elapsed()),
                "{:?}",
                start.elapsed()
            );
        }
    }

    proptest! {
        #[test]
        fn a_form_token_is_valid_only_for_its_secret_and_purpose(secret in ".{0,80}", other in ".{0,80}", text in ".{0,60}") {
            let token = derive_token(&secret, "form");
            prop_assert!(is_derived_token(&token, &secret, "form"));
            prop_assert!(!is_derived_token(&token, &secret, "state"));
            prop_assert!(other == secret || !is_derived_token(&token, &other, "form"));
            prop_assert!(text == token || !is_derived_token(&text, &secret, "form"));
        }
    }
}
