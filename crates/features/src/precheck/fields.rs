//! The fields of a step in a request, and the rules across several fields (rules: steps).

use engine::error::{Issue, Reason};
use engine::field::Creatable;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Value, json};
use uuid::Uuid;

use super::guest_fields;
use super::identity::needs_minimum_age;
use super::step::{Step, StepFields};
use super::step_type::ActivationNeed;
use super::targeting::InclusionType;

/// Returns the JSON Schema of prefill texts: an object with a text for each field name, or null.
pub(super) fn prefill_values(_: &mut SchemaGenerator) -> Schema {
    schemars::json_schema!({
        "type": ["object", "null"],
        "maxProperties": 100,
        "propertyNames": { "type": "string", "maxLength": 200 },
        "additionalProperties": { "type": "string", "maxLength": 1000 },
    })
}

impl Creatable for StepFields {
    const REQUIRED: &'static [&'static str] = &["stepType", "nickname"];

    fn example() -> Value {
        json!({
            "nickname": "House rules",
            "stepType": "agreement",
            "isActive": true,
            "sortOrder": 3,
            "displayTitle": "Our house rules",
            "agreementType": "text",
            "contractTemplateText": "No parties, no smoking, quiet from 22:00.",
            "minLos": 2,
        })
    }
}

/// The change that a request makes to a step's heading (rules: steps#titles).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Title {
    /// Leaves the heading unchanged.
    Keep,
    /// Removes the heading, so that guests read the built-in title of the step's type.
    Clear,
    /// Links the translation with this id as the heading.
    Link(Uuid),
    /// Writes the text of the heading. `None` as language means English.
    Write {
        text: String,
        language: Option<String>,
    },
}

impl StepFields {
    /// Returns how the request changes the step's heading, or the issue if its heading fields
    /// contradict each other. A new step has no heading yet, so on create a heading of null changes
    /// nothing.
    pub fn title(&self, is_create: bool, base: &[&str]) -> Result<Title, Issue> {
        let text = self
            .display_title
            .sent()
            .filter(|text| !is_create || text.is_some());
        let linked = self
            .display_title_ml_text_id
            .sent()
            .filter(|id| !is_create || id.is_some());
        let language = self.display_title_language.sent().and_then(Option::as_ref);
        let issue =
            |field: &str, reason: Reason| Err(Issue::new(&[base, &[field]].concat(), reason));
        match (text, linked, language) {
            (Some(Some(_)), Some(_), _) | (Some(_), Some(Some(_)), _) => issue(
                "displayTitleMlTextId",
                Reason::rule("title_twice", "cannot be sent together with displayTitle"),
            ),
            (Some(Some(text)), None, language) => Ok(Title::Write {
                text: text.0.clone(),
                language: language.map(|language| language.0.clone()),
            }),
            (_, _, Some(_)) => issue(
                "displayTitleLanguage",
                Reason::rule(
                    "title_missing",
                    "must be sent with a displayTitle in this language",
                ),
            ),
            (_, Some(Some(id)), None) => Ok(Title::Link(*id)),
            (Some(None), _, None) | (_, Some(None), None) => Ok(Title::Clear),
            (None, None, None) => Ok(Title::Keep),
        }
    }

    /// Copies the fields that the request contains to `step`. If the request contains `false` in
    /// the deprecated field `isEnabled`, the step becomes inactive, even if `isActive` is `true`.
    pub fn apply_with_deprecated(self, step: &mut Step) {
        let is_switched_off = self.is_enabled.sent() == Some(&false);
        self.apply(step);
        if is_switched_off {
            step.is_active = false;
        }
    }

    /// Returns which of the fields of [`RequestedRuleFields`] the request contains.
    #[must_use]
    pub fn requested_rule_fields(&self) -> RequestedRuleFields {
        RequestedRuleFields {
            min_los: self.min_los.sent().is_some(),
            lead_time_min_days: self.lead_time_min_days.sent().is_some(),
            guest_field_rules: self.guest_field_rules.sent().is_some(),
        }
    }
}

/// For each of three fields of a step, whether the request contains the field. If a step breaks a
/// rule about two fields, the issue names the field that the request contains.
#[derive(Debug, Clone, Copy)]
pub struct RequestedRuleFields {
    min_los: bool,
    lead_time_min_days: bool,
    guest_field_rules: bool,
}

/// Returns an issue for each rule across several fields that a step breaks. `step` is the stored
/// step, into which the fields of the request are merged. `base` is the path of these fields in the
/// body.
#[must_use]
pub fn issues(step: &Step, sent: RequestedRuleFields, base: &[&str]) -> Vec<Issue> {
    let rules = &step.targeting;
    let mut issues = Vec::new();
    let mut add =
        |field: &str, reason: Reason| issues.push(Issue::new(&[base, &[field]].concat(), reason));
    if rules.min_los > rules.max_los {
        add(
            if sent.min_los { "minLos" } else { "maxLos" },
            Reason::rule(
                "nights_turned",
                "is not valid: minLos must not be greater than maxLos",
            ),
        );
    }
    if let (Some(minimum), Some(maximum)) = (rules.lead_time_min_days, rules.lead_time_max_days)
        && minimum > maximum
    {
        let field = if sent.lead_time_min_days {
            "leadTimeMinDays"
        } else {
            "leadTimeMaxDays"
        };
        add(
            field,
            Reason::rule(
                "lead_time_turned",
                "is not valid: leadTimeMinDays must not be greater than leadTimeMaxDays",
            ),
        );
    }
    let has_no_channel = rules
        .included_sources_returning
        .as_ref()
        .is_none_or(Vec::is_empty);
    if rules.inclusion_type == Some(InclusionType::OnlySelected) && has_no_channel {
        add(
            "includedSourcesReturning",
            Reason::rule(
                "needs_channel",
                "must have at least one channel for only_selected",
            ),
        );
    }
    let write_only = &step.write_only;
    if step.step_type.checks_identity()
        && write_only.minimum_guest_age.is_none()
        && needs_minimum_age(write_only.identity_flag_policy.as_ref())
    {
        add(
            "minimumGuestAge",
            Reason::rule(
                "needs_minimum_age",
                "is required unless guest_underage is ignore",
            ),
        );
    }
    issues.extend(guest_fields::issues(step, sent.guest_field_rules, base));
    issues
}

/// Returns the name of a field that the step lacks but needs to be active; `None` if it lacks none
/// (rules: steps#activation).
#[must_use]
pub fn missing_configuration(step: &Step) -> Option<&'static str> {
    let Step {
        agreement,
        write_only,
        ..
    } = step;
    let has_contract = || {
        let has_text = write_only
            .contract_template_text
            .as_ref()
            .is_some_and(|text| !engine::typed::is_blank(text));
        let has_template =
            agreement.esign_a_template_id.is_some() || agreement.esign_b_template_id.is_some();
        has_text || has_template || agreement.contract_template_text_ml_text_id.is_some()
    };
    let (is_there, field) = match step.step_type.activation_need() {
        ActivationNeed::ContractText => (has_contract(), "contractTemplateText"),
        ActivationNeed::Questions => (!step.questions.is_empty(), "questions"),
        ActivationNeed::FeeProducts => (!step.fee_product_ids.is_empty(), "feeProductIds"),
        ActivationNeed::BackgroundCheckAccount => (
            write_only.background_check_account_id.is_some(),
            "backgroundCheckAccountId",
        ),
        ActivationNeed::Nothing | ActivationNeed::PaymentAccount => return None,
    };
    (!is_there).then_some(field)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use strum::VariantArray;

    use super::super::step_type::StepType;
    use super::*;
    use engine::moment::Moment;

    fn fields(body: Value) -> StepFields {
        serde_json::from_value(body).unwrap()
    }

    fn step(step_type: StepType) -> Step {
        Step::new(
            Uuid::nil(),
            step_type,
            "Step".into(),
            Moment("2026-11-21T09:30:00Z".parse().unwrap()),
        )
    }

    fn paths(issues: &[Issue]) -> Vec<String> {
        issues
            .iter()
            .map(|issue| serde_json::to_string(&issue.path).unwrap())
            .collect()
    }

    #[test]
    fn a_title_is_given_as_text_or_as_id() {
        let id = Uuid::from_u128(1);
        let message = |body: Value| {
            fields(body)
                .title(false, &[])
                .map_err(|issue| serde_json::to_string(&issue.path).unwrap())
        };
        assert_eq!(message(json!({})), Ok(Title::Keep));
        assert_eq!(message(json!({ "displayTitle": null })), Ok(Title::Clear));
        assert_eq!(
            message(json!({ "displayTitleMlTextId": null })),
            Ok(Title::Clear)
        );
        assert_eq!(
            message(json!({ "displayTitle": null, "displayTitleMlTextId": null })),
            Ok(Title::Clear)
        );
        assert_eq!(
            message(json!({ "displayTitleMlTextId": id })),
            Ok(Title::Link(id))
        );
        let written = Title::Write {
            text: "Hola".into(),
            language: Some("es".into()),
        };
        assert_eq!(
            message(json!({ "displayTitle": "Hola", "displayTitleLanguage": "es" })),
            Ok(written)
        );
        let language = Err(r#"["displayTitleLanguage"]"#.to_owned());
        assert_eq!(message(json!({ "displayTitleLanguage": "es" })), language);
        assert_eq!(
            message(json!({ "displayTitleLanguage": "es", "displayTitle": null })),
            language
        );
        assert_eq!(
            message(json!({ "displayTitleLanguage": "es", "displayTitleMlTextId": id })),
            language
        );
        let both = Err(r#"["displayTitleMlTextId"]"#.to_owned());
        assert_eq!(
            message(json!({ "displayTitle": "Hello", "displayTitleMlTextId": id })),
            both
        );
        assert_eq!(
            message(json!({ "displayTitle": null, "displayTitleMlTextId": id })),
            both
        );
        let created =
            fields(json!({ "displayTitle": null, "displayTitleMlTextId": id })).title(true, &[]);
        assert_eq!(created, Ok(Title::Link(id)), "on create, null says nothing");
    }

    #[test]
    fn an_inverted_window_is_reported_at_the_sent_field() {
        let blamed = |body: Value| {
            let mut step = step(StepType::YourDetails);
            (step.targeting.min_los, step.targeting.max_los) = (3, 5);
            (
                step.targeting.lead_time_min_days,
                step.targeting.lead_time_max_days,
            ) = (Some(3), Some(5));
            let fields = fields(body);
            let sent = fields.requested_rule_fields();
            fields.apply(&mut step);
            paths(&issues(&step, sent, &["data"]))
        };
        assert_eq!(
            blamed(json!({ "minLos": 5, "leadTimeMinDays": 5 })),
            Vec::<String>::new()
        );
        assert_eq!(
            blamed(json!({ "minLos": 6, "leadTimeMinDays": 6 })),
            [r#"["data","minLos"]"#, r#"["data","leadTimeMinDays"]"#]
        );
        assert_eq!(
            blamed(json!({ "maxLos": 2, "leadTimeMaxDays": 2 })),
            [r#"["data","maxLos"]"#, r#"["data","leadTimeMaxDays"]"#]
        );
        assert_eq!(
            blamed(json!({ "leadTimeMinDays": 9, "leadTimeMaxDays": null })),
            Vec::<String>::new()
        );
        assert_eq!(
            blamed(json!({ "inclusionType": "only_selected" })),
            [r#"["data","includedSourcesReturning"]"#]
        );
    }

    #[test]
    fn the_deprecated_field_can_only_switch_off() {
        for (body, is_active) in [
            (json!({ "isActive": true, "isEnabled": false }), false),
            (json!({ "isActive": false, "isEnabled": true }), false),
            (json!({ "isEnabled": true }), false),
            (json!({ "isActive": true, "isEnabled": true }), true),
        ] {
            let mut step = step(StepType::YourDetails);
            fields(body.clone()).apply_with_deprecated(&mut step);
            assert_eq!(step.is_active, is_active, "{body}");
        }
    }

    proptest! {
        /// Compares the result of `missing_configuration` with a table of step types and their
        /// required fields (rules: steps#activation, 3).
        #[test]
        fn required_configuration_agrees_with_the_contract(
            step_type in prop::sample::select(StepType::VARIANTS),
            text in prop::option::of(prop_oneof![Just(" "), Just("No parties.")]),
            has: [bool; 6],
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
                let question = json!([
                    {
                        "id": id,
                        "kind": "yes_no",
                        "textMlTextId": id,
                        "isRequired": true,
                        "options": [],
                        "conditions": [],
                    },
                ]);
                step.questions = serde_json::from_value(question).unwrap();
            }
            let is_configured = match step_type.as_ref() {
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
