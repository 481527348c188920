//! A member at work in the console with a keyboard and nothing else.

use serde_json::Value;

use super::window::{DOWN, ENTER, SPACE, TAB, Window};
use crate::support::App;

/// What Tab stops at, in the order of the page.
const TABBABLE: &str = include_str!("tabbable.js");
/// Presses by which the focus comes from near a place to the place itself: a date has a stop for each of its parts.
const NEAR: usize = 24;

/// A window, and where it is at work.
pub struct Desk<'d> {
    pub window: &'d Window,
    pub app: &'d App,
    /// What sets what is made in this run apart.
    pub mark: String,
}

impl Desk<'_> {
    /// Opens a page of the console.
    pub async fn open(&self, path: &str) {
        self.window.go(&format!("{}/console{path}", self.app.base)).await;
    }

    /// Brings the focus by Tab to the first of what a selector finds whose text or label begins so, and sees to it that it is seen there.
    pub async fn tab(&self, selector: &str, text: &str) {
        let find = format!(
            "{TABBABLE} window.wanted = tabbable.find((it) => it.matches({selector:?}) && (it.getAttribute('aria-label') || it.innerText || '')
                .trim().startsWith({text:?})); if (!window.wanted) return null;
            return tabbable.indexOf(window.wanted) - tabbable.indexOf(document.activeElement);"
        );
        for _ in 0..NEAR {
            let away = self.window.run(&find).await;
            let Some(away) = away.as_i64() else {
                panic!("no {selector} {text:?} is reached at {}: {}", self.window.path().await, self.window.text().await)
            };
            if away == 0 {
                let focused = self.window.focused().await;
                assert!(focused["isOutlined"] == true, "the focus is not seen: {focused}");
                return;
            }
            self.window.repeats(TAB, usize::try_from(away.unsigned_abs()).unwrap(), away < 0).await;
        }
        panic!("{selector} {text:?} is not reached by Tab at {}: {}", self.window.path().await, self.window.focused().await);
    }

    /// Goes to a link or a button and presses Enter, which leads to another page.
    pub async fn enter(&self, selector: &str, text: &str) {
        self.tab(selector, text).await;
        self.window.leaves(self.window.press(ENTER)).await;
    }

    /// Writes into a field, in place of what it holds.
    pub async fn write(&self, selector: &str, text: &str) {
        self.tab(selector, "").await;
        self.window.empties().await;
        self.window.types(text).await;
    }

    /// Ticks a box, or unticks it.
    pub async fn tick(&self, selector: &str) {
        self.tab(selector, "").await;
        self.window.press(SPACE).await;
    }

    /// Chooses something of a list, by going down in it.
    pub async fn choose(&self, selector: &str, value: &str) {
        self.tab(selector, "").await;
        for _ in 0..60 {
            if self.window.run("return document.activeElement.value").await == value {
                return;
            }
            self.window.press(DOWN).await;
        }
        panic!("{selector} never has {value}");
    }

    /// Sees to it that the page says that something was done.
    #[track_caller]
    pub fn done(&self) -> impl Future<Output = ()> {
        let caller = std::panic::Location::caller();
        async move {
            let is_done = self.window.run("return !!document.querySelector('.done')").await;
            assert_eq!(is_done, true, "{caller}: {} says {}", self.window.path().await, self.window.text().await);
        }
    }

    /// Goes through the whole page by Tab: everything that can be used is come to, in the order in which it is read, is seen to have the
    /// focus, and lets it go again.
    pub async fn goes_around(&self) {
        let window = self.window;
        let at = window.path().await;
        let count = window
            .run(&format!(
                "{TABBABLE} window.left = new Set(tabbable); document.activeElement.blur(); window.last = null; return tabbable.length"
            ))
            .await;
        let step = "const it = document.activeElement; const isNew = it !== window.last; const isBack = isNew && window.last
                && (window.last.compareDocumentPosition(it) & Node.DOCUMENT_POSITION_PRECEDING) > 0;
            const style = getComputedStyle(it); const isSeen = it === document.body || it.localName === 'iframe' || it.type === 'date' || it.type === 'datetime-local'
                || (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0 && it.getBoundingClientRect().width > 0);
            window.left.delete(it); if (it !== document.body) window.last = it;
            return { is: it.outerHTML.slice(0, 120), isBack, isSeen, isDone: it === document.body || isBack };";
        let most = usize::try_from(count.as_u64().unwrap()).unwrap() + 120;
        let mut is_done = false;
        for _ in 0..most {
            window.press(TAB).await;
            let step = window.run(step).await;
            assert!(step["isSeen"] == true, "{at}: the focus is not seen: {step}");
            if step["isDone"] == true {
                is_done = true;
                break;
            }
        }
        assert!(is_done, "{at}: the focus is caught");
        let left =
            window.run("return [...window.left].filter((it) => it.localName !== 'iframe').map((it) => it.outerHTML.slice(0, 120))").await;
        assert_eq!(left, Value::Array(Vec::new()), "{at}: Tab passes over these");
    }
}
