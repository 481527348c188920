//! The forms that browsers send, read within limits of size and time.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http_body_util::{BodyExt as _, Limited};

/// Time limit for a client to send a form.
const DEADLINE: Duration = Duration::from_secs(30);
/// Maximum size of a form for [`read_form`]: 64 KiB.
const MAX_BYTES: usize = 64 << 10;
/// Maximum number of fields of a form for [`read_form`].
const MAX_FIELDS: usize = 200;

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
            bytes: MAX_BYTES,
            fields: MAX_FIELDS,
        },
        headers,
        body,
    )
    .await
}

/// Returns the fields of a form, which may contain files (`multipart/form-data`). The value of a
/// file field is the file's content. Invalid UTF-8 is replaced by U+FFFD. Returns `None` if the
/// body is not a form, or if it exceeds `limits`.
pub async fn read_form_with_files(
    limits: FormLimits,
    headers: &HeaderMap,
    body: Body,
) -> Option<Vec<(String, String)>> {
    let kind = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    let Ok(boundary) = multer::parse_boundary(kind) else {
        return read_form_within(limits, headers, body).await;
    };
    let read = async {
        let bytes = Limited::new(body, limits.bytes).collect().await.ok()?;
        let stream = futures_util::stream::iter([Ok::<_, Infallible>(bytes.to_bytes())]);
        let mut parts = multer::Multipart::new(stream, boundary);
        let mut fields = Vec::new();
        while let Some(part) = parts.next_field().await.ok()? {
            let name = part.name()?.to_owned();
            let value = part.bytes().await.ok()?;
            fields.push((name, String::from_utf8_lossy(&value).into_owned()));
            if fields.len() > limits.fields {
                return None;
            }
        }
        Some(fields)
    };
    tokio::time::timeout(DEADLINE, read).await.ok()?
}

/// Returns the fields of a form (`application/x-www-form-urlencoded`). Returns `None` if the body
/// is not such a form, or if it exceeds `limits`.
pub async fn read_form_within(
    limits: FormLimits,
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
    let bytes = tokio::time::timeout(DEADLINE, Limited::new(body, limits.bytes).collect())
        .await
        .ok()?
        .ok()?
        .to_bytes();
    let fields = form_urlencoded::parse(&bytes).take(limits.fields + 1);
    let fields: Vec<_> = fields
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect();
    (fields.len() <= limits.fields).then_some(fields)
}

/// Replaces CR LF, with which browsers end lines, by LF in the values of all fields.
#[must_use]
pub fn with_line_feeds(fields: Vec<(String, String)>) -> Vec<(String, String)> {
    fields
        .into_iter()
        .map(|(name, value)| (name, value.replace("\r\n", "\n")))
        .collect()
}

/// Returns the first value of a field of a form or a query.
#[must_use]
pub fn first_value<'f>(fields: &'f [(String, String)], name: &str) -> Option<&'f str> {
    fields
        .iter()
        .find(|(field, _)| field == name)
        .map(|(_, value)| value.as_str())
}

/// Returns the value of a field of a form or a query. Returns `None` if the field is missing or
/// occurs twice.
#[must_use]
pub fn single_value<'f>(fields: &'f [(String, String)], name: &str) -> Option<&'f str> {
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
                single_value(&fields, "form"),
                single_value(&fields, "x"),
                single_value(&fields, "y")
            ),
            (Some("a+b"), None, None)
        );
        assert_eq!(read("application/json", b"{}".to_vec()).await, None);
        assert!(read(kind, vec![b'a'; MAX_BYTES]).await.is_some());
        assert_eq!(read(kind, vec![b'a'; MAX_BYTES + 1]).await, None);
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
        let text = || Ok::<_, Infallible>("form=x");
        let silent = stream::once(async move { text() }).chain(stream::pending());
        let slow = stream::unfold((), move |()| async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Some((text(), ()))
        });
        for body in [Body::from_stream(silent), Body::from_stream(slow)] {
            let start = tokio::time::Instant::now();
            assert_eq!(read_form(&headers, body).await, None);
            // The timer has a resolution of one millisecond, so it may fire a little after the
            // deadline.
            assert!(
                (DEADLINE..DEADLINE + Duration::from_secs(1)).contains(&start.elapsed()),
                "{:?}",
                start.elapsed()
            );
        }
    }

    #[tokio::test]
    async fn form_bodies_are_decoded_as_browsers_encode_them() {
        let decoded = async |body: &str| {
            let kind = "application/x-www-form-urlencoded";
            with_line_feeds(read(kind, body.into()).await.unwrap())
        };
        let field = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            decoded("text=uno%0D%0Ados+%C3%B1%0D&a=%3D%26").await,
            [field("text", "uno\ndos ñ\r"), field("a", "=&")]
        );
        assert!(decoded("").await.is_empty());
        assert_eq!(decoded("{\"text\":1}").await, [field("{\"text\":1}", "")]);
    }

    #[test]
    fn of_a_repeated_field_the_first_value_is_found() {
        let fields = ["1", "2"].map(|value| ("x".to_owned(), value.to_owned()));
        assert_eq!(first_value(&fields, "x"), Some("1"));
        assert_eq!(single_value(&fields, "x"), None);
        assert_eq!(single_value(&fields[..1], "x"), Some("1"));
        assert_eq!(first_value(&fields, "y"), None);
    }
}
