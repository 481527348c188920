//! The forms of the guest's page. Each form becomes the input of an operation.
//!
//! | form | fields |
//! |---|---|
//! | additional questions | `q.<questionId>`: an option's id each, or empty; `q.<questionId>.text`
//! |
//! | agreement | `isAccepted=true`, where the box is ticked; `signedName`; `shownText`, the hash of the
//! text |
//! | your details | one field for each detail of the guest, such as `firstName` |
//! | other guests | the same for each guest, such as `g.0.firstName`; `id.0`, the id of a saved guest;
//! `add`; `remove` with a number |
//! | damage deposit | `choice`, `deposit`, `none` or a waiver's id; `isConfirmed=true` without choices |
//! | any other step | `isConfirmed=true` |
//! | submission, removal of a file | none |
//! | message, issue | `text`, and `key`, which is unique to each form |
//! | survey | `overallRating`, a field for each category, `publicText`, `privateReview` |
//! | extras | `x.<upsellId>`: a quantity; `request`, where they are asked for |
//!
//! Several people fill in the same step, each on their own phone. So a form of questions or details
//! also has the values that it showed, as hidden fields such as `firstName.was`. Only a value that
//! differs from the shown one is sent. A form that is old changes nothing that it did not show.
//!
//! The step decides which fields its form has. The operation checks whether a question or an option
//! belongs to the step, as for any other caller.
//!
//! Forms need no protection against cross-site requests: the token in the path is the only
//! credential, and no browser adds it by itself. Anyone who knows the address of a form may send
//! it. Nobody else can forge a request.

use std::collections::{BTreeMap, BTreeSet};

use engine::operation::Object;
use engine::{format, typed};
use jiff::civil::Date;
use serde_json::{Value, json};
use uuid::Uuid;

use super::fault::{Fault, Faults, Lack};
use super::person::{self, Asked, Detail, Need};
use crate::guest::{ExtraView, StepView};
use crate::precheck::{AnswerForm, is_there};
use crate::records::SurveyKind;

/// The largest body of a form: 128 KiB.
pub const BODY_LIMIT: usize = 128 << 10;

/// Maximum number of guests that a form can name.
pub const MOST_GUESTS: usize = 50;

/// The fields of a form, in the order in which they were sent.
pub type Fields = Vec<(String, String)>;

/// The result of a step's form: the answers to save, and the page to show next.
#[derive(Debug, PartialEq)]
pub struct Filled {
    pub answers: Object,
    /// The number of guests to fill in, if the same step is shown again.
    pub guests: Option<usize>,
    /// The places of the sent guests in the form.
    pub places: Vec<usize>,
    /// The hash of the agreement text that the form showed.
    pub shown_text: Option<String>,
}

impl Filled {
    fn of(answers: Object) -> Self {
        Self {
            answers,
            guests: None,
            places: Vec::new(),
            shown_text: None,
        }
    }
}

/// The name of the hidden field with the hash of an agreement text.
pub const SHOWN_TEXT: &str = "shownText";

/// Returns the name of the hidden field with the value that a form showed in a field.
#[must_use]
pub fn was(name: &str) -> String {
    format!("{name}.was")
}

/// Returns the name of the hidden field with the id of a guest.
#[must_use]
pub fn id_field(guest: usize) -> String {
    format!("id.{guest}")
}

/// Parses the fields of a body. Browsers end lines with CR LF, which becomes LF.
#[must_use]
pub fn parse(body: &[u8]) -> Fields {
    form_urlencoded::parse(body)
        .map(|(name, value)| (name.into_owned(), value.replace("\r\n", "\n")))
        .collect()
}

/// Returns the first value of a field.
#[must_use]
pub fn sent<'f>(fields: &'f [(String, String)], wanted: &str) -> Option<&'f str> {
    fields
        .iter()
        .find(|(name, _)| name == wanted)
        .map(|(_, value)| value.as_str())
}

/// Returns the name of the field that chooses options of a question.
#[must_use]
pub fn choice_field(question: Uuid) -> String {
    format!("q.{question}")
}

/// Returns the name of the field that answers a question with a text.
#[must_use]
pub fn text_field(question: Uuid) -> String {
    format!("q.{question}.text")
}

/// Returns the question that a field answers, and whether the answer is a text.
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

/// The kinds of fields, by how their values are read.
#[derive(Debug, Clone, Copy)]
enum Takes {
    /// A box that must be ticked.
    Box,
    /// A field that only confirms.
    Confirmation,
    /// A text that must not be blank.
    Text,
    /// A text that is left out where it is blank.
    OptionalText,
}

impl Takes {
    fn value(self, sent: &[&str]) -> Result<Option<Value>, Lack> {
        match (self, sent) {
            (Self::Box | Self::Confirmation, ["true"]) => Ok(Some(json!(true))),
            (_, [_, _, ..]) | (Self::Box | Self::Confirmation, [_]) => Err(Lack::Invalid),
            (Self::Box, []) => Err(Lack::Acceptance),
            (Self::Confirmation | Self::Text, []) => Err(Lack::Value),
            (Self::OptionalText, []) => Ok(None),
            (Self::OptionalText, [text]) if typed::is_blank(text) => Ok(None),
            (Self::Text, [text]) if typed::is_blank(text) => Err(Lack::Value),
            (Self::Text | Self::OptionalText, [text]) => Ok(Some(json!(typed::trimmed(text)))),
        }
    }
}

/// Returns the answers in a step's form. Otherwise returns every field that is unknown, missing or
/// invalid.
///
/// `check_in` is the date on which the ages of guests count.
pub fn filled(
    step: &StepView,
    check_in: Date,
    fields: &[(String, String)],
) -> Result<Filled, Faults> {
    let answers = match step.step_type.answer_form() {
        AnswerForm::Questions => questions(fields),
        AnswerForm::Agreement => return agreement(step, fields),
        AnswerForm::LeadGuest => details(step, check_in, fields),
        AnswerForm::OtherGuests => return guests(step, check_in, fields),
        AnswerForm::DepositChoice if !has_no_choice(step) => deposit(fields),
        AnswerForm::Consent => consent(fields),
        AnswerForm::DepositChoice | AnswerForm::Confirmation => {
            taken(&[("isConfirmed", Takes::Confirmation)], fields)
        }
    };
    answers.map(Filled::of)
}

/// Returns the input of a message.
pub fn message(fields: &[(String, String)]) -> Result<Object, Faults> {
    taken(
        &[("text", Takes::Text), ("key", Takes::OptionalText)],
        fields,
    )
}

/// Returns the input of an issue.
pub fn issue(fields: &[(String, String)]) -> Result<Object, Faults> {
    message(fields)
}

/// The field of the rating as a whole.
pub const OVERALL: &str = "overallRating";
/// The categories of a survey's ratings, which are fields of its form.
pub const CATEGORIES: [&str; 6] = [
    "cleanliness",
    "communication",
    "location",
    "accuracy",
    "value",
    "checkin",
];

/// Returns the input of a survey's answer.
pub fn survey(kind: SurveyKind, fields: &[(String, String)]) -> Result<Object, Faults> {
    let texts = [
        ("publicText", Takes::OptionalText),
        ("privateReview", Takes::OptionalText),
    ];
    let known: Vec<(&str, Takes)> = [OVERALL]
        .into_iter()
        .chain(CATEGORIES)
        .map(|name| (name, Takes::OptionalText))
        .chain(texts)
        .collect();
    let mut input = taken(&known, fields)?;
    let mut faults = Faults::default();
    let mut rating = |name: &str| {
        let sent = input.remove(name)?;
        let rating = sent.as_str().and_then(|text| text.parse::<u8>().ok());
        if !rating.is_some_and(|rating| (1..=5).contains(&rating)) {
            faults.add(name, Lack::Invalid);
        }
        rating
    };
    let overall = rating(OVERALL);
    let categories: Object = CATEGORIES
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), rating(name)?.into())))
        .collect();
    if overall.is_none() && faults.0.is_empty() {
        faults.add(OVERALL, Lack::Choice);
    }
    input.insert("kind".into(), json!(kind));
    input.insert(OVERALL.into(), json!(overall));
    if !categories.is_empty() {
        input.insert("categoryRatings".into(), Value::Object(categories));
    }
    faults.or(input)
}

/// Returns the name of the field with the quantity of an extra.
#[must_use]
pub fn quantity_field(extra: Uuid) -> String {
    format!("x.{extra}")
}

/// Returns the items of a cart, and whether the guest asks for them. A blank quantity is 0.
pub fn cart(
    extras: &[ExtraView],
    fields: &[(String, String)],
) -> Result<(Vec<Value>, bool), Faults> {
    let names: Vec<String> = extras
        .iter()
        .map(|extra| quantity_field(extra.id))
        .collect();
    let known: Vec<(&str, Takes)> = names
        .iter()
        .map(|name| (name.as_str(), Takes::OptionalText))
        .chain([("request", Takes::OptionalText)])
        .collect();
    let sent = taken(&known, fields)?;
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
            _ => faults.add(name, Lack::Invalid),
        }
    }
    faults.or((items, sent.contains_key("request")))
}

/// Accepts a form without fields.
pub fn nothing(fields: &[(String, String)]) -> Result<Object, Faults> {
    taken(&[], fields)
}

fn agreement(step: &StepView, fields: &[(String, String)]) -> Result<Filled, Faults> {
    let name = if step.is_signature_required.unwrap_or_default() {
        Takes::Text
    } else {
        Takes::OptionalText
    };
    let known = [
        ("isAccepted", Takes::Box),
        ("signedName", name),
        (SHOWN_TEXT, Takes::OptionalText),
    ];
    let answers = taken(&known, fields).map_err(|mut faults| {
        for fault in faults
            .0
            .iter_mut()
            .filter(|fault| fault.field == "signedName" && fault.lack == Lack::Value)
        {
            fault.lack = Lack::Signature;
        }
        faults
    });
    answers.map(|mut answers| {
        let shown = answers.remove(SHOWN_TEXT);
        Filled {
            shown_text: shown.and_then(|shown| shown.as_str().map(str::to_owned)),
            ..Filled::of(answers)
        }
    })
}

fn consent(fields: &[(String, String)]) -> Result<Object, Faults> {
    taken(&[("isAccepted", Takes::Box)], fields).map_err(|mut faults| {
        let unticked = |fault: &&mut Fault| fault.lack == Lack::Acceptance;
        for fault in faults.0.iter_mut().filter(unticked) {
            fault.lack = Lack::Consent;
        }
        faults
    })
}

/// Returns whether a damage deposit offers nothing to choose, so that the guest only confirms it.
#[must_use]
pub fn has_no_choice(step: &StepView) -> bool {
    step.deposit
        .as_ref()
        .is_some_and(|deposit| deposit.choices.is_empty())
}

fn deposit(fields: &[(String, String)]) -> Result<Object, Faults> {
    let mut answers = taken(&[("choice", Takes::Text)], fields).map_err(|mut faults| {
        for fault in faults
            .0
            .iter_mut()
            .filter(|fault| fault.lack == Lack::Value)
        {
            fault.lack = Lack::Choice;
        }
        faults
    })?;
    if answers["choice"] != "deposit" && answers["choice"] != "none" {
        let waiver = answers.insert("choice".into(), json!("waiver"));
        answers.insert("damageWaiverId".into(), waiver.unwrap_or_default());
    }
    Ok(answers)
}

/// The fields of one guest in a form.
struct Sheet<'f> {
    fields: &'f [(String, String)],
    /// The number of the guest; `None` for the guest who booked.
    guest: Option<usize>,
}

impl<'f> Sheet<'f> {
    fn name(&self, detail: &str) -> String {
        self.guest.map_or_else(
            || detail.to_owned(),
            |guest| person::field_of(guest, detail),
        )
    }

    /// Returns the value of a field, without blanks around it.
    fn value(&self, detail: &str) -> &'f str {
        typed::trimmed(sent(self.fields, &self.name(detail)).unwrap_or_default())
    }

    /// Returns the value that the form showed in a field.
    fn was(&self, detail: &str) -> &'f str {
        typed::trimmed(sent(self.fields, &was(&self.name(detail))).unwrap_or_default())
    }

    /// Returns the id of the guest, if the form showed a saved one.
    fn id(&self) -> Option<&'f str> {
        sent(self.fields, &id_field(self.guest?))
    }

    fn is_blank(&self, asked: &Asked<'_>) -> bool {
        asked
            .details
            .iter()
            .all(|detail| self.value(detail.name).is_empty())
    }

    /// Returns the values that the form showed.
    fn shown(&self, asked: &Asked<'_>) -> Object {
        let value = |detail: &Detail<'_>| (detail.name.to_owned(), json!(self.was(detail.name)));
        let values = asked.details.iter().map(value);
        values.filter(|(_, value)| value != "").collect()
    }

    /// Returns the changes of the guest's details, and the details that are lacking afterwards. Without
    /// `is_strict`, missing values are not lacking.
    fn changes(
        &self,
        asked: &Asked<'_>,
        saved: Option<&Object>,
        is_strict: bool,
    ) -> (Object, Vec<Fault>) {
        let (mut changes, mut faults) = (Object::new(), Vec::new());
        let mut after = saved.cloned().unwrap_or_default();
        for Detail { name, need } in &asked.details {
            if every(self.fields, &self.name(name)).len() > 1 {
                let field = self.name(name);
                faults.push(Fault {
                    field,
                    lack: Lack::Invalid,
                });
                continue;
            }
            let (value, was) = (self.value(name), self.was(name));
            // The form shows a value that is not saved: the booking's value, before anything is saved,
            // or a needed value that another person has emptied.
            let is_unsaved = !value.is_empty()
                && !is_there(&after, name)
                && (saved.is_none() || *need != Need::Never);
            if value == was && !is_unsaved {
                continue;
            }
            let value = if value.is_empty() {
                Value::Null
            } else {
                json!(value)
            };
            after.insert((*name).to_owned(), value.clone());
            changes.insert((*name).to_owned(), value);
        }
        let lacking = asked.details.iter().filter(|detail| {
            is_strict && !is_there(&after, detail.name) && asked.requires(detail, &after)
        });
        let mut has_name = false;
        for detail in lacking {
            let lack = match detail.need {
                Need::Either if has_name => continue,
                Need::Either => Lack::Name,
                _ => Lack::Value,
            };
            has_name = has_name || lack == Lack::Name;
            let field = self.name(detail.name);
            if !faults.iter().any(|fault| fault.field == field) {
                faults.push(Fault { field, lack });
            }
        }
        (changes, faults)
    }
}

fn details(step: &StepView, check_in: Date, fields: &[(String, String)]) -> Result<Object, Faults> {
    let asked = Asked::of(step, false, check_in);
    let mut faults = Faults::strangers(fields, |name| {
        asked.has(name.strip_suffix(".was").unwrap_or(name))
    });
    let sheet = Sheet {
        fields,
        guest: None,
    };
    let (answers, found) = sheet.changes(&asked, step.answers.as_ref(), true);
    faults.0.extend(found);
    faults.or(answers)
}

/// Reads the other guests. A new guest whose fields are all blank is left out, and a saved one whose
/// fields were all emptied is removed. The buttons that add or remove a guest save the fields even
/// if some are missing.
fn guests(step: &StepView, check_in: Date, fields: &[(String, String)]) -> Result<Filled, Faults> {
    let asked = Asked::of(step, true, check_in);
    let mut faults = Faults::strangers(fields, |name| is_of_guests(&asked, name));
    let adds = sent(fields, "add").is_some();
    let removed: Option<usize> = sent(fields, "remove").and_then(|number| number.parse().ok());
    let numbers = fields
        .iter()
        .filter_map(|(name, _)| person::guest_of(name).map(|(guest, _)| guest));
    let shown = numbers.max().map_or(0, |last| last + 1).min(MOST_GUESTS);
    let saved = saved_guests(step);
    let (mut named, mut places) = (Vec::new(), Vec::new());
    for guest in 0..shown {
        let sheet = Sheet {
            fields,
            guest: Some(guest),
        };
        let known = sheet
            .id()
            .and_then(|id| saved.iter().find(|saved| saved["id"] == id));
        let is_emptied =
            sheet.is_blank(&asked) && (known.is_none() || !sheet.shown(&asked).is_empty());
        let item = if removed == Some(guest) || is_emptied {
            known.map(|known| {
                Object::from_iter([id_of(known), ("isRemoved".to_owned(), json!(true))])
            })
        } else {
            let is_strict = !adds && removed.is_none();
            // Somebody else may have removed the guest whom the form shows.
            let shown = sheet.id().map(|_| sheet.shown(&asked));
            let before = known.and_then(Value::as_object).or(shown.as_ref());
            let (changes, found) = sheet.changes(&asked, before, is_strict);
            faults.0.extend(found);
            match known {
                Some(_) if changes.is_empty() => None,
                Some(known) => Some(changes.into_iter().chain([id_of(known)]).collect()),
                // Changes of a removed guest are not lost.
                None if sheet.id().is_some() && changes.is_empty() => None,
                None => Some(whole(&sheet, &asked)),
            }
        };
        if let Some(item) = item {
            named.push(item);
            places.push(guest);
        }
    }
    let again = if adds {
        Some((shown + 1).min(MOST_GUESTS))
    } else {
        removed.map(|_| shown.saturating_sub(1))
    };
    let answers = Object::from_iter([("guests".to_owned(), json!(named))]);
    faults.or(Filled {
        guests: again,
        places,
        ..Filled::of(answers)
    })
}

/// Returns whether a field belongs to the form of the other guests.
fn is_of_guests(asked: &Asked<'_>, name: &str) -> bool {
    let of_guest = person::guest_of(name.strip_suffix(".was").unwrap_or(name))
        .is_some_and(|(guest, name)| guest < MOST_GUESTS && asked.has(name));
    let is_id = || (0..MOST_GUESTS).any(|guest| name == id_field(guest));
    of_guest || ["add", "remove"].contains(&name) || is_id()
}

/// Returns the saved other guests of a step.
#[must_use]
pub fn saved_guests(step: &StepView) -> &[Value] {
    step.answers
        .as_ref()
        .and_then(|answers| answers.get("guests"))
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}

/// Returns the id of a saved guest, as a field.
fn id_of(guest: &Value) -> (String, Value) {
    ("id".to_owned(), guest["id"].clone())
}

/// Returns all values of a guest that are filled in.
fn whole(sheet: &Sheet<'_>, asked: &Asked<'_>) -> Object {
    let value = |detail: &Detail<'_>| (detail.name.to_owned(), json!(sheet.value(detail.name)));
    let values = asked.details.iter().map(value);
    values.filter(|(_, value)| value != "").collect()
}

/// Reads the answers that differ from the answers shown in the form.
fn questions(fields: &[(String, String)]) -> Result<Object, Faults> {
    let (mut answers, mut faults) = (Object::new(), Faults::default());
    let (mut now, mut before) = (Answers::new(), Answers::new());
    for (name, value) in fields {
        let (answered, own) = name
            .strip_suffix(".was")
            .map_or((&mut now, name.as_str()), |own| (&mut before, own));
        let Some((question, is_text)) = question_of(own) else {
            faults.add(name, Lack::Stranger);
            continue;
        };
        let (options, text) = answered.entry(question).or_default();
        if is_text && text.replace(value).is_some() {
            faults.add(name, Lack::Invalid);
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
    faults.or(answers)
}

/// Returns whether two lists have the same options, in any order.
fn are_same(options: &[&str], others: &[&str]) -> bool {
    options.len() == others.len() && options.iter().all(|option| others.contains(option))
}

/// The chosen options and the text of each question in a form.
type Answers<'f> = BTreeMap<Uuid, (Vec<&'f str>, Option<&'f str>)>;

/// Returns every value of a field.
fn every<'f>(fields: &'f [(String, String)], wanted: &str) -> Vec<&'f str> {
    fields
        .iter()
        .filter(|(name, _)| name == wanted)
        .map(|(_, value)| value.as_str())
        .collect()
}

/// Reads a form that has only the `known` fields. Any other field is a fault.
fn taken(known: &[(&str, Takes)], fields: &[(String, String)]) -> Result<Object, Faults> {
    let mut faults =
        Faults::strangers(fields, |name| known.iter().any(|(known, _)| *known == name));
    let mut object = Object::new();
    for (name, takes) in known {
        match takes.value(&every(fields, name)) {
            Ok(Some(value)) => drop(object.insert((*name).to_owned(), value)),
            Ok(None) => {}
            Err(lack) => faults.add(name, lack),
        }
    }
    faults.or(object)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use strum::VariantArray as _;

    use super::*;
    use crate::precheck::StepType;

    const CHECK_IN: Date = Date::constant(2026, 12, 11);

    fn id(number: u128) -> Uuid {
        Uuid::from_u128(number)
    }

    fn fields(sent: &[(&str, &str)]) -> Fields {
        sent.iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    /// Builds a step of a type with more fields.
    fn step(step_type: StepType, more: Value) -> StepView {
        let mut step = json!({ "id": id(1), "stepType": step_type, "title": "Step", "state": "todo", "isComplete": false, "isOpen": true });
        step.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        serde_json::from_value(step).unwrap()
    }

    /// Returns the answers, or the refused fields with their faults.
    fn answered(step: &StepView, sent: &[(&str, &str)]) -> Result<Value, Vec<(String, Lack)>> {
        let answered =
            filled(step, CHECK_IN, &fields(sent)).map(|filled| Value::Object(filled.answers));
        answered.map_err(|faults| {
            faults
                .0
                .into_iter()
                .map(|fault| (fault.field, fault.lack))
                .collect()
        })
    }

    fn lacks(expected: &[(&str, Lack)]) -> Result<Value, Vec<(String, Lack)>> {
        Err(expected
            .iter()
            .map(|(field, lack)| ((*field).to_owned(), *lack))
            .collect())
    }

    #[test]
    fn an_agreement_must_be_accepted_and_signed_if_required() {
        let plain = step(StepType::Agreement, json!({}));
        assert_eq!(
            answered(&plain, &[]),
            lacks(&[("isAccepted", Lack::Acceptance)])
        );
        assert_eq!(
            answered(&plain, &[("isAccepted", "true")]),
            Ok(json!({ "isAccepted": true }))
        );
        for sent in [vec![("isAccepted", "on")], vec![("isAccepted", "true"); 2]] {
            assert_eq!(
                answered(&plain, &sent),
                lacks(&[("isAccepted", Lack::Invalid)])
            );
        }
        let signed = step(StepType::Agreement, json!({ "isSignatureRequired": true }));
        assert_eq!(
            answered(&signed, &[("isAccepted", "true"), ("signedName", " ")]),
            lacks(&[("signedName", Lack::Signature)])
        );
        let sent = [("isAccepted", "true"), ("signedName", " Ada L ")];
        assert_eq!(
            answered(&signed, &sent),
            Ok(json!({ "isAccepted": true, "signedName": "Ada L" }))
        );
    }

    #[test]
    fn details_are_trimmed_and_required_fields_must_be_present() {
        let usual = step(StepType::YourDetails, json!({}));
        let sent = [
            ("firstName", " Ada "),
            ("lastName", "Lovelace"),
            ("email", "ada@example.com"),
            ("phone", " "),
        ];
        assert_eq!(
            answered(&usual, &sent),
            Ok(json!({ "firstName": "Ada", "lastName": "Lovelace", "email": "ada@example.com" }))
        );
        let saved = step(
            StepType::YourDetails,
            json!({ "answers": { "phone": "1" } }),
        );
        assert_eq!(
            answered(&saved, &sent).unwrap().get("phone"),
            None,
            "the form did not show the number, so it stays"
        );
        let emptied = [&sent[..], &[("phone.was", "1"), ("firstName.was", "Ada")]].concat();
        let changes = json!({
            "firstName": "Ada", "lastName": "Lovelace", "email": "ada@example.com", "phone": null,
        });
        assert_eq!(
            answered(&saved, &emptied),
            Ok(changes),
            "what is emptied is taken away"
        );
        let missing = answered(
            &usual,
            &[("lastName", " "), ("shoeSize", "38"), ("phone", "1")],
        );
        let expected = [
            ("shoeSize", Lack::Stranger),
            ("firstName", Lack::Name),
            ("email", Lack::Value),
        ];
        assert_eq!(missing, lacks(&expected));
        let one_name = [("lastName", "Teresa"), ("email", "t@example.com")];
        assert!(answered(&usual, &one_name).is_ok(), "one name is enough");
        let own = step(
            StepType::YourDetails,
            json!({ "requiredFields": ["birthDate", "Car plate"] }),
        );
        assert_eq!(
            answered(&own, &[("birthDate", "1990-01-02")]),
            lacks(&[("Car plate", Lack::Value)])
        );
        let sent = [("Car plate", "B 1"), ("birthDate", "1990-01-02")];
        assert_eq!(
            answered(&own, &sent),
            Ok(json!({ "birthDate": "1990-01-02", "Car plate": "B 1" }))
        );
    }

    #[test]
    fn guest_fields_become_a_list_without_empty_guests() {
        let others = step(
            StepType::OtherGuests,
            json!({ "requiredFields": ["firstName", "email"], "answers": { "guests": [{ "firstName": "Ana", "email": "a@b.co" }] } }),
        );
        assert_eq!(answered(&others, &[]), Ok(json!({ "guests": [] })));
        let sent = [
            ("g.0.firstName", " "),
            ("g.0.email", ""),
            ("g.1.firstName", "Luis"),
            ("g.1.email", "l@b.co"),
        ];
        assert_eq!(
            answered(&others, &sent),
            Ok(json!({ "guests": [{ "firstName": "Luis", "email": "l@b.co" }] }))
        );
        let half = [("g.0.firstName", "Ana"), ("g.0.email", "")];
        assert_eq!(
            answered(&others, &half),
            lacks(&[("g.0.email", Lack::Value)])
        );
        let adding = filled(
            &others,
            CHECK_IN,
            &fields(&[half[0], half[1], ("add", "1")]),
        )
        .unwrap();
        assert_eq!(
            Value::Object(adding.answers),
            json!({ "guests": [{ "firstName": "Ana" }] })
        );
        assert_eq!(adding.guests, Some(2));
        let removing = filled(
            &others,
            CHECK_IN,
            &fields(&[
                ("g.0.firstName", "Ana"),
                ("g.1.firstName", "Luis"),
                ("remove", "0"),
            ]),
        )
        .unwrap();
        assert_eq!(
            removing,
            Filled {
                answers: serde_json::from_value(json!({ "guests": [{ "firstName": "Luis" }] }))
                    .unwrap(),
                guests: Some(1),
                places: vec![1],
                shown_text: None,
            }
        );
        for name in [
            "guests",
            "g.0.shoe",
            "g.50.firstName",
            "g.-1.firstName",
            "g.00.firstName",
            "g.0",
        ] {
            assert_eq!(
                answered(&others, &[(name, "x")]),
                lacks(&[(name, Lack::Stranger)]),
                "{name}"
            );
        }
    }

    #[test]
    fn a_form_of_guests_sends_only_what_it_changed() {
        let saved = json!([
            { "id": "a", "firstName": "Ana", "email": "a@b.co" }, { "id": "b", "firstName": "Bo", "email": "b@b.co" },
        ]);
        let others = step(
            StepType::OtherGuests,
            json!({ "requiredFields": ["firstName", "email"], "answers": { "guests": saved } }),
        );
        let shown = [
            ("g.0.firstName", "Ana"),
            ("g.0.firstName.was", "Ana"),
            ("g.0.email", "a@b.co"),
            ("g.0.email.was", "a@b.co"),
            ("id.0", "a"),
        ];
        let with = |more: &[(&str, &str)]| answered(&others, &[&shown[..], more].concat());
        assert_eq!(
            with(&[]),
            Ok(json!({ "guests": [] })),
            "Bo, whom the form did not show, stays"
        );
        let added = [("g.1.firstName", "Cy"), ("g.1.email", "c@b.co")];
        assert_eq!(
            with(&added),
            Ok(json!({ "guests": [{ "firstName": "Cy", "email": "c@b.co" }] }))
        );
        let removed = [("remove", "0")];
        assert_eq!(
            with(&removed),
            Ok(json!({ "guests": [{ "id": "a", "isRemoved": true }] }))
        );
        let emptied = [
            ("g.0.firstName", ""),
            ("g.0.firstName.was", "Ana"),
            ("g.0.email", ""),
            ("g.0.email.was", "a@b.co"),
            ("id.0", "a"),
        ];
        assert_eq!(
            answered(&others, &emptied),
            Ok(json!({ "guests": [{ "id": "a", "isRemoved": true }] }))
        );
        let renamed = [
            ("g.0.firstName", "Anna"),
            ("g.0.firstName.was", "Ana"),
            ("g.0.email", ""),
            ("g.0.email.was", ""),
            ("id.0", "a"),
        ];
        assert_eq!(
            answered(&others, &renamed),
            Ok(json!({ "guests": [{ "id": "a", "firstName": "Anna" }] })),
            "the address that the form did not show stays"
        );
        let gone = [
            ("g.0.firstName", "Di"),
            ("g.0.firstName.was", "Dina"),
            ("g.0.email", "d@b.co"),
            ("g.0.email.was", "d@b.co"),
            ("id.0", "d"),
        ];
        assert_eq!(
            answered(&others, &gone),
            Ok(json!({ "guests": [{ "firstName": "Di", "email": "d@b.co" }] })),
            "somebody else removed Dina"
        );
    }

    #[test]
    fn a_baby_needs_no_document() {
        let others = step(
            StepType::OtherGuests,
            json!({ "requiredFields": ["firstName", "birthDate", "documentNumber"], "guestFieldRules": { "documentNumber": { "minimumAge": 14 } } }),
        );
        let guest = |birth: &'static str| {
            [
                ("g.0.firstName", "Ana"),
                ("g.0.birthDate", birth),
                ("g.0.documentNumber", ""),
            ]
        };
        assert!(answered(&others, &guest("2026-01-02")).is_ok());
        assert_eq!(
            answered(&others, &guest("1990-01-02")),
            lacks(&[("g.0.documentNumber", Lack::Value)])
        );
    }

    #[test]
    fn a_deposit_form_sends_the_deposit_or_a_waiver() {
        let deposit = step(StepType::DamageDeposit, json!({}));
        assert_eq!(answered(&deposit, &[]), lacks(&[("choice", Lack::Choice)]));
        assert_eq!(
            answered(&deposit, &[("choice", "none")]),
            Ok(json!({ "choice": "none" }))
        );
        assert_eq!(
            answered(&deposit, &[("choice", "deposit")]),
            Ok(json!({ "choice": "deposit" }))
        );
        let waiver = id(7).to_string();
        assert_eq!(
            answered(&deposit, &[("choice", &waiver)]),
            Ok(json!({ "choice": "waiver", "damageWaiverId": waiver }))
        );
    }

    #[test]
    fn steps_of_other_systems_are_confirmed() {
        let upload = step(StepType::DocumentUpload, json!({}));
        assert_eq!(
            answered(&upload, &[("isConfirmed", "true")]),
            Ok(json!({ "isConfirmed": true }))
        );
        assert_eq!(
            answered(&upload, &[]),
            lacks(&[("isConfirmed", Lack::Value)])
        );
        assert_eq!(
            answered(
                &step(StepType::Main, json!({})),
                &[("isConfirmed", "false")]
            ),
            lacks(&[("isConfirmed", Lack::Invalid)])
        );
    }

    #[test]
    fn question_fields_become_options_or_texts() {
        let (choice, text) = (choice_field(id(1)), text_field(id(2)));
        let (one, other) = (id(10).to_string(), id(11).to_string());
        let questions = step(StepType::AdditionalQuestions, json!({}));
        let ask = |sent: &[(&str, &str)]| answered(&questions, sent);
        assert_eq!(ask(&[]), Ok(json!({})));
        let both = json!({ id(1).to_string(): { "optionIds": [one, other] }, id(2).to_string(): { "text": "at noon" } });
        assert_eq!(
            ask(&[(&choice, &one), (&text, "at noon"), (&choice, &other)]),
            Ok(both)
        );
        assert_eq!(
            ask(&[(&choice, "")]),
            Ok(json!({})),
            "none was chosen before"
        );
        let cleared =
            json!({ id(1).to_string(): { "optionIds": [] }, id(2).to_string(): { "text": "" } });
        assert_eq!(
            ask(&[
                (&choice, ""),
                (&was(&choice), &one),
                (&text, ""),
                (&was(&text), "at noon")
            ]),
            Ok(cleared),
            "none of them"
        );
        assert_eq!(
            ask(&[
                (&choice, &one),
                (&choice, &other),
                (&was(&choice), &other),
                (&was(&choice), &one)
            ]),
            Ok(json!({})),
            "the same options in another order"
        );
        assert_eq!(
            ask(&[(&text, "a"), (&text, "b")]),
            lacks(&[(&text, Lack::Invalid)])
        );
        for name in [
            "isAccepted",
            "q.",
            "q.1",
            "q.1.text",
            "q..text",
            &choice[2..],
            &format!("{choice}.name"),
            &format!("{text}.text"),
        ] {
            assert_eq!(
                ask(&[(name, "x"), (&choice, &one)]),
                lacks(&[(name, Lack::Stranger)]),
                "{name}"
            );
        }
    }

    #[test]
    fn a_message_form_reads_text_and_key() {
        assert_eq!(
            message(&fields(&[("text", "Hola\n")])),
            Ok(serde_json::from_value(json!({ "text": "Hola" })).unwrap())
        );
        let keyed = message(&fields(&[("text", "It drips."), ("key", "k")])).unwrap();
        assert_eq!(
            Value::Object(keyed),
            json!({ "text": "It drips.", "key": "k" })
        );
        let faults = message(&fields(&[("text", " "), ("to", "x")])).unwrap_err();
        assert_eq!(
            faults
                .0
                .iter()
                .map(|fault| fault.field.as_str())
                .collect::<Vec<_>>(),
            ["to", "text"]
        );
        assert!(nothing(&[]).is_ok() && nothing(&fields(&[("force", "true")])).is_err());
    }

    #[test]
    fn form_bodies_are_decoded_as_browsers_encode_them() {
        assert_eq!(
            parse(b"text=uno%0D%0Ados+%C3%B1&a=%3D%26"),
            fields(&[("text", "uno\ndos ñ"), ("a", "=&")])
        );
        assert!(parse(b"").is_empty());
        assert_eq!(parse(b"{\"text\":1}"), fields(&[("{\"text\":1}", "")]));
    }

    proptest! {
        /// A form refuses every field that it does not have.
        #[test]
        fn unknown_form_fields_are_refused(
            step_type in prop::sample::select(StepType::VARIANTS), name in "[a-zA-Z.]{0,12}", value in ".{0,8}",
        ) {
            let known = ["isAccepted", "signedName", "shownText", "firstName", "lastName", "email", "phone", "add", "remove", "choice", "isConfirmed"];
            prop_assume!(!known.contains(&name.as_str()));
            let refused = answered(&step(step_type, json!({})), &[(name.as_str(), value.as_str())]).unwrap_err();
            prop_assert!(refused.contains(&(name, Lack::Stranger)));
        }
    }
}
