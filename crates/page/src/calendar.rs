//! Writes the stay as a calendar event (iCalendar, RFC 5545), in the flat's time zone.
//!
//! If the hours of check-in and check-out are known, the event lasts from check-in to check-out.
//! The file then contains the zone's rules for that period (VTIMEZONE), so that a calendar program
//! need not know the zone. Otherwise the event lasts whole days.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::{Dst, Offset, TimeZone};
use jiff::{Timestamp, ToSpan as _};
use uuid::Uuid;

/// Maximum length of a line of the calendar file in octets, without its line end (RFC 5545, 3.1).
const LINE: usize = 75;

/// Maximum number of clock changes of the flat's time zone that a calendar file lists. In a zone
/// with two changes a year, this is enough for a stay of ten years.
const CHANGES: usize = 20;

/// The data from which the calendar event is written.
#[derive(Debug, Clone)]
pub struct CalendarEvent<'e> {
    /// The id of the reservation. A calendar program that fetches the file again recognizes the
    /// event by this id.
    pub id: Uuid,
    /// The time at which the calendar file is written.
    pub now: Timestamp,
    /// The day of check-in, and the time of day if it is known.
    pub check_in: (Date, Option<Time>),
    /// The day of check-out, and the time of day if it is known.
    pub check_out: (Date, Option<Time>),
    /// The flat's time zone.
    pub zone: &'e TimeZone,
    /// Whether the stay is confirmed, tentative or cancelled.
    pub status: EventStatus,
    pub summary: &'e str,
    pub description: &'e str,
    /// The postal address of the flat, which calendar programs only display. They find the place by
    /// `coordinates`.
    pub location: Option<&'e str>,
    /// The latitude and longitude of the flat, in degrees.
    pub coordinates: Option<(f64, f64)>,
    /// The address of the stay's page.
    pub url: Option<&'e str>,
}

/// The status of an event (RFC 5545, 3.8.1.11).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventStatus {
    Confirmed,
    Tentative,
    Cancelled,
}

impl EventStatus {
    const fn name(self) -> &'static str {
        match self {
            Self::Confirmed => "CONFIRMED",
            Self::Tentative => "TENTATIVE",
            Self::Cancelled => "CANCELLED",
        }
    }
}

/// Returns the link that adds an event to Google Calendar. The link contains local times and the
/// name of the flat's time zone. If an hour of check-in or check-out is unknown, the event lasts
/// whole days.
#[must_use]
pub fn google(event: &CalendarEvent<'_>) -> String {
    let last_day = event.check_out.0.max(event.check_in.0);
    let dates = if let ((day, Some(from)), Some(until)) = (event.check_in, event.check_out.1) {
        let (starts, ends) = (day.to_datetime(from), last_day.to_datetime(until));
        format!("{}/{}", local(starts), local(ends.max(starts)))
    } else {
        let end = last_day.tomorrow().unwrap_or(last_day);
        format!(
            "{}/{}",
            event.check_in.0.strftime("%Y%m%d"),
            end.strftime("%Y%m%d")
        )
    };
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query
        .append_pair("action", "TEMPLATE")
        .append_pair("text", event.summary)
        .append_pair("dates", &dates)
        .append_pair("ctz", event.zone.iana_name().unwrap_or("UTC"));
    if !event.description.is_empty() {
        query.append_pair("details", event.description);
    }
    if let Some(location) = event.location {
        query.append_pair("location", location);
    }
    format!(
        "https://calendar.google.com/calendar/render?{}",
        query.finish()
    )
}

/// Returns the iCalendar file of an event. Lines end with CR LF.
#[must_use]
pub fn ics(event: &CalendarEvent<'_>) -> String {
    let mut lines: Vec<String> = [
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        "PRODID:-//Vestibule//Stay//EN",
        "CALSCALE:GREGORIAN",
        "METHOD:PUBLISH",
    ]
    .map(str::to_owned)
    .to_vec();
    let last_day = event.check_out.0.max(event.check_in.0);
    let times = if let ((day, Some(from)), Some(until)) = (event.check_in, event.check_out.1) {
        let (starts, ends) = (day.to_datetime(from), last_day.to_datetime(until));
        let name = event.zone.iana_name().unwrap_or("UTC");
        lines.extend(zone_lines(name, event.zone, starts, ends));
        let end = (ends > starts).then(|| format!("DTEND;TZID={name}:{}", local(ends)));
        [Some(format!("DTSTART;TZID={name}:{}", local(starts))), end]
    } else {
        // DTEND of an event of whole days is exclusive: the day after the last day.
        let end = last_day
            .tomorrow()
            .ok()
            .map(|day| format!("DTEND;VALUE=DATE:{}", day.strftime("%Y%m%d")));
        [
            Some(format!(
                "DTSTART;VALUE=DATE:{}",
                event.check_in.0.strftime("%Y%m%d")
            )),
            end,
        ]
    };
    lines.extend([
        "BEGIN:VEVENT".to_owned(),
        format!("UID:{}", event.id),
        format!("DTSTAMP:{}", event.now.strftime("%Y%m%dT%H%M%SZ")),
    ]);
    lines.extend(times.into_iter().flatten());
    lines.push(format!("SUMMARY:{}", escaped(event.summary)));
    lines.push(format!("DESCRIPTION:{}", escaped(event.description)));
    lines.extend(
        event
            .location
            .map(|location| format!("LOCATION:{}", escaped(location))),
    );
    lines.extend(
        event
            .coordinates
            .map(|(latitude, longitude)| format!("GEO:{latitude:.6};{longitude:.6}")),
    );
    // A URL is not a text value in iCalendar, so it is not escaped. Control characters are removed.
    lines.extend(
        event
            .url
            .map(|url| format!("URL:{}", url.replace(char::is_control, ""))),
    );
    lines.push(format!("STATUS:{}", event.status.name()));
    lines.extend(["END:VEVENT", "END:VCALENDAR"].map(str::to_owned));
    lines.iter().map(|line| folded(line)).collect()
}

/// Returns the `VTIMEZONE` lines of a time zone for a period: the rule at the beginning of the
/// period, and one rule for each clock change in the period.
fn zone_lines(name: &str, zone: &TimeZone, starts: DateTime, ends: DateTime) -> Vec<String> {
    let time = |local: DateTime| zone.to_timestamp(local).unwrap_or(Timestamp::UNIX_EPOCH);
    let (from, until) = (time(starts), time(ends));
    let mut lines = vec!["BEGIN:VTIMEZONE".to_owned(), format!("TZID:{name}")];
    let in_force = zone.preceding(from + 1.second()).next();
    if in_force.is_none() {
        // No clock change of this zone precedes the period. So this rule has the offset at the
        // beginning of the period, and is valid from 1970 on.
        let info = zone.to_offset_info(from);
        lines.extend(observance(
            "STANDARD",
            DateTime::constant(1970, 1, 1, 0, 0, 0, 0),
            info.offset(),
            info.offset(),
            info.abbreviation(),
        ));
    }
    let changes = in_force.into_iter().chain(
        zone.following(from + 1.second())
            .take_while(|change| change.timestamp() <= until),
    );
    for change in changes.take(CHANGES) {
        let before = zone.to_offset(change.timestamp() - 1.nanosecond());
        let kind = if change.dst() == Dst::Yes {
            "DAYLIGHT"
        } else {
            "STANDARD"
        };
        // iCalendar gives the time of a clock change in the local time before the change (RFC 5545,
        // 3.6.5).
        lines.extend(observance(
            kind,
            before.to_datetime(change.timestamp()),
            before,
            change.offset(),
            change.abbreviation(),
        ));
    }
    lines.push("END:VTIMEZONE".to_owned());
    lines
}

fn observance(kind: &str, onset: DateTime, from: Offset, to: Offset, name: &str) -> [String; 6] {
    [
        format!("BEGIN:{kind}"),
        format!("DTSTART:{}", local(onset)),
        format!("TZOFFSETFROM:{}", written(from)),
        format!("TZOFFSETTO:{}", written(to)),
        format!("TZNAME:{}", escaped(name)),
        format!("END:{kind}"),
    ]
}

/// Formats a local time in the basic format of iCalendar, without a zone.
fn local(time: DateTime) -> String {
    time.strftime("%Y%m%dT%H%M%S").to_string()
}

/// Formats a UTC offset, such as `+0100`. Appends the seconds if the offset is not a whole number
/// of minutes.
fn written(offset: Offset) -> String {
    let seconds = offset.seconds();
    let sign = if seconds < 0 { '-' } else { '+' };
    let (hours, minutes, seconds) = (
        seconds.abs() / 3600,
        seconds.abs() / 60 % 60,
        seconds.abs() % 60,
    );
    let rest = if seconds == 0 {
        String::new()
    } else {
        format!("{seconds:02}")
    };
    format!("{sign}{hours:02}{minutes:02}{rest}")
}

/// Escapes a text for an iCalendar value (RFC 5545, 3.3.11). Converts tabs to spaces, and removes
/// all other control characters except line ends.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.replace("\r\n", "\n").chars() {
        match character {
            '\\' | ';' | ',' => escaped.extend(['\\', character]),
            '\n' | '\r' => escaped.push_str("\\n"),
            '\t' => escaped.push(' '),
            _ if character.is_control() => {}
            _ => escaped.push(character),
        }
    }
    escaped
}

/// Folds a line into pieces of at most 75 octets, as RFC 5545, 3.1 requires. Each piece after the
/// first begins with a space. The octets of a character stay in the same piece.
fn folded(line: &str) -> String {
    let mut folded = String::with_capacity(line.len() + line.len() / LINE * 3 + 2);
    let mut length = 0;
    for character in line.chars() {
        if length + character.len_utf8() > LINE {
            folded.push_str("\r\n ");
            length = 1;
        }
        folded.push(character);
        length += character.len_utf8();
    }
    folded + "\r\n"
}

#[cfg(test)]
mod tests {
    use jiff::civil::{date, time};
    use proptest::prelude::*;

    use super::*;

    fn event(zone: &TimeZone) -> CalendarEvent<'_> {
        CalendarEvent {
            id: Uuid::from_u128(7),
            now: "2026-11-22T14:00:00Z".parse().unwrap(),
            check_in: (date(2026, 10, 23), Some(time(15, 0, 0, 0))),
            check_out: (date(2026, 10, 27), Some(time(11, 30, 0, 0))),
            zone,
            status: EventStatus::Confirmed,
            summary: "Stay at Casa Ana, 2nd floor",
            description: "Everything about your stay: https://example.com/stay/abc",
            location: Some("Carrer Gran; 7"),
            coordinates: Some((41.4, 2.15)),
            url: Some("https://example.com/stay/abc"),
        }
    }

    fn unfolded(file: &str) -> Vec<String> {
        file.replace("\r\n ", "")
            .split("\r\n")
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn a_stay_across_a_clock_change_has_both_offsets() {
        let zone = TimeZone::get("Europe/Madrid").unwrap();
        let expected = "BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//Vestibule//Stay//EN\n\
            CALSCALE:GREGORIAN\nMETHOD:PUBLISH\nBEGIN:VTIMEZONE\nTZID:Europe/Madrid\n\
            BEGIN:DAYLIGHT\nDTSTART:20260329T020000\nTZOFFSETFROM:+0100\nTZOFFSETTO:+0200\n\
            TZNAME:CEST\nEND:DAYLIGHT\nBEGIN:STANDARD\nDTSTART:20261025T030000\n\
            TZOFFSETFROM:+0200\nTZOFFSETTO:+0100\nTZNAME:CET\nEND:STANDARD\nEND:VTIMEZONE\n\
            BEGIN:VEVENT\nUID:00000000-0000-0000-0000-000000000007\nDTSTAMP:20261122T140000Z\n\
            DTSTART;TZID=Europe/Madrid:20261023T150000\nDTEND;TZID=Europe/Madrid:20261027T113000\n\
            SUMMARY:Stay at Casa Ana\\, 2nd floor\n\
            DESCRIPTION:Everything about your stay: https://example.com/stay/abc\n\
            LOCATION:Carrer Gran\\; 7\nGEO:41.400000;2.150000\nURL:https://example.com/stay/abc\n\
            STATUS:CONFIRMED\nEND:VEVENT\nEND:VCALENDAR\n";
        assert_eq!(
            unfolded(&ics(&event(&zone))),
            expected.split('\n').collect::<Vec<_>>()
        );
    }

    #[test]
    fn a_stay_without_both_hours_is_an_all_day_event() {
        let file = ics(&CalendarEvent {
            check_out: (date(2026, 10, 27), None),
            status: EventStatus::Cancelled,
            ..event(&TimeZone::UTC)
        });
        assert!(
            file.contains("\r\nDTSTART;VALUE=DATE:20261023\r\nDTEND;VALUE=DATE:20261028\r\n"),
            "{file}"
        );
        assert!(file.contains("\r\nSTATUS:CANCELLED\r\n") && !file.contains("VTIMEZONE"));
    }

    #[test]
    fn the_status_of_the_booking_is_that_of_the_event() {
        for (status, line) in [
            (EventStatus::Confirmed, "\r\nSTATUS:CONFIRMED\r\n"),
            (EventStatus::Tentative, "\r\nSTATUS:TENTATIVE\r\n"),
        ] {
            let file = ics(&CalendarEvent {
                status,
                ..event(&TimeZone::UTC)
            });
            assert!(file.contains(line), "{file}");
        }
    }

    #[test]
    fn an_address_adds_the_stay_to_googles_calendar() {
        let zone = TimeZone::get("Europe/Madrid").unwrap();
        assert_eq!(
            google(&event(&zone)),
            "https://calendar.google.com/calendar/render?action=TEMPLATE\
                &text=Stay+at+Casa+Ana%2C+2nd+floor&dates=20261023T150000%2F20261027T113000\
                &ctz=Europe%2FMadrid&details=Everything+about+your+stay%3A+https%3A%2F%2F\
                example.com%2Fstay%2Fabc&location=Carrer+Gran%3B+7"
        );
        let whole_days = google(&CalendarEvent {
            check_in: (date(2026, 10, 23), None),
            location: None,
            ..event(&zone)
        });
        assert!(
            whole_days.contains("&dates=20261023%2F20261028&"),
            "{whole_days}"
        );
    }

    #[test]
    fn a_zone_without_clock_changes_has_a_single_rule() {
        let file = ics(&event(&TimeZone::UTC));
        assert!(file.contains(
            "TZID:UTC\r\nBEGIN:STANDARD\r\nDTSTART:19700101T000000\r\n\
                TZOFFSETFROM:+0000\r\nTZOFFSETTO:+0000\r\n"
        ));
        assert_eq!(written(Offset::from_seconds(-12_345).unwrap()), "-032545");
    }

    #[test]
    fn a_stay_with_check_out_before_check_in_has_no_end() {
        let zone = TimeZone::get("Europe/Madrid").unwrap();
        let file = ics(&CalendarEvent {
            check_out: (date(2026, 10, 1), Some(time(11, 0, 0, 0))),
            ..event(&zone)
        });
        assert!(!file.contains("DTEND"));
    }

    proptest! {
        #[test]
        fn folded_calendar_lines_are_short_and_read_back(text in "[a-zé漢😀;,\\\\\\n ]{0,200}") {
            let line = format!("SUMMARY:{}", escaped(&text));
            let sent = folded(&line);
            prop_assert!(sent.split("\r\n").all(|piece| piece.len() <= LINE));
            prop_assert_eq!(sent.replace("\r\n ", ""), format!("{line}\r\n"));
            let value = line.strip_prefix("SUMMARY:").unwrap();
            let mut read = String::new();
            let mut letters = value.chars();
            while let Some(character) = letters.next() {
                match character {
                    '\\' => read.push(
                        letters
                            .next()
                            .map_or('?', |next| if next == 'n' { '\n' } else { next }),
                    ),
                    _ => read.push(character),
                }
            }
            prop_assert_eq!(read, text);
        }

        #[test]
        fn texts_never_add_calendar_lines(
            summary in "\\PC{0,40}|[\\x00-\\x1f]{0,9}",
            url in "[ -~\\x00-\\x1f]{0,30}",
        ) {
            let zone = TimeZone::get("America/New_York").unwrap();
            let plain = unfolded(&ics(&event(&zone))).len();
            let file = ics(&CalendarEvent {
                summary: &summary,
                description: &summary,
                location: Some(&summary),
                url: Some(&url),
                ..event(&zone)
            });
            prop_assert_eq!(unfolded(&file).len(), plain);
            prop_assert!(!file.replace("\r\n", "").contains(char::is_control));
        }

        /// Parses the generated time-zone rules. Checks that they give the zone's offset for every
        /// time of the stay.
        #[test]
        fn calendar_rules_agree_with_the_time_zone(
            zone in prop::sample::select(vec![
                "Europe/Madrid",
                "America/Santiago",
                "Africa/Casablanca",
                "Asia/Kolkata",
                "Pacific/Apia",
            ]),
            start in 0..20_000_i32,
            nights in 0..400_i32,
            part in 0.0..1.0_f64,
        ) {
            let zone = TimeZone::get(zone).unwrap();
            let check_in = date(1990, 1, 1) + start.days();
            let (starts, ends) = (
                check_in.at(15, 0, 0, 0),
                (check_in + nights.days()).at(23, 0, 0, 0),
            );
            let lines = zone_lines("Zone", &zone, starts, ends);
            let value = |line: &String, name: &str| line.strip_prefix(name).map(str::to_owned);
            let onsets = lines.iter().filter_map(|line| value(line, "DTSTART:"));
            let froms = lines.iter().filter_map(|line| value(line, "TZOFFSETFROM:"));
            let tos = lines.iter().filter_map(|line| value(line, "TZOFFSETTO:"));
            let time = |local: DateTime| zone.to_timestamp(local).unwrap();
            let span = time(ends).as_second() - time(starts).as_second();
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_precision_loss,
                reason = "any second of the stay will do"
            )]
            let at = Timestamp::from_second(time(starts).as_second() + (span as f64 * part) as i64)
                .unwrap();
            let mut offset = None;
            for ((onset, from), to) in onsets.zip(froms).zip(tos) {
                let onset = DateTime::strptime("%Y%m%dT%H%M%S", &onset).unwrap();
                let from = [-14 * 3600..=14 * 3600]
                    .into_iter()
                    .flatten()
                    .map(|seconds| Offset::from_seconds(seconds).unwrap())
                    .find(|offset| written(*offset) == from)
                    .unwrap();
                if from.to_timestamp(onset).unwrap() <= at {
                    offset = Some(to);
                }
            }
            prop_assert_eq!(offset, Some(written(zone.to_offset(at))));
        }
    }
}
