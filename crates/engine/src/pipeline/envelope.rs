//! The envelope of every answer (rules: errors#answers).

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

/// Returns the parts of a success before and after the request id.
pub(super) fn parts(answer: &AnswerText) -> (String, String) {
    let pagination = answer
        .pagination
        .as_ref()
        .and_then(|pagination| serde_json::to_string(pagination).ok());
    let pagination = pagination.map_or(String::new(), |text| format!(r#","pagination":{text}"#));
    // The warnings are last, so that more can be added.
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

/// Adds `meta.warnings` to a success: a message for each of these parameters.
pub(super) fn with_warnings(mut body: String, strange: &[(String, String)]) -> String {
    const END: &str = "}}";
    /// The end of an envelope that has warnings.
    const WARNED: &str = "]}}";
    let warnings: Vec<_> = strange
        .iter()
        .map(|(parameter, message)| json!({ "parameter": parameter, "message": message }))
        .collect();
    // The envelope ends with `meta`, and `meta` with its warnings.
    if body.ends_with(WARNED) {
        body.truncate(body.len() - WARNED.len());
        for warning in warnings {
            body.push(',');
            body.push_str(&warning.to_string());
        }
        body.push_str(WARNED);
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
        let strange = [("limti".to_owned(), "unknown".to_owned())];
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
            let body = with_warnings(success_body(&answer, Uuid::nil()), &strange);
            let read: Value = serde_json::from_str(&body).unwrap();
            let listed = read["meta"]["warnings"].as_array().unwrap();
            assert_eq!(listed.len(), expected, "{body}");
            assert_eq!(listed[expected - 1]["parameter"], "limti");
        }
    }
}
