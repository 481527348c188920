//! What guests write to their hosts.

use schemars::JsonSchema;
use serde::Serialize;
use uuid::Uuid;

use super::stay::Stay;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::moment::Moment;
use crate::values;

store::statements! {
    /// A new message.
    INSERT_MESSAGE = "insert into guest_message (organization_id, id, reservation_id, text, created_at) values (?1, ?2, ?3, ?4, ?5)";
    /// The messages of a stay, oldest first.
    MESSAGES = "select id, text, created_at from guest_message where organization_id = ?1 and reservation_id = ?2 order by created_at, id";
    /// Forgets the messages of a stay that is gone.
    FORGET_MESSAGES = "delete from guest_message where organization_id = ?1 and reservation_id = any(?2)";
}

/// A message from a guest.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    id: Uuid,
    text: String,
    created_at: Moment,
}

/// Takes a message from a guest; 403 where the portal's chat is off.
pub(super) fn send(context: &mut Context<'_, '_>, stay: &Stay, text: String) -> Result<Message> {
    if !stay.portal().is_some_and(|portal| portal.is_chat_enabled) {
        return Err(Error::forbidden("Chat is switched off."));
    }
    let (id, created_at) = (context.new_id(), Moment(context.now()));
    context.execute(&INSERT_MESSAGE, values![id, stay.id, text.as_str(), created_at])?;
    Ok(Message { id, text, created_at })
}

/// The messages of a stay, oldest first.
pub(super) fn of(context: &mut Context<'_, '_>, reservation: Uuid) -> Result<Vec<Message>> {
    let rows = context.rows(&MESSAGES, values![reservation])?;
    rows.iter().map(|row| Ok(Message { id: row.get(0)?, text: row.get(1)?, created_at: Moment(row.get(2)?) })).collect()
}

/// Forgets the messages of deleted reservations.
pub(super) fn forget(context: &mut Context<'_, '_>, reservations: &[Uuid]) -> Result<()> {
    context.execute(&FORGET_MESSAGES, values![reservations]).map(drop)
}
