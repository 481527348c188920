//! Decides how each event of a fetched calendar changes its reservation (rules:
//! calendar-feeds#changes). Every function here is pure; `apply.rs` writes the changes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::classify::{EventMeaning, classify_event};
use super::feed::Ambiguous;
use super::ics::FeedEvent;
use crate::records::ReservationStatus;

/// If an event is missing in this many consecutive fetches, the feed cancels the event's stay.
const MAX_MISSED: u32 = 2;

/// The stored state of an event from earlier fetches.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct StoredEvent {
    /// The hash of the event's content. The content itself is not stored, because it contains
    /// personal data of guests.
    pub fingerprint: String,
    /// Number of consecutive successful fetches in which the event was missing.
    pub missed: u32,
    /// Whether the feed has cancelled the stay, because the event was missing in [`MAX_MISSED`]
    /// consecutive fetches.
    pub is_gone: bool,
}

/// The facts about an event's reservation that decide how the feed may change the reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CurrentReservation {
    pub is_cancelled: bool,
    /// Whether the stay has begun. A feed does not cancel such a stay.
    pub has_begun: bool,
    /// Whether the platform manages the reservation. A feed does not change such a reservation.
    pub is_of_platform: bool,
}

/// A change that a feed makes to a reservation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StayChange {
    /// Creates or updates the reservation with these dates and this status. Only a new reservation
    /// gets the guest's name.
    Put {
        check_in: Date,
        check_out: Date,
        status: ReservationStatus,
        guest: Option<String>,
    },
    Cancel,
}

/// The decision about one event of a calendar.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct EventOutcome {
    /// The new state of the event to store; `None` if the stored state does not change.
    pub stored_event: Option<StoredEvent>,
    /// The change of the reservation; `None` if the reservation does not change.
    pub change: Option<StayChange>,
}

/// Returns the hash of the event's content, without the fields that change with each export of the
/// calendar.
fn fingerprint(event: &FeedEvent) -> String {
    let text = format!(
        "{:?}",
        (
            event.check_in,
            event.check_out,
            &event.summary,
            &event.description,
            &event.url,
            event.is_cancelled,
        )
    );
    let digest = Sha256::digest(text);
    STANDARD_NO_PAD.encode(digest)
}

/// Returns the status of an event's reservation, and the guest's name. Returns `None` for an event
/// that only blocks the flat (`EventMeaning::Closure`). Also returns `None` for an unclear event if
/// the feed's setting `ambiguous` is `ignore`.
fn planned_status(
    event: &FeedEvent,
    ambiguous: Ambiguous,
) -> Option<(ReservationStatus, Option<String>)> {
    match classify_event(&event.summary, &event.description, event.url.as_deref()) {
        EventMeaning::Closure => None,
        EventMeaning::Booking(name) => Some((ReservationStatus::Confirmed, name)),
        EventMeaning::Unclear => match ambiguous {
            Ambiguous::Hold => Some((ReservationStatus::Tentative, None)),
            Ambiguous::Import => Some((ReservationStatus::Confirmed, None)),
            Ambiguous::Ignore => None,
        },
    }
}

/// Decides the outcome for an event that the fetched calendar contains. `ambiguous` is the feed's
/// setting for unclear events. `known` is the event's stored state; `None` for a new event.
/// `current` is the event's reservation; `None` if there is none.
pub(super) fn plan_present(
    event: &FeedEvent,
    ambiguous: Ambiguous,
    known: Option<&StoredEvent>,
    current: Option<CurrentReservation>,
) -> EventOutcome {
    let fingerprint = fingerprint(event);
    let unchanged = known.filter(|known| known.fingerprint == fingerprint && !known.is_gone);
    if let Some(known) = unchanged {
        return plan_unchanged(known);
    }
    let status = planned_status(event, ambiguous).filter(|_| !event.is_cancelled);
    if status.is_none() && known.is_none() {
        return EventOutcome::default();
    }
    let change = match status {
        _ if current.is_some_and(|current| current.is_of_platform) => None,
        Some((status, guest)) => Some(StayChange::Put {
            check_in: event.check_in,
            check_out: event.check_out,
            status,
            guest,
        }),
        None => cancellation(current),
    };
    EventOutcome {
        stored_event: Some(StoredEvent {
            fingerprint,
            ..StoredEvent::default()
        }),
        change,
    }
}

/// Returns the outcome for an event with unchanged content, or for an event that the parser
/// skipped: the reservation stays as it is. If earlier fetches did not contain the event, their
/// count (`missed`) is reset to 0.
pub(super) fn plan_unchanged(known: &StoredEvent) -> EventOutcome {
    EventOutcome {
        stored_event: (known.missed > 0 && !known.is_gone).then(|| StoredEvent {
            missed: 0,
            ..known.clone()
        }),
        change: None,
    }
}

/// Decides the outcome for an event that the fetched calendar does not contain.
pub(super) fn plan_absent(
    known: &StoredEvent,
    current: Option<CurrentReservation>,
) -> EventOutcome {
    if known.is_gone {
        return EventOutcome::default();
    }
    let missed = (known.missed + 1).min(MAX_MISSED);
    let change = if missed >= MAX_MISSED {
        cancellation(current)
    } else {
        None
    };
    let next = StoredEvent {
        missed,
        is_gone: change.is_some(),
        ..known.clone()
    };
    EventOutcome {
        stored_event: (next != *known).then_some(next),
        change,
    }
}

/// Returns the cancellation of a stay, if the feed may cancel it.
fn cancellation(current: Option<CurrentReservation>) -> Option<StayChange> {
    current
        .filter(|current| !current.is_cancelled && !current.has_begun && !current.is_of_platform)
        .map(|_| StayChange::Cancel)
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;
    use jiff::tz::TimeZone;

    use super::*;
    use crate::calendars::ics::parse_calendar;

    fn event(lines: &str) -> FeedEvent {
        let text = format!(
            "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:a\r\n{}\r\nEND:VEVENT\r\nEND:VCALENDAR",
            lines.replace('\n', "\r\n")
        );
        parse_calendar(&text, &TimeZone::UTC)
            .unwrap()
            .events
            .remove(0)
    }

    fn reserved(last: i64) -> FeedEvent {
        event(&format!(
            "DTSTART;VALUE=DATE:20261211\nDTEND;VALUE=DATE:202612{last}\nSUMMARY:Reserved"
        ))
    }

    const COMING: CurrentReservation = CurrentReservation {
        is_cancelled: false,
        has_begun: false,
        is_of_platform: false,
    };
    const BEGUN: CurrentReservation = CurrentReservation {
        has_begun: true,
        ..COMING
    };
    const OF_PLATFORM: CurrentReservation = CurrentReservation {
        is_of_platform: true,
        ..COMING
    };

    fn known(event: &FeedEvent) -> StoredEvent {
        plan_present(event, Ambiguous::Hold, None, None)
            .stored_event
            .unwrap()
    }

    #[test]
    fn an_unchanged_event_changes_nothing() {
        let first = known(&reserved(15));
        let again = event(
            "DTSTAMP:20261120T000000Z\nSEQUENCE:7\nLAST-MODIFIED:20261120T000000Z\n\
                CREATED:20261120T000000Z\nDTSTART;VALUE=DATE:20261211\n\
                DTEND;VALUE=DATE:20261215\nSUMMARY:Reserved",
        );
        let outcome = plan_present(&again, Ambiguous::Hold, Some(&first), Some(COMING));
        assert_eq!(outcome, EventOutcome::default());
    }

    #[test]
    fn moved_dates_are_put_and_a_closure_cancels() {
        let first = known(&reserved(15));
        let moved = plan_present(&reserved(16), Ambiguous::Hold, Some(&first), Some(COMING));
        assert_eq!(
            moved.change,
            Some(StayChange::Put {
                check_in: date(2026, 12, 11),
                check_out: date(2026, 12, 16),
                status: ReservationStatus::Confirmed,
                guest: None,
            })
        );
        for lines in ["SUMMARY:Blocked", "SUMMARY:Reserved\nSTATUS:CANCELLED"] {
            let other = event(&format!(
                "DTSTART;VALUE=DATE:20261211\nDTEND;VALUE=DATE:20261215\n{lines}"
            ));
            let change =
                |current| plan_present(&other, Ambiguous::Hold, Some(&first), Some(current)).change;
            assert_eq!(change(COMING), Some(StayChange::Cancel), "{lines}");
            assert_eq!(change(BEGUN), None, "{lines}");
            assert_eq!(change(OF_PLATFORM), None, "{lines}");
            assert_eq!(
                plan_present(&other, Ambiguous::Hold, None, None),
                EventOutcome::default()
            );
        }
    }

    #[test]
    fn unclear_events_follow_the_setting() {
        let unclear = event("DTSTART;VALUE=DATE:20261211\nSUMMARY:CLOSED - Not available");
        let status = |ambiguous| match plan_present(&unclear, ambiguous, None, None).change {
            Some(StayChange::Put { status, .. }) => Some(status),
            _ => None,
        };
        assert_eq!(status(Ambiguous::Hold), Some(ReservationStatus::Tentative));
        assert_eq!(
            status(Ambiguous::Import),
            Some(ReservationStatus::Confirmed)
        );
        assert_eq!(status(Ambiguous::Ignore), None);
    }

    #[test]
    fn two_fetches_without_an_event_cancel_its_stay() {
        let first = known(&reserved(15));
        let once = plan_absent(&first, Some(COMING));
        assert_eq!(once.change, None);
        let once = once.stored_event.unwrap();
        let back = plan_present(&reserved(15), Ambiguous::Hold, Some(&once), Some(COMING));
        assert_eq!((back.stored_event, back.change), (Some(first), None));
        let twice = plan_absent(&once, Some(COMING));
        assert_eq!(twice.change, Some(StayChange::Cancel));
        let gone = twice.stored_event.unwrap();
        assert_eq!(plan_absent(&gone, Some(COMING)), EventOutcome::default());
        let returned = plan_present(&reserved(15), Ambiguous::Hold, Some(&gone), Some(COMING));
        assert!(matches!(returned.change, Some(StayChange::Put { .. })));
    }

    #[test]
    fn a_stay_that_has_begun_or_is_of_the_platform_is_never_cancelled() {
        let once = plan_absent(&known(&reserved(15)), None)
            .stored_event
            .unwrap();
        for current in [Some(BEGUN), Some(OF_PLATFORM), None] {
            let twice = plan_absent(&once, current);
            assert_eq!(twice.change, None);
            assert_eq!(
                plan_absent(&twice.stored_event.unwrap(), current),
                EventOutcome::default()
            );
        }
    }
}
