//! The JSON Schemas of visibility rules, the same for requests and responses. Each category has a
//! separate schema, which `ruleCategory` selects. The schema allows any value in the fields of
//! other categories.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};
use strum::VariantArray;

use super::rule::{
    RelativeDate, RuleCategory, Seasons, Sources, StayLength, Verifications, VisibilityRule,
    VisibilityRules,
};
use crate::records::VerificationStatus;

/// Maximum number of seasons, booking channels or verification statuses in a rule.
const MAX_ITEMS: usize = 100;

impl RuleCategory {
    /// Returns the description of this category of visibility rules.
    const fn description(self) -> &'static str {
        match self {
            Self::RelativeDate => {
                "Shown from one moment of the stay until another. A side that is left out is open."
            }
            Self::Seasonal => "Shown to stays with a night in a season.",
            Self::LengthOfStay => "Shown to stays of so many nights, both bounds included.",
            Self::BookingSource => "Shown to stays booked through certain channels.",
            Self::VerificationStatus => {
                "Shown while the guest's identity has been verified so far."
            }
        }
    }

    /// Returns the fields that a rule of this category must have.
    const fn required(self) -> &'static [&'static str] {
        match self {
            Self::RelativeDate | Self::LengthOfStay => &[],
            Self::Seasonal => &["seasonalWindows"],
            Self::BookingSource => &["sourceRuleType"],
            Self::VerificationStatus => &["verificationStatuses"],
        }
    }

    /// Returns the fields of the category, each with the JSON Schema of its value and a
    /// description.
    fn fields(self) -> Vec<(&'static str, Value, &'static str)> {
        let number = || json!({ "type": "integer", "minimum": 0, "maximum": i32::MAX });
        let anchor = || {
            let anchors = [
                "before_check_in",
                "after_check_in",
                "before_check_out",
                "after_check_out",
                "check_in_time",
                "check_out_time",
            ];
            json!({ "type": "string", "enum": anchors })
        };
        let unit = || json!({ "type": "string", "enum": ["day", "hour"] });
        let channels = || {
            json!({
                "type": "array",
                "maxItems": MAX_ITEMS,
                "items": { "type": "string", "minLength": 1, "maxLength": 200 },
            })
        };
        match self {
            Self::RelativeDate => vec![
                (
                    "startDateRelativeType",
                    anchor(),
                    "Moment that the start counts from, in the property's time zone: `…_time` is \
                        that moment itself. Left out or null: no start, and then there must be an \
                        `endDateRelativeType`.",
                ),
                (
                    "daysBefore",
                    number(),
                    "Units that the start is away from its moment: earlier for `before_…`, later \
                        for `after_…`, none for `…_time`. Default 0.",
                ),
                (
                    "daysBeforeTimeUnit",
                    unit(),
                    "Unit of `daysBefore`, `day` by default. A day is the same time by the \
                        property's clocks on another date, an hour one that passes.",
                ),
                (
                    "endDateRelativeType",
                    anchor(),
                    "Moment that the end counts from, in the property's time zone: `…_time` is \
                        that moment itself. Left out or null: no end, and then there must be a \
                        `startDateRelativeType`.",
                ),
                (
                    "daysAfter",
                    number(),
                    "Units that the end is away from its moment: earlier for `before_…`, later for \
                        `after_…`, none for `…_time`. Default 0.",
                ),
                (
                    "daysAfterTimeUnit",
                    unit(),
                    "Unit of `daysAfter`, `day` by default. A day is the same time by the \
                        property's clocks on another date, an hour one that passes.",
                ),
            ],
            Self::Seasonal => {
                let date = |description: &str| {
                    json!({
                        "type": "string",
                        "format": "date",
                        "description": description,
                    })
                };
                let window = json!({
                    "type": "object",
                    "properties": {
                        "startDate": date("The first night of the season, included. It is not \
                            after `endDate`, unless the season is yearly."),
                        "endDate": date("The last night of the season, included."),
                        "isYearly": {
                            "type": "boolean",
                            "default": false,
                            "description": "Whether the season returns every year. Month and day \
                                count then, and it may run over the end of the year.",
                        },
                    },
                    "required": ["startDate", "endDate"],
                    "additionalProperties": false,
                });
                let windows = json!({
                    "type": "array",
                    "minItems": 1,
                    "maxItems": MAX_ITEMS,
                    "items": window,
                });
                vec![(
                    "seasonalWindows",
                    windows,
                    "Seasons, at least one: a night of the stay must lie in any of them.",
                )]
            }
            Self::LengthOfStay => vec![
                (
                    "lengthOfStayFromDays",
                    number(),
                    "Shortest stay in nights, not above `lengthOfStayToDays`. Left out or null: no \
                        bound.",
                ),
                (
                    "lengthOfStayToDays",
                    number(),
                    "Longest stay in nights, not below `lengthOfStayFromDays`. Left out or null: \
                        no bound.",
                ),
            ],
            Self::BookingSource => vec![
                (
                    "sourceRuleType",
                    json!({ "type": "string", "enum": ["only_selected", "all_except_selected"] }),
                    "Which list counts: `only_selected` shows the manual for \
                        `includedBookingSources` alone, `all_except_selected` for all but \
                        `excludedBookingSources`.",
                ),
                (
                    "includedBookingSources",
                    channels(),
                    "Booking channels, such as `direct`, whose guests see the manual: at least one \
                        for `only_selected`.",
                ),
                (
                    "excludedBookingSources",
                    channels(),
                    "Booking channels, such as `direct`, whose guests do not see the manual. May \
                        be empty.",
                ),
            ],
            Self::VerificationStatus => {
                let status = json!({ "type": "string", "enum": VerificationStatus::VARIANTS });
                let statuses = json!({
                    "type": "array",
                    "minItems": 1,
                    "maxItems": MAX_ITEMS,
                    "items": status,
                });
                vec![(
                    "verificationStatuses",
                    statuses,
                    "How far the identity must have been verified: any one of these, at least one.",
                )]
            }
        }
    }

    /// Returns the JSON Schema of a rule of this category.
    fn schema(self) -> Schema {
        let tag = json!({
            "type": "string",
            "const": self.as_ref(),
            "description": "What the rule looks at, which decides what is read of it.",
        });
        let mut fields = Map::from_iter([("ruleCategory".to_owned(), tag)]);
        for (name, mut schema, description) in self.fields() {
            schema["description"] = description.into();
            fields.insert(
                name.into(),
                if self.required().contains(&name) {
                    schema
                } else {
                    or_null(schema)
                },
            );
        }
        // Fields of other categories are ignored, so the schema allows any value in them.
        let other_fields = Self::VARIANTS
            .iter()
            .flat_map(|other| other.fields())
            .map(|(name, ..)| name)
            .collect::<Vec<_>>()
            .join("|");
        let required = [&["ruleCategory"][..], self.required()].concat();
        schemars::json_schema!({
            "type": "object",
            "description": self.description(),
            "properties": fields,
            "required": required,
            "patternProperties": { format!("^(?:{other_fields})$"): {} },
            "additionalProperties": false,
        })
    }
}

/// Implements `JsonSchema` for each type of rule with the schema of its category.
macro_rules! categories {
    ($($type:ty: $category:ident as $name:literal;)*) => {
        $(
            impl JsonSchema for $type {
                fn schema_name() -> Cow<'static, str> {
                    $name.into()
                }

                fn json_schema(_: &mut SchemaGenerator) -> Schema {
                    RuleCategory::$category.schema()
                }
            }
        )*

        fn all(generator: &mut SchemaGenerator) -> Vec<(RuleCategory, Schema)> {
            vec![$((RuleCategory::$category, generator.subschema_for::<$type>())),*]
        }
    };
}

categories! {
    RelativeDate: RelativeDate as "RelativeDateRule";
    Seasons: Seasonal as "SeasonalRule";
    StayLength: LengthOfStay as "LengthOfStayRule";
    Sources: BookingSource as "BookingSourceRule";
    Verifications: VerificationStatus as "VerificationStatusRule";
}

impl JsonSchema for VisibilityRule {
    fn schema_name() -> Cow<'static, str> {
        "VisibilityRule".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let shapes = all(generator);
        let entry = |(category, schema): &(RuleCategory, Schema)| {
            Some((category.as_ref().to_owned(), schema.get("$ref")?.clone()))
        };
        let mapping: Map<String, Value> = shapes.iter().filter_map(entry).collect();
        let mut schema = schemars::json_schema!({
            "oneOf": shapes.iter().map(|(_, schema)| schema).collect::<Vec<_>>(),
            "examples": [
                {
                    "ruleCategory": "relative_date",
                    "startDateRelativeType": "before_check_in",
                    "daysBefore": 2,
                },
            ],
        });
        if !mapping.is_empty() {
            schema.insert(
                "discriminator".into(),
                json!({ "propertyName": "ruleCategory", "mapping": mapping }),
            );
        }
        schema
    }
}

impl JsonSchema for VisibilityRules {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "VisibilityRules".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({
            "type": "array",
            "maxItems": RuleCategory::VARIANTS.len(),
            "items": generator.subschema_for::<VisibilityRule>(),
        })
    }
}

/// Returns the schema of a value that can also be null. Null means the same as a field that is left
/// out.
fn or_null(mut schema: Value) -> Value {
    schema["type"] = json!([schema["type"], "null"]);
    if let Some(values) = schema.get_mut("enum").and_then(Value::as_array_mut) {
        values.push(Value::Null);
    }
    schema
}
