//! Describes texts for entries of the audit log.

use engine::audit::{AuditFields, AuditedObject, id};
use engine::context::Context;
use engine::error::Result;
use serde_json::Value;

use super::{ENGLISH, versions};

/// Describes a translation for the audit log. Each language is a field of the description. The
/// English text is the name of the translation in the log.
pub(super) fn text(context: &mut Context<'_, '_>, input: &Value) -> Result<Option<AuditedObject>> {
    let Some(id) = id(input, "id") else {
        return Ok(None);
    };
    let texts = versions(context, id)?;
    if texts.is_empty() {
        return Ok(None);
    }
    let name = texts
        .iter()
        .find(|(language, _)| language == ENGLISH)
        .map(|(_, text)| text.clone());
    let texts: AuditFields = texts
        .into_iter()
        .map(|(language, text)| (language, Value::from(text)))
        .collect();
    AuditedObject::new("translation", Some(id), name)
        .showing(&texts)
        .map(Some)
}
