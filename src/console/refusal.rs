//! What an operation refuses, as far as the console makes use of it: its own words, beside the fields they are about.

use engine::error::{Error, Kind};
use serde_json::Value;

use super::labels;
use super::visit::Visit;

/// A refusal.
#[derive(Debug, Clone, Default)]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// What is said of it as a whole.
    pub message: String,
    /// What is wrong, field by field.
    pub issues: Vec<Issue>,
    /// How many issues there are besides.
    pub more: u64,
    /// Whole seconds to wait before trying again.
    pub retry_after: Option<u64>,
}

/// What is wrong with a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    /// From the root of the body.
    pub path: Vec<String>,
    /// In which words.
    pub message: String,
}

impl Refusal {
    /// A refusal as the interface answers it.
    pub fn read(status: u16, retry_after: Option<u64>, text: &str) -> Self {
        let mut body: Value = serde_json::from_str(text).unwrap_or_default();
        let error = body["error"].take();
        Self { retry_after, ..Self::of_body(status, &error) }
    }

    fn of_body(status: u16, error: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let details = &error["details"];
        let segment = |segment: &Value| segment.as_str().map_or_else(|| segment.to_string(), str::to_owned);
        let issue = |issue: &Value| Issue {
            path: issue["path"].as_array().into_iter().flatten().map(segment).collect(),
            message: text(&issue["message"]),
        };
        Self {
            status,
            message: text(&error["message"]),
            issues: details["issues"].as_array().into_iter().flatten().map(issue).collect(),
            more: details["more"].as_u64().unwrap_or(0),
            retry_after: None,
        }
    }

    /// That there is no such thing.
    pub fn missing() -> Self {
        Self::from(&Error::not_found("Page"))
    }

    /// That something of ours is wrong.
    pub fn broken() -> Self {
        Self::from(&Error::from(Kind::Internal))
    }

    /// That a form is none of the session's.
    pub fn foreign_form() -> Self {
        Self::from(&Error::forbidden("The form is none that this session was given."))
    }

    /// Everything that is said of it, sentence by sentence: where fields are at fault, what is wrong with each.
    pub fn sentences(&self, visit: &Visit) -> Vec<String> {
        let issues = self.issues.iter().map(|issue| {
            let field = issue.path.iter().rev().find(|step| step.parse::<usize>().is_err());
            let label = field.map(|name| labels::label(visit.language, name));
            label.map_or_else(|| issue.message.clone(), |label| format!("{label}: {}", issue.message))
        });
        let general = if self.issues.is_empty() { Some(self.message.clone()) } else { None };
        general.into_iter().chain(issues).collect()
    }

    /// Whether what was sent is at fault, so that its form is shown again with what is wrong.
    pub const fn is_about_what_was_sent(&self) -> bool {
        matches!(self.status, 400 | 403 | 404 | 409 | 422)
    }
}

impl From<&Error> for Refusal {
    fn from(error: &Error) -> Self {
        Self { retry_after: error.retry_after(), ..Self::of_body(error.kind().status(), &error.body()) }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::from(&error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_read_with_its_issues() {
        let text = r#"{"error":{"type":"validation_error","code":"VALIDATION_ERROR","message":"No.","details":{"issues":[
            {"path":["data","questions",0,"kind"],"message":"is required"}],"more":3,"key":"k"}},"meta":{}}"#;
        let refusal = Refusal::read(400, None, text);
        let path = ["data", "questions", "0", "kind"].map(str::to_owned).to_vec();
        assert_eq!(refusal.issues, [Issue { path, message: "is required".into() }]);
        assert_eq!((refusal.message.as_str(), refusal.more), ("No.", 3));
        assert_eq!(Refusal::read(503, Some(1), "no json").status, 503);
    }
}
