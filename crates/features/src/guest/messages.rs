//! Messages from guests to their hosts.

use engine::context::Context;
use engine::error::{Error, Result};
use engine::moment::Moment;
use engine::operation::{Listing, Page};
use engine::values;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::Row;
use uuid::Uuid;

use super::bounds;
use super::stay::Stay;

store::statements! {
    /// Inserts a message.
    INSERT_MESSAGE = "insert into guest_message
        (organization_id, id, reservation_id, text, created_at, form_key)
        values (?1, ?2, ?3, ?4, ?5, ?6)";
    /// Selects the message of a stay that an earlier request with the same idempotency key sent.
    WITH_KEY = "select id, text, created_at from guest_message where organization_id = ?1
        and reservation_id = ?2 and form_key = ?3";
    /// Counts the messages of a stay, and selects the time of the latest.
    COUNT_AND_LATEST = "select count(*), max(created_at) from guest_message
        where organization_id = ?1 and reservation_id = ?2";
    /// Selects the newest `?3` messages of a stay. Sorts these messages from the oldest to the
    /// newest.
    LATEST = "select id, text, created_at from (
            select id, text, created_at from guest_message where organization_id = ?1
            and reservation_id = ?2
            order by created_at desc, id desc limit ?3
        ) as latest order by created_at, id";
    /// Selects the messages of a stay that follow a given message, oldest first.
    MESSAGES_AFTER = "select id, text, created_at from guest_message where organization_id = ?1
        and reservation_id = ?2
        and (created_at, id) > (?3, ?4) order by created_at, id limit ?5";
    /// Selects a page of the messages of a stay, oldest first.
    PAGE = "select id, text, created_at from guest_message where organization_id = ?1
        and reservation_id = ?2
        order by created_at, id limit ?3 offset ?4";
    /// Selects the time at which a message of a stay was stored.
    CREATED_AT = "select created_at from guest_message where organization_id = ?1 and id = ?2
        and reservation_id = ?3";
    /// Deletes the messages of deleted reservations.
    FORGET_MESSAGES = "delete from guest_message where organization_id = ?1
        and reservation_id = any(?2)";
}

/// A message from a guest.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(example = example())]
pub struct Message {
    /// Message id.
    pub id: Uuid,
    /// The guest's text.
    pub text: String,
    /// Time of receipt.
    pub created_at: Moment,
}

fn example() -> Value {
    json!({
        "id": "0192f0c1-2345-7abc-8def-0123456789ab",
        "text": "Is there a cot?",
        "createdAt": "2026-11-21T09:30:00.000Z",
    })
}

/// Stores a message from a guest. Fails with 403 if the portal has no chat, and with 400 if the
/// stay has reached its limit of messages.
///
/// If the stay has a message with the same idempotency key `key`, that message is returned and
/// nothing is stored. So a form that is sent twice creates one message.
///
/// The timestamps of a stay's messages differ by at least 1 ms. They rise in the order in which the
/// messages are stored, even if different nodes store them. So a reader who continues after the
/// last message that they have read misses none.
pub(super) fn send(
    context: &mut Context<'_, '_>,
    stay: &Stay,
    text: String,
    key: Option<Uuid>,
) -> Result<Message> {
    if !stay.portal().is_some_and(|portal| portal.is_chat_enabled) {
        return Err(Error::forbidden("Chat is switched off."));
    }
    if let Some(key) = key
        && let Some(first) = context.row(&WITH_KEY, values![stay.id, key])?
    {
        return message(&first);
    }
    let count_and_latest = context
        .row(&COUNT_AND_LATEST, values![stay.id])?
        .ok_or_else(|| Error::internal("the count of messages returned no row"))?;
    if count_and_latest.get::<i64>(0)? >= bounds::MAX_MESSAGES {
        return Err(bounds::too_many_messages());
    }
    let (id, now) = (context.new_id(), context.now());
    let created_at = count_and_latest
        .get::<Option<Timestamp>>(1)?
        .map_or(Moment(now), |latest| Moment(latest).advanced_to(now));
    context.execute_deferred(
        &INSERT_MESSAGE,
        values![id, stay.id, text.as_str(), created_at, key],
    )?;
    Ok(Message {
        id,
        text,
        created_at,
    })
}

/// Returns the latest messages of a stay, oldest first. The limit of messages of a stay bounds
/// their number.
pub(super) fn latest(context: &mut Context<'_, '_>, reservation: Uuid) -> Result<Vec<Message>> {
    read(&context.rows(&LATEST, values![reservation, bounds::MAX_MESSAGES])?)
}

/// Returns up to `limit` messages of a stay, oldest first, starting after the message with the id
/// `after`. Fails with 404 if the stay has no message with this id.
pub(super) fn page(
    context: &mut Context<'_, '_>,
    reservation: Uuid,
    after: Option<Uuid>,
    limit: u32,
) -> Result<Vec<Message>> {
    let (created_at, id) = match after {
        None => (Timestamp::UNIX_EPOCH, Uuid::nil()),
        Some(id) => {
            let row = context
                .row(&CREATED_AT, values![id, reservation])?
                .ok_or_else(|| Error::not_found("Message"))?;
            (row.get(0)?, id)
        }
    };
    read(&context.rows(&MESSAGES_AFTER, values![reservation, created_at, id, limit])?)
}

/// Returns a page of the messages of a stay, oldest first, and their total number.
pub(super) fn message_page(
    context: &mut Context<'_, '_>,
    reservation: Uuid,
    page: Page,
) -> Result<Listing<Message>> {
    let total = context
        .row(&COUNT_AND_LATEST, values![reservation])?
        .map_or(Ok(0), |row| row.get(0))?;
    Ok(Listing {
        items: read(&context.rows(&PAGE, values![reservation, page.limit, page.offset])?)?,
        total,
    })
}

fn read(rows: &[Row]) -> Result<Vec<Message>> {
    rows.iter().map(message).collect()
}

fn message(row: &Row) -> Result<Message> {
    Ok(Message {
        id: row.get(0)?,
        text: row.get(1)?,
        created_at: Moment(row.get(2)?),
    })
}

/// Deletes the messages of deleted reservations.
pub(super) fn forget(context: &mut Context<'_, '_>, reservations: &[Uuid]) -> Result<()> {
    context.execute_deferred(&FORGET_MESSAGES, values![reservations])
}
