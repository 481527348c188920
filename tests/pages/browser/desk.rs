//! A keyboard user of the console: helpers that reach every control with Tab and operate it with
//! keys alone.

use serde_json::Value;
use test_support::App;

use super::window::{DOWN, ENTER, SPACE, TAB, Window};

/// A script that lists the elements that Tab stops at, in page order.
const TABBABLE: &str = include_str!("tabbable.js");
/// Maximum number of Tab presses to reach an element from a nearby element. Within a date field,
/// Tab stops several times.
const NEAR: usize = 24;

/// A browser window on the console of a server.
pub struct Desk<'d> {
    pub window: &'d Window,
    pub app: &'d App,
    /// A text that is part of every name that this run creates, so that names are unique between
    /// runs.
    pub mark: String,
}

impl Desk<'_> {
    pub async fn open(&self, path: &str) {
        self.window
            .go(&format!("{}/console{path}", self.app.base))
            .await;
    }

    /// Presses Tab until the focus is on the first element that matches the selector and whose
    /// label or text begins with `text`. Checks that the focus is visible.
    pub async fn tab(&self, selector: &str, text: &str) {
        let find = format!(
            "{TABBABLE} window.wanted = tabbable.find((it) =>
            it.matches({selector:?}) && (it.getAttribute('aria-label') || it.innerText || '')
                .trim().startsWith({text:?})); if (!window.wanted) return null;
            return tabbable.indexOf(window.wanted) - tabbable.indexOf(document.activeElement);"
        );
        for _ in 0..NEAR {
            let mut away = self.window.run(&find).await;
            // On a page that is still loading, the script does not find the element and returns
            // null. The test therefore runs the script again for up to 5 s.
            for _ in 0..50 {
                if !away.is_null() {
                    break;
                }
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                away = self.window.run(&find).await;
            }
            let Some(away) = away.as_i64() else {
                panic!(
                    "no {selector} {text:?} is reached at {}: {}",
                    self.window.path().await,
                    self.window.text().await
                )
            };
            if away == 0 {
                let focused = self.window.focused().await;
                assert!(
                    focused["isOutlined"] == true,
                    "the focus is not seen: {focused}"
                );
                return;
            }
            self.window
                .repeats(TAB, usize::try_from(away.unsigned_abs()).unwrap(), away < 0)
                .await;
        }
        panic!(
            "{selector} {text:?} is not reached by Tab at {}: {}",
            self.window.path().await,
            self.window.focused().await
        );
    }

    /// Moves to a link or button with Tab, presses Enter, and waits for the next page.
    pub async fn enter(&self, selector: &str, text: &str) {
        self.tab(selector, text).await;
        self.window.leaves(self.window.press(ENTER)).await;
    }

    /// Replaces the content of a field.
    pub async fn write(&self, selector: &str, text: &str) {
        self.tab(selector, "").await;
        self.window.empties().await;
        self.window.types(text).await;
    }

    /// Toggles a checkbox.
    pub async fn tick(&self, selector: &str) {
        self.tab(selector, "").await;
        self.window.press(SPACE).await;
    }

    /// Moves to a list with Tab and selects a value with the Down key.
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

    /// Checks that the page shows a success message.
    #[track_caller]
    pub fn done(&self) -> impl Future<Output = ()> {
        let caller = std::panic::Location::caller();
        async move {
            let is_done = self
                .window
                .run("return !!document.querySelector('.done')")
                .await;
            assert_eq!(
                is_done,
                true,
                "{caller}: {} says {}",
                self.window.path().await,
                self.window.text().await
            );
        }
    }

    /// Presses Tab through the whole page. Checks that every usable element gets a visible focus,
    /// in reading order, and that Tab moves the focus out of each element.
    pub async fn assert_tab_order(&self) {
        let window = self.window;
        let at = window.path().await;
        let count = window
            .run(&format!(
                "{TABBABLE} window.left = new Set(tabbable); document.activeElement.blur(); \
                    window.last = null; return tabbable.length"
            ))
            .await;
        let step = "const it = document.activeElement; const isNew = it !== window.last;
            const isBack = isNew && window.last
                && (window.last.compareDocumentPosition(it) & Node.DOCUMENT_POSITION_PRECEDING) > 0;
            const style = getComputedStyle(it); const isSeen = it === document.body ||
                it.localName === 'iframe' || it.type === 'date' || it.type === 'datetime-local'
                || (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0 &&
                    it.getBoundingClientRect().width > 0);
            window.left.delete(it); if (it !== document.body) window.last = it;
            return { is: it.outerHTML.slice(0, 120), isBack, isSeen, isDone: it === document.body ||
                isBack };";
        let most = usize::try_from(count.as_u64().unwrap()).unwrap() + 120;
        let mut is_done = false;
        for _ in 0..most {
            window.press(TAB).await;
            let step = window.run(step).await;
            assert!(
                step["isSeen"] == true,
                "{at}: the focus is not seen: {step}"
            );
            if step["isDone"] == true {
                is_done = true;
                break;
            }
        }
        assert!(is_done, "{at}: the focus is caught");
        let remaining = window
            .run(
                "return [...window.left].filter((it) => it.localName !== 'iframe').map((it) => \
                    it.outerHTML.slice(0, 120))",
            )
            .await;
        assert_eq!(
            remaining,
            Value::Array(Vec::new()),
            "{at}: Tab passes over these"
        );
    }
}
