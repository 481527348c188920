//! Determines the charges of a submission and reconciles them with the existing charges of the
//! stay.

use engine::context::Context;
use engine::error::Result;
use engine::moment::Moment;
use jiff::Timestamp;
use uuid::Uuid;

use super::charge::{Charge, ChargeKind, ChargeStatus, StoredCharge};
use super::records;
use super::stay_times::{DepositTerms, StayTimes};
use crate::guest::precheckin::Precheckin;
use crate::guest::progress::ProgressStatus;
use crate::guest::setup::GuestSetup;
use crate::guest::stay::Stay;
use crate::guest::step_of_stay::StepOfStay;
use crate::precheck::{self, Cost, DepositChoice, DepositOption};

/// The subject of a charge: a fee product, a waiver or the deposit of a step. Apart from cancelled
/// charges, a stay has at most one charge for each subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ChargeSubject {
    step: Uuid,
    kind: ChargeKind,
    fee_product: Option<Uuid>,
    damage_waiver: Option<Uuid>,
}

impl ChargeSubject {
    const fn of(charge: &Charge) -> Self {
        Self {
            step: charge.step_id,
            kind: charge.kind,
            fee_product: charge.fee_product_id,
            damage_waiver: charge.damage_waiver_id,
        }
    }
}

/// The price of a charge, the payment account through which the amount is charged, and the terms
/// under which a deposit is held and released.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Price {
    amount_cents: u64,
    currency: String,
    payment_account_id: Option<Uuid>,
    terms: DepositTerms,
}

/// A charge that a submission requires. If the price is unknown, no new charge is written, and an
/// existing charge is not cancelled.
#[derive(Debug, Clone, PartialEq, Eq)]
struct RequestedCharge {
    subject: ChargeSubject,
    price: Option<Price>,
}

/// Writes the charges of a submission, and cancels existing charges for choices that the guest has
/// replaced. The calling function has already recorded the submission. So in the list of changes by
/// guests, the submission precedes the notices that its charges are due.
pub(in crate::guest) fn save_submission_charges(
    context: &mut Context<'_, '_>,
    stay: &Stay,
    setup: &GuestSetup,
    precheckin: &Precheckin,
) -> Result<()> {
    let requests: Vec<RequestedCharge> = precheckin
        .steps
        .iter()
        .flat_map(|stay_step| of_step(stay_step, setup, precheckin.nights))
        .collect();
    let existing = records::of_stays(context, vec![stay.id])?;
    if requests.is_empty() && existing.is_empty() {
        return Ok(());
    }
    let stay_times = stay
        .flat
        .as_ref()
        .map(|flat| StayTimes::of(&stay.reservation, &flat.property));
    let now = context.now();
    let (mut changed, new) = reconcile(existing, requests, now);
    for (subject, price) in new {
        changed.push(charge(
            context.new_id(),
            stay.id,
            subject,
            price,
            stay_times.as_ref(),
            now,
        ));
    }
    for stored in &mut changed {
        if let Some(notice) = stored.take_due_notice(now) {
            records::record_notice(context, notice, stored)?;
        }
    }
    records::save(context, &changed)
}

/// Returns the charges of a step. If there is nothing to pay for a charge, or if the platform has
/// reported the step as completed, the charge has no price (`None`).
fn of_step(stay_step: &StepOfStay, setup: &GuestSetup, nights: i64) -> Vec<RequestedCharge> {
    let step = &stay_step.step;
    // If the platform has reported the step as completed, the platform has also collected the
    // payment, so no new charge is written.
    let is_settled = stay_step
        .stored
        .report
        .as_ref()
        .is_some_and(|report| report.progress.status == ProgressStatus::Completed);
    let request = |kind, fee_product, damage_waiver, price: Option<Price>| RequestedCharge {
        subject: ChargeSubject {
            step: step.id,
            kind,
            fee_product,
            damage_waiver,
        },
        price: price.filter(|price| price.amount_cents > 0 && !is_settled),
    };
    match setup.costs.get(&step.id) {
        None => Vec::new(),
        Some(Cost::Fees(fees)) => fees
            .iter()
            .map(|fee| {
                let price = fee.total_cents.map(|amount_cents| Price {
                    amount_cents,
                    currency: fee.currency.clone(),
                    payment_account_id: fee.payment_account_id,
                    terms: DepositTerms::default(),
                });
                request(ChargeKind::Fee, Some(fee.fee_product_id), None, price)
            })
            .collect(),
        Some(Cost::Deposit(choices)) => {
            let Some(answers) = stay_step.answers() else {
                return Vec::new();
            };
            let offered = precheck::choices_for(step, choices, nights);
            let terms = DepositTerms {
                days_before: step.charges.security_deposit_days_before_checkin,
                release_days: step.charges.security_deposit_release_days_after_checkout,
            };
            let price = |offer: &DepositChoice, terms| {
                offer.total_cents.map(|amount_cents| Price {
                    amount_cents,
                    currency: offer.currency.clone(),
                    payment_account_id: offer.payment_account_id,
                    terms,
                })
            };
            let chosen = precheck::chosen_deposit(answers, &offered);
            match precheck::deposit_choice(answers) {
                Some((DepositOption::Waiver, waiver)) => {
                    let price = chosen.and_then(|offer| price(offer, DepositTerms::default()));
                    vec![request(ChargeKind::Waiver, None, waiver, price)]
                }
                Some((DepositOption::Deposit, _)) => {
                    let price = chosen.and_then(|offer| price(offer, terms));
                    vec![request(ChargeKind::Deposit, None, None, price)]
                }
                Some((DepositOption::None, _)) | None => Vec::new(),
            }
        }
    }
}

/// Compares the existing charges of a stay with the required charges. Returns the charges that this
/// function cancelled, and the subject and price of each new charge. An unchanged subject gets no
/// new charge, even if its price changed.
fn reconcile(
    existing: Vec<StoredCharge>,
    requests: Vec<RequestedCharge>,
    now: Timestamp,
) -> (Vec<StoredCharge>, Vec<(ChargeSubject, Price)>) {
    let is_live = |stored: &StoredCharge| stored.charge.status != ChargeStatus::Cancelled;
    let mut charged_subjects: Vec<ChargeSubject> = existing
        .iter()
        .filter(|stored| is_live(stored))
        .map(|stored| ChargeSubject::of(&stored.charge))
        .collect();
    let mut cancelled = Vec::new();
    for mut stored in existing {
        let subject = ChargeSubject::of(&stored.charge);
        let is_requested = requests.iter().any(|request| request.subject == subject);
        if stored.charge.status.is_open() && !is_requested {
            stored.cancel(now);
            cancelled.push(stored);
        }
    }
    let mut new = Vec::new();
    for RequestedCharge { subject, price } in requests {
        if let (false, Some(price)) = (charged_subjects.contains(&subject), price) {
            charged_subjects.push(subject);
            new.push((subject, price));
        }
    }
    (cancelled, new)
}

fn charge(
    id: Uuid,
    reservation: Uuid,
    subject: ChargeSubject,
    price: Price,
    stay_times: Option<&StayTimes>,
    now: Timestamp,
) -> StoredCharge {
    let submitted = Moment(now);
    let of_deposit = stay_times.filter(|_| subject.kind == ChargeKind::Deposit);
    StoredCharge {
        charge: Charge {
            id,
            reservation_id: reservation,
            step_id: subject.step,
            kind: subject.kind,
            fee_product_id: subject.fee_product,
            damage_waiver_id: subject.damage_waiver,
            amount_cents: price.amount_cents,
            currency: price.currency,
            payment_account_id: price.payment_account_id,
            status: ChargeStatus::Due,
            due_at: of_deposit.map_or(submitted, |stay_times| {
                stay_times.due(price.terms, submitted)
            }),
            release_at: of_deposit.map(|stay_times| stay_times.release(price.terms)),
            message: None,
            reference: None,
            created_at: submitted,
            updated_at: submitted,
        },
        terms: price.terms,
        is_due_told: false,
        is_release_told: false,
        is_cancelled_with_stay: false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;
    use strum::VariantArray as _;

    use super::super::charge::tests::{at, stored};
    use super::super::stay_times::tests::madrid;
    use super::*;

    fn subject(number: u128) -> ChargeSubject {
        ChargeSubject {
            step: Uuid::from_u128(number / 2),
            kind: ChargeKind::Fee,
            fee_product: Some(Uuid::from_u128(number)),
            damage_waiver: None,
        }
    }

    fn price() -> Price {
        Price {
            amount_cents: 500,
            currency: "EUR".into(),
            payment_account_id: None,
            terms: DepositTerms {
                days_before: Some(2),
                release_days: Some(1),
            },
        }
    }

    #[test]
    fn a_deposit_has_times_of_the_stay_and_all_else_is_due_at_once() {
        let (now, stay_times) = (at("2026-11-21T09:30:00Z"), madrid([Some("15:00"), None]));
        for kind in ChargeKind::VARIANTS.iter().copied() {
            let of_kind = ChargeSubject { kind, ..subject(1) };
            let made = charge(
                Uuid::nil(),
                Uuid::nil(),
                of_kind,
                price(),
                Some(&stay_times),
                now,
            );
            let is_deposit = kind == ChargeKind::Deposit;
            let due = if is_deposit {
                at("2027-03-25T14:00:00Z")
            } else {
                now
            };
            assert_eq!(
                (made.charge.due_at.0, made.charge.release_at.is_some()),
                (due, is_deposit),
                "{kind:?}"
            );
        }
    }

    proptest! {
        /// A resubmission adds no charge for a choice that has a charge already, unless that charge
        /// is cancelled. It cancels each charge that is still to be paid and that the guest no
        /// longer chooses.
        #[test]
        fn a_resubmission_charges_what_is_new_and_cancels_what_is_not_wanted(
            before in prop::collection::vec((0..4_u128, select(ChargeStatus::VARIANTS)), 0..6),
            wanted in prop::collection::vec((0..4_u128, any::<bool>()), 0..6),
        ) {
            let now = at("2026-12-24T00:00:00Z");
            let existing: Vec<StoredCharge> = before
                .iter()
                .map(|(number, status)| {
                    let mut charge = stored(ChargeKind::Fee, *status);
                    charge.charge.step_id = subject(*number).step;
                    charge.charge.fee_product_id = subject(*number).fee_product;
                    charge
                })
                .collect();
            let requests: Vec<RequestedCharge> = wanted
                .iter()
                .map(|(number, has_price)| RequestedCharge {
                    subject: subject(*number),
                    price: has_price.then(price),
                })
                .collect();
            let (cancelled, new) = reconcile(existing.clone(), requests.clone(), now);
            let dropped = existing.iter().filter(|charge| {
                charge.charge.status.is_open()
                    && !requests
                        .iter()
                        .any(|ask| ask.subject == ChargeSubject::of(&charge.charge))
            });
            prop_assert_eq!(cancelled.len(), dropped.count());
            prop_assert!(
                cancelled
                    .iter()
                    .all(|charge| charge.charge.status == ChargeStatus::Cancelled)
            );
            for number in 0..4 {
                let live = existing.iter().any(|charge| {
                    charge.charge.status != ChargeStatus::Cancelled
                        && ChargeSubject::of(&charge.charge) == subject(number)
                });
                let is_asked = wanted.contains(&(number, true));
                let made = new
                    .iter()
                    .filter(|(made, _)| *made == subject(number))
                    .count();
                prop_assert_eq!(made, usize::from(is_asked && !live));
            }
        }
    }
}
