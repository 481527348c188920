//! The choices of a damage deposit in the guest's view.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::precheck::{self, Cost, CostKind, DepositChoice, DepositOption, Step};
use crate::translations::Texts;

/// The choices of a damage deposit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DepositView {
    /// The text below the heading; null if the organization has not written one.
    pub subtitle: Option<String>,
    /// The choices that the guest has. If there is none, the step is complete once the guest saves
    /// it.
    pub choices: Vec<DepositChoice>,
    /// Days before check-in at which the deposit is due. Null: at submission.
    pub days_before_checkin: Option<u32>,
    /// Days after check-out at which the deposit is released. Null: at the check-out time.
    pub release_days_after_checkout: Option<u32>,
}

/// Returns the choices of a deposit step for a stay of this many nights; `None` for a step of
/// another type.
pub(in crate::guest) fn deposit(
    step: &Step,
    cost: Option<&Cost>,
    texts: &Texts,
    nights: i64,
) -> Option<DepositView> {
    let Some(Cost::Deposit(choices)) = cost else {
        return None;
    };
    let choices = precheck::choices_for(step, choices, nights);
    let charges = &step.charges;
    let is_deposit_alone = !choices.is_empty()
        && choices
            .iter()
            .all(|choice| choice.choice == DepositOption::Deposit);
    let of_deposit = charges
        .security_deposit_subtitle_ml_text_id
        .filter(|_| is_deposit_alone);
    Some(DepositView {
        subtitle: texts.of(of_deposit.or(charges.damage_deposit_subtitle_ml_text_id)),
        choices,
        days_before_checkin: charges.security_deposit_days_before_checkin,
        release_days_after_checkout: charges.security_deposit_release_days_after_checkout,
    })
}

/// Returns the ids of the translations whose texts [`deposit`] may show.
pub(in crate::guest) fn subtitles(step: &Step) -> impl Iterator<Item = Uuid> + use<> {
    let charges = &step.charges;
    let texts = match step.step_type.cost_kind() {
        CostKind::Deposit => [
            charges.damage_deposit_subtitle_ml_text_id,
            charges.security_deposit_subtitle_ml_text_id,
        ],
        CostKind::None | CostKind::Fees => [None, None],
    };
    texts.into_iter().flatten()
}
