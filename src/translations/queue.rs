//! What is to be translated, who deals with it, and what came of it: the database side of the translator.
//!
//! A job is a text and a language. Its row goes when it is done, so every row is still to do. A job has a new ticket each
//! time it is queued: a translation that comes back for an older ticket, or for an older text, is not written.
//!
//! Whoever queues, drops or writes has locked the organization first. Claiming a job and putting it off do without: each
//! touches the row of one job in a transaction of its own, so that it never holds a row that a write queueing several waits
//! for while it waits for another.

use std::collections::BTreeSet;

use engine::access::Access;
use engine::context::{Context, System};
use engine::error::Result;
use engine::operation::Touches;
use engine::pipeline::Service;
use engine::values;
use jiff::Timestamp;
use store::Transaction;
use strum::{IntoStaticStr, VariantNames};
use uuid::Uuid;

use super::{ENGLISH, TO_TRANSLATE, uses};

/// How many due jobs are looked at together, for one that no other node takes first.
const WINDOW: i64 = 8;

store::statements! {
    /// Queues a text for a language. A translation under way counts no more.
    ENQUEUE = "insert into translation_job
        (organization_id, translation_id, language, ticket, replaces_hand_written, attempts, next_attempt_at) values (?1, ?2, ?3, ?4, ?5, 0, ?6)
        on conflict (organization_id, translation_id, language) do update set ticket = excluded.ticket,
        replaces_hand_written = excluded.replaces_hand_written, attempts = 0, next_attempt_at = excluded.next_attempt_at,
        leased_until = null";
    /// Queues every English text for a language that it lacks, or that a machine wrote before the English changed.
    ENQUEUE_LACKING = "insert into translation_job
        (organization_id, translation_id, language, ticket, replaces_hand_written, attempts, next_attempt_at)
        select e.organization_id, e.translation_id, ?2, ?3, false, 0, ?4 from translation_entry e
        where e.organization_id = ?1 and e.language = 'en' and not exists (select 1 from translation_entry t
            where t.organization_id = e.organization_id and t.translation_id = e.translation_id and t.language = ?2
            and (not t.is_machine_translated or t.updated_at >= e.updated_at))
        on conflict (organization_id, translation_id, language) do nothing";
    /// Drops a job.
    DELETE = "delete from translation_job where organization_id = ?1 and translation_id = ?2 and language = ?3";
    /// Drops an organization's jobs for some languages.
    DELETE_LANGUAGES = "delete from translation_job where organization_id = ?1 and language = any(?2)";
    /// Jobs that are due and nobody's.
    DUE = "select j.organization_id, j.translation_id, j.language from translation_job j join organization o on o.id = j.organization_id
        where j.next_attempt_at <= ?1 and (j.leased_until is null or j.leased_until <= ?1) and o.erased_at is null
        order by j.next_attempt_at, j.translation_id, j.language limit ?2";
    /// Claims a job. The condition is that of DUE once more: of two nodes that saw the same row, the second one waits for the
    /// first, finds that it no longer holds, and does without the row.
    CLAIM = "update translation_job set leased_until = ?5 where organization_id = ?1 and translation_id = ?2 and language = ?3
        and next_attempt_at <= ?4 and (leased_until is null or leased_until <= ?4) returning ticket, attempts";
    /// Ends every lease.
    RELEASE_ALL = "update translation_job set leased_until = null where leased_until is not null";
    /// When the next job becomes due, of those that are not due yet.
    NEXT = "select next_attempt_at from translation_job
        where leased_until is null and next_attempt_at > ?1 order by next_attempt_at limit 1";
    /// The text to translate.
    ENGLISH_TEXT = "select text from translation_entry where organization_id = ?1 and translation_id = ?2 and language = 'en'";
    /// A job that has not been queued anew.
    JOB = "select replaces_hand_written from translation_job
        where organization_id = ?1 and translation_id = ?2 and language = ?3 and ticket = ?4";
    /// Gives a job back as it is.
    RELEASE = "update translation_job set leased_until = null where organization_id = ?1 and translation_id = ?2 and language = ?3";
    /// Puts a job off, for as long as its claim holds.
    PUT_OFF = "update translation_job set attempts = attempts + 1, next_attempt_at = ?6, leased_until = null
        where organization_id = ?1 and translation_id = ?2 and language = ?3 and ticket = ?4 and leased_until = ?5";
}

/// A text to be translated into a language.
#[derive(Debug, Clone)]
pub(super) struct Job {
    /// Whose it is.
    pub organization: Uuid,
    /// The text.
    pub translation: Uuid,
    /// Into which language.
    pub language: String,
}

/// The right to deal with a job.
pub(super) struct Claim {
    /// The job.
    pub job: Job,
    /// Attempts that failed since it was queued.
    pub failures: u32,
    /// The English text, as it was when the job was claimed.
    pub text: String,
    ticket: Uuid,
    until: Timestamp,
}

/// What came of a job, and as what it is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "snake_case")]
pub(super) enum Settled {
    /// The translation is written.
    Written,
    /// The version written by hand is kept.
    Kept,
    /// The translation is of a text that has changed or gone, or nobody wants it any more.
    Outdated,
    /// The translation is longer than what shows it admits; guests read the English text.
    TooLong,
    /// There is no translation; it is tried again.
    Retry,
}

/// Queues a text for these languages, due at once.
pub(super) fn enqueue(context: &mut Context<'_, '_>, id: Uuid, languages: &BTreeSet<String>, replaces_hand_written: bool) -> Result<()> {
    let (ticket, now) = (context.new_id(), context.now());
    for language in languages {
        context.execute_along(&ENQUEUE, values![id, language, ticket, replaces_hand_written, now])?;
        context.ring(TO_TRANSLATE);
    }
    Ok(())
}

/// Drops what is queued of a text for a language; a translation under way is not written.
pub(super) fn cancel(context: &mut Context<'_, '_>, id: Uuid, language: &str) -> Result<()> {
    context.execute_along(&DELETE, values![id, language])
}

/// Brings the queue in step with an organization's languages, which were `before` and are `after`: a new one is queued for
/// every English text, and what is queued for one that is gone is dropped. The organization is locked already.
pub(crate) fn follow_languages(system: &mut System<'_, '_>, organization: Uuid, before: &[String], after: &[String]) -> Result<()> {
    let gone: Vec<String> = before.iter().filter(|language| !after.contains(language)).cloned().collect();
    if !gone.is_empty() {
        system.tx.execute(&DELETE_LANGUAGES, &values![organization, gone])?;
    }
    for language in after.iter().filter(|language| language.as_str() != ENGLISH && !before.contains(language)) {
        let (ticket, now) = (system.new_id(), system.now);
        let queued = system.tx.execute(&ENQUEUE_LACKING, &values![organization, language, ticket, now])?;
        if queued > 0 {
            system.rung.insert(TO_TRANSLATE);
        }
    }
    Ok(())
}

/// Ends every lease: for the only process there can be on a database, before it claims anything itself.
pub(super) fn release_all(tx: &mut Transaction<'_>) -> Result<()> {
    tx.execute(&RELEASE_ALL, &[])?;
    Ok(())
}

/// Claims a job that was due at `due`, until `until`; `None` where there is none left.
pub(super) fn claim(tx: &mut Transaction<'_>, due: Timestamp, until: Timestamp) -> Result<Option<Claim>> {
    loop {
        let found = tx.rows(&DUE, &values![due, WINDOW])?;
        if found.is_empty() {
            return Ok(None);
        }
        // What another node has claimed in between is not found again.
        for row in &found {
            let job = Job { organization: row.get(0)?, translation: row.get(1)?, language: row.get(2)? };
            if let Some(claim) = claim_one(tx, job, due, until)? {
                return Ok(Some(claim));
            }
        }
    }
}

/// Claims this job, unless another node was first, or there is no English text.
fn claim_one(tx: &mut Transaction<'_>, job: Job, due: Timestamp, until: Timestamp) -> Result<Option<Claim>> {
    let Job { organization, translation, language } = &job;
    let Some(granted) = tx.row(&CLAIM, &values![organization, translation, language, due, until])? else { return Ok(None) };
    let Some(english) = tx.row(&ENGLISH_TEXT, &values![organization, translation])? else {
        tx.execute(&DELETE, &values![organization, translation, language])?;
        return Ok(None);
    };
    let failures = u32::try_from(granted.get::<i64>(1)?).unwrap_or(u32::MAX);
    Ok(Some(Claim { failures, text: english.get(0)?, ticket: granted.get(0)?, until, job }))
}

/// When the next job becomes due after `now`.
pub(super) fn next_due(tx: &mut Transaction<'_>, now: Timestamp) -> Result<Option<Timestamp>> {
    Ok(tx.row(&NEXT, &values![now])?.map(|row| row.get(0)).transpose()?)
}

/// Writes a translation, unless what it was made for has changed in between.
pub(super) fn settle(tx: &mut Transaction<'_>, service: &Service, claim: &Claim, text: &str, now: Timestamp) -> Result<Settled> {
    let Job { organization, translation, language } = &claim.job;
    let access = Access::platform();
    let mut context = Context::for_writing(service.system(tx, now), *organization, &access, Touches::Configuration)?;
    let Some(job) = context.row(&JOB, values![translation, language, claim.ticket])? else { return Ok(Settled::Outdated) };
    let replaces_hand_written: bool = job.get(0)?;
    let entries = super::entries(&mut context, *translation)?;
    let version = |language: &str| entries.iter().find(|entry| entry.language == language);
    let (english, stored) = (version(ENGLISH), version(language));
    if english.is_some_and(|english| english.text != claim.text) {
        // The text changed and its translations were to be left alone; this one is still wanted, of the text as it is.
        context.execute_along(&RELEASE, values![translation, language])?;
        return Ok(Settled::Outdated);
    }
    context.execute_along(&DELETE, values![translation, language])?;
    if english.is_none() {
        return Ok(Settled::Outdated);
    }
    if !replaces_hand_written && stored.is_some_and(|stored| !stored.is_machine_translated) {
        return Ok(Settled::Kept);
    }
    if let Some(text) = uses::fitting(&mut context, *translation, text)? {
        super::write(&mut context, *translation, language, &text, true, stored)?;
        return Ok(Settled::Written);
    }
    // Half a sentence is none, and what is there is of an older text: guests read the English one.
    if stored.is_some() {
        super::take_back(&mut context, *translation, language)?;
    }
    Ok(Settled::TooLong)
}

/// Notes that an attempt failed; the next one is at `next`. Nothing is noted where the claim no longer holds.
pub(super) fn put_off(tx: &mut Transaction<'_>, claim: &Claim, next: Timestamp) -> Result<()> {
    let Job { organization, translation, language } = &claim.job;
    tx.execute(&PUT_OFF, &values![organization, translation, language, claim.ticket, claim.until, next])?;
    Ok(())
}
