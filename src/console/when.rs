//! Moments and days, as screens say them.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::{Offset, TimeZone};

use super::visit::Visit;

/// A moment: for programs, and in words.
pub struct When {
    pub iso: String,
    pub text: String,
}

/// A moment as an operation answers it, in UTC. What is none is shown as it is.
pub fn moment(visit: &Visit, at: &str) -> When {
    let said = |at: Timestamp| {
        let there = TimeZone::UTC.to_datetime(at);
        format!("{}, {} UTC", visit.dates().full(there.date()), visit.dates().time(there.time()))
    };
    When { iso: at.to_owned(), text: at.parse().map_or_else(|_| at.to_owned(), said) }
}

/// The same of what may not have happened.
pub fn maybe(visit: &Visit, at: Option<&str>) -> Option<When> {
    at.map(|at| moment(visit, at))
}

/// A day as an operation answers it.
pub fn day(visit: &Visit, day: &str) -> String {
    day.parse().map_or_else(|_| day.to_owned(), |day: Date| visit.dates().full(day))
}

/// From one day to another; the year where it is not this one.
pub fn days(visit: &Visit, from: &str, until: &str) -> String {
    let (Ok(first), Ok(last)) = (from.parse::<Date>(), until.parse::<Date>()) else { return format!("{from} – {until}") };
    let said = visit.dates().days(first, last);
    if last.year() == today(visit).year() { said } else { format!("{said}, {}", last.year()) }
}

/// Today, in UTC: an organization has flats in several time zones.
pub fn today(visit: &Visit) -> Date {
    TimeZone::UTC.to_datetime(visit.service.clock.now()).date()
}

/// The day at a moment, so many hours from UTC.
pub fn day_at(at: Timestamp, hours: i8) -> Date {
    Offset::constant(hours).to_datetime(at).date()
}

/// Whether a day is today or tomorrow in a time zone. What is no day is neither.
pub fn is_today_or_tomorrow(day: &str, now: Timestamp, zone: &TimeZone) -> bool {
    let today = zone.to_datetime(now).date();
    day.parse().is_ok_and(|day: Date| day == today || today.tomorrow().is_ok_and(|tomorrow| day == tomorrow))
}

/// A moment as it is typed, in a time zone.
pub fn to_type(at: Timestamp, zone: &TimeZone) -> String {
    zone.to_datetime(at).strftime("%Y-%m-%dT%H:%M").to_string()
}

/// A moment that was typed as a day and an hour of a time zone, as operations take it.
pub fn typed(text: &str, zone: &TimeZone) -> Option<String> {
    let local: DateTime = text.trim().parse().ok()?;
    let at = zone.to_timestamp(local).ok()?;
    Some(format!("{at:.3}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn today_is_another_day_elsewhere() {
        let now: Timestamp = "2026-11-21T11:30:00Z".parse().unwrap();
        let days = |zone: &str| {
            let zone = TimeZone::get(zone).unwrap();
            let is_near = |day: &&str| is_today_or_tomorrow(day, now, &zone);
            ["2026-11-20", "2026-11-21", "2026-11-22", "2026-11-23", "soon"].into_iter().filter(is_near).collect::<Vec<_>>()
        };
        assert_eq!(days("Europe/Madrid"), ["2026-11-21", "2026-11-22"]);
        assert_eq!(days("Pacific/Kiritimati"), ["2026-11-22", "2026-11-23"]);
        assert_eq!(days("Etc/GMT+12"), ["2026-11-20", "2026-11-21"]);
        assert_eq!([day_at(now, -12), day_at(now, 14)].map(|day| day.to_string()), ["2026-11-20", "2026-11-22"]);
    }

    #[test]
    fn what_is_typed_is_of_its_time_zone() {
        let madrid = TimeZone::get("Europe/Madrid").unwrap();
        assert_eq!(typed("2026-12-11T14:00", &madrid).as_deref(), Some("2026-12-11T13:00:00.000Z"));
        assert_eq!(typed("2026-12-11T14:00", &TimeZone::UTC).as_deref(), Some("2026-12-11T14:00:00.000Z"));
        assert_eq!([typed("", &madrid), typed("soon", &madrid)], [None, None]);
    }
}
