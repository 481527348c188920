//! Reads the stored answers, files and submission of a guest, and the progress that other systems
//! reported.

use std::collections::HashMap;

use engine::context::Context;
use engine::error::Result;
use engine::moment::Moment;
use engine::operation::Object;
use engine::uploads::Uploads;
use engine::values;
use store::{Json, Row};
use uuid::Uuid;

use super::acceptance::StoredAcceptance;
use super::decision::StoredSubmission;
use super::files::{self, GuestFile};
use super::progress::{self, ProgressReport};

store::statements! {
    /// Selects the guest's answers, and the progress that other systems reported, by step.
    ANSWERS = "select a.step_id, a.doc, a.saved_at, a.acceptance, false, t.text, a.reservation_id
        from precheck_answer a
        left join accepted_text t on t.organization_id = a.organization_id
        and t.organization_id = ?1
        and t.sha256 = a.acceptance ->> 'textSha256'
        where a.organization_id = ?1 and a.reservation_id = ?2
        union all select step_id, doc, updated_at, null, true, null, reservation_id
        from step_progress
        where organization_id = ?1 and reservation_id = ?2";
    /// Selects the answers of several stays and the progress that other systems reported, without
    /// the accepted texts.
    ANSWERS_OF_STAYS = "select step_id, doc, saved_at, acceptance, false, null, reservation_id
        from precheck_answer
        where organization_id = ?1 and reservation_id = any(?2)
        union all select step_id, doc, updated_at, null, true, null, reservation_id
        from step_progress
        where organization_id = ?1 and reservation_id = any(?2)";
    /// Selects the submission of a stay.
    SUBMISSION = "select status, submitted_at, doc from precheckin where organization_id = ?1
        and reservation_id = ?2";
    /// Deletes the answers of deleted reservations.
    FORGET_ANSWERS = "delete from precheck_answer where organization_id = ?1
        and reservation_id = any(?2)";
    /// Deletes the submissions of deleted reservations.
    FORGET_SUBMISSION = "delete from precheckin where organization_id = ?1
        and reservation_id = any(?2)";
}

/// The data saved for a step.
pub(super) struct SavedAnswers {
    /// The saved answers.
    pub answers: Object,
    /// The time of the last save.
    pub saved_at: Moment,
    /// The proof that the guest accepted an agreement; `None` without an acceptance.
    pub acceptance: Option<StoredAcceptance>,
    /// The text that the guest accepted; `None` if no text was shown.
    pub accepted_text: Option<String>,
}

/// Everything stored for one step of a stay.
#[derive(Default)]
pub(super) struct StoredAnswers {
    /// The answers that the guest saved; `None` if the guest has saved none.
    pub saved: Option<SavedAnswers>,
    /// The files that the guest uploaded in the step, oldest first.
    pub files: Vec<GuestFile>,
    /// The last report of another system about the step; `None` without a report.
    pub report: Option<ProgressReport>,
    /// The time of the last report of another system.
    pub reported_at: Option<Moment>,
}

impl StoredAnswers {
    /// Returns whether the guest saved answers or uploaded files.
    pub(super) fn has_guest_input(&self) -> bool {
        self.saved.is_some() || !self.files.is_empty()
    }

    /// Returns when the guest last saved answers or added a file.
    pub(super) fn last_input_at(&self) -> Option<Moment> {
        let saved_at = self.saved.as_ref().map(|saved| saved.saved_at);
        let files = self.files.iter().map(|file| file.created_at);
        saved_at.into_iter().chain(files).max()
    }
}

/// Returns whether the service can store files of guests.
pub(super) fn has_storage(context: &Context<'_, '_>) -> bool {
    context.extension::<Uploads>().is_ok()
}

/// Reads the saved answers and the reported progress of a stay, by step. Files are read separately.
pub(super) fn load_answers(
    context: &mut Context<'_, '_>,
    reservation: Uuid,
) -> Result<HashMap<Uuid, StoredAnswers>> {
    let mut by_step = HashMap::new();
    for row in context.rows(&ANSWERS, values![reservation])? {
        add_row(&mut by_step, &row)?;
    }
    Ok(by_step)
}

/// Reads the saved answers, the reported progress and the files of several stays, by stay and step.
pub(super) fn load_answers_of_stays(
    context: &mut Context<'_, '_>,
    reservations: Vec<Uuid>,
) -> Result<HashMap<Uuid, HashMap<Uuid, StoredAnswers>>> {
    let mut of_stays = HashMap::<Uuid, HashMap<Uuid, StoredAnswers>>::new();
    if reservations.is_empty() {
        return Ok(of_stays);
    }
    for row in context.rows(&ANSWERS_OF_STAYS, values![reservations.clone()])? {
        add_row(of_stays.entry(row.get(6)?).or_default(), &row)?;
    }
    for (stay, step, file) in files::of_stays(context, reservations)? {
        let stored = of_stays.entry(stay).or_default().entry(step).or_default();
        stored.files.push(file);
    }
    Ok(of_stays)
}

/// Adds a row with the columns of [`ANSWERS`] to `by_step`, the stored data of a stay by step.
fn add_row(by_step: &mut HashMap<Uuid, StoredAnswers>, row: &Row) -> Result<()> {
    let of_step = by_step.entry(row.get(0)?).or_default();
    if row.get(4)? {
        let Json(report) = row.get(1)?;
        of_step.report = Some(report);
        of_step.reported_at = Some(Moment(row.get(2)?));
    } else {
        let (Json(answers), acceptance): (_, Option<Json<StoredAcceptance>>) =
            (row.get(1)?, row.get(3)?);
        of_step.saved = Some(SavedAnswers {
            answers,
            saved_at: Moment(row.get(2)?),
            acceptance: acceptance.map(|Json(acceptance)| acceptance),
            accepted_text: row.get(5)?,
        });
    }
    Ok(())
}

/// Adds the files of a stay to the data of its steps.
pub(super) fn add_files(
    context: &mut Context<'_, '_>,
    reservation: Uuid,
    by_step: &mut HashMap<Uuid, StoredAnswers>,
) -> Result<()> {
    for (step, files) in files::of_stay(context, reservation)? {
        by_step.entry(step).or_default().files = files;
    }
    Ok(())
}

/// Reads the submission of a stay; `None` before the first submission.
pub(super) fn submission(
    context: &mut Context<'_, '_>,
    reservation: Uuid,
) -> Result<Option<StoredSubmission>> {
    context
        .row(&SUBMISSION, values![reservation])?
        .map(|row| StoredSubmission::from_row(&row, 0))
        .transpose()
}

/// Deletes the answers, the progress and the submissions of deleted reservations.
pub(super) fn forget(context: &mut Context<'_, '_>, reservations: &[Uuid]) -> Result<()> {
    context.execute_deferred(&FORGET_ANSWERS, values![reservations])?;
    progress::forget(context, reservations)?;
    context.execute_deferred(&FORGET_SUBMISSION, values![reservations])
}
