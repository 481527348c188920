//! What was answered, before it is submitted: step by step, each with the way to change it.

use askama::Template;
use engine::error::{Error, Result};

use super::frame::Frame;
use super::given::{Given, given};
use super::home::outcome;
use super::seen::{Status, Step};
use super::shown::Shown;
use super::summary::Summary;
use crate::words::fill;

#[derive(Template)]
#[template(path = "page/review.html")]
struct Review<'v> {
    frame: Frame<'v>,
    summary: Option<Summary>,
    progress: String,
    /// What has become of it, once it has been submitted.
    outcome: Option<&'static str>,
    answered: Vec<Answered<'v>>,
    /// Where it is submitted.
    submit: Option<String>,
    is_ready: bool,
}

/// A step, and what was answered to it.
struct Answered<'v> {
    step: &'v Step,
    given: Vec<Given>,
    /// Where it is changed, and what that is called.
    change: Option<String>,
    change_what: String,
}

/// The page of the answers; `said` is why they could not be submitted.
pub fn render(shown: &Shown, said: Option<&'static str>) -> Result<String> {
    let words = &shown.words.precheckin;
    let answered = |step| Answered {
        given: given(step, shown),
        change: shown.is_open(step).then(|| shown.links.step(step.id)),
        change_what: fill(words.change_what, &[("title", &step.title)]),
        step,
    };
    let (done, total) = (shown.done(), shown.steps().len());
    let precheckin = &shown.view.precheckin;
    let is_asked = precheckin.is_enabled && total > 0 && !precheckin.status.is_submitted() && !shown.is_preview;
    Review {
        frame: Frame::of(shown, Some(words.review)),
        summary: said.map(|said| Summary { said: Some(said), links: Vec::new() }),
        progress: fill(words.progress, &[("done", &done.to_string()), ("total", &total.to_string())]),
        outcome: outcome(shown).filter(|_| precheckin.status != Status::ChangesRequested),
        answered: shown.steps().iter().map(answered).collect(),
        submit: is_asked.then(|| shown.links.submit()),
        is_ready: done == total,
    }
    .render()
    .map_err(Error::internal)
}
