//! The times at which a deposit is due and is released, derived from the stay.

use engine::moment::Moment;
use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::records::{Property, Reservation};

/// The last millisecond of a day. Stored timestamps have a precision of milliseconds.
const END_OF_DAY: Time = Time::constant(23, 59, 59, 999_000_000);

/// The terms of a deposit, as the step sets them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DepositTerms {
    /// Number of days before check-in at which the deposit is due. `None`: it is due at the
    /// submission.
    pub days_before: Option<u32>,
    /// Number of days after check-out at which the deposit is released. `None`: it is released at
    /// check-out.
    pub release_days: Option<u32>,
}

/// The times of a stay that determine the times of its charges. Days are calendar days in the
/// flat's time zone.
#[derive(Debug, Clone)]
pub(super) struct StayTimes {
    check_in: (Date, Time),
    check_out: (Date, Time),
    zone: TimeZone,
}

impl StayTimes {
    /// Returns the times of a stay. Without a check-in time, the stay begins at the start of its
    /// first day. Without a check-out time, it ends at the end of its last day.
    pub(super) fn of(reservation: &Reservation, property: &Property) -> Self {
        let flat = Some(property);
        Self {
            check_in: (
                reservation.check_in,
                reservation.arrival_time(flat).unwrap_or(Time::MIN),
            ),
            check_out: (
                reservation.check_out,
                reservation.departure_time(flat).unwrap_or(END_OF_DAY),
            ),
            zone: TimeZone::get(&property.timezone).unwrap_or(TimeZone::UTC),
        }
    }

    /// Returns when a deposit is due: as many days before check-in as the terms set, but never
    /// before the submission at `submitted`.
    pub(super) fn due(&self, terms: DepositTerms, submitted: Moment) -> Moment {
        let Some(days) = terms.days_before else {
            return submitted;
        };
        Moment(self.timestamp_at(self.check_in, -i64::from(days))).max(submitted)
    }

    /// Returns the time at which a deposit is released.
    pub(super) fn release(&self, terms: DepositTerms) -> Moment {
        let days = i64::from(terms.release_days.unwrap_or_default());
        Moment(self.timestamp_at(self.check_out, days))
    }

    /// Returns the timestamp that is this many days from a local time. The date is shifted, so the
    /// local time stays the same when the clocks change. A local time that the clocks skip moves
    /// forward by the length of the gap.
    fn timestamp_at(&self, (date, time): (Date, Time), days: i64) -> Timestamp {
        let date = date.saturating_add(SignedDuration::from_hours(24 * days));
        let edge = if days < 0 {
            Timestamp::MIN
        } else {
            Timestamp::MAX
        };
        date.to_datetime(time)
            .to_zoned(self.zone.clone())
            .map_or(edge, |zoned| zoned.timestamp())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;

    /// Returns the times of a stay from 27 to 30 March 2027 in Madrid, where the clocks change on
    /// the 28th.
    pub(in super::super) fn madrid(times: [Option<&str>; 2]) -> StayTimes {
        let reservation = json!({
            "propertyId": null,
            "status": "confirmed",
            "channel": "direct",
            "bookedAt": "2026-11-02T10:00:00.000Z",
            "checkIn": "2027-03-27",
            "checkOut": "2027-03-30",
            "guest": {},
        });
        let property = json!({
            "name": "Casa",
            "timezone": "Europe/Madrid",
            "country": "ES",
            "checkInTime": times[0],
            "checkOutTime": times[1],
        });
        StayTimes::of(
            &serde_json::from_value(reservation).unwrap(),
            &serde_json::from_value(property).unwrap(),
        )
    }

    #[test]
    fn days_are_calendar_days_in_the_time_zone_of_the_flat() {
        let submitted = Moment("2027-01-01T00:00:00Z".parse().unwrap());
        let stay = madrid([Some("15:00"), Some("02:30")]);
        // Columns: days before check-in, days after check-out, expected due time, expected release
        // time.
        for (days_before, release_days, due, release) in [
            (None, None, "2027-01-01T00:00:00Z", "2027-03-30T00:30:00Z"),
            (
                Some(0),
                Some(0),
                "2027-03-27T14:00:00Z",
                "2027-03-30T00:30:00Z",
            ),
            (
                Some(2),
                Some(1),
                "2027-03-25T14:00:00Z",
                "2027-03-31T00:30:00Z",
            ),
            (
                Some(400),
                Some(3),
                "2027-01-01T00:00:00Z",
                "2027-04-02T00:30:00Z",
            ),
        ] {
            let terms = DepositTerms {
                days_before,
                release_days,
            };
            let read = (stay.due(terms, submitted), stay.release(terms));
            let expected = [due, release].map(|text| Moment(text.parse().unwrap()));
            assert_eq!(read, expected.into(), "{days_before:?} {release_days:?}");
        }
        let whole_days = madrid([None, None]);
        let terms = DepositTerms {
            days_before: Some(0),
            release_days: None,
        };
        assert_eq!(
            whole_days.due(terms, submitted).to_string(),
            "2027-03-26T23:00:00.000Z"
        );
        assert_eq!(
            whole_days.release(terms).to_string(),
            "2027-03-30T21:59:59.999Z"
        );
    }

    #[test]
    fn a_skipped_time_moves_forward_by_the_gap_and_no_number_is_too_large() {
        let submitted = Moment("2027-01-01T00:00:00Z".parse().unwrap());
        let mut stay = madrid([Some("02:30"), Some("02:30")]);
        stay.check_in.0 = "2027-03-29".parse().unwrap();
        let a_day_before = DepositTerms {
            days_before: Some(1),
            release_days: Some(u32::MAX),
        };
        // On this day, the clocks skip 02:30. The deposit is due at 03:30 summer time.
        assert_eq!(
            stay.due(a_day_before, submitted).to_string(),
            "2027-03-28T01:30:00.000Z"
        );
        assert!(stay.release(a_day_before).0 > "9990-01-01T00:00:00Z".parse().unwrap());
        let long_before = DepositTerms {
            days_before: Some(u32::MAX),
            release_days: None,
        };
        assert_eq!(stay.due(long_before, submitted), submitted);
    }
}
