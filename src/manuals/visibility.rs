//! Whether a manual that reaches a property is shown for a stay (spec: House manual, `visibilityRules`; contract: Manuals).
//!
//! A rule is written with fields of any category and keeps those of its own. What one field says is judged by the schema of
//! [`VisibilityRules`], a branch a category, which leaves foreign fields alone whatever they hold. What several fields say
//! together is judged by [`VisibilityRules::into_rules`].

use std::borrow::Cow;

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::error::{Issue, Step};
use crate::platform::VerificationStatus;

/// The kinds of rules, in the order of the spec's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
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

impl Category {
    /// Every category.
    pub const ALL: [Self; 5] = [Self::RelativeDate, Self::Seasonal, Self::LengthOfStay, Self::BookingSource, Self::VerificationStatus];

    /// As it is written in `ruleCategory`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::RelativeDate => "relative_date",
            Self::Seasonal => "seasonal",
            Self::LengthOfStay => "length_of_stay",
            Self::BookingSource => "booking_source",
            Self::VerificationStatus => "verification_status",
        }
    }

    const fn required(self) -> &'static [&'static str] {
        match self {
            Self::RelativeDate | Self::LengthOfStay => &[],
            Self::Seasonal => &["seasonalWindows"],
            Self::BookingSource => &["sourceRuleType"],
            Self::VerificationStatus => &["verificationStatuses"],
        }
    }

    /// The fields read, each with the JSON Schema of its value.
    fn fields(self) -> Vec<(&'static str, Value)> {
        let number = || json!({ "type": "integer", "minimum": 0, "maximum": i32::MAX });
        let anchor = || {
            let anchors = ["before_check_in", "after_check_in", "before_check_out", "after_check_out", "check_in_time", "check_out_time"];
            json!({ "type": "string", "enum": anchors })
        };
        let unit = || json!({ "type": "string", "enum": ["day", "hour"], "description": "Day where it is left out." });
        let date = || json!({ "type": "string", "format": "date" });
        let channels = || json!({ "type": "array", "items": { "type": "string", "minLength": 1, "maxLength": 200 } });
        match self {
            Self::RelativeDate => vec![
                ("startDateRelativeType", anchor()),
                ("daysBefore", number()),
                ("daysBeforeTimeUnit", unit()),
                ("endDateRelativeType", anchor()),
                ("daysAfter", number()),
                ("daysAfterTimeUnit", unit()),
            ],
            Self::Seasonal => {
                let window = json!({
                    "type": "object",
                    "properties": { "startDate": date(), "endDate": date() },
                    "required": ["startDate", "endDate"],
                    "additionalProperties": false,
                });
                vec![("seasonalWindows", json!({ "type": "array", "minItems": 1, "items": window }))]
            }
            Self::LengthOfStay => vec![("lengthOfStayFromDays", number()), ("lengthOfStayToDays", number())],
            Self::BookingSource => vec![
                ("sourceRuleType", json!({ "type": "string", "enum": ["only_selected", "all_except_selected"] })),
                ("includedBookingSources", channels()),
                ("excludedBookingSources", channels()),
            ],
            Self::VerificationStatus => {
                let status = json!({ "type": "string", "enum": VerificationStatus::ALL.map(VerificationStatus::name) });
                vec![("verificationStatuses", json!({ "type": "array", "minItems": 1, "items": status }))]
            }
        }
    }
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
    const fn is_check_in(self) -> bool {
        matches!(self, Self::BeforeCheckIn | Self::AfterCheckIn | Self::CheckInTime)
    }

    /// What a unit counts.
    const fn direction(self) -> i64 {
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

impl JsonSchema for VisibilityRules {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "VisibilityRules".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut known = Map::new();
        known.insert("ruleCategory".into(), json!({ "type": "string", "enum": Category::ALL.map(Category::name) }));
        let mut shapes = Vec::new();
        for category in Category::ALL {
            let mut own = Map::new();
            for (name, schema) in category.fields() {
                // Of whatever type: in a rule of another category nobody reads it.
                known.insert(name.into(), json!({ "description": format!("Read where ruleCategory is {}.", category.name()) }));
                own.insert(name.into(), if category.required().contains(&name) { schema } else { or_null(schema) });
            }
            shapes.push(json!({
                "if": { "properties": { "ruleCategory": { "const": category.name() } }, "required": ["ruleCategory"] },
                "then": { "properties": own, "required": category.required() },
            }));
        }
        shapes.push(json!({
            "if": {
                "properties": {
                    "ruleCategory": { "const": Category::BookingSource.name() },
                    "sourceRuleType": { "const": SourceRuleType::OnlySelected },
                },
                "required": ["ruleCategory", "sourceRuleType"],
            },
            "then": {
                "properties": { "includedBookingSources": { "type": "array", "minItems": 1 } },
                "required": ["includedBookingSources"],
            },
        }));
        schemars::json_schema!({
            "type": "array",
            "description": "All of them must hold; none means always visible. At most one of a category. \
                A rule keeps the fields of its category, others are ignored.",
            "maxItems": Category::ALL.len(),
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

/// The same, or null, which is as good as leaving the field out.
fn or_null(mut schema: Value) -> Value {
    schema["type"] = json!([schema["type"], "null"]);
    if let Some(values) = schema.get_mut("enum").and_then(Value::as_array_mut) {
        values.push(Value::Null);
    }
    schema
}

impl VisibilityRules {
    /// The rules, or everything that is wrong with several fields of one or with several of them.
    ///
    /// `base` is where `visibilityRules` stands in the body.
    pub fn into_rules(self, base: &[&str]) -> Result<Vec<Rule>, Vec<Issue>> {
        let mut issues = Vec::new();
        for (index, rule) in self.0.iter().enumerate() {
            let is_second = self.0[..index].iter().any(|earlier| earlier.category() == rule.category());
            let repeated = is_second.then(|| (vec![Step::from("ruleCategory")], "is the category of another rule"));
            for (below, message) in rule.faults().into_iter().chain(repeated) {
                let above = base.iter().map(|key| Step::from(*key)).chain([Step::from("visibilityRules"), index.into()]);
                issues.push(Issue { path: above.chain(below).collect(), message: message.into() });
            }
        }
        if issues.is_empty() { Ok(self.0) } else { Err(issues) }
    }
}

impl JsonSchema for Rule {
    fn schema_name() -> Cow<'static, str> {
        "VisibilityRule".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let shapes = Category::ALL.map(|category| {
            let tag = ("ruleCategory", json!({ "type": "string", "const": category.name() }));
            let fields = [tag].into_iter().chain(category.fields()).map(|(name, schema)| (name.to_owned(), schema));
            let required = [&["ruleCategory"][..], category.required()].concat();
            json!({ "type": "object", "properties": fields.collect::<Map<String, Value>>(), "required": required })
        });
        schemars::json_schema!({
            "oneOf": shapes,
            "examples": [{ "ruleCategory": "relative_date", "startDateRelativeType": "before_check_in", "daysBefore": 2 }],
        })
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
    fn faults(&self) -> Vec<(Vec<Step>, &'static str)> {
        match self {
            Self::RelativeDate(RelativeDate { start_date_relative_type: None, end_date_relative_type: None, .. }) => {
                vec![(vec![Step::from("startDateRelativeType")], "is required where there is no endDateRelativeType")]
            }
            Self::Seasonal(Seasons { seasonal_windows }) => {
                let inverted = seasonal_windows.iter().enumerate().filter(|(_, window)| window.start_date > window.end_date);
                let path = |place: usize| vec![Step::from("seasonalWindows"), place.into(), "startDate".into()];
                inverted.map(|(place, _)| (path(place), "must not be after endDate")).collect()
            }
            Self::LengthOfStay(StayLength { length_of_stay_from_days: Some(from), length_of_stay_to_days: Some(to) }) if from > to => {
                vec![(vec![Step::from("lengthOfStayFromDays")], "must not be above lengthOfStayToDays")]
            }
            _ => Vec::new(),
        }
    }

    /// What hides a manual with this rule.
    fn refusal(&self, stay: &StayFacts, at: Timestamp) -> Option<Verdict> {
        match self {
            Self::RelativeDate(rule) => {
                let bound = |anchor: Option<Anchor>, number, unit| anchor.map(|anchor| stay.moment(anchor, number, unit));
                let start = bound(rule.start_date_relative_type, rule.days_before, rule.days_before_time_unit);
                let end = bound(rule.end_date_relative_type, rule.days_after, rule.days_after_time_unit);
                let early = start.filter(|start| at < *start).map(|start| Verdict::TooEarly(stay.zone.to_datetime(start)));
                early.or_else(|| end.filter(|end| at >= *end).map(|end| Verdict::TooLate(stay.zone.to_datetime(end))))
            }
            Self::Seasonal(rule) => {
                let has_night_in =
                    |window: &Window| stay.nights() > 0 && window.start_date < stay.check_out && stay.check_in <= window.end_date;
                (!rule.seasonal_windows.iter().any(has_night_in)).then_some(Verdict::OutOfSeason)
            }
            Self::LengthOfStay(rule) => {
                let nights = stay.nights();
                let short = rule.length_of_stay_from_days.filter(|least| nights < i64::from(*least));
                let long = rule.length_of_stay_to_days.filter(|most| nights > i64::from(*most));
                let short = short.map(|least| Verdict::StayTooShort { nights, least });
                short.or_else(|| long.map(|most| Verdict::StayTooLong { nights, most }))
            }
            Self::BookingSource(rule) => {
                let names = |channels: &Option<Vec<String>>| channels.iter().flatten().any(|channel| *channel == stay.channel);
                let is_let_through = match rule.source_rule_type {
                    SourceRuleType::OnlySelected => names(&rule.included_booking_sources),
                    SourceRuleType::AllExceptSelected => !names(&rule.excluded_booking_sources),
                };
                (!is_let_through).then(|| Verdict::BookingSource(stay.channel.clone()))
            }
            Self::VerificationStatus(rule) => {
                let status = stay.verification_status.unwrap_or_default();
                (!rule.verification_statuses.contains(&status)).then_some(Verdict::VerificationStatus(status))
            }
        }
    }
}

/// What the rules look at.
#[derive(Debug, Clone)]
pub struct StayFacts {
    /// The first day.
    pub check_in: Date,
    /// The day of leaving.
    pub check_out: Date,
    /// Local time from which guests may come; the start of the day where the property names none.
    pub check_in_time: Option<Time>,
    /// Local time by which guests must have gone; the end of the day where the property names none.
    pub check_out_time: Option<Time>,
    /// The property's time zone.
    pub zone: TimeZone,
    /// The booking channel.
    pub channel: String,
    /// How far the guest's identity has been verified; not at all where it is missing.
    pub verification_status: Option<VerificationStatus>,
}

impl StayFacts {
    fn nights(&self) -> i64 {
        (self.check_in.duration_until(self.check_out).as_hours() / 24).max(0)
    }

    /// An anchor shifted by its number of units, as far as the calendar goes.
    fn moment(&self, anchor: Anchor, number: Option<u32>, unit: Option<Unit>) -> Timestamp {
        let (date, time) = if anchor.is_check_in() {
            (self.check_in, self.check_in_time.unwrap_or(Time::MIN))
        } else {
            (self.check_out, self.check_out_time.unwrap_or(Time::MAX))
        };
        let count = anchor.direction() * i64::from(number.unwrap_or(0));
        match unit.unwrap_or_default() {
            // The date is shifted and not the moment, so that the local time stays what it is when clocks change.
            Unit::Day => self.at_local(date.saturating_add(SignedDuration::from_hours(24 * count)), time),
            Unit::Hour => {
                let moment = self.at_local(date, time);
                moment.saturating_add(SignedDuration::from_hours(count)).unwrap_or(moment)
            }
        }
    }

    /// A local time as a moment. One that clocks leave out is read as if they had not been put forward yet; of one that
    /// comes twice it is the first.
    fn at_local(&self, date: Date, time: Time) -> Timestamp {
        let end = if date.year() < 0 { Timestamp::MIN } else { Timestamp::MAX };
        self.zone.to_timestamp(date.to_datetime(time)).unwrap_or(end)
    }
}

/// What the rules come to for a stay at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Every rule holds.
    Visible,
    /// Shown from this local time on, which is still to come.
    TooEarly(DateTime),
    /// Shown until this local time, which has come.
    TooLate(DateTime),
    /// No night of the stay lies in a season.
    OutOfSeason,
    /// The stay has fewer nights than it takes.
    StayTooShort {
        /// Of the stay.
        nights: i64,
        /// It takes so many.
        least: u32,
    },
    /// The stay has more nights than it may.
    StayTooLong {
        /// Of the stay.
        nights: i64,
        /// It may have so many.
        most: u32,
    },
    /// Not for stays booked through this channel.
    BookingSource(String),
    /// Not for guests whose verification stands so.
    VerificationStatus(VerificationStatus),
}

impl Verdict {
    /// Whether the manual is shown.
    #[must_use]
    pub const fn is_shown(&self) -> bool {
        matches!(self, Self::Visible)
    }

    /// The reason, for machines.
    #[must_use]
    pub const fn key(&self) -> &'static str {
        match self {
            Self::Visible => "visible",
            Self::TooEarly(_) => "too_early",
            Self::TooLate(_) => "too_late",
            Self::OutOfSeason => "out_of_season",
            Self::StayTooShort { .. } => "stay_too_short",
            Self::StayTooLong { .. } => "stay_too_long",
            Self::BookingSource(_) => "booking_source",
            Self::VerificationStatus(_) => "verification_status",
        }
    }

    /// The reason as a sentence.
    #[must_use]
    pub fn message(&self) -> String {
        match self {
            Self::Visible => "Every visibility rule holds.".into(),
            Self::TooEarly(from) => format!("It is shown from {from:.0} on, in the property's time."),
            Self::TooLate(until) => format!("It is shown until {until:.0}, in the property's time."),
            Self::OutOfSeason => "No night of the stay lies in one of its seasons.".into(),
            Self::StayTooShort { nights, least } => format!("It is shown for stays from {least} nights on; this one has {nights}."),
            Self::StayTooLong { nights, most } => format!("It is shown for stays up to {most} nights; this one has {nights}."),
            Self::BookingSource(channel) => format!("It is not shown for bookings through {channel}."),
            Self::VerificationStatus(status) => format!("It is not shown while the guest's verification is {}.", status.name()),
        }
    }
}

/// Whether a manual with these rules is shown for a stay, or else the first rule, by category, that hides it.
///
/// A relative date shows from its start on and no longer at its end, so that one manual can take over from another at the
/// same anchor. A start that is not before its end shows nothing.
#[must_use]
pub fn decide(rules: &[Rule], stay: &StayFacts, at: Timestamp) -> Verdict {
    let mut rules: Vec<&Rule> = rules.iter().collect();
    rules.sort_by_key(|rule| rule.category());
    rules.into_iter().find_map(|rule| rule.refusal(stay, at)).unwrap_or(Verdict::Visible)
}

#[cfg(test)]
mod tests {
    use jsonschema::error::ValidationErrorKind;
    use proptest::prelude::*;

    use super::*;

    fn rules(rules: Value) -> Vec<Rule> {
        serde_json::from_value(rules).unwrap()
    }

    /// Where a list of rules is at fault: by the schema, else in what the schema cannot say.
    fn faults(sent: Value) -> Vec<String> {
        let schema = VisibilityRules::json_schema(&mut crate::operation::inline_generator()).to_value();
        let options = crate::format::STATIC
            .iter()
            .fold(jsonschema::draft202012::options(), |options, format| options.with_format(format.name, format.holds));
        let validator = options.should_validate_formats(true).build(&schema).unwrap();
        let place = |error: jsonschema::ValidationError<'_>| match error.kind() {
            ValidationErrorKind::Required { property } => format!("{}/{}", error.instance_path(), property.as_str().unwrap()),
            ValidationErrorKind::AdditionalProperties { unexpected } => format!("{}/{}", error.instance_path(), unexpected.join(",")),
            _ => error.instance_path().to_string(),
        };
        let mut places: Vec<String> = validator.iter_errors(&sent).map(place).collect();
        if places.is_empty() {
            let issues = VisibilityRules(rules(sent)).into_rules(&["data"]).err().unwrap_or_default();
            places = issues.iter().map(|issue| serde_json::to_string(&issue.path).unwrap()).collect();
        }
        places.sort();
        places.dedup();
        places
    }

    #[test]
    fn every_fault_is_named_where_it_stands() {
        for (sent, expected) in [
            (json!(null), vec![""]),
            (json!([5, {}]), vec!["/0", "/1/ruleCategory"]),
            (json!([{ "ruleCategory": "moon_phase", "daysBefore": -1 }]), vec!["/0/ruleCategory"]),
            (json!([{ "ruleCategory": "seasonal", "colour": 1 }]), vec!["/0/colour", "/0/seasonalWindows"]),
            (json!([{ "ruleCategory": "seasonal", "seasonalWindows": [] }]), vec!["/0/seasonalWindows"]),
            (json!([{ "ruleCategory": "seasonal", "seasonalWindows": null }]), vec!["/0/seasonalWindows"]),
            (
                json!([{ "ruleCategory": "seasonal", "seasonalWindows": [{ "startDate": "2026-02-30", "name": "Lent" }] }]),
                vec!["/0/seasonalWindows/0/endDate", "/0/seasonalWindows/0/name", "/0/seasonalWindows/0/startDate"],
            ),
            (
                json!([
                    { "ruleCategory": "relative_date", "startDateRelativeType": "noon", "daysBefore": -1, "daysAfter": 1.5, "daysAfterTimeUnit": "week" },
                    { "ruleCategory": "length_of_stay", "lengthOfStayFromDays": -1, "lengthOfStayToDays": "3" },
                    { "ruleCategory": "booking_source", "sourceRuleType": "some", "includedBookingSources": "direct" },
                    { "ruleCategory": "verification_status", "verificationStatuses": ["verified", "certified"] },
                ]),
                vec![
                    "/0/daysAfter",
                    "/0/daysAfterTimeUnit",
                    "/0/daysBefore",
                    "/0/startDateRelativeType",
                    "/1/lengthOfStayFromDays",
                    "/1/lengthOfStayToDays",
                    "/2/includedBookingSources",
                    "/2/sourceRuleType",
                    "/3/verificationStatuses/1",
                ],
            ),
            (json!([{ "ruleCategory": "booking_source" }]), vec!["/0/sourceRuleType"]),
            (json!([{ "ruleCategory": "booking_source", "sourceRuleType": "only_selected" }]), vec!["/0/includedBookingSources"]),
            (
                json!([{ "ruleCategory": "booking_source", "sourceRuleType": "only_selected", "includedBookingSources": null }]),
                vec!["/0/includedBookingSources"],
            ),
            (
                json!([{ "ruleCategory": "booking_source", "sourceRuleType": "only_selected", "includedBookingSources": [] }]),
                vec!["/0/includedBookingSources"],
            ),
            (json!([{ "ruleCategory": "verification_status", "verificationStatuses": [] }]), vec!["/0/verificationStatuses"]),
            (
                json!([
                    { "ruleCategory": "relative_date", "daysBefore": 2 },
                    { "ruleCategory": "seasonal", "seasonalWindows": [
                        { "startDate": "2026-01-01", "endDate": "2026-01-01" }, { "startDate": "2026-01-02", "endDate": "2026-01-01" },
                    ] },
                    { "ruleCategory": "length_of_stay", "lengthOfStayFromDays": 4, "lengthOfStayToDays": 3 },
                    { "ruleCategory": "length_of_stay" },
                ]),
                vec![
                    r#"["data","visibilityRules",0,"startDateRelativeType"]"#,
                    r#"["data","visibilityRules",1,"seasonalWindows",1,"startDate"]"#,
                    r#"["data","visibilityRules",2,"lengthOfStayFromDays"]"#,
                    r#"["data","visibilityRules",3,"ruleCategory"]"#,
                ],
            ),
        ] {
            assert_eq!(faults(sent.clone()), expected, "{sent}");
        }
    }

    #[test]
    fn what_may_be_sent_is_taken() {
        let every = json!([
            { "ruleCategory": "relative_date", "startDateRelativeType": null, "daysBefore": null, "endDateRelativeType": "check_out_time" },
            { "ruleCategory": "seasonal", "seasonalWindows": [{ "startDate": "2026-06-01", "endDate": "2026-06-01" }] },
            { "ruleCategory": "length_of_stay", "lengthOfStayFromDays": 3, "lengthOfStayToDays": 3 },
            { "ruleCategory": "booking_source", "sourceRuleType": "all_except_selected", "excludedBookingSources": [] },
            { "ruleCategory": "verification_status", "verificationStatuses": ["unverified", "pending", "verified", "failed"] },
        ]);
        assert_eq!(faults(every), [""; 0]);
        for unit in ["day", "hour"] {
            for anchor in ["before_check_in", "after_check_in", "before_check_out", "after_check_out", "check_in_time", "check_out_time"] {
                let rule =
                    json!({ "ruleCategory": "relative_date", "endDateRelativeType": anchor, "daysAfter": 1, "daysAfterTimeUnit": unit });
                assert_eq!(faults(json!([rule])), [""; 0], "{anchor} {unit}");
            }
        }
        let nothing_excluded = json!([{ "ruleCategory": "booking_source", "sourceRuleType": "all_except_selected" }]);
        assert_eq!(faults(nothing_excluded), [""; 0]);
    }

    #[test]
    fn a_rule_keeps_the_fields_of_its_category() {
        let sent = json!([
            { "ruleCategory": "length_of_stay", "lengthOfStayFromDays": 3, "daysBefore": "soon", "sourceRuleType": 5, "seasonalWindows": {} },
            { "ruleCategory": "relative_date", "startDateRelativeType": "before_check_in", "daysBefore": null, "verificationStatuses": null },
        ]);
        assert_eq!(faults(sent.clone()), [""; 0]);
        let kept = json!([
            { "ruleCategory": "length_of_stay", "lengthOfStayFromDays": 3 },
            { "ruleCategory": "relative_date", "startDateRelativeType": "before_check_in" },
        ]);
        assert_eq!(serde_json::to_value(rules(sent)).unwrap(), kept);
    }

    #[test]
    fn an_answer_fits_its_schema() {
        let schema = Rule::json_schema(&mut crate::operation::inline_generator()).to_value();
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        let example = rules(json!([schema["examples"][0]]));
        assert_eq!(serde_json::to_value(&example[0]).unwrap(), schema["examples"][0]);
        assert!(validator.is_valid(&schema["examples"][0]));
        assert!(!validator.is_valid(&json!({ "ruleCategory": "seasonal" })));
    }

    /// Four nights in Barcelona, from 2026-12-11T14:00Z to 2026-12-15T10:00Z.
    fn stay() -> StayFacts {
        StayFacts {
            check_in: "2026-12-11".parse().unwrap(),
            check_out: "2026-12-15".parse().unwrap(),
            check_in_time: Some("15:00".parse().unwrap()),
            check_out_time: Some("11:00".parse().unwrap()),
            zone: TimeZone::get("Europe/Madrid").unwrap(),
            channel: "direct".into(),
            verification_status: None,
        }
    }

    #[test]
    fn anchors_are_shifted_by_the_calendar_or_by_the_hour() {
        use Anchor::{AfterCheckIn, AfterCheckOut, BeforeCheckIn, BeforeCheckOut, CheckInTime};
        use Unit::{Day, Hour};
        const MADRID: &str = "Europe/Madrid";
        const NEW_YORK: &str = "America/New_York";
        for (zone, date, time, anchor, number, unit, expected) in [
            // Clocks go forward at 02:00 on 29 March.
            (MADRID, "2026-03-29", Some("15:00"), CheckInTime, 7, Day, "2026-03-29T13:00:00Z"),
            (MADRID, "2026-03-29", Some("15:00"), BeforeCheckIn, 1, Day, "2026-03-28T14:00:00Z"),
            (MADRID, "2026-03-29", Some("15:00"), BeforeCheckIn, 24, Hour, "2026-03-28T13:00:00Z"),
            (MADRID, "2026-03-28", Some("15:00"), AfterCheckIn, 1, Day, "2026-03-29T13:00:00Z"),
            (MADRID, "2026-03-28", Some("15:00"), AfterCheckIn, 24, Hour, "2026-03-29T14:00:00Z"),
            (MADRID, "2026-03-29", Some("02:30"), CheckInTime, 0, Day, "2026-03-29T01:30:00Z"),
            (MADRID, "2026-03-30", Some("02:30"), BeforeCheckOut, 1, Day, "2026-03-29T01:30:00Z"),
            (MADRID, "2026-03-30", Some("02:30"), BeforeCheckOut, 24, Hour, "2026-03-29T00:30:00Z"),
            (MADRID, "2026-03-29", Some("02:30"), AfterCheckOut, 1, Day, "2026-03-30T00:30:00Z"),
            (MADRID, "2026-03-29", None, AfterCheckIn, 0, Day, "2026-03-28T23:00:00Z"),
            (MADRID, "2026-03-29", None, AfterCheckOut, 0, Hour, "2026-03-29T21:59:59.999999999Z"),
            // They go back at 03:00 on 25 October.
            (MADRID, "2026-10-25", Some("15:00"), BeforeCheckIn, 1, Day, "2026-10-24T13:00:00Z"),
            (MADRID, "2026-10-25", Some("15:00"), BeforeCheckIn, 24, Hour, "2026-10-24T14:00:00Z"),
            (MADRID, "2026-10-25", Some("02:30"), CheckInTime, 0, Hour, "2026-10-25T00:30:00Z"),
            (MADRID, "2026-10-24", Some("02:30"), AfterCheckOut, 1, Day, "2026-10-25T00:30:00Z"),
            (MADRID, "2026-10-24", Some("02:30"), AfterCheckOut, 25, Hour, "2026-10-25T01:30:00Z"),
            (MADRID, "2026-10-24", Some("11:00"), AfterCheckOut, 1, Day, "2026-10-25T10:00:00Z"),
            (MADRID, "2026-10-24", Some("11:00"), AfterCheckOut, 24, Hour, "2026-10-25T09:00:00Z"),
            // 02:00 on 8 March, and 02:00 on 1 November.
            (NEW_YORK, "2026-03-08", Some("15:00"), BeforeCheckIn, 1, Day, "2026-03-07T20:00:00Z"),
            (NEW_YORK, "2026-03-08", Some("15:00"), BeforeCheckIn, 24, Hour, "2026-03-07T19:00:00Z"),
            (NEW_YORK, "2026-03-09", Some("02:30"), BeforeCheckIn, 1, Day, "2026-03-08T07:30:00Z"),
            (NEW_YORK, "2026-11-01", Some("15:00"), BeforeCheckIn, 1, Day, "2026-10-31T19:00:00Z"),
            (NEW_YORK, "2026-11-01", Some("15:00"), BeforeCheckIn, 24, Hour, "2026-10-31T20:00:00Z"),
            (NEW_YORK, "2026-10-31", Some("01:30"), AfterCheckOut, 1, Day, "2026-11-01T05:30:00Z"),
            (NEW_YORK, "2026-10-31", Some("01:30"), AfterCheckOut, 25, Hour, "2026-11-01T06:30:00Z"),
        ] {
            let (date, time) = (date.parse().unwrap(), time.map(|time| time.parse().unwrap()));
            let zone = TimeZone::get(zone).unwrap();
            let stay = StayFacts { check_in: date, check_out: date, check_in_time: time, check_out_time: time, zone, ..stay() };
            let expected: Timestamp = expected.parse().unwrap();
            assert_eq!(stay.moment(anchor, Some(number), Some(unit)), expected, "{date} {time:?} {anchor:?} {number} {unit:?}");
        }
    }

    #[test]
    fn the_calendar_has_ends() {
        let year = |moment: Timestamp| TimeZone::UTC.to_datetime(moment).year();
        for unit in [Unit::Day, Unit::Hour] {
            assert_eq!(year(stay().moment(Anchor::BeforeCheckIn, Some(u32::MAX), Some(unit))), -9999);
            assert_eq!(year(stay().moment(Anchor::AfterCheckOut, Some(u32::MAX), Some(unit))), 9999);
        }
    }

    #[test]
    fn a_relative_date_begins_with_its_start_and_ends_before_its_end() {
        let around = json!({
            "startDateRelativeType": "before_check_in", "daysBefore": 2, "endDateRelativeType": "after_check_out", "daysAfter": 2,
            "daysAfterTimeUnit": "hour",
        });
        let open_end = json!({ "startDateRelativeType": "before_check_in", "daysAfter": 2 });
        let open_start = json!({ "endDateRelativeType": "check_out_time", "daysBefore": 2, "daysAfter": 5 });
        let never = json!({ "startDateRelativeType": "check_in_time", "endDateRelativeType": "check_in_time" });
        for (fields, at, expected) in [
            (&around, "2026-12-09T13:59:59.999Z", "too_early"),
            (&around, "2026-12-09T14:00:00Z", "visible"),
            (&around, "2026-12-15T11:59:59.999Z", "visible"),
            (&around, "2026-12-15T12:00:00Z", "too_late"),
            (&open_end, "2026-12-11T13:59:59.999Z", "too_early"),
            (&open_end, "2026-12-11T14:00:00Z", "visible"),
            (&open_end, "2036-12-11T14:00:00Z", "visible"),
            (&open_start, "2016-12-11T14:00:00Z", "visible"),
            (&open_start, "2026-12-15T09:59:59.999Z", "visible"),
            (&open_start, "2026-12-15T10:00:00Z", "too_late"),
            (&never, "2026-12-11T13:59:59.999Z", "too_early"),
            (&never, "2026-12-11T14:00:00Z", "too_late"),
        ] {
            let mut rule = fields.clone();
            rule["ruleCategory"] = "relative_date".into();
            assert_eq!(decide(&rules(json!([rule])), &stay(), at.parse().unwrap()).key(), expected, "{rule} {at}");
        }
    }

    #[test]
    fn each_rule_has_its_verdict() {
        let season =
            |start: &str, end: &str| json!({ "ruleCategory": "seasonal", "seasonalWindows": [{ "startDate": start, "endDate": end }] });
        let length =
            |from: Value, to: Value| json!({ "ruleCategory": "length_of_stay", "lengthOfStayFromDays": from, "lengthOfStayToDays": to });
        let only = |channels: Value| json!({ "ruleCategory": "booking_source", "sourceRuleType": "only_selected", "includedBookingSources": channels });
        let but = |channels: Value| json!({ "ruleCategory": "booking_source", "sourceRuleType": "all_except_selected", "excludedBookingSources": channels });
        let verified = |statuses: Value| json!({ "ruleCategory": "verification_status", "verificationStatuses": statuses });
        let later = json!({ "ruleCategory": "relative_date", "startDateRelativeType": "check_in_time" });
        for (rule, expected, message) in [
            (season("2026-12-14", "2027-01-06"), "visible", "Every visibility rule holds."),
            (season("2026-12-15", "2027-01-06"), "out_of_season", "No night of the stay lies in one of its seasons."),
            (season("2026-12-01", "2026-12-11"), "visible", "Every visibility rule holds."),
            (season("2026-12-01", "2026-12-10"), "out_of_season", "No night of the stay lies in one of its seasons."),
            (length(json!(4), json!(4)), "visible", "Every visibility rule holds."),
            (length(json!(5), json!(null)), "stay_too_short", "It is shown for stays from 5 nights on; this one has 4."),
            (length(json!(null), json!(3)), "stay_too_long", "It is shown for stays up to 3 nights; this one has 4."),
            (length(json!(null), json!(null)), "visible", "Every visibility rule holds."),
            (only(json!(["airbnb", "direct"])), "visible", "Every visibility rule holds."),
            (only(json!(["airbnb", "Direct"])), "booking_source", "It is not shown for bookings through direct."),
            (but(json!(["airbnb"])), "visible", "Every visibility rule holds."),
            (but(json!([])), "visible", "Every visibility rule holds."),
            (but(json!(["direct"])), "booking_source", "It is not shown for bookings through direct."),
            (verified(json!(["unverified", "failed"])), "visible", "Every visibility rule holds."),
            (verified(json!(["verified"])), "verification_status", "It is not shown while the guest's verification is unverified."),
            (later, "too_early", "It is shown from 2026-12-11T15:00:00 on, in the property's time."),
        ] {
            let verdict = decide(&rules(json!([rule])), &stay(), "2026-12-01T09:30:00Z".parse().unwrap());
            assert_eq!((verdict.key(), verdict.message().as_str()), (expected, message), "{rule}");
            assert_eq!(verdict.is_shown(), expected == "visible");
        }
        let same_day = StayFacts { check_out: stay().check_in, ..stay() };
        assert_eq!(decide(&rules(json!([season("2026-01-01", "2026-12-31")])), &same_day, Timestamp::MIN), Verdict::OutOfSeason);
        let known = StayFacts { verification_status: Some(VerificationStatus::Verified), ..stay() };
        assert!(decide(&rules(json!([verified(json!(["verified"]))])), &known, Timestamp::MIN).is_shown());
        assert!(decide(&[], &stay(), Timestamp::MIN).is_shown());
    }

    #[test]
    fn of_several_rules_the_first_category_that_hides_says_why() {
        let several = rules(json!([
            { "ruleCategory": "verification_status", "verificationStatuses": ["verified"] },
            { "ruleCategory": "length_of_stay", "lengthOfStayToDays": 3 },
            { "ruleCategory": "seasonal", "seasonalWindows": [{ "startDate": "2026-12-01", "endDate": "2026-12-31" }] },
        ]));
        assert_eq!(decide(&several, &stay(), Timestamp::MIN), Verdict::StayTooLong { nights: 4, most: 3 });
    }

    /// A local time as a moment, by the offsets that hold well before and well after it. Where neither of them leads to it
    /// the clock leaves it out, and the one before counts.
    fn naive_moment(zone: &TimeZone, local: DateTime) -> Timestamp {
        let as_utc = TimeZone::UTC.to_timestamp(local).unwrap();
        let by_offset_at = |near: Timestamp| as_utc - SignedDuration::from_secs(zone.to_offset(near).seconds().into());
        let far = SignedDuration::from_hours(26);
        let (before, after) = (by_offset_at(as_utc - far), by_offset_at(as_utc + far));
        if zone.to_datetime(before) != local && zone.to_datetime(after) == local { after } else { before }
    }

    /// An anchor, shifted unit by unit in the way its name says.
    fn naive_anchor(stay: &StayFacts, anchor: Anchor, number: Option<u32>, unit: Option<Unit>) -> Timestamp {
        let name = serde_json::to_value(anchor).unwrap().as_str().unwrap().to_owned();
        let (mut date, time) = if name.contains("check_in") {
            (stay.check_in, stay.check_in_time.unwrap_or(Time::midnight()))
        } else {
            (stay.check_out, stay.check_out_time.unwrap_or(Time::MAX))
        };
        let (is_back, times) = (name.starts_with("before"), if name.ends_with("_time") { 0 } else { number.unwrap_or(0) });
        if unit != Some(Unit::Hour) {
            for _ in 0..times {
                date = if is_back { date.yesterday().unwrap() } else { date.tomorrow().unwrap() };
            }
            return naive_moment(&stay.zone, date.to_datetime(time));
        }
        let hour = SignedDuration::from_hours(1);
        (0..times).fold(naive_moment(&stay.zone, date.to_datetime(time)), |moment, _| if is_back { moment - hour } else { moment + hour })
    }

    fn naive_bounds(rule: &RelativeDate, stay: &StayFacts) -> (Option<Timestamp>, Option<Timestamp>) {
        let bound = |anchor: Option<Anchor>, number, unit| anchor.map(|anchor| naive_anchor(stay, anchor, number, unit));
        (
            bound(rule.start_date_relative_type, rule.days_before, rule.days_before_time_unit),
            bound(rule.end_date_relative_type, rule.days_after, rule.days_after_time_unit),
        )
    }

    /// Whether a rule holds, with the nights of the stay walked through one by one.
    fn naively_holds(rule: &Rule, stay: &StayFacts, at: Timestamp) -> bool {
        let mut nights = vec![];
        let mut night = stay.check_in;
        while night < stay.check_out {
            nights.push(night);
            night = night.tomorrow().unwrap();
        }
        match rule {
            Rule::RelativeDate(rule) => {
                let (start, end) = naive_bounds(rule, stay);
                start.is_none_or(|start| start <= at) && end.is_none_or(|end| at < end)
            }
            Rule::Seasonal(rule) => nights
                .iter()
                .any(|night| rule.seasonal_windows.iter().any(|window| window.start_date <= *night && *night <= window.end_date)),
            Rule::LengthOfStay(rule) => {
                let least = rule.length_of_stay_from_days.unwrap_or(0) as usize;
                let most = rule.length_of_stay_to_days.map_or(usize::MAX, |most| most as usize);
                (least..=most).contains(&nights.len())
            }
            Rule::BookingSource(rule) => {
                let included = rule.included_booking_sources.clone().unwrap_or_default().contains(&stay.channel);
                let excluded = rule.excluded_booking_sources.clone().unwrap_or_default().contains(&stay.channel);
                if rule.source_rule_type == SourceRuleType::OnlySelected { included } else { !excluded }
            }
            Rule::VerificationStatus(rule) => match stay.verification_status {
                Some(status) => rule.verification_statuses.contains(&status),
                None => rule.verification_statuses.contains(&VerificationStatus::Unverified),
            },
        }
    }

    fn category_of(verdict: &Verdict) -> Option<Category> {
        match verdict.key() {
            "visible" => None,
            "too_early" | "too_late" => Some(Category::RelativeDate),
            "out_of_season" => Some(Category::Seasonal),
            "stay_too_short" | "stay_too_long" => Some(Category::LengthOfStay),
            "booking_source" => Some(Category::BookingSource),
            "verification_status" => Some(Category::VerificationStatus),
            other => panic!("{other}"),
        }
    }

    const CHANNELS: [&str; 3] = ["direct", "booking.com", "airbnb"];
    const ANCHORS: [Anchor; 6] = [
        Anchor::BeforeCheckIn,
        Anchor::AfterCheckIn,
        Anchor::BeforeCheckOut,
        Anchor::AfterCheckOut,
        Anchor::CheckInTime,
        Anchor::CheckOutTime,
    ];

    fn channels() -> impl Strategy<Value = Option<Vec<String>>> {
        prop::option::of(prop::sample::subsequence(CHANNELS.to_vec(), 0..=3).prop_map(|names| names.into_iter().map(Into::into).collect()))
    }

    fn side() -> impl Strategy<Value = (Option<Anchor>, Option<u32>, Option<Unit>)> {
        let unit = prop::sample::select(vec![Unit::Day, Unit::Hour]);
        (prop::option::of(prop::sample::select(ANCHORS.to_vec())), prop::option::of(0..60_u32), prop::option::of(unit))
    }

    fn relative_date() -> impl Strategy<Value = Rule> {
        (side(), side()).prop_map(|(start, end)| {
            Rule::RelativeDate(RelativeDate {
                start_date_relative_type: start.0,
                days_before: start.1,
                days_before_time_unit: start.2,
                end_date_relative_type: end.0,
                days_after: end.1,
                days_after_time_unit: end.2,
            })
        })
    }

    /// A date up to so many days after the first day of the year.
    fn date_within(days: i64) -> impl Strategy<Value = Date> {
        (0..days).prop_map(|days| jiff::civil::date(2026, 1, 1).saturating_add(SignedDuration::from_hours(24 * days)))
    }

    fn seasonal() -> impl Strategy<Value = Rule> {
        let window = (date_within(330), 0..30_i64).prop_map(|(start_date, days)| Window {
            start_date,
            end_date: start_date.saturating_add(SignedDuration::from_hours(24 * days)),
        });
        prop::collection::vec(window, 1..4).prop_map(|seasonal_windows| Rule::Seasonal(Seasons { seasonal_windows }))
    }

    fn length_of_stay() -> impl Strategy<Value = Rule> {
        (prop::option::of(0..9_u32), prop::option::of(0..9_u32))
            .prop_map(|(from, to)| Rule::LengthOfStay(StayLength { length_of_stay_from_days: from, length_of_stay_to_days: to }))
    }

    fn booking_source() -> impl Strategy<Value = Rule> {
        let kind = prop::sample::select(vec![SourceRuleType::OnlySelected, SourceRuleType::AllExceptSelected]);
        (kind, channels(), channels()).prop_map(|(source_rule_type, included_booking_sources, excluded_booking_sources)| {
            Rule::BookingSource(Sources { source_rule_type, included_booking_sources, excluded_booking_sources })
        })
    }

    fn verification() -> impl Strategy<Value = Rule> {
        prop::sample::subsequence(VerificationStatus::ALL.to_vec(), 1..=4)
            .prop_map(|verification_statuses| Rule::VerificationStatus(Verifications { verification_statuses }))
    }

    fn some_rules() -> impl Strategy<Value = Vec<Rule>> {
        let each = (
            prop::option::of(relative_date()),
            prop::option::of(seasonal()),
            prop::option::of(length_of_stay()),
            prop::option::of(booking_source()),
            prop::option::of(verification()),
        );
        each.prop_map(|(date, season, length, source, status)| {
            [date, season, length, source, status].into_iter().flatten().collect::<Vec<_>>()
        })
        .prop_shuffle()
    }

    fn time_of_day() -> impl Strategy<Value = Option<Time>> {
        prop::option::of(
            (0..24_i8, prop::sample::select(vec![0_i8, 15, 30])).prop_map(|(hour, minute)| jiff::civil::time(hour, minute, 0, 0)),
        )
    }

    prop_compose! {
        /// Most stays begin near a change of the clocks.
        fn some_stay()(
            zone in prop::sample::select(vec!["Europe/Madrid", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"]),
            check_in in prop_oneof![
                (prop::sample::select(vec!["2026-03-27", "2026-10-23", "2026-03-06", "2026-10-30", "2026-04-03"]), 0..5_i64)
                    .prop_map(|(day, days)| day.parse::<Date>().unwrap().saturating_add(SignedDuration::from_hours(24 * days))),
                date_within(330),
            ],
            nights in 0..9_i64,
            times in (time_of_day(), time_of_day()),
            channel in prop::sample::select(CHANNELS.to_vec()),
            verification_status in prop::option::of(prop::sample::select(VerificationStatus::ALL.to_vec())),
        ) -> StayFacts {
            StayFacts {
                check_in,
                check_out: check_in.saturating_add(SignedDuration::from_hours(24 * nights)),
                check_in_time: times.0,
                check_out_time: times.1,
                zone: TimeZone::get(zone).unwrap(),
                channel: channel.into(),
                verification_status,
            }
        }
    }

    proptest! {
        /// Against the contract's sentences, followed step by step, at any moment and at those where something changes.
        #[test]
        fn agrees_with_the_sentences(rules in some_rules(), stay in some_stay(), hours in -100..400_i64) {
            let at = naive_moment(&stay.zone, stay.check_in.to_datetime(Time::midnight())) + SignedDuration::from_hours(hours);
            let mut moments = vec![at];
            for rule in &rules {
                if let Rule::RelativeDate(rule) = rule {
                    let (start, end) = naive_bounds(rule, &stay);
                    moments.extend(start.into_iter().chain(end).flat_map(|bound| [bound, bound - SignedDuration::from_nanos(1)]));
                }
            }
            let mut ordered = rules.clone();
            ordered.sort_by_key(|rule| Category::ALL.iter().position(|category| *category == rule.category()));
            for at in moments {
                let verdict = decide(&rules, &stay, at);
                let hiding = ordered.iter().find(|rule| !naively_holds(rule, &stay, at));
                prop_assert_eq!(category_of(&verdict), hiding.map(Rule::category), "{:?} at {}", verdict, at);
                prop_assert_eq!(verdict.is_shown(), hiding.is_none());
            }
        }
    }
}
