//! The envelope of every response (rules: errors#answers).

use serde_json::json;
use uuid::Uuid;

use crate::error::Error;
use crate::operation::AnswerText;

/// Returns `{"data": …, "meta": {"requestId": …, "pagination": …}}`.
#[must_use]
pub fn success_body(answer: &AnswerText, request_id: Uuid) -> String {
    let (open, close) = parts(answer);
    [open, request_id.to_string(), close].concat()
}

/// Returns the two parts of a success envelope: the text before the request id, and the text after
/// it.
pub(super) fn parts(answer: &AnswerText) -> (String, String) {
    let pagination = answer
        .pagination
        .as_ref()
        .and_then(|pagination| serde_json::to_string(pagination).ok());
    let pagination = pagination.map_or(String::new(), |text| format!(r#","pagination":{text}"#));
    // The warnings are last, so that `with_warnings` can append more.
    let warnings = if answer.warnings.is_empty() {
        String::new()
    } else {
        format!(r#","warnings":{}"#, json!(answer.warnings))
    };
    (
        [r#"{"data":"#, &answer.data, r#","meta":{"requestId":""#].concat(),
        format!("\"{pagination}{warnings}}}}}"),
    )
}

/// Adds `meta.warnings` to a success body: one warning for each unknown parameter.
pub(super) fn with_warnings(mut body: String, unknown_parameters: &[(String, String)]) -> String {
    const END: &str = "}}";
    /// The end of an envelope that has warnings.
    const WARNINGS_END: &str = "]}}";
    let warnings: Vec<_> = unknown_parameters
        .iter()
        .map(|(parameter, message)| json!({ "parameter": parameter, "message": message }))
        .collect();
    // The envelope ends with `meta`, and `meta` ends with its warnings.
    if body.ends_with(WARNINGS_END) {
        body.truncate(body.len() - WARNINGS_END.len());
        for warning in warnings {
            body.push(',');
            body.push_str(&warning.to_string());
        }
        body.push_str(WARNINGS_END);
    } else if body.ends_with(END) {
        body.truncate(body.len() - END.len());
        body.push_str(",\"warnings\":");
        body.push_str(&json!(warnings).to_string());
        body.push_str(END);
    }
    body
}

/// Returns `{"error": …, "meta": {"requestId": …}}`.
#[must_use]
pub fn error_body(error: &Error, request_id: Uuid) -> String {
    json!({ "error": error.body(), "meta": { "requestId": request_id } }).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::operation::Warning;

    #[test]
    fn warnings_of_fields_and_of_parameters_stand_in_one_list() {
        let unknown_parameters = [("limti".to_owned(), "unknown".to_owned())];
        for (warnings, expected) in [(0, 1), (2, 3)] {
            let warning = Warning {
                field: "text",
                message: "has HTML".into(),
            };
            let answer = AnswerText {
                data: "{}".into(),
                pagination: None,
                warnings: vec![warning; warnings],
            };
            let body = with_warnings(success_body(&answer, Uuid::nil()), &unknown_parameters);
            let parsed: Value = serde_json::from_str(&body).unwrap();
            let warnings = parsed["meta"]["warnings"].as_array().unwrap();
            assert_eq!(warnings.len(), expected, "{body}");
            assert_eq!(warnings[expected - 1]["parameter"], "limti");
        }
    }
}
