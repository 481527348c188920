//! Texts that are the same for everybody: all answers share them, and they are packed once for each coding.

use async_compression::Level;
use async_compression::tokio::write::{BrotliEncoder, GzipDecoder, GzipEncoder};
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
    plain: OnceCell<Bytes>,
    brotli: OnceCell<Bytes>,
    gzip: OnceCell<Bytes>,
    /// Whether it came packed: then whoever takes that is sent it as it came.
    is_gzipped: bool,
}

impl Packed {
    pub(super) fn new(plain: impl Into<Bytes>) -> Self {
        Self { plain: OnceCell::new_with(Some(plain.into())), brotli: OnceCell::new(), gzip: OnceCell::new(), is_gzipped: false }
    }

    /// A text that is packed already. It is unpacked once somebody does not take it so.
    pub(super) fn gzipped(gzip: &'static [u8]) -> Self {
        let gzip = OnceCell::new_with(Some(Bytes::from_static(gzip)));
        Self { plain: OnceCell::new(), brotli: OnceCell::new(), gzip, is_gzipped: true }
    }

    /// The text as these headers would have it, and its coding.
    pub(super) async fn for_client(&self, headers: &HeaderMap) -> (Bytes, Option<&'static str>) {
        // Packing in memory does not fail; if it did, the text itself would do.
        let takes_gzip = accepts(headers, "gzip");
        let packed = if accepts(headers, "br") && !(self.is_gzipped && takes_gzip) {
            self.brotli().await.ok().zip(Some("br"))
        } else if takes_gzip {
            self.gzip().await.ok().zip(Some("gzip"))
        } else {
            None
        };
        match packed {
            Some((bytes, coding)) => (bytes.clone(), Some(coding)),
            None => (self.plain().await.cloned().unwrap_or_default(), None),
        }
    }

    async fn plain(&self) -> std::io::Result<&Bytes> {
        let packed = self.gzip.get().map(Bytes::as_ref).unwrap_or_default();
        self.plain.get_or_try_init(|| through(packed, GzipDecoder::new(Vec::new()), GzipDecoder::into_inner)).await
    }

    async fn brotli(&self) -> std::io::Result<&Bytes> {
        let plain = self.plain().await?;
        let encoder = || BrotliEncoder::with_quality(Vec::new(), BROTLI);
        self.brotli.get_or_try_init(|| through(plain, encoder(), BrotliEncoder::into_inner)).await
    }

    async fn gzip(&self) -> std::io::Result<&Bytes> {
        if let Some(gzip) = self.gzip.get() {
            return Ok(gzip);
        }
        let plain = self.plain().await?;
        self.gzip.get_or_try_init(|| through(plain, GzipEncoder::new(Vec::new()), GzipEncoder::into_inner)).await
    }
}

async fn through<C: AsyncWrite + Unpin>(bytes: &[u8], mut coder: C, coded: impl Fn(C) -> Vec<u8>) -> std::io::Result<Bytes> {
    /// Bytes coded between two looks at what else waits for this thread.
    const STRETCH: usize = 1 << 16;
    for stretch in bytes.chunks(STRETCH) {
        coder.write_all(stretch).await?;
        tokio::task::yield_now().await;
    }
    coder.shutdown().await?;
    Ok(coded(coder).into())
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
            assert_eq!(first.len() < 50_000, coding.is_some(), "{value}");
        }
    }

    #[tokio::test]
    async fn what_came_packed_is_sent_as_it_came() {
        let plain = "vestibule ".repeat(10_000);
        let (gzip, _) = Packed::new(plain.clone()).for_client(&accepting("gzip")).await;
        let packed = Packed::gzipped(Box::leak(gzip.to_vec().into_boxed_slice()));
        assert_eq!(packed.for_client(&accepting("br, gzip")).await, (gzip, Some("gzip")));
        assert_eq!(packed.for_client(&accepting("identity")).await, (plain.into(), None));
        assert_eq!(packed.for_client(&accepting("br")).await.1, Some("br"));
    }
}
