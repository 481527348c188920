//! The entries of the audit log about submissions. They do not name the guest, because the log is
//! stored for longer than the guest's data.

use engine::audit::{AuditedObject, id};
use engine::context::Context;
use engine::error::Result;
use serde_json::{Value, json};

use super::stored_answers;

/// Returns the status and the message of a reservation's submission, for the audit log.
pub(super) fn submission(
    context: &mut Context<'_, '_>,
    input: &Value,
) -> Result<Option<AuditedObject>> {
    let Some(id) = id(input, "id") else {
        return Ok(None);
    };
    let Some(submitted) = stored_answers::submission(context, id)? else {
        return Ok(None);
    };
    let fields = json!({ "status": submitted.status, "message": submitted.decision.message });
    AuditedObject::new("reservation", Some(id), None)
        .showing(&fields)
        .map(Some)
}
