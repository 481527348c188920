//! The review page. Before the submission, it shows the guest's answers, with a link on each step
//! to change them.

use askama::Template;
use engine::error::{Error, Result};
use features::guest::{PrecheckinStatus, StepView};
use features::words::fill;

use super::answers::{LabelledAnswer, answers, fees};
use super::frame::PageFrame;
use super::home::submission_status;
use super::page_stay::PageStay;
use super::step_mark::{self, StepMark};
use super::summary::Summary;

#[derive(Template)]
#[template(path = "review.html")]
struct ReviewPage<'v> {
    frame: PageFrame<'v>,
    summary: Option<Summary>,
    progress: String,
    /// A sentence on the status of the submitted pre-check-in; `None` before the submission.
    outcome: Option<&'static str>,
    answered: Vec<AnsweredReviewStep<'v>>,
    /// The address of the form that submits the pre-check-in; `None` if the guest cannot submit it
    /// now.
    submit: Option<String>,
    /// The steps that the guest must complete before the submission.
    missing: Vec<IncompleteStep<'v>>,
}

/// A step that prevents the submission, and the reason.
struct IncompleteStep<'v> {
    step: &'v StepView,
    href: String,
    /// A text that names the missing parts of the step.
    text: String,
}

/// A step, with the answers that the guest has given.
struct AnsweredReviewStep<'v> {
    step: &'v StepView,
    answers: Vec<LabelledAnswer<'v>>,
    mark: StepMark,
    /// The link to change the answers; `change_what` is the label of the link.
    change: Option<String>,
    change_what: String,
}

/// Renders the review page. `text` tells the guest why the submission was refused. It is `None`
/// unless a refused submission led to this page.
pub fn render(page_stay: &PageStay, text: Option<&'static str>) -> Result<String> {
    let words = &page_stay.texts.precheckin;
    let answered = |step| AnsweredReviewStep {
        answers: answers(step, page_stay)
            .into_iter()
            .chain(fees(step, page_stay))
            .collect(),
        mark: StepMark::of(page_stay, step),
        change: page_stay
            .is_open(step)
            .then(|| page_stay.links.step(step.id)),
        change_what: fill(words.change_what, &[("title", &step.title)]),
        step,
    };
    let (done, total) = (page_stay.complete_count(), page_stay.steps().len());
    let precheckin = &page_stay.view.precheckin;
    let outcome = if page_stay.is_over {
        Some(page_stay.texts.errors.stay_over)
    } else {
        submission_status(page_stay)
            .filter(|_| precheckin.status != PrecheckinStatus::ChangesRequested)
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
        submit: page_stay.should_submit().then(|| page_stay.links.submit()),
        missing: missing(page_stay),
    }
    .render()
    .map_err(Error::internal)
}

/// Returns the incomplete steps, which prevent the submission. Each has a sentence about the
/// missing part, and a link to its page.
fn missing(page_stay: &PageStay) -> Vec<IncompleteStep<'_>> {
    let missing = |step| {
        Some(IncompleteStep {
            text: step_mark::missing(page_stay, step)?,
            href: page_stay.links.step(step.id),
            step,
        })
    };
    page_stay.steps().iter().filter_map(missing).collect()
}
