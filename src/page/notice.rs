//! Pages that are shown instead of another: no such stay, no such step, or a temporary failure.

use askama::Template;
use engine::error::{Error, Kind, Result};

use super::frame::Frame;
use super::shown::Shown;
use crate::words::{Words, in_language};

#[derive(Template)]
#[template(path = "page/notice.html")]
struct Notice<'v> {
    frame: Frame<'v>,
    heading: &'static str,
    more: Option<&'static str>,
}

/// The kind of thing that a stay does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// A step.
    Step,
    /// A manual.
    Manual,
    /// A pass.
    Pass,
}

/// Renders the page that is shown instead of a stay, for this status, in the language with this
/// tag.
pub fn instead(status: u16, tag: &str) -> Result<String> {
    let said = |words: &'static Words| match status {
        status if status == Kind::RateLimit.status() => (words.pages.busy, None),
        404 => (words.pages.missing, Some(words.pages.missing_hint)),
        400..500 => (words.errors.retry, None),
        _ => (words.pages.unavailable, None),
    };
    let (heading, more) = said(in_language(tag).0);
    Notice {
        frame: Frame::bare(tag, |words| said(words).0),
        heading,
        more,
    }
    .render()
    .map_err(Error::internal)
}

/// Renders the page for a thing that the stay does not have.
pub fn missing(shown: &Shown, what: Missing) -> Result<String> {
    let heading = match what {
        Missing::Step if shown.is_over => shown.words.errors.stay_over,
        Missing::Step => shown.words.pages.step_missing,
        Missing::Manual | Missing::Pass => shown.words.pages.manual_missing,
    };
    Notice {
        frame: Frame::of(shown, Some(heading)),
        heading,
        more: None,
    }
    .render()
    .map_err(Error::internal)
}
