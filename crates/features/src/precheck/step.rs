//! The fields of a pre-check-in step (rules: steps).
//!
//! In the `resource!` list, a field with `answered` is part of every response about a step.
//! `answered and as` returns the field under a second, deprecated name as well. `sent as` is the
//! type of the field in a request; without it the field cannot be sent. `in basics` names the
//! section of the console's form that has the field, and `in basics after position` its place in
//! the section. The fields of a request that are stored in another form, such as
//! `displayTitleLanguage`, are in the list of `StepFields`.

use std::collections::BTreeMap;

use engine::field::{Age, Cents, Count, Language, Text200, Text50000, UpTo200};
use engine::moment::Moment;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::fields::prefill_values;
use super::guest_fields::GuestFieldRules;
use super::identity::IdentityFlagPolicy;
use super::question::{Question, QuestionInput};
use super::step_type::StepType;
use super::targeting::{InclusionType, NO_MAXIMUM};

/// The basis of a damage waiver's price.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PricingBasis {
    PerNight,
    PerStay,
}

/// The way in which a guest accepts an agreement: a text of the step (`template`, `text`), or a
/// signature through the first (`esign_a`) or the second provider (`esign_b`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgreementType {
    Template,
    Text,
    EsignA,
    EsignB,
}

engine::resource! {
    /// A step in the database. If a stored document lacks a field, the field has its default.
    pub struct Step {
        /// Id that the server assigns.
        id: Uuid = Uuid::nil(), answered;

        /// Internal label, never shown to guests.
        nickname: String = String::new(), answered,
        /// Internal label of the step, 1 to 200 characters and not blank, never shown to guests. It
        /// cannot be cleared.
        sent as Text200, in basics;

        /// Type of the step, which decides which of the other fields apply.
        step_type: StepType = StepType::Main, answered,
        /// Type of the step; decides which of the other fields have an effect. Locked once a guest
        /// has saved an answer to the step: 409, so deactivate it and create another.
        sent as StepType, in basics;

        /// Whether portals show the step.
        is_active: bool = false, answered and as
        /// Deprecated copy of `isActive`.
        is_enabled,
        /// Whether the portals that the step reaches show it; default `false`. An active step must
        /// have what its type needs, such as a text to agree to, questions or fees.
        sent as bool, in basics;

        /// Zero-based position; a step without a position sorts last.
        sort_order: Option<u32> = None, answered,
        /// Zero-based position among the steps. In a portal with automatic order, it sorts only
        /// steps in the same group of types. Null or left out on create: last.
        sent as Option<Count>;

        /// Id of the translation of the heading; null means the built-in title of the type.
        display_title_ml_text_id: Option<Uuid> = None,
        /// Id of a `precheck_step_detail` translation to use as the heading, in place of
        /// `displayTitle`. Null restores the built-in title of the type; a change needs
        /// `modify_tasks`.
        #[schemars(extend(
            "x-text-source" = "precheck_step_detail",
            "x-permission" = "modify_tasks",
        ))]
        sent as Option<Uuid>;

        /// Whether a flagged submission is held for staff review.
        is_manual_review_enabled: bool = true, answered,
        /// For `additional_questions`, `document_upload` and `damage_deposit`: whether the step can
        /// flag a submission, so that staff must review it. Questions flag it if the guest chooses
        /// a flagged option, or by any answer if no option is flagged. Default `true`.
        #[schemars(extend(
            "x-applies-to" = {
                "stepType": ["additional_questions", "document_upload", "damage_deposit"],
            },
            "x-summary" = "Whether the step can flag a submission, which holds it for staff.",
        ))]
        sent as bool, in task after guest_field_rules;

        /// Ids of the fee products that the guest pays for.
        fee_product_ids: Vec<Uuid> = Vec::new(), answered,
        /// For `mandatory_fee`: ids of the fee products to pay for (`listFeeProducts`). Replaces
        /// the whole list. An active step needs at least one fee product.
        #[schemars(extend(
            "x-applies-to" = { "stepType": ["mandatory_fee"] },
            "x-choices-from" = "listFeeProducts",
            "x-summary" = "Ids of the fee products to pay for.",
        ))]
        #[schemars(length(max = 1000))]
        sent as Vec<Uuid>, in task;

        /// The questions that the step asks, in order.
        questions: Vec<Question> = Vec::new(),
        /// For `additional_questions`: the questions, in order. Replaces the whole list. A question
        /// with an `id` is kept with its answers, a question without an `id` is created, and a
        /// question that is left out is deleted; `[]` clears the list. At most 100.
        #[schemars(extend(
            "x-applies-to" = { "stepType": ["additional_questions"] },
            "x-summary" = "The questions, in order.",
        ))]
        #[schemars(length(max = 100))]
        sent as Vec<QuestionInput>, by hand;

        /// The rules that decide which stays get the step.
        targeting: Targeting = Targeting::default(), answered #[serde(flatten)];

        /// The settings of the damage waiver and of the security deposit.
        charges: Charges = Charges::default(), answered #[serde(flatten)];

        /// The settings of an agreement.
        agreement: Agreement = Agreement::default(), answered #[serde(flatten)];

        /// Settings that no response contains.
        write_only: WriteOnly = WriteOnly::default();

        /// Time of creation. Steps with the same position are sorted by it.
        created_at: Moment = Moment::default();

        /// Time of the last change.
        updated_at: Moment = Moment::default(), answered;
    }

    answered as
    /// The fields that every response about a step has.
    pub struct Core;

    /// The writable fields of a step.
    #[schemars(rename = "PrecheckStep")]
    pub struct StepFields {
        /// Deprecated copy of `isActive`: `false` deactivates the step even if `isActive` is
        /// `true`; `true` has no effect.
        #[schemars(extend("deprecated" = true))]
        is_enabled: bool;

        /// Heading that guests read, up to 200 characters. A step without a heading of its own
        /// first needs an English one; null restores the built-in title of the type. An update of
        /// it needs `modify_tasks`. It cannot be sent together with `displayTitleMlTextId`.
        #[schemars(extend("x-permission" = "modify_tasks"))]
        display_title: Option<Text200>, in basics;

        /// Language of the text in `displayTitle`, as a BCP 47 tag. Left out: English, and all
        /// other languages are translated again. If a language is sent, only that language is set.
        /// Refused without `displayTitle`.
        display_title_language: Option<Language>;
    }

    /// The rules that decide which stays get a step.
    pub struct Targeting in targeting {
        /// The shortest stay, in nights; 0 means no minimum.
        min_los: u32 = 0,
        /// Shortest stay in nights that gets the step, not above `maxLos`. 0, the default, means no
        /// minimum.
        sent as Count, in audience;

        /// The longest stay, in nights; 1000 means no maximum.
        max_los: u32 = NO_MAXIMUM,
        /// Longest stay in nights that gets the step, not below `minLos`. 1000, the default, means
        /// no maximum.
        sent as Count, in audience;

        /// Fewest days between booking and check-in for which the step is shown; null means no
        /// bound.
        lead_time_min_days: Option<u32> = None,
        /// Fewest days between booking and check-in for which the step is shown. Null, the default,
        /// means no bound.
        sent as Option<Count>, in audience;

        /// Most days between booking and check-in for which the step is shown; null means no bound.
        lead_time_max_days: Option<u32> = None,
        /// Most days between booking and check-in for which the step is shown. Null, the default,
        /// means no bound.
        sent as Option<Count>, in audience;

        /// Whether `excludedSources` or `includedSourcesReturning` decides which booking channels
        /// get the step; null if every channel gets it.
        inclusion_type: Option<InclusionType> = None,
        /// How booking channels decide who gets the step. `all_except_selected` hides it for
        /// `excludedSources`, `only_selected` shows it for `includedSourcesReturning` alone. Null,
        /// the default: channels do not matter.
        sent as Option<InclusionType>, in audience;

        /// Booking channels for which the step is hidden while `inclusionType` is
        /// `all_except_selected`.
        excluded_sources: Option<Vec<String>> = None,
        /// Booking channels, such as `direct`, for which the step is hidden while `inclusionType`
        /// is `all_except_selected`. At most 100. Null, the default: none.
        #[schemars(length(max = 100))]
        sent as Option<Vec<Text200>>, in audience;

        /// The only booking channels for which the step is shown if `inclusionType` is
        /// `only_selected`.
        included_sources_returning: Option<Vec<String>> = None,
        /// Booking channels, such as `direct`, for which alone the step is shown while
        /// `inclusionType` is `only_selected`, which needs at least one. At most 100. Null, the
        /// default: none.
        #[schemars(length(max = 100))]
        sent as Option<Vec<Text200>>, in audience;

        /// Whether guests who stayed before skip the step.
        is_returning_guest_excluded: bool = false,
        /// Whether guests who stayed before skip the step; default `false`.
        sent as bool, in audience;

        /// Whether every guest gets the step; the other targeting rules are then ignored.
        is_always_shown: bool = false,
        /// Whether every guest gets the step, regardless of its other targeting rules. The step
        /// must still be assigned. Default `false`.
        sent as bool, in audience before min_los;
    }

    /// The damage waiver and the security deposit. Amounts are in cents. If a payment account is
    /// null, the organization's active default account is used.
    pub struct Charges in charges {
        damage_waiver_deposit_amount_cents: Option<u64> = None,
        /// For `damage_deposit`: amount in cents of the deposit that guests can choose instead of a
        /// damage waiver, while `isSecurityDepositEnabled` is `false`. Null, the default: none.
        #[schemars(extend(
            "x-applies-to" = { "stepType": ["damage_deposit"] },
            "x-summary" = "Amount in cents of the deposit that is offered beside damage waivers \
                while no security deposit is set.",
        ))]
        sent as Option<Cents>, in task after damage_waiver_pricing_basis;

        is_damage_waiver_enabled: bool = false,
        /// For `damage_deposit`: whether guests may take a damage waiver in place of a deposit.
        /// Default `false`.
        #[schemars(extend(
            "x-applies-to" = { "stepType": ["damage_deposit"] },
            "x-summary" = "Whether guests may take a damage waiver in place of a deposit.",
        ))]
        sent as bool, in task after security_deposit_subtitle_ml_text_id;

        damage_waiver_cap_cents: Option<u64> = None,
        /// For `damage_deposit`: the most that a damage waiver costs for a stay, in cents. Null,
        /// the default: no cap is set.
        #[schemars(extend(
            "x-applies-to" = { "stepType": ["damage_deposit"] },
            "x-summary" = "The most that a damage waiver costs for a stay, in cents.",
        ))]
        sent as Option<Cents>, in task after damage_waiver_deposit_amount_cents;

        damage_waiver_min_los: u32 = 0,
        /// For `damage_deposit`: shortest stay in nights for which the damage waiver is offered. 0,
        /// the default, means any stay.
        #[schemars(extend(
            "x-applies-to" = { "stepType": ["damage_deposit"] },
            "x-summary" = "Shortest stay in nights for which the damage waiver is offered.",
        ))]
        sent as Count, in task after damage_waiver_cap_cents;

        damage_waiver_pricing_basis: PricingBasis = PricingBasis::PerNight,
        /// For `damage_deposit`: basis of the damage waiver's price. `per_night` is the default.
        #[schemars(extend(
            "x-applies-to" = { "stepType": ["damage_deposit"] },
            "x-summary" = "Basis of the damage waiver's price.",
        ))]
        sent as PricingBasis, in task after damage_deposit_subtitle_ml_text_id;

        is_damage_waiver_waivable: bool = false,
        /// For `damage_deposit`: whether guests may choose neither deposit nor waiver. Default
        /// `false`.
        #[schemars(extend(
            "x-applies-to" = { "stepType": ["damage_deposit"] },
            "x-summary" = "Whether guests may choose neither deposit nor waiver.",
        ))]
        sent as bool, in task after damage_waiver_min_los;

        damage_waiver_payment_account_id: Option<Uuid> = None,
        /// For `damage_deposit`: id of the payment account that charges the damage waiver
        /// (`listPaymentAccounts`). Null: the organization's active default account. An unknown or
        /// inactive account is a 404.
        #[schemars(extend(
            "x-applies-to" = { "stepType": ["damage_deposit"] },
            "x-choices-from" = "listPaymentAccounts",
            "x-summary" = "The payment account that charges the damage waiver.",
        ))]
        sent as Option<Uuid>, in task after is_damage_waiver_waivable;

        damage_deposit_subtitle_ml_text_id: Option<Uuid> = None,
        /// For `damage_deposit`: id of a `precheck_step_detail` translation, the text below the
        /// heading. Null unlinks it; a change needs `modify_tasks`.
        #[schemars(extend(
            "x-applies-to" = { "stepType": ["damage_deposit"] },
            "x-text-source" = "precheck_step_detail",
            "x-permission" = "modify_tasks",
            "x-summary" = "Text below the heading.",
        ))]
        sent as Option<Uuid>, in task after is_damage_waiver_enabled;

        security_deposit_amount_cents: Option<u64> = None,
        /// For `damage_deposit`: amount of the security deposit in cents. Null, the default: no
        /// amount is set.
        #[schemars(extend(
            "x-applies-to" = { "stepType": ["damage_deposit"] },
            "x-summary" = "Amount of the security deposit in cents.",
        ))]
        sent as Option<Cents>, in task;

        is_security_deposit_enabled: bool = false,
        /// For `damage_deposit`: whether a security deposit is taken. Default `false`.
        #[schemars(extend(
            "x-applies-to" = { "stepType": ["damage_deposit"] },
            "x-summary" = "Whether a security deposit is taken.",
        ))]
        sent as bool, in task before security_deposit_amount_cents;

        security_deposit_days_before_checkin: Option<u32> = None,
        /// For `damage_deposit`: how many days before check-in the deposit is due. Null, the
        /// default: at submission.
        #[schemars(extend(
            "x-applies-to" = { "stepType": ["damage_deposit"] },
            "x-summary" = "How many days before check-in the deposit is due.",
        ))]
        sent as Option<Count>, in task;

        security_deposit_release_days_after_checkout: Option<u32> = Some(3),
        /// For `damage_deposit`: how many days after check-out the deposit is released. Default 3.
        /// Null in an update: at the check-out time.
        #[schemars(extend(
            "x-applies-to" = { "stepType": ["damage_deposit"] },
            "x-summary" = "How many days after check-out the deposit is released.",
        ))]
        sent as Option<Count>, in task;

        security_deposit_payment_account_id: Option<Uuid> = None,
        /// For `damage_deposit`: id of the payment account that charges the security deposit
        /// (`listPaymentAccounts`). Null: the organization's active default account. An unknown or
        /// inactive account is a 404.
        #[schemars(extend(
            "x-applies-to" = { "stepType": ["damage_deposit"] },
            "x-choices-from" = "listPaymentAccounts",
            "x-summary" = "The payment account that charges the security deposit.",
        ))]
        sent as Option<Uuid>, in task;

        security_deposit_subtitle_ml_text_id: Option<Uuid> = None,
        /// For `damage_deposit`: id of a `precheck_step_detail` translation, the text below the
        /// security deposit. Null unlinks it; a change needs `modify_tasks`.
        #[schemars(extend(
            "x-applies-to" = { "stepType": ["damage_deposit"] },
            "x-text-source" = "precheck_step_detail",
            "x-permission" = "modify_tasks",
            "x-summary" = "Text below the security deposit.",
        ))]
        sent as Option<Uuid>, in task;
    }

    /// The settings of an agreement: the text that the guest accepts, and how the guest signs it.
    pub struct Agreement in agreement {
        agreement_type: Option<AgreementType> = None,
        /// For `agreement`: how the agreement is given and signed. `esign_a` and `esign_b` are the
        /// first and the second e-signature provider. Null, the default: the provider whose
        /// template is set, else `text`.
        #[schemars(extend(
            "x-applies-to" = { "stepType": ["agreement"] },
            "x-summary" = "How it is given and signed.",
        ))]
        sent as Option<AgreementType>, in task;

        contract_template_text_ml_text_id: Option<Uuid> = None,
        /// For `agreement`: id of a `precheck_step_detail` translation, the text to agree to, in
        /// the guest's language. Null unlinks it; a change needs `modify_tasks`.
        #[schemars(extend(
            "x-applies-to" = { "stepType": ["agreement"] },
            "x-text-source" = "precheck_step_detail",
            "x-permission" = "modify_tasks",
            "x-summary" = "The text to agree to in the guest's language.",
        ))]
        sent as Option<Uuid>, in task;

        esign_a_template_id: Option<String> = None,
        /// For `esign_a`: id of the document's template at the e-signature provider. Null clears
        /// it.
        #[schemars(extend(
            "x-applies-to" = { "agreementType": ["esign_a"] },
            "x-summary" = "The document's template, by the e-signature provider's own id.",
        ))]
        sent as Option<Text200>, in task;

        esign_a_title_ml_text_id: Option<Uuid> = None,
        /// For `esign_a`: id of a `precheck_step_detail` translation, the title of the signature.
        /// Null unlinks it; a change needs `modify_tasks`.
        #[schemars(extend(
            "x-applies-to" = { "agreementType": ["esign_a"] },
            "x-text-source" = "precheck_step_detail",
            "x-permission" = "modify_tasks",
            "x-summary" = "Title of the signature.",
        ))]
        sent as Option<Uuid>, in task;

        esign_a_subtitle_ml_text_id: Option<Uuid> = None,
        /// For `esign_a`: id of a `precheck_step_detail` translation, the text below the title.
        /// Null unlinks it; a change needs `modify_tasks`.
        #[schemars(extend(
            "x-applies-to" = { "agreementType": ["esign_a"] },
            "x-text-source" = "precheck_step_detail",
            "x-permission" = "modify_tasks",
            "x-summary" = "Text below the title.",
        ))]
        sent as Option<Uuid>, in task;

        esign_b_template_id: Option<String> = None,
        /// For `esign_b`: id of the document's template at the e-signature provider. Null clears
        /// it.
        #[schemars(extend(
            "x-applies-to" = { "agreementType": ["esign_b"] },
            "x-summary" = "The document's template, by the e-signature provider's own id.",
        ))]
        sent as Option<Text200>, in task;

        esign_b_heading_ml_text_id: Option<Uuid> = None,
        /// For `esign_b`: id of a `precheck_step_detail` translation, the heading of the signature.
        /// Null unlinks it; a change needs `modify_tasks`.
        #[schemars(extend(
            "x-applies-to" = { "agreementType": ["esign_b"] },
            "x-text-source" = "precheck_step_detail",
            "x-permission" = "modify_tasks",
            "x-summary" = "Heading of the signature.",
        ))]
        sent as Option<Uuid>, in task;

        esign_b_subtitle_ml_text_id: Option<Uuid> = None,
        /// For `esign_b`: id of a `precheck_step_detail` translation, the text below the heading.
        /// Null unlinks it; a change needs `modify_tasks`.
        #[schemars(extend(
            "x-applies-to" = { "agreementType": ["esign_b"] },
            "x-text-source" = "precheck_step_detail",
            "x-permission" = "modify_tasks",
            "x-summary" = "Text below the heading.",
        ))]
        sent as Option<Uuid>, in task;

        is_mandatory_signing: bool = false,
        /// For `agreement`: whether the guest has to sign. Guests sign with their name, or at the
        /// e-signature provider if the step has no contract text. Default `false`.
        #[schemars(extend(
            "x-applies-to" = { "stepType": ["agreement"] },
            "x-summary" = "Whether the guest has to sign, with their name or, without a contract \
                text, at the e-signature provider.",
        ))]
        sent as bool, in task after contract_template_text;
    }

    /// Settings that are accepted on write and never returned by a read of the public interface
    /// (rules: steps#write-only-settings). The platform gets them with a guest's submission,
    /// because it acts on them.
    pub struct WriteOnly in write_only {
        identity_flag_policy: Option<IdentityFlagPolicy> = None,
        /// For `identity_check`: action for a flagged check, by the check's name. `ignore` skips
        /// the check, `review` sends the guest to the team, `fail` first lets the guest repeat it
        /// once. A check that is left out has its default action, and null gives all checks their
        /// defaults. Write-only.
        #[schemars(extend(
            "x-applies-to" = { "stepType": ["identity_check"] },
            "x-summary" = "Action for a flagged check, by the check's name.",
        ))]
        sent as Option<IdentityFlagPolicy>, in task;

        minimum_guest_age: Option<u32> = None,
        /// For `identity_check`: age in years below which the check `guest_underage` flags a guest.
        /// It must be set unless `identityFlagPolicy` ignores this check; write-only.
        #[schemars(extend("x-applies-to" = { "stepType": ["identity_check"] }))]
        sent as Option<Age>, in task;

        is_photo_id_required: Option<bool> = None,
        /// Deprecated: accepted, but has no effect. Use the check `no_face_on_document` of
        /// `identityFlagPolicy`.
        #[schemars(extend("deprecated" = true))]
        sent as Option<bool>;

        is_authority_provider_property_info_email_enabled: bool = false,
        /// For `authority_reporting`: whether the provider mails the lead guest about the property.
        /// Only one specific provider does so; for other providers the value is ignored. Default
        /// `false`; write-only.
        #[schemars(extend(
            "x-applies-to" = { "stepType": ["authority_reporting"] },
            "x-summary" = "Whether the provider mails the lead guest about the property.",
        ))]
        sent as bool, in task;

        fees_payment_account_id: Option<Uuid> = None,
        /// For `mandatory_fee`: id of the payment account that charges the fees
        /// (`listPaymentAccounts`). Write-only. Null: the organization's active default account. An
        /// unknown or inactive account is a 404.
        #[schemars(extend(
            "x-applies-to" = { "stepType": ["mandatory_fee"] },
            "x-choices-from" = "listPaymentAccounts",
            "x-summary" = "The payment account that charges the fees.",
        ))]
        sent as Option<Uuid>, in task;

        guest_description_ml_text_id: Option<Uuid> = None,
        /// Id of a `precheck_step_detail` translation: what guests read about the step, below its
        /// heading. Write-only; null unlinks it; a change needs `modify_tasks`.
        #[schemars(extend(
            "x-text-source" = "precheck_step_detail",
            "x-permission" = "modify_tasks",
            "x-summary" = "What guests read about the step, below its heading.",
        ))]
        sent as Option<Uuid>, in basics;

        contract_template_text: Option<String> = None,
        /// For `agreement`: the text to agree to, the same in every language. Up to 50,000
        /// characters. The translation in `contractTemplateTextMlTextId` is shown instead, if it is
        /// set. Null clears the text; write-only.
        #[schemars(extend(
            "x-applies-to" = { "stepType": ["agreement"] },
            "x-summary" = "The text to agree to, the same in every language.",
        ))]
        sent as Option<Text50000>, in task after contract_template_text_ml_text_id;

        esign_prefill_values: Option<BTreeMap<String, String>> = None,
        /// For `esign_a` and `esign_b`: texts that fill in fields of the document, by the field's
        /// name. At most 100 texts. Null clears them; write-only.
        #[schemars(extend(
            "x-applies-to" = { "agreementType": ["esign_a", "esign_b"] },
            "x-summary" = "Texts that fill in fields of the document, by the field's name.",
        ))]
        #[schemars(schema_with = "prefill_values")]
        sent as Option<BTreeMap<String, String>>, in task;

        background_check_account_id: Option<Uuid> = None,
        /// For `background_check`: id of the account at the provider
        /// (`listBackgroundCheckAccounts`). An active step needs an account; an unknown account is
        /// a 404; write-only.
        #[schemars(extend(
            "x-applies-to" = { "stepType": ["background_check"] },
            "x-choices-from" = "listBackgroundCheckAccounts",
            "x-summary" = "The account at the provider.",
        ))]
        sent as Option<Uuid>, in task;

        required_guest_fields: Option<Vec<String>> = None,
        /// For `your_details` and `other_guests`: names of the details that guests must give, such
        /// as `firstName`, `birthDate`, `documentNumber`, `secondLastName`. For any other name,
        /// guests write a line of text. At most 100 names. Null or `[]` requires nothing;
        /// write-only.
        #[schemars(extend("x-applies-to" = { "stepType": ["your_details", "other_guests"] }))]
        #[schemars(length(max = 100))]
        sent as Option<Vec<UpTo200>>, in task;

        guest_field_rules: Option<GuestFieldRules> = None,
        /// For `your_details` and `other_guests`: by the name of a field in `requiredGuestFields`,
        /// the guests who must give it. While a guest's age or nationality is not known, a
        /// condition on it is treated as met. At most 100 fields. Null or `{}`: every guest;
        /// write-only.
        #[schemars(extend("x-applies-to" = { "stepType": ["your_details", "other_guests"] }))]
        sent as Option<GuestFieldRules>, in task;

        required_document_types: Option<Vec<String>> = None,
        /// For `document_upload` and `identity_check`: types of documents to upload, by names of
        /// your own. At most 100 types. Null or `[]` requires no particular type; write-only.
        #[schemars(extend("x-applies-to" = { "stepType": ["document_upload", "identity_check"] }))]
        #[schemars(length(max = 100))]
        sent as Option<Vec<UpTo200>>, in task before identity_flag_policy;

        authority_provider: Option<String> = None,
        /// For `authority_reporting`: name of the provider that reports guests to the authorities.
        /// Null clears it; write-only.
        #[schemars(extend(
            "x-applies-to" = { "stepType": ["authority_reporting"] },
            "x-summary" = "Name of the provider that reports guests to the authorities.",
        ))]
        sent as Option<UpTo200>, in task before is_authority_provider_property_info_email_enabled;
    }
}

impl Step {
    /// Returns a step with this id, type and nickname, whose times of creation and of the last
    /// change are `now`. All other fields have their default values.
    #[must_use]
    pub fn new(id: Uuid, step_type: StepType, nickname: String, now: Moment) -> Self {
        Self {
            id,
            step_type,
            nickname,
            created_at: now,
            updated_at: now,
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::step_answers::WrittenStep;
    use super::*;

    #[test]
    fn a_new_step_has_the_defaults_of_the_spec() {
        let now = Moment("2026-11-21T09:30:00Z".parse().unwrap());
        let step = Step::new(Uuid::nil(), StepType::YourDetails, "Details".into(), now);
        insta::assert_json_snapshot!(WrittenStep::from(&step));
        let stored: Step = serde_json::from_value(serde_json::to_value(&step).unwrap()).unwrap();
        assert_eq!(stored, step);
    }
}
