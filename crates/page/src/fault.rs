//! The faults of a form, each with its form field. The page itself finds faults such as missing
//! values and unknown fields. The operation that saves the form reports the invalid values.

use features::guest::StepView;
use features::precheck::AnswerForm;
use features::words::{Words, fill};

use super::form::{choice_field, text_field};
use super::guest_fields;
use super::operation_calls::PageRefusal;

/// The kind of a fault in a form of the guest page. Most kinds have the name of the input that is
/// missing or invalid, such as [`FaultKind::Email`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// The request contains a field that the form does not have.
    UnknownField,
    Value,
    /// The guest must enter a first or a last name.
    Name,
    /// The guest must choose an option.
    Choice,
    /// The guest must tick the box.
    Acceptance,
    /// The guest must tick the box that agrees to a background check.
    Consent,
    /// The guest must type a name as a signature.
    Signature,
    /// The guest must enter a valid e-mail address.
    Email,
    /// The guest must enter a valid phone number.
    Phone,
    Date,
    /// The guest must enter a date between 1900 and today.
    DateRange,
    /// The text has more characters than this maximum.
    TooLong(usize),
    /// The guest has entered fewer accompanying guests than the step expects.
    Guests,
    File,
    /// The type of the file is not accepted.
    FileType,
    /// The file exceeds the maximum size.
    FileSize,
    /// The step or the stay already has the maximum number of files.
    FileRoom,
    /// Any other fault.
    Invalid,
}

/// A fault of one form field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldFault {
    /// The name of the field in the form.
    pub field: String,
    pub kind: FaultKind,
}

/// All faults of a form.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Faults(pub Vec<FieldFault>);

/// The maximum size of a file, as messages show it (rules: pre-check-in#files).
const FILE_SIZE: &str = "10 MB";
const FILES: usize = 10;

impl FaultKind {
    /// Returns the message that explains this fault to the guest.
    #[must_use]
    pub fn message(self, words: &'static Words) -> String {
        let errors = &words.errors;
        match self {
            Self::Value => errors.required,
            Self::Name => errors.one_name,
            Self::Choice => errors.choose_one,
            Self::Acceptance => errors.accept,
            Self::Consent => errors.consent,
            Self::Signature => errors.sign,
            Self::Email => errors.email,
            Self::Phone => errors.phone,
            Self::Date => errors.date,
            Self::DateRange => errors.date_range,
            Self::Guests => errors.guests_missing,
            Self::File => errors.file_missing,
            Self::FileType => errors.file_type,
            Self::TooLong(most) => return fill(errors.too_long, &[("max", &most.to_string())]),
            Self::FileSize => return fill(errors.file_size, &[("size", FILE_SIZE)]),
            Self::FileRoom => return fill(errors.file_count, &[("n", &FILES.to_string())]),
            Self::UnknownField | Self::Invalid => errors.invalid,
        }
        .to_owned()
    }

    /// Returns the kind of the fault for an issue that the operation reported. `field` is the last
    /// part of the issue's path, such as `email`.
    #[must_use]
    pub fn of(field: &str, message: &str) -> Self {
        let most = || {
            message
                .strip_prefix("must have at most ")?
                .strip_suffix(" characters")?
                .parse()
                .ok()
        };
        if let Some(most) = most() {
            return Self::TooLong(most);
        }
        match field {
            _ if ["is required", "must not be blank"].contains(&message) => Self::Value,
            "email" => Self::Email,
            "phone" => Self::Phone,
            "birthDate" if message.contains("four figures") => Self::DateRange,
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
    /// Returns a fault for each field that the form does not have.
    #[must_use]
    pub fn unknown_fields(fields: &[(String, String)], is_known: impl Fn(&str) -> bool) -> Self {
        let strangers = fields.iter().filter(|(name, _)| !is_known(name));
        Self(
            strangers
                .map(|(name, _)| FieldFault {
                    field: name.clone(),
                    kind: FaultKind::UnknownField,
                })
                .collect(),
        )
    }

    /// Returns the error message of a field; `None` if the field has no fault.
    #[must_use]
    pub fn message_of(&self, name: &str, words: &'static Words) -> Option<String> {
        let fault = self.0.iter().find(|fault| fault.field == name)?;
        Some(fault.kind.message(words))
    }

    /// Renames the fields of guests, such as `g.0.email`. An operation and a form can number the
    /// same guest differently, because the page does not send blank or unchanged guests to the
    /// operation. This function replaces the number in the operation's input by the number in the
    /// form. `places[n]` is the form's number of the guest with number `n` in the operation's
    /// input.
    #[must_use]
    pub fn at_form_positions(mut self, places: &[usize]) -> Self {
        for fault in &mut self.0 {
            if let Some((sent, name)) = guest_fields::guest_of(&fault.field)
                && let Some(place) = places.get(sent)
            {
                fault.field = guest_fields::field_of(*place, name);
            }
        }
        self
    }

    pub fn add(&mut self, field: &str, kind: FaultKind) {
        self.0.push(FieldFault {
            field: field.to_owned(),
            kind,
        });
    }

    /// Adds the faults in `others`. Skips a fault whose field already has a fault.
    pub fn add_missing(&mut self, others: impl IntoIterator<Item = FieldFault>) {
        for fault in others {
            if !self.0.iter().any(|noted| noted.field == fault.field) {
                self.0.push(fault);
            }
        }
    }

    /// Returns an error with the faults, or `Ok(filled)` if there are no faults.
    pub fn into_result<T>(self, filled: T) -> Result<T, Self> {
        if self.0.is_empty() {
            Ok(filled)
        } else {
            Err(self)
        }
    }

    /// Converts the issues in an operation's refusal into faults of the form's fields.
    #[must_use]
    pub fn of_refusal(refusal: &PageRefusal, step: Option<&StepView>) -> Self {
        let fault = |(path, message): &(Vec<String>, String)| {
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            let path = path.strip_prefix(&["answers"]).unwrap_or(&path);
            let last = path.last().copied().unwrap_or_default();
            FieldFault {
                field: field_of(step, path),
                kind: FaultKind::of(last, message),
            }
        };
        Self(refusal.issues.iter().map(fault).collect())
    }
}

/// Returns the name of a form field for the path of an issue that the operation reported. For
/// example, returns `g.0.email` for `guests.0.email`.
fn field_of(step: Option<&StepView>, path: &[&str]) -> String {
    let first = path.first().copied().unwrap_or_default();
    let in_guest = || {
        let ["guests", guest, name, ..] = path else {
            return None;
        };
        guest
            .parse::<usize>()
            .ok()
            .map(|guest| guest_fields::field_of(guest, name))
    };
    let in_question = || {
        let [question, rest @ ..] = path else {
            return None;
        };
        let question = question.parse().ok()?;
        Some(if rest.first() == Some(&"text") {
            text_field(question)
        } else {
            choice_field(question)
        })
    };
    let field = step.and_then(|step| match step.step_type.answer_form() {
        AnswerForm::OtherGuests => in_guest(),
        AnswerForm::Questions => in_question(),
        AnswerForm::DepositChoice => Some("choice".to_owned()),
        AnswerForm::Confirmation
        | AnswerForm::LeadGuest
        | AnswerForm::Agreement
        | AnswerForm::Consent => None,
    });
    field.unwrap_or_else(|| first.to_owned())
}

#[cfg(test)]
mod tests {
    use features::precheck::StepType;
    use features::words::in_language;
    use serde_json::json;
    use uuid::Uuid;

    use super::*;

    fn step(step_type: StepType) -> StepView {
        let step = json!({
            "id": Uuid::nil(),
            "stepType": step_type,
            "title": "Step",
            "state": "todo",
            "isComplete": false,
            "isOpen": true,
        });
        serde_json::from_value(step).unwrap()
    }

    /// Converts an issue that the operation reported into a fault. Returns the name of the form
    /// field and the kind of the fault.
    fn found(step_type: Option<StepType>, path: &[&str], message: &str) -> (String, FaultKind) {
        let path = path.iter().map(|part| (*part).to_owned()).collect();
        let refusal = PageRefusal {
            issues: vec![(path, message.to_owned())],
            ..PageRefusal::default()
        };
        let step = step_type.map(step);
        let fault = Faults::of_refusal(&refusal, step.as_ref()).0.remove(0);
        (fault.field, fault.kind)
    }

    #[test]
    fn issues_of_the_api_are_shown_at_their_fields() {
        let question = Uuid::from_u128(7).to_string();
        let (choice, text) = (format!("q.{question}"), format!("q.{question}.text"));
        for (step_type, path, message, field, kind) in [
            (
                StepType::YourDetails,
                vec!["answers", "email"],
                "must be a mail address",
                "email",
                FaultKind::Email,
            ),
            (
                StepType::YourDetails,
                vec!["answers", "birthDate"],
                "must be between 1900-01-01 and today; write the year with four figures",
                "birthDate",
                FaultKind::DateRange,
            ),
            (
                StepType::YourDetails,
                vec!["answers", "birthDate"],
                "must be a date such as 1990-11-21",
                "birthDate",
                FaultKind::Date,
            ),
            (
                StepType::OtherGuests,
                vec!["answers", "guests", "1", "phone"],
                "is not a valid phone number",
                "g.1.phone",
                FaultKind::Phone,
            ),
            (
                StepType::OtherGuests,
                vec!["answers", "guests"],
                "must have at most 50 items",
                "guests",
                FaultKind::Invalid,
            ),
            (
                StepType::AdditionalQuestions,
                vec!["answers", &question, "optionIds", "0"],
                "is not an option",
                &choice,
                FaultKind::Invalid,
            ),
            (
                StepType::AdditionalQuestions,
                vec!["answers", &question, "text"],
                "must have at most 6000 characters",
                &text,
                FaultKind::TooLong(6000),
            ),
            (
                StepType::DamageDeposit,
                vec!["answers", "damageWaiverId"],
                "is not a damage waiver",
                "choice",
                FaultKind::Invalid,
            ),
            (
                StepType::DocumentUpload,
                vec!["file"],
                "is larger than 10 MiB",
                "file",
                FaultKind::FileSize,
            ),
            (
                StepType::DocumentUpload,
                vec!["file"],
                "is not a JPEG or PNG",
                "file",
                FaultKind::FileType,
            ),
            (
                StepType::DocumentUpload,
                vec!["file"],
                "cannot be added: a step has at most 10 files",
                "file",
                FaultKind::FileRoom,
            ),
            (
                StepType::DocumentUpload,
                vec!["file"],
                "is empty",
                "file",
                FaultKind::File,
            ),
        ] {
            assert_eq!(
                found(Some(step_type), &path, message),
                (field.to_owned(), kind),
                "{path:?}"
            );
        }
        assert_eq!(
            found(None, &["text"], "is required"),
            ("text".into(), FaultKind::Value)
        );
        assert_eq!(
            found(None, &[], "whatever"),
            (String::new(), FaultKind::Invalid)
        );
    }

    #[test]
    fn fault_texts_name_limits_and_differ() {
        let words = in_language("en").0;
        assert!(FaultKind::TooLong(500).message(words).contains("500"));
        assert!(FaultKind::FileRoom.message(words).contains("10"));
        assert_ne!(
            FaultKind::Signature.message(words),
            FaultKind::Acceptance.message(words)
        );
    }
}
