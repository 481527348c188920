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
    fn of(field: &str, message: &str) -> Self {
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
