//! The translation queue in the database: its jobs, their leases and their results.
//!
//! A job consists of a text and a target language. The row of a job is deleted when the job is
//! done. Each time a job is queued, it gets a new ticket. A translation is not written if the job
//! has a newer ticket by then, or if its text has changed.
//!
//! Operations that queue or cancel jobs, or write a translation, lock the organization first.
//! Claiming or postponing a job needs no lock of the organization. It changes the row of one job in
//! a separate transaction, which never locks one row while it waits for another. So it cannot
//! deadlock with a write that queues several jobs.

use std::collections::BTreeSet;

use engine::access::Access;
use engine::context::{Context, System};
use engine::error::Result;
use engine::operation::RaisedRevision;
use engine::pipeline::Service;
use engine::sweeping;
use engine::values;
use jiff::Timestamp;
use store::Transaction;
use strum::{IntoStaticStr, VariantNames};
use uuid::Uuid;

use super::{ENGLISH, TO_TRANSLATE, retry, uses};

/// Number of due jobs that one query reads. It is more than one, because other nodes may claim some
/// of these jobs first.
const CANDIDATES: i64 = 8;

store::statements! {
    /// Queues a job: a text and a target language. If a translation for an earlier job of this text
    /// and language is running, its result is discarded.
    ENQUEUE = "insert into translation_job
        (organization_id, translation_id, language, ticket, replaces_hand_written, attempts,
        next_attempt_at) values (?1, ?2, ?3, ?4, ?5, 0, ?6)
        on conflict (organization_id, translation_id, language) do update
        set ticket = excluded.ticket,
        replaces_hand_written = excluded.replaces_hand_written, attempts = 0,
        next_attempt_at = excluded.next_attempt_at,
        leased_until = null";
    /// Queues all English texts for translation into a language. Leaves out a text whose version in
    /// this language is hand-written, or is not older than the English text.
    ENQUEUE_MISSING = "insert into translation_job
        (organization_id, translation_id, language, ticket, replaces_hand_written, attempts,
        next_attempt_at)
        select e.organization_id, e.translation_id, ?2, ?3, false, 0, ?4 from translation_entry e
        where e.organization_id = ?1 and e.language = 'en'
        and not exists (select 1 from translation_entry t
            where t.organization_id = e.organization_id and t.translation_id = e.translation_id
            and t.language = ?2
            and (not t.is_machine_translated or t.updated_at >= e.updated_at))
        on conflict (organization_id, translation_id, language) do nothing";
    /// Deletes a job.
    DELETE = "delete from translation_job where organization_id = ?1 and translation_id = ?2
        and language = ?3";
    /// Deletes an organization's jobs for the given languages.
    DELETE_LANGUAGES = "delete from translation_job where organization_id = ?1
        and language = any(?2)";
    /// Selects jobs that are due and not leased.
    DUE = "select j.organization_id, j.translation_id, j.language from translation_job j
        join organization o on o.id = j.organization_id
        where j.next_attempt_at <= ?1 and (j.leased_until is null or j.leased_until <= ?1)
        and o.erased_at is null
        order by j.next_attempt_at, j.translation_id, j.language limit ?2";
    /// Claims a job. The statement repeats the condition of `DUE`: if two nodes have read the same
    /// row, the second node waits for the first and then updates no row.
    CLAIM = "update translation_job set leased_until = ?5 where organization_id = ?1
        and translation_id = ?2 and language = ?3
        and next_attempt_at <= ?4 and (leased_until is null or leased_until <= ?4)
        returning ticket, attempts";
    /// Ends every lease on a translation job.
    RELEASE_ALL = "update translation_job set leased_until = null where leased_until is not null";
    /// Selects the earliest due time of the jobs that are not due yet.
    NEXT = "select next_attempt_at from translation_job
        where leased_until is null and next_attempt_at > ?1 order by next_attempt_at limit 1";
    /// Selects the English version of a text, which a job translates.
    ENGLISH_TEXT = "select text from translation_entry where organization_id = ?1
        and translation_id = ?2 and language = 'en'";
    /// Selects a job by its ticket. Returns no row if the job was queued again and so got a new
    /// ticket.
    JOB = "select replaces_hand_written from translation_job
        where organization_id = ?1 and translation_id = ?2 and language = ?3 and ticket = ?4";
    /// Selects jobs that become due after the timestamp `?1`, the latest due time first. `?1` is
    /// later than the current time by the longest pause, so only a clock that was ahead can have
    /// set a due time after it.
    LATE = "select organization_id, translation_id from translation_job where next_attempt_at > ?1
        order by next_attempt_at desc limit ?2";
    /// Sets the due time of the jobs that `LATE` selects to the timestamp that was given to `LATE`.
    BRING_FORWARD = engine::some_late!(
        "translation_job",
        "translation_id",
        "translation_id, language",
        "next_attempt_at",
        "?3"
    );
    /// Selects jobs whose lease ends after the timestamp `?1`, the latest first. `?1` is the same
    /// timestamp as for `LATE`. No lease lasts so long, so only a clock that was ahead can have set
    /// a later end.
    LONG_LEASES = "select organization_id, translation_id from translation_job
        where leased_until is not null and leased_until > ?1
        order by leased_until desc limit ?2";
    /// Ends the leases that `LONG_LEASES` selects.
    END_LEASES = engine::some_late!(
        "translation_job",
        "translation_id",
        "translation_id, language",
        "leased_until",
        "null"
    );
    /// Ends the lease of a job and changes nothing else.
    RELEASE = "update translation_job set leased_until = null where organization_id = ?1
        and translation_id = ?2 and language = ?3";
    /// Postpones a job after a failed attempt, if the lease on the job is still the one of this
    /// attempt.
    POSTPONE = "update translation_job set attempts = attempts + 1, next_attempt_at = ?6,
        leased_until = null
        where organization_id = ?1 and translation_id = ?2 and language = ?3 and ticket = ?4
        and leased_until = ?5";
}

/// A text to translate, and the target language.
#[derive(Debug, Clone)]
pub(super) struct Job {
    pub organization: Uuid,
    pub translation: Uuid,
    pub language: String,
}

/// A claim on a job. While the claim is valid, no other node processes the job.
pub(super) struct TranslationClaim {
    pub job: Job,
    /// Number of failed attempts since the job was queued.
    pub failures: u32,
    /// The English text at the time of the claim.
    pub text: String,
    ticket: Uuid,
    until: Timestamp,
}

/// The result of a translation job. The metrics use the name of the variant, in snake case, as the
/// label of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "snake_case")]
pub(super) enum JobOutcome {
    /// The translation was written.
    Written,
    /// The stored version was written by hand, so the translation was discarded.
    Kept,
    /// The English text has changed or was deleted, or the job was cancelled.
    Outdated,
    /// The translation is too long for a field that shows it. Guests read the English text.
    TooLong,
    /// The translation failed and will be tried again.
    Retry,
}

/// Queues a text for translation into these languages. The new jobs are due immediately. With
/// `replaces_hand_written`, a translation also replaces a version that was written by hand.
pub(super) fn enqueue(
    context: &mut Context<'_, '_>,
    id: Uuid,
    languages: &BTreeSet<String>,
    replaces_hand_written: bool,
) -> Result<()> {
    let (ticket, now) = (context.new_id(), context.now());
    for language in languages {
        context.execute_deferred(
            &ENQUEUE,
            values![id, language, ticket, replaces_hand_written, now],
        )?;
        context.wake(TO_TRANSLATE);
    }
    Ok(())
}

/// Deletes the job for the translation of a text into a language. If the translation is running,
/// its result is not written.
pub(super) fn cancel(context: &mut Context<'_, '_>, id: Uuid, language: &str) -> Result<()> {
    context.execute_deferred(&DELETE, values![id, language])
}

/// Adapts the queue to a change of an organization's languages from `before` to `after`. Queues
/// every English text for a new language, and deletes the jobs for a removed language. The calling
/// function has locked the organization.
pub(crate) fn follow_languages(
    system: &mut System<'_, '_>,
    organization: Uuid,
    before: &[String],
    after: &[String],
) -> Result<()> {
    let removed: Vec<String> = before
        .iter()
        .filter(|language| !after.contains(language))
        .cloned()
        .collect();
    if !removed.is_empty() {
        system
            .tx
            .execute(&DELETE_LANGUAGES, &values![organization, removed])?;
    }
    for language in after
        .iter()
        .filter(|language| language.as_str() != ENGLISH && !before.contains(language))
    {
        let (ticket, now) = (system.new_id(), system.now);
        let queued = system.tx.execute(
            &ENQUEUE_MISSING,
            &values![organization, language, ticket, now],
        )?;
        if queued > 0 {
            system.wake_signals.insert(TO_TRANSLATE);
        }
    }
    Ok(())
}

/// Ends the leases of all translation jobs. Call this function only if no other process uses the
/// database, and before this process claims a job. Otherwise a job that another process still
/// translates could be claimed again.
pub(super) fn release_all(tx: &mut Transaction<'_>) -> Result<()> {
    tx.execute(&RELEASE_ALL, &[])?;
    Ok(())
}

/// Claims one job that is due at the timestamp `due`. The lease ends at `until`. Returns `None` if
/// no job is due.
pub(super) fn claim(
    tx: &mut Transaction<'_>,
    due: Timestamp,
    until: Timestamp,
) -> Result<Option<TranslationClaim>> {
    loop {
        let rows = tx.rows(&DUE, &values![due, CANDIDATES])?;
        if rows.is_empty() {
            return Ok(None);
        }
        // Other nodes may have claimed some of these jobs since the query. If they have claimed all
        // of them, the loop reads the next due jobs.
        for row in &rows {
            let job = Job {
                organization: row.get(0)?,
                translation: row.get(1)?,
                language: row.get(2)?,
            };
            if let Some(claim) = claim_one(tx, job, due, until)? {
                return Ok(Some(claim));
            }
        }
    }
}

/// Claims this job. Returns `None` if another node has claimed it. If its text has no English
/// version, deletes the job and returns `None`.
fn claim_one(
    tx: &mut Transaction<'_>,
    job: Job,
    due: Timestamp,
    until: Timestamp,
) -> Result<Option<TranslationClaim>> {
    let Job {
        organization,
        translation,
        language,
    } = &job;
    let Some(claimed_row) = tx.row(
        &CLAIM,
        &values![organization, translation, language, due, until],
    )?
    else {
        return Ok(None);
    };
    let Some(english) = tx.row(&ENGLISH_TEXT, &values![organization, translation])? else {
        tx.execute(&DELETE, &values![organization, translation, language])?;
        return Ok(None);
    };
    let failures = u32::try_from(claimed_row.get::<i64>(1)?).unwrap_or(u32::MAX);
    Ok(Some(TranslationClaim {
        failures,
        text: english.get(0)?,
        ticket: claimed_row.get(0)?,
        until,
        job,
    }))
}

/// Corrects due times and ends of leases that are later than the longest retry pause allows. A node
/// writes such a time to a job while its clock is ahead. Returns whether more of these jobs may
/// remain.
pub fn bring_forward(tx: &mut Transaction<'_>, now: Timestamp) -> Result<bool> {
    let latest = now
        .checked_add(retry::MAX_RETRY_PAUSE)
        .unwrap_or(Timestamp::MAX);
    let has_more = sweeping::bring_forward(tx, &LATE, &BRING_FORWARD, latest)?;
    Ok(sweeping::bring_forward(tx, &LONG_LEASES, &END_LEASES, latest)? || has_more)
}

/// Returns the earliest due time after `now` among the jobs without a lease.
pub(super) fn next_due(tx: &mut Transaction<'_>, now: Timestamp) -> Result<Option<Timestamp>> {
    Ok(tx
        .row(&NEXT, &values![now])?
        .map(|row| row.get(0))
        .transpose()?)
}

/// Writes a translation, unless the English text or the job has changed since the claim.
pub(super) fn write_translation(
    tx: &mut Transaction<'_>,
    service: &Service,
    claim: &TranslationClaim,
    text: &str,
    now: Timestamp,
) -> Result<JobOutcome> {
    let Job {
        organization,
        translation,
        language,
    } = &claim.job;
    let access = Access::platform();
    let mut context = Context::for_writing(
        service.system(tx, now),
        *organization,
        &access,
        RaisedRevision::Configuration,
    )?;
    let Some(job) = context.row(&JOB, values![translation, language, claim.ticket])? else {
        return Ok(JobOutcome::Outdated);
    };
    let replaces_hand_written: bool = job.get(0)?;
    let entries = super::entries(&mut context, *translation)?;
    let version = |language: &str| entries.iter().find(|entry| entry.language == language);
    let (english, stored) = (version(ENGLISH), version(language));
    if english.is_some_and(|english| english.text != claim.text) {
        // A write changed the English text and did not queue it for translation again. The job
        // remains, and the worker translates the new text next.
        context.execute_deferred(&RELEASE, values![translation, language])?;
        return Ok(JobOutcome::Outdated);
    }
    context.execute_deferred(&DELETE, values![translation, language])?;
    if english.is_none() {
        return Ok(JobOutcome::Outdated);
    }
    if !replaces_hand_written && stored.is_some_and(|stored| !stored.is_machine_translated) {
        return Ok(JobOutcome::Kept);
    }
    if let Some(text) = uses::fit_to_fields(&mut context, *translation, text)? {
        super::write(&mut context, *translation, language, &text, true, &entries)?;
        return Ok(JobOutcome::Written);
    }
    // A truncated translation would mislead guests, and the stored version is a translation of an
    // older text. So the stored version is deleted, and guests read the English text.
    if stored.is_some() {
        super::delete_entry(&mut context, *translation, language)?;
    }
    Ok(JobOutcome::TooLong)
}

/// Postpones a job to `next` after a failed attempt. Nothing changes if the claim is no longer
/// valid.
pub(super) fn postpone_job(
    tx: &mut Transaction<'_>,
    claim: &TranslationClaim,
    next: Timestamp,
) -> Result<()> {
    let Job {
        organization,
        translation,
        language,
    } = &claim.job;
    tx.execute(
        &POSTPONE,
        &values![
            organization,
            translation,
            language,
            claim.ticket,
            claim.until,
            next
        ],
    )?;
    Ok(())
}
