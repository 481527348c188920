//! The forms of the guest's page: what each sends, as the input of the operation it stands for, and where it leads.
//!
//! | form | fields |
//! |---|---|
//! | additional questions | `q.<questionId>`, an option's id, once for each one chosen, empty for none; `q.<questionId>.text` |
//! | agreement | `isAccepted=true`, where the box is ticked |
//! | your details | `firstName`, `lastName`, `email`, `phone` |
//! | other guests | `guests` |
//! | any other step | `isConfirmed=true` |
//! | submission | none |
//! | message | `text` |
//!
//! Which fields there are follows from the kind of step. Whether a question or an option is the step's own is for the
//! operation to say, as to any other caller.
//!
//! Nothing here keeps out forms of other sites, because nothing has to: the token in the path is the only credential, and
//! no browser adds it by itself. Who knows the address of a form may do what it does; who does not has nothing to aim at.

use engine::error::{Error, Issue, Result};
use engine::format;
use engine::operation::Object;
use serde_json::{Value, json};
use strum::{EnumString, IntoStaticStr};
use uuid::Uuid;

use crate::guest::StepView;
use crate::precheck::StepType;

/// 64 KiB: the greatest body of a form.
pub const BODY_LIMIT: usize = 64 << 10;

/// Fields of a form, in the order in which they were sent.
pub type Fields = Vec<(String, String)>;

/// A form of the page, and the place on the page where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// What a step asks.
    Step(Uuid),
    /// Hands pre-check-in in.
    Submit,
    /// Writes to the host.
    Message,
}

/// What the page says once, after a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Note {
    /// The step was saved, and asks for more.
    More,
    /// The message was sent.
    Sent,
}

/// What the page's address asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Visit {
    /// The language, where one is asked for.
    pub language: Option<String>,
    /// The step to unfold.
    pub step: Option<Uuid>,
    /// What to say.
    pub note: Option<Note>,
}

/// A form that was refused.
#[derive(Debug)]
pub struct Refused {
    /// Which one.
    pub form: Form,
    /// With what status.
    pub status: u16,
    /// Whether the stay holds as much as it may.
    pub is_full: bool,
    /// What was filled in, as far as it could be read.
    pub fields: Fields,
}

impl Form {
    /// The operation it stands for.
    #[must_use]
    pub const fn operation(self) -> &'static str {
        match self {
            Self::Step(_) => "saveStepAnswers",
            Self::Submit => "submitPrecheckin",
            Self::Message => "sendGuestMessage",
        }
    }

    /// The id of its place on the page.
    #[must_use]
    pub fn anchor(self) -> String {
        match self {
            Self::Step(id) => format!("step-{id}"),
            Self::Submit => "submit".into(),
            Self::Message => "messages".into(),
        }
    }

    /// Where a browser sends it. The anchor has no part in the request; it is where a refusal will be looked at.
    #[must_use]
    pub fn action(self, page: &str, language: Option<&str>) -> String {
        let path = match self {
            Self::Step(id) => format!("{page}/steps/{id}"),
            Self::Submit => format!("{page}/submit"),
            Self::Message => format!("{page}/messages"),
        };
        address(&path, &[("language", language)], self)
    }
}

impl Visit {
    /// What a query asks for; what it does not know, or cannot read, asks for nothing.
    #[must_use]
    pub fn of(query: &[(String, String)]) -> Self {
        let sent = |wanted: &str| query.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str());
        Self {
            language: sent("language").map(str::to_owned),
            step: sent("step").and_then(|id| id.parse().ok()),
            note: sent("note").and_then(|name| name.parse().ok()),
        }
    }
}

/// The page, in the language that was asked for, at a place.
#[must_use]
pub fn landing(page: &str, language: Option<&str>, place: Form, note: Option<Note>) -> String {
    let step = if let Form::Step(id) = place { Some(id.to_string()) } else { None };
    address(page, &[("language", language), ("step", step.as_deref()), ("note", note.map(<&str>::from))], place)
}

fn address(path: &str, query: &[(&str, Option<&str>)], place: Form) -> String {
    let mut written = form_urlencoded::Serializer::new(String::new());
    written.extend_pairs(query.iter().filter_map(|(name, value)| value.map(|value| (*name, value))));
    let query = written.finish();
    let mark = if query.is_empty() { "" } else { "?" };
    format!("{path}{mark}{query}#{}", place.anchor())
}

/// The fields of a body. A browser ends lines with CR LF, which is the form's doing and not the guest's.
#[must_use]
pub fn parse(body: &[u8]) -> Fields {
    form_urlencoded::parse(body).map(|(name, value)| (name.into_owned(), value.replace("\r\n", "\n"))).collect()
}

/// The body of the operation that a form stands for; 404 for a step that is not shown, 400 with every field that is not the
/// form's.
pub fn input(form: Form, shown: &[StepView], fields: &[(String, String)]) -> Result<Value> {
    match form {
        Form::Step(id) => {
            let step = shown.iter().find(|step| step.id == id).ok_or_else(|| Error::not_found("Step"))?;
            Ok(json!({ "answers": answers(step.step_type, fields)? }))
        }
        Form::Submit => taken(&[], fields).map(Value::Object),
        Form::Message => taken(&[("text", Takes::Text)], fields).map(Value::Object),
    }
}

/// Where a form leads once it has been taken: to what is to be done next.
#[must_use]
pub fn after(form: Form, shown: &[StepView], answer: Value) -> (Form, Option<Note>) {
    match form {
        Form::Step(_) => serde_json::from_value(answer).map_or((form, None), |saved: StepView| after_saving(shown, &saved)),
        Form::Submit => (form, None),
        Form::Message => (form, Some(Note::Sent)),
    }
}

/// The step itself while it is not done, or asks what it did not ask before; else the next that is not done.
fn after_saving(shown: &[StepView], saved: &StepView) -> (Form, Option<Note>) {
    let place = shown.iter().position(|step| step.id == saved.id);
    let asked = place.and_then(|place| shown[place].questions.as_deref()).unwrap_or_default();
    let asks_anew = saved.questions.iter().flatten().any(|question| asked.iter().all(|before| before.id != question.id));
    if !saved.is_complete || asks_anew {
        return (Form::Step(saved.id), Some(Note::More));
    }
    let (before, behind) = shown.split_at(place.unwrap_or_default());
    let next = behind.iter().chain(before).find(|step| !step.is_complete && step.id != saved.id);
    (next.map_or(Form::Submit, |step| Form::Step(step.id)), None)
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
    /// A box that is ticked or not.
    Flag,
    /// What only confirms.
    Confirmation,
    /// A text.
    Text,
    /// A text, left out where it is blank.
    OptionalText,
}

impl Takes {
    fn value(self, sent: &[&str]) -> Result<Option<Value>, &'static str> {
        match (self, sent) {
            (_, [_, _, ..]) => Err("is given more than once"),
            (Self::Flag | Self::Confirmation, ["true"]) => Ok(Some(json!(true))),
            (Self::Flag | Self::Confirmation, [_]) => Err("must be true"),
            (Self::Flag, []) => Ok(Some(json!(false))),
            (Self::Confirmation | Self::Text, []) => Err("is required"),
            (Self::OptionalText, []) => Ok(None),
            (Self::OptionalText, [text]) if text.trim().is_empty() => Ok(None),
            (Self::Text, [text]) if text.trim().is_empty() => Err("must not be blank"),
            (Self::Text | Self::OptionalText, [text]) => Ok(Some(json!(text.trim()))),
        }
    }
}

/// The answers to a step. Any answers complete your details, so the form asks for what a host cannot do without.
fn answers(step_type: StepType, fields: &[(String, String)]) -> Result<Object> {
    let known: &[(&str, Takes)] = match step_type {
        StepType::AdditionalQuestions => return questions(fields),
        StepType::Agreement => &[("isAccepted", Takes::Flag)],
        StepType::YourDetails => {
            &[("firstName", Takes::Text), ("lastName", Takes::Text), ("email", Takes::Text), ("phone", Takes::OptionalText)]
        }
        StepType::OtherGuests => &[("guests", Takes::OptionalText)],
        StepType::IdentityCheck
        | StepType::BackgroundCheck
        | StepType::AuthorityReporting
        | StepType::DocumentUpload
        | StepType::MandatoryFee
        | StepType::DamageDeposit
        | StepType::ScreenAndProtect
        | StepType::Main => &[("isConfirmed", Takes::Confirmation)],
    };
    taken(known, fields)
}

fn questions(fields: &[(String, String)]) -> Result<Object> {
    let (mut answers, mut issues) = (Object::new(), Vec::new());
    for (name, value) in fields {
        let Some((question, is_text)) = question_of(name) else {
            issues.push(Issue::new(&[name.as_str()], "unrecognized field"));
            continue;
        };
        let answer = answers.entry(question.to_string()).or_insert_with(|| json!({}));
        if is_text {
            if !answer["text"].is_null() {
                issues.push(Issue::new(&[name.as_str()], "is given more than once"));
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
    if issues.is_empty() { Ok(answers) } else { Err(Error::issues(issues)) }
}

/// The fields of a form whose names are known beforehand.
fn taken(known: &[(&str, Takes)], fields: &[(String, String)]) -> Result<Object> {
    let strangers = fields.iter().filter(|(name, _)| known.iter().all(|(known, _)| known != name));
    let mut issues: Vec<Issue> = strangers.map(|(name, _)| Issue::new(&[name.as_str()], "unrecognized field")).collect();
    let mut object = Object::new();
    for (name, takes) in known {
        let sent: Vec<&str> = fields.iter().filter(|(other, _)| other == name).map(|(_, value)| value.as_str()).collect();
        match takes.value(&sent) {
            Ok(Some(value)) => drop(object.insert((*name).to_owned(), value)),
            Ok(None) => {}
            Err(reason) => issues.push(Issue::new(&[*name], reason)),
        }
    }
    if issues.is_empty() { Ok(object) } else { Err(Error::issues(issues)) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use strum::VariantArray;

    use super::*;
    use crate::guest::QuestionView;
    use crate::precheck::QuestionKind;

    fn id(number: u128) -> Uuid {
        Uuid::from_u128(number)
    }

    fn fields(sent: &[(&str, &str)]) -> Fields {
        sent.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    /// The answers, or the fields at fault.
    fn answered(step_type: StepType, sent: &[(&str, &str)]) -> Result<Value, Vec<String>> {
        answers(step_type, &fields(sent)).map(Value::Object).map_err(|error| at_fault(&error))
    }

    fn at_fault(error: &Error) -> Vec<String> {
        let issues = error.body()["details"]["issues"].as_array().cloned().unwrap_or_default();
        issues.iter().map(|issue| issue["path"][0].as_str().unwrap().to_owned()).collect()
    }

    fn step(number: u128, is_complete: bool, questions: Option<&[u128]>) -> StepView {
        let question = |number: &u128| QuestionView {
            id: id(*number),
            kind: QuestionKind::FreeFormInput,
            text: None,
            is_required: false,
            options: Vec::new(),
            answer: None,
        };
        StepView {
            id: id(number),
            step_type: if questions.is_some() { StepType::AdditionalQuestions } else { StepType::Agreement },
            title: String::new(),
            is_complete,
            description: None,
            is_open: true,
            agreement_text: None,
            questions: questions.map(|numbers| numbers.iter().map(question).collect()),
            answers: None,
            required_fields: None,
            expected_guests: None,
            is_signature_required: None,
            deposit: None,
            fees: None,
            progress: None,
        }
    }

    #[test]
    fn a_box_is_ticked_or_not() {
        assert_eq!(answered(StepType::Agreement, &[]), Ok(json!({ "isAccepted": false })));
        assert_eq!(answered(StepType::Agreement, &[("isAccepted", "true")]), Ok(json!({ "isAccepted": true })));
        for sent in [vec![("isAccepted", "on")], vec![("isAccepted", "true"); 2]] {
            assert_eq!(answered(StepType::Agreement, &sent), Err(vec!["isAccepted".into()]));
        }
    }

    #[test]
    fn details_are_texts_without_the_blanks_around_them() {
        let sent = [("firstName", " Ada "), ("lastName", "Lovelace"), ("email", "ada@example.com"), ("phone", " ")];
        let expected = json!({ "firstName": "Ada", "lastName": "Lovelace", "email": "ada@example.com" });
        assert_eq!(answered(StepType::YourDetails, &sent), Ok(expected));
        let missing = answered(StepType::YourDetails, &[("lastName", " "), ("shoeSize", "38"), ("phone", "1")]);
        assert_eq!(missing, Err(["shoeSize", "firstName", "lastName", "email"].map(str::to_owned).to_vec()));
        assert_eq!(answered(StepType::OtherGuests, &[("guests", "Ana\nLuis")]), Ok(json!({ "guests": "Ana\nLuis" })));
        assert_eq!(answered(StepType::OtherGuests, &[("guests", "")]), Ok(json!({})), "nobody else is an answer");
    }

    #[test]
    fn what_others_carry_out_is_confirmed() {
        assert_eq!(answered(StepType::DocumentUpload, &[("isConfirmed", "true")]), Ok(json!({ "isConfirmed": true })));
        assert_eq!(answered(StepType::DocumentUpload, &[]), Err(vec!["isConfirmed".into()]));
        assert_eq!(answered(StepType::Main, &[("isConfirmed", "false")]), Err(vec!["isConfirmed".into()]));
    }

    #[test]
    fn questions_are_answered_by_options_or_by_a_text() {
        let (choice, text) = (choice_field(id(1)), text_field(id(2)));
        let (one, other) = (id(10).to_string(), id(11).to_string());
        let ask = |sent: &[(&str, &str)]| answered(StepType::AdditionalQuestions, sent);
        assert_eq!(ask(&[]), Ok(json!({})));
        let both = json!({ id(1).to_string(): { "optionIds": [one, other] }, id(2).to_string(): { "text": "at noon" } });
        assert_eq!(ask(&[(&choice, &one), (&text, "at noon"), (&choice, &other)]), Ok(both));
        assert_eq!(ask(&[(&choice, "")]), Ok(json!({ id(1).to_string(): { "optionIds": [] } })), "none of them");
        assert_eq!(ask(&[(&text, "a"), (&text, "b")]), Err(vec![text.clone()]));
        for name in ["isAccepted", "q.", "q.1", "q.1.text", "q..text", &choice[2..], &format!("{choice}.name"), &format!("{text}.text")] {
            assert_eq!(ask(&[(name, "x"), (&choice, &one)]), Err(vec![name.to_owned()]), "{name}");
        }
    }

    #[test]
    fn a_form_is_the_input_of_its_operation() {
        let shown = [step(1, false, None)];
        let accepted = input(Form::Step(id(1)), &shown, &fields(&[("isAccepted", "true")])).unwrap();
        assert_eq!(accepted, json!({ "answers": { "isAccepted": true } }));
        assert_eq!(input(Form::Step(id(2)), &shown, &[]).unwrap_err().kind().status(), 404);
        assert_eq!(input(Form::Submit, &shown, &[]).unwrap(), json!({}));
        assert_eq!(at_fault(&input(Form::Submit, &shown, &fields(&[("force", "true")])).unwrap_err()), ["force"]);
        assert_eq!(input(Form::Message, &shown, &fields(&[("text", "Hola\n")])).unwrap(), json!({ "text": "Hola" }));
        assert_eq!(at_fault(&input(Form::Message, &shown, &fields(&[("text", " "), ("to", "x")])).unwrap_err()), ["to", "text"]);
    }

    #[test]
    fn a_body_is_read_as_browsers_write_it() {
        assert_eq!(parse(b"text=uno%0D%0Ados+%C3%B1&a=%3D%26"), fields(&[("text", "uno\ndos ñ"), ("a", "=&")]));
        assert!(parse(b"").is_empty());
        assert_eq!(parse(b"{\"text\":1}"), fields(&[("{\"text\":1}", "")]));
    }

    #[test]
    fn a_saved_step_leads_to_what_is_to_be_done_next() {
        let shown = [step(1, false, None), step(2, false, Some(&[7])), step(3, true, None), step(4, false, None)];
        let to = |number| Form::Step(id(number));
        for (saved, expected) in [
            (step(2, true, Some(&[7])), (to(4), None)),
            (step(4, true, None), (to(1), None)),
            (step(3, true, None), (to(4), None)),
            (step(2, false, Some(&[7])), (to(2), Some(Note::More))),
            (step(2, true, Some(&[7, 8])), (to(2), Some(Note::More))),
        ] {
            let number = saved.id;
            assert_eq!(after(Form::Step(number), &shown, serde_json::to_value(saved).unwrap()), expected, "{number}");
        }
        let last = [step(1, true, None), step(2, false, None)];
        assert_eq!(after_saving(&last, &step(2, true, None)), (Form::Submit, None));
        assert_eq!(after(Form::Submit, &last, json!({})), (Form::Submit, None));
        assert_eq!(after(Form::Message, &last, json!({})), (Form::Message, Some(Note::Sent)));
    }

    #[test]
    fn an_address_is_read_as_it_was_written() {
        let (page, step) = ("/stay/abc", Form::Step(id(1)));
        let anchor = format!("step-{}", id(1));
        assert_eq!(step.action(page, Some("es")), format!("/stay/abc/steps/{}?language=es#{anchor}", id(1)));
        assert_eq!(Form::Submit.action(page, None), "/stay/abc/submit#submit");
        assert_eq!(landing(page, None, Form::Submit, None), "/stay/abc#submit");
        let written = landing(page, Some("pt-BR"), step, Some(Note::More));
        assert_eq!(written, format!("/stay/abc?language=pt-BR&step={}&note=more#{anchor}", id(1)));
        let query = parse(written.split(['?', '#']).nth(1).unwrap().as_bytes());
        assert_eq!(Visit::of(&query), Visit { language: Some("pt-BR".into()), step: Some(id(1)), note: Some(Note::More) });
        assert_eq!(Visit::of(&fields(&[("step", "x"), ("note", "<b>"), ("at", "now")])), Visit::default());
    }

    proptest! {
        /// Nothing that a form has no field for is ever taken.
        #[test]
        fn unknown_fields_are_refused(
            step_type in prop::sample::select(StepType::VARIANTS), name in "[a-zA-Z.]{0,12}", value in ".{0,8}",
        ) {
            let known = ["isAccepted", "firstName", "lastName", "email", "phone", "guests", "isConfirmed"];
            prop_assume!(!known.contains(&name.as_str()));
            let refused = answered(step_type, &[(name.as_str(), value.as_str())]).unwrap_err();
            prop_assert!(refused.contains(&name));
        }
    }
}
