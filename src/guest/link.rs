//! The links that open a stay, or a preview: who comes with their tokens.

use engine::access::{Access, Identified, Organization, Revisions, Settings, hash};
use engine::app::Link;
use engine::error::Result;
use jiff::Timestamp;
use store::{Json, Row, Transaction};
use uuid::Uuid;

store::statements! {
    /// The reservation a stay token opens, and its organization.
    STAY = "select l.reservation_id, o.id, o.doc, o.revision, o.stream_revision from guest_link l join organization o on o.id = l.organization_id
        where l.token = ?1 and o.erased_at is null";
    /// The preview a token opens by its hash, its organization, and when it ends.
    PREVIEW = "select p.id, o.id, o.doc, o.revision, o.stream_revision, p.expires_at from portal_preview p
        join organization o on o.id = p.organization_id where p.token_hash = ?1 and o.erased_at is null";
}

/// What the token of a preview begins with.
pub(super) const PREVIEW_PREFIX: &str = "pv_";

/// The token in the path of the guest interface opens one reservation, or one preview.
pub(crate) const LINK: Link = Link { find, what: "Stay" };

fn find(tx: &mut Transaction<'_>, token: &str) -> Result<Option<Identified>> {
    // The token of a stay may begin as it likes.
    if let Some(row) = tx.row(&STAY, &[token.into()])? {
        return identified(&row, Access::guest, None).map(Some);
    }
    if !token.starts_with(PREVIEW_PREFIX) {
        return Ok(None);
    }
    let Some(row) = tx.row(&PREVIEW, &[store::Value::Bytes(hash(token))])? else { return Ok(None) };
    identified(&row, Access::preview, Some(row.get(5)?)).map(Some)
}

/// From the columns of what is opened, and of its organization.
fn identified(row: &Row, access: impl Fn(Uuid) -> Access, valid_until: Option<Timestamp>) -> Result<Identified> {
    let Json(settings): Json<Settings> = row.get(2)?;
    let organization = Organization { id: row.get(1)?, settings };
    let revisions = Revisions { configuration: row.get(3)?, stream: row.get(4)? };
    Ok(Identified { access: access(row.get(0)?), organization, revisions, valid_until, resource: None })
}
