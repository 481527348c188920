//! Responses with an `ETag`. A client that already has the current answer gets 304. A cached answer
//! is compressed once, at the first request that accepts gzip, and then sent from memory.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY};
use http::{HeaderMap, HeaderValue, StatusCode};
use http_body::{Body as HttpBody, Frame, SizeHint};

use super::compressed::{self, CompressedText};
use engine::pipeline::{Body as Answered, CODINGS, coded};

/// The minimum size of a response that is compressed, in bytes.
const MIN_COMPRESSED_SIZE: usize = 1_024;

/// The answers that a client already has, and whether it accepts gzip, according to its headers.
#[derive(Debug, Default)]
pub(super) struct ClientPreferences {
    /// The `ETag`s in `If-None-Match`: those of the answers that the client already has.
    etags: Vec<String>,
    takes_gzip: bool,
}

impl ClientPreferences {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let values = headers
            .get_all(IF_NONE_MATCH)
            .iter()
            .filter_map(|value| value.to_str().ok());
        Self {
            etags: values
                .flat_map(|text| text.split(','))
                .map(|tag| tag.trim().to_owned())
                .collect(),
            takes_gzip: compressed::accepts(headers, "gzip"),
        }
    }

    /// Returns whether `If-None-Match` has the tag `etag`, so that the client already has the
    /// answer. Compares tags weakly (RFC 9110, 13.1.2), and ignores whether the earlier response
    /// was compressed.
    fn has(&self, etag: &str) -> bool {
        self.etags.iter().any(|tag| {
            let tag = tag.strip_prefix("W/").unwrap_or(tag);
            tag == "*" || tag == etag || CODINGS.iter().any(|coding| tag == coded(etag, coding))
        })
    }
}

/// Adds the content coding, such as `gzip`, to the `ETag` of a compressed response. The compressed
/// and the plain response have different bytes, so they need different `ETag`s.
pub(super) fn add_coding_to_etag(headers: &mut HeaderMap) {
    let Some(coding) = headers
        .get(CONTENT_ENCODING)
        .and_then(|coding| coding.to_str().ok())
    else {
        return;
    };
    let Some(etag) = headers.get(ETAG).and_then(|etag| etag.to_str().ok()) else {
        return;
    };
    if let Ok(value) = HeaderValue::from_str(&coded(etag, coding)) {
        headers.insert(ETAG, value);
    }
}

/// Returns the response to a read whose answer has this `ETag`: 304 if the client already has the
/// answer, otherwise 200 with the answer.
pub(super) fn read_response(
    body: Answered,
    etag: HeaderValue,
    preferences: &ClientPreferences,
) -> Response {
    if preferences.has(etag.to_str().unwrap_or_default()) {
        return with_etag(StatusCode::NOT_MODIFIED.into_response(), etag);
    }
    match body {
        Answered::Text(text) => with_etag(super::router::json(200, text), etag),
        Answered::Cached(cached, id)
            if preferences.takes_gzip && cached.length() >= MIN_COMPRESSED_SIZE =>
        {
            let mut response = chunked(cached.gzip(id));
            response
                .headers_mut()
                .insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            with_etag(response, etag)
        }
        Answered::Cached(cached, id) => with_etag(chunked(cached.pieces(id)), etag),
    }
}

/// Returns a JSON response that is the same for every client, or 304 if the client already has it.
pub(super) async fn shared_response(
    text: &CompressedText,
    etag: HeaderValue,
    headers: &HeaderMap,
) -> Response {
    if ClientPreferences::of(headers).has(etag.to_str().unwrap_or_default()) {
        return with_etag(StatusCode::NOT_MODIFIED.into_response(), etag);
    }
    let (bytes, coding) = text.for_client(headers).await;
    let mut response = (
        [(CONTENT_TYPE, HeaderValue::from_static("application/json"))],
        bytes,
    )
        .into_response();
    if let Some(coding) = coding {
        response
            .headers_mut()
            .insert(CONTENT_ENCODING, HeaderValue::from_static(coding));
    }
    with_etag(response, etag)
}

fn with_etag(mut response: Response, etag: HeaderValue) -> Response {
    let headers = response.headers_mut();
    headers.insert(ETAG, etag);
    headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    response
}

fn chunked<const N: usize>(chunks: [Bytes; N]) -> Response {
    let body = ChunkedBody {
        remaining: chunks.iter().map(|chunk| chunk.len() as u64).sum(),
        chunks: chunks.into(),
    };
    (
        [(CONTENT_TYPE, HeaderValue::from_static("application/json"))],
        Body::new(body),
    )
        .into_response()
}

/// A body of several chunks, which are sent without being copied into one text. Its length is
/// known.
struct ChunkedBody {
    chunks: VecDeque<Bytes>,
    remaining: u64,
}

impl HttpBody for ChunkedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let chunk = self.chunks.pop_front();
        self.remaining -= chunk.as_ref().map_or(0, |chunk| chunk.len() as u64);
        Poll::Ready(chunk.map(|chunk| Ok(Frame::data(chunk))))
    }

    fn is_end_stream(&self) -> bool {
        self.chunks.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.remaining)
    }
}

#[cfg(test)]
mod tests {
    use http::header::ACCEPT_ENCODING;

    use super::*;

    fn preferences(name: http::HeaderName, text: &str) -> ClientPreferences {
        ClientPreferences::of(&HeaderMap::from_iter([(
            name,
            HeaderValue::from_str(text).unwrap(),
        )]))
    }

    #[test]
    fn an_etag_matches_in_every_content_coding() {
        for (sent, expected) in [
            ("\"abc\"", true),
            ("W/\"abc\"", true),
            ("\"x\", \"abc\"", true),
            ("\"abc-gzip\"", true),
            ("\"abc-br\"", true),
            ("\"abc-x\"", false),
            ("W/\"abc-gzip\"", true),
            ("*", true),
            ("abc", false),
            ("\"ab\"", false),
            ("\"abcd\"", false),
            ("", false),
        ] {
            assert_eq!(
                preferences(IF_NONE_MATCH, sent).has("\"abc\""),
                expected,
                "{sent}"
            );
        }
    }

    #[test]
    fn gzip_is_accepted_only_if_the_header_names_it() {
        for (sent, takes) in [
            ("gzip", true),
            ("br, GZIP;q=0.5", true),
            ("gzip;q=0", false),
            ("br", false),
            ("", false),
            ("x-gzip", false),
        ] {
            assert_eq!(
                preferences(ACCEPT_ENCODING, sent).takes_gzip,
                takes,
                "{sent}"
            );
        }
    }
}
