//! Decisions on a submission: staff approve the submission, or ask for changes to some of its steps
//! (rules: submissions#reviews).

use engine::error::{Error, Reason, Result};
use engine::moment::Moment;
use serde::{Deserialize, Serialize};
use store::{Json, Row};
use uuid::Uuid;

use super::flags::StoredFlag;
use super::openness::StayStage;
use super::precheckin::PrecheckinStatus;

/// The last submission of a stay's guest, and the decision of staff on this submission.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct StoredSubmission {
    pub status: PrecheckinStatus,
    /// The time of the last submission.
    pub at: Moment,
    /// The decision of staff on this submission.
    pub decision: Decision,
}

/// The decision of staff on a submission, as it is stored.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Decision {
    /// The time of the decision. `None` while the latest submission waits for staff, and if the
    /// submission was approved without staff.
    pub decided_at: Option<Moment>,
    /// The name of the member or API key who decided.
    pub decided_by: Option<String>,
    /// The message of the last request for changes. It remains stored after the guest submits
    /// again, for staff who read the new submission.
    pub message: Option<String>,
    /// The steps that staff ask the guest to change. Used only while changes are requested.
    pub requested_step_ids: Vec<Uuid>,
    /// The flags that the last submission raised.
    pub flags: Vec<StoredFlag>,
}

impl StoredSubmission {
    /// Reads the columns `status, submitted_at, doc`, which begin at the index `first_column`.
    pub(super) fn from_row(row: &Row, first_column: usize) -> Result<Self> {
        let status = row
            .get::<String>(first_column)?
            .parse()
            .map_err(|_| Error::internal("a submission has an unknown status"))?;
        let Json(decision) = row.get(first_column + 2)?;
        Ok(Self {
            status,
            at: Moment(row.get(first_column + 1)?),
            decision,
        })
    }

    /// Returns the decision if it asks the guest for changes.
    pub(super) fn request(&self) -> Option<&Decision> {
        (self.status == PrecheckinStatus::ChangesRequested).then_some(&self.decision)
    }

    /// Returns whether staff have asked the guest to change this step.
    pub(super) fn requests(&self, step: Uuid) -> bool {
        self.request()
            .is_some_and(|request| request.requested_step_ids.contains(&step))
    }

    /// Fails with 409 unless the submission waits for staff.
    pub(super) fn require_in_review(this: Option<&Self>) -> Result<()> {
        if this.is_some_and(|submitted| submitted.status == PrecheckinStatus::InReview) {
            return Ok(());
        }
        Err(Error::conflict(Reason::rule(
            "not_in_review",
            "Pre-check-in is not in review.",
        )))
    }

    /// Fails with 409 unless staff can ask the guest for changes: the submission waits for staff,
    /// or it is approved and the check-in time has not passed.
    pub(super) fn require_changeable(this: Option<&Self>, stage: StayStage) -> Result<()> {
        match this {
            Some(submitted) if submitted.status == PrecheckinStatus::Approved => {
                if stage == StayStage::Ahead {
                    return Ok(());
                }
                Err(Error::conflict(Reason::rule(
                    "guest_has_arrived",
                    "The check-in time has passed, so an approved pre-check-in stays as it is.",
                )))
            }
            this => Self::require_in_review(this),
        }
    }
}

impl Decision {
    /// Returns the decision to store when the guest submits again. Of the old decision, only the
    /// message remains.
    pub(super) fn into_resubmitted(self) -> Self {
        Self {
            message: self.message,
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::flags::FlagKind;
    use super::*;

    #[test]
    fn a_stored_decision_of_another_version_is_read() {
        assert_eq!(
            serde_json::from_str::<Decision>("{}").unwrap(),
            Decision::default()
        );
        let decision = Decision {
            decided_at: Some(Moment("2026-11-21T09:30:00Z".parse().unwrap())),
            decided_by: Some("Front desk".into()),
            message: Some("The passport cannot be read.".into()),
            requested_step_ids: vec![Uuid::nil()],
            flags: vec![StoredFlag {
                step_id: Uuid::nil(),
                kind: FlagKind::External,
                key: None,
                message: Some("The photo is blurred.".into()),
            }],
        };
        let text = serde_json::to_string(&decision).unwrap();
        assert_eq!(serde_json::from_str::<Decision>(&text).unwrap(), decision);
        assert_eq!(
            decision.into_resubmitted(),
            Decision {
                message: Some("The passport cannot be read.".into()),
                ..Decision::default()
            }
        );
    }
}
