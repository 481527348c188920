//! Texts that are the same for everybody: all answers share them, and they are packed once for each coding.

use async_compression::Level;
use async_compression::tokio::write::{BrotliEncoder, GzipEncoder};
use bytes::Bytes;
use http::HeaderMap;
use http::header::ACCEPT_ENCODING;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::OnceCell;

/// How hard Brotli tries: at its hardest it takes seconds a megabyte.
const BROTLI: Level = Level::Precise(5);

/// A text, and what it is packed to once somebody has asked for that: packing it for every visitor would be the dearest request
/// of all.
pub struct Packed {
    plain: Bytes,
    brotli: OnceCell<Bytes>,
    gzip: OnceCell<Bytes>,
}

impl Packed {
    /// A text that nobody has asked for yet.
    #[must_use]
    pub fn new(plain: impl Into<Bytes>) -> Self {
        Self { plain: plain.into(), brotli: OnceCell::new(), gzip: OnceCell::new() }
    }

    /// The text as these headers would have it, and its coding.
    pub async fn for_client(&self, headers: &HeaderMap) -> (Bytes, Option<&'static str>) {
        // Packing in memory does not fail; if it did, the text itself would do.
        let packed = if accepts(headers, "br") {
            self.brotli
                .get_or_try_init(|| pack(&self.plain, BrotliEncoder::with_quality(Vec::new(), BROTLI), BrotliEncoder::into_inner))
                .await
                .ok()
                .zip(Some("br"))
        } else if accepts(headers, "gzip") {
            self.gzip
                .get_or_try_init(|| pack(&self.plain, GzipEncoder::new(Vec::new()), GzipEncoder::into_inner))
                .await
                .ok()
                .zip(Some("gzip"))
        } else {
            None
        };
        packed.map_or_else(|| (self.plain.clone(), None), |(bytes, coding)| (bytes.clone(), Some(coding)))
    }
}

async fn pack<E: AsyncWrite + Unpin>(plain: &[u8], mut encoder: E, packed: impl Fn(E) -> Vec<u8>) -> std::io::Result<Bytes> {
    /// Bytes packed between two looks at what else waits for this thread.
    const STRETCH: usize = 1 << 16;
    for stretch in plain.chunks(STRETCH) {
        encoder.write_all(stretch).await?;
        tokio::task::yield_now().await;
    }
    encoder.shutdown().await?;
    Ok(packed(encoder).into())
}

/// Whether a coding is named and not ruled out by `q=0`. `*` names none: whoever means one says which.
pub(super) fn accepts(headers: &HeaderMap, coding: &str) -> bool {
    let values = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|item| {
        let mut parts = item.split(';').map(str::trim);
        let is_named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case(coding));
        let quality = parts.find_map(|parameter| parameter.strip_prefix("q=").or(parameter.strip_prefix("Q=")));
        is_named && quality.is_none_or(|quality| quality.parse::<f32>().is_ok_and(|quality| quality > 0.0))
    })
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn accepting(value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static(value))])
    }

    #[test]
    fn a_coding_is_sent_to_those_who_take_it() {
        for (value, gzip, br) in [
            ("gzip", true, false),
            ("br, GZIP;q=0.5", true, true),
            ("deflate;q=0, gzip; q=1", true, false),
            ("gzip;q=0", false, false),
            ("gzip;q=0.000,br;q=0.1", false, true),
            ("gzip;q=0, br;q=0, identity", false, false),
            ("gzip;q=often", false, false),
            ("identity", false, false),
            ("identity;q=0, br", false, true),
            ("identity, *;q=0", false, false),
            ("*", false, false),
            ("gzip;q=0, *", false, false),
            ("*;q=0, gzip", true, false),
            ("x-gzip", false, false),
            ("", false, false),
        ] {
            assert_eq!((accepts(&accepting(value), "gzip"), accepts(&accepting(value), "br")), (gzip, br), "{value}");
        }
        assert!(!accepts(&HeaderMap::new(), "gzip"));
        let mut in_two_lines = accepting("deflate");
        in_two_lines.append(ACCEPT_ENCODING, HeaderValue::from_static("br"));
        assert!(accepts(&in_two_lines, "br"));
    }

    #[tokio::test]
    async fn a_text_is_packed_once_for_each_coding() {
        let packed = Packed::new("vestibule ".repeat(10_000));
        for (value, coding) in [("", None), ("gzip", Some("gzip")), ("gzip, br", Some("br"))] {
            let (first, named) = packed.for_client(&accepting(value)).await;
            let (second, _) = packed.for_client(&accepting(value)).await;
            assert_eq!(named, coding);
            assert_eq!(first.as_ptr(), second.as_ptr(), "{value}: shared, not made anew");
            assert_eq!(first.len() < packed.plain.len() / 2, coding.is_some(), "{value}");
        }
    }
}
