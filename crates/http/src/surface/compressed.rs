//! Texts that are the same for every client. All answers share one copy, which is compressed once
//! for each coding.

use async_compression::Level;
use async_compression::tokio::write::{BrotliEncoder, GzipDecoder, GzipEncoder};
use bytes::Bytes;
use http::HeaderMap;
use http::header::ACCEPT_ENCODING;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::OnceCell;

/// The Brotli level. The highest level would take seconds per megabyte.
const BROTLI: Level = Level::Precise(5);

/// A text, and its compressed forms, each made on the first request for it. Compressing it for each
/// request would be very expensive.
pub struct CompressedText {
    plain: OnceCell<Bytes>,
    brotli: OnceCell<Bytes>,
    gzip: OnceCell<Bytes>,
    /// Whether the text was given in gzip. Clients that accept gzip then receive that form.
    is_gzipped: bool,
}

impl CompressedText {
    /// Creates a text from its plain form.
    #[must_use]
    pub fn new(plain: impl Into<Bytes>) -> Self {
        Self {
            plain: OnceCell::new_with(Some(plain.into())),
            brotli: OnceCell::new(),
            gzip: OnceCell::new(),
            is_gzipped: false,
        }
    }

    /// Creates a text from its gzip form. It is decompressed when a client first needs another
    /// form.
    pub(super) fn gzipped(gzip: &'static [u8]) -> Self {
        let gzip = OnceCell::new_with(Some(Bytes::from_static(gzip)));
        Self {
            plain: OnceCell::new(),
            brotli: OnceCell::new(),
            gzip,
            is_gzipped: true,
        }
    }

    /// Returns the text in the best coding that these headers accept, with the name of the coding.
    pub async fn for_client(&self, headers: &HeaderMap) -> (Bytes, Option<&'static str>) {
        // Compressing in memory does not fail. If it did, the plain text would be sent.
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
        self.plain
            .get_or_try_init(|| {
                through(
                    packed,
                    GzipDecoder::new(Vec::new()),
                    GzipDecoder::into_inner,
                )
            })
            .await
    }

    async fn brotli(&self) -> std::io::Result<&Bytes> {
        let plain = self.plain().await?;
        let encoder = || BrotliEncoder::with_quality(Vec::new(), BROTLI);
        self.brotli
            .get_or_try_init(|| through(plain, encoder(), BrotliEncoder::into_inner))
            .await
    }

    async fn gzip(&self) -> std::io::Result<&Bytes> {
        if let Some(gzip) = self.gzip.get() {
            return Ok(gzip);
        }
        let plain = self.plain().await?;
        self.gzip
            .get_or_try_init(|| {
                through(plain, GzipEncoder::new(Vec::new()), GzipEncoder::into_inner)
            })
            .await
    }
}

async fn through<C: AsyncWrite + Unpin>(
    bytes: &[u8],
    mut coder: C,
    taken_out: impl Fn(C) -> Vec<u8>,
) -> std::io::Result<Bytes> {
    /// The number of bytes that are coded before the task yields to others on its thread.
    const STRETCH: usize = 1 << 16;
    for stretch in bytes.chunks(STRETCH) {
        coder.write_all(stretch).await?;
        tokio::task::yield_now().await;
    }
    coder.shutdown().await?;
    Ok(taken_out(coder).into())
}

/// Returns whether a coding is accepted by name and not excluded by `q=0`. `*` is ignored.
pub(super) fn accepts(headers: &HeaderMap, coding: &str) -> bool {
    let values = headers
        .get_all(ACCEPT_ENCODING)
        .iter()
        .filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|item| {
        let mut parts = item.split(';').map(str::trim);
        let is_named = parts
            .next()
            .is_some_and(|name| name.eq_ignore_ascii_case(coding));
        let quality = parts.find_map(|parameter| {
            parameter
                .strip_prefix("q=")
                .or(parameter.strip_prefix("Q="))
        });
        is_named
            && quality
                .is_none_or(|quality| quality.parse::<f32>().is_ok_and(|quality| quality > 0.0))
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
    fn a_content_coding_is_sent_only_if_accepted() {
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
            assert_eq!(
                (
                    accepts(&accepting(value), "gzip"),
                    accepts(&accepting(value), "br")
                ),
                (gzip, br),
                "{value}"
            );
        }
        assert!(!accepts(&HeaderMap::new(), "gzip"));
        let mut in_two_lines = accepting("deflate");
        in_two_lines.append(ACCEPT_ENCODING, HeaderValue::from_static("br"));
        assert!(accepts(&in_two_lines, "br"));
    }

    #[tokio::test]
    async fn a_text_is_compressed_once_per_coding() {
        let packed = CompressedText::new("vestibule ".repeat(10_000));
        for (value, coding) in [("", None), ("gzip", Some("gzip")), ("gzip, br", Some("br"))] {
            let (first, named) = packed.for_client(&accepting(value)).await;
            let (second, _) = packed.for_client(&accepting(value)).await;
            assert_eq!(named, coding);
            assert_eq!(
                first.as_ptr(),
                second.as_ptr(),
                "{value}: shared, not made anew"
            );
            assert_eq!(first.len() < 50_000, coding.is_some(), "{value}");
        }
    }

    #[tokio::test]
    async fn a_gzipped_text_is_sent_unchanged_to_gzip_clients() {
        let plain = "vestibule ".repeat(10_000);
        let (gzip, _) = CompressedText::new(plain.clone())
            .for_client(&accepting("gzip"))
            .await;
        let packed = CompressedText::gzipped(Box::leak(gzip.to_vec().into_boxed_slice()));
        assert_eq!(
            packed.for_client(&accepting("br, gzip")).await,
            (gzip, Some("gzip"))
        );
        assert_eq!(
            packed.for_client(&accepting("identity")).await,
            (plain.into(), None)
        );
        assert_eq!(packed.for_client(&accepting("br")).await.1, Some("br"));
    }
}
