//! What time has ended: codes that nobody exchanged and grants that nobody used, tokens that have expired, and clients that came by
//! themselves and that nobody has allowed anything for long (contract: People: OAuth 2.1).

use engine::error::Result;
use engine::values;
use jiff::{SignedDuration, Timestamp};
use store::Transaction;

store::statements! {
    /// Removes grants that have ended, codes among them.
    GRANTS = "with ended as (select id from oauth_grant where expires_at <= ?1 order by expires_at limit ?2 for update skip locked)
        delete from oauth_grant where id in (select id from ended)";
    /// Removes refresh tokens that have expired.
    REFRESH_TOKENS = "with ended as (select token_hash from oauth_refresh_token where expires_at <= ?1 order by expires_at limit ?2 for update skip locked)
        delete from oauth_refresh_token where token_hash in (select token_hash from ended)";
    /// Removes access tokens of grants that have expired.
    ACCESS_TOKENS = "with ended as (select id from access_token where expires_at <= ?1 order by expires_at limit ?2 for update skip locked)
        delete from access_token where id in (select id from ended)";
    /// Notes of clients that came by themselves since when nobody allows them anything, where that is now.
    NOTE_END = "update oauth_app set idle_since = ?1 where idle_since is not null and id in
        (select oauth_app_id from oauth_grant where expires_at <= ?1 order by expires_at limit ?2)";
    /// Lets clients that came by themselves be for another while, where somebody still allows them something.
    KEEP = "with used as (select a.id from oauth_app a where a.idle_since <= ?2
        and exists (select 1 from oauth_grant g where g.oauth_app_id = a.id) order by a.idle_since, a.id limit ?3 for update skip locked)
        update oauth_app set idle_since = ?1 where id in (select id from used)";
    /// The same of those that are described by a document.
    KEEP_DOCUMENTS = "with used as (select a.id from oauth_app a where a.document_url is not null and a.idle_since <= ?2
        and exists (select 1 from oauth_grant g where g.oauth_app_id = a.id) order by a.idle_since, a.id limit ?3 for update skip locked)
        update oauth_app set idle_since = ?1 where id in (select id from used)";
    /// Forgets clients that came by themselves, where nothing names them.
    FORGET = "with idle as (select a.id from oauth_app a where a.idle_since <= ?1
        and not exists (select 1 from oauth_grant g where g.oauth_app_id = a.id)
        and not exists (select 1 from access_token t where t.oauth_app_id = a.id)
        order by a.idle_since, a.id limit ?2 for update skip locked)
        delete from oauth_app where id in (select id from idle)";
    /// Forgets what documents say of clients, where nothing names them.
    FORGET_DOCUMENTS = "with idle as (select a.id from oauth_app a where a.document_url is not null and a.idle_since <= ?1
        and not exists (select 1 from oauth_grant g where g.oauth_app_id = a.id)
        and not exists (select 1 from access_token t where t.oauth_app_id = a.id)
        order by a.idle_since, a.id limit ?2 for update skip locked)
        delete from oauth_app where id in (select id from idle)";
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
    let removed = [
        tx.execute(&NOTE_END, &values![now, BATCH]).map(|_| 0)?,
        tx.execute(&GRANTS, &values![now, BATCH])?,
        tx.execute(&REFRESH_TOKENS, &values![now, BATCH])?,
        tx.execute(&ACCESS_TOKENS, &values![now, BATCH])?,
        tx.execute(&KEEP, &values![now, before(REGISTERED), BATCH])?,
        tx.execute(&KEEP_DOCUMENTS, &values![now, before(DOCUMENT), BATCH])?,
        tx.execute(&FORGET, &values![before(REGISTERED), BATCH])?,
        tx.execute(&FORGET_DOCUMENTS, &values![before(DOCUMENT), BATCH])?,
    ];
    Ok(removed.iter().any(|count| *count >= u64::from(BATCH)))
}
