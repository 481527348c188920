//! DELETE /instructions/{id}: the steps of a guest's instructions, kept in a contiguous order within their scope.

use http::Method;
use serde_json::Value;
use store::{Json, Row};
use uuid::Uuid;

use super::category_operations::Deleted;
use crate::access::Permission;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::operation::{ById, Needs, Object, Operation};
use crate::platform::{Kind, may_change_instruction, remove_record, replace_record, typed};
use crate::values;

store::statements! {
    /// The instructions of a scope, by creation.
    OF_SCOPE = "select id, doc from record where organization_id = ?1 and kind = 'instruction' and lower(doc ->> 'scopeId') = ?2
        order by created_at, id";
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::public("deleteInstruction", Method::DELETE, "/instructions/{id}", Needs::Permission(Permission::ModifyGuides))
            .summary("Delete an instruction; those after it in its scope move up")
            .run(delete),
    ]
}

fn delete(context: &mut Context<'_, '_>, input: ById) -> Result<Deleted> {
    let not_found = || Error::not_found(&Kind::Instruction.label());
    let data = typed::<Object>(context, Kind::Instruction, input.id)?.ok_or_else(not_found)?;
    if !may_change_instruction(context, &data)? {
        return Err(not_found());
    }
    remove_record(context, Kind::Instruction, input.id)?;
    let scope = data.get("scopeId").and_then(Value::as_str).unwrap_or_default().to_ascii_lowercase();
    let rows = context.rows(&OF_SCOPE, values![scope])?;
    let read = |row: &Row| -> Result<(Uuid, Object)> { Ok((row.get(0)?, row.get(1).map(|Json(data)| data)?)) };
    let mut left = rows.iter().map(read).collect::<Result<Vec<_>>>()?;
    // The platform's numbers may be larger than any integer of a database.
    let position = |data: &Object| data.get("position").and_then(Value::as_f64).unwrap_or(0.0);
    left.sort_by(|(_, one), (_, other)| position(one).total_cmp(&position(other)));
    for (position, (id, mut data)) in left.into_iter().enumerate() {
        let position = Value::from(position);
        if data.insert("position".into(), position.clone()) != Some(position) {
            replace_record(context, Kind::Instruction, id, data)?;
        }
    }
    Ok(Deleted::DONE)
}
