//! A charge, and the rules for changes of its status: notices, reports of the platform, and changes
//! of the stay.

use engine::error::{Error, Reason, Result};
use engine::moment::Moment;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use strum::{AsRefStr, VariantArray};
use uuid::Uuid;

use super::stay_times::{DepositTerms, StayTimes};

/// The kind of a charge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, VariantArray)]
#[serde(rename_all = "snake_case")]
pub enum ChargeKind {
    /// A fee.
    Fee,
    /// A damage waiver.
    Waiver,
    /// A deposit, which is released after the stay.
    Deposit,
}

/// The status of a charge.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, AsRefStr, VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ChargeStatus {
    /// The amount must be paid from `dueAt` on.
    Due,
    /// The platform reported that the amount is paid.
    Paid,
    /// The platform could not charge the amount.
    Failed,
    /// The deposit was paid, and the platform gave it back.
    Released,
    /// The amount is no longer to be paid.
    Cancelled,
}

impl ChargeStatus {
    /// Returns whether the charge is still to be paid.
    pub(super) const fn is_open(self) -> bool {
        matches!(self, Self::Due | Self::Failed)
    }
}

/// An outcome that the platform reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema, VariantArray)]
#[serde(rename_all = "snake_case")]
pub enum ReportedStatus {
    /// The amount was paid.
    Paid,
    /// The amount could not be charged.
    Failed,
    /// The paid deposit was given back.
    Released,
}

/// A charge of a stay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(example = example())]
pub struct Charge {
    pub id: Uuid,
    pub reservation_id: Uuid,
    /// Id of the step for which the guest is charged.
    pub step_id: Uuid,
    pub kind: ChargeKind,
    /// Id of the fee product; null unless the kind is `fee`.
    pub fee_product_id: Option<Uuid>,
    /// Id of the damage waiver; null unless the kind is `waiver`.
    pub damage_waiver_id: Option<Uuid>,
    /// Amount in the minor unit of the currency.
    pub amount_cents: u64,
    /// ISO 4217 code of the currency.
    pub currency: String,
    /// Id of the payment account through which the amount is charged. Null if no account was
    /// active.
    pub payment_account_id: Option<Uuid>,
    pub status: ChargeStatus,
    /// Time at which the amount is due.
    pub due_at: Moment,
    /// Time at which a deposit must be released; null for other kinds.
    pub release_at: Option<Moment>,
    /// The message of the platform's last report.
    pub message: Option<String>,
    /// The platform's reference of the payment.
    pub reference: Option<String>,
    pub created_at: Moment,
    pub updated_at: Moment,
}

/// A charge as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StoredCharge {
    #[serde(flatten)]
    pub charge: Charge,
    /// The terms of a deposit at the time of the submission.
    #[serde(default)]
    pub terms: DepositTerms,
    #[serde(default)]
    pub is_due_told: bool,
    #[serde(default)]
    pub is_release_told: bool,
    /// Whether the charge was cancelled because the stay was cancelled.
    #[serde(default)]
    pub is_cancelled_with_stay: bool,
}

/// A notice to the platform about a charge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChargeNoticeKind {
    /// The charge is due.
    Due,
    /// The paid deposit must be released.
    Release,
}

impl StoredCharge {
    /// Returns the next notice to the platform about the charge, and the time at which the notice
    /// is due. Returns `None` if no notice is to be sent, for example because it was sent before.
    pub(super) fn next_notice(&self) -> Option<(ChargeNoticeKind, Moment)> {
        let charge = &self.charge;
        match charge.status {
            ChargeStatus::Due if !self.is_due_told => Some((ChargeNoticeKind::Due, charge.due_at)),
            ChargeStatus::Paid if !self.is_release_told => {
                charge.release_at.map(|at| (ChargeNoticeKind::Release, at))
            }
            ChargeStatus::Due
            | ChargeStatus::Paid
            | ChargeStatus::Failed
            | ChargeStatus::Released
            | ChargeStatus::Cancelled => None,
        }
    }

    /// Marks the next notice as sent if it is due, and returns it. Returns `None` if no notice is
    /// due.
    pub(super) fn take_due_notice(&mut self, now: Timestamp) -> Option<ChargeNoticeKind> {
        let (notice, at) = self.next_notice()?;
        if at.0 > now {
            return None;
        }
        match notice {
            ChargeNoticeKind::Due => self.is_due_told = true,
            ChargeNoticeKind::Release => self.is_release_told = true,
        }
        Some(notice)
    }

    pub(super) fn cancel(&mut self, now: Timestamp) {
        self.charge.status = ChargeStatus::Cancelled;
        self.charge.updated_at = self.charge.updated_at.advanced_to(now);
    }

    /// Applies the outcome that the platform reports. Returns whether anything changed. Fails with
    /// 409 for an outcome that the status does not allow.
    pub(super) fn report(
        &mut self,
        status: ReportedStatus,
        message: Option<String>,
        reference: Option<String>,
        now: Timestamp,
    ) -> Result<bool> {
        let charge = &mut self.charge;
        let is_over = matches!(
            charge.status,
            ChargeStatus::Cancelled | ChargeStatus::Released
        );
        let new_status = match status {
            ReportedStatus::Released => {
                if (charge.kind, charge.status) != (ChargeKind::Deposit, ChargeStatus::Paid) {
                    return Err(conflict(
                        "not_a_paid_deposit",
                        "Only a deposit that is paid can be released.",
                    ));
                }
                ChargeStatus::Released
            }
            ReportedStatus::Paid | ReportedStatus::Failed if is_over => {
                return Err(conflict(
                    "charge_is_over",
                    "The charge is cancelled or released, so nothing of it can be paid any more.",
                ));
            }
            ReportedStatus::Paid => ChargeStatus::Paid,
            ReportedStatus::Failed => ChargeStatus::Failed,
        };
        let before = (charge.status, &charge.message, &charge.reference);
        if before == (new_status, &message, &reference) {
            return Ok(false);
        }
        charge.status = new_status;
        charge.message = message;
        charge.reference = reference;
        charge.updated_at = charge.updated_at.advanced_to(now);
        Ok(true)
    }

    /// Adapts the charge to a change of the stay: updates the due and release times of a deposit,
    /// and cancels an unpaid charge if the stay is cancelled. Returns whether anything changed. If
    /// the stay has no flat, `stay_times` is `None` and the times of the charge do not change.
    pub(super) fn follow_stay(
        &mut self,
        is_cancelled: bool,
        stay_times: Option<&StayTimes>,
        now: Timestamp,
    ) -> bool {
        let charge = &mut self.charge;
        let before = (charge.due_at, charge.release_at);
        if is_cancelled {
            if charge.status.is_open() {
                self.is_cancelled_with_stay = true;
                self.cancel(now);
                return true;
            }
            if charge.status == ChargeStatus::Paid {
                charge.release_at = charge.release_at.map(|at| at.min(Moment(now)));
            }
        } else if let (ChargeKind::Deposit, Some(stay_times)) = (charge.kind, stay_times) {
            if charge.status.is_open() {
                charge.due_at = stay_times.due(self.terms, charge.created_at);
            }
            if charge.status.is_open() || charge.status == ChargeStatus::Paid {
                charge.release_at = Some(stay_times.release(self.terms));
            }
        }
        let is_changed = before != (charge.due_at, charge.release_at);
        if is_changed {
            charge.updated_at = charge.updated_at.advanced_to(now);
        }
        is_changed
    }

    /// Returns a new charge that replaces this charge, if this charge was cancelled together with
    /// its stay. Then also clears `is_cancelled_with_stay`, so that only one charge replaces it.
    /// Returns `None` for any other charge. The calling function has found that the stay is no
    /// longer cancelled.
    pub(super) fn replacement_charge(
        &mut self,
        id: Uuid,
        stay_times: Option<&StayTimes>,
        now: Timestamp,
    ) -> Option<Self> {
        if self.charge.status != ChargeStatus::Cancelled || !self.is_cancelled_with_stay {
            return None;
        }
        self.is_cancelled_with_stay = false;
        let now = Moment(now);
        let mut renewed = Self {
            charge: Charge {
                id,
                status: ChargeStatus::Due,
                due_at: now,
                message: None,
                reference: None,
                created_at: now,
                updated_at: now,
                ..self.charge.clone()
            },
            is_due_told: false,
            is_release_told: false,
            ..self.clone()
        };
        if let (ChargeKind::Deposit, Some(stay_times)) = (renewed.charge.kind, stay_times) {
            renewed.charge.due_at = stay_times.due(renewed.terms, now);
            renewed.charge.release_at = Some(stay_times.release(renewed.terms));
        }
        Some(renewed)
    }
}

fn conflict(key: &'static str, message: &'static str) -> Error {
    Error::conflict(Reason::rule(key, message))
}

pub(super) fn example() -> Value {
    json!({
        "id": "0192f0c1-2345-7abc-8def-0123456789b1",
        "reservationId": "0192f0c1-2345-7abc-8def-0123456789ab",
        "stepId": "0192f0c1-2345-7abc-8def-0123456789ac",
        "kind": "deposit",
        "feeProductId": null,
        "damageWaiverId": null,
        "amountCents": 20_000,
        "currency": "EUR",
        "paymentAccountId": "0192f0c1-2345-7abc-8def-0123456789b2",
        "status": "due",
        "dueAt": "2026-12-09T14:00:00.000Z",
        "releaseAt": "2026-12-22T10:00:00.000Z",
        "message": null,
        "reference": null,
        "createdAt": "2026-11-21T09:30:00.000Z",
        "updatedAt": "2026-11-21T09:30:00.000Z",
    })
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    pub(in super::super) fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    pub(in super::super) fn stored(kind: ChargeKind, status: ChargeStatus) -> StoredCharge {
        let mut charge: Charge = serde_json::from_value(example()).unwrap();
        charge.kind = kind;
        charge.status = status;
        if kind != ChargeKind::Deposit {
            charge.release_at = None;
        }
        StoredCharge {
            charge,
            terms: DepositTerms {
                days_before: Some(2),
                release_days: Some(7),
            },
            is_due_told: false,
            is_release_told: false,
            is_cancelled_with_stay: false,
        }
    }

    #[test]
    fn a_stored_charge_is_read_as_it_was_written() {
        let charge = stored(ChargeKind::Deposit, ChargeStatus::Due);
        let text = serde_json::to_string(&charge).unwrap();
        assert_eq!(serde_json::from_str::<StoredCharge>(&text).unwrap(), charge);
        let plain: StoredCharge = serde_json::from_value(example()).unwrap();
        assert_eq!(
            (plain.terms, plain.is_due_told),
            (DepositTerms::default(), false)
        );
    }

    #[test]
    fn each_notice_is_returned_once_and_only_where_something_is_to_be_done() {
        let late = at("2027-01-01T00:00:00Z");
        for kind in ChargeKind::VARIANTS.iter().copied() {
            for status in ChargeStatus::VARIANTS.iter().copied() {
                let mut charge = stored(kind, status);
                let expected = match (kind, status) {
                    (_, ChargeStatus::Due) => Some(ChargeNoticeKind::Due),
                    (ChargeKind::Deposit, ChargeStatus::Paid) => Some(ChargeNoticeKind::Release),
                    _ => None,
                };
                assert_eq!(
                    charge.take_due_notice(at("2026-11-21T09:30:00Z")),
                    None,
                    "too early"
                );
                assert_eq!(
                    charge.take_due_notice(late),
                    expected,
                    "{kind:?} {status:?}"
                );
                assert_eq!(charge.take_due_notice(late), None, "once");
            }
        }
    }

    #[test]
    fn a_cancelled_stay_cancels_what_is_not_paid_and_releases_a_paid_deposit() {
        let now = at("2026-11-22T00:00:00Z");
        for kind in ChargeKind::VARIANTS.iter().copied() {
            for status in ChargeStatus::VARIANTS.iter().copied() {
                let before = stored(kind, status);
                let mut after = before.clone();
                let is_changed = after.follow_stay(true, None, now);
                assert_eq!(is_changed, after != before, "{kind:?} {status:?}");
                let expected = if status.is_open() {
                    ChargeStatus::Cancelled
                } else {
                    status
                };
                assert_eq!(after.charge.status, expected);
                let releases = (kind, status) == (ChargeKind::Deposit, ChargeStatus::Paid);
                if releases {
                    assert_eq!(after.charge.release_at, Some(Moment(now)));
                } else {
                    assert_eq!(after.charge.release_at, before.charge.release_at);
                }
                let later = at("2026-11-23T00:00:00Z");
                assert!(!after.follow_stay(true, None, later), "only the first time");
                let renewed = after.replacement_charge(Uuid::nil(), None, later);
                assert_eq!(renewed.is_some(), status.is_open(), "{kind:?} {status:?}");
                assert!(
                    renewed.is_none_or(|charge| charge.charge.status == ChargeStatus::Due)
                        && after.replacement_charge(Uuid::nil(), None, later).is_none()
                );
            }
        }
    }

    proptest! {
        /// Compares `report` with the rules: only a paid deposit can be released, and a cancelled
        /// or released charge cannot become paid or failed. A repeated report changes nothing.
        #[test]
        fn an_outcome_is_taken_where_it_can_be(
            kind in select(ChargeKind::VARIANTS),
            status in select(ChargeStatus::VARIANTS),
            new_status in select(ReportedStatus::VARIANTS),
        ) {
            let (before, now) = (stored(kind, status), at("2026-12-24T00:00:00Z"));
            let mut after = before.clone();
            let is_over = matches!(status, ChargeStatus::Cancelled | ChargeStatus::Released);
            let is_refused = match new_status {
                ReportedStatus::Released => {
                    kind != ChargeKind::Deposit || status != ChargeStatus::Paid
                }
                ReportedStatus::Paid | ReportedStatus::Failed => is_over,
            };
            match after.report(new_status, None, None, now) {
                Ok(is_changed) => {
                    prop_assert!(!is_refused);
                    prop_assert_eq!(is_changed, after != before);
                    prop_assert!(
                        !after.report(new_status, None, None, now).unwrap_or(false),
                        "the same report changes nothing"
                    );
                }
                Err(error) => {
                    prop_assert!(is_refused && after == before);
                    prop_assert_eq!(error.kind().status(), 409);
                }
            }
        }
    }
}
