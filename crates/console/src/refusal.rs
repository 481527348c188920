//! A refusal of a request by an operation. It has a message about the request, and messages about
//! single fields.

use engine::error::{Error, ErrorKind, PathSegment, Reason};
use features::words::fill;

use super::request::ConsoleRequest;
use super::{labels, words};

#[derive(Debug, Clone, Default)]
pub struct ConsoleRefusal {
    pub status: u16,
    /// The message about the request as a whole.
    pub message: String,
    /// The issues that concern single fields.
    pub issues: Vec<Issue>,
    /// The number of further issues that `issues` does not contain.
    pub more: usize,
    /// Whole seconds that the member should wait before the next attempt.
    pub retry_after: Option<u64>,
    /// Whether an earlier request with the same idempotency key is still being handled.
    pub is_in_flight: bool,
    /// Whether the form contained the form token of another session. The form token prevents
    /// cross-site request forgery.
    pub is_of_another_session: bool,
}

/// An issue that concerns one field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    /// The path of the field from the root of the body.
    pub path: Vec<String>,
    pub message: String,
}

/// The names of those reasons of the type [`Reason::Rule`] whose English message contains field
/// names of the REST interface.
const WITH_NAMES: [&str; 3] = ["reserved_guest_field", "rule_without_field", "ages_turned"];

/// Returns whether the English message of a reason is meant for programs. The console then shows
/// another message even in English.
fn is_for_programs(reason: &Reason) -> bool {
    match reason {
        Reason::Pattern(_) => true,
        Reason::Rule(name, _) => WITH_NAMES.contains(name),
        _ => false,
    }
}

impl ConsoleRefusal {
    /// Converts an error into a refusal in the language of the page. A message without a
    /// translation stays in English.
    pub fn of(error: &Error, language: &str) -> Self {
        let (issues, more) = error.listed_issues();
        let (all, is_english) = (words::of(language), language == "en");
        let words = &all.refused;
        let segment = |segment: &PathSegment| match segment {
            PathSegment::Key(key) => key.clone(),
            PathSegment::Index(index) => index.to_string(),
        };
        let issue = |issue: &engine::error::Issue| Issue {
            path: issue.path.iter().map(segment).collect(),
            message: Some(&issue.reason)
                .filter(|reason| !is_english || is_for_programs(reason))
                .and_then(|reason| words::reason_text(words, reason))
                .unwrap_or_else(|| issue.reason.to_string()),
        };
        let (kind, english) = (
            words::kind_text(words, error.kind()),
            error.message().to_string(),
        );
        let message = match error.message() {
            Reason::Permission(name) => {
                let wanted = words::named_permission_text(&all.access, name);
                fill(words.permission, &[("wanted", wanted)])
            }
            Reason::Text(_) if is_english => english,
            Reason::Text(_)
                if error.kind() == ErrorKind::NotFound || english == error.kind().row().3 =>
            {
                kind.to_owned()
            }
            reason => words::reason_text(words, reason).unwrap_or_else(|| {
                fill(words.in_its_words, &[("said", kind), ("english", &english)])
            }),
        };
        Self {
            status: error.kind().status(),
            message,
            issues: issues.iter().map(issue).collect(),
            more,
            retry_after: error.retry_after(),
            is_in_flight: error.is_in_flight(),
            is_of_another_session: false,
        }
    }

    /// Returns the refusal for a member who lacks a permission.
    pub fn forbidden() -> Self {
        Self::from(&Error::from(ErrorKind::Authorization))
    }

    /// Returns the refusal for a page that does not exist.
    pub fn missing() -> Self {
        Self::from(&Error::not_found("Page"))
    }

    /// Returns the refusal for an internal error.
    pub fn broken() -> Self {
        Self::from(&Error::from(ErrorKind::Internal))
    }

    /// Returns the refusal for a form that contains the form token of another session.
    pub fn form_of_another_session() -> Self {
        Self {
            status: 403,
            is_of_another_session: true,
            ..Self::default()
        }
    }

    /// Returns the messages to show: one for each issue, with the label of its field if the issue
    /// names one. If there are no issues, returns only the message of the refusal.
    pub fn sentences(&self, request: &ConsoleRequest) -> Vec<String> {
        let issues = self.issues.iter().map(|issue| {
            let field = issue
                .path
                .iter()
                .rev()
                .find(|step| step.parse::<usize>().is_err());
            let label = field.map(|name| labels::label(request.language, name));
            label.map_or_else(
                || issue.message.clone(),
                |label| request.texts.frame.labelled(&label, &issue.message),
            )
        });
        let general = if self.issues.is_empty() {
            Some(self.message.clone())
        } else {
            None
        };
        general.into_iter().chain(issues).collect()
    }

    /// Returns whether the refusal is about the values that the member sent. The page then shows
    /// the form again with the messages.
    pub const fn is_about_input(&self) -> bool {
        matches!(self.status, 400 | 403 | 404 | 409 | 422)
    }
}

impl ConsoleRefusal {
    /// Separates refusals of sent values from other refusals. A refusal of sent values becomes the
    /// inner error, so that the calling function can show the form again. Any other refusal becomes
    /// the outer error, for which the console shows an error page.
    pub fn split_by_input<T>(sent: Result<T, Self>) -> Result<Result<T, Self>, Self> {
        match sent {
            Err(refusal) if !refusal.is_about_input() => Err(refusal),
            sent => Ok(sent),
        }
    }
}

/// The status and the messages of a page with a form. They differ between three cases: a new form,
/// a refused form, and a form that was sent after its session had ended.
pub struct FormAttempt {
    pub status: u16,
    /// The error messages to show above the form.
    pub messages: Vec<String>,
    /// Whether the form was sent after its session had ended. The page then shows the form again
    /// with the typed values, and the member must send the form once more.
    pub is_returned: bool,
}

impl FormAttempt {
    /// Returns the status and the messages for a new form (`refused` is `None`) or a refused form.
    pub fn of(request: &ConsoleRequest, refused: Option<&ConsoleRefusal>) -> Self {
        let (status, text) = refused.map_or((200, Vec::new()), |refusal| {
            (refusal.status, refusal.sentences(request))
        });
        Self::with_messages(request, status, text)
    }

    /// Builds the state of a submitted form from a status and error messages. Sets `is_returned` if
    /// the request contains form fields but may not change data.
    pub fn with_messages(request: &ConsoleRequest, status: u16, text: Vec<String>) -> Self {
        Self {
            status,
            messages: text,
            is_returned: !request.fields.is_empty() && !request.may_write(),
        }
    }
}

impl From<&Error> for ConsoleRefusal {
    fn from(error: &Error) -> Self {
        Self::of(error, "en")
    }
}

impl From<Error> for ConsoleRefusal {
    fn from(error: Error) -> Self {
        Self::from(&error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_shows_its_issues_in_the_page_language() {
        let path: Vec<PathSegment> = vec![
            "data".into(),
            "questions".into(),
            0_usize.into(),
            "kind".into(),
        ];
        let error = Error::issues_and(vec![engine::error::Issue::at(path, Reason::Required)], 3);
        let refusal = ConsoleRefusal::of(&error, "en");
        let named = ["data", "questions", "0", "kind"]
            .map(str::to_owned)
            .to_vec();
        assert_eq!(
            refusal.issues,
            [Issue {
                path: named,
                message: "is required".into()
            }]
        );
        assert_eq!(
            (refusal.message.as_str(), refusal.more, refusal.is_in_flight),
            ("The request is not valid.", 3, false)
        );
        let refusal = ConsoleRefusal::of(&error, "es");
        assert_eq!(
            (refusal.message.as_str(), refusal.issues[0].message.as_str()),
            ("La petición no es válida.", "es obligatorio")
        );
        let refusal = ConsoleRefusal::of(&Error::in_flight(), "fr");
        assert_eq!(
            (refusal.is_in_flight, refusal.message),
            (true, words::of("fr").refused.m_in_flight.to_owned())
        );
        let text = |error, language| ConsoleRefusal::of(&error, language).message;
        assert_eq!(
            text(Error::not_found("Portal"), "es"),
            "Algo de lo que se nombra aquí no existe."
        );
        assert_eq!(text(Error::not_found("Portal"), "en"), "Portal not found.");
        let lacking = || Error::forbidden(Reason::Permission("view_tasks"));
        assert_eq!(text(lacking(), "en"), "You lack a permission: see tasks.");
        assert_eq!(text(lacking(), "es"), "Le falta un permiso: ver tareas.");
        assert_eq!(
            text(Error::conflict(format!("{} of them", 3)), "es"),
            "Esto choca con lo que ya hay. La interfaz dice: 3 of them"
        );
    }
}
