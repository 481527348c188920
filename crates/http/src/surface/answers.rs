//! Answers with an `ETag`: 304 if the client has the same state, and cached compressed forms.

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

/// The least bytes of an answer that is compressed.
const COMPRESS_FROM: usize = 1_024;

/// The preferences of a client, from its headers.
#[derive(Debug, Default)]
pub(super) struct ClientPreferences {
    /// The tags of the states that the client has.
    has: Vec<String>,
    takes_gzip: bool,
}

impl ClientPreferences {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let has = headers
            .get_all(IF_NONE_MATCH)
            .iter()
            .filter_map(|value| value.to_str().ok());
        Self {
            has: has
                .flat_map(|text| text.split(','))
                .map(|tag| tag.trim().to_owned())
                .collect(),
            takes_gzip: compressed::accepts(headers, "gzip"),
        }
    }

    /// Compares tags weakly (RFC 9110, 13.1.2), and ignores the coding of the earlier answer.
    fn has(&self, etag: &str) -> bool {
        self.has.iter().any(|tag| {
            let tag = tag.strip_prefix("W/").unwrap_or(tag);
            tag == "*" || tag == etag || CODINGS.iter().any(|coding| tag == coded(etag, coding))
        })
    }
}

/// Changes the tag of a compressed answer, because its bytes differ from those of the plain answer.
pub(super) fn name_coding(headers: &mut HeaderMap) {
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

/// Returns the answer of a read with this tag.
pub(super) fn of_state(
    body: Answered,
    etag: HeaderValue,
    preferences: &ClientPreferences,
) -> Response {
    if preferences.has(etag.to_str().unwrap_or_default()) {
        return tagged(StatusCode::NOT_MODIFIED.into_response(), etag);
    }
    match body {
        Answered::Text(text) => tagged(super::router::json(200, text), etag),
        Answered::Kept(kept, id) if preferences.takes_gzip && kept.length() >= COMPRESS_FROM => {
            let mut response = in_pieces(kept.gzip(id));
            response
                .headers_mut()
                .insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            tagged(response, etag)
        }
        Answered::Kept(kept, id) => tagged(in_pieces(kept.pieces(id)), etag),
    }
}

/// Returns an answer that is the same for every client.
pub(super) async fn of_packed(
    packed: &CompressedText,
    etag: HeaderValue,
    headers: &HeaderMap,
) -> Response {
    if ClientPreferences::of(headers).has(etag.to_str().unwrap_or_default()) {
        return tagged(StatusCode::NOT_MODIFIED.into_response(), etag);
    }
    let (bytes, coding) = packed.for_client(headers).await;
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
    tagged(response, etag)
}

fn tagged(mut response: Response, etag: HeaderValue) -> Response {
    let headers = response.headers_mut();
    headers.insert(ETAG, etag);
    headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    response
}

fn in_pieces<const N: usize>(pieces: [Bytes; N]) -> Response {
    let body = Pieces {
        left: pieces.iter().map(|piece| piece.len() as u64).sum(),
        pieces: pieces.into(),
    };
    (
        [(CONTENT_TYPE, HeaderValue::from_static("application/json"))],
        Body::new(body),
    )
        .into_response()
}

/// A body in several chunks, which are not copied together. Its length is known.
struct Pieces {
    pieces: VecDeque<Bytes>,
    left: u64,
}

impl HttpBody for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = self.pieces.pop_front();
        self.left -= piece.as_ref().map_or(0, |piece| piece.len() as u64);
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.pieces.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

#[cfg(test)]
mod tests {
    use http::header::ACCEPT_ENCODING;

    use super::*;

    fn wishes(name: http::HeaderName, text: &str) -> ClientPreferences {
        ClientPreferences::of(&HeaderMap::from_iter([(
            name,
            HeaderValue::from_str(text).unwrap(),
        )]))
    }

    #[test]
    fn an_etag_matches_in_every_content_coding() {
        for (sent, is_known) in [
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
                wishes(IF_NONE_MATCH, sent).has("\"abc\""),
                is_known,
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
            assert_eq!(wishes(ACCEPT_ENCODING, sent).takes_gzip, takes, "{sent}");
        }
    }
}
