//! The visibility rules of a manual: their fields, as they are written, stored and answered (spec: House manual,
//! `visibilityRules`; contract: Manuals).
//!
//! A rule is written with fields of any category and keeps those of its own. What one field says is judged by the schema of
//! [`VisibilityRules`] (`rule_schema.rs`). What several fields say together is judged by [`VisibilityRules::into_rules`].

use engine::error::{Issue, PathSegment, Reason};
use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use strum::{AsRefStr, VariantArray};

use crate::records::VerificationStatus;

/// The kinds of rules, in the order of the spec's table, named as in `ruleCategory`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, AsRefStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Category {
    /// The moment lies between two moments of the stay.
    RelativeDate,
    /// A night of the stay lies in a season.
    Seasonal,
    /// The stay has so many nights.
    LengthOfStay,
    /// The stay was booked through a certain channel.
    BookingSource,
    /// The guest's identity has been verified so far.
    VerificationStatus,
}

/// A rule, as it is stored and answered: of the fields sent, those of its category.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ruleCategory", rename_all = "snake_case")]
pub enum Rule {
    /// Holds between two moments of the stay.
    RelativeDate(RelativeDate),
    /// Holds for stays with a night in a season.
    Seasonal(Seasons),
    /// Holds for stays of some length.
    LengthOfStay(StayLength),
    /// Holds for some booking channels.
    BookingSource(Sources),
    /// Holds while the guest's verification stands so.
    VerificationStatus(Verifications),
}

/// From one moment of the stay until another. A side without an anchor is open, and its number is not looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RelativeDate {
    /// What the start counts from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_date_relative_type: Option<Anchor>,
    /// How many units the start is away from its anchor, whichever way; none is 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub days_before: Option<u32>,
    /// The unit of the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub days_before_time_unit: Option<Unit>,
    /// What the end counts from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_date_relative_type: Option<Anchor>,
    /// How many units the end is away from its anchor, whichever way; none is 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub days_after: Option<u32>,
    /// The unit of the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub days_after_time_unit: Option<Unit>,
}

/// A moment of the stay that others are counted from, and the way they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Anchor {
    /// Back from check-in.
    BeforeCheckIn,
    /// Forward from check-in.
    AfterCheckIn,
    /// Back from check-out.
    BeforeCheckOut,
    /// Forward from check-out.
    AfterCheckOut,
    /// Check-in itself.
    CheckInTime,
    /// Check-out itself.
    CheckOutTime,
}

impl Anchor {
    pub(super) const fn is_check_in(self) -> bool {
        matches!(self, Self::BeforeCheckIn | Self::AfterCheckIn | Self::CheckInTime)
    }

    /// What a unit counts.
    pub(super) const fn direction(self) -> i64 {
        match self {
            Self::BeforeCheckIn | Self::BeforeCheckOut => -1,
            Self::AfterCheckIn | Self::AfterCheckOut => 1,
            Self::CheckInTime | Self::CheckOutTime => 0,
        }
    }
}

/// What a relative date is counted in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Days of the calendar: the same local time on another date.
    #[default]
    Day,
    /// Hours that pass, however the clocks change.
    Hour,
}

/// Seasons, any one of which will do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Seasons {
    /// At least one.
    pub seasonal_windows: Vec<Window>,
}

/// A season.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Window {
    /// The first night.
    pub start_date: Date,
    /// The last night.
    pub end_date: Date,
}

/// The length of a stay in nights, both bounds included.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StayLength {
    /// The shortest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length_of_stay_from_days: Option<u32>,
    /// The longest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length_of_stay_to_days: Option<u32>,
}

/// Booking channels, by the identifiers that reservations have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sources {
    /// Which of the two lists counts.
    pub source_rule_type: SourceRuleType,
    /// Not empty where it counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub included_booking_sources: Option<Vec<String>>,
    /// May exclude nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excluded_booking_sources: Option<Vec<String>>,
}

/// Which of the lists of booking channels counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceRuleType {
    /// The channels included.
    OnlySelected,
    /// All but the channels excluded.
    AllExceptSelected,
}

/// How far the guest's identity has been verified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Verifications {
    /// Any one of these.
    pub verification_statuses: Vec<VerificationStatus>,
}

/// The rules of a manual as they are written. They replace all that there were.
#[derive(Debug, Clone, Deserialize)]
#[serde(transparent)]
pub struct VisibilityRules(Vec<Rule>);

impl VisibilityRules {
    /// The rules, or everything that is wrong with several fields of one or with several of them.
    ///
    /// `base` is where `visibilityRules` stands in the body.
    pub fn into_rules(self, base: &[&str]) -> Result<Vec<Rule>, Vec<Issue>> {
        let mut issues = Vec::new();
        for (index, rule) in self.0.iter().enumerate() {
            let is_second = self.0[..index].iter().any(|earlier| earlier.category() == rule.category());
            let repeated = is_second
                .then(|| (vec![PathSegment::from("ruleCategory")], Reason::rule("category_twice", "is the category of another rule")));
            for (below, reason) in rule.faults().into_iter().chain(repeated) {
                let above = base.iter().map(|key| PathSegment::from(*key)).chain([PathSegment::from("visibilityRules"), index.into()]);
                issues.push(Issue::at(above.chain(below).collect(), reason));
            }
        }
        if issues.is_empty() { Ok(self.0) } else { Err(issues) }
    }
}

impl Rule {
    /// Its category.
    #[must_use]
    pub const fn category(&self) -> Category {
        match self {
            Self::RelativeDate(_) => Category::RelativeDate,
            Self::Seasonal(_) => Category::Seasonal,
            Self::LengthOfStay(_) => Category::LengthOfStay,
            Self::BookingSource(_) => Category::BookingSource,
            Self::VerificationStatus(_) => Category::VerificationStatus,
        }
    }

    /// What is wrong with several fields together: below the rule, and how.
    fn faults(&self) -> Vec<(Vec<PathSegment>, Reason)> {
        match self {
            Self::BookingSource(Sources { source_rule_type: SourceRuleType::OnlySelected, included_booking_sources, .. }) => {
                let reason = match included_booking_sources {
                    None => Reason::Required,
                    Some(sources) if sources.is_empty() => Reason::MinItems(1),
                    Some(_) => return Vec::new(),
                };
                vec![(vec![PathSegment::from("includedBookingSources")], reason)]
            }
            Self::RelativeDate(RelativeDate { start_date_relative_type: None, end_date_relative_type: None, .. }) => {
                vec![(
                    vec![PathSegment::from("startDateRelativeType")],
                    Reason::rule("needs_start_or_end", "is required where there is no endDateRelativeType"),
                )]
            }
            Self::Seasonal(Seasons { seasonal_windows }) => {
                let inverted = seasonal_windows.iter().enumerate().filter(|(_, window)| window.start_date > window.end_date);
                let path = |place: usize| vec![PathSegment::from("seasonalWindows"), place.into(), "startDate".into()];
                inverted.map(|(place, _)| (path(place), Reason::rule("season_turned", "must not be after endDate"))).collect()
            }
            Self::LengthOfStay(StayLength { length_of_stay_from_days: Some(from), length_of_stay_to_days: Some(to) }) if from > to => {
                vec![(
                    vec![PathSegment::from("lengthOfStayFromDays")],
                    Reason::rule("length_turned", "must not be above lengthOfStayToDays"),
                )]
            }
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema as _;
    use serde_json::{Value, json};

    use super::*;

    fn rules(rules: Value) -> Vec<Rule> {
        serde_json::from_value(rules).unwrap()
    }

    /// Where a list of rules is at fault in what several fields say together.
    fn faults(sent: Value) -> Vec<String> {
        let issues = VisibilityRules(rules(sent)).into_rules(&["data"]).err().unwrap_or_default();
        issues.iter().map(|issue| serde_json::to_string(&issue.path).unwrap()).collect()
    }

    #[test]
    fn every_fault_is_named_where_it_stands() {
        let only_selected = |sources: Value| json!([{ "ruleCategory": "booking_source", "sourceRuleType": "only_selected", "includedBookingSources": sources }]);
        for sources in [json!(null), json!([])] {
            assert_eq!(faults(only_selected(sources)), [r#"["data","visibilityRules",0,"includedBookingSources"]"#]);
        }
        assert_eq!(faults(only_selected(json!(["direct"]))), [""; 0]);
        let several = json!([
            { "ruleCategory": "relative_date", "daysBefore": 2 },
            { "ruleCategory": "seasonal", "seasonalWindows": [
                { "startDate": "2026-01-01", "endDate": "2026-01-01" }, { "startDate": "2026-01-02", "endDate": "2026-01-01" },
            ] },
            { "ruleCategory": "length_of_stay", "lengthOfStayFromDays": 4, "lengthOfStayToDays": 3 },
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
    fn a_rule_keeps_the_fields_of_its_category() {
        let sent = json!([
            { "ruleCategory": "length_of_stay", "lengthOfStayFromDays": 3, "daysBefore": "soon", "sourceRuleType": 5, "seasonalWindows": {} },
            { "ruleCategory": "relative_date", "startDateRelativeType": "before_check_in", "daysBefore": null, "verificationStatuses": null },
        ]);
        let kept = json!([
            { "ruleCategory": "length_of_stay", "lengthOfStayFromDays": 3 },
            { "ruleCategory": "relative_date", "startDateRelativeType": "before_check_in" },
        ]);
        assert_eq!(serde_json::to_value(rules(sent)).unwrap(), kept);
    }

    #[test]
    fn an_answer_fits_its_schema() {
        let schema = Rule::json_schema(&mut engine::operation::inline_generator()).to_value();
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        let example = rules(json!([schema["examples"][0]]));
        assert_eq!(serde_json::to_value(&example[0]).unwrap(), schema["examples"][0]);
        assert!(validator.is_valid(&schema["examples"][0]));
        assert!(!validator.is_valid(&json!({ "ruleCategory": "seasonal" })));
    }
}
