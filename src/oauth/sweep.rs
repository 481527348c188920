//! What time has ended: codes that nobody exchanged and grants that nobody used, tokens that have expired, and clients that came by
//! themselves and that nobody has allowed anything for long (contract: People: OAuth 2.1).

use std::collections::BTreeSet;

use engine::error::Result;
use engine::sweeping;
use engine::values;
use jiff::{SignedDuration, Timestamp};
use store::{Row, Statement, Transaction};
use uuid::Uuid;

store::statements! {
    /// Grants that have ended, codes among them, and their apps.
    ENDED_GRANTS = "select organization_id, id, oauth_app_id from oauth_grant where expires_at <= ?1 order by expires_at limit ?2";
    /// Removes some of an organization's.
    REMOVE_GRANTS = engine::some_old!("oauth_grant", "id", "expires_at", " indexed by sqlite_autoindex_oauth_grant_1");
    /// Refresh tokens that have expired.
    OLD_REFRESH_TOKENS = "select organization_id, token_hash from oauth_refresh_token where expires_at <= ?1 order by expires_at limit ?2";
    /// Removes some of an organization's.
    REMOVE_REFRESH_TOKENS = engine::some_old!("oauth_refresh_token", "token_hash", "expires_at");
    /// Access tokens of grants that have expired.
    OLD_ACCESS_TOKENS = "select organization_id, id from access_token where expires_at <= ?1 order by expires_at limit ?2";
    /// Removes some of an organization's.
    REMOVE_ACCESS_TOKENS = engine::some_old!("access_token", "id", "expires_at", " indexed by sqlite_autoindex_access_token_1");
    /// Notes of clients that came by themselves since when nobody allows them anything, where that is now.
    NOTE_END = "update oauth_app set idle_since = ?1 where idle_since is not null and id = any(?2)";
    /// Clients that came by themselves and whose time is over, held: nobody allows one of them anything meanwhile.
    IDLE = "select id from oauth_app where idle_since <= ?1 order by idle_since, id limit ?2 for update skip locked";
    /// The same of those that are described by a document.
    IDLE_DOCUMENTS = "select id from oauth_app where document_url is not null and idle_since <= ?1
        order by idle_since, id limit ?2 for update skip locked";
    /// Of some clients those that somebody allows something.
    ALLOWED = "select distinct oauth_app_id from oauth_grant where oauth_app_id = any(?1)";
    /// Of some clients those that somebody has a token of.
    IN_USE = "select distinct oauth_app_id from access_token where oauth_app_id = any(?1)";
    /// Lets clients that came by themselves be for another while.
    KEEP = "update oauth_app set idle_since = ?1 where id = any(?2)";
    /// Forgets clients.
    FORGET = "delete from oauth_app where id = any(?1)";
}

/// Rows removed in one transaction, so that a sweep holds up no one.
const BATCH: u32 = 200;
/// How long a client that has registered itself is known without a grant.
const REGISTERED: SignedDuration = SignedDuration::from_hours(30 * 24);
/// How long what the document of a client says is kept without a grant: it would be fetched again then.
const DOCUMENT: SignedDuration = SignedDuration::from_hours(24);

/// Removes what time has ended; true when there may be more of it.
pub(crate) fn sweep(tx: &mut Transaction<'_>, now: Timestamp) -> Result<bool> {
    let before = |time| now.checked_sub(time).unwrap_or(Timestamp::MIN);
    let ended = tx.rows(&ENDED_GRANTS, &values![now, BATCH])?;
    if !ended.is_empty() {
        let apps: BTreeSet<Uuid> = ended.iter().map(|row| row.get(2)).collect::<store::Result<_>>()?;
        tx.execute(&NOTE_END, &values![now, Vec::from_iter(apps)])?;
    }
    let removed = [
        sweeping::remove::<Uuid>(tx, &ENDED_GRANTS, &REMOVE_GRANTS, now, BATCH)?,
        sweeping::remove::<Vec<u8>>(tx, &OLD_REFRESH_TOKENS, &REMOVE_REFRESH_TOKENS, now, BATCH)?,
        sweeping::remove::<Uuid>(tx, &OLD_ACCESS_TOKENS, &REMOVE_ACCESS_TOKENS, now, BATCH)?,
        settle(tx, &IDLE, before(REGISTERED), now)?,
        settle(tx, &IDLE_DOCUMENTS, before(DOCUMENT), now)?,
    ];
    Ok(removed.iter().any(|count| *count >= u64::from(BATCH)))
}

/// Forgets clients whose time is over where nothing names them, and lets the others be for another while; how many there were.
///
/// They are held first, and who uses them is asked after that: what somebody was allowing one of them meanwhile is seen.
fn settle(tx: &mut Transaction<'_>, idle: &'static Statement, before: Timestamp, now: Timestamp) -> Result<u64> {
    let ids = |rows: Vec<Row>| rows.iter().map(|row| row.get(0)).collect::<store::Result<Vec<Uuid>>>();
    let idle = ids(tx.rows(idle, &values![before, BATCH])?)?;
    if idle.is_empty() {
        return Ok(0);
    }
    let mut used = ids(tx.rows(&ALLOWED, &values![idle.clone()])?)?;
    used.extend(ids(tx.rows(&IN_USE, &values![idle.clone()])?)?);
    let (kept, forgotten): (Vec<Uuid>, Vec<Uuid>) = idle.iter().partition(|id| used.contains(id));
    if !kept.is_empty() {
        tx.execute(&KEEP, &values![now, kept])?;
    }
    if !forgotten.is_empty() {
        tx.execute(&FORGET, &values![forgotten])?;
    }
    Ok(idle.len() as u64)
}
