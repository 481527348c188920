//! The visibility rules of a manual: their fields in requests, in the database and in responses
//! (rules: manuals#visibility).
//!
//! In a request, a rule may contain fields of any category. Only the fields of the rule's category
//! are stored. The schema of [`VisibilityRules`] (`rule_schema.rs`) checks single fields.
//! [`VisibilityRules::into_rules`] checks the rules that involve several fields.

use std::ops::Not;

use engine::error::{Issue, PathSegment, Reason};
use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use strum::{AsRefStr, VariantArray};

use crate::records::VerificationStatus;

/// The categories of visibility rules, in the order in which the rules are applied. The names are
/// the values of `ruleCategory`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, AsRefStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum RuleCategory {
    /// The current time is in a period that is relative to check-in or check-out.
    RelativeDate,
    /// At least one night of the stay is in one of the rule's seasons.
    Seasonal,
    /// The number of nights is in a range.
    LengthOfStay,
    /// The booking channel of the stay is on a list of included channels, or is not on a list of
    /// excluded channels.
    BookingSource,
    /// The guest's verification status is one of a list.
    VerificationStatus,
}

/// A visibility rule in the database and in responses. It has only the fields of its category.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ruleCategory", rename_all = "snake_case")]
pub enum VisibilityRule {
    /// Shows the manual in a period that is relative to check-in or check-out.
    RelativeDate(RelativeDate),
    /// Shows the manual for stays with a night in a season.
    Seasonal(Seasons),
    /// Shows the manual for stays whose number of nights is in a range.
    LengthOfStay(StayLength),
    /// Shows the manual for stays from the listed booking channels, or from all channels except the
    /// listed ones.
    BookingSource(Sources),
    /// Shows the manual while the guest's verification status is one of a list.
    VerificationStatus(Verifications),
}

/// A period from a start to an end, each relative to check-in or check-out. If the anchor of the
/// start or the end is `None`, the period has no limit on that side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RelativeDate {
    /// The event from which the start is counted: check-in or check-out. `None`: the period has no
    /// start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_date_relative_type: Option<Anchor>,
    /// The distance of the start from its anchor, in the unit of `days_before_time_unit`. `None`
    /// means 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub days_before: Option<u32>,
    /// The unit of `days_before`; `None` means days.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub days_before_time_unit: Option<Unit>,
    /// The event from which the end is counted: check-in or check-out. `None`: the period has no
    /// end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_date_relative_type: Option<Anchor>,
    /// The distance of the end from its anchor, in the unit of `days_after_time_unit`. `None` means
    /// 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub days_after: Option<u32>,
    /// The unit of `days_after`; `None` means days.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub days_after_time_unit: Option<Unit>,
}

/// The event of the stay from which the start or the end of a period is counted, and the direction
/// in which it is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Anchor {
    /// The period starts or ends before check-in, by the distance in the rule.
    BeforeCheckIn,
    /// The period starts or ends after check-in, by the distance in the rule.
    AfterCheckIn,
    /// The period starts or ends before check-out, by the distance in the rule.
    BeforeCheckOut,
    /// The period starts or ends after check-out, by the distance in the rule.
    AfterCheckOut,
    /// The period starts or ends at check-in.
    CheckInTime,
    /// The period starts or ends at check-out.
    CheckOutTime,
}

impl Anchor {
    pub(super) const fn is_check_in(self) -> bool {
        matches!(
            self,
            Self::BeforeCheckIn | Self::AfterCheckIn | Self::CheckInTime
        )
    }

    /// Returns -1 if the time is counted back from check-in or check-out, 1 if it is counted
    /// forward, and 0 if it is the time of check-in or check-out itself.
    pub(super) const fn direction(self) -> i64 {
        match self {
            Self::BeforeCheckIn | Self::BeforeCheckOut => -1,
            Self::AfterCheckIn | Self::AfterCheckOut => 1,
            Self::CheckInTime | Self::CheckOutTime => 0,
        }
    }
}

/// The unit of a distance from check-in or check-out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A calendar day: the same local time on another date.
    #[default]
    Day,
    /// An elapsed hour, regardless of daylight saving.
    Hour,
}

/// A list of seasons. The stay must have a night in at least one of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Seasons {
    /// The seasons, at least one.
    pub seasonal_windows: Vec<Window>,
}

/// A season.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Window {
    /// The first night of the season.
    pub start_date: Date,
    /// The last night of the season.
    pub end_date: Date,
    /// Whether the season returns every year. The years of both dates are then ignored, and the
    /// season may extend over the end of the year.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub is_yearly: bool,
}

impl Window {
    /// Returns whether a night lies in the season.
    pub(super) fn contains_night(&self, night: Date) -> bool {
        if !self.is_yearly {
            return self.start_date <= night && night <= self.end_date;
        }
        let day = |date: Date| (date.month(), date.day());
        let (first, last, night) = (day(self.start_date), day(self.end_date), day(night));
        if first <= last {
            first <= night && night <= last
        } else {
            first <= night || night <= last
        }
    }

    /// Returns whether the last night of the season was before `today`. A yearly season never ends.
    fn is_over(&self, today: Date) -> bool {
        !self.is_yearly && self.end_date < today
    }
}

/// Returns whether a manual has a seasonal rule whose seasons have all ended. A guest sees a manual
/// only if all its rules match, so no guest who arrives `today` or later sees this manual.
#[must_use]
pub fn seasons_are_over(rules: &[VisibilityRule], today: Date) -> bool {
    rules.iter().any(|rule| match rule {
        VisibilityRule::Seasonal(rule) => rule
            .seasonal_windows
            .iter()
            .all(|window| window.is_over(today)),
        VisibilityRule::RelativeDate(_)
        | VisibilityRule::LengthOfStay(_)
        | VisibilityRule::BookingSource(_)
        | VisibilityRule::VerificationStatus(_) => false,
    })
}

/// A range of the number of nights of a stay. Both bounds are included.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StayLength {
    /// The minimum number of nights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length_of_stay_from_days: Option<u32>,
    /// The maximum number of nights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length_of_stay_to_days: Option<u32>,
}

/// Booking channels, by the identifiers that reservations use. Only one of the two lists applies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sources {
    /// Selects the list that applies: `included_booking_sources` or `excluded_booking_sources`.
    pub source_rule_type: SourceRuleType,
    /// The channels whose guests see the manual. If `source_rule_type` selects this list, it has at
    /// least one channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub included_booking_sources: Option<Vec<String>>,
    /// The channels whose guests do not see the manual. This list can be empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excluded_booking_sources: Option<Vec<String>>,
}

/// Selects one of the two lists of booking channels in [`Sources`]: the included or the excluded
/// channels. The rule uses only this list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceRuleType {
    /// Guests of the included channels see the manual, and no other guests.
    OnlySelected,
    /// Guests of all channels see the manual, unless their channel is excluded.
    AllExceptSelected,
}

/// A list of verification statuses of guests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Verifications {
    /// The verification statuses of guests who see the manual.
    pub verification_statuses: Vec<VerificationStatus>,
}

/// The visibility rules of a manual in a request. They replace all stored rules of the manual.
#[derive(Debug, Clone, Deserialize)]
#[serde(transparent)]
pub struct VisibilityRules(Vec<VisibilityRule>);

impl VisibilityRules {
    /// Returns the rules if all of them are valid. Otherwise returns every issue that the schema
    /// cannot express: a wrong combination of fields in one rule, and a category that an earlier
    /// rule has too.
    ///
    /// `base` is the path of `visibilityRules` in the body.
    pub fn into_rules(self, base: &[&str]) -> Result<Vec<VisibilityRule>, Vec<Issue>> {
        let mut issues = Vec::new();
        for (index, rule) in self.0.iter().enumerate() {
            let is_second = self.0[..index]
                .iter()
                .any(|earlier| earlier.category() == rule.category());
            let repeated = is_second.then(|| {
                (
                    vec![PathSegment::from("ruleCategory")],
                    Reason::rule("category_twice", "must not be the category of another rule"),
                )
            });
            for (path, reason) in rule.faults().into_iter().chain(repeated) {
                let parent_path = base
                    .iter()
                    .map(|key| PathSegment::from(*key))
                    .chain([PathSegment::from("visibilityRules"), index.into()]);
                issues.push(Issue::at(parent_path.chain(path).collect(), reason));
            }
        }
        if issues.is_empty() {
            Ok(self.0)
        } else {
            Err(issues)
        }
    }
}

impl VisibilityRule {
    /// Returns the category of the rule.
    #[must_use]
    pub const fn category(&self) -> RuleCategory {
        match self {
            Self::RelativeDate(_) => RuleCategory::RelativeDate,
            Self::Seasonal(_) => RuleCategory::Seasonal,
            Self::LengthOfStay(_) => RuleCategory::LengthOfStay,
            Self::BookingSource(_) => RuleCategory::BookingSource,
            Self::VerificationStatus(_) => RuleCategory::VerificationStatus,
        }
    }

    /// Returns the issues that involve several fields of the rule, each as a reason and a path
    /// relative to the rule.
    fn faults(&self) -> Vec<(Vec<PathSegment>, Reason)> {
        match self {
            Self::BookingSource(Sources {
                source_rule_type: SourceRuleType::OnlySelected,
                included_booking_sources,
                ..
            }) => {
                let reason = match included_booking_sources {
                    None => Reason::Required,
                    Some(sources) if sources.is_empty() => Reason::MinItems(1),
                    Some(_) => return Vec::new(),
                };
                vec![(vec![PathSegment::from("includedBookingSources")], reason)]
            }
            Self::RelativeDate(RelativeDate {
                start_date_relative_type: None,
                end_date_relative_type: None,
                ..
            }) => {
                vec![(
                    vec![PathSegment::from("startDateRelativeType")],
                    Reason::rule(
                        "needs_start_or_end",
                        "is required if endDateRelativeType is not set",
                    ),
                )]
            }
            Self::Seasonal(Seasons { seasonal_windows }) => {
                let inverted = seasonal_windows
                    .iter()
                    .enumerate()
                    .filter(|(_, window)| !window.is_yearly && window.start_date > window.end_date);
                let path = |index: usize| {
                    vec![
                        PathSegment::from("seasonalWindows"),
                        index.into(),
                        "startDate".into(),
                    ]
                };
                inverted
                    .map(|(index, _)| {
                        (
                            path(index),
                            Reason::rule("season_turned", "must not be after endDate"),
                        )
                    })
                    .collect()
            }
            Self::LengthOfStay(StayLength {
                length_of_stay_from_days: Some(from),
                length_of_stay_to_days: Some(to),
            }) if from > to => {
                vec![(
                    vec![PathSegment::from("lengthOfStayFromDays")],
                    Reason::rule(
                        "length_turned",
                        "must not be greater than lengthOfStayToDays",
                    ),
                )]
            }
            Self::BookingSource(_)
            | Self::RelativeDate(_)
            | Self::LengthOfStay(_)
            | Self::VerificationStatus(_) => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema as _;
    use serde_json::{Value, json};

    use super::*;

    fn rules(rules: Value) -> Vec<VisibilityRule> {
        serde_json::from_value(rules).unwrap()
    }

    /// Returns the paths of the issues that `into_rules` finds in a list with one rule.
    fn faults(sent: Value) -> Vec<String> {
        let issues = VisibilityRules(rules(sent))
            .into_rules(&["data"])
            .err()
            .unwrap_or_default();
        issues
            .iter()
            .map(|issue| serde_json::to_string(&issue.path).unwrap())
            .collect()
    }

    #[test]
    fn every_fault_of_a_rule_is_reported_by_path() {
        let only_selected = |sources: Value| {
            json!([
                {
                    "ruleCategory": "booking_source",
                    "sourceRuleType": "only_selected",
                    "includedBookingSources": sources,
                },
            ])
        };
        for sources in [json!(null), json!([])] {
            assert_eq!(
                faults(only_selected(sources)),
                [r#"["data","visibilityRules",0,"includedBookingSources"]"#]
            );
        }
        assert_eq!(faults(only_selected(json!(["direct"]))), [""; 0]);
        let several = json!([
            { "ruleCategory": "relative_date", "daysBefore": 2 },
            {
                "ruleCategory": "seasonal",
                "seasonalWindows": [
                    { "startDate": "2026-01-01", "endDate": "2026-01-01" },
                    { "startDate": "2026-01-02", "endDate": "2026-01-01" },
                ],
            },
            {
                "ruleCategory": "length_of_stay",
                "lengthOfStayFromDays": 4,
                "lengthOfStayToDays": 3,
            },
            { "ruleCategory": "length_of_stay" },
        ]);
        let expected = [
            r#"["data","visibilityRules",0,"startDateRelativeType"]"#,
            r#"["data","visibilityRules",1,"seasonalWindows",1,"startDate"]"#,
            r#"["data","visibilityRules",2,"lengthOfStayFromDays"]"#,
            r#"["data","visibilityRules",3,"ruleCategory"]"#,
        ];
        assert_eq!(faults(several), expected);
    }

    #[test]
    fn a_yearly_season_counts_month_and_day_and_may_run_over_the_end_of_the_year() {
        let window = |start: &str, end: &str| Window {
            start_date: start.parse().unwrap(),
            end_date: end.parse().unwrap(),
            is_yearly: true,
        };
        let has = |window: Window, night: &str| window.contains_night(night.parse().unwrap());
        let summer = window("2020-06-01", "2020-08-31");
        let winter = window("2020-12-20", "2020-01-06");
        let leap = window("2024-02-29", "2024-02-29");
        for (window, inside, outside) in [
            (
                summer,
                ["2026-06-01", "1999-08-31"],
                ["2026-05-31", "2020-09-01"],
            ),
            (
                winter,
                ["2026-12-20", "2027-01-06"],
                ["2026-12-19", "2027-01-07"],
            ),
            (
                leap,
                ["2024-02-29", "2028-02-29"],
                ["2026-02-28", "2026-03-01"],
            ),
        ] {
            assert!(inside.iter().all(|night| has(window, night)), "{window:?}");
            assert!(
                !outside.iter().any(|night| has(window, night)),
                "{window:?}"
            );
        }
        let turned = json!([{ "ruleCategory": "seasonal", "seasonalWindows": [
            { "startDate": "2026-12-20", "endDate": "2026-01-06", "isYearly": true },
        ] }]);
        assert_eq!(faults(turned.clone()), [""; 0]);
        assert_eq!(serde_json::to_value(rules(turned.clone())).unwrap(), turned);
    }

    #[test]
    fn seasons_are_over_when_every_window_is() {
        let today = "2026-11-22".parse().unwrap();
        let over = |windows: Value| {
            let rule = json!([{ "ruleCategory": "seasonal", "seasonalWindows": windows }]);
            seasons_are_over(&rules(rule), today)
        };
        let past = json!({ "startDate": "2026-06-01", "endDate": "2026-11-21" });
        let current = json!({ "startDate": "2026-06-01", "endDate": "2026-11-22" });
        let yearly =
            json!({ "startDate": "2020-06-01", "endDate": "2020-06-01", "isYearly": true });
        assert!(over(json!([past])));
        assert!(!over(json!([past, current])) && !over(json!([past, yearly])));
        assert!(!seasons_are_over(&[], today));
    }

    #[test]
    fn a_rule_keeps_the_fields_of_its_category() {
        let sent = json!([
            {
                "ruleCategory": "length_of_stay",
                "lengthOfStayFromDays": 3,
                "daysBefore": "soon",
                "sourceRuleType": 5,
                "seasonalWindows": {},
            },
            {
                "ruleCategory": "relative_date",
                "startDateRelativeType": "before_check_in",
                "daysBefore": null,
                "verificationStatuses": null,
            },
        ]);
        let kept = json!([
            { "ruleCategory": "length_of_stay", "lengthOfStayFromDays": 3 },
            { "ruleCategory": "relative_date", "startDateRelativeType": "before_check_in" },
        ]);
        assert_eq!(serde_json::to_value(rules(sent)).unwrap(), kept);
    }

    #[test]
    fn the_example_of_a_rule_fits_its_schema() {
        let schema =
            VisibilityRule::json_schema(&mut engine::operation::inline_generator()).to_value();
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        let example = rules(json!([schema["examples"][0]]));
        assert_eq!(
            serde_json::to_value(&example[0]).unwrap(),
            schema["examples"][0]
        );
        assert!(validator.is_valid(&schema["examples"][0]));
        assert!(!validator.is_valid(&json!({ "ruleCategory": "seasonal" })));
    }
}
