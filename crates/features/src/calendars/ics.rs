//! Parses the events of a calendar file (RFC 5545), as booking sites and calendar programs write
//! them.
//!
//! The parser skips an event that cannot be a stay, and adds a warning with the reason. Other
//! events of the same file still apply.

use std::collections::{BTreeSet, HashMap};

use calcard::common::PartialDateTime;
use calcard::icalendar::timezone::TzResolver;
use calcard::icalendar::{
    ICalendar, ICalendarComponent, ICalendarComponentType, ICalendarEntry, ICalendarProperty,
    ICalendarValue,
};
use calcard::{Entry, Parser};
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Timestamp, ToSpan as _};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Maximum number of events in a file.
const MAX_EVENTS: usize = 5_000;
/// Maximum number of warnings about a file.
pub(super) const MAX_WARNINGS: usize = 20;
/// Maximum number of characters of an event's text, such as its summary. The parser ignores the
/// rest.
const MAX_TEXT_CHARS: usize = 5_000;
/// Maximum number of characters of a UID in a warning.
const MAX_UID_CHARS: usize = 200;
const SECONDS_OF_DAY: i64 = 86_400;

/// A warning about an event that was skipped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FeedWarning {
    /// The event's UID; null if the event has none.
    pub uid: Option<String>,
    /// The reason why the event was skipped.
    pub problem: String,
}

/// An event that may be a stay. Its dates are in the time zone of the flat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FeedEvent {
    pub uid: String,
    pub check_in: Date,
    pub check_out: Date,
    pub summary: String,
    pub description: String,
    /// The URL of the event, if it has one.
    pub url: Option<String>,
    /// Whether the event has the status `CANCELLED`.
    pub is_cancelled: bool,
    /// The version of the event (`SEQUENCE`). If several events have the same UID, the feed uses
    /// only the event with the highest version.
    sequence: i64,
}

/// The parsed content of a calendar file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FeedContent {
    /// The events of the file. Each UID occurs once.
    pub events: Vec<FeedEvent>,
    /// Warnings about events with a fault: the first [`MAX_WARNINGS`] of them.
    pub warnings: Vec<FeedWarning>,
    /// The number of skipped events.
    pub skipped: u32,
    /// The UIDs of skipped events. The feed treats these events as present, so that an error in the
    /// file does not cancel a stay.
    pub skipped_uids: BTreeSet<String>,
}

impl FeedContent {
    fn warn(&mut self, uid: Option<&str>, problem: &str) {
        if self.warnings.len() < MAX_WARNINGS {
            self.warnings.push(FeedWarning {
                uid: uid.map(|uid| uid.chars().take(MAX_UID_CHARS).collect()),
                problem: problem.to_owned(),
            });
        }
    }

    fn skip(&mut self, uid: Option<&str>, problem: &str) {
        self.skipped += 1;
        self.skipped_uids.extend(uid.map(str::to_owned));
        self.warn(uid, problem);
    }
}

/// The reason why a whole file cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CalendarParseError {
    /// The file is not a complete calendar.
    NoCalendar,
    /// The file has more than the maximum number of events.
    TooManyEvents,
}

/// Parses a calendar file. Converts times to the time zone of the flat.
pub(super) fn parse_calendar(
    text: &str,
    flat: &TimeZone,
) -> Result<FeedContent, CalendarParseError> {
    // The text is stored later, and PostgreSQL cannot store U+0000.
    let text = text.trim_start_matches('\u{feff}').replace('\0', "");
    let text = text.trim();
    // Refuse an incomplete file. Otherwise the feed would cancel the stays of the events in the
    // missing part.
    if !is_complete(text) {
        return Err(CalendarParseError::NoCalendar);
    }
    let mut content = FeedContent::default();
    let mut parser = Parser::new(text);
    let (mut calendars, mut event_count) = (0, 0);
    loop {
        match parser.entry() {
            Entry::ICalendar(calendar) => {
                calendars += 1;
                let zones = calendar.build_tz_resolver();
                for component in events(&calendar) {
                    event_count += 1;
                    if event_count > MAX_EVENTS {
                        return Err(CalendarParseError::TooManyEvents);
                    }
                    add_event(component, &zones, flat, &mut content);
                }
            }
            Entry::Eof => break,
            Entry::TooManyComponents => return Err(CalendarParseError::TooManyEvents),
            _ => {}
        }
    }
    if calendars == 0 {
        return Err(CalendarParseError::NoCalendar);
    }
    remove_duplicate_uids(&mut content);
    Ok(content)
}

fn is_complete(text: &str) -> bool {
    let is = |line: Option<&str>, expected: &str| {
        line.is_some_and(|line| line.trim().eq_ignore_ascii_case(expected))
    };
    is(text.lines().next(), "BEGIN:VCALENDAR") && is(text.lines().next_back(), "END:VCALENDAR")
}

fn events(calendar: &ICalendar) -> impl Iterator<Item = &ICalendarComponent> {
    calendar
        .components
        .iter()
        .filter(|component| component.component_type == ICalendarComponentType::VEvent)
}

/// Adds a calendar event to the parsed content. Skips an event that has no UID, repeats or has
/// invalid dates, and adds a warning about it.
fn add_event(
    component: &ICalendarComponent,
    zones: &TzResolver<&str>,
    flat: &TimeZone,
    content: &mut FeedContent,
) {
    let uid = text_of(component, &ICalendarProperty::Uid);
    let Some(uid) = Some(uid.trim()).filter(|uid| !uid.is_empty()) else {
        return content.skip(None, "has no UID");
    };
    let recurrence_properties = [
        ICalendarProperty::Rrule,
        ICalendarProperty::Rdate,
        ICalendarProperty::RecurrenceId,
    ];
    if recurrence_properties
        .iter()
        .any(|property| component.property(property).is_some())
    {
        return content.skip(Some(uid), "repeats, which a stay cannot");
    }
    let (check_in, check_out) = match dates(component, zones, flat) {
        Ok(dates) => dates,
        Err(problem) => return content.skip(Some(uid), problem),
    };
    let url = text_of(component, &ICalendarProperty::Url);
    let status = text_of(component, &ICalendarProperty::Status);
    content.events.push(FeedEvent {
        check_in,
        check_out,
        summary: text_of(component, &ICalendarProperty::Summary),
        description: text_of(component, &ICalendarProperty::Description),
        url: Some(url).filter(|url| !url.trim().is_empty()),
        is_cancelled: status.trim().to_ascii_lowercase().starts_with("cancel"),
        sequence: component
            .property(&ICalendarProperty::Sequence)
            .and_then(|entry| entry.values.first())
            .and_then(ICalendarValue::as_integer)
            .unwrap_or_default(),
        uid: uid.to_owned(),
    });
}

/// Of several events with the same UID, keeps only the latest version, and skips the others with a
/// warning. The latest version has the highest sequence. Among equal sequences it is the last one
/// in the file.
fn remove_duplicate_uids(content: &mut FeedContent) {
    let mut index_by_uid = HashMap::<String, usize>::new();
    let mut unique: Vec<FeedEvent> = Vec::with_capacity(content.events.len());
    for event in std::mem::take(&mut content.events) {
        let Some(index) = index_by_uid.get(&event.uid).copied() else {
            index_by_uid.insert(event.uid.clone(), unique.len());
            unique.push(event);
            continue;
        };
        if unique[index] != event {
            content.skip(
                Some(&event.uid),
                "stands several times; only its latest version counts",
            );
        }
        if event.sequence >= unique[index].sequence {
            unique[index] = event;
        }
    }
    content.events = unique;
}

/// Returns the texts of an event's iCalendar property, joined by commas and cut to
/// [`MAX_TEXT_CHARS`].
fn text_of(component: &ICalendarComponent, property: &ICalendarProperty) -> String {
    let values = component
        .property(property)
        .map(|entry| entry.values.as_slice())
        .unwrap_or_default();
    let texts: Vec<&str> = values.iter().filter_map(ICalendarValue::as_text).collect();
    texts.join(", ").chars().take(MAX_TEXT_CHARS).collect()
}

/// The start or the end of an event, as the calendar file gives it.
#[derive(Debug, Clone, Copy)]
enum Edge {
    /// A day without a time.
    Day(Date),
    /// A timestamp, and its date and time in the time zone of the flat.
    Instant(Timestamp, DateTime),
}

impl Edge {
    fn instant(at: Timestamp, flat: &TimeZone) -> Self {
        Self::Instant(at, flat.to_datetime(at))
    }

    fn date(self) -> Date {
        match self {
            Self::Day(date) => date,
            Self::Instant(_, local) => local.date(),
        }
    }

    /// Returns whether this end of an event is after the event's start.
    fn is_after(self, start: Self) -> bool {
        match (self, start) {
            (Self::Instant(end, _), Self::Instant(start, _)) => end > start,
            _ => self.date() > start.date(),
        }
    }
}

/// Returns the days of check-in and check-out of an event, or the reason why it cannot be a stay.
fn dates(
    component: &ICalendarComponent,
    zones: &TzResolver<&str>,
    flat: &TimeZone,
) -> Result<(Date, Date), &'static str> {
    let edge = |property| edge(component.property(property)?, zones, flat);
    let start = edge(&ICalendarProperty::Dtstart).ok_or("has no valid start")?;
    let end = if component.property(&ICalendarProperty::Dtend).is_some() {
        edge(&ICalendarProperty::Dtend).ok_or("has no valid end")?
    } else if let Some(seconds) = duration(component) {
        end_after(start, seconds, flat).ok_or("has no valid end")?
    } else if let Edge::Day(first) = start {
        Edge::Day(first.checked_add(1.day()).map_err(|_| "has no valid end")?)
    } else {
        start
    };
    if end.date() == start.date() && end.is_after(start) {
        return Err("starts and ends on the same day, so it has no night");
    }
    if !end.is_after(start) {
        return Err("does not end after its start");
    }
    Ok((start.date(), end.date()))
}

/// Returns the length of an event in seconds.
fn duration(component: &ICalendarComponent) -> Option<i64> {
    match component
        .property(&ICalendarProperty::Duration)?
        .values
        .first()?
    {
        ICalendarValue::Duration(duration) => Some(duration.as_seconds()),
        _ => None,
    }
}

/// Returns the end of an event with this start and duration.
fn end_after(start: Edge, seconds: i64, flat: &TimeZone) -> Option<Edge> {
    match start {
        Edge::Day(date) => {
            let days = (seconds / SECONDS_OF_DAY).clamp(-100_000, 100_000);
            date.checked_add(days.days()).ok().map(Edge::Day)
        }
        Edge::Instant(at, _) => at
            .checked_add(SignedDuration::from_secs(seconds))
            .ok()
            .map(|end| Edge::instant(end, flat)),
    }
}

/// Reads the start or the end of an event. A time without a zone, or in an unknown zone, is in the
/// time zone of the flat.
fn edge(entry: &ICalendarEntry, zones: &TzResolver<&str>, flat: &TimeZone) -> Option<Edge> {
    let value = entry
        .values
        .first()
        .and_then(ICalendarValue::as_partial_date_time)?;
    let date = date(value)?;
    let Some(hour) = value.hour else {
        return Some(Edge::Day(date));
    };
    let local = date.to_datetime(time(hour, value)?);
    let zone = match (offset(value), entry.tz_id()) {
        (Some(offset), _) => TimeZone::fixed(offset),
        (None, Some(name)) => zone(name, zones).unwrap_or_else(|| flat.clone()),
        (None, None) => flat.clone(),
    };
    let at = zone.to_timestamp(local).ok()?;
    Some(Edge::instant(at, flat))
}

fn date(value: &PartialDateTime) -> Option<Date> {
    let year = i16::try_from(value.year?).ok()?;
    let (month, day) = (
        i8::try_from(value.month?).ok()?,
        i8::try_from(value.day?).ok()?,
    );
    Date::new(year, month, day).ok()
}

fn time(hour: u8, value: &PartialDateTime) -> Option<Time> {
    let hour = i8::try_from(hour).ok()?;
    let minute = i8::try_from(value.minute.unwrap_or_default()).ok()?;
    // A leap second has the number 60, which `Time` does not support. Here it becomes 59.
    let second = i8::try_from(value.second.unwrap_or_default().min(59)).ok()?;
    Time::new(hour, minute, second, 0).ok()
}

fn offset(value: &PartialDateTime) -> Option<Offset> {
    let hours = i32::from(value.tz_hour?);
    let minutes = i32::from(value.tz_minute.unwrap_or_default());
    let seconds = (hours * 60 + minutes) * 60;
    Offset::from_seconds(if value.tz_minus { -seconds } else { seconds }).ok()
}

/// Returns the time zone with a name; `None` for an unknown name. Programs write IANA names,
/// Windows names, and IANA names after a path, such as `/example.com/Europe/Madrid`.
fn zone(name: &str, zones: &TzResolver<&str>) -> Option<TimeZone> {
    let parts: Vec<&str> = name.trim_matches('/').split('/').collect();
    let suffixes = (0..parts.len()).map(|start| parts[start..].join("/"));
    suffixes
        .into_iter()
        .find_map(|name| TimeZone::get(&name).ok())
        .or_else(|| TimeZone::get(&zones.resolve(name)?.name()?).ok())
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;
    use proptest::prelude::*;

    use super::*;

    fn madrid() -> TimeZone {
        TimeZone::get("Europe/Madrid").unwrap()
    }

    fn calendar(events: &str) -> String {
        format!("BEGIN:VCALENDAR\r\nVERSION:2.0\r\n{events}END:VCALENDAR\r\n")
    }

    fn event(lines: &str) -> String {
        let lines = lines.replace('\n', "\r\n");
        calendar(&format!(
            "BEGIN:VEVENT\r\nUID:u1\r\n{lines}\r\nEND:VEVENT\r\n"
        ))
    }

    fn one(lines: &str) -> FeedEvent {
        let content = parse_calendar(&event(lines), &madrid()).unwrap();
        assert_eq!(content.warnings, [], "{lines}");
        content.events.into_iter().next().unwrap()
    }

    fn problem(lines: &str) -> String {
        let content = parse_calendar(&event(lines), &madrid()).unwrap();
        assert_eq!((content.events.len(), content.skipped), (0, 1), "{lines}");
        content.warnings[0].problem.clone()
    }

    #[test]
    fn dates_and_times_become_days_at_the_flat() {
        for (lines, first, last) in [
            (
                "DTSTART;VALUE=DATE:20261211\nDTEND;VALUE=DATE:20261215",
                11,
                15,
            ),
            ("DTSTART:20261211\nDTEND:20261215", 11, 15),
            ("DTSTART;VALUE=DATE:20261211", 11, 12),
            ("DTSTART;VALUE=DATE:20261211\nDURATION:P3D", 11, 14),
            ("DTSTART;VALUE=DATE:20261211\nDURATION:P1W", 11, 18),
            ("DTSTART:20261211T233000Z\nDTEND:20261213T100000Z", 12, 13),
            (
                "DTSTART;TZID=Europe/Madrid:20261211T160000\n\
                    DTEND;TZID=Europe/Madrid:20261213T110000",
                11,
                13,
            ),
            (
                "DTSTART;TZID=America/New_York:20261211T200000\n\
                    DTEND;TZID=America/New_York:20261213T110000",
                12,
                13,
            ),
            (
                "DTSTART;TZID=/example.com/America/New_York:20261211T200000\nDTEND:20261213T110000",
                12,
                13,
            ),
            (
                "DTSTART;TZID=Nowhere/Town:20261211T160000\nDTEND:20261213T110000",
                11,
                13,
            ),
            ("DTSTART:20261211T160000\nDTEND:20261213T110000", 11, 13),
            ("DTSTART:20261211T160000\nDURATION:PT43H", 11, 13),
        ] {
            let event = one(lines);
            let expected = (date(2026, 12, first), date(2026, 12, last));
            assert_eq!((event.check_in, event.check_out), expected, "{lines}");
        }
    }

    #[test]
    fn events_that_cannot_be_stays_are_skipped_with_a_reason() {
        for (lines, part) in [
            ("SUMMARY:Reserved", "no valid start"),
            ("DTSTART:soon", "no valid start"),
            ("DTSTART;VALUE=DATE:20261311", "no valid start"),
            ("DTSTART;VALUE=DATE:20261211\nDTEND:late", "no valid end"),
            (
                "DTSTART;VALUE=DATE:20261211\nDTEND;VALUE=DATE:20261211",
                "after its start",
            ),
            (
                "DTSTART;VALUE=DATE:20261211\nDTEND;VALUE=DATE:20261210",
                "after its start",
            ),
            (
                "DTSTART:20261211T100000Z\nDTEND:20261211T120000Z",
                "no night",
            ),
            ("DTSTART:20261211T100000Z", "after its start"),
            ("DTSTART;VALUE=DATE:20261211\nRRULE:FREQ=WEEKLY", "repeats"),
            (
                "DTSTART;VALUE=DATE:20261211\nRDATE;VALUE=DATE:20261218",
                "repeats",
            ),
        ] {
            let problem_text = problem(lines);
            assert!(problem_text.contains(part), "{lines}: {problem_text}");
        }
        let without = calendar("BEGIN:VEVENT\r\nDTSTART;VALUE=DATE:20261211\r\nEND:VEVENT\r\n");
        let content = parse_calendar(&without, &madrid()).unwrap();
        assert_eq!(
            content.warnings,
            [FeedWarning {
                uid: None,
                problem: "has no UID".into()
            }]
        );
    }

    #[test]
    fn folded_and_escaped_texts_are_read_whole() {
        let event = one(
            "DTSTART;VALUE=DATE:20261211\nDTEND;VALUE=DATE:20261215\nSUMMARY:Reserved\n\
                DESCRIPTION:Reservation URL: https://www.exa\n mple.com/hosting/reservations/\
                details/HMABC\\nPhone Number (Last 4\n  Digits): 1234",
        );
        assert!(
            event
                .description
                .contains("https://www.example.com/hosting/reservations/details/HMABC")
        );
        assert!(
            event.description.contains("(Last 4 Digits): 1234"),
            "{}",
            event.description
        );
    }

    #[test]
    fn an_event_with_a_repeated_uid_counts_once() {
        let version = |sequence: i64, end: i64| {
            format!(
                "BEGIN:VEVENT\r\nUID:a\r\nSEQUENCE:{sequence}\r\nDTSTART;VALUE=DATE:20261211\r\n\
                    DTEND;VALUE=DATE:202612{end}\r\nEND:VEVENT\r\n"
            )
        };
        for (events, last, skipped) in [
            (version(0, 15) + &version(0, 15), 15, 0),
            (version(0, 15) + &version(0, 16), 16, 1),
            (version(2, 15) + &version(1, 16), 15, 1),
        ] {
            let content = parse_calendar(&calendar(&events), &madrid()).unwrap();
            assert_eq!(content.events.len(), 1);
            assert_eq!(
                content.events[0].check_out,
                date(2026, 12, last),
                "{events}"
            );
            assert_eq!(content.skipped, skipped);
        }
    }

    #[test]
    fn an_incomplete_calendar_is_refused() {
        let whole = event("DTSTART;VALUE=DATE:20261211");
        for text in [
            "",
            "<html><body>Sign in</body></html>",
            "BEGIN:VCARD\r\nEND:VCARD\r\n",
            &whole[..whole.len() - 20],
            "BEGIN:VCALENDAR\r\n",
        ] {
            assert_eq!(
                parse_calendar(text, &madrid()),
                Err(CalendarParseError::NoCalendar),
                "{text}"
            );
        }
        let empty = parse_calendar(&calendar(""), &madrid()).unwrap();
        assert_eq!(empty, FeedContent::default());
        assert!(parse_calendar(&format!("\u{feff}{whole}"), &madrid()).is_ok());
        assert!(parse_calendar(&whole.replace("\r\n", "\n"), &madrid()).is_ok());
        let many = "BEGIN:VEVENT\r\nUID:a\r\nEND:VEVENT\r\n".repeat(MAX_EVENTS + 1);
        assert_eq!(
            parse_calendar(&calendar(&many), &madrid()),
            Err(CalendarParseError::TooManyEvents)
        );
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(
            text in "(BEGIN:VEVENT\r\n|END:VEVENT\r\n|UID:[a-z]\r\n\
                |DT(START|END)[;:]?[A-Z=:;0-9]{0,20}\r\n|[ -~]{0,20}\r\n){0,30}",
        ) {
            let _ = parse_calendar(&calendar(&text), &madrid());
        }
    }
}
