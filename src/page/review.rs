//! The review page: the answers before submission, step by step, each with a link to change them.

use askama::Template;
use engine::error::{Error, Result};

use super::frame::Frame;
use super::given::{Given, fees, given};
use super::home::outcome;
use super::mark::{self, Mark};
use super::shown::Shown;
use super::summary::Summary;
use crate::guest::{PrecheckinStatus, StepView};
use crate::words::fill;

#[derive(Template)]
#[template(path = "page/review.html")]
struct Review<'v> {
    frame: Frame<'v>,
    summary: Option<Summary>,
    progress: String,
    /// The result of the submission; `None` before it.
    outcome: Option<&'static str>,
    answered: Vec<Answered<'v>>,
    /// The address that submits the answers.
    submit: Option<String>,
    /// The steps that keep the guest from submitting.
    missing: Vec<Missing<'v>>,
}

/// A step that keeps the guest from submitting.
struct Missing<'v> {
    step: &'v StepView,
    href: String,
    /// The need of the step, in words.
    said: String,
}

/// A step with its answers.
struct Answered<'v> {
    step: &'v StepView,
    given: Vec<Given>,
    mark: Mark,
    /// The link to change the answers; `change_what` is its label.
    change: Option<String>,
    change_what: String,
}

/// Renders the review page. `said` is the reason why the answers could not be submitted.
pub fn render(shown: &Shown, said: Option<&'static str>) -> Result<String> {
    let words = &shown.words.precheckin;
    let answered = |step| Answered {
        given: given(step, shown)
            .into_iter()
            .chain(fees(step, shown))
            .collect(),
        mark: Mark::of(shown, step),
        change: shown.is_open(step).then(|| shown.links.step(step.id)),
        change_what: fill(words.change_what, &[("title", &step.title)]),
        step,
    };
    let (done, total) = (shown.done(), shown.steps().len());
    let precheckin = &shown.view.precheckin;
    let outcome = if shown.is_over {
        Some(shown.words.errors.stay_over)
    } else {
        outcome(shown).filter(|_| precheckin.status != PrecheckinStatus::ChangesRequested)
    };
    Review {
        frame: Frame::of(shown, Some(words.review)),
        summary: said.map(|said| Summary {
            said: Some(said),
            links: Vec::new(),
        }),
        progress: fill(
            words.progress,
            &[("done", &done.to_string()), ("total", &total.to_string())],
        ),
        outcome,
        answered: shown.steps().iter().map(answered).collect(),
        submit: shown.is_asked().then(|| shown.links.submit()),
        missing: missing(shown),
    }
    .render()
    .map_err(Error::internal)
}

/// Returns the steps that keep the guest from submitting, each with its need.
fn missing(shown: &Shown) -> Vec<Missing<'_>> {
    let missing = |step| {
        Some(Missing {
            said: mark::missing(shown, step)?,
            href: shown.links.step(step.id),
            step,
        })
    };
    shown.steps().iter().filter_map(missing).collect()
}
