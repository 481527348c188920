//! The review page: the answers before submission, step by step, each with a link to change them.

use askama::Template;
use engine::error::{Error, Result};

use super::answers::{LabelledAnswer, answers, fees};
use super::frame::PageFrame;
use super::home::outcome;
use super::mark::{self, Mark};
use super::page_stay::PageStay;
use super::summary::Summary;
use crate::guest::{PrecheckinStatus, StepView};
use crate::words::fill;

#[derive(Template)]
#[template(path = "page/review.html")]
struct ReviewPage<'v> {
    frame: PageFrame<'v>,
    summary: Option<Summary>,
    progress: String,
    /// The result of the submission; `None` before it.
    outcome: Option<&'static str>,
    answered: Vec<AnsweredReviewStep<'v>>,
    /// The address that submits the answers.
    submit: Option<String>,
    /// The steps that keep the guest from submitting.
    missing: Vec<IncompleteStep<'v>>,
}

/// A step that keeps the guest from submitting.
struct IncompleteStep<'v> {
    step: &'v StepView,
    href: String,
    /// The need of the step, in words.
    text: String,
}

/// A step with its answers.
struct AnsweredReviewStep<'v> {
    step: &'v StepView,
    answers: Vec<LabelledAnswer<'v>>,
    mark: Mark,
    /// The link to change the answers; `change_what` is its label.
    change: Option<String>,
    change_what: String,
}

/// Renders the review page. `text` is the reason why the answers could not be submitted.
pub fn render(page_stay: &PageStay, text: Option<&'static str>) -> Result<String> {
    let words = &page_stay.words.precheckin;
    let answered = |step| AnsweredReviewStep {
        answers: answers(step, page_stay)
            .into_iter()
            .chain(fees(step, page_stay))
            .collect(),
        mark: Mark::of(page_stay, step),
        change: page_stay
            .is_open(step)
            .then(|| page_stay.links.step(step.id)),
        change_what: fill(words.change_what, &[("title", &step.title)]),
        step,
    };
    let (done, total) = (page_stay.done(), page_stay.steps().len());
    let precheckin = &page_stay.view.precheckin;
    let outcome = if page_stay.is_over {
        Some(page_stay.words.errors.stay_over)
    } else {
        outcome(page_stay).filter(|_| precheckin.status != PrecheckinStatus::ChangesRequested)
    };
    ReviewPage {
        frame: PageFrame::of(page_stay, Some(words.review)),
        summary: text.map(|text| Summary {
            text: Some(text),
            links: Vec::new(),
        }),
        progress: fill(
            words.progress,
            &[("done", &done.to_string()), ("total", &total.to_string())],
        ),
        outcome,
        answered: page_stay.steps().iter().map(answered).collect(),
        submit: page_stay.is_asked().then(|| page_stay.links.submit()),
        missing: missing(page_stay),
    }
    .render()
    .map_err(Error::internal)
}

/// Returns the steps that keep the guest from submitting, each with its need.
fn missing(page_stay: &PageStay) -> Vec<IncompleteStep<'_>> {
    let missing = |step| {
        Some(IncompleteStep {
            text: mark::missing(page_stay, step)?,
            href: page_stay.links.step(step.id),
            step,
        })
    };
    page_stay.steps().iter().filter_map(missing).collect()
}
