//! The forms of the guest's page: what each sends, as the input of the operation it stands for.
//!
//! | form | fields |
//! |---|---|
//! | additional questions | `q.<questionId>`, an option's id, once for each one chosen, empty for none; `q.<questionId>.text` |
//! | agreement | `isAccepted=true`, where the box is ticked; `signedName` |
//! | your details | a field of the guest each, such as `firstName` |
//! | other guests | the same of each, such as `g.0.firstName`; `add`, or `remove` with the number of one |
//! | damage deposit | `choice`, `deposit` or a waiver's id |
//! | any other step | `isConfirmed=true` |
//! | submission, removal of a file | none |
//! | message | `text`, `subject`, and `key`, which each form has of its own |
//!
//! Which fields there are follows from the step. Whether a question or an option is the step's own is for the operation to say,
//! as to any other caller.
//!
//! Nothing here keeps out forms of other sites, because nothing has to: the token in the path is the only credential, and
//! no browser adds it by itself. Who knows the address of a form may do what it does; who does not has nothing to aim at.

use engine::format;
use engine::operation::Object;
use serde_json::{Value, json};
use uuid::Uuid;

use super::fault::{Fault, Faults, Lack};
use super::person::{self, Detail};
use super::seen::Step;
use crate::precheck::StepType;

/// 64 KiB: the greatest body of a form.
pub const BODY_LIMIT: usize = 64 << 10;

/// Guests that a form can name at the most.
pub const MOST_GUESTS: usize = 50;

/// Fields of a form, in the order in which they were sent.
pub type Fields = Vec<(String, String)>;

/// What a step's form asks to be saved, and what it wants to see then.
#[derive(Debug, PartialEq)]
pub struct Filled {
    /// The answers.
    pub answers: Object,
    /// The same step again, with so many guests to fill in.
    pub guests: Option<usize>,
}

/// The fields of a body. A browser ends lines with CR LF, which is the form's doing and not the guest's.
#[must_use]
pub fn parse(body: &[u8]) -> Fields {
    form_urlencoded::parse(body).map(|(name, value)| (name.into_owned(), value.replace("\r\n", "\n"))).collect()
}

/// The first value of a field.
#[must_use]
pub fn sent<'f>(fields: &'f [(String, String)], wanted: &str) -> Option<&'f str> {
    fields.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str())
}

/// The name of the field that chooses options of a question.
#[must_use]
pub fn choice_field(question: Uuid) -> String {
    format!("q.{question}")
}

/// The name of the field that answers a question by a text.
#[must_use]
pub fn text_field(question: Uuid) -> String {
    format!("q.{question}.text")
}

/// The question that a field answers, and whether by a text.
fn question_of(field: &str) -> Option<(Uuid, bool)> {
    let rest = field.strip_prefix("q.")?;
    let (id, is_text) = rest.strip_suffix(".text").map_or((rest, false), |id| (id, true));
    let id = if format::is_uuid(id) { id.parse().ok() } else { None };
    id.map(|id| (id, is_text))
}

/// How the value of a field is taken.
#[derive(Debug, Clone, Copy)]
enum Takes {
    /// A box that has to be ticked.
    Box,
    /// What only confirms.
    Confirmation,
    /// A text.
    Text,
    /// A text, left out where it is blank.
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
            (Self::OptionalText, [text]) if text.trim().is_empty() => Ok(None),
            (Self::Text, [text]) if text.trim().is_empty() => Err(Lack::Value),
            (Self::Text | Self::OptionalText, [text]) => Ok(Some(json!(text.trim()))),
        }
    }
}

/// The answers that a step's form gives; else every field that is not the form's, is missing or cannot be.
pub fn filled(step: &Step, fields: &[(String, String)]) -> Result<Filled, Faults> {
    let answers = match step.step_type {
        StepType::AdditionalQuestions => questions(fields),
        StepType::Agreement => agreement(step, fields),
        StepType::YourDetails => details(step, fields),
        StepType::OtherGuests => return guests(step, fields),
        StepType::DamageDeposit => deposit(fields),
        StepType::IdentityCheck
        | StepType::BackgroundCheck
        | StepType::AuthorityReporting
        | StepType::DocumentUpload
        | StepType::MandatoryFee
        | StepType::ScreenAndProtect
        | StepType::Main => taken(&[("isConfirmed", Takes::Confirmation)], fields),
    };
    answers.map(|answers| Filled { answers, guests: None })
}

/// What a message comes to: with what it is about before it, where that is said.
pub fn message(fields: &[(String, String)]) -> Result<Object, Faults> {
    let known = [("text", Takes::Text), ("subject", Takes::OptionalText), ("key", Takes::OptionalText)];
    let mut message = taken(&known, fields)?;
    if let Some(subject) = message.remove("subject") {
        let (subject, text) = (subject.as_str().unwrap_or_default(), message["text"].as_str().unwrap_or_default());
        message["text"] = json!(format!("[{subject}] {text}"));
    }
    Ok(message)
}

/// What a form without fields comes to.
pub fn nothing(fields: &[(String, String)]) -> Result<Object, Faults> {
    taken(&[], fields)
}

fn agreement(step: &Step, fields: &[(String, String)]) -> Result<Object, Faults> {
    let name = if step.is_signature_required { Takes::Text } else { Takes::OptionalText };
    taken(&[("isAccepted", Takes::Box), ("signedName", name)], fields).map_err(|mut faults| {
        for fault in faults.0.iter_mut().filter(|fault| fault.field == "signedName" && fault.lack == Lack::Value) {
            fault.lack = Lack::Signature;
        }
        faults
    })
}

fn deposit(fields: &[(String, String)]) -> Result<Object, Faults> {
    let mut answers = taken(&[("choice", Takes::Text)], fields).map_err(|mut faults| {
        for fault in faults.0.iter_mut().filter(|fault| fault.lack == Lack::Value) {
            fault.lack = Lack::Choice;
        }
        faults
    })?;
    if answers["choice"] != "deposit" {
        let waiver = answers.insert("choice".into(), json!("waiver"));
        answers.insert("damageWaiverId".into(), waiver.unwrap_or_default());
    }
    Ok(answers)
}

/// A guest's fields, as they were sent: what is left blank takes away what was saved, and is no answer otherwise.
fn told<'s>(asked: &[Detail<'_>], saved: Option<&Object>, sent: impl Fn(&str) -> Vec<&'s str>) -> (Object, Vec<(String, Lack)>) {
    let (mut answers, mut lacks) = (Object::new(), Vec::new());
    for Detail { name, is_required } in asked {
        let takes = if *is_required { Takes::Text } else { Takes::OptionalText };
        match takes.value(&sent(name)) {
            Ok(Some(value)) => drop(answers.insert((*name).to_owned(), value)),
            Ok(None) if saved.is_some_and(|saved| saved.contains_key(*name)) => drop(answers.insert((*name).to_owned(), Value::Null)),
            Ok(None) => {}
            Err(lack) => lacks.push(((*name).to_owned(), lack)),
        }
    }
    (answers, lacks)
}

fn details(step: &Step, fields: &[(String, String)]) -> Result<Object, Faults> {
    let asked = person::asked(&step.required_fields, false);
    let is_asked = |name: &str| asked.iter().any(|detail| detail.name == name);
    let mut faults = Faults::strangers(fields, is_asked);
    let (answers, lacks) = told(&asked, step.answers.as_ref(), |name| every(fields, name));
    faults.0.extend(lacks.into_iter().map(|(field, lack)| Fault { field, lack }));
    faults.or(answers)
}

/// Who else comes, each behind the one before; a guest of whom nothing is said is none. Adding and removing one saves what is
/// there, whether it is all or not.
fn guests(step: &Step, fields: &[(String, String)]) -> Result<Filled, Faults> {
    let asked = person::asked(&step.required_fields, true);
    let is_asked = |name: &str| {
        let of_guest =
            person::guest_of(name).is_some_and(|(guest, name)| guest < MOST_GUESTS && asked.iter().any(|detail| detail.name == name));
        of_guest || ["add", "remove"].contains(&name)
    };
    let mut faults = Faults::strangers(fields, is_asked);
    let adds = sent(fields, "add").is_some();
    let removed: Option<usize> = sent(fields, "remove").and_then(|number| number.parse().ok());
    let numbers = fields.iter().filter_map(|(name, _)| person::guest_of(name).map(|(guest, _)| guest));
    let shown = numbers.max().map_or(0, |last| last + 1).min(MOST_GUESTS);
    let saved = step.answers.as_ref().and_then(|answers| answers.get("guests")).and_then(Value::as_array);
    let mut named = Vec::new();
    for guest in 0..shown {
        let is_blank =
            asked.iter().all(|detail| every(fields, &person::field_of(guest, detail.name)).iter().all(|text| text.trim().is_empty()));
        if removed == Some(guest) || is_blank {
            continue;
        }
        // A guest takes the place of whoever was saved there, so that what that one had besides goes too.
        let before = saved.and_then(|saved| saved.get(named.len())).and_then(Value::as_object);
        let (mut answers, lacks) = told(&asked, before, |name| every(fields, &person::field_of(guest, name)));
        for (name, lack) in lacks {
            if lack == Lack::Value && (adds || removed.is_some()) {
                if before.is_some_and(|before| before.contains_key(&name)) {
                    answers.insert(name, Value::Null);
                }
            } else {
                faults.0.push(Fault { field: person::field_of(guest, &name), lack });
            }
        }
        named.push(answers);
    }
    let again = if adds { Some((shown + 1).min(MOST_GUESTS)) } else { removed.map(|_| shown.saturating_sub(1)) };
    let answers = Object::from_iter([("guests".to_owned(), json!(named))]);
    faults.or(Filled { answers, guests: again })
}

fn questions(fields: &[(String, String)]) -> Result<Object, Faults> {
    let (mut answers, mut faults) = (Object::new(), Faults::default());
    for (name, value) in fields {
        let Some((question, is_text)) = question_of(name) else {
            faults.add(name, Lack::Stranger);
            continue;
        };
        let answer = answers.entry(question.to_string()).or_insert_with(|| json!({}));
        if is_text {
            if !answer["text"].is_null() {
                faults.add(name, Lack::Invalid);
            }
            answer["text"] = json!(value);
            continue;
        }
        if answer["optionIds"].is_null() {
            answer["optionIds"] = json!([]);
        }
        if let (Some(chosen), false) = (answer["optionIds"].as_array_mut(), value.is_empty()) {
            chosen.push(json!(value));
        }
    }
    faults.or(answers)
}

/// Every value of a field.
fn every<'f>(fields: &'f [(String, String)], wanted: &str) -> Vec<&'f str> {
    fields.iter().filter(|(name, _)| name == wanted).map(|(_, value)| value.as_str()).collect()
}

/// The fields of a form whose names are known beforehand.
fn taken(known: &[(&str, Takes)], fields: &[(String, String)]) -> Result<Object, Faults> {
    let mut faults = Faults::strangers(fields, |name| known.iter().any(|(known, _)| *known == name));
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

    fn id(number: u128) -> Uuid {
        Uuid::from_u128(number)
    }

    fn fields(sent: &[(&str, &str)]) -> Fields {
        sent.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    /// A step of a type, with more that is known of it.
    fn step(step_type: StepType, more: Value) -> Step {
        let mut step = json!({ "id": id(1), "stepType": step_type, "title": "Step", "isComplete": false });
        step.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(step).unwrap()
    }

    /// The answers, or the fields at fault and what they lack.
    fn answered(step: &Step, sent: &[(&str, &str)]) -> Result<Value, Vec<(String, Lack)>> {
        let answered = filled(step, &fields(sent)).map(|filled| Value::Object(filled.answers));
        answered.map_err(|faults| faults.0.into_iter().map(|fault| (fault.field, fault.lack)).collect())
    }

    fn lacks(expected: &[(&str, Lack)]) -> Result<Value, Vec<(String, Lack)>> {
        Err(expected.iter().map(|(field, lack)| ((*field).to_owned(), *lack)).collect())
    }

    #[test]
    fn an_agreement_is_accepted_and_signed_where_that_is_asked() {
        let plain = step(StepType::Agreement, json!({}));
        assert_eq!(answered(&plain, &[]), lacks(&[("isAccepted", Lack::Acceptance)]));
        assert_eq!(answered(&plain, &[("isAccepted", "true")]), Ok(json!({ "isAccepted": true })));
        for sent in [vec![("isAccepted", "on")], vec![("isAccepted", "true"); 2]] {
            assert_eq!(answered(&plain, &sent), lacks(&[("isAccepted", Lack::Invalid)]));
        }
        let signed = step(StepType::Agreement, json!({ "isSignatureRequired": true }));
        assert_eq!(answered(&signed, &[("isAccepted", "true"), ("signedName", " ")]), lacks(&[("signedName", Lack::Signature)]));
        let sent = [("isAccepted", "true"), ("signedName", " Ada L ")];
        assert_eq!(answered(&signed, &sent), Ok(json!({ "isAccepted": true, "signedName": "Ada L" })));
    }

    #[test]
    fn details_are_texts_without_the_blanks_around_them() {
        let usual = step(StepType::YourDetails, json!({}));
        let sent = [("firstName", " Ada "), ("lastName", "Lovelace"), ("email", "ada@example.com"), ("phone", " ")];
        assert_eq!(answered(&usual, &sent), Ok(json!({ "firstName": "Ada", "lastName": "Lovelace", "email": "ada@example.com" })));
        let saved = step(StepType::YourDetails, json!({ "answers": { "phone": "1" } }));
        assert_eq!(answered(&saved, &sent).unwrap()["phone"], Value::Null, "what is emptied is taken away");
        let missing = answered(&usual, &[("lastName", " "), ("shoeSize", "38"), ("phone", "1")]);
        let expected = [("shoeSize", Lack::Stranger), ("firstName", Lack::Value), ("lastName", Lack::Value), ("email", Lack::Value)];
        assert_eq!(missing, lacks(&expected));
        let own = step(StepType::YourDetails, json!({ "requiredFields": ["birthDate", "Car plate"] }));
        assert_eq!(answered(&own, &[("birthDate", "1990-01-02")]), lacks(&[("Car plate", Lack::Value)]));
        let sent = [("Car plate", "B 1"), ("birthDate", "1990-01-02")];
        assert_eq!(answered(&own, &sent), Ok(json!({ "birthDate": "1990-01-02", "Car plate": "B 1" })));
    }

    #[test]
    fn guests_are_named_one_behind_the_other() {
        let others = step(
            StepType::OtherGuests,
            json!({ "requiredFields": ["firstName", "email"], "answers": { "guests": [{ "firstName": "Ana", "email": "a@b.co" }] } }),
        );
        assert_eq!(answered(&others, &[]), Ok(json!({ "guests": [] })));
        let sent = [("g.0.firstName", " "), ("g.0.email", ""), ("g.1.firstName", "Luis"), ("g.1.email", "l@b.co")];
        assert_eq!(answered(&others, &sent), Ok(json!({ "guests": [{ "firstName": "Luis", "email": "l@b.co" }] })));
        let half = [("g.0.firstName", "Ana"), ("g.0.email", "")];
        assert_eq!(answered(&others, &half), lacks(&[("g.0.email", Lack::Value)]));
        let adding = filled(&others, &fields(&[half[0], half[1], ("add", "1")])).unwrap();
        assert_eq!(Value::Object(adding.answers), json!({ "guests": [{ "firstName": "Ana", "email": null }] }));
        assert_eq!(adding.guests, Some(2));
        let removing = filled(&others, &fields(&[("g.0.firstName", "Ana"), ("g.1.firstName", "Luis"), ("remove", "0")])).unwrap();
        assert_eq!(
            removing,
            Filled {
                answers: serde_json::from_value(json!({ "guests": [{ "firstName": "Luis", "email": null }] })).unwrap(),
                guests: Some(1)
            }
        );
        for name in ["guests", "g.0.shoe", "g.50.firstName", "g.-1.firstName", "g.00.firstName", "g.0"] {
            assert_eq!(answered(&others, &[(name, "x")]), lacks(&[(name, Lack::Stranger)]), "{name}");
        }
    }

    #[test]
    fn a_deposit_is_a_choice() {
        let deposit = step(StepType::DamageDeposit, json!({}));
        assert_eq!(answered(&deposit, &[]), lacks(&[("choice", Lack::Choice)]));
        assert_eq!(answered(&deposit, &[("choice", "deposit")]), Ok(json!({ "choice": "deposit" })));
        let waiver = id(7).to_string();
        assert_eq!(answered(&deposit, &[("choice", &waiver)]), Ok(json!({ "choice": "waiver", "damageWaiverId": waiver })));
    }

    #[test]
    fn what_others_carry_out_is_confirmed() {
        let upload = step(StepType::DocumentUpload, json!({}));
        assert_eq!(answered(&upload, &[("isConfirmed", "true")]), Ok(json!({ "isConfirmed": true })));
        assert_eq!(answered(&upload, &[]), lacks(&[("isConfirmed", Lack::Value)]));
        assert_eq!(answered(&step(StepType::Main, json!({})), &[("isConfirmed", "false")]), lacks(&[("isConfirmed", Lack::Invalid)]));
    }

    #[test]
    fn questions_are_answered_by_options_or_by_a_text() {
        let (choice, text) = (choice_field(id(1)), text_field(id(2)));
        let (one, other) = (id(10).to_string(), id(11).to_string());
        let questions = step(StepType::AdditionalQuestions, json!({}));
        let ask = |sent: &[(&str, &str)]| answered(&questions, sent);
        assert_eq!(ask(&[]), Ok(json!({})));
        let both = json!({ id(1).to_string(): { "optionIds": [one, other] }, id(2).to_string(): { "text": "at noon" } });
        assert_eq!(ask(&[(&choice, &one), (&text, "at noon"), (&choice, &other)]), Ok(both));
        assert_eq!(ask(&[(&choice, "")]), Ok(json!({ id(1).to_string(): { "optionIds": [] } })), "none of them");
        assert_eq!(ask(&[(&text, "a"), (&text, "b")]), lacks(&[(&text, Lack::Invalid)]));
        for name in ["isAccepted", "q.", "q.1", "q.1.text", "q..text", &choice[2..], &format!("{choice}.name"), &format!("{text}.text")] {
            assert_eq!(ask(&[(name, "x"), (&choice, &one)]), lacks(&[(name, Lack::Stranger)]), "{name}");
        }
    }

    #[test]
    fn a_message_says_what_it_is_about() {
        assert_eq!(message(&fields(&[("text", "Hola\n")])), Ok(serde_json::from_value(json!({ "text": "Hola" })).unwrap()));
        let about = message(&fields(&[("subject", " Shower "), ("text", "It drips."), ("key", "k")])).unwrap();
        assert_eq!(Value::Object(about), json!({ "text": "[Shower] It drips.", "key": "k" }));
        let faults = message(&fields(&[("text", " "), ("to", "x")])).unwrap_err();
        assert_eq!(faults.0.iter().map(|fault| fault.field.as_str()).collect::<Vec<_>>(), ["to", "text"]);
        assert!(nothing(&[]).is_ok() && nothing(&fields(&[("force", "true")])).is_err());
    }

    #[test]
    fn a_body_is_read_as_browsers_write_it() {
        assert_eq!(parse(b"text=uno%0D%0Ados+%C3%B1&a=%3D%26"), fields(&[("text", "uno\ndos ñ"), ("a", "=&")]));
        assert!(parse(b"").is_empty());
        assert_eq!(parse(b"{\"text\":1}"), fields(&[("{\"text\":1}", "")]));
    }

    proptest! {
        /// Nothing that a form has no field for is ever taken.
        #[test]
        fn unknown_fields_are_refused(
            step_type in prop::sample::select(StepType::VARIANTS), name in "[a-zA-Z.]{0,12}", value in ".{0,8}",
        ) {
            let known = ["isAccepted", "signedName", "firstName", "lastName", "email", "phone", "add", "remove", "choice", "isConfirmed"];
            prop_assume!(!known.contains(&name.as_str()));
            let refused = answered(&step(step_type, json!({})), &[(name.as_str(), value.as_str())]).unwrap_err();
            prop_assert!(refused.contains(&(name, Lack::Stranger)));
        }
    }
}
