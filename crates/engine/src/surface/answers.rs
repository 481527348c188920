//! Answers that name the state they show: 304 to those who have it already, compressed ones without compressing anew.

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

use super::packed::{self, Packed};
use crate::pipeline::Body as Answered;

/// Answers smaller than this are not compressed.
const COMPRESS_FROM: usize = 1_024;
/// Codings that answers come in.
const CODINGS: [&str; 2] = ["gzip", "br"];

/// What a client says of how it would have the answer.
#[derive(Debug, Default)]
pub(super) struct Wishes {
    /// The tags of the states it has.
    has: Vec<String>,
    takes_gzip: bool,
}

impl Wishes {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let has = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
        Self {
            has: has.flat_map(|text| text.split(',')).map(|tag| tag.trim().to_owned()).collect(),
            takes_gzip: packed::accepts(headers, "gzip"),
        }
    }

    /// Compared weakly (RFC 9110, 13.1.2), and whatever the coding it was sent in.
    fn has(&self, etag: &str) -> bool {
        self.has.iter().any(|tag| {
            let tag = tag.strip_prefix("W/").unwrap_or(tag);
            tag == "*" || tag == etag || CODINGS.iter().any(|coding| tag == coded(etag, coding))
        })
    }
}

/// The tag of an answer in a coding.
fn coded(etag: &str, coding: &str) -> String {
    format!("{}-{coding}\"", etag.strip_suffix('"').unwrap_or(etag))
}

/// Gives an answer that is coded, by whomever, a tag of its own: it is another sequence of bytes.
pub(super) fn name_coding(headers: &mut HeaderMap) {
    let Some(coding) = headers.get(CONTENT_ENCODING).and_then(|coding| coding.to_str().ok()) else { return };
    let Some(etag) = headers.get(ETAG).and_then(|etag| etag.to_str().ok()) else { return };
    if let Ok(value) = HeaderValue::from_str(&coded(etag, coding)) {
        headers.insert(ETAG, value);
    }
}

/// The answer of a read whose state has this tag.
pub(super) fn of_state(body: Answered, etag: HeaderValue, wishes: &Wishes) -> Response {
    if wishes.has(etag.to_str().unwrap_or_default()) {
        return tagged(StatusCode::NOT_MODIFIED.into_response(), etag);
    }
    match body {
        Answered::Text(text) => tagged(super::router::json(200, text), etag),
        Answered::Kept(kept, id) if wishes.takes_gzip && kept.length() >= COMPRESS_FROM => {
            let mut response = in_pieces(kept.gzip(id));
            response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            tagged(response, etag)
        }
        Answered::Kept(kept, id) => tagged(in_pieces(kept.pieces(id)), etag),
    }
}

/// The answer that is the same for everybody.
pub(super) async fn of_packed(packed: &Packed, etag: HeaderValue, headers: &HeaderMap) -> Response {
    if Wishes::of(headers).has(etag.to_str().unwrap_or_default()) {
        return tagged(StatusCode::NOT_MODIFIED.into_response(), etag);
    }
    let (bytes, coding) = packed.for_client(headers).await;
    let mut response = ([(CONTENT_TYPE, HeaderValue::from_static("application/json"))], bytes).into_response();
    if let Some(coding) = coding {
        response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static(coding));
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
    let body = Pieces { left: pieces.iter().map(|piece| piece.len() as u64).sum(), pieces: pieces.into() };
    ([(CONTENT_TYPE, HeaderValue::from_static("application/json"))], Body::new(body)).into_response()
}

/// A body in pieces that are not copied together; its length is known.
struct Pieces {
    pieces: VecDeque<Bytes>,
    left: u64,
}

impl HttpBody for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
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

    fn wishes(name: http::HeaderName, text: &str) -> Wishes {
        Wishes::of(&HeaderMap::from_iter([(name, HeaderValue::from_str(text).unwrap())]))
    }

    #[test]
    fn a_tag_is_known_in_whichever_coding_it_came() {
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
            assert_eq!(wishes(IF_NONE_MATCH, sent).has("\"abc\""), is_known, "{sent}");
        }
    }

    #[test]
    fn gzip_is_taken_by_those_who_say_so() {
        for (sent, takes) in [("gzip", true), ("br, GZIP;q=0.5", true), ("gzip;q=0", false), ("br", false), ("", false), ("x-gzip", false)]
        {
            assert_eq!(wishes(ACCEPT_ENCODING, sent).takes_gzip, takes, "{sent}");
        }
    }
}
