//! Pages without a form that were rendered, for whoever opens them again within the minute.
//!
//! A page is made of what the guest sees, of the address, of the languages that are asked for, and of the minute, which it tells
//! where it is read without a connection. So the interface is asked each time, which says whether the stay is there, counts the
//! request, and names the state of what it answers; where that is the state that the page was made of, the page is given as it
//! is. What is asked for a second time is compressed once for all the times after that.

use std::sync::Arc;

use engine::kit::sharded;
use engine::surface::Packed;
use http::HeaderValue;
use jiff::Timestamp;
use quick_cache::Weighter;
use quick_cache::sync::Cache;

/// Bytes of pages that are kept at once, their compressed forms included.
const PAGES: u64 = 32 << 20;
/// About how many that is.
const KEPT: usize = 512;
/// About what an entry takes besides.
const OVERHEAD: u64 = 512;

/// Pages, by what they were asked for with.
pub struct Pages(Cache<Box<str>, Arc<Page>, ByBytes>);

/// A page that was rendered.
pub struct Page {
    /// The state of what the guest saw.
    pub state: HeaderValue,
    /// The language that the interface was asked in for it.
    pub language: Option<String>,
    minute: i64,
    length: usize,
    html: Packed,
}

#[derive(Clone)]
struct ByBytes;

impl Weighter<Box<str>, Arc<Page>> for ByBytes {
    fn weight(&self, key: &Box<str>, page: &Arc<Page>) -> u64 {
        // Both compressed forms together are about as long as the page at the most.
        OVERHEAD + u64::try_from(key.len() + 2 * page.length).unwrap_or(u64::MAX)
    }
}

impl Pages {
    /// Nothing is kept yet; this many processors will ask.
    #[must_use]
    pub fn seeing(processors: usize) -> Self {
        Self(sharded(KEPT, PAGES, ByBytes, processors))
    }

    /// The page that was kept in this minute.
    pub fn get(&self, key: &str, now: Timestamp) -> Option<Arc<Page>> {
        self.0.get(key).filter(|page| page.minute == minute(now))
    }

    /// Keeps a page.
    pub fn keep(&self, key: Box<str>, page: Page) {
        self.0.insert(key, Arc::new(page));
    }
}

impl Page {
    /// A page that was rendered at a moment, of what the interface answered in this state and language.
    #[must_use]
    pub fn new(html: String, state: HeaderValue, language: Option<String>, now: Timestamp) -> Self {
        Self { state, language, minute: minute(now), length: html.len(), html: Packed::new(html) }
    }

    /// The page.
    #[must_use]
    pub const fn html(&self) -> &Packed {
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
    fn a_page_is_kept_for_its_minute() {
        let pages = Pages::seeing(2);
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let state = HeaderValue::from_static("\"a\"");
        pages.keep("home".into(), Page::new("<html>".into(), state, None, at("2026-11-22T09:30:01Z")));
        assert!(pages.get("home", at("2026-11-22T09:30:59Z")).is_some());
        assert!(pages.get("home", at("2026-11-22T09:31:00Z")).is_none());
        assert!(pages.get("other", at("2026-11-22T09:30:01Z")).is_none());
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let pages = Pages::seeing(2);
        let now = Timestamp::UNIX_EPOCH;
        for number in 0..2_000 {
            let page = Page::new("x".repeat(50_000), HeaderValue::from_static("\"a\""), None, now);
            pages.keep(number.to_string().into(), page);
        }
        assert!(pages.0.weight() <= PAGES && pages.0.len() > 100, "{} bytes", pages.0.weight());
    }
}
