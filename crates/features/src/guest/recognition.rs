//! Finds out whether a guest has stayed before, and whether the guest's identity is verified. If
//! the platform states one of these facts in the reservation, the stated fact takes precedence.

use engine::context::Context;
use engine::error::Result;
use engine::values;
use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use store::{Json, Row};
use uuid::Uuid;

use super::progress::{ProgressReport, ProgressStatus};
use super::setup::GuestSetup;
use crate::events;
use crate::records::{Property, RecordKind, Reservation, VerificationStatus, record_as};

/// Maximum number of earlier stays that one query reads.
const MAX_EARLIER_STAYS: i64 = 50;

store::statements! {
    /// Selects the confirmed stays whose guest has the same e-mail address as the guest of the stay
    /// `?2`, and whose check-in is before that of this stay. The earliest comes first.
    EARLIER_STAYS = "select e.doc from record r
        join record e on e.organization_id = r.organization_id and e.kind = r.kind
        and e.guest_email = r.guest_email
            and e.status = 'confirmed' and e.check_in < r.check_in
        where r.organization_id = ?1 and r.kind = 'reservation' and r.id = ?2
        and e.organization_id = ?1
        order by e.check_in, e.id limit ?3";
    /// Selects the latest progress that the platform reported for an identity check of a stay, that
    /// is, for a step of the type `identity_check`.
    IDENTITY = "select p.doc from step_progress p
        join precheck_step s on s.organization_id = p.organization_id and s.id = p.step_id
        where p.organization_id = ?1 and p.reservation_id = ?2
        and s.doc ->> 'stepType' = 'identity_check'
        order by p.updated_at desc, p.step_id limit 1";
}

/// The facts about the guest of a stay that must be looked up in other records. Each look-up costs
/// one query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RecognitionNeeds {
    /// Whether to look up earlier stays of the guest.
    pub stayed: bool,
    /// Whether to look up the verification of the guest's identity.
    pub verified: bool,
}

impl RecognitionNeeds {
    /// Looks up both facts: whether the guest stayed before, and whether the guest's identity is
    /// verified.
    pub(super) const BOTH: Self = Self {
        stayed: true,
        verified: true,
    };

    /// Decides which facts to look up: only those on which a rule of a step or manual in the setup
    /// depends.
    pub(super) fn by(setup: &GuestSetup) -> Self {
        Self {
            stayed: setup
                .steps
                .iter()
                .any(|step| step.targeting.is_returning_guest_excluded),
            verified: setup.manual_groups.depends_on_verification(),
        }
    }
}

/// Adds two facts about the guest to the reservation, if `needs` asks for them: whether the guest
/// stayed before, and the verification status. Looks up earlier stays unless the reservation states
/// that the guest stayed before. Looks up the verification only if the stated status is
/// `unverified` or absent.
pub(super) fn complete(
    context: &mut Context<'_, '_>,
    id: Uuid,
    reservation: &mut Reservation,
    needs: RecognitionNeeds,
) -> Result<()> {
    if needs.stayed && reservation.is_returning_guest != Some(true) {
        reservation.is_returning_guest = Some(stayed_before(context, id)?);
    }
    let stated_status = reservation.verification_status.unwrap_or_default();
    if needs.verified && stated_status == VerificationStatus::Unverified {
        let row = context.row(&IDENTITY, values![id])?;
        let report = row.map(|row| row.get(0)).transpose()?;
        reservation.verification_status =
            report.map(|Json(report): Json<ProgressReport>| verification(&report));
    }
    Ok(())
}

/// Returns the verification status that follows from a report on an identity check. A report that
/// returns the step to the guest, or that is about a second failure after a retake, does not verify
/// the guest, even if its status is `completed`.
fn verification(report: &ProgressReport) -> VerificationStatus {
    if report.has_reached_retake_limit() {
        return VerificationStatus::Failed;
    }
    match report.progress.status {
        ProgressStatus::Failed => VerificationStatus::Failed,
        ProgressStatus::Completed if report.is_returned => VerificationStatus::Pending,
        ProgressStatus::Completed => VerificationStatus::Verified,
        ProgressStatus::Pending | ProgressStatus::ActionRequired => VerificationStatus::Pending,
    }
}

/// Returns whether an earlier stay with the same e-mail address has ended. If an earlier stay has
/// not ended yet, the response is cached only until that stay ends.
fn stayed_before(context: &mut Context<'_, '_>, id: Uuid) -> Result<bool> {
    let now = context.now();
    for row in context.rows(&EARLIER_STAYS, values![id, MAX_EARLIER_STAYS])? {
        let Some(end) = end(context, &row, now)? else {
            return Ok(true);
        };
        context.limit_validity(end);
    }
    Ok(false)
}

/// Returns the end of a stay; `None` if the stay has ended. Reads the flat only if the time zone of
/// the flat decides whether the stay has ended.
fn end(context: &mut Context<'_, '_>, row: &Row, now: Timestamp) -> Result<Option<Timestamp>> {
    let Json(stay): Json<Reservation> = row.get(0)?;
    if is_over_everywhere(stay.check_out, now) {
        return Ok(None);
    }
    let flat = match stay.property_id {
        Some(id) => record_as::<Property>(context, RecordKind::Property, id)?,
        None => None,
    };
    let end = events::check_out(&stay, flat.as_ref()).unwrap_or_else(|| end_of_day(stay.check_out));
    Ok((end > now).then_some(end))
}

/// Returns whether a day ended in UTC at least 24 hours ago. The day is then over in every time
/// zone.
fn is_over_everywhere(day: Date, now: Timestamp) -> bool {
    let today = now.to_zoned(TimeZone::UTC).date();
    day.checked_add(2.days()).is_ok_and(|later| later <= today)
}

/// Returns the end of a day in UTC, for a stay without a flat.
fn end_of_day(day: Date) -> Timestamp {
    let end = day.to_datetime(Time::MAX).to_zoned(TimeZone::UTC);
    end.map_or(Timestamp::MAX, |end| end.timestamp())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_report_on_the_identity_is_a_verification_status() {
        for (reported, more, status) in [
            ("completed", json!({}), VerificationStatus::Verified),
            ("failed", json!({}), VerificationStatus::Failed),
            ("pending", json!({}), VerificationStatus::Pending),
            ("action_required", json!({}), VerificationStatus::Pending),
            (
                "completed",
                json!({ "isReturned": true }),
                VerificationStatus::Pending,
            ),
            (
                "completed",
                json!({ "raised": ["document_expired"] }),
                VerificationStatus::Verified,
            ),
            (
                "completed",
                json!({ "raised": ["retake_limit"] }),
                VerificationStatus::Failed,
            ),
        ] {
            let mut report = json!({ "status": reported });
            report
                .as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            let report: ProgressReport = serde_json::from_value(report).unwrap();
            assert_eq!(verification(&report), status, "{reported} {more}");
        }
    }

    #[test]
    fn a_day_is_over_everywhere_when_it_is_over_in_the_last_time_zone() {
        let of = |now: &str| is_over_everywhere(Date::constant(2026, 11, 19), now.parse().unwrap());
        assert!(!of("2026-11-20T12:00:00Z") && !of("2026-11-20T23:59:59Z"));
        assert!(of("2026-11-21T00:00:00Z"));
    }
}
