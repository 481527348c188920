//! The sweep of expired OAuth data: unexchanged authorization codes, unused grants, expired tokens,
//! and clients that no member uses and that the platform did not create (rules: oauth#tokens).

use std::collections::BTreeSet;

use engine::error::Result;
use engine::sweeping;
use engine::values;
use jiff::{SignedDuration, Timestamp};
use store::{Row, Statement, Transaction};
use uuid::Uuid;

store::statements! {
    /// Selects expired grants, with their apps. An authorization code that was not exchanged is
    /// stored as a grant, too.
    ENDED_GRANTS = "select organization_id, id, oauth_app_id from oauth_grant where expires_at <= ?1
        order by expires_at limit ?2";
    /// Deletes a batch of an organization's expired grants.
    REMOVE_GRANTS = engine::some_old!("oauth_grant", "id", "expires_at", " indexed by \
        sqlite_autoindex_oauth_grant_1");
    /// Selects expired refresh tokens.
    OLD_REFRESH_TOKENS = "select organization_id, token_hash from oauth_refresh_token
        where expires_at <= ?1 order by expires_at limit ?2";
    /// Deletes a batch of an organization's expired refresh tokens.
    REMOVE_REFRESH_TOKENS = engine::some_old!("oauth_refresh_token", "token_hash", "expires_at");
    /// Selects expired access tokens of grants.
    OLD_ACCESS_TOKENS = "select organization_id, id from access_token where expires_at <= ?1
        order by expires_at limit ?2";
    /// Deletes a batch of an organization's expired access tokens.
    REMOVE_ACCESS_TOKENS = engine::some_old!("access_token", "id", "expires_at", " indexed by \
        sqlite_autoindex_access_token_1");
    /// Restarts the idle period of the clients with the ids `?2`: sets its start to the timestamp
    /// `?1`. When the idle period of a client is over, the sweep deletes the client if it has no
    /// grant and no token. Clients that the platform created have no idle period.
    NOTE_END = "update oauth_app set idle_since = ?1 where idle_since is not null and id = any(?2)";
    /// Selects and locks clients whose idle period began at `?1` or earlier. Until the transaction
    /// ends, the lock prevents a member from granting such a client access.
    IDLE = "select id from oauth_app where idle_since <= ?1 order by idle_since, id limit ?2
        for update skip locked";
    /// Selects and locks clients with a metadata document whose idle period began at `?1` or
    /// earlier.
    IDLE_DOCUMENTS = "select id from oauth_app where document_url is not null and idle_since <= ?1
        order by idle_since, id limit ?2 for update skip locked";
    /// Of the clients with the ids `?1`, selects those that have a grant.
    ALLOWED = "select distinct oauth_app_id from oauth_grant where oauth_app_id = any(?1)";
    /// Of the clients with the ids `?1`, selects those that have an access token.
    IN_USE = "select distinct oauth_app_id from access_token where oauth_app_id = any(?1)";
    /// Writes `?1` as the start of the idle period, for the clients with the ids `?2`.
    KEEP = "update oauth_app set idle_since = ?1 where id = any(?2)";
    /// Deletes the clients with the ids `?1`.
    FORGET = "delete from oauth_app where id = any(?1)";
}

/// Maximum number of rows of each type that one transaction deletes. A longer transaction would
/// delay other work.
const BATCH: u32 = 200;
/// Time after which a self-registered client without a grant or token is deleted.
const REGISTERED_IDLE_PERIOD: SignedDuration = SignedDuration::from_hours(30 * 24);
/// Time after which a client with a metadata document, but without a grant or token, is deleted. By
/// then, the stored document is too old to be used.
const DOCUMENT_IDLE_PERIOD: SignedDuration = SignedDuration::from_hours(24);

/// Deletes a batch of expired OAuth data. Returns true if more expired data may remain.
pub fn sweep_oauth(tx: &mut Transaction<'_>, now: Timestamp) -> Result<bool> {
    let before = |time| now.checked_sub(time).unwrap_or(Timestamp::MIN);
    let ended_grants = tx.rows(&ENDED_GRANTS, &values![now, BATCH])?;
    if !ended_grants.is_empty() {
        let apps: BTreeSet<Uuid> = ended_grants
            .iter()
            .map(|row| row.get(2))
            .collect::<store::Result<_>>()?;
        tx.execute(&NOTE_END, &values![now, Vec::from_iter(apps)])?;
    }
    let removed = [
        sweeping::remove::<Uuid>(tx, &ENDED_GRANTS, &REMOVE_GRANTS, now, BATCH)?,
        sweeping::remove::<Vec<u8>>(tx, &OLD_REFRESH_TOKENS, &REMOVE_REFRESH_TOKENS, now, BATCH)?,
        sweeping::remove::<Uuid>(tx, &OLD_ACCESS_TOKENS, &REMOVE_ACCESS_TOKENS, now, BATCH)?,
        delete_idle_clients(tx, &IDLE, before(REGISTERED_IDLE_PERIOD), now)?,
        delete_idle_clients(tx, &IDLE_DOCUMENTS, before(DOCUMENT_IDLE_PERIOD), now)?,
    ];
    Ok(removed.iter().any(|count| *count >= u64::from(BATCH)))
}

/// Deletes each client that the statement `idle` selects, if the client has no grant and no token.
/// Otherwise, restarts the client's idle period. Returns the number of selected clients.
///
/// The function locks the clients before it reads their grants and tokens. A concurrent transaction
/// that creates a grant locks the client, too. So either this function sees the new grant, or the
/// transaction finds that the client has been deleted.
fn delete_idle_clients(
    tx: &mut Transaction<'_>,
    idle: &'static Statement,
    before: Timestamp,
    now: Timestamp,
) -> Result<u64> {
    let ids = |rows: Vec<Row>| {
        rows.iter()
            .map(|row| row.get(0))
            .collect::<store::Result<Vec<Uuid>>>()
    };
    let idle = ids(tx.rows(idle, &values![before, BATCH])?)?;
    if idle.is_empty() {
        return Ok(0);
    }
    let mut used = ids(tx.rows(&ALLOWED, &values![idle.clone()])?)?;
    used.extend(ids(tx.rows(&IN_USE, &values![idle.clone()])?)?);
    let (in_use, unused): (Vec<Uuid>, Vec<Uuid>) = idle.iter().partition(|id| used.contains(id));
    if !in_use.is_empty() {
        tx.execute(&KEEP, &values![now, in_use])?;
    }
    if !unused.is_empty() {
        tx.execute(&FORGET, &values![unused])?;
    }
    Ok(idle.len() as u64)
}
