//! Decides whether a manual that is assigned to a property is shown for a stay (rules:
//! manuals#visibility).

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use strum::IntoStaticStr;

use super::rule::{Anchor, Rule, SourceRuleType, Unit, Window};
use crate::records::VerificationStatus;

/// Days of eight years, in which every day of the calendar occurs.
const ALL_DAYS: i64 = 8 * 366;

impl Rule {
    /// Returns the reason if this rule hides the manual.
    fn refusal(&self, stay: &StayFacts, at: Timestamp) -> Option<Visibility> {
        match self {
            Self::RelativeDate(rule) => {
                let bound = |anchor: Option<Anchor>, number, unit| {
                    anchor.map(|anchor| stay.moment(anchor, number, unit))
                };
                let start = bound(
                    rule.start_date_relative_type,
                    rule.days_before,
                    rule.days_before_time_unit,
                );
                let end = bound(
                    rule.end_date_relative_type,
                    rule.days_after,
                    rule.days_after_time_unit,
                );
                let early = start
                    .filter(|start| at < *start)
                    .map(|start| Visibility::TooEarly(stay.zone.to_datetime(start)));
                early.or_else(|| {
                    end.filter(|end| at >= *end)
                        .map(|end| Visibility::TooLate(stay.zone.to_datetime(end)))
                })
            }
            Self::Seasonal(rule) => {
                let has_night_in = |window: &Window| {
                    let nights = stay.nights();
                    if window.is_yearly {
                        // A longer stay has a night on every day of the calendar.
                        let days = (0..nights.min(ALL_DAYS))
                            .map(|day| SignedDuration::from_hours(24 * day));
                        return days
                            .map(|days| stay.check_in.saturating_add(days))
                            .any(|night| window.has(night));
                    }
                    nights > 0
                        && window.start_date < stay.check_out
                        && stay.check_in <= window.end_date
                };
                (!rule.seasonal_windows.iter().any(has_night_in)).then_some(Visibility::OutOfSeason)
            }
            Self::LengthOfStay(rule) => {
                let nights = stay.nights();
                let short = rule
                    .length_of_stay_from_days
                    .filter(|least| nights < i64::from(*least));
                let long = rule
                    .length_of_stay_to_days
                    .filter(|most| nights > i64::from(*most));
                let short = short.map(|least| Visibility::StayTooShort { nights, least });
                short.or_else(|| long.map(|most| Visibility::StayTooLong { nights, most }))
            }
            Self::BookingSource(rule) => {
                let names = |channels: &Option<Vec<String>>| {
                    channels
                        .iter()
                        .flatten()
                        .any(|channel| *channel == stay.channel)
                };
                let is_let_through = match rule.source_rule_type {
                    SourceRuleType::OnlySelected => names(&rule.included_booking_sources),
                    SourceRuleType::AllExceptSelected => !names(&rule.excluded_booking_sources),
                };
                (!is_let_through).then(|| Visibility::BookingSource(stay.channel.clone()))
            }
            Self::VerificationStatus(rule) => {
                let status = stay.verification_status.unwrap_or_default();
                (!rule.verification_statuses.contains(&status))
                    .then_some(Visibility::VerificationStatus(status))
            }
        }
    }
}

/// The facts about a stay that the rules use.
#[derive(Debug, Clone)]
pub struct StayFacts {
    /// The day of arrival.
    pub check_in: Date,
    /// The day of departure.
    pub check_out: Date,
    /// Local time from which guests may arrive. `None` is the start of the day.
    pub check_in_time: Option<Time>,
    /// Local time by which guests must leave. `None` is the end of the day.
    pub check_out_time: Option<Time>,
    /// The property's time zone.
    pub zone: TimeZone,
    /// The booking channel.
    pub channel: String,
    /// State of the guest's verification. `None` counts as the default state.
    pub verification_status: Option<VerificationStatus>,
}

impl StayFacts {
    fn nights(&self) -> i64 {
        (self.check_in.duration_until(self.check_out).as_hours() / 24).max(0)
    }

    /// Returns the moment that is this many units from an anchor, limited to the range of the
    /// calendar.
    pub(super) fn moment(
        &self,
        anchor: Anchor,
        number: Option<u32>,
        unit: Option<Unit>,
    ) -> Timestamp {
        let (date, time) = if anchor.is_check_in() {
            (self.check_in, self.check_in_time.unwrap_or(Time::MIN))
        } else {
            (self.check_out, self.check_out_time.unwrap_or(Time::MAX))
        };
        let count = anchor.direction() * i64::from(number.unwrap_or(0));
        match unit.unwrap_or_default() {
            // The date is shifted instead of the moment, so that the local time stays the same
            // across a change of the clocks.
            Unit::Day => self.at_local(
                date.saturating_add(SignedDuration::from_hours(24 * count)),
                time,
            ),
            Unit::Hour => {
                let moment = self.at_local(date, time);
                moment
                    .saturating_add(SignedDuration::from_hours(count))
                    .unwrap_or(moment)
            }
        }
    }

    /// Converts a local time to a moment. A time skipped by daylight saving is read with the offset
    /// before the change. Of a repeated time, the first occurrence is taken.
    fn at_local(&self, date: Date, time: Time) -> Timestamp {
        let end = if date.year() < 0 {
            Timestamp::MIN
        } else {
            Timestamp::MAX
        };
        self.zone
            .to_timestamp(date.to_datetime(time))
            .unwrap_or(end)
    }
}

/// The decision of the rules for a stay at a moment.
#[derive(Debug, Clone, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Visibility {
    /// Every rule holds.
    Visible,
    /// Shown from this local time on, which is in the future.
    TooEarly(DateTime),
    /// Shown until this local time, which has passed.
    TooLate(DateTime),
    /// No night of the stay is in a season.
    OutOfSeason,
    /// The stay has too few nights.
    StayTooShort {
        /// Nights of the stay.
        nights: i64,
        /// The least number of nights.
        least: u32,
    },
    /// The stay has too many nights.
    StayTooLong {
        /// Nights of the stay.
        nights: i64,
        /// The greatest number of nights.
        most: u32,
    },
    /// Not shown for stays booked through this channel.
    BookingSource(String),
    /// Not shown for guests with this state of verification.
    VerificationStatus(VerificationStatus),
}

impl Visibility {
    /// Returns whether the manual is shown.
    #[must_use]
    pub const fn is_shown(&self) -> bool {
        matches!(self, Self::Visible)
    }

    /// Returns the reason as a sentence.
    #[must_use]
    pub fn message(&self) -> String {
        match self {
            Self::Visible => "Every visibility rule holds.".into(),
            Self::TooEarly(from) => {
                format!("It is shown from {from:.0}, in the property's time zone.")
            }
            Self::TooLate(until) => {
                format!("It is shown until {until:.0}, in the property's time zone.")
            }
            Self::OutOfSeason => "No night of the stay is in one of its seasons.".into(),
            Self::StayTooShort { nights, least } => {
                format!("It is shown for stays of {least} nights or more; this one has {nights}.")
            }
            Self::StayTooLong { nights, most } => {
                format!("It is shown for stays of {most} nights or fewer; this one has {nights}.")
            }
            Self::BookingSource(channel) => {
                format!("It is not shown for bookings through {channel}.")
            }
            Self::VerificationStatus(status) => format!(
                "It is not shown while the guest's verification is {}.",
                status.as_ref()
            ),
        }
    }
}

/// Returns whether a manual with these rules is shown for a stay. If not, returns the reason of the
/// first rule, by category, that hides it.
///
/// A relative date includes its start and excludes its end, so that one manual can replace another
/// at the same anchor. If the start is not before the end, the manual is never shown.
#[must_use]
pub fn decide(rules: &[Rule], stay: &StayFacts, at: Timestamp) -> Visibility {
    let mut rules: Vec<&Rule> = rules.iter().collect();
    rules.sort_by_key(|rule| rule.category());
    rules
        .into_iter()
        .find_map(|rule| rule.refusal(stay, at))
        .unwrap_or(Visibility::Visible)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};
    use strum::VariantArray;

    use super::super::rule::{Category, RelativeDate, Seasons, Sources, StayLength, Verifications};
    use super::*;

    fn rules(rules: Value) -> Vec<Rule> {
        serde_json::from_value(rules).unwrap()
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
    #[expect(clippy::too_many_lines, reason = "a table of cases")]
    fn anchors_are_shifted_by_calendar_days_or_hours() {
        use Anchor::{AfterCheckIn, AfterCheckOut, BeforeCheckIn, BeforeCheckOut, CheckInTime};
        use Unit::{Day, Hour};
        const MADRID: &str = "Europe/Madrid";
        const NEW_YORK: &str = "America/New_York";
        for (zone, date, time, anchor, number, unit, expected) in [
            // Clocks go forward at 02:00 on 29 March.
            (
                MADRID,
                "2026-03-29",
                Some("15:00"),
                CheckInTime,
                7,
                Day,
                "2026-03-29T13:00:00Z",
            ),
            (
                MADRID,
                "2026-03-29",
                Some("15:00"),
                BeforeCheckIn,
                1,
                Day,
                "2026-03-28T14:00:00Z",
            ),
            (
                MADRID,
                "2026-03-29",
                Some("15:00"),
                BeforeCheckIn,
                24,
                Hour,
                "2026-03-28T13:00:00Z",
            ),
            (
                MADRID,
                "2026-03-28",
                Some("15:00"),
                AfterCheckIn,
                1,
                Day,
                "2026-03-29T13:00:00Z",
            ),
            (
                MADRID,
                "2026-03-28",
                Some("15:00"),
                AfterCheckIn,
                24,
                Hour,
                "2026-03-29T14:00:00Z",
            ),
            (
                MADRID,
                "2026-03-29",
                Some("02:30"),
                CheckInTime,
                0,
                Day,
                "2026-03-29T01:30:00Z",
            ),
            (
                MADRID,
                "2026-03-30",
                Some("02:30"),
                BeforeCheckOut,
                1,
                Day,
                "2026-03-29T01:30:00Z",
            ),
            (
                MADRID,
                "2026-03-30",
                Some("02:30"),
                BeforeCheckOut,
                24,
                Hour,
                "2026-03-29T00:30:00Z",
            ),
            (
                MADRID,
                "2026-03-29",
                Some("02:30"),
                AfterCheckOut,
                1,
                Day,
                "2026-03-30T00:30:00Z",
            ),
            (
                MADRID,
                "2026-03-29",
                None,
                AfterCheckIn,
                0,
                Day,
                "2026-03-28T23:00:00Z",
            ),
            (
                MADRID,
                "2026-03-29",
                None,
                AfterCheckOut,
                0,
                Hour,
                "2026-03-29T21:59:59.999999999Z",
            ),
            // Clocks go back at 03:00 on 25 October.
            (
                MADRID,
                "2026-10-25",
                Some("15:00"),
                BeforeCheckIn,
                1,
                Day,
                "2026-10-24T13:00:00Z",
            ),
            (
                MADRID,
                "2026-10-25",
                Some("15:00"),
                BeforeCheckIn,
                24,
                Hour,
                "2026-10-24T14:00:00Z",
            ),
            (
                MADRID,
                "2026-10-25",
                Some("02:30"),
                CheckInTime,
                0,
                Hour,
                "2026-10-25T00:30:00Z",
            ),
            (
                MADRID,
                "2026-10-24",
                Some("02:30"),
                AfterCheckOut,
                1,
                Day,
                "2026-10-25T00:30:00Z",
            ),
            (
                MADRID,
                "2026-10-24",
                Some("02:30"),
                AfterCheckOut,
                25,
                Hour,
                "2026-10-25T01:30:00Z",
            ),
            (
                MADRID,
                "2026-10-24",
                Some("11:00"),
                AfterCheckOut,
                1,
                Day,
                "2026-10-25T10:00:00Z",
            ),
            (
                MADRID,
                "2026-10-24",
                Some("11:00"),
                AfterCheckOut,
                24,
                Hour,
                "2026-10-25T09:00:00Z",
            ),
            // Clocks change at 02:00 on 8 March, and at 02:00 on 1 November.
            (
                NEW_YORK,
                "2026-03-08",
                Some("15:00"),
                BeforeCheckIn,
                1,
                Day,
                "2026-03-07T20:00:00Z",
            ),
            (
                NEW_YORK,
                "2026-03-08",
                Some("15:00"),
                BeforeCheckIn,
                24,
                Hour,
                "2026-03-07T19:00:00Z",
            ),
            (
                NEW_YORK,
                "2026-03-09",
                Some("02:30"),
                BeforeCheckIn,
                1,
                Day,
                "2026-03-08T07:30:00Z",
            ),
            (
                NEW_YORK,
                "2026-11-01",
                Some("15:00"),
                BeforeCheckIn,
                1,
                Day,
                "2026-10-31T19:00:00Z",
            ),
            (
                NEW_YORK,
                "2026-11-01",
                Some("15:00"),
                BeforeCheckIn,
                24,
                Hour,
                "2026-10-31T20:00:00Z",
            ),
            (
                NEW_YORK,
                "2026-10-31",
                Some("01:30"),
                AfterCheckOut,
                1,
                Day,
                "2026-11-01T05:30:00Z",
            ),
            (
                NEW_YORK,
                "2026-10-31",
                Some("01:30"),
                AfterCheckOut,
                25,
                Hour,
                "2026-11-01T06:30:00Z",
            ),
        ] {
            let (date, time) = (
                date.parse().unwrap(),
                time.map(|time| time.parse().unwrap()),
            );
            let zone = TimeZone::get(zone).unwrap();
            let stay = StayFacts {
                check_in: date,
                check_out: date,
                check_in_time: time,
                check_out_time: time,
                zone,
                ..stay()
            };
            let expected: Timestamp = expected.parse().unwrap();
            assert_eq!(
                stay.moment(anchor, Some(number), Some(unit)),
                expected,
                "{date} {time:?} {anchor:?} {number} {unit:?}"
            );
        }
    }

    #[test]
    fn moments_beyond_the_calendar_are_clamped() {
        let year = |moment: Timestamp| TimeZone::UTC.to_datetime(moment).year();
        for unit in [Unit::Day, Unit::Hour] {
            assert_eq!(
                year(stay().moment(Anchor::BeforeCheckIn, Some(u32::MAX), Some(unit))),
                -9999
            );
            assert_eq!(
                year(stay().moment(Anchor::AfterCheckOut, Some(u32::MAX), Some(unit))),
                9999
            );
        }
    }

    #[test]
    fn a_relative_date_includes_its_start_and_excludes_its_end() {
        let around = json!({
            "startDateRelativeType": "before_check_in", "daysBefore": 2, "endDateRelativeType": "after_check_out", "daysAfter": 2,
            "daysAfterTimeUnit": "hour",
        });
        let open_end = json!({ "startDateRelativeType": "before_check_in", "daysAfter": 2 });
        let open_start =
            json!({ "endDateRelativeType": "check_out_time", "daysBefore": 2, "daysAfter": 5 });
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
            assert_eq!(
                <&str>::from(decide(&rules(json!([rule])), &stay(), at.parse().unwrap())),
                expected,
                "{rule} {at}"
            );
        }
    }

    #[test]
    fn each_rule_decides_visibility() {
        let season = |start: &str, end: &str| json!({ "ruleCategory": "seasonal", "seasonalWindows": [{ "startDate": start, "endDate": end }] });
        let yearly = |start: &str, end: &str| json!({ "ruleCategory": "seasonal", "seasonalWindows": [{ "startDate": start, "endDate": end, "isYearly": true }] });
        let length = |from: Value, to: Value| json!({ "ruleCategory": "length_of_stay", "lengthOfStayFromDays": from, "lengthOfStayToDays": to });
        let only = |channels: Value| json!({ "ruleCategory": "booking_source", "sourceRuleType": "only_selected", "includedBookingSources": channels });
        let but = |channels: Value| json!({ "ruleCategory": "booking_source", "sourceRuleType": "all_except_selected", "excludedBookingSources": channels });
        let verified = |statuses: Value| json!({ "ruleCategory": "verification_status", "verificationStatuses": statuses });
        let later =
            json!({ "ruleCategory": "relative_date", "startDateRelativeType": "check_in_time" });
        for (rule, expected, message) in [
            (
                season("2026-12-14", "2027-01-06"),
                "visible",
                "Every visibility rule holds.",
            ),
            (
                season("2026-12-15", "2027-01-06"),
                "out_of_season",
                "No night of the stay is in one of its seasons.",
            ),
            (
                season("2026-12-01", "2026-12-11"),
                "visible",
                "Every visibility rule holds.",
            ),
            (
                season("2026-12-01", "2026-12-10"),
                "out_of_season",
                "No night of the stay is in one of its seasons.",
            ),
            (
                yearly("2020-12-14", "2021-01-06"),
                "visible",
                "Every visibility rule holds.",
            ),
            (
                yearly("2020-12-15", "2020-12-10"),
                "out_of_season",
                "No night of the stay is in one of its seasons.",
            ),
            (
                length(json!(4), json!(4)),
                "visible",
                "Every visibility rule holds.",
            ),
            (
                length(json!(5), json!(null)),
                "stay_too_short",
                "It is shown for stays of 5 nights or more; this one has 4.",
            ),
            (
                length(json!(null), json!(3)),
                "stay_too_long",
                "It is shown for stays of 3 nights or fewer; this one has 4.",
            ),
            (
                length(json!(null), json!(null)),
                "visible",
                "Every visibility rule holds.",
            ),
            (
                only(json!(["airbnb", "direct"])),
                "visible",
                "Every visibility rule holds.",
            ),
            (
                only(json!(["airbnb", "Direct"])),
                "booking_source",
                "It is not shown for bookings through direct.",
            ),
            (
                but(json!(["airbnb"])),
                "visible",
                "Every visibility rule holds.",
            ),
            (but(json!([])), "visible", "Every visibility rule holds."),
            (
                but(json!(["direct"])),
                "booking_source",
                "It is not shown for bookings through direct.",
            ),
            (
                verified(json!(["unverified", "failed"])),
                "visible",
                "Every visibility rule holds.",
            ),
            (
                verified(json!(["verified"])),
                "verification_status",
                "It is not shown while the guest's verification is unverified.",
            ),
            (
                later,
                "too_early",
                "It is shown from 2026-12-11T15:00:00, in the property's time zone.",
            ),
        ] {
            let visibility = decide(
                &rules(json!([rule])),
                &stay(),
                "2026-12-01T09:30:00Z".parse().unwrap(),
            );
            assert_eq!(
                (<&str>::from(&visibility), visibility.message().as_str()),
                (expected, message),
                "{rule}"
            );
            assert_eq!(visibility.is_shown(), expected == "visible");
        }
        let same_day = StayFacts {
            check_out: stay().check_in,
            ..stay()
        };
        assert_eq!(
            decide(
                &rules(json!([season("2026-01-01", "2026-12-31")])),
                &same_day,
                Timestamp::MIN
            ),
            Visibility::OutOfSeason
        );
        let known = StayFacts {
            verification_status: Some(VerificationStatus::Verified),
            ..stay()
        };
        assert!(
            decide(
                &rules(json!([verified(json!(["verified"]))])),
                &known,
                Timestamp::MIN
            )
            .is_shown()
        );
        assert!(decide(&[], &stay(), Timestamp::MIN).is_shown());
    }

    #[test]
    fn the_first_hiding_category_gives_the_reason() {
        let several = rules(json!([
            { "ruleCategory": "verification_status", "verificationStatuses": ["verified"] },
            { "ruleCategory": "length_of_stay", "lengthOfStayToDays": 3 },
            { "ruleCategory": "seasonal", "seasonalWindows": [{ "startDate": "2026-12-01", "endDate": "2026-12-31" }] },
        ]));
        assert_eq!(
            decide(&several, &stay(), Timestamp::MIN),
            Visibility::StayTooLong { nights: 4, most: 3 }
        );
    }

    /// Converts a local time to a moment by the offsets well before and well after it. If neither
    /// offset leads back to the local time, the clock skips it, and the offset before counts.
    fn naive_moment(zone: &TimeZone, local: DateTime) -> Timestamp {
        let as_utc = TimeZone::UTC.to_timestamp(local).unwrap();
        let by_offset_at = |near: Timestamp| {
            as_utc - SignedDuration::from_secs(zone.to_offset(near).seconds().into())
        };
        let far = SignedDuration::from_hours(26);
        let (before, after) = (by_offset_at(as_utc - far), by_offset_at(as_utc + far));
        if zone.to_datetime(before) != local && zone.to_datetime(after) == local {
            after
        } else {
            before
        }
    }

    /// Shifts an anchor unit by unit in the direction of its name.
    fn naive_anchor(
        stay: &StayFacts,
        anchor: Anchor,
        number: Option<u32>,
        unit: Option<Unit>,
    ) -> Timestamp {
        let name = serde_json::to_value(anchor)
            .unwrap()
            .as_str()
            .unwrap()
            .to_owned();
        let (mut date, time) = if name.contains("check_in") {
            (
                stay.check_in,
                stay.check_in_time.unwrap_or(Time::midnight()),
            )
        } else {
            (stay.check_out, stay.check_out_time.unwrap_or(Time::MAX))
        };
        let (is_back, times) = (
            name.starts_with("before"),
            if name.ends_with("_time") {
                0
            } else {
                number.unwrap_or(0)
            },
        );
        if unit != Some(Unit::Hour) {
            for _ in 0..times {
                date = if is_back {
                    date.yesterday().unwrap()
                } else {
                    date.tomorrow().unwrap()
                };
            }
            return naive_moment(&stay.zone, date.to_datetime(time));
        }
        let hour = SignedDuration::from_hours(1);
        (0..times).fold(
            naive_moment(&stay.zone, date.to_datetime(time)),
            |moment, _| {
                if is_back {
                    moment - hour
                } else {
                    moment + hour
                }
            },
        )
    }

    fn naive_bounds(
        rule: &RelativeDate,
        stay: &StayFacts,
    ) -> (Option<Timestamp>, Option<Timestamp>) {
        let bound = |anchor: Option<Anchor>, number, unit| {
            anchor.map(|anchor| naive_anchor(stay, anchor, number, unit))
        };
        (
            bound(
                rule.start_date_relative_type,
                rule.days_before,
                rule.days_before_time_unit,
            ),
            bound(
                rule.end_date_relative_type,
                rule.days_after,
                rule.days_after_time_unit,
            ),
        )
    }

    /// Returns whether a rule holds, by checking each night of the stay.
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
            Rule::Seasonal(rule) => nights.iter().any(|night| {
                rule.seasonal_windows.iter().any(|window| {
                    let day = |date: Date| date.strftime("%m-%d").to_string();
                    if !window.is_yearly {
                        return window.start_date <= *night && *night <= window.end_date;
                    }
                    let (first, last) = (day(window.start_date), day(window.end_date));
                    let (from_first, to_last) = (day(*night) >= first, day(*night) <= last);
                    if first <= last {
                        from_first && to_last
                    } else {
                        from_first || to_last
                    }
                })
            }),
            Rule::LengthOfStay(rule) => {
                let least = rule.length_of_stay_from_days.unwrap_or(0) as usize;
                let most = rule
                    .length_of_stay_to_days
                    .map_or(usize::MAX, |most| most as usize);
                (least..=most).contains(&nights.len())
            }
            Rule::BookingSource(rule) => {
                let included = rule
                    .included_booking_sources
                    .clone()
                    .unwrap_or_default()
                    .contains(&stay.channel);
                let excluded = rule
                    .excluded_booking_sources
                    .clone()
                    .unwrap_or_default()
                    .contains(&stay.channel);
                if rule.source_rule_type == SourceRuleType::OnlySelected {
                    included
                } else {
                    !excluded
                }
            }
            Rule::VerificationStatus(rule) => match stay.verification_status {
                Some(status) => rule.verification_statuses.contains(&status),
                None => rule
                    .verification_statuses
                    .contains(&VerificationStatus::Unverified),
            },
        }
    }

    fn category_of(visibility: &Visibility) -> Option<Category> {
        match <&str>::from(visibility) {
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
        prop::option::of(
            prop::sample::subsequence(CHANNELS.to_vec(), 0..=3)
                .prop_map(|names| names.into_iter().map(Into::into).collect()),
        )
    }

    fn side() -> impl Strategy<Value = (Option<Anchor>, Option<u32>, Option<Unit>)> {
        let unit = prop::sample::select(vec![Unit::Day, Unit::Hour]);
        (
            prop::option::of(prop::sample::select(ANCHORS.to_vec())),
            prop::option::of(0..60_u32),
            prop::option::of(unit),
        )
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

    /// A date at most this many days after the first day of the year.
    fn date_within(days: i64) -> impl Strategy<Value = Date> {
        (0..days).prop_map(|days| {
            jiff::civil::date(2026, 1, 1).saturating_add(SignedDuration::from_hours(24 * days))
        })
    }

    fn seasonal() -> impl Strategy<Value = Rule> {
        let window = (date_within(330), 0..60_i64, prop::bool::ANY);
        let window = window.prop_map(|(start_date, days, is_yearly)| Window {
            start_date,
            end_date: start_date.saturating_add(SignedDuration::from_hours(24 * days)),
            is_yearly,
        });
        prop::collection::vec(window, 1..4)
            .prop_map(|seasonal_windows| Rule::Seasonal(Seasons { seasonal_windows }))
    }

    fn length_of_stay() -> impl Strategy<Value = Rule> {
        (prop::option::of(0..9_u32), prop::option::of(0..9_u32)).prop_map(|(from, to)| {
            Rule::LengthOfStay(StayLength {
                length_of_stay_from_days: from,
                length_of_stay_to_days: to,
            })
        })
    }

    fn booking_source() -> impl Strategy<Value = Rule> {
        let kind = prop::sample::select(vec![
            SourceRuleType::OnlySelected,
            SourceRuleType::AllExceptSelected,
        ]);
        (kind, channels(), channels()).prop_map(
            |(source_rule_type, included_booking_sources, excluded_booking_sources)| {
                Rule::BookingSource(Sources {
                    source_rule_type,
                    included_booking_sources,
                    excluded_booking_sources,
                })
            },
        )
    }

    fn verification() -> impl Strategy<Value = Rule> {
        prop::sample::subsequence(VerificationStatus::VARIANTS, 1..=4).prop_map(
            |verification_statuses| {
                Rule::VerificationStatus(Verifications {
                    verification_statuses,
                })
            },
        )
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
            [date, season, length, source, status]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
        })
        .prop_shuffle()
    }

    fn time_of_day() -> impl Strategy<Value = Option<Time>> {
        prop::option::of(
            (0..24_i8, prop::sample::select(vec![0_i8, 15, 30]))
                .prop_map(|(hour, minute)| jiff::civil::time(hour, minute, 0, 0)),
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
            verification_status in prop::option::of(prop::sample::select(VerificationStatus::VARIANTS)),
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
        /// Compares with the rules (rules: manuals#visibility), followed step by step, at any
        /// moment and at those where the decision changes.
        #[test]
        fn visibility_agrees_with_the_contract(rules in some_rules(), stay in some_stay(), hours in -100..400_i64) {
            let at = naive_moment(&stay.zone, stay.check_in.to_datetime(Time::midnight())) + SignedDuration::from_hours(hours);
            let mut moments = vec![at];
            for rule in &rules {
                if let Rule::RelativeDate(rule) = rule {
                    let (start, end) = naive_bounds(rule, &stay);
                    moments.extend(start.into_iter().chain(end).flat_map(|bound| [bound, bound - SignedDuration::from_nanos(1)]));
                }
            }
            let mut ordered = rules.clone();
            ordered.sort_by_key(|rule| Category::VARIANTS.iter().position(|category| *category == rule.category()));
            for at in moments {
                let visibility = decide(&rules, &stay, at);
                let hiding = ordered.iter().find(|rule| !naively_holds(rule, &stay, at));
                prop_assert_eq!(category_of(&visibility), hiding.map(Rule::category), "{:?} at {}", visibility, at);
                prop_assert_eq!(visibility.is_shown(), hiding.is_none());
            }
        }
    }
}
