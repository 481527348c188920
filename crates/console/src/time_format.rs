//! Formats timestamps and dates for pages.

use engine::moment::Moment;
use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::{Offset, TimeZone};

use super::request::ConsoleRequest;

/// A timestamp in two forms: in ISO 8601 for programs, and in words for members.
pub struct FormattedTime {
    pub iso: String,
    pub text: String,
}

/// Formats a moment from an operation's answer. The text for members shows the time in UTC.
pub fn of(request: &ConsoleRequest, at: Moment) -> FormattedTime {
    FormattedTime {
        iso: at.to_string(),
        text: in_words(request, at.0),
    }
}

/// Formats an optional moment from an operation's answer.
pub fn of_any(request: &ConsoleRequest, at: Option<Moment>) -> Option<FormattedTime> {
    at.map(|at| of(request, at))
}

fn in_words(request: &ConsoleRequest, at: Timestamp) -> String {
    let there = TimeZone::UTC.to_datetime(at);
    format!(
        "{}, {} UTC",
        request.dates().full(there.date()),
        request.dates().time(there.time())
    )
}

/// Formats the text of a timestamp, as an operation returns it, for members. The result shows the
/// time in UTC. A text that is not a timestamp is shown as it is.
pub fn timestamp(request: &ConsoleRequest, at: &str) -> FormattedTime {
    FormattedTime {
        iso: at.to_owned(),
        text: at
            .parse()
            .map_or_else(|_| at.to_owned(), |at| in_words(request, at)),
    }
}

/// Formats a date as words in the language of the page.
pub fn date(request: &ConsoleRequest, day: Date) -> String {
    request.dates().full(day)
}

/// Formats a day for members. `day` is a date as text, from an operation's answer. A text that is
/// not a date is returned unchanged.
pub fn day(request: &ConsoleRequest, day: &str) -> String {
    day.parse()
        .map_or_else(|_| day.to_owned(), |day| date(request, day))
}

/// Formats a range of dates in words, without their years. If `from` or `until` is not a date,
/// returns both texts unchanged, with a dash between them.
pub fn days_of_any_year(request: &ConsoleRequest, from: &str, until: &str) -> String {
    match (from.parse::<Date>(), until.parse::<Date>()) {
        (Ok(first), Ok(last)) => request.dates().days_of_any_year(first, last),
        _ => format!("{from} – {until}"),
    }
}

/// Formats a range of dates in words. The text contains each year that is not the current year.
pub fn days(request: &ConsoleRequest, from: &str, until: &str) -> String {
    let (Ok(first), Ok(last)) = (from.parse::<Date>(), until.parse::<Date>()) else {
        return format!("{from} – {until}");
    };
    request.dates().days(first, last, today(request))
}

/// Returns the current date in UTC, because the flats of an organization can be in several time
/// zones.
pub fn today(request: &ConsoleRequest) -> Date {
    TimeZone::UTC
        .to_datetime(request.service.clock.now())
        .date()
}

/// Returns the date of a timestamp at an offset from UTC. The offset is in hours.
pub fn day_at(at: Timestamp, hours: i8) -> Date {
    Offset::constant(hours).to_datetime(at).date()
}

/// Returns whether a date is today or tomorrow in a time zone. Returns false if `day` cannot be
/// parsed.
pub fn is_today_or_tomorrow(day: &str, now: Timestamp, zone: &TimeZone) -> bool {
    let today = zone.to_datetime(now).date();
    day.parse().is_ok_and(|day: Date| {
        day == today || today.tomorrow().is_ok_and(|tomorrow| day == tomorrow)
    })
}

/// Formats a timestamp as the value of an input field. The field shows local time in `zone`.
pub fn for_input(at: Timestamp, zone: &TimeZone) -> String {
    zone.to_datetime(at).strftime("%Y-%m-%dT%H:%M").to_string()
}

/// Converts a typed local date and time into the timestamp that operations accept. Returns `None`
/// if the text is not a date and time.
pub fn parse_local(text: &str, zone: &TimeZone) -> Option<String> {
    let local: DateTime = text.trim().parse().ok()?;
    let at = zone.to_timestamp(local).ok()?;
    Some(format!("{at:.3}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn today_and_tomorrow_depend_on_the_time_zone() {
        let now: Timestamp = "2026-11-21T11:30:00Z".parse().unwrap();
        let days = |zone: &str| {
            let zone = TimeZone::get(zone).unwrap();
            let is_near = |day: &&str| is_today_or_tomorrow(day, now, &zone);
            [
                "2026-11-20",
                "2026-11-21",
                "2026-11-22",
                "2026-11-23",
                "soon",
            ]
            .into_iter()
            .filter(is_near)
            .collect::<Vec<_>>()
        };
        assert_eq!(days("Europe/Madrid"), ["2026-11-21", "2026-11-22"]);
        assert_eq!(days("Pacific/Kiritimati"), ["2026-11-22", "2026-11-23"]);
        assert_eq!(days("Etc/GMT+12"), ["2026-11-20", "2026-11-21"]);
        assert_eq!(
            [day_at(now, -12), day_at(now, 14)].map(|day| day.to_string()),
            ["2026-11-20", "2026-11-22"]
        );
    }

    #[test]
    fn a_typed_time_is_read_in_its_time_zone() {
        let madrid = TimeZone::get("Europe/Madrid").unwrap();
        assert_eq!(
            parse_local("2026-12-11T14:00", &madrid).as_deref(),
            Some("2026-12-11T13:00:00.000Z")
        );
        assert_eq!(
            parse_local("2026-12-11T14:00", &TimeZone::UTC).as_deref(),
            Some("2026-12-11T14:00:00.000Z")
        );
        assert_eq!(
            [parse_local("", &madrid), parse_local("soon", &madrid)],
            [None, None]
        );
    }
}
