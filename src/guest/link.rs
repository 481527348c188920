//! The link that opens a stay: who comes with its token.

use engine::access::{Access, Identified, Organization, Revisions, Settings};
use engine::app::Link;
use engine::error::Result;
use store::{Json, Transaction};

store::statements! {
    /// The reservation a stay token opens, and its organization.
    STAY = "select l.reservation_id, o.id, o.doc, o.revision, o.stream_revision from guest_link l join organization o on o.id = l.organization_id
        where l.token = ?1 and o.erased_at is null";
}

/// The token in the path of the guest interface opens one reservation.
pub(crate) const LINK: Link = Link { find, what: "Stay" };

fn find(tx: &mut Transaction<'_>, token: &str) -> Result<Option<Identified>> {
    let Some(row) = tx.row(&STAY, &[token.into()])? else { return Ok(None) };
    let Json(settings): Json<Settings> = row.get(2)?;
    let organization = Organization { id: row.get(1)?, settings };
    let revisions = Revisions { configuration: row.get(3)?, stream: row.get(4)? };
    Ok(Some(Identified { access: Access::guest(row.get(0)?), organization, revisions, valid_until: None }))
}
