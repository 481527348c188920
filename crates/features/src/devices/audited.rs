//! Describes devices for entries of the audit log.

use engine::audit::{Target, id};
use engine::context::Context;
use engine::error::Result;
use engine::operation::Object;
use serde_json::Value;

use crate::records::{RecordKind, record_as};

/// Returns the device of a command as the target of an audit entry, with the device's name.
pub(super) fn device(context: &mut Context<'_, '_>, input: &Value) -> Result<Target> {
    let id = id(input, "id");
    let device = id.map_or(Ok(None), |id| {
        record_as::<Object>(context, RecordKind::Device, id)
    })?;
    let name = device.as_ref().and_then(|device| device.get("name"));
    let name = name.and_then(Value::as_str).map(str::to_owned);
    Ok(Target::new("device", id, name))
}
