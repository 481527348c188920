//! What becomes of a submission: staff approve it, or ask for changes to some of its steps (contract: Reviews of what guests
//! hand in).

use engine::error::{Error, Reason, Result};
use engine::moment::Moment;
use serde::{Deserialize, Serialize};
use store::{Json, Row};
use uuid::Uuid;

use super::precheckin::PrecheckinStatus;

/// What was submitted, and what has become of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Submitted {
    /// Where it stands.
    pub status: PrecheckinStatus,
    /// When it was submitted last.
    pub at: Moment,
    /// What staff decided.
    pub decision: Decision,
}

/// What staff decided of a submission, as it is stored.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Decision {
    /// When; none while the latest submission waits for somebody, and where it had to wait for nobody.
    pub decided_at: Option<Moment>,
    /// The name of the member or API key who did.
    pub decided_by: Option<String>,
    /// What the guest was last asked to change. It outlives their next submission, for whoever looks at that.
    pub message: Option<String>,
    /// While changes are requested, the steps that stay as they were submitted.
    pub kept_step_ids: Vec<Uuid>,
}

/// What keeps a guest from saving a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hold {
    /// Nothing.
    None,
    /// It stays as it was submitted, unless something has come to be missing in it: otherwise nobody could submit again.
    Kept,
    /// Everything is submitted.
    Submitted,
}

impl Submitted {
    /// From the columns `status, submitted_at, doc`, the first of which is the one of this number.
    pub(super) fn from_row(row: &Row, first: usize) -> Result<Self> {
        let status = row.get::<String>(first)?.parse().map_err(|_| Error::internal("a submission of an unknown status"))?;
        let Json(decision) = row.get(first + 2)?;
        Ok(Self { status, at: Moment(row.get(first + 1)?), decision })
    }

    /// What staff ask of the guest, while they do.
    pub(super) fn request(&self) -> Option<&Decision> {
        (self.status == PrecheckinStatus::ChangesRequested).then_some(&self.decision)
    }

    /// 409 unless it waits for staff.
    pub(super) fn require_in_review(this: Option<&Self>) -> Result<()> {
        if this.is_some_and(|submitted| submitted.status == PrecheckinStatus::InReview) {
            return Ok(());
        }
        Err(Error::conflict(Reason::rule("not_in_review", "Pre-check-in is not in review.")))
    }
}

impl Decision {
    /// What is left of it once the guest has submitted again.
    pub(super) fn superseded(self) -> Self {
        Self { message: self.message, ..Self::default() }
    }
}

impl Hold {
    /// What keeps a guest from saving this step.
    pub(super) fn of(submitted: Option<&Submitted>, step: Uuid) -> Self {
        let Some(submitted) = submitted else { return Self::None };
        match submitted.request() {
            None => Self::Submitted,
            Some(request) if request.kept_step_ids.contains(&step) => Self::Kept,
            Some(_) => Self::None,
        }
    }

    /// Whether the guest may save it all the same.
    pub(super) const fn is_open(self, is_complete: bool) -> bool {
        match self {
            Self::None => true,
            Self::Kept => !is_complete,
            Self::Submitted => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use strum::VariantArray;

    use super::*;

    proptest! {
        /// The contract's sentence: steps that are sent back are open to the guest again, the others stay as they are; and no
        /// guest is left with a step that keeps them from submitting and that they cannot save.
        #[test]
        fn what_is_open_agrees_with_the_sentence(
            status in prop::option::of(prop::sample::select(PrecheckinStatus::VARIANTS)),
            kept in prop::collection::vec(0..4_u128, 0..4), step in 0..4_u128, is_complete: bool,
        ) {
            let kept_step_ids: Vec<Uuid> = kept.iter().copied().map(Uuid::from_u128).collect();
            let at = Moment("2026-11-21T09:30:00Z".parse().unwrap());
            let submitted = status.map(|status| Submitted { status, at, decision: Decision { kept_step_ids, ..Decision::default() } });
            let is_open = Hold::of(submitted.as_ref(), Uuid::from_u128(step)).is_open(is_complete);
            let expected = match status {
                None => true,
                Some(PrecheckinStatus::ChangesRequested) => !kept.contains(&step) || !is_complete,
                Some(_) => false,
            };
            prop_assert_eq!(is_open, expected);
        }
    }

    #[test]
    fn a_stored_decision_of_another_version_is_read() {
        assert_eq!(serde_json::from_str::<Decision>("{}").unwrap(), Decision::default());
        let decision = Decision {
            decided_at: Some(Moment("2026-11-21T09:30:00Z".parse().unwrap())),
            decided_by: Some("Front desk".into()),
            message: Some("The passport cannot be read.".into()),
            kept_step_ids: vec![Uuid::nil()],
        };
        let text = serde_json::to_string(&decision).unwrap();
        assert_eq!(serde_json::from_str::<Decision>(&text).unwrap(), decision);
        assert_eq!(decision.superseded(), Decision { message: Some("The passport cannot be read.".into()), ..Decision::default() });
    }
}
