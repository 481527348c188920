//! Describes when guests see a manual. Each rule gets one sentence.

use features::manuals::{VisibilityRule, seasons_are_over};
use features::words::fill;
use serde_json::Value;

use crate::request::ConsoleRequest;
use crate::{labels, time_format};

/// Returns sentences that say when guests see a manual with these rules.
pub fn sentence(rules: &[Value], request: &ConsoleRequest) -> String {
    if rules.is_empty() {
        return request.texts.manuals.always.to_owned();
    }
    rules
        .iter()
        .map(|rule| of_rule(rule, request))
        .collect::<Vec<_>>()
        .join(" ")
}

/// Returns the same sentences as [`sentence`], for rules that are already parsed.
pub fn of_typed(rules: &[VisibilityRule], request: &ConsoleRequest) -> String {
    let rules = rules
        .iter()
        .filter_map(|rule| serde_json::to_value(rule).ok());
    sentence(&rules.collect::<Vec<Value>>(), request)
}

/// Returns whether the seasons of a manual with these rules have ended in every time zone.
pub fn are_over(rules: &[VisibilityRule], request: &ConsoleRequest) -> bool {
    seasons_are_over(rules, time_format::day_at(request.service.clock.now(), -12))
}

/// Returns whether the seasons of a manual with these visibility rules have ended in every time
/// zone. The rules are JSON; [`are_over`] takes parsed rules.
pub fn is_over(rules: &[Value], request: &ConsoleRequest) -> bool {
    let rules = rules
        .iter()
        .filter_map(|rule| serde_json::from_value(rule.clone()).ok());
    are_over(&rules.collect::<Vec<VisibilityRule>>(), request)
}

fn of_rule(rule: &Value, request: &ConsoleRequest) -> String {
    let words = &request.texts.manuals;
    let listed = |field: &str| -> String {
        let items = rule[field]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str);
        items
            .map(|item| labels::choice(request.language, item))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let plain = |field: &str| {
        rule[field]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect::<Vec<_>>()
            .join(", ")
    };
    match rule["ruleCategory"].as_str().unwrap_or_default() {
        "relative_date" => {
            let from = moment(
                rule,
                ["startDateRelativeType", "daysBefore", "daysBeforeTimeUnit"],
                request,
            );
            let until = moment(
                rule,
                ["endDateRelativeType", "daysAfter", "daysAfterTimeUnit"],
                request,
            );
            match (from, until) {
                (Some(from), Some(until)) => {
                    fill(words.from_until, &[("from", &from), ("until", &until)])
                }
                (Some(from), None) => fill(words.from, &[("from", &from)]),
                (None, Some(until)) => fill(words.until, &[("until", &until)]),
                (None, None) => String::new(),
            }
        }
        "seasonal" => {
            let window = |window: &Value| {
                let day = |field: &str| window[field].as_str().unwrap_or_default();
                let (first, last) = (day("startDate"), day("endDate"));
                if window["isYearly"] == true {
                    let days = time_format::days_of_any_year(request, first, last);
                    return fill(words.yearly, &[("window", &days)]);
                }
                format!(
                    "{} – {}",
                    time_format::day(request, first),
                    time_format::day(request, last)
                )
            };
            let windows: Vec<String> = rule["seasonalWindows"]
                .as_array()
                .into_iter()
                .flatten()
                .map(window)
                .collect();
            fill(words.seasons, &[("windows", &windows.join(", "))])
        }
        "length_of_stay" => {
            let nights = |number: i64| request.texts.stays.nights.of(number);
            match (
                rule["lengthOfStayFromDays"].as_i64(),
                rule["lengthOfStayToDays"].as_i64(),
            ) {
                (Some(from), Some(to)) => fill(
                    words.nights_between,
                    &[("from", &from.to_string()), ("to", &nights(to))],
                ),
                (Some(from), None) => fill(words.nights_from, &[("from", &nights(from))]),
                (None, Some(to)) => fill(words.nights_to, &[("to", &nights(to))]),
                (None, None) => String::new(),
            }
        }
        "booking_source" if rule["sourceRuleType"] == "only_selected" => fill(
            words.only_by,
            &[("channels", &plain("includedBookingSources"))],
        ),
        "booking_source" => fill(
            words.not_by,
            &[("channels", &plain("excludedBookingSources"))],
        ),
        "verification_status" => fill(
            words.verified,
            &[("statuses", &listed("verificationStatuses"))],
        ),
        other => other.to_owned(),
    }
}

/// Describes the start or the end of the period in which guests see a manual, for example 2 days
/// before check-in. Returns `None` if the rule does not limit that side of the period.
fn moment(
    rule: &Value,
    [anchor, number, unit]: [&str; 3],
    request: &ConsoleRequest,
) -> Option<String> {
    let words = &request.texts.manuals;
    let anchor = rule[anchor].as_str()?;
    let event = if anchor.contains("check_in") {
        words.check_in
    } else {
        words.check_out
    };
    let count = rule[number].as_i64().unwrap_or(0);
    if anchor.ends_with("_time") || count == 0 {
        return Some(event.to_owned());
    }
    let counted = &request.texts.stays;
    let time = if rule[unit] == "hour" {
        counted.hours.of(count)
    } else {
        counted.days.of(count)
    };
    let way = if anchor.starts_with("before") {
        words.before
    } else {
        words.after
    };
    Some(fill(way, &[("time", &time), ("event", event)]))
}
