//! The questions of a step. The buttons that add, move and remove a question change only the form.
//! The save button writes all changes together.

mod edited_questions;
mod merged;

use std::collections::HashMap;

use askama::Template;
use axum::response::Response;
use features::translations::ENGLISH;
use features::words::fill;
use serde_json::{Value, json};

use self::edited_questions::{
    EditedOption, EditedQuestion, EditedText, KINDS, RemoteChange, apply_button, condition, fold,
};
use self::merged::{OpenedQuestions, are_same, lost_conditions, merged};
use super::{STEP, stored};
use crate::form::{StoredResource, new_text};
use crate::frame::{CompletedAction, ConsoleFrame};
use crate::labels;
use crate::refusal::ConsoleRefusal;
use crate::reply;
use crate::request::{ConsoleFields, ConsoleRequest};
use crate::screens::{ScreenResponse, resource_address};
use crate::texts::{self, texts_of_form};

/// The source table of the texts of questions and options.
const SOURCE: &str = "precheck_question";
/// Maximum number of options of earlier questions that the form offers as conditions all at once.
/// If there are more, the form offers the options of one question at a time.
const FEW: usize = 12;
/// Maximum length of a short title, in characters.
const BRIEF: usize = 60;
/// Maximum number of questions that one notice describes.
const MAX_DESCRIBED: usize = 30;
/// Limits of a short description of a question: the number of characters of each text in it, and
/// the number of options that it lists.
const SHORT: (usize, usize) = (2 * BRIEF, 10);
/// Limits of a complete description of a question: the number of characters of each text, and the
/// number of options. The page shows this description to a member who has to choose between two
/// versions of the question.
const WHOLE: (usize, usize) = (6_000, 100);

/// An option of an earlier question that the member can select as a condition.
struct ConditionOption {
    key: String,
    label: String,
    is_chosen: bool,
}

/// A question, as the page shows it.
struct QuestionItem {
    question: EditedQuestion,
    number: usize,
    /// The prefix of the names of the question's form fields.
    name: String,
    kinds: Vec<(&'static str, String, bool)>,
    is_kept: bool,
    is_written: bool,
    /// The options that the service created for a stored yes-or-no question. Each option has its
    /// key, its label, and whether choosing it flags the submission. Empty for any other question.
    own_options: Vec<(String, String, bool)>,
    ways: Vec<ConditionOption>,
    /// The earlier questions of the step that have options. Each has its key, its title, and
    /// whether the form offers its options as conditions.
    from: Vec<(String, String, bool)>,
    errors: Vec<String>,
    /// A description of the stored version of the question, and whether the member chose that
    /// version. Set if the member and another member have both changed the question since the form
    /// was opened.
    theirs: Option<(String, bool)>,
    /// A sentence about a conflict. Set if the member or another member removed the question, and
    /// the other of the two changed it.
    conflict: Option<&'static str>,
    /// A short title. The page shows it while the question is collapsed.
    brief: String,
    about: String,
}

#[derive(Template)]
#[template(path = "questions.html")]
struct QuestionsPage<'v> {
    frame: ConsoleFrame<'v>,
    action: String,
    hidden: ConsoleFields,
    questions: Vec<QuestionItem>,
    /// Error messages. A message about one question also has the number of that question.
    problems: Vec<(String, Option<usize>)>,
    notes: Vec<String>,
    /// Descriptions of the questions that other members changed, and the address of the page with
    /// the stored questions.
    theirs: Option<(Vec<String>, String)>,
    /// The beginning of the URL of the page that shows one text in all languages. The id of a text
    /// is appended to it. `None` if the member may not open the page.
    languages: Option<String>,
    may_change: bool,
}

impl QuestionsPage<'_> {
    /// Returns the address of the page that shows a text in all languages. Returns `None` if `id`
    /// is empty, or if the member may not open the page.
    fn way_to(&self, id: &str) -> Option<String> {
        self.languages
            .as_ref()
            .filter(|_| !id.is_empty())
            .map(|way| format!("{way}{id}"))
    }
}

fn listed(stored: &StoredResource) -> &[Value] {
    stored
        .value
        .get("questions")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}

/// Reads the questions of a step, with their texts in English.
async fn questions_of(
    request: &ConsoleRequest,
    stored: &StoredResource,
) -> Result<Vec<EditedQuestion>, ConsoleRefusal> {
    let questions = listed(stored);
    let options = questions
        .iter()
        .flat_map(|question| question["options"].as_array().into_iter().flatten());
    let ids = questions
        .iter()
        .map(|question| &question["textMlTextId"])
        .chain(options.map(|option| &option["nameMlTextId"]));
    let texts = texts_of_form(
        request,
        ENGLISH,
        ids.filter_map(|id| id.as_str()?.parse().ok()),
    )
    .await?;
    Ok(questions
        .iter()
        .map(|question| EditedQuestion::stored(question, &texts))
        .collect())
}

fn brief(text: &str) -> String {
    cut(text, BRIEF)
}

fn cut(text: &str, letters: usize) -> String {
    if text.chars().count() > letters {
        text.chars().take(letters).chain(['…']).collect()
    } else {
        text.to_owned()
    }
}

/// The data from which the page of questions is rendered.
struct QuestionsView {
    questions: Vec<EditedQuestion>,
    updated_at: String,
    key: String,
    status: u16,
    problems: Vec<(String, Option<usize>)>,
    /// Error messages, by the number of the question that they are about.
    errors: HashMap<usize, Vec<String>>,
    note: Option<&'static str>,
    /// The questions at the moment when the form was opened.
    base: OpenedQuestions,
    /// The questions in the form before a button changed them.
    before: Vec<EditedQuestion>,
    theirs: Option<Vec<String>>,
}

impl QuestionsView {
    fn of(
        request: &ConsoleRequest,
        questions: Vec<EditedQuestion>,
        base: OpenedQuestions,
        updated_at: String,
    ) -> Self {
        let key = request
            .form_value("key")
            .map_or_else(|| request.new_key(), str::to_owned);
        let (problems, errors, before) = (Vec::new(), HashMap::new(), Vec::new());
        Self {
            questions,
            updated_at,
            key,
            status: 200,
            problems,
            errors,
            note: None,
            base,
            before,
            theirs: None,
        }
    }

    /// Adds each issue of a refusal to the question that the issue is about.
    fn refused(&mut self, request: &ConsoleRequest, refusal: &ConsoleRefusal) {
        self.status = refusal.status;
        for issue in &refusal.issues {
            let number = issue
                .path
                .iter()
                .find_map(|segment| segment.parse::<usize>().ok());
            match number.filter(|number| *number < self.questions.len()) {
                Some(number) => self.wrong(request, number, &issue.message),
                None => self.problems.push((issue.message.clone(), None)),
            }
        }
        if self.problems.is_empty() {
            self.problems.push((refusal.message.clone(), None));
        }
    }

    /// Adds an error message to a question.
    fn wrong(&mut self, request: &ConsoleRequest, number: usize, message: &str) {
        self.problems.push((
            format!("{} {}: {message}", request.texts.steps.question, number + 1),
            Some(number),
        ));
        self.errors
            .entry(number)
            .or_default()
            .push(message.to_owned());
        (
            self.questions[number].is_open,
            self.questions[number].is_just_edited,
        ) = (true, true);
    }

    /// Merges the questions of the form with the stored questions. If the member who sent the form
    /// and another member changed the same question, the form shows both versions.
    fn merge(&mut self, request: &ConsoleRequest, now: &StoredResource, known: &[EditedQuestion]) {
        let mine = OpenedQuestions::of(&self.questions);
        let is_told =
            |stored: &&EditedQuestion| self.base.is_another(stored) || mine.is_another(stored);
        let reported = known
            .iter()
            .filter(is_told)
            .take(MAX_DESCRIBED)
            .map(|stored| describe(request, stored, known, SHORT));
        self.theirs = Some(reported.collect());
        self.questions = merged(&self.base, &self.questions, known);
        (self.base, self.updated_at, self.status) =
            (OpenedQuestions::of(known), updated_at(now), 409);
    }

    /// Describes which questions and conditions are lost when the form is saved.
    fn losses(&self, request: &ConsoleRequest, known: &[EditedQuestion]) -> Vec<String> {
        let words = &request.texts.steps;
        let is_gone = |number: &usize| {
            !self
                .questions
                .iter()
                .any(|kept| kept.key == known[*number].key)
        };
        let gone: Vec<usize> = (0..known.len()).filter(is_gone).collect();
        let loosened = lost_conditions(&[known, &self.before], &self.questions);
        let named = |(text, questions, numbers): (&str, &[EditedQuestion], Vec<usize>)| {
            let names = numbers
                .iter()
                .take(MAX_DESCRIBED)
                .map(|number| name_of(request, &questions[*number], *number));
            let names = names
                .map(|name| fill(words.quoted, &[("text", &name)]))
                .collect::<Vec<_>>()
                .join(", ");
            (!names.is_empty()).then(|| fill(text, &[("questions", &names)]))
        };
        let all = [
            (words.goes, known, gone),
            (words.asked_of_all_now, &self.questions[..], loosened.of_all),
            (words.fewer_answers, &self.questions[..], loosened.of_more),
        ];
        all.into_iter().filter_map(named).collect()
    }

    /// Renders the page. `known` has the stored questions.
    fn page(
        mut self,
        request: &ConsoleRequest,
        stored: &StoredResource,
        known: &[EditedQuestion],
    ) -> Response {
        let words = request.texts;
        let notes = self
            .note
            .map(str::to_owned)
            .into_iter()
            .chain(self.losses(request, known))
            .collect();
        fold(&mut self.questions, known);
        let mut earlier: Vec<Offered> = Vec::new();
        let mut shown = Vec::new();
        for (number, question) in std::mem::take(&mut self.questions).into_iter().enumerate() {
            let offered = Offered::of(request, &question, number);
            let errors = self.errors.remove(&number).unwrap_or_default();
            shown.push(show_one(request, question, number, &earlier, known, errors));
            earlier.push(offered);
        }
        let id = stored.id;
        let title = stored
            .value
            .get("nickname")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let frame = ConsoleFrame::new(request, words.steps.questions)
            .with_parent(request, words.steps.steps, "/steps")
            .with_parent(request, title, &format!("/steps/{id}"));
        let action = request.address(&format!("/steps/{id}/questions"));
        let hidden = [
            ("form", request.signed_in.form_token()),
            ("key", self.key),
            ("updatedAt", self.updated_at),
            ("base", self.base.text()),
        ];
        let page = QuestionsPage {
            frame,
            action: action.clone(),
            hidden: hidden
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            questions: shown,
            problems: self.problems,
            notes,
            theirs: self.theirs.map(|theirs| (theirs, action)),
            languages: resource_address(request, "/translations/{id}", ""),
            may_change: request.may(STEP.update),
        };
        reply::page_of_template(request, self.status, &page)
    }
}

/// A question with options that later questions can use as conditions.
struct Offered {
    key: String,
    name: String,
    /// The key and the label of each option.
    options: Vec<(String, String)>,
}

impl Offered {
    fn of(request: &ConsoleRequest, question: &EditedQuestion, number: usize) -> Self {
        let words = request.texts;
        let name = name_of(request, question, number);
        let label = |option: &EditedOption| match &*option.answer {
            "yes" => words.frame.yes.to_owned(),
            "no" => words.frame.no.to_owned(),
            _ => brief(&option.text.current),
        };
        let options = question
            .options
            .iter()
            .map(|option| (option.key.clone(), label(option)));
        Self {
            key: question.key.clone(),
            name,
            options: options
                .filter(|(_, label)| !label.trim().is_empty())
                .collect(),
        }
    }
}

/// Returns a title of a question: its shortened text or, if it has no text, a word for a question
/// with the question's number.
fn name_of(request: &ConsoleRequest, question: &EditedQuestion, number: usize) -> String {
    if question.text.is_blank() {
        format!("{} {}", request.texts.steps.question, number + 1)
    } else {
        brief(&question.text.current)
    }
}

/// Describes a stored question: its text, the kind of its answer, its options and its conditions.
/// `letters` is the maximum length of each text in the description, and `most` is the maximum
/// number of options and of conditions that the description lists.
fn describe(
    request: &ConsoleRequest,
    question: &EditedQuestion,
    stored: &[EditedQuestion],
    (letters, most): (usize, usize),
) -> String {
    let words = &request.texts.steps;
    let mut parts = vec![
        cut(&question.text.current, letters),
        labels::choice(request.language, &question.kind),
    ];
    if question.is_written() {
        let options = question
            .options
            .iter()
            .take(most)
            .map(|option| cut(&option.text.current, letters))
            .collect::<Vec<_>>();
        parts.push(format!(
            "{}{}",
            options.join(" / "),
            if question.options.len() > most {
                " / …"
            } else {
                ""
            }
        ));
    }
    if question.is_required {
        parts.push(words.needed.to_owned());
    }
    let offered: Vec<Offered> = stored
        .iter()
        .enumerate()
        .map(|(number, question)| Offered::of(request, question, number))
        .collect();
    let answers = offered.iter().flat_map(|offered| {
        offered
            .options
            .iter()
            .map(move |(key, label)| (key, &offered.name, label))
    });
    let asked = answers
        .filter(|(key, _, _)| question.conditions.contains(key))
        .take(most);
    let asked: Vec<String> = asked
        .map(|(_, name, label)| format!("{name}: {label}"))
        .collect();
    parts.push(if asked.is_empty() {
        words.asked_of_all.to_owned()
    } else {
        format!("{}: {}", words.asked_when, asked.join(" / "))
    });
    parts.retain(|part| !part.is_empty());
    parts.join(" · ")
}

fn show_one(
    request: &ConsoleRequest,
    question: EditedQuestion,
    number: usize,
    earlier: &[Offered],
    known: &[EditedQuestion],
    errors: Vec<String>,
) -> QuestionItem {
    let words = request.texts;
    let is_few = earlier
        .iter()
        .map(|offered| offered.options.len())
        .sum::<usize>()
        <= FEW;
    let (mut ways, mut from) = (Vec::new(), Vec::new());
    for offered in earlier.iter().filter(|_| question.is_open) {
        for (key, label) in &offered.options {
            let is_chosen = question.conditions.contains(key);
            if is_few || is_chosen || question.from == offered.key {
                ways.push(ConditionOption {
                    key: key.clone(),
                    label: format!("{}: {label}", offered.name),
                    is_chosen,
                });
            }
        }
        if !is_few && !offered.options.is_empty() {
            from.push((
                offered.key.clone(),
                offered.name.clone(),
                question.from == offered.key,
            ));
        }
    }
    let kind = labels::choice(request.language, &question.kind);
    let count = question.options.len().to_string();
    let about = if question.is_written() {
        format!(
            "{kind} · {}",
            fill(words.steps.options_count, &[("count", &count)])
        )
    } else {
        kind
    };
    let is_asked_when = (!question.conditions.is_empty()).then_some(words.steps.is_conditional);
    QuestionItem {
        name: format!("q{number}"),
        number,
        kinds: KINDS
            .iter()
            .map(|(kind, _)| {
                (
                    *kind,
                    labels::choice(request.language, kind),
                    *kind == question.kind,
                )
            })
            .collect(),
        is_kept: !question.id.is_empty(),
        is_written: question.is_written(),
        own_options: question
            .options
            .iter()
            .filter(|_| question.has_own_options())
            .map(|option| {
                let label = labels::choice(request.language, &option.answer);
                (option.key.clone(), label, option.is_flagged)
            })
            .collect(),
        ways,
        from,
        errors,
        theirs: question.is_theirs.and_then(|is_theirs| {
            let stored = known.iter().find(|stored| stored.key == question.key)?;
            Some((
                fill(
                    words.forms.theirs,
                    &[("value", &describe(request, stored, known, WHOLE))],
                ),
                is_theirs,
            ))
        }),
        conflict: question.conflict.map(|conflict| match conflict {
            RemoteChange::Changed => words.steps.is_back,
            RemoteChange::Removed => words.steps.is_removed,
        }),
        brief: brief(&question.text.current),
        about: is_asked_when.map_or_else(|| about.clone(), |when| format!("{about} · {when}")),
        question,
    }
}

fn updated_at(stored: &StoredResource) -> String {
    stored
        .value
        .get("updatedAt")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

pub fn show(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        let stored = stored(request, request.path_id("id")?).await?;
        let known = questions_of(request, &stored).await?;
        Ok(QuestionsView::of(
            request,
            known.clone(),
            OpenedQuestions::of(&known),
            updated_at(&stored),
        )
        .page(request, &stored, &known))
    })
}

pub fn save(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        let now = stored(request, request.path_id("id")?).await?;
        let known = questions_of(request, &now).await?;
        let sent = EditedQuestion::sent(&request.fields, &known);
        let mut questions = sent.clone();
        let act = request.form_value("act").unwrap_or_default();
        // If the form was sent with an unknown button or without a button, nothing is saved.
        let is_act = apply_button(&mut questions, act) || act != "save";
        let (base, expected) = (
            OpenedQuestions::sent(request.form_value("base").unwrap_or_default()),
            request
                .form_value("updatedAt")
                .unwrap_or_default()
                .to_owned(),
        );
        let mut view = QuestionsView::of(request, questions, base, expected.clone());
        if is_act || !request.may_write() {
            view.note = Some(if is_act {
                request.texts.steps.not_saved
            } else {
                request.texts.frame.is_kept
            });
            view.before = sent;
            return Ok(view.page(request, &now, &known));
        }
        // If the member chose the stored version of a question in conflict, the stored version
        // replaces the question of the form.
        for question in view
            .questions
            .iter_mut()
            .filter(|question| question.is_theirs == Some(true))
        {
            if let Some(stored) = known.iter().find(|stored| stored.key == question.key) {
                question.clone_from(stored);
            }
        }
        let questions = merged(&view.base, &view.questions, &known);
        if expected != updated_at(&now)
            || questions
                .iter()
                .any(|question| question.is_theirs.is_some())
        {
            view.merge(request, &now, &known);
            return Ok(view.page(request, &now, &known));
        }
        view.questions = questions;
        let blank: Vec<usize> = (0..view.questions.len())
            .filter(|number| view.questions[*number].is_blank())
            .collect();
        if !blank.is_empty() {
            view.status = 400;
            for number in blank {
                view.wrong(request, number, request.texts.steps.nothing_asked);
            }
            return Ok(view.page(request, &now, &known));
        }
        if are_same(&view.questions, &known) {
            return Ok(reply::redirect_with_confirmation(
                request,
                &request.path,
                CompletedAction::Unchanged,
            ));
        }
        match written(request, &now, &mut view.questions, &expected).await {
            Ok(()) => Ok(reply::redirect_with_confirmation(
                request,
                &request.path,
                CompletedAction::Saved,
            )),
            // Another member saved the step after this request had read it and before this update.
            Err(Failed {
                refusal,
                saved: None,
            }) if refusal.status == 409 => {
                let now = stored(request, now.id).await?;
                let known = questions_of(request, &now).await?;
                if updated_at(&now) == expected {
                    view.refused(request, &refusal);
                } else {
                    view.merge(request, &now, &known);
                }
                Ok(view.page(request, &now, &known))
            }
            Err(Failed { refusal, saved }) => {
                view.refused(request, &refusal);
                let Some(saved) = saved else {
                    return Ok(view.page(request, &now, &known));
                };
                // The form now starts from the saved questions, so it needs a new idempotency key.
                // If it kept the old key, and the member added a text before the next save, the
                // request for this text could get the recorded response for a text of this save.
                let known = questions_of(request, &saved).await.unwrap_or_default();
                (view.base, view.updated_at, view.key) = (
                    OpenedQuestions::of(&known),
                    updated_at(&saved),
                    request.new_key(),
                );
                view.note = Some(request.texts.forms.rest_saved);
                Ok(view.page(request, &saved, &known))
            }
        }
    })
}

/// The reason why questions were not saved completely. `saved` is the step if its list of questions
/// was saved and only texts could not be written.
struct Failed {
    refusal: ConsoleRefusal,
    saved: Option<StoredResource>,
}

/// Writes the questions: first new texts, then the list of questions, then existing texts.
async fn written(
    request: &ConsoleRequest,
    step: &StoredResource,
    questions: &mut [EditedQuestion],
    expected: &str,
) -> Result<(), Failed> {
    let unsaved = |refusal| Failed {
        refusal,
        saved: None,
    };
    let mut sent = Vec::new();
    for (number, question) in questions.iter().enumerate() {
        let text = linked(request, &question.key, &question.text, number)
            .await
            .map_err(unsaved)?;
        let mut options = Vec::new();
        for option in question.filled_in().filter(|_| question.is_written()) {
            let name = linked(request, &option.key, &option.text, number)
                .await
                .map_err(unsaved)?;
            let mut body = json!({ "nameMlTextId": name, "isFlagged": option.is_flagged });
            if !option.id.is_empty() {
                body["id"] = option.id.as_str().into();
            }
            options.push(body);
        }
        for option in question
            .options
            .iter()
            .filter(|_| question.has_own_options())
        {
            options.push(json!({ "id": option.id, "isFlagged": option.is_flagged }));
        }
        let conditions: Vec<Value> = question
            .conditions
            .iter()
            .filter_map(|key| condition(&questions[..number], key))
            .collect();
        let mut body = json!({
            "kind": question.kind,
            "textMlTextId": text,
            "isRequired": question.is_required,
            "conditions": conditions,
        });
        if question.is_written() || question.has_own_options() {
            body["options"] = options.into();
        }
        if !question.id.is_empty() {
            body["id"] = question.id.as_str().into();
        }
        sent.push(body);
    }
    let arguments =
        json!({ "id": step.id, "data": { "questions": sent }, "expectedUpdatedAt": expected });
    let saved = StoredResource::of(
        step.id,
        request
            .change(STEP.update, arguments)
            .await
            .map_err(unsaved)?,
    );
    let mut refused = None;
    'texts: for (number, question) in questions.iter_mut().enumerate() {
        for text in question.texts_mut().filter(|text| text.is_changed()) {
            if let Err(refusal) = texts::write(request, &text.id, ENGLISH, &text.current).await {
                refused = Some(about(refusal, number));
                break 'texts;
            }
            text.mark_saved();
        }
    }
    match refused {
        Some(refusal) => Err(Failed {
            refusal,
            saved: Some(followed(request, saved, questions).await),
        }),
        None => Ok(()),
    }
}

/// Reads the step again after its list of questions was saved. Copies the stored ids and keys into
/// the questions of the form.
async fn followed(
    request: &ConsoleRequest,
    saved: StoredResource,
    questions: &mut [EditedQuestion],
) -> StoredResource {
    // The response of an update does not contain the questions.
    let Ok(now) = request.change(STEP.read, json!({ "id": saved.id })).await else {
        return saved;
    };
    let now = StoredResource::of(saved.id, now);
    for (question, stored) in questions.iter_mut().zip(listed(&now)) {
        question.adopt(EditedQuestion::stored(stored, &HashMap::new()));
    }
    now
}

/// Turns a refusal to write a text into a refusal of the question that uses the text. So the form
/// shows the message at that question.
fn about(mut refusal: ConsoleRefusal, number: usize) -> ConsoleRefusal {
    refusal
        .issues
        .iter_mut()
        .for_each(|issue| issue.path = vec![number.to_string()]);
    refusal
}

/// Returns the id of a text. Stores the text first if it has no id yet. The call that stores the
/// text has an idempotency key that is derived from the key of the question or option.
async fn linked(
    request: &ConsoleRequest,
    key: &str,
    text: &EditedText,
    number: usize,
) -> Result<Value, ConsoleRefusal> {
    if !text.id.is_empty() {
        return Ok(json!(text.id));
    }
    new_text(request, SOURCE, key, &text.current)
        .await
        .map(Value::from)
        .map_err(|refusal| about(refusal, number))
}
