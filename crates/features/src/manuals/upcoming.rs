//! Computes when a hidden manual becomes visible, if it is hidden only because the period of its
//! `relative_date` rule has not begun. Also computes how long a decision of the visibility rules
//! stays valid.

use jiff::{RoundMode, Timestamp, TimestampRound, Unit};

use super::rule::VisibilityRule;
use super::visibility::{VisibilityInput, decide};

/// Returns the time from which a manual is shown for a stay, if only the time hides it now. This is
/// the start of its `relative_date` rule, if the start is in the future and every rule is met then.
/// The result is rounded up to milliseconds, the precision of responses.
#[must_use]
pub fn shown_from(
    rules: &[VisibilityRule],
    stay: &VisibilityInput,
    at: Timestamp,
) -> Option<Timestamp> {
    let starts = rules.iter().filter_map(|rule| match rule {
        VisibilityRule::RelativeDate(rule) => Some(stay.timestamp_from(
            rule.start_date_relative_type?,
            rule.days_before,
            rule.days_before_time_unit,
        )),
        VisibilityRule::Seasonal(_)
        | VisibilityRule::LengthOfStay(_)
        | VisibilityRule::BookingSource(_)
        | VisibilityRule::VerificationStatus(_) => None,
    });
    let start = starts.max().filter(|start| at < *start)?;
    // Without a check-out time, check-out counts as one nanosecond before the next day. A start
    // that is relative to this check-out is then no whole number of milliseconds, so it is rounded
    // up.
    let start = start
        .round(
            TimestampRound::new()
                .smallest(Unit::Millisecond)
                .mode(RoundMode::Ceil),
        )
        .ok()?;
    decide(rules, stay, start).is_shown().then_some(start)
}

/// Returns the next time at which the decision of these rules for this stay, or the result of
/// [`shown_from`], may change. Returns `None` if neither changes again.
#[must_use]
pub fn changes_at(
    rules: &[VisibilityRule],
    stay: &VisibilityInput,
    at: Timestamp,
) -> Option<Timestamp> {
    let bounds = rules.iter().flat_map(|rule| match rule {
        VisibilityRule::RelativeDate(rule) => [
            rule.start_date_relative_type.map(|anchor| {
                stay.timestamp_from(anchor, rule.days_before, rule.days_before_time_unit)
            }),
            rule.end_date_relative_type.map(|anchor| {
                stay.timestamp_from(anchor, rule.days_after, rule.days_after_time_unit)
            }),
        ],
        VisibilityRule::Seasonal(_)
        | VisibilityRule::LengthOfStay(_)
        | VisibilityRule::BookingSource(_)
        | VisibilityRule::VerificationStatus(_) => [None, None],
    });
    bounds.flatten().filter(|bound| at < *bound).min()
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use jiff::tz::TimeZone;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    const ANCHORS: [&str; 6] = [
        "before_check_in",
        "after_check_in",
        "before_check_out",
        "after_check_out",
        "check_in_time",
        "check_out_time",
    ];

    fn stay(nights: i64, has_times: bool) -> VisibilityInput {
        let check_in = jiff::civil::date(2026, 3, 27);
        let time = |text: &str| has_times.then(|| text.parse().unwrap());
        VisibilityInput {
            check_in,
            check_out: check_in.saturating_add(SignedDuration::from_hours(24 * nights)),
            check_in_time: time("15:00"),
            check_out_time: time("11:00"),
            zone: TimeZone::get("Europe/Madrid").unwrap(),
            channel: "direct".into(),
            verification_status: None,
        }
    }

    fn rules(rules: Value) -> Vec<VisibilityRule> {
        serde_json::from_value(rules).unwrap()
    }

    #[test]
    fn a_manual_hidden_by_another_rule_is_not_upcoming() {
        let later = json!({
            "ruleCategory": "relative_date",
            "startDateRelativeType": "before_check_in",
            "daysBefore": 1,
        });
        let short = json!({ "ruleCategory": "length_of_stay", "lengthOfStayToDays": 2 });
        let over = json!({
            "ruleCategory": "relative_date",
            "endDateRelativeType": "before_check_in",
            "daysAfter": 3,
        });
        let at = "2026-03-20T12:00:00Z".parse().unwrap();
        let start: Timestamp = "2026-03-26T14:00:00Z".parse().unwrap();
        for (shown, nights, expected) in [
            (json!([later]), 4, Some(start)),
            (json!([later, short]), 2, Some(start)),
            (json!([later, short]), 3, None),
            (json!([short]), 3, None),
            (json!([later, over]), 4, None),
            (json!([]), 4, None),
        ] {
            assert_eq!(
                shown_from(&rules(shown.clone()), &stay(nights, true), at),
                expected,
                "{shown} {nights}"
            );
        }
        assert_eq!(
            shown_from(&rules(json!([later])), &stay(4, true), start),
            None,
            "it is shown"
        );
        let end_of_day =
            json!([{ "ruleCategory": "relative_date", "startDateRelativeType": "check_out_time" }]);
        let from = shown_from(&rules(end_of_day), &stay(1, false), at);
        assert_eq!(from, Some("2026-03-28T23:00:00Z".parse().unwrap()));
    }

    proptest! {
        /// Compares the result of `shown_from` with the rules: the manual is hidden before the
        /// returned time and shown from then on. If no time is returned, the manual is not shown
        /// later.
        #[test]
        fn the_time_a_manual_is_shown_from_agrees_with_its_rules(
            (start, before) in (prop::option::of(prop::sample::select(ANCHORS.to_vec())), 0..5_u32),
            (end, after) in (prop::option::of(prop::sample::select(ANCHORS.to_vec())), 0..5_u32),
            is_by_hour: bool,
            most in prop::option::of(0..9_u32),
            nights in 0..9_i64,
            has_times: bool,
            hours in -200..400_i64,
        ) {
            let unit = if is_by_hour { "hour" } else { "day" };
            let mut shown = vec![json!({
                "ruleCategory": "relative_date",
                "startDateRelativeType": start,
                "daysBefore": before,
                "daysBeforeTimeUnit": unit,
                "endDateRelativeType": end,
                "daysAfter": after,
            })];
            shown.extend(most.map(
                |most| json!({ "ruleCategory": "length_of_stay", "lengthOfStayToDays": most }),
            ));
            let (rules, stay) = (rules(json!(shown)), stay(nights, has_times));
            let at = "2026-03-27T14:00:00Z".parse::<Timestamp>().unwrap()
                + SignedDuration::from_hours(hours);
            let is_shown = |at: Timestamp| decide(&rules, &stay, at).is_shown();
            match shown_from(&rules, &stay, at) {
                Some(from) => {
                    prop_assert!(at < from && is_shown(from));
                    let waiting = from.duration_since(at);
                    for part in 0..8 {
                        prop_assert!(!is_shown(at + waiting * part / 8));
                    }
                    prop_assert!(!is_shown(from - SignedDuration::from_millis(1)));
                }
                None if is_shown(at) => {}
                None => {
                    for later in 0..800 {
                        prop_assert!(!is_shown(at + SignedDuration::from_hours(later)));
                    }
                }
            }
        }

        /// No decision of the rules changes before the time that `changes_at` returns.
        #[test]
        fn no_decision_changes_before_the_returned_moment(
            (start, before) in (prop::option::of(prop::sample::select(ANCHORS.to_vec())), 0..5_u32),
            (end, after) in (prop::option::of(prop::sample::select(ANCHORS.to_vec())), 0..5_u32),
            is_by_hour: bool,
            nights in 0..9_i64,
            has_times: bool,
            hours in -200..400_i64,
            part in 0..1_000,
        ) {
            let unit = if is_by_hour { "hour" } else { "day" };
            let rules = rules(json!([
                {
                    "ruleCategory": "relative_date",
                    "startDateRelativeType": start,
                    "daysBefore": before,
                    "daysBeforeTimeUnit": unit,
                    "endDateRelativeType": end,
                    "daysAfter": after,
                },
            ]));
            let stay = stay(nights, has_times);
            let at = "2026-03-27T14:00:00Z".parse::<Timestamp>().unwrap()
                + SignedDuration::from_hours(hours);
            let reported =
                |at: Timestamp| (decide(&rules, &stay, at), shown_from(&rules, &stay, at));
            let until =
                changes_at(&rules, &stay, at).unwrap_or(at + SignedDuration::from_hours(4_000));
            prop_assert!(at < until);
            let between = at + until.duration_since(at) * part / 1_000;
            prop_assert_eq!(reported(at), reported(between));
            prop_assert_eq!(
                reported(at),
                reported(until - SignedDuration::from_nanos(1))
            );
        }
    }
}
