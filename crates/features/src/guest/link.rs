//! Finds the stay or the preview that the token in a link opens. A token contains the id of its
//! organization, and is looked up only in that organization.

use std::collections::{BTreeSet, HashMap};

use engine::access::{
    Access, Identified, Organization, Revisions, Settings, hash, organization_of,
};
use engine::app::GuestTokenLookup;
use engine::error::Result;
use jiff::Timestamp;
use store::{Json, Row, Transaction, Value};
use uuid::Uuid;

store::statements! {
    /// Selects the reservations that the given stay tokens open, with their organizations and the
    /// tokens.
    STAYS = "select l.reservation_id, o.id, o.doc, o.revision, o.stream_revision, l.token
        from guest_link l
        join organization o on o.id = l.organization_id where l.organization_id = any(?1)
        and l.token = any(?2) and o.erased_at is null";
    /// Selects the previews that the given tokens open, with their organizations, the hashes of the
    /// tokens, and the times at which the previews expire.
    PREVIEWS = "select p.id, o.id, o.doc, o.revision, o.stream_revision, p.token_hash, p.expires_at
        from portal_preview p
        join organization o on o.id = p.organization_id where p.organization_id = any(?1)
        and p.token_hash = any(?2) and o.erased_at is null";
}

/// The prefix of preview tokens.
pub(super) const PREVIEW_PREFIX: &str = "pv_";

/// Finds the caller of the guest interface by the token in the path, which opens one reservation or
/// one preview. For an unknown token, the 404 names a `Stay`.
pub const LINK: GuestTokenLookup = GuestTokenLookup { find, what: "Stay" };

fn find(tx: &mut Transaction<'_>, tokens: Vec<String>) -> Result<HashMap<String, Identified>> {
    let (previews, others): (Vec<_>, Vec<_>) = tokens
        .into_iter()
        .partition(|token| organization_of(PREVIEW_PREFIX, token).is_some());
    let stays: Vec<_> = others
        .into_iter()
        .filter(|token| organization_of("", token).is_some())
        .collect();
    let mut callers = HashMap::new();
    if !stays.is_empty() {
        let organizations = organizations("", &stays);
        for row in tx.rows(&STAYS, &[organizations.into(), stays.into()])? {
            callers.insert(row.get(5)?, identified(&row, Access::guest, None)?);
        }
    }
    if !previews.is_empty() {
        let organizations = organizations(PREVIEW_PREFIX, &previews);
        let previews: HashMap<Vec<u8>, String> = previews
            .into_iter()
            .map(|token| (hash(&token), token))
            .collect();
        let hashes = Value::ManyBytes(previews.keys().cloned().collect());
        for row in tx.rows(&PREVIEWS, &[organizations.into(), hashes])? {
            if let Some(token) = previews.get(&row.get::<Vec<u8>>(5)?) {
                callers.insert(
                    token.clone(),
                    identified(&row, Access::preview, Some(row.get(6)?))?,
                );
            }
        }
    }
    Ok(callers)
}

/// Returns the organizations whose ids the tokens contain, each once.
fn organizations(prefix: &str, tokens: &[String]) -> Vec<Uuid> {
    let organizations: BTreeSet<Uuid> = tokens
        .iter()
        .filter_map(|token| organization_of(prefix, token))
        .collect();
    Vec::from_iter(organizations)
}

/// Reads the columns of the stay or preview that a token opens, and of its organization.
fn identified(
    row: &Row,
    access: impl Fn(Uuid) -> Access,
    valid_until: Option<Timestamp>,
) -> Result<Identified> {
    let Json(settings): Json<Settings> = row.get(2)?;
    let organization = Organization {
        id: row.get(1)?,
        settings,
    };
    let revisions = Revisions {
        configuration: row.get(3)?,
        stream: row.get(4)?,
    };
    Ok(Identified {
        access: access(row.get(0)?),
        organization,
        revisions,
        valid_until,
        resource: None,
    })
}
