//! The schemas of visibility rules, written and answered: a branch a category, which leaves foreign fields alone whatever they
//! hold.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};
use strum::VariantArray;

use super::rule::{Category, Rule, SourceRuleType, VisibilityRules};
use crate::records::VerificationStatus;

/// Windows, channels or statuses in a rule at the most.
const MOST: usize = 100;

impl Category {
    /// The fields that may not be left out.
    const fn required(self) -> &'static [&'static str] {
        match self {
            Self::RelativeDate | Self::LengthOfStay => &[],
            Self::Seasonal => &["seasonalWindows"],
            Self::BookingSource => &["sourceRuleType"],
            Self::VerificationStatus => &["verificationStatuses"],
        }
    }

    /// The fields read, each with the JSON Schema of its value, which says what it is for.
    fn fields(self) -> Vec<(&'static str, Value)> {
        let number = || json!({ "type": "integer", "minimum": 0, "maximum": i32::MAX });
        let anchor = || {
            let anchors = ["before_check_in", "after_check_in", "before_check_out", "after_check_out", "check_in_time", "check_out_time"];
            json!({ "type": "string", "enum": anchors })
        };
        let unit = || json!({ "type": "string", "enum": ["day", "hour"] });
        let date = || json!({ "type": "string", "format": "date" });
        let channels = || json!({ "type": "array", "maxItems": MOST, "items": { "type": "string", "minLength": 1, "maxLength": 200 } });
        match self {
            Self::RelativeDate => vec![
                (
                    "startDateRelativeType",
                    described(
                        anchor(),
                        "What the start counts from: `before_…` back from, `after_…` forward from check-in or check-out, `…_time` that time \
                            itself. Null or left out: no start, and then there must be an `endDateRelativeType`.",
                    ),
                ),
                (
                    "daysBefore",
                    described(number(), "How many units the start is away from what it counts from, whichever way. Null or left out: 0."),
                ),
                (
                    "daysBeforeTimeUnit",
                    described(
                        unit(),
                        "Unit of `daysBefore`: `day` is the same time of the property's on another date, `hour` an hour that passes. \
                            Null or left out: `day`.",
                    ),
                ),
                (
                    "endDateRelativeType",
                    described(
                        anchor(),
                        "What the end counts from: `before_…` back from, `after_…` forward from check-in or check-out, `…_time` that time \
                            itself. Null or left out: no end, and then there must be a `startDateRelativeType`.",
                    ),
                ),
                (
                    "daysAfter",
                    described(number(), "How many units the end is away from what it counts from, whichever way. Null or left out: 0."),
                ),
                (
                    "daysAfterTimeUnit",
                    described(
                        unit(),
                        "Unit of `daysAfter`: `day` is the same time of the property's on another date, `hour` an hour that passes. \
                            Null or left out: `day`.",
                    ),
                ),
            ],
            Self::Seasonal => {
                let window = json!({
                    "type": "object",
                    "properties": {
                        "startDate": described(date(), "The first night of the season, included; not after `endDate`."),
                        "endDate": described(date(), "The last night of the season, included."),
                    },
                    "required": ["startDate", "endDate"],
                    "additionalProperties": false,
                });
                let windows = json!({ "type": "array", "minItems": 1, "maxItems": MOST, "items": window });
                vec![("seasonalWindows", described(windows, "Seasons, at least one: a night of the stay must lie in any of them."))]
            }
            Self::LengthOfStay => vec![
                (
                    "lengthOfStayFromDays",
                    described(number(), "Shortest stay in nights, not above `lengthOfStayToDays`. Null or left out: no bound."),
                ),
                (
                    "lengthOfStayToDays",
                    described(number(), "Longest stay in nights, not below `lengthOfStayFromDays`. Null or left out: no bound."),
                ),
            ],
            Self::BookingSource => vec![
                (
                    "sourceRuleType",
                    described(
                        json!({ "type": "string", "enum": ["only_selected", "all_except_selected"] }),
                        "Which list counts: `only_selected` shows the manual for `includedBookingSources` alone, `all_except_selected` for \
                            all but `excludedBookingSources`.",
                    ),
                ),
                (
                    "includedBookingSources",
                    described(
                        channels(),
                        "Booking channels, such as `direct`, whose guests see the manual: at least one for `only_selected`.",
                    ),
                ),
                (
                    "excludedBookingSources",
                    described(channels(), "Booking channels, such as `direct`, whose guests do not see the manual. May be empty."),
                ),
            ],
            Self::VerificationStatus => {
                let status = json!({ "type": "string", "enum": VerificationStatus::VARIANTS });
                let statuses = json!({ "type": "array", "minItems": 1, "maxItems": MOST, "items": status });
                vec![(
                    "verificationStatuses",
                    described(statuses, "How far the guest's identity must have been verified: any one of these, at least one."),
                )]
            }
        }
    }
}

impl JsonSchema for VisibilityRules {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "VisibilityRules".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<&str> = Category::VARIANTS.iter().map(Category::as_ref).collect();
        let mut known = Map::new();
        known.insert(
            "ruleCategory".into(),
            described(json!({ "type": "string", "enum": names }), "What the rule looks at; it decides which of the other fields are read."),
        );
        let mut shapes = Vec::new();
        for category in Category::VARIANTS {
            let mut own = Map::new();
            for (name, mut schema) in category.fields() {
                let description = schema.as_object_mut().and_then(|schema| schema.remove("description")).unwrap_or_default();
                let description =
                    format!("{} Read where `ruleCategory` is `{}`.", description.as_str().unwrap_or_default(), category.as_ref());
                // Of whatever type: in a rule of another category nobody reads it.
                known.insert(name.into(), described(json!({}), &description));
                own.insert(name.into(), if category.required().contains(&name) { schema } else { or_null(schema) });
            }
            shapes.push(json!({
                "if": { "properties": { "ruleCategory": { "const": category.as_ref() } }, "required": ["ruleCategory"] },
                "then": { "properties": own, "required": category.required() },
            }));
        }
        shapes.push(json!({
            "if": {
                "properties": {
                    "ruleCategory": { "const": Category::BookingSource.as_ref() },
                    "sourceRuleType": { "const": SourceRuleType::OnlySelected },
                },
                "required": ["ruleCategory", "sourceRuleType"],
            },
            "then": {
                "properties": { "includedBookingSources": { "type": "array", "minItems": 1, "maxItems": MOST } },
                "required": ["includedBookingSources"],
            },
        }));
        schemars::json_schema!({
            "type": "array",
            "maxItems": Category::VARIANTS.len(),
            "items": {
                "type": "object",
                "properties": known,
                "required": ["ruleCategory"],
                "additionalProperties": false,
                "allOf": shapes,
            },
        })
    }
}

impl JsonSchema for Rule {
    fn schema_name() -> Cow<'static, str> {
        "VisibilityRule".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let shape = |category: &Category| {
            let tag = ("ruleCategory", json!({ "type": "string", "const": category.as_ref() }));
            let fields = [tag].into_iter().chain(category.fields()).map(|(name, schema)| (name.to_owned(), schema));
            let required = [&["ruleCategory"][..], category.required()].concat();
            json!({ "type": "object", "properties": fields.collect::<Map<String, Value>>(), "required": required })
        };
        let shapes: Vec<Value> = Category::VARIANTS.iter().map(shape).collect();
        schemars::json_schema!({
            "oneOf": shapes,
            "examples": [{ "ruleCategory": "relative_date", "startDateRelativeType": "before_check_in", "daysBefore": 2 }],
        })
    }
}

/// The same, saying what it is for.
fn described(mut schema: Value, description: &str) -> Value {
    schema["description"] = description.into();
    schema
}

/// The same, or null, which is as good as leaving the field out.
fn or_null(mut schema: Value) -> Value {
    schema["type"] = json!([schema["type"], "null"]);
    if let Some(values) = schema.get_mut("enum").and_then(Value::as_array_mut) {
        values.push(Value::Null);
    }
    schema
}
