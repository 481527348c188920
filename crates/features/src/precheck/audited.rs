//! The fields of steps that the audit log records. The audited operations are in `operations.rs`.

use engine::audit::{AuditedObject, id};
use engine::context::Context;
use engine::error::Result;
use serde_json::{Map, Value, json};

use super::records;
use super::step::Core;
use crate::translations::{ENGLISH, versions};

/// Describes a step and its questions for the audit log. The description has the text of the
/// heading in every language, because a request can change this text while the id of the
/// translation stays the same.
pub(super) fn step(context: &mut Context<'_, '_>, input: &Value) -> Result<Option<AuditedObject>> {
    let Some((step, _)) = id(input, "id").map_or(Ok(None), |id| records::find(context, id))? else {
        return Ok(None);
    };
    let title = step.display_title_ml_text_id;
    let headings = title
        .map_or(Ok(Vec::new()), |title| versions(context, title))?
        .into_iter()
        .map(|(language, text)| {
            let field = if language == ENGLISH {
                "displayTitle".to_owned()
            } else {
                format!("displayTitle.{language}")
            };
            (field, Value::from(text))
        });
    let headings: Map<String, Value> = headings.collect();
    let extra_fields = json!({ "displayTitleMlTextId": title, "questions": step.questions });
    let thing = AuditedObject::new("precheck_step", Some(step.id), Some(step.nickname.clone()));
    let mut thing = thing
        .showing(&Core::from(&step))?
        .showing(&extra_fields)?
        .showing(&headings)?
        .withholding(&step.write_only)?;
    // `isEnabled` is a copy of `isActive`, so the audit log shows only `isActive`.
    thing.shown.remove("isEnabled");
    Ok(Some(thing))
}
