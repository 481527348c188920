//! The links that open a stay, or a preview: who comes with their tokens.

use std::collections::HashMap;

use engine::access::{Access, Identified, Organization, Revisions, Settings, hash};
use engine::app::Link;
use engine::error::Result;
use jiff::Timestamp;
use store::{Json, Row, Transaction, Value};
use uuid::Uuid;

store::statements! {
    /// The reservations that stay tokens open, their organizations, and the tokens.
    STAYS = "select l.reservation_id, o.id, o.doc, o.revision, o.stream_revision, l.token from guest_link l
        join organization o on o.id = l.organization_id where l.token = any(?1) and o.erased_at is null";
    /// The previews that tokens open by their hashes, their organizations, the hashes, and when they end.
    PREVIEWS = "select p.id, o.id, o.doc, o.revision, o.stream_revision, p.token_hash, p.expires_at from portal_preview p
        join organization o on o.id = p.organization_id where p.token_hash = any(?1) and o.erased_at is null";
}

/// What the token of a preview begins with.
pub(super) const PREVIEW_PREFIX: &str = "pv_";

/// The token in the path of the guest interface opens one reservation, or one preview.
pub(crate) const LINK: Link = Link { find, what: "Stay" };

fn find(tx: &mut Transaction<'_>, tokens: Vec<String>) -> Result<HashMap<String, Identified>> {
    let mut found = HashMap::new();
    // The token of a stay may begin as it likes.
    for row in tx.rows(&STAYS, &[tokens.clone().into()])? {
        found.insert(row.get(5)?, identified(&row, Access::guest, None)?);
    }
    let others = tokens.into_iter().filter(|token| token.starts_with(PREVIEW_PREFIX) && !found.contains_key(token));
    let previews: HashMap<Vec<u8>, String> = others.map(|token| (hash(&token), token)).collect();
    if previews.is_empty() {
        return Ok(found);
    }
    for row in tx.rows(&PREVIEWS, &[Value::ManyBytes(previews.keys().cloned().collect())])? {
        if let Some(token) = previews.get(&row.get::<Vec<u8>>(5)?) {
            found.insert(token.clone(), identified(&row, Access::preview, Some(row.get(6)?))?);
        }
    }
    Ok(found)
}

/// From the columns of what is opened, and of its organization.
fn identified(row: &Row, access: impl Fn(Uuid) -> Access, valid_until: Option<Timestamp>) -> Result<Identified> {
    let Json(settings): Json<Settings> = row.get(2)?;
    let organization = Organization { id: row.get(1)?, settings };
    let revisions = Revisions { configuration: row.get(3)?, stream: row.get(4)? };
    Ok(Identified { access: access(row.get(0)?), organization, revisions, valid_until, resource: None })
}
