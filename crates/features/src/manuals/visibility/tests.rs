//! Tests of the decisions whether a guest sees a manual, with tables of examples. [`model`]
//! compares these decisions with those of a simple implementation of the rules.

mod model;

use serde_json::{Value, json};

use super::*;

fn rules(rules: Value) -> Vec<VisibilityRule> {
    serde_json::from_value(rules).unwrap()
}

/// Four nights in Barcelona, from 2026-12-11T14:00Z to 2026-12-15T10:00Z.
fn stay() -> VisibilityInput {
    VisibilityInput {
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
        // In Madrid, clocks go forward at 02:00 on 29 March.
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
        // In Madrid, clocks go back at 03:00 on 25 October.
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
        let stay = VisibilityInput {
            check_in: date,
            check_out: date,
            check_in_time: time,
            check_out_time: time,
            zone,
            ..stay()
        };
        let expected: Timestamp = expected.parse().unwrap();
        assert_eq!(
            stay.timestamp_from(anchor, Some(number), Some(unit)),
            expected,
            "{date} {time:?} {anchor:?} {number} {unit:?}"
        );
    }
}

#[test]
fn moments_beyond_the_calendar_are_clamped() {
    let year = |timestamp: Timestamp| TimeZone::UTC.to_datetime(timestamp).year();
    for unit in [Unit::Day, Unit::Hour] {
        assert_eq!(
            year(stay().timestamp_from(Anchor::BeforeCheckIn, Some(u32::MAX), Some(unit))),
            -9999
        );
        assert_eq!(
            year(stay().timestamp_from(Anchor::AfterCheckOut, Some(u32::MAX), Some(unit))),
            9999
        );
    }
}

#[test]
fn a_relative_date_includes_its_start_and_excludes_its_end() {
    let around = json!({
        "startDateRelativeType": "before_check_in",
        "daysBefore": 2,
        "endDateRelativeType": "after_check_out",
        "daysAfter": 2,
        "daysAfterTimeUnit": "hour",
    });
    let open_end = json!({ "startDateRelativeType": "before_check_in", "daysAfter": 2 });
    let open_start =
        json!({ "endDateRelativeType": "check_out_time", "daysBefore": 2, "daysAfter": 5 });
    let never =
        json!({ "startDateRelativeType": "check_in_time", "endDateRelativeType": "check_in_time" });
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
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn each_rule_decides_visibility() {
    let season = |start: &str, end: &str| {
        json!({
            "ruleCategory": "seasonal",
            "seasonalWindows": [{ "startDate": start, "endDate": end }],
        })
    };
    let yearly = |start: &str, end: &str| {
        json!({
            "ruleCategory": "seasonal",
            "seasonalWindows": [{ "startDate": start, "endDate": end, "isYearly": true }],
        })
    };
    let length = |from: Value, to: Value| {
        json!({
            "ruleCategory": "length_of_stay",
            "lengthOfStayFromDays": from,
            "lengthOfStayToDays": to,
        })
    };
    let only = |channels: Value| {
        json!({
            "ruleCategory": "booking_source",
            "sourceRuleType": "only_selected",
            "includedBookingSources": channels,
        })
    };
    let but = |channels: Value| {
        json!({
            "ruleCategory": "booking_source",
            "sourceRuleType": "all_except_selected",
            "excludedBookingSources": channels,
        })
    };
    let verified = |statuses: Value| {
        json!({
            "ruleCategory": "verification_status",
            "verificationStatuses": statuses,
        })
    };
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
    let same_day = VisibilityInput {
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
    let known = VisibilityInput {
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
        {
            "ruleCategory": "seasonal",
            "seasonalWindows": [{ "startDate": "2026-12-01", "endDate": "2026-12-31" }],
        },
    ]));
    assert_eq!(
        decide(&several, &stay(), Timestamp::MIN),
        Visibility::StayTooLong { nights: 4, most: 3 }
    );
}
