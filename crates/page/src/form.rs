//! The forms of the guest's page. This module converts each form into the input of an operation.
//!
//! The fields of each form:
//! - Additional questions: `q.<questionId>` occurs once for each chosen option and contains the
//!   option's id. It is empty if no option is chosen. `q.<questionId>.text` contains the written
//!   answer.
//! - Agreement: `isAccepted=true` if the box is ticked, `signedName`, and `shownText`, the hash of
//!   the text that the form showed.
//! - Your details: one field for each detail of the guest, such as `firstName`.
//! - Other guests: one field for each detail of each guest, such as `g.0.firstName`. `id.0` is the
//!   id of a saved guest. The buttons are `add`, and `remove` with the number of a guest.
//! - Damage deposit: `choice`, whose value is `deposit`, `none` or a waiver's id. A deposit without
//!   choices has `isConfirmed=true` instead.
//! - Any other step: `isConfirmed=true`.
//! - Submission, and removal of a file: no fields.
//! - Message and issue: `text`, and `key`, which is unique to each form.
//! - Survey: `overallRating`, a field for each category, `publicText` and `privateReview`.
//! - Extras: `x.<upsellId>` contains the quantity of an extra. `request` is the button that also
//!   requests the extras.
//!
//! Several people can fill in the same step, each on a separate phone. So a form of questions or
//! details also contains the values that it showed, in hidden fields such as `firstName.was`. The
//! page passes only the values that differ from the hidden values to the operation. So a form that
//! was opened before another person's change overwrites only the fields that were changed in this
//! form.
//!
//! The step decides which fields its form has. The page does not check whether the step has the
//! question or the option that a field names. The operation checks this, as it does for requests to
//! the API.
//!
//! Forms need no protection against cross-site requests. The token in the path is the only
//! credential, and no browser adds the token by itself. Every person who knows the address may send
//! the form, and other pages cannot forge a request.

mod guest_details;

use std::collections::{BTreeMap, BTreeSet};

use engine::operation::Object;
use engine::{format, typed};
use features::guest::{ExtraView, StepView};
use features::precheck::AnswerForm;
use features::records::SurveyKind;
use jiff::civil::Date;
use serde_json::{Value, json};
use uuid::Uuid;
use vestibule_http::browser::FormLimits;

pub use self::guest_details::saved_guests;
use self::guest_details::{details, guests};
use super::fault::{FaultKind, Faults, FieldFault};

/// Maximum size of the body of a form: 128 KiB.
const BODY_LIMIT: usize = 128 << 10;

/// The limits of a form. The number of fields needs no limit of its own, because each field has at
/// least one byte and the size is limited.
pub const LIMITS: FormLimits = FormLimits {
    bytes: BODY_LIMIT,
    fields: BODY_LIMIT,
};

/// Maximum number of guests whose fields a form can contain. The guest who booked is not counted.
pub const MAX_GUESTS: usize = 50;

/// The fields of a form, in the order in which they were sent.
pub type FormFields = Vec<(String, String)>;

/// The parsed form of a step: the answers to save, the number of guests to show next, the numbers
/// of the guests in the form, and the hash of the agreement text that the guest saw.
#[derive(Debug, PartialEq)]
pub struct FilledForm {
    pub answers: Object,
    /// The number of guests whose fields the next page shows. It is set only if the guest pressed
    /// the button that adds or removes a guest. The page then shows the form of the same step
    /// again.
    pub guests: Option<usize>,
    /// For each guest in the operation's input, in order, the number that the guest has in the
    /// form.
    pub positions: Vec<usize>,
    /// The hash of the agreement text that the form showed.
    pub shown_text: Option<String>,
}

impl FilledForm {
    fn of(answers: Object) -> Self {
        Self {
            answers,
            guests: None,
            positions: Vec::new(),
            shown_text: None,
        }
    }
}

/// The name of the hidden field with the hash of an agreement text.
pub const SHOWN_TEXT: &str = "shownText";

/// Returns the name of the hidden field that repeats the value which the form showed in field
/// `name`.
#[must_use]
pub fn shown_value_field(name: &str) -> String {
    format!("{name}.was")
}

/// Returns the name of the hidden field with the id of a guest.
#[must_use]
pub fn id_field(guest: usize) -> String {
    format!("id.{guest}")
}

/// Returns the name of the field with the chosen options of a question.
#[must_use]
pub fn choice_field(question: Uuid) -> String {
    format!("q.{question}")
}

/// Returns the name of the field with the written answer to a question.
#[must_use]
pub fn text_field(question: Uuid) -> String {
    format!("q.{question}.text")
}

/// Returns the id of the question that a field answers, and whether the field contains the written
/// answer. Returns `None` for a field that answers no question.
fn question_of(field: &str) -> Option<(Uuid, bool)> {
    let rest = field.strip_prefix("q.")?;
    let (id, is_text) = rest
        .strip_suffix(".text")
        .map_or((rest, false), |id| (id, true));
    let id = if format::is_uuid(id) {
        id.parse().ok()
    } else {
        None
    };
    id.map(|id| (id, is_text))
}

/// The types of fields. The type decides how a value is parsed.
#[derive(Debug, Clone, Copy)]
enum FieldType {
    /// A checkbox that must be ticked.
    Box,
    /// A field whose only valid value is `true`. By sending the form, the guest confirms the step.
    Confirmation,
    /// A text that must not be blank.
    Text,
    /// A text. A blank text is omitted from the input of the operation.
    OptionalText,
}

impl FieldType {
    fn value(self, sent: &[&str]) -> Result<Option<Value>, FaultKind> {
        match (self, sent) {
            (Self::Box | Self::Confirmation, ["true"]) => Ok(Some(json!(true))),
            (_, [_, _, ..]) | (Self::Box | Self::Confirmation, [_]) => Err(FaultKind::Invalid),
            (Self::Box, []) => Err(FaultKind::Acceptance),
            (Self::Confirmation | Self::Text, []) => Err(FaultKind::Value),
            (Self::OptionalText, []) => Ok(None),
            (Self::OptionalText, [text]) if typed::is_blank(text) => Ok(None),
            (Self::Text, [text]) if typed::is_blank(text) => Err(FaultKind::Value),
            (Self::Text | Self::OptionalText, [text]) => Ok(Some(json!(typed::trim(text)))),
        }
    }
}

/// Parses the form of a step. Returns the answers, or a fault for each field that is unknown,
/// missing or invalid.
///
/// `check_in` is the day of check-in. Rules about the age of guests use their age on this day.
pub fn parse_step(
    step: &StepView,
    check_in: Date,
    fields: &[(String, String)],
) -> Result<FilledForm, Faults> {
    let answers = match step.step_type.answer_form() {
        AnswerForm::Questions => questions(fields),
        AnswerForm::Agreement => return agreement(step, fields),
        AnswerForm::LeadGuest => details(step, check_in, fields),
        AnswerForm::OtherGuests => return guests(step, check_in, fields),
        AnswerForm::DepositChoice if !has_no_choice(step) => deposit(fields),
        AnswerForm::Consent => consent(fields),
        AnswerForm::DepositChoice | AnswerForm::Confirmation => {
            parse_known(&[("isConfirmed", FieldType::Confirmation)], fields)
        }
    };
    answers.map(FilledForm::of)
}

/// Parses the form for a message. Returns the input of the operation that sends it.
pub fn message(fields: &[(String, String)]) -> Result<Object, Faults> {
    parse_known(
        &[("text", FieldType::Text), ("key", FieldType::OptionalText)],
        fields,
    )
}

/// Parses the form for an issue. Returns the input of the operation that reports it.
pub fn issue(fields: &[(String, String)]) -> Result<Object, Faults> {
    message(fields)
}

/// The name of the form field for the overall rating of the stay.
pub const OVERALL_RATING_FIELD: &str = "overallRating";
/// The categories that a survey rates. Each is the name of a form field.
pub const CATEGORIES: [&str; 6] = [
    "cleanliness",
    "communication",
    "location",
    "accuracy",
    "value",
    "checkin",
];

/// Parses the form of a survey. Returns the input of the operation that saves the answer.
pub fn survey(kind: SurveyKind, fields: &[(String, String)]) -> Result<Object, Faults> {
    let texts = [
        ("publicText", FieldType::OptionalText),
        ("privateReview", FieldType::OptionalText),
    ];
    let known: Vec<(&str, FieldType)> = [OVERALL_RATING_FIELD]
        .into_iter()
        .chain(CATEGORIES)
        .map(|name| (name, FieldType::OptionalText))
        .chain(texts)
        .collect();
    let mut input = parse_known(&known, fields)?;
    let mut faults = Faults::default();
    let mut rating = |name: &str| {
        let sent = input.remove(name)?;
        let rating = sent.as_str().and_then(|text| text.parse::<u8>().ok());
        if !rating.is_some_and(|rating| (1..=5).contains(&rating)) {
            faults.add(name, FaultKind::Invalid);
        }
        rating
    };
    let overall = rating(OVERALL_RATING_FIELD);
    let categories: Object = CATEGORIES
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), rating(name)?.into())))
        .collect();
    if overall.is_none() && faults.0.is_empty() {
        faults.add(OVERALL_RATING_FIELD, FaultKind::Choice);
    }
    input.insert("kind".into(), json!(kind));
    input.insert(OVERALL_RATING_FIELD.into(), json!(overall));
    if !categories.is_empty() {
        input.insert("categoryRatings".into(), Value::Object(categories));
    }
    faults.into_result(input)
}

/// Returns the name of the field with the quantity of an extra.
#[must_use]
pub fn quantity_field(extra: Uuid) -> String {
    format!("x.{extra}")
}

/// Parses the form of the extras. Returns the items of the cart, and whether the guest requests
/// them. A blank quantity is 0.
pub fn cart(
    extras: &[ExtraView],
    fields: &[(String, String)],
) -> Result<(Vec<Value>, bool), Faults> {
    let names: Vec<String> = extras
        .iter()
        .map(|extra| quantity_field(extra.id))
        .collect();
    let known: Vec<(&str, FieldType)> = names
        .iter()
        .map(|name| (name.as_str(), FieldType::OptionalText))
        .chain([("request", FieldType::OptionalText)])
        .collect();
    let sent = parse_known(&known, fields)?;
    let (mut faults, mut items) = (Faults::default(), Vec::new());
    for (extra, name) in extras.iter().zip(&names) {
        let Some(text) = sent.get(name).and_then(Value::as_str) else {
            continue;
        };
        match text.parse::<u8>() {
            Ok(0) => {}
            Ok(quantity) if quantity < 100 => {
                items.push(json!({ "upsellId": extra.id, "quantity": quantity }));
            }
            _ => faults.add(name, FaultKind::Invalid),
        }
    }
    faults.into_result((items, sent.contains_key("request")))
}

/// Parses a form that has no fields. Any field is a fault.
pub fn parse_empty(fields: &[(String, String)]) -> Result<Object, Faults> {
    parse_known(&[], fields)
}

fn agreement(step: &StepView, fields: &[(String, String)]) -> Result<FilledForm, Faults> {
    let name = if step.is_signature_required.unwrap_or_default() {
        FieldType::Text
    } else {
        FieldType::OptionalText
    };
    let known = [
        ("isAccepted", FieldType::Box),
        ("signedName", name),
        (SHOWN_TEXT, FieldType::OptionalText),
    ];
    let answers = parse_known(&known, fields).map_err(|mut faults| {
        for fault in faults
            .0
            .iter_mut()
            .filter(|fault| fault.field == "signedName" && fault.kind == FaultKind::Value)
        {
            fault.kind = FaultKind::Signature;
        }
        faults
    });
    answers.map(|mut answers| {
        let shown_text = answers.remove(SHOWN_TEXT);
        FilledForm {
            shown_text: shown_text.and_then(|text| text.as_str().map(str::to_owned)),
            ..FilledForm::of(answers)
        }
    })
}

fn consent(fields: &[(String, String)]) -> Result<Object, Faults> {
    parse_known(&[("isAccepted", FieldType::Box)], fields).map_err(|mut faults| {
        let unticked = |fault: &&mut FieldFault| fault.kind == FaultKind::Acceptance;
        for fault in faults.0.iter_mut().filter(unticked) {
            fault.kind = FaultKind::Consent;
        }
        faults
    })
}

/// Returns whether the step of a damage deposit has no options to choose from. The guest then only
/// confirms the deposit.
#[must_use]
pub fn has_no_choice(step: &StepView) -> bool {
    step.deposit
        .as_ref()
        .is_some_and(|deposit| deposit.choices.is_empty())
}

fn deposit(fields: &[(String, String)]) -> Result<Object, Faults> {
    let mut answers =
        parse_known(&[("choice", FieldType::Text)], fields).map_err(|mut faults| {
            for fault in faults
                .0
                .iter_mut()
                .filter(|fault| fault.kind == FaultKind::Value)
            {
                fault.kind = FaultKind::Choice;
            }
            faults
        })?;
    if answers["choice"] != "deposit" && answers["choice"] != "none" {
        let waiver = answers.insert("choice".into(), json!("waiver"));
        answers.insert("damageWaiverId".into(), waiver.unwrap_or_default());
    }
    Ok(answers)
}

/// Parses the answers to questions. Omits every answer that equals the value which the form showed.
fn questions(fields: &[(String, String)]) -> Result<Object, Faults> {
    let (mut answers, mut faults) = (Object::new(), Faults::default());
    let (mut now, mut before) = (Answers::new(), Answers::new());
    for (name, value) in fields {
        let (answered, own) = name
            .strip_suffix(".was")
            .map_or((&mut now, name.as_str()), |own| (&mut before, own));
        let Some((question, is_text)) = question_of(own) else {
            faults.add(name, FaultKind::UnknownField);
            continue;
        };
        let (options, text) = answered.entry(question).or_default();
        if is_text && text.replace(value).is_some() {
            faults.add(name, FaultKind::Invalid);
        } else if !is_text && !value.is_empty() {
            options.push(value);
        }
    }
    let asked: BTreeSet<Uuid> = now.keys().chain(before.keys()).copied().collect();
    for question in asked {
        let (options, text) = now.remove(&question).unwrap_or_default();
        let (had_options, had_text) = before.remove(&question).unwrap_or_default();
        let mut answer = Object::new();
        if !are_same(&options, &had_options) {
            answer.insert("optionIds".into(), json!(options));
        }
        let text = text.unwrap_or_default();
        if text != had_text.unwrap_or_default() {
            answer.insert("text".into(), json!(text));
        }
        if !answer.is_empty() {
            answers.insert(question.to_string(), Value::Object(answer));
        }
    }
    faults.into_result(answers)
}

/// Returns whether two lists have the same options, in any order.
fn are_same(options: &[&str], others: &[&str]) -> bool {
    options.len() == others.len() && options.iter().all(|option| others.contains(option))
}

/// The chosen options and the text of each question in a form.
type Answers<'f> = BTreeMap<Uuid, (Vec<&'f str>, Option<&'f str>)>;

/// Returns all values of a field. A form can contain the same field several times.
fn every<'f>(fields: &'f [(String, String)], field: &str) -> Vec<&'f str> {
    fields
        .iter()
        .filter(|(name, _)| name == field)
        .map(|(_, value)| value.as_str())
        .collect()
}

/// Parses a form that has only the fields in `known`. Any other field is a fault.
fn parse_known(known: &[(&str, FieldType)], fields: &[(String, String)]) -> Result<Object, Faults> {
    let mut faults =
        Faults::unknown_fields(fields, |name| known.iter().any(|(known, _)| *known == name));
    let mut object = Object::new();
    for (name, takes) in known {
        match takes.value(&every(fields, name)) {
            Ok(Some(value)) => drop(object.insert((*name).to_owned(), value)),
            Ok(None) => {}
            Err(kind) => faults.add(name, kind),
        }
    }
    faults.into_result(object)
}

#[cfg(test)]
mod tests;
