//! The envelope of every answer (spec: Response envelope).

use serde_json::json;
use uuid::Uuid;

use crate::error::Error;
use crate::operation::Answer;

/// `{"data": …, "meta": {"requestId": …, "pagination": …}}`
#[must_use]
pub fn success_body(answer: &Answer, request_id: Uuid) -> String {
    let (open, close) = parts(answer);
    [open, request_id.to_string(), close].concat()
}

/// What stands before the request id of a success, and what stands behind it.
pub(super) fn parts(answer: &Answer) -> (String, String) {
    let pagination = answer.pagination.as_ref().and_then(|pagination| serde_json::to_string(pagination).ok());
    let pagination = pagination.map_or(String::new(), |text| format!(r#","pagination":{text}"#));
    ([r#"{"data":"#, &answer.data, r#","meta":{"requestId":""#].concat(), format!("\"{pagination}}}}}"))
}

/// `{"error": …, "meta": {"requestId": …}}`
#[must_use]
pub fn error_body(error: &Error, request_id: Uuid) -> String {
    json!({ "error": error.body(), "meta": { "requestId": request_id } }).to_string()
}
