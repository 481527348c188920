//! Validation of an input: by its schema, by the rules of the organization's country for phone
//! numbers, and by network calls such as the lookup of a webhook's host name.

use jiff::Timestamp;
use serde_json::Value;

use super::service::Service;
use crate::app::NetworkFormat;
use crate::error::{Reason, Result};
use crate::operation::{Arguments, Operation};

/// Returns the input of an operation from the values that were sent. Returns 400 with every failing
/// field, including fields whose validation needs a network call.
pub(super) async fn validate(
    service: &Service,
    operation: &Operation,
    arguments: &Arguments,
    country: &str,
    now: Timestamp,
) -> Result<Value> {
    let mut examination = operation
        .shape()
        .examine(operation, arguments, country, now)?;
    for format in service.app.lists.all::<NetworkFormat>() {
        for (path, text) in examination.open_texts(format.name) {
            if let Err(reason) = (format.check)(service.app_state.clone(), text).await {
                examination.refuse(path, Reason::rule(format.name, reason));
            }
        }
    }
    examination.into_input()
}
