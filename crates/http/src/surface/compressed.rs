//! Texts that are the same for every client. All responses share one copy, which is compressed once
//! for each coding.

use async_compression::Level;
use async_compression::tokio::write::{BrotliEncoder, GzipDecoder, GzipEncoder};
use bytes::Bytes;
use http::HeaderMap;
use http::header::ACCEPT_ENCODING;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::OnceCell;

/// The Brotli level. The highest level would take seconds per megabyte.
const BROTLI_LEVEL: Level = Level::Precise(5);

/// A text in three forms: uncompressed, Brotli and gzip. A form is created for the first request
/// that needs it and then stored here, because compression for each request would be very
/// expensive.
pub struct CompressedText {
    plain: OnceCell<Bytes>,
    brotli: OnceCell<Bytes>,
    gzip: OnceCell<Bytes>,
    /// Whether the text was created from its gzip form. Clients that accept gzip then receive that
    /// form.
    is_gzipped: bool,
}

impl CompressedText {
    /// Creates a text from its uncompressed bytes.
    #[must_use]
    pub fn new(plain: impl Into<Bytes>) -> Self {
        Self {
            plain: OnceCell::new_with(Some(plain.into())),
            brotli: OnceCell::new(),
            gzip: OnceCell::new(),
            is_gzipped: false,
        }
    }

    /// Creates a text from its gzip form. The text is decompressed when a client first needs
    /// another form.
    pub(super) fn gzipped(gzip: &'static [u8]) -> Self {
        let gzip = OnceCell::new_with(Some(Bytes::from_static(gzip)));
        Self {
            plain: OnceCell::new(),
            brotli: OnceCell::new(),
            gzip,
            is_gzipped: true,
        }
    }

    /// Returns the text in the best coding that `headers` accept, and the name of the coding;
    /// `None` for the uncompressed text.
    pub async fn for_client(&self, headers: &HeaderMap) -> (Bytes, Option<&'static str>) {
        // Compression in memory does not fail. If it did, the client would get the plain text.
        let takes_gzip = accepts(headers, "gzip");
        let compressed = if accepts(headers, "br") && !(self.is_gzipped && takes_gzip) {
            self.brotli().await.ok().zip(Some("br"))
        } else if takes_gzip {
            self.gzip().await.ok().zip(Some("gzip"))
        } else {
            None
        };
        match compressed {
            Some((bytes, coding)) => (bytes.clone(), Some(coding)),
            None => (self.plain().await.cloned().unwrap_or_default(), None),
        }
    }

    async fn plain(&self) -> std::io::Result<&Bytes> {
        let gzip = self.gzip.get().map(Bytes::as_ref).unwrap_or_default();
        self.plain
            .get_or_try_init(|| encode(gzip, GzipDecoder::new(Vec::new()), GzipDecoder::into_inner))
            .await
    }

    async fn brotli(&self) -> std::io::Result<&Bytes> {
        let plain = self.plain().await?;
        let encoder = || BrotliEncoder::with_quality(Vec::new(), BROTLI_LEVEL);
        self.brotli
            .get_or_try_init(|| encode(plain, encoder(), BrotliEncoder::into_inner))
            .await
    }

    async fn gzip(&self) -> std::io::Result<&Bytes> {
        if let Some(gzip) = self.gzip.get() {
            return Ok(gzip);
        }
        let plain = self.plain().await?;
        self.gzip
            .get_or_try_init(|| {
                encode(plain, GzipEncoder::new(Vec::new()), GzipEncoder::into_inner)
            })
            .await
    }
}

async fn encode<C: AsyncWrite + Unpin>(
    bytes: &[u8],
    mut coder: C,
    into_bytes: impl Fn(C) -> Vec<u8>,
) -> std::io::Result<Bytes> {
    /// The number of bytes that are compressed before the task yields to other tasks of its thread.
    const CHUNK_SIZE: usize = 1 << 16;
    for chunk in bytes.chunks(CHUNK_SIZE) {
        coder.write_all(chunk).await?;
        tokio::task::yield_now().await;
    }
    coder.shutdown().await?;
    Ok(into_bytes(coder).into())
}

/// Returns whether `headers` accept a coding by name and do not exclude it by `q=0`. `*` is
/// ignored.
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
        let text = CompressedText::new("vestibule ".repeat(10_000));
        for (value, coding) in [("", None), ("gzip", Some("gzip")), ("gzip, br", Some("br"))] {
            let (first, name) = text.for_client(&accepting(value)).await;
            let (second, _) = text.for_client(&accepting(value)).await;
            assert_eq!(name, coding);
            assert_eq!(
                first.as_ptr(),
                second.as_ptr(),
                "{value}: shared, not created again"
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
        let text = CompressedText::gzipped(Box::leak(gzip.to_vec().into_boxed_slice()));
        assert_eq!(
            text.for_client(&accepting("br, gzip")).await,
            (gzip, Some("gzip"))
        );
        assert_eq!(
            text.for_client(&accepting("identity")).await,
            (plain.into(), None)
        );
        assert_eq!(text.for_client(&accepting("br")).await.1, Some("br"));
    }
}
