//! Forms: how one is read, and how it is known for one of our own (contract: every form of a page carries a token).
//!
//! The token of a form is made of a secret that is in a cookie of the browser alone, by a function that does not lead back. So
//! nothing of it is stored, and whoever does not have the cookie cannot have made the form.

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

/// How long a browser may take to send a form.
const DEADLINE: Duration = Duration::from_secs(30);
/// 64 KiB: the greatest form that is read.
const LIMIT: usize = 64 << 10;
/// Fields of a form at the most.
const MOST_FIELDS: usize = 200;

/// What is made of a secret for a purpose; it leads to neither the secret nor what is made for another purpose.
pub(super) fn derived(secret: &str, purpose: &str) -> String {
    URL_SAFE_NO_PAD.encode(mac(secret, purpose).finalize().into_bytes())
}

/// Whether a text is what is made of a secret for a purpose; compared in constant time.
pub(super) fn is_derived(sent: &str, secret: &str, purpose: &str) -> bool {
    URL_SAFE_NO_PAD.decode(sent).is_ok_and(|bytes| mac(secret, purpose).verify_slice(&bytes).is_ok())
}

/// HMAC-SHA256 (RFC 2104) under a key that is made of the secret: not by the hash alone, because that is stored of some.
fn mac(secret: &str, purpose: &str) -> Hmac<Sha256> {
    let mut key = Key::<Hmac<Sha256>>::default();
    let digest = Sha256::new().chain_update("forms of ").chain_update(secret).finalize();
    key[..digest.len()].copy_from_slice(&digest);
    Hmac::new(&key).chain_update(purpose)
}

/// How much of a form is read.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Bytes of its body at the most; a longer one is no form.
    pub bytes: usize,
    /// Its fields at the most. One that has more is no form: nothing of it is read as if it were all.
    pub fields: usize,
}

/// The fields of a form (`application/x-www-form-urlencoded`, at most 64 KiB and 200 fields, sent within 30 s); nothing where the body is
/// no such form.
pub async fn read_form(headers: &HeaderMap, body: Body) -> Option<Vec<(String, String)>> {
    read_form_within(Bounds { bytes: LIMIT, fields: MOST_FIELDS }, headers, body).await
}

/// The same of a form that may be larger.
pub async fn read_form_within(bounds: Bounds, headers: &HeaderMap, body: Body) -> Option<Vec<(String, String)>> {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let (Some(kind), None) = (types.next(), types.next()) else { return None };
    let kind = kind.to_str().ok()?.split(';').next()?.trim();
    if headers.contains_key(CONTENT_ENCODING) || !kind.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
        return None;
    }
    let collected = tokio::time::timeout(DEADLINE, Limited::new(body, bounds.bytes).collect()).await.ok()?.ok()?.to_bytes();
    let fields = form_urlencoded::parse(&collected).take(bounds.fields + 1);
    let fields: Vec<_> = fields.map(|(name, value)| (name.into_owned(), value.into_owned())).collect();
    (fields.len() <= bounds.fields).then_some(fields)
}

/// The one value of a name, among the fields of a form or a query; nothing where there are two.
#[must_use]
pub fn sent<'f>(fields: &'f [(String, String)], name: &str) -> Option<&'f str> {
    let mut values = fields.iter().filter(|(field, _)| field == name).map(|(_, value)| value.as_str());
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
        read_form(&HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(kind))]), Body::from(body)).await
    }

    #[tokio::test]
    async fn a_form_is_read_and_nothing_else() {
        let kind = "application/x-www-form-urlencoded; charset=utf-8";
        let fields = read(kind, b"form=a%2Bb&x=1&x=2".to_vec()).await.unwrap();
        assert_eq!((sent(&fields, "form"), sent(&fields, "x"), sent(&fields, "y")), (Some("a+b"), None, None));
        assert_eq!(read("application/json", b"{}".to_vec()).await, None);
        assert!(read(kind, vec![b'a'; LIMIT]).await.is_some());
        assert_eq!(read(kind, vec![b'a'; LIMIT + 1]).await, None);
        assert_eq!(read(kind, b"a&".repeat(MOST_FIELDS)).await.map(|fields| fields.len()), Some(MOST_FIELDS));
        assert_eq!(read(kind, b"a&".repeat(MOST_FIELDS + 1)).await, None, "nothing is cut off");
    }

    /// Whoever says nothing more, and whoever says a little more every second.
    #[tokio::test(start_paused = true)]
    async fn a_form_that_does_not_end_is_waited_for_until_its_deadline() {
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"))]);
        let said = || Ok::<_, std::convert::Infallible>("form=x");
        let silent = stream::once(async move { said() }).chain(stream::pending());
        let slow = stream::unfold((), move |()| async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Some((said(), ()))
        });
        for body in [Body::from_stream(silent), Body::from_stream(slow)] {
            let begun = tokio::time::Instant::now();
            assert_eq!(read_form(&headers, body).await, None);
            // A timer may be late by a tick.
            assert!((DEADLINE..DEADLINE + Duration::from_secs(1)).contains(&begun.elapsed()), "{:?}", begun.elapsed());
        }
    }

    proptest! {
        #[test]
        fn what_is_made_of_a_secret_is_known_by_it_alone(secret in ".{0,80}", other in ".{0,80}", text in ".{0,60}") {
            let token = derived(&secret, "form");
            prop_assert!(is_derived(&token, &secret, "form"));
            prop_assert!(!is_derived(&token, &secret, "state"));
            prop_assert!(other == secret || !is_derived(&token, &other, "form"));
            prop_assert!(text == token || !is_derived(&text, &secret, "form"));
        }
    }
}
