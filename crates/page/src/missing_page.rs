//! Error pages that are shown instead of the requested page. They say that the stay, the step, the
//! manual or the pass does not exist, or that the request failed temporarily.

use askama::Template;
use engine::error::{Error, ErrorKind, Result};
use features::words::{Words, in_language};

use super::frame::PageFrame;
use super::page_stay::PageStay;

#[derive(Template)]
#[template(path = "notice.html")]
struct MissingPage<'v> {
    frame: PageFrame<'v>,
    heading: &'static str,
    more: Option<&'static str>,
}

/// The kind of object that the requested URL names. The stay has no such object with the id in the
/// URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingThing {
    Step,
    Manual,
    Pass,
}

/// Renders the error page for a refusal with this status, instead of a page of the stay. `tag` is
/// the language of the error page.
pub fn error_page(status: u16, tag: &str) -> Result<String> {
    let text = |words: &'static Words| match status {
        status if status == ErrorKind::RateLimit.status() => (words.pages.busy, None),
        404 => (words.pages.missing, Some(words.pages.missing_hint)),
        400..500 => (words.errors.retry, None),
        _ => (words.pages.unavailable, None),
    };
    let (heading, more) = text(in_language(tag).0);
    MissingPage {
        frame: PageFrame::bare(tag, |words| text(words).0),
        heading,
        more,
    }
    .render()
    .map_err(Error::internal)
}

/// Renders the page that says that the stay has no such step, manual or pass.
pub fn missing(page_stay: &PageStay, what: MissingThing) -> Result<String> {
    let heading = match what {
        MissingThing::Step if page_stay.is_over => page_stay.texts.errors.stay_over,
        MissingThing::Step => page_stay.texts.pages.step_missing,
        MissingThing::Manual | MissingThing::Pass => page_stay.texts.pages.manual_missing,
    };
    MissingPage {
        frame: PageFrame::of(page_stay, Some(heading)),
        heading,
        more: None,
    }
    .render()
    .map_err(Error::internal)
}
