//! A pre-check-in step: its fields as they are stored and answered (spec: Pre-check step).

use engine::moment::Moment;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use strum::{AsRefStr, EnumString, VariantArray};
use uuid::Uuid;

use super::identity::IdentityFlagPolicy;
use super::question::Question;
use super::targeting::Targeting;

/// What a step asks of a guest.
// In the spec's order.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, AsRefStr, EnumString, VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
#[expect(missing_docs, reason = "each says what it is")]
pub enum StepType {
    YourDetails,
    IdentityCheck,
    BackgroundCheck,
    OtherGuests,
    AuthorityReporting,
    AdditionalQuestions,
    DocumentUpload,
    Agreement,
    MandatoryFee,
    DamageDeposit,
    ScreenAndProtect,
    Main,
}

impl StepType {
    /// Whether a submission of it can be held for staff review (spec: isManualReviewEnabled).
    #[must_use]
    pub const fn is_reviewable(self) -> bool {
        matches!(self, Self::AdditionalQuestions | Self::DocumentUpload | Self::DamageDeposit)
    }
}

/// How a damage waiver is priced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PricingBasis {
    PerNight,
    PerStay,
}

/// How an agreement is signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgreementType {
    Template,
    Text,
    EsignA,
    EsignB,
}

/// The damage waiver and the security deposit. Amounts are in cents; a payment account that is null means the
/// organization's active default one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(!default)]
pub struct Charges {
    pub damage_waiver_deposit_amount_cents: Option<u64>,
    pub is_damage_waiver_enabled: bool,
    pub damage_waiver_cap_cents: Option<u64>,
    pub damage_waiver_min_los: u32,
    pub damage_waiver_pricing_basis: PricingBasis,
    pub is_damage_waiver_waivable: bool,
    pub damage_waiver_payment_account_id: Option<Uuid>,
    pub damage_deposit_subtitle_ml_text_id: Option<Uuid>,
    pub security_deposit_amount_cents: Option<u64>,
    pub is_security_deposit_enabled: bool,
    pub security_deposit_days_before_checkin: Option<u32>,
    pub security_deposit_release_days_after_checkout: u32,
    pub security_deposit_payment_account_id: Option<Uuid>,
    pub security_deposit_subtitle_ml_text_id: Option<Uuid>,
}

impl Default for Charges {
    fn default() -> Self {
        Self {
            damage_waiver_deposit_amount_cents: None,
            is_damage_waiver_enabled: false,
            damage_waiver_cap_cents: None,
            damage_waiver_min_los: 0,
            damage_waiver_pricing_basis: PricingBasis::PerNight,
            is_damage_waiver_waivable: false,
            damage_waiver_payment_account_id: None,
            damage_deposit_subtitle_ml_text_id: None,
            security_deposit_amount_cents: None,
            is_security_deposit_enabled: false,
            security_deposit_days_before_checkin: None,
            security_deposit_release_days_after_checkout: 3,
            security_deposit_payment_account_id: None,
            security_deposit_subtitle_ml_text_id: None,
        }
    }
}

/// What is agreed to, and how it is signed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(!default)]
pub struct Agreement {
    pub agreement_type: Option<AgreementType>,
    pub contract_template_text_ml_text_id: Option<Uuid>,
    pub esign_a_template_id: Option<String>,
    pub esign_a_title_ml_text_id: Option<Uuid>,
    pub esign_a_subtitle_ml_text_id: Option<Uuid>,
    pub esign_b_template_id: Option<String>,
    pub esign_b_heading_ml_text_id: Option<Uuid>,
    pub esign_b_subtitle_ml_text_id: Option<Uuid>,
    pub is_mandatory_signing: bool,
}

/// Settings that are accepted on write and that no read of the public interface returns (spec: Write-only settings). The
/// platform gets them with what a guest has handed in, since it is the one that acts on them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(!default)]
pub struct WriteOnly {
    pub identity_flag_policy: Option<IdentityFlagPolicy>,
    pub minimum_guest_age: Option<u32>,
    pub is_photo_id_required: Option<bool>,
    pub is_authority_provider_property_info_email_enabled: bool,
    pub fees_payment_account_id: Option<Uuid>,
    pub guest_description_ml_text_id: Option<Uuid>,
    pub contract_template_text: Option<String>,
    pub esign_prefill_values: Option<std::collections::BTreeMap<String, String>>,
    pub background_check_account_id: Option<Uuid>,
    pub required_guest_fields: Option<Vec<String>>,
    pub required_document_types: Option<Vec<String>>,
    pub authority_provider: Option<String>,
}

/// A step as it is stored. What a document of another version lacks is as it is in a new step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Step {
    /// Server-assigned.
    pub id: Uuid,
    /// Internal label, 1 to 200 characters; never shown to guests.
    pub nickname: String,
    /// Decides which other fields apply; locked once guests have used the step.
    pub step_type: StepType,
    /// Whether any portal shows it.
    pub is_active: bool,
    /// Zero-based position; a step without it sorts last.
    pub sort_order: Option<u32>,
    /// Translation of the heading; null means the built-in title of the type.
    pub display_title_ml_text_id: Option<Uuid>,
    /// Whether a flagged submission is held for staff review, for the types that can be.
    pub is_manual_review_enabled: bool,
    /// What a mandatory fee is made of.
    pub fee_product_ids: Vec<Uuid>,
    /// What additional questions ask.
    pub questions: Vec<Question>,
    /// Which reservations get it.
    pub targeting: Targeting,
    /// Damage waiver and security deposit.
    pub charges: Charges,
    /// What is agreed to.
    pub agreement: Agreement,
    /// What is never answered.
    pub write_only: WriteOnly,
    /// When it was made; breaks ties of order.
    pub created_at: Moment,
    /// When it last changed.
    pub updated_at: Moment,
}

impl Default for Step {
    fn default() -> Self {
        Self::new(Uuid::nil(), StepType::Main, String::new(), Moment::default())
    }
}

impl Step {
    /// A step as it is when nothing but its type and nickname is given.
    #[must_use]
    pub fn new(id: Uuid, step_type: StepType, nickname: String, now: Moment) -> Self {
        Self {
            id,
            nickname,
            step_type,
            is_active: false,
            sort_order: None,
            display_title_ml_text_id: None,
            is_manual_review_enabled: true,
            fee_product_ids: Vec::new(),
            questions: Vec::new(),
            targeting: Targeting::default(),
            charges: Charges::default(),
            agreement: Agreement::default(),
            write_only: WriteOnly::default(),
            created_at: now,
            updated_at: now,
        }
    }

    /// The translations a step links besides its questions', each with the name of its field.
    #[must_use]
    pub fn linked_texts(&self) -> [(&'static str, Option<Uuid>); 9] {
        let Self { charges, agreement, .. } = self;
        [
            ("displayTitleMlTextId", self.display_title_ml_text_id),
            ("damageDepositSubtitleMlTextId", charges.damage_deposit_subtitle_ml_text_id),
            ("securityDepositSubtitleMlTextId", charges.security_deposit_subtitle_ml_text_id),
            ("contractTemplateTextMlTextId", agreement.contract_template_text_ml_text_id),
            ("esignATitleMlTextId", agreement.esign_a_title_ml_text_id),
            ("esignASubtitleMlTextId", agreement.esign_a_subtitle_ml_text_id),
            ("esignBHeadingMlTextId", agreement.esign_b_heading_ml_text_id),
            ("esignBSubtitleMlTextId", agreement.esign_b_subtitle_ml_text_id),
            ("guestDescriptionMlTextId", self.write_only.guest_description_ml_text_id),
        ]
    }

    /// The payment accounts a step names.
    #[must_use]
    pub fn payment_accounts(&self) -> [Option<Uuid>; 3] {
        let Self { charges, write_only, .. } = self;
        [charges.damage_waiver_payment_account_id, charges.security_deposit_payment_account_id, write_only.fees_payment_account_id]
    }
}

/// How a step is to be acted on, for the platform that does: what it charges and asks, write-only settings included.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepSettings {
    is_manual_review_enabled: bool,
    fee_product_ids: Vec<Uuid>,
    #[serde(flatten)]
    charges: Charges,
    #[serde(flatten)]
    agreement: Agreement,
    #[serde(flatten)]
    write_only: WriteOnly,
}

impl From<Step> for StepSettings {
    fn from(step: Step) -> Self {
        let Step { is_manual_review_enabled, fee_product_ids, charges, agreement, write_only, .. } = step;
        Self { is_manual_review_enabled, fee_product_ids, charges, agreement, write_only }
    }
}

/// What every answer about a step has in common.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Core {
    /// Server-assigned.
    id: Uuid,
    /// Internal label, never shown to guests.
    nickname: String,
    /// Decides which other fields apply.
    step_type: StepType,
    /// Whether any portal shows it.
    is_active: bool,
    /// Deprecated copy of isActive.
    is_enabled: bool,
    /// Zero-based position; a step without it sorts last.
    sort_order: Option<u32>,
    /// Whether a flagged submission is held for staff review.
    is_manual_review_enabled: bool,
    /// What a mandatory fee is made of.
    fee_product_ids: Vec<Uuid>,
    #[serde(flatten)]
    targeting: Targeting,
    #[serde(flatten)]
    charges: Charges,
    #[serde(flatten)]
    agreement: Agreement,
    /// When it last changed.
    updated_at: Moment,
}

impl From<&Step> for Core {
    fn from(step: &Step) -> Self {
        Self {
            id: step.id,
            nickname: step.nickname.clone(),
            step_type: step.step_type,
            is_active: step.is_active,
            is_enabled: step.is_active,
            sort_order: step.sort_order,
            is_manual_review_enabled: step.is_manual_review_enabled,
            fee_product_ids: step.fee_product_ids.clone(),
            targeting: step.targeting.clone(),
            charges: step.charges.clone(),
            agreement: step.agreement.clone(),
            updated_at: step.updated_at,
        }
    }
}

/// A step as create and update answer it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PrecheckStep", example = Written::from(&example()))]
pub struct Written {
    #[serde(flatten)]
    core: Core,
    /// Translation of the heading; null means the built-in title of the type.
    display_title_ml_text_id: Option<Uuid>,
    /// Always empty here; the single read has them.
    questions: Vec<Question>,
    /// Always empty here; the single read has them.
    damage_waivers: Vec<Value>,
}

impl From<&Step> for Written {
    fn from(step: &Step) -> Self {
        Self {
            core: step.into(),
            display_title_ml_text_id: step.display_title_ml_text_id,
            questions: Vec::new(),
            damage_waivers: Vec::new(),
        }
    }
}

/// An agreement as it is when it has just been made.
pub(super) fn example() -> Step {
    let id = Uuid::from_u128(0x0192_f0c1_2345_7abc_8def_0123_4567_89ab);
    let mut step = Step::new(id, StepType::Agreement, "House rules".into(), Moment(Timestamp::constant(1_795_253_400, 0)));
    step.is_active = true;
    step.sort_order = Some(0);
    step.agreement.agreement_type = Some(AgreementType::Text);
    step
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_and_its_type_find_each_other() {
        for step_type in StepType::VARIANTS {
            assert_eq!(step_type.as_ref().parse(), Ok(*step_type));
            assert_eq!(serde_json::to_value(step_type).unwrap(), step_type.as_ref());
        }
    }

    #[test]
    fn a_new_step_is_answered_with_the_defaults_of_the_spec() {
        let now = Moment("2026-11-21T09:30:00Z".parse().unwrap());
        let step = Step::new(Uuid::nil(), StepType::YourDetails, "Details".into(), now);
        insta::assert_json_snapshot!(Written::from(&step));
        let stored: Step = serde_json::from_value(serde_json::to_value(&step).unwrap()).unwrap();
        assert_eq!(stored, step);
    }
}
