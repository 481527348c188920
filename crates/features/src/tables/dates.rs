//! Parser for dates and times in a table: ISO 8601, or dates in the format that the import states.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use jiff::fmt::strtime::BrokenDownTime;
use jiff::tz::TimeZone;

/// The default format of dates: ISO 8601.
const ISO: &str = "%Y-%m-%d";

/// A parser for the dates in a CSV file, which all have the same format.
#[derive(Debug, Clone)]
pub(super) struct DateParser {
    pattern: String,
    /// The time zone of times without an offset.
    zone: TimeZone,
}

impl DateParser {
    /// Creates a parser from a `strftime` pattern such as `%d.%m.%Y`; `None` means ISO 8601.
    /// Returns `None` if the pattern lacks the day, the month or the year.
    pub(super) fn new(pattern: Option<&str>, zone: TimeZone) -> Option<Self> {
        let dates = Self {
            pattern: pattern.unwrap_or(ISO).to_owned(),
            zone,
        };
        let sample = Date::constant(2026, 11, 23);
        let text = jiff::fmt::strtime::format(&dates.pattern, sample).ok()?;
        (dates.day(&text) == Some(sample)).then_some(dates)
    }

    /// Returns the `strftime` pattern of dates, for error messages.
    pub(super) fn pattern(&self) -> &str {
        &self.pattern
    }

    /// Parses a date. Returns `None` if the text is not exactly a date.
    pub(super) fn day(&self, text: &str) -> Option<Date> {
        let (date, rest) = self.split_date(text)?;
        rest.is_empty().then_some(date)
    }

    /// Parses a date with a time. Without a time, the result is midnight.
    pub(super) fn timestamp(&self, text: &str) -> Option<Timestamp> {
        let (date, rest) = self.split_date(text)?;
        let rest = rest.trim_start_matches(['T', 't', ',', ' ']).trim();
        if rest.is_empty() {
            return self.at(date, Time::midnight());
        }
        // A time with an offset, such as 15:00Z or 15:00+02:00, must be tried first. The parser of
        // a time alone would ignore the offset.
        if let Ok(timestamp) = format!("{date}T{rest}").parse() {
            return Some(timestamp);
        }
        rest.parse().ok().and_then(|time| self.at(date, time))
    }

    fn at(&self, date: Date, time: Time) -> Option<Timestamp> {
        let local = DateTime::from_parts(date, time);
        self.zone.to_timestamp(local).ok()
    }

    /// Parses the date at the beginning of a text by the pattern of the import. Returns the date
    /// and the rest of the text; `None` if the text does not begin with such a date.
    fn split_date<'t>(&self, text: &'t str) -> Option<(Date, &'t str)> {
        let (broken_down, length) = BrokenDownTime::parse_prefix(&self.pattern, text).ok()?;
        Some((broken_down.to_date().ok()?, text.get(length..)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dates(pattern: Option<&str>) -> DateParser {
        DateParser::new(pattern, TimeZone::get("Europe/Madrid").unwrap()).unwrap()
    }

    #[test]
    fn dates_are_iso_8601_unless_a_pattern_is_named() {
        let day = |pattern, text: &str| dates(pattern).day(text).map(|day| day.to_string());
        assert_eq!(day(None, "2026-12-11").as_deref(), Some("2026-12-11"));
        assert_eq!(
            day(Some("%d/%m/%Y"), "11/12/2026").as_deref(),
            Some("2026-12-11")
        );
        assert_eq!(
            day(Some("%m/%d/%Y"), "11/12/2026").as_deref(),
            Some("2026-11-12")
        );
        for text in ["11/12/2026", "2026-13-01", "2026-12-11 15:00", "soon", ""] {
            assert_eq!(day(None, text), None, "{text}");
        }
        assert_eq!(day(Some("%d/%m/%Y"), "2026-12-11"), None);
    }

    #[test]
    fn times_without_an_offset_are_of_the_time_zone() {
        let timestamp = |pattern, text: &str| {
            dates(pattern)
                .timestamp(text)
                .map(|timestamp| timestamp.to_string())
        };
        for (text, expected) in [
            ("2026-11-02", "2026-11-01T23:00:00Z"),
            ("2026-11-02 10:00", "2026-11-02T09:00:00Z"),
            ("2026-11-02T10:00:30", "2026-11-02T09:00:30Z"),
            ("2026-11-02T10:00:00Z", "2026-11-02T10:00:00Z"),
            ("2026-11-02T10:00:00.000+02:00", "2026-11-02T08:00:00Z"),
        ] {
            assert_eq!(timestamp(None, text).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(
            timestamp(Some("%d.%m.%Y"), "02.11.2026 10:00").as_deref(),
            Some("2026-11-02T09:00:00Z")
        );
        assert_eq!(timestamp(None, "2026-11-02 noon"), None);
    }

    #[test]
    fn a_pattern_names_day_month_and_year() {
        for pattern in ["%d/%m", "%Q", "", "day"] {
            assert!(
                DateParser::new(Some(pattern), TimeZone::UTC).is_none(),
                "{pattern}"
            );
        }
    }
}
