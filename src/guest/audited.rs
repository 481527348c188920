//! What the audit log tells of submissions. Whose they are it does not say: it is kept for longer than what guests hand in.

use engine::audit::{Thing, id};
use engine::context::Context;
use engine::error::Result;
use serde_json::{Value, json};

use super::precheckin;

/// What has become of what the guest of a reservation handed in.
pub(super) fn submission(context: &mut Context<'_, '_>, input: &Value) -> Result<Option<Thing>> {
    let Some(id) = id(input, "id") else { return Ok(None) };
    let Some(submitted) = precheckin::submission(context, id)? else { return Ok(None) };
    let shown = json!({ "status": submitted.status, "message": submitted.decision.message });
    Thing::new("reservation", Some(id), None).showing(&shown).map(Some)
}
