//! A simple, slow implementation of the visibility rules. Property tests compare its decisions with
//! those of [`decide`].

use proptest::prelude::*;
use strum::VariantArray;

use super::super::super::rule::{
    RelativeDate, RuleCategory, Seasons, Sources, StayLength, Verifications,
};
use super::super::*;

/// Converts a local time to a timestamp. Tries two offsets of the zone: the offset 26 hours before
/// the local time, and the offset 26 hours after it. If neither timestamp has this local time, the
/// clocks skip the time, and the earlier offset applies.
fn naive_timestamp(zone: &TimeZone, local: DateTime) -> Timestamp {
    let as_utc = TimeZone::UTC.to_timestamp(local).unwrap();
    let by_offset_at =
        |near: Timestamp| as_utc - SignedDuration::from_secs(zone.to_offset(near).seconds().into());
    let far = SignedDuration::from_hours(26);
    let (before, after) = (by_offset_at(as_utc - far), by_offset_at(as_utc + far));
    if zone.to_datetime(before) != local && zone.to_datetime(after) == local {
        after
    } else {
        before
    }
}

/// Computes the same timestamp as `VisibilityInput::timestamp_from`: `number` units before or after
/// check-in or check-out. Starts at check-in or check-out and moves by one unit at a time.
fn naive_anchor(
    stay: &VisibilityInput,
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
        return naive_timestamp(&stay.zone, date.to_datetime(time));
    }
    let hour = SignedDuration::from_hours(1);
    (0..times).fold(
        naive_timestamp(&stay.zone, date.to_datetime(time)),
        |timestamp, _| {
            if is_back {
                timestamp - hour
            } else {
                timestamp + hour
            }
        },
    )
}

fn naive_bounds(
    rule: &RelativeDate,
    stay: &VisibilityInput,
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

/// Returns whether a stay meets a rule. Checks each night of the stay.
fn naively_holds(rule: &VisibilityRule, stay: &VisibilityInput, at: Timestamp) -> bool {
    let mut nights = vec![];
    let mut night = stay.check_in;
    while night < stay.check_out {
        nights.push(night);
        night = night.tomorrow().unwrap();
    }
    match rule {
        VisibilityRule::RelativeDate(rule) => {
            let (start, end) = naive_bounds(rule, stay);
            start.is_none_or(|start| start <= at) && end.is_none_or(|end| at < end)
        }
        VisibilityRule::Seasonal(rule) => nights.iter().any(|night| {
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
        VisibilityRule::LengthOfStay(rule) => {
            let minimum = rule.length_of_stay_from_days.unwrap_or(0) as usize;
            let maximum = rule
                .length_of_stay_to_days
                .map_or(usize::MAX, |maximum| maximum as usize);
            (minimum..=maximum).contains(&nights.len())
        }
        VisibilityRule::BookingSource(rule) => {
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
        VisibilityRule::VerificationStatus(rule) => match stay.verification_status {
            Some(status) => rule.verification_statuses.contains(&status),
            None => rule
                .verification_statuses
                .contains(&VerificationStatus::Unverified),
        },
    }
}

fn category_of(visibility: &Visibility) -> Option<RuleCategory> {
    match <&str>::from(visibility) {
        "visible" => None,
        "too_early" | "too_late" => Some(RuleCategory::RelativeDate),
        "out_of_season" => Some(RuleCategory::Seasonal),
        "stay_too_short" | "stay_too_long" => Some(RuleCategory::LengthOfStay),
        "booking_source" => Some(RuleCategory::BookingSource),
        "verification_status" => Some(RuleCategory::VerificationStatus),
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

fn relative_date() -> impl Strategy<Value = VisibilityRule> {
    (side(), side()).prop_map(|(start, end)| {
        VisibilityRule::RelativeDate(RelativeDate {
            start_date_relative_type: start.0,
            days_before: start.1,
            days_before_time_unit: start.2,
            end_date_relative_type: end.0,
            days_after: end.1,
            days_after_time_unit: end.2,
        })
    })
}

/// Generates a date less than this many days after 1 January 2026.
fn date_within(days: i64) -> impl Strategy<Value = Date> {
    (0..days).prop_map(|days| {
        jiff::civil::date(2026, 1, 1).saturating_add(SignedDuration::from_hours(24 * days))
    })
}

fn seasonal() -> impl Strategy<Value = VisibilityRule> {
    let window = (date_within(330), 0..60_i64, prop::bool::ANY);
    let window = window.prop_map(|(start_date, days, is_yearly)| Window {
        start_date,
        end_date: start_date.saturating_add(SignedDuration::from_hours(24 * days)),
        is_yearly,
    });
    prop::collection::vec(window, 1..4)
        .prop_map(|seasonal_windows| VisibilityRule::Seasonal(Seasons { seasonal_windows }))
}

fn length_of_stay() -> impl Strategy<Value = VisibilityRule> {
    (prop::option::of(0..9_u32), prop::option::of(0..9_u32)).prop_map(|(from, to)| {
        VisibilityRule::LengthOfStay(StayLength {
            length_of_stay_from_days: from,
            length_of_stay_to_days: to,
        })
    })
}

fn booking_source() -> impl Strategy<Value = VisibilityRule> {
    let kind = prop::sample::select(vec![
        SourceRuleType::OnlySelected,
        SourceRuleType::AllExceptSelected,
    ]);
    (kind, channels(), channels()).prop_map(
        |(source_rule_type, included_booking_sources, excluded_booking_sources)| {
            VisibilityRule::BookingSource(Sources {
                source_rule_type,
                included_booking_sources,
                excluded_booking_sources,
            })
        },
    )
}

fn verification() -> impl Strategy<Value = VisibilityRule> {
    prop::sample::subsequence(VerificationStatus::VARIANTS, 1..=4).prop_map(
        |verification_statuses| {
            VisibilityRule::VerificationStatus(Verifications {
                verification_statuses,
            })
        },
    )
}

fn some_rules() -> impl Strategy<Value = Vec<VisibilityRule>> {
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
    /// Generates stays. Most of them begin near a change of the clocks.
    fn some_stay()(
        zone in prop::sample::select(vec![
            "Europe/Madrid",
            "America/New_York",
            "Australia/Lord_Howe",
            "Asia/Kolkata",
        ]),
        check_in in prop_oneof![
            (
                prop::sample::select(vec![
                    "2026-03-27",
                    "2026-10-23",
                    "2026-03-06",
                    "2026-10-30",
                    "2026-04-03",
                ]),
                0..5_i64,
            )
                .prop_map(|(day, days)| {
                    day.parse::<Date>()
                        .unwrap()
                        .saturating_add(SignedDuration::from_hours(24 * days))
                }),
            date_within(330),
        ],
        nights in 0..9_i64,
        times in (time_of_day(), time_of_day()),
        channel in prop::sample::select(CHANNELS.to_vec()),
        verification_status in prop::option::of(prop::sample::select(VerificationStatus::VARIANTS)),
    ) -> VisibilityInput {
        VisibilityInput {
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
    /// Compares the decision of `decide` with that of the simple implementation in this file
    /// (rules: manuals#visibility). The compared times are a random one, and those at which the
    /// decision can change.
    #[test]
    fn visibility_agrees_with_the_contract(
        rules in some_rules(),
        stay in some_stay(),
        hours in -100..400_i64,
    ) {
        let at = naive_timestamp(&stay.zone, stay.check_in.to_datetime(Time::midnight()))
            + SignedDuration::from_hours(hours);
        let mut timestamps = vec![at];
        for rule in &rules {
            if let VisibilityRule::RelativeDate(rule) = rule {
                let (start, end) = naive_bounds(rule, &stay);
                timestamps.extend(
                    start
                        .into_iter()
                        .chain(end)
                        .flat_map(|bound| [bound, bound - SignedDuration::from_nanos(1)]),
                );
            }
        }
        let mut ordered = rules.clone();
        ordered.sort_by_key(|rule| {
            RuleCategory::VARIANTS
                .iter()
                .position(|category| *category == rule.category())
        });
        for at in timestamps {
            let visibility = decide(&rules, &stay, at);
            let hiding = ordered.iter().find(|rule| !naively_holds(rule, &stay, at));
            prop_assert_eq!(
                category_of(&visibility),
                hiding.map(VisibilityRule::category),
                "{:?} at {}",
                visibility,
                at
            );
            prop_assert_eq!(visibility.is_shown(), hiding.is_none());
        }
    }
}
