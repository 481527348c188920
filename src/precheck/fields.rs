//! The writable fields of a step, and the rules on them together (spec: createPrecheckStep, updatePrecheckStep).

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::identity::{IdentityFlagPolicy, needs_minimum_age};
use super::question::QuestionInput;
use super::step::{AgreementType, PricingBasis, Step, StepType};
use super::targeting::InclusionType;
use crate::error::Issue;
use crate::field::{Age, Cents, Count, Creatable, Field, Language, StoredAs, Text200, Text50000, UpTo200};

/// The writable fields of a step.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "PrecheckStep")]
pub struct StepFields {
    /// Internal label of the step, 1 to 200 characters and not blank, never shown to guests. It cannot be cleared.
    pub nickname: Field<Text200>,
    /// What the step asks of guests; decides which of the other fields have an effect. Locked once a guest has saved an answer to the step:
    /// 409, so deactivate it and create another.
    pub step_type: Field<StepType>,
    /// Whether the portals that the step reaches show it. `false` on create; an active step must have what its type needs, such as a text
    /// to agree to, questions or fees.
    pub is_active: Field<bool>,
    /// Deprecated copy of `isActive`: `false` switches the step off whatever `isActive` says, `true` has no effect.
    pub is_enabled: Field<bool>,
    /// Zero-based position among the steps; with a portal's automatic order it decides only within the group of its type. Null or left out
    /// on create: last.
    pub sort_order: Field<Option<Count>>,
    /// Heading that guests read, up to 200 characters. The first one of a step must be English; null restores the built-in title of the
    /// type. An update that sends it needs `modify_tasks`; not together with `displayTitleMlTextId`.
    pub display_title: Field<Option<Text200>>,
    /// Language of the text in `displayTitle`, as a BCP 47 tag. Left out: English, and the other languages are translated anew; named: that
    /// language alone is set. Refused without a text.
    pub display_title_language: Field<Option<Language>>,
    /// Id of a `precheck_step_detail` translation to use as the heading, in place of `displayTitle`. Null restores the built-in title of
    /// the type; a change needs `modify_tasks`.
    pub display_title_ml_text_id: Field<Option<Uuid>>,
    /// For `additional_questions`, `document_upload` and `damage_deposit`: whether a flagged submission is held for staff; `false` lets it
    /// complete on its own. `true` on create.
    pub is_manual_review_enabled: Field<bool>,
    /// For `identity_check`: what follows where a check finds something, by the check's name. `ignore` skips the check, `review` sends the
    /// guest to the team, `fail` lets the guest retake once first; a check left out keeps its default, null clears every override.
    /// Write-only.
    pub identity_flag_policy: Field<Option<IdentityFlagPolicy>>,
    /// For `identity_check`: age in years below which `guest_underage` finds something. It must be set whenever that check is not `ignore`;
    /// write-only.
    pub minimum_guest_age: Field<Option<Age>>,
    /// Accepted for compatibility; it enforces nothing. Use `identityFlagPolicy`, check `no_face_on_document`.
    pub is_photo_id_required: Field<Option<bool>>,
    /// For `authority_reporting` with one specific filing provider: whether that provider mails the lead guest information about the
    /// property. `false` on create, ignored for other providers, write-only.
    pub is_authority_provider_property_info_email_enabled: Field<bool>,
    /// For `additional_questions`: what is asked, in order; replaces the whole list. A question sent with its `id` is kept with its
    /// answers, one without is created, one left out is deleted; `[]` clears the list. At most 100.
    #[schemars(length(max = 100))]
    pub questions: Field<Vec<QuestionInput>>,
    /// For `mandatory_fee`: ids of the fee products that the guest pays for, as `listFeeProducts` gives them; replaces the whole list. An
    /// active step needs at least one.
    #[schemars(length(max = 1000))]
    pub fee_product_ids: Field<Vec<Uuid>>,
    /// Shortest stay in nights that gets the step, not above `maxLos`. 0, as on create, means no minimum.
    pub min_los: Field<Count>,
    /// Longest stay in nights that gets the step, not below `minLos`. 1000, as on create, means no maximum.
    pub max_los: Field<Count>,
    /// Least number of days between booking and check-in for which the step is shown, not above `leadTimeMaxDays`. Null, as on create,
    /// means no bound.
    pub lead_time_min_days: Field<Option<Count>>,
    /// Greatest number of days between booking and check-in for which the step is shown, not below `leadTimeMinDays`. Null, as on create,
    /// means no bound.
    pub lead_time_max_days: Field<Option<Count>>,
    /// How booking channels decide: `all_except_selected` hides the step for those in `excludedSources`, `only_selected` shows it only for
    /// those in `includedSourcesReturning`. Null, as on create: channels do not matter.
    pub inclusion_type: Field<Option<InclusionType>>,
    /// Booking channels, such as `direct`, whose guests do not get the step while `inclusionType` is `all_except_selected`. Null, as on
    /// create: none; at most 100.
    #[schemars(length(max = 100))]
    pub excluded_sources: Field<Option<Vec<Text200>>>,
    /// Booking channels, such as `direct`, whose guests alone get the step while `inclusionType` is `only_selected`, which needs at least
    /// one. Null, as on create: none; at most 100.
    #[schemars(length(max = 100))]
    pub included_sources_returning: Field<Option<Vec<Text200>>>,
    /// Whether guests who stayed before skip the step. `false` on create.
    pub is_returning_guest_excluded: Field<bool>,
    /// Whether every guest gets the step, all rules on length of stay, lead time, channels and returning guests ignored; it still has to be
    /// assigned. `false` on create.
    pub is_always_shown: Field<bool>,
    /// For `damage_deposit`: amount in cents of the deposit that goes with the damage waiver. Null, as on create: no amount is set.
    pub damage_waiver_deposit_amount_cents: Field<Option<Cents>>,
    /// For `damage_deposit`: whether the guest may take one of the organization's damage waivers in place of a deposit. `false` on create.
    pub is_damage_waiver_enabled: Field<bool>,
    /// For `damage_deposit`: the most that the damage waiver covers, in cents. Null, as on create: no cap is set.
    pub damage_waiver_cap_cents: Field<Option<Cents>>,
    /// For `damage_deposit`: shortest stay in nights for which the damage waiver is offered. 0, as on create, means any stay.
    pub damage_waiver_min_los: Field<Count>,
    /// For `damage_deposit`: whether the damage waiver's price is for each night (`per_night`, as on create) or for the whole stay
    /// (`per_stay`).
    pub damage_waiver_pricing_basis: Field<PricingBasis>,
    /// For `damage_deposit`: whether a guest can be let off the damage waiver. `false` on create.
    pub is_damage_waiver_waivable: Field<bool>,
    /// For `damage_deposit`: id of the payment account that the damage waiver is charged on, as `listPaymentAccounts` gives it. Null: the
    /// organization's active default account; one that is unknown or inactive is a 404.
    pub damage_waiver_payment_account_id: Field<Option<Uuid>>,
    /// Id of a `precheck_step_detail` translation: what stands below the heading of a `damage_deposit` step. Null unlinks it; a change
    /// needs `modify_tasks`.
    pub damage_deposit_subtitle_ml_text_id: Field<Option<Uuid>>,
    /// For `damage_deposit`: amount of the security deposit in cents. Null, as on create: no amount is set.
    pub security_deposit_amount_cents: Field<Option<Cents>>,
    /// For `damage_deposit`: whether a security deposit is taken. `false` on create.
    pub is_security_deposit_enabled: Field<bool>,
    /// For `damage_deposit`: how many days before check-in the security deposit is taken. Null, as on create: no day is set.
    pub security_deposit_days_before_checkin: Field<Option<Count>>,
    /// For `damage_deposit`: how many days after check-out the security deposit is released. 3 on create.
    pub security_deposit_release_days_after_checkout: Field<Count>,
    /// For `damage_deposit`: id of the payment account that the security deposit is charged on, as `listPaymentAccounts` gives it. Null:
    /// the organization's active default account; one that is unknown or inactive is a 404.
    pub security_deposit_payment_account_id: Field<Option<Uuid>>,
    /// Id of a `precheck_step_detail` translation: what stands below the security deposit of a `damage_deposit` step. Null unlinks it; a
    /// change needs `modify_tasks`.
    pub security_deposit_subtitle_ml_text_id: Field<Option<Uuid>>,
    /// For `agreement`: how the agreement is given and signed: a `template`, a `text`, or by the first (`esign_a`) or second (`esign_b`)
    /// electronic-signature provider. Null, as on create: not said.
    pub agreement_type: Field<Option<AgreementType>>,
    /// For `agreement`: the text that the guest agrees to, up to 50,000 characters, the same in every language;
    /// `contractTemplateTextMlTextId` goes before it. Null clears it; write-only.
    pub contract_template_text: Field<Option<Text50000>>,
    /// Id of a `precheck_step_detail` translation: the text that the guest of an `agreement` step agrees to, in the guest's language. Null
    /// unlinks it; a change needs `modify_tasks`.
    pub contract_template_text_ml_text_id: Field<Option<Uuid>>,
    /// For `agreement` with `esign_a`: the document's template at the first electronic-signature provider, by that provider's own id. Null
    /// clears it.
    pub esign_a_template_id: Field<Option<Text200>>,
    /// Id of a `precheck_step_detail` translation: the title over a signature by the first electronic-signature provider. Null unlinks it;
    /// a change needs `modify_tasks`.
    pub esign_a_title_ml_text_id: Field<Option<Uuid>>,
    /// Id of a `precheck_step_detail` translation: what stands below the title over a signature by the first electronic-signature provider.
    /// Null unlinks it; a change needs `modify_tasks`.
    pub esign_a_subtitle_ml_text_id: Field<Option<Uuid>>,
    /// For `agreement` with `esign_b`: the document's template at the second electronic-signature provider, by that provider's own id. Null
    /// clears it.
    pub esign_b_template_id: Field<Option<Text200>>,
    /// Id of a `precheck_step_detail` translation: the heading over a signature by the second electronic-signature provider. Null unlinks
    /// it; a change needs `modify_tasks`.
    pub esign_b_heading_ml_text_id: Field<Option<Uuid>>,
    /// Id of a `precheck_step_detail` translation: what stands below the heading over a signature by the second electronic-signature
    /// provider. Null unlinks it; a change needs `modify_tasks`.
    pub esign_b_subtitle_ml_text_id: Field<Option<Uuid>>,
    /// For `agreement`: whether the guest has to sign. `false` on create.
    pub is_mandatory_signing: Field<bool>,
    /// For `mandatory_fee`: id of the payment account that the fees are charged on, as `listPaymentAccounts` gives it; write-only. Null:
    /// the organization's active default account; one that is unknown or inactive is a 404.
    pub fees_payment_account_id: Field<Option<Uuid>>,
    /// Id of a `precheck_step_detail` translation: what guests read about the step, below its heading. Write-only; null unlinks it; a
    /// change needs `modify_tasks`.
    pub guest_description_ml_text_id: Field<Option<Uuid>>,
    /// For `agreement`: what fields of the document at the electronic-signature provider are filled in with beforehand, a text by the name
    /// of each field. At most 100; null clears them; write-only.
    pub esign_prefill_values: Field<Option<PrefillValues>>,
    /// For `background_check`: id of the account at the background-check provider, as `listBackgroundCheckAccounts` gives it. An active
    /// step needs one; an unknown one is a 404; write-only.
    pub background_check_account_id: Field<Option<Uuid>>,
    /// For `your_details` and `other_guests`: what each guest has to tell, such as `firstName`, `birthDate` or `documentNumber`; another
    /// name is asked as a line of text. Null or `[]` requires nothing; at most 100; write-only.
    #[schemars(length(max = 100))]
    pub required_guest_fields: Field<Option<Vec<UpTo200>>>,
    /// For `document_upload` and `identity_check`: the sorts of documents that the guest has to upload, by names of your own. Null or `[]`
    /// requires none in particular; at most 100; write-only.
    #[schemars(length(max = 100))]
    pub required_document_types: Field<Option<Vec<UpTo200>>>,
    /// For `authority_reporting`: name of the provider that guests are reported to the authorities through. Null clears it; write-only.
    pub authority_provider: Field<Option<UpTo200>>,
}

/// What the fields of an electronic signature are filled in with beforehand, by their names.
#[derive(Debug, Clone, Deserialize)]
#[serde(transparent)]
pub struct PrefillValues(BTreeMap<String, String>);

impl JsonSchema for PrefillValues {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "PrefillValues".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({
            "type": "object",
            "maxProperties": 100,
            "propertyNames": { "type": "string", "maxLength": 200 },
            "additionalProperties": { "type": "string", "maxLength": 1000 },
        })
    }
}

impl StoredAs<Option<BTreeMap<String, String>>> for Option<PrefillValues> {
    fn stored(self) -> Option<BTreeMap<String, String>> {
        self.map(|values| values.0)
    }
}

impl Creatable for StepFields {
    const REQUIRED: &'static [&'static str] = &["stepType", "nickname"];

    fn example() -> Value {
        json!({
            "nickname": "House rules", "stepType": "agreement", "isActive": true, "sortOrder": 3, "displayTitle": "Our house rules",
            "agreementType": "text", "contractTemplateText": "No parties, no smoking, quiet from 22:00.", "minLos": 2,
        })
    }
}

/// What a request says of a step's heading (spec: Title rules).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Title {
    /// Nothing: it stays.
    Keep,
    /// The built-in title of the type.
    Clear,
    /// Another translation.
    Link(Uuid),
    /// A text, in English where no language is named.
    Write { text: String, language: Option<String> },
}

impl StepFields {
    /// What is said of the heading, or what is wrong with saying it so; on create, null says nothing.
    pub fn title(&self, is_create: bool, base: &[&str]) -> Result<Title, Issue> {
        let text = self.display_title.sent().filter(|text| !is_create || text.is_some());
        let linked = self.display_title_ml_text_id.sent().filter(|id| !is_create || id.is_some());
        let language = self.display_title_language.sent().and_then(Option::as_ref);
        let issue = |field: &str, message: &str| Err(Issue::new(&[base, &[field]].concat(), message));
        match (text, linked, language) {
            (Some(Some(_)), Some(_), _) | (Some(_), Some(Some(_)), _) => {
                issue("displayTitleMlTextId", "cannot be sent together with displayTitle")
            }
            (Some(Some(text)), None, language) => {
                Ok(Title::Write { text: text.0.clone(), language: language.map(|language| language.0.clone()) })
            }
            (_, _, Some(_)) => issue("displayTitleLanguage", "needs a displayTitle in this language"),
            (_, Some(Some(id)), None) => Ok(Title::Link(*id)),
            (Some(None), _, None) | (_, Some(None), None) => Ok(Title::Clear),
            (None, None, None) => Ok(Title::Keep),
        }
    }

    /// Overwrites everything that was sent but the heading's text and the questions, which are more than a value.
    pub fn apply(self, step: &mut Step) {
        self.nickname.apply(&mut step.nickname);
        self.step_type.apply(&mut step.step_type);
        self.is_active.apply(&mut step.is_active);
        if self.is_enabled.sent() == Some(&false) {
            step.is_active = false;
        }
        self.sort_order.apply(&mut step.sort_order);
        self.display_title_ml_text_id.apply(&mut step.display_title_ml_text_id);
        self.is_manual_review_enabled.apply(&mut step.is_manual_review_enabled);
        self.fee_product_ids.apply(&mut step.fee_product_ids);

        let rules = &mut step.targeting;
        self.min_los.apply(&mut rules.min_los);
        self.max_los.apply(&mut rules.max_los);
        self.lead_time_min_days.apply(&mut rules.lead_time_min_days);
        self.lead_time_max_days.apply(&mut rules.lead_time_max_days);
        self.inclusion_type.apply(&mut rules.inclusion_type);
        self.excluded_sources.apply(&mut rules.excluded_sources);
        self.included_sources_returning.apply(&mut rules.included_sources_returning);
        self.is_returning_guest_excluded.apply(&mut rules.is_returning_guest_excluded);
        self.is_always_shown.apply(&mut rules.is_always_shown);

        let charges = &mut step.charges;
        self.damage_waiver_deposit_amount_cents.apply(&mut charges.damage_waiver_deposit_amount_cents);
        self.is_damage_waiver_enabled.apply(&mut charges.is_damage_waiver_enabled);
        self.damage_waiver_cap_cents.apply(&mut charges.damage_waiver_cap_cents);
        self.damage_waiver_min_los.apply(&mut charges.damage_waiver_min_los);
        self.damage_waiver_pricing_basis.apply(&mut charges.damage_waiver_pricing_basis);
        self.is_damage_waiver_waivable.apply(&mut charges.is_damage_waiver_waivable);
        self.damage_waiver_payment_account_id.apply(&mut charges.damage_waiver_payment_account_id);
        self.damage_deposit_subtitle_ml_text_id.apply(&mut charges.damage_deposit_subtitle_ml_text_id);
        self.security_deposit_amount_cents.apply(&mut charges.security_deposit_amount_cents);
        self.is_security_deposit_enabled.apply(&mut charges.is_security_deposit_enabled);
        self.security_deposit_days_before_checkin.apply(&mut charges.security_deposit_days_before_checkin);
        self.security_deposit_release_days_after_checkout.apply(&mut charges.security_deposit_release_days_after_checkout);
        self.security_deposit_payment_account_id.apply(&mut charges.security_deposit_payment_account_id);
        self.security_deposit_subtitle_ml_text_id.apply(&mut charges.security_deposit_subtitle_ml_text_id);

        let agreement = &mut step.agreement;
        self.agreement_type.apply(&mut agreement.agreement_type);
        self.contract_template_text_ml_text_id.apply(&mut agreement.contract_template_text_ml_text_id);
        self.esign_a_template_id.apply(&mut agreement.esign_a_template_id);
        self.esign_a_title_ml_text_id.apply(&mut agreement.esign_a_title_ml_text_id);
        self.esign_a_subtitle_ml_text_id.apply(&mut agreement.esign_a_subtitle_ml_text_id);
        self.esign_b_template_id.apply(&mut agreement.esign_b_template_id);
        self.esign_b_heading_ml_text_id.apply(&mut agreement.esign_b_heading_ml_text_id);
        self.esign_b_subtitle_ml_text_id.apply(&mut agreement.esign_b_subtitle_ml_text_id);
        self.is_mandatory_signing.apply(&mut agreement.is_mandatory_signing);

        let write_only = &mut step.write_only;
        self.identity_flag_policy.apply(&mut write_only.identity_flag_policy);
        self.minimum_guest_age.apply(&mut write_only.minimum_guest_age);
        self.is_photo_id_required.apply(&mut write_only.is_photo_id_required);
        self.is_authority_provider_property_info_email_enabled.apply(&mut write_only.is_authority_provider_property_info_email_enabled);
        self.fees_payment_account_id.apply(&mut write_only.fees_payment_account_id);
        self.guest_description_ml_text_id.apply(&mut write_only.guest_description_ml_text_id);
        self.contract_template_text.apply(&mut write_only.contract_template_text);
        self.esign_prefill_values.apply(&mut write_only.esign_prefill_values);
        self.background_check_account_id.apply(&mut write_only.background_check_account_id);
        self.required_guest_fields.apply(&mut write_only.required_guest_fields);
        self.required_document_types.apply(&mut write_only.required_document_types);
        self.authority_provider.apply(&mut write_only.authority_provider);
    }

    /// Which ends of a window were sent: where the blame for turning it around lies.
    #[must_use]
    pub fn sent_ends(&self) -> SentEnds {
        SentEnds { min_los: self.min_los.sent().is_some(), lead_time_min_days: self.lead_time_min_days.sent().is_some() }
    }
}

/// Whether the lower end of each window was sent.
#[derive(Debug, Clone, Copy)]
pub struct SentEnds {
    min_los: bool,
    lead_time_min_days: bool,
}

/// The rules over several fields of a step, held against the step as it will be; `base` is where its fields stand in the
/// body.
#[must_use]
pub fn issues(step: &Step, sent: SentEnds, base: &[&str]) -> Vec<Issue> {
    let rules = &step.targeting;
    let mut issues = Vec::new();
    let mut add = |field: &str, message: &str| issues.push(Issue::new(&[base, &[field]].concat(), message));
    if rules.min_los > rules.max_los {
        add(if sent.min_los { "minLos" } else { "maxLos" }, "minLos must not be greater than maxLos");
    }
    if let (Some(least), Some(most)) = (rules.lead_time_min_days, rules.lead_time_max_days)
        && least > most
    {
        let field = if sent.lead_time_min_days { "leadTimeMinDays" } else { "leadTimeMaxDays" };
        add(field, "leadTimeMinDays must not be greater than leadTimeMaxDays");
    }
    let names_none = rules.included_sources_returning.as_ref().is_none_or(Vec::is_empty);
    if rules.inclusion_type == Some(InclusionType::OnlySelected) && names_none {
        add("includedSourcesReturning", "only_selected needs at least one channel");
    }
    let write_only = &step.write_only;
    let is_identity_check = step.step_type == StepType::IdentityCheck;
    if is_identity_check && write_only.minimum_guest_age.is_none() && needs_minimum_age(write_only.identity_flag_policy.as_ref()) {
        add("minimumGuestAge", "must be set unless guest_underage is ignore");
    }
    issues
}

/// The field without which a step cannot be active (spec: Pre-check step activation; contract: Steps).
#[must_use]
pub fn missing_configuration(step: &Step) -> Option<&'static str> {
    let Step { agreement, write_only, .. } = step;
    let has_contract = || {
        let has_text = write_only.contract_template_text.as_ref().is_some_and(|text| !text.trim().is_empty());
        let has_template = agreement.esign_a_template_id.is_some() || agreement.esign_b_template_id.is_some();
        has_text || has_template || agreement.contract_template_text_ml_text_id.is_some()
    };
    match step.step_type {
        StepType::Agreement if !has_contract() => Some("contractTemplateText"),
        StepType::AdditionalQuestions if step.questions.is_empty() => Some("questions"),
        StepType::MandatoryFee if step.fee_product_ids.is_empty() => Some("feeProductIds"),
        StepType::BackgroundCheck if write_only.background_check_account_id.is_none() => Some("backgroundCheckAccountId"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::moment::Moment;

    fn fields(body: Value) -> StepFields {
        serde_json::from_value(body).unwrap()
    }

    fn step(step_type: StepType) -> Step {
        Step::new(Uuid::nil(), step_type, "Step".into(), Moment("2026-11-21T09:30:00Z".parse().unwrap()))
    }

    fn paths(issues: &[Issue]) -> Vec<String> {
        issues.iter().map(|issue| serde_json::to_string(&issue.path).unwrap()).collect()
    }

    #[test]
    fn a_title_is_said_in_one_way() {
        let id = Uuid::from_u128(1);
        let said = |body: Value| fields(body).title(false, &[]).map_err(|issue| serde_json::to_string(&issue.path).unwrap());
        assert_eq!(said(json!({})), Ok(Title::Keep));
        assert_eq!(said(json!({ "displayTitle": null })), Ok(Title::Clear));
        assert_eq!(said(json!({ "displayTitleMlTextId": null })), Ok(Title::Clear));
        assert_eq!(said(json!({ "displayTitle": null, "displayTitleMlTextId": null })), Ok(Title::Clear));
        assert_eq!(said(json!({ "displayTitleMlTextId": id })), Ok(Title::Link(id)));
        let written = Title::Write { text: "Hola".into(), language: Some("es".into()) };
        assert_eq!(said(json!({ "displayTitle": "Hola", "displayTitleLanguage": "es" })), Ok(written));
        let language = Err(r#"["displayTitleLanguage"]"#.to_owned());
        assert_eq!(said(json!({ "displayTitleLanguage": "es" })), language);
        assert_eq!(said(json!({ "displayTitleLanguage": "es", "displayTitle": null })), language);
        assert_eq!(said(json!({ "displayTitleLanguage": "es", "displayTitleMlTextId": id })), language);
        let both = Err(r#"["displayTitleMlTextId"]"#.to_owned());
        assert_eq!(said(json!({ "displayTitle": "Hello", "displayTitleMlTextId": id })), both);
        assert_eq!(said(json!({ "displayTitle": null, "displayTitleMlTextId": id })), both);
        let created = fields(json!({ "displayTitle": null, "displayTitleMlTextId": id })).title(true, &[]);
        assert_eq!(created, Ok(Title::Link(id)), "on create, null says nothing");
    }

    #[test]
    fn an_inverted_window_is_blamed_on_what_was_sent() {
        let blamed = |body: Value| {
            let mut step = step(StepType::YourDetails);
            (step.targeting.min_los, step.targeting.max_los) = (3, 5);
            (step.targeting.lead_time_min_days, step.targeting.lead_time_max_days) = (Some(3), Some(5));
            let fields = fields(body);
            let sent = fields.sent_ends();
            fields.apply(&mut step);
            paths(&issues(&step, sent, &["data"]))
        };
        assert_eq!(blamed(json!({ "minLos": 5, "leadTimeMinDays": 5 })), Vec::<String>::new());
        assert_eq!(blamed(json!({ "minLos": 6, "leadTimeMinDays": 6 })), [r#"["data","minLos"]"#, r#"["data","leadTimeMinDays"]"#]);
        assert_eq!(blamed(json!({ "maxLos": 2, "leadTimeMaxDays": 2 })), [r#"["data","maxLos"]"#, r#"["data","leadTimeMaxDays"]"#]);
        assert_eq!(blamed(json!({ "leadTimeMinDays": 9, "leadTimeMaxDays": null })), Vec::<String>::new());
        assert_eq!(blamed(json!({ "inclusionType": "only_selected" })), [r#"["data","includedSourcesReturning"]"#]);
    }

    #[test]
    fn switched_off_by_the_deprecated_field_only() {
        for (body, is_active) in [
            (json!({ "isActive": true, "isEnabled": false }), false),
            (json!({ "isActive": false, "isEnabled": true }), false),
            (json!({ "isEnabled": true }), false),
            (json!({ "isActive": true, "isEnabled": true }), true),
        ] {
            let mut step = step(StepType::YourDetails);
            fields(body.clone()).apply(&mut step);
            assert_eq!(step.is_active, is_active, "{body}");
        }
    }

    proptest! {
        /// The contract's sentence on what an active step needs, as a table.
        #[test]
        fn configuration_agrees_with_the_table(
            step_type in prop::sample::select(StepType::ALL.to_vec()),
            text in prop::option::of(prop_oneof![Just(" "), Just("No parties.")]), has: [bool; 6],
        ) {
            let mut step = step(step_type);
            let id = Uuid::from_u128(7);
            step.write_only.contract_template_text = text.map(str::to_owned);
            step.agreement.contract_template_text_ml_text_id = has[0].then_some(id);
            step.agreement.esign_a_template_id = has[1].then(|| "a".to_owned());
            step.agreement.esign_b_template_id = has[2].then(|| "b".to_owned());
            step.fee_product_ids = if has[3] { vec![id] } else { Vec::new() };
            step.write_only.background_check_account_id = has[4].then_some(id);
            if has[5] {
                let question = json!([{ "id": id, "kind": "yes_no", "textMlTextId": id, "isRequired": true, "options": [], "conditions": [] }]);
                step.questions = serde_json::from_value(question).unwrap();
            }
            let is_configured = match step_type.name() {
                "agreement" => text == Some("No parties.") || has[0] || has[1] || has[2],
                "additional_questions" => has[5],
                "mandatory_fee" => has[3],
                "background_check" => has[4],
                _ => true,
            };
            prop_assert_eq!(missing_configuration(&step).is_none(), is_configured);
        }
    }
}
