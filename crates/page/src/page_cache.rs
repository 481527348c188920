//! A cache of rendered pages that contain no form. A cached page is valid until the end of the
//! minute in which it was rendered.
//!
//! A page depends on the guest's view, the address and the requested languages. It also depends on
//! the minute, because its offline copy shows the minute of rendering.
//!
//! Every request still reads the guest's view. Reading the view checks that the stay exists and
//! counts the request towards the rate limit. The `ETag` of the view identifies the view's state.
//! If a cached page was rendered from the same state, the cache returns that page. The second
//! request for a page compresses it. Later requests get the compressed page.

use std::sync::Arc;

use engine::app_state::sharded;
use http::HeaderValue;
use jiff::Timestamp;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use vestibule_http::surface::CompressedText;

/// Maximum size of all cached pages in bytes, including their compressed forms.
const CACHE_BYTES: u64 = 32 << 20;
/// Approximate number of pages that fit into the cache.
const EXPECTED_PAGES: usize = 512;
/// Approximate memory of a cache entry in bytes, in addition to its key and its page.
const OVERHEAD: u64 = 512;

/// The cached pages. Each page has a key that is made from the request for it.
pub struct PageCache(Cache<Box<str>, Arc<CachedPage>, ByBytes>);

/// A rendered page. It is used again only in the minute in which it was rendered, and only for the
/// guest view from which it was rendered.
pub struct CachedPage {
    /// The `ETag` of the guest view that the page was rendered from.
    pub state: HeaderValue,
    minute: i64,
    length: usize,
    html: CompressedText,
}

#[derive(Clone)]
struct ByBytes;

impl Weighter<Box<str>, Arc<CachedPage>> for ByBytes {
    fn weight(&self, key: &Box<str>, page: &Arc<CachedPage>) -> u64 {
        // The compressed forms (gzip and Brotli) are together at most about as long as the page
        // itself. So the weight of an entry contains the length of its page twice.
        OVERHEAD + u64::try_from(key.len() + 2 * page.length).unwrap_or(u64::MAX)
    }
}

impl PageCache {
    /// Creates an empty cache for a machine with this number of processors. The number of the
    /// cache's shards depends on it.
    #[must_use]
    pub fn with_processors(processors: usize) -> Self {
        Self(sharded(EXPECTED_PAGES, CACHE_BYTES, ByBytes, processors))
    }

    /// Returns the page with this key if it was rendered in the current minute.
    #[must_use]
    pub fn get(&self, key: &str, now: Timestamp) -> Option<Arc<CachedPage>> {
        self.0.get(key).filter(|page| page.minute == minute(now))
    }

    /// Caches a page under the key of the request for it.
    pub fn insert(&self, key: Box<str>, page: CachedPage) {
        self.0.insert(key, Arc::new(page));
    }
}

impl CachedPage {
    /// Creates a page that was rendered at `now` from the guest view with this `ETag`.
    #[must_use]
    pub fn new(html: String, state: HeaderValue, now: Timestamp) -> Self {
        Self {
            state,
            minute: minute(now),
            length: html.len(),
            html: CompressedText::new(html),
        }
    }

    #[must_use]
    pub const fn html(&self) -> &CompressedText {
        &self.html
    }
}

fn minute(now: Timestamp) -> i64 {
    now.as_second().div_euclid(60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_cached_until_the_end_of_its_minute() {
        let pages = PageCache::with_processors(2);
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let state = HeaderValue::from_static("\"a\"");
        pages.insert(
            "home".into(),
            CachedPage::new("<html>".into(), state, at("2026-11-22T09:30:01Z")),
        );
        assert!(pages.get("home", at("2026-11-22T09:30:59Z")).is_some());
        assert!(pages.get("home", at("2026-11-22T09:31:00Z")).is_none());
        assert!(pages.get("other", at("2026-11-22T09:30:01Z")).is_none());
    }

    #[test]
    fn the_page_cache_is_bounded() {
        let pages = PageCache::with_processors(2);
        let now = Timestamp::UNIX_EPOCH;
        for number in 0..2_000 {
            let page = CachedPage::new("x".repeat(50_000), HeaderValue::from_static("\"a\""), now);
            pages.insert(number.to_string().into(), page);
        }
        assert!(
            pages.0.weight() <= CACHE_BYTES && pages.0.len() > 100,
            "{} bytes",
            pages.0.weight()
        );
    }
}
