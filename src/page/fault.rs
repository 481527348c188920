//! What is wrong with a form, field by field, whoever found it: the form itself, or the operation it stands for.

use crate::words::{Words, fill};

use super::asking::Refusal;
use super::form::{choice_field, text_field};
use super::person;
use super::seen::Step;
use crate::precheck::StepType;

/// What a field lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lack {
    /// It is no field of the form.
    Stranger,
    /// A value.
    Value,
    /// One of its options.
    Choice,
    /// A tick.
    Acceptance,
    /// A name that signs.
    Signature,
    /// An address that mail can go to.
    Email,
    /// A number that can be called.
    Phone,
    /// A date of the calendar.
    Date,
    /// A date that has been.
    PastDate,
    /// Brevity: so many characters at the most.
    Brevity(usize),
    /// A guest, or more of them.
    Guests,
    /// A file.
    File,
    /// A file of a kind that is taken.
    FileType,
    /// A file that is small enough.
    FileSize,
    /// Room for one more file.
    FileRoom,
    /// Something else.
    Invalid,
}

/// A field at fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Its name in the form.
    pub field: String,
    /// What it lacks.
    pub lack: Lack,
}

/// All fields at fault.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Faults(pub Vec<Fault>);

/// What a file is held against (contract: Steps that are really done).
const FILE_SIZE: &str = "10 MB";
const FILES: usize = 10;

impl Lack {
    /// What a guest is told.
    #[must_use]
    pub fn said(self, words: &'static Words) -> String {
        let errors = &words.errors;
        match self {
            Self::Value => errors.required,
            Self::Choice => errors.choose_one,
            Self::Acceptance => errors.accept,
            Self::Signature => errors.sign,
            Self::Email => errors.email,
            Self::Phone => errors.phone,
            Self::Date => errors.date,
            Self::PastDate => errors.date_in_future,
            Self::Guests => errors.guests_missing,
            Self::File => errors.file_missing,
            Self::FileType => errors.file_type,
            Self::Brevity(most) => return fill(errors.too_long, &[("max", &most.to_string())]),
            Self::FileSize => return fill(errors.file_size, &[("size", FILE_SIZE)]),
            Self::FileRoom => return fill(errors.file_count, &[("n", &FILES.to_string())]),
            Self::Stranger | Self::Invalid => errors.invalid,
        }
        .to_owned()
    }

    /// What an issue of the interface comes to; `field` is the last name on its way.
    #[must_use]
    pub fn of(field: &str, message: &str) -> Self {
        let most = || message.strip_prefix("must have at most ")?.strip_suffix(" characters")?.parse().ok();
        if let Some(most) = most() {
            return Self::Brevity(most);
        }
        match field {
            _ if ["is required", "must not be blank"].contains(&message) => Self::Value,
            "email" => Self::Email,
            "phone" => Self::Phone,
            "birthDate" if message.contains("future") => Self::PastDate,
            "birthDate" => Self::Date,
            "file" if message.contains("larger") => Self::FileSize,
            "file" if message.contains("at most") => Self::FileRoom,
            "file" if message.starts_with("is not ") => Self::FileType,
            "file" => Self::File,
            _ => Self::Invalid,
        }
    }
}

impl Faults {
    /// Fields that are none of the form's.
    #[must_use]
    pub fn strangers(fields: &[(String, String)], is_known: impl Fn(&str) -> bool) -> Self {
        let strangers = fields.iter().filter(|(name, _)| !is_known(name));
        Self(strangers.map(|(name, _)| Fault { field: name.clone(), lack: Lack::Stranger }).collect())
    }

    /// Notes one more.
    pub fn add(&mut self, field: &str, lack: Lack) {
        self.0.push(Fault { field: field.to_owned(), lack });
    }

    /// Notes what else is wrong, but for fields that are noted already.
    pub fn add_all(&mut self, others: impl IntoIterator<Item = Fault>) {
        for fault in others {
            if !self.0.iter().any(|noted| noted.field == fault.field) {
                self.0.push(fault);
            }
        }
    }

    /// What is filled in, unless something is wrong with it.
    pub fn or<T>(self, filled: T) -> Result<T, Self> {
        if self.0.is_empty() { Ok(filled) } else { Err(self) }
    }

    /// What was found by the operation that a form stands for, field by field of the form.
    #[must_use]
    pub fn found(refusal: &Refusal, step: Option<&Step>) -> Self {
        let fault = |(path, message): &(Vec<String>, String)| {
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            let path = path.strip_prefix(&["answers"]).unwrap_or(&path);
            let last = path.last().copied().unwrap_or_default();
            Fault { field: field_of(step, path), lack: Lack::of(last, message) }
        };
        Self(refusal.issues.iter().map(fault).collect())
    }
}

/// The field of a form that stands for a place in the answers.
fn field_of(step: Option<&Step>, path: &[&str]) -> String {
    let first = path.first().copied().unwrap_or_default();
    match (step.map(|step| step.step_type), path) {
        (Some(StepType::OtherGuests), ["guests", guest, name, ..]) => {
            guest.parse().map_or_else(|_| first.to_owned(), |guest| person::field_of(guest, name))
        }
        (Some(StepType::AdditionalQuestions), [question, rest @ ..]) => question.parse().map_or_else(
            |_| first.to_owned(),
            |question| if rest.first() == Some(&"text") { text_field(question) } else { choice_field(question) },
        ),
        (Some(StepType::DamageDeposit), _) => "choice".to_owned(),
        _ => first.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use uuid::Uuid;

    use super::*;
    use crate::words::in_language;

    fn step(step_type: StepType) -> Step {
        let step = json!({ "id": Uuid::nil(), "stepType": step_type, "title": "Step", "isComplete": false });
        serde_json::from_value(step).unwrap()
    }

    /// The field at fault, and what it lacks, for an issue of the interface.
    fn found(step_type: Option<StepType>, path: &[&str], message: &str) -> (String, Lack) {
        let path = path.iter().map(|part| (*part).to_owned()).collect();
        let refusal = Refusal { issues: vec![(path, message.to_owned())], ..Refusal::default() };
        let step = step_type.map(step);
        let fault = Faults::found(&refusal, step.as_ref()).0.remove(0);
        (fault.field, fault.lack)
    }

    #[test]
    fn what_the_interface_finds_is_said_at_its_field() {
        let question = Uuid::from_u128(7).to_string();
        let (choice, text) = (format!("q.{question}"), format!("q.{question}.text"));
        for (step_type, path, message, field, lack) in [
            (StepType::YourDetails, vec!["answers", "email"], "must be a mail address", "email", Lack::Email),
            (StepType::YourDetails, vec!["answers", "birthDate"], "must not be in the future", "birthDate", Lack::PastDate),
            (StepType::YourDetails, vec!["answers", "birthDate"], "must be a date such as 1990-11-21", "birthDate", Lack::Date),
            (StepType::OtherGuests, vec!["answers", "guests", "1", "phone"], "is not a valid phone number", "g.1.phone", Lack::Phone),
            (StepType::OtherGuests, vec!["answers", "guests"], "must have at most 50 items", "guests", Lack::Invalid),
            (StepType::AdditionalQuestions, vec!["answers", &question, "optionIds", "0"], "is not an option", &choice, Lack::Invalid),
            (
                StepType::AdditionalQuestions,
                vec!["answers", &question, "text"],
                "must have at most 6000 characters",
                &text,
                Lack::Brevity(6000),
            ),
            (StepType::DamageDeposit, vec!["answers", "damageWaiverId"], "is not a damage waiver", "choice", Lack::Invalid),
            (StepType::DocumentUpload, vec!["file"], "is larger than 10 MiB", "file", Lack::FileSize),
            (StepType::DocumentUpload, vec!["file"], "is not a JPEG or PNG", "file", Lack::FileType),
            (StepType::DocumentUpload, vec!["file"], "a step has at most 10 files", "file", Lack::FileRoom),
            (StepType::DocumentUpload, vec!["file"], "is empty", "file", Lack::File),
        ] {
            assert_eq!(found(Some(step_type), &path, message), (field.to_owned(), lack), "{path:?}");
        }
        assert_eq!(found(None, &["text"], "is required"), ("text".into(), Lack::Value));
        assert_eq!(found(None, &[], "whatever"), (String::new(), Lack::Invalid));
    }

    #[test]
    fn a_guest_is_told_what_to_do() {
        let words = in_language("en").0;
        assert!(Lack::Brevity(500).said(words).contains("500"));
        assert!(Lack::FileRoom.said(words).contains("10"));
        assert_ne!(Lack::Signature.said(words), Lack::Acceptance.said(words));
    }
}
