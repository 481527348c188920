//! The times at which a stay begins and ends, in the time zone of its flat.

use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};

use super::manuals::visibility_input;
use super::phase::{Phase, phase};
use super::stay::Stay;
use crate::records::ReservationStatus;

/// The status, the dates and the times of a stay, and the time zone of its flat.
pub(super) struct StayHours {
    status: ReservationStatus,
    check_in: Date,
    check_out: Date,
    check_in_time: Option<Time>,
    check_out_time: Option<Time>,
    zone: TimeZone,
}

impl StayHours {
    /// Returns the dates and times of a stay; `None` for a stay without a flat.
    pub(super) fn of(stay: &Stay) -> Option<Self> {
        let input = visibility_input(stay)?;
        Some(Self {
            status: stay.reservation.status,
            check_in: input.check_in,
            check_out: input.check_out,
            check_in_time: input.check_in_time,
            check_out_time: input.check_out_time,
            zone: input.zone,
        })
    }

    /// Returns the time of check-in. Without a time of day, this is the start of the day.
    pub(super) fn check_in(&self) -> Timestamp {
        self.at(
            self.check_in,
            self.check_in_time.unwrap_or(Time::midnight()),
        )
    }

    /// Returns the time of check-out. Without a time of day, this is the end of the day.
    pub(super) fn check_out(&self) -> Timestamp {
        match self.check_out_time {
            Some(time) => self.at(self.check_out, time),
            None => self.days_after_check_out(1),
        }
    }

    /// Returns the start of the day that is `days` days after the day of check-out.
    pub(super) fn days_after_check_out(&self, days: i64) -> Timestamp {
        let day = self.check_out.saturating_add(days.days());
        self.at(day, Time::midnight())
    }

    /// Returns the phase of the stay at a timestamp.
    pub(super) fn phase(&self, at: Timestamp) -> Phase {
        phase(
            self.status,
            (self.check_in, self.check_out),
            self.check_in_time,
            &self.zone,
            at,
        )
    }

    /// Returns the first timestamp after `at` at which the stay enters another phase, begins, ends,
    /// or reaches the start of the day that is `days` days after check-out.
    pub(super) fn next(&self, at: Timestamp, days: i64) -> Timestamp {
        let starts = [
            self.check_in,
            self.check_out,
            self.check_in.max(self.check_out),
        ];
        let [first, last, end] = starts;
        let of_days = [
            first,
            first.saturating_add(1.day()),
            last,
            end.saturating_add(1.day()),
        ];
        // A stay that ends on its first day changes its phase at check-in. If the check-in time is
        // not known, it changes its phase at noon.
        let noon = self.at(first, Time::constant(12, 0, 0, 0));
        of_days
            .map(|day| self.at(day, Time::midnight()))
            .into_iter()
            .chain([
                self.check_in(),
                self.check_out(),
                noon,
                self.days_after_check_out(days),
            ])
            .filter(|timestamp| *timestamp > at)
            .min()
            .unwrap_or(Timestamp::MAX)
    }

    fn at(&self, day: Date, time: Time) -> Timestamp {
        self.zone
            .to_timestamp(day.to_datetime(time))
            .unwrap_or(Timestamp::MAX)
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::{date, time};
    use proptest::prelude::*;

    use super::*;

    fn hours(nights: i64, check_in_time: Option<Time>, check_out_time: Option<Time>) -> StayHours {
        let check_in = date(2026, 11, 23);
        StayHours {
            status: ReservationStatus::Confirmed,
            check_in,
            check_out: check_in.saturating_add(nights.days()),
            check_in_time,
            check_out_time,
            zone: TimeZone::get("Europe/Madrid").unwrap(),
        }
    }

    #[test]
    fn a_stay_without_times_lasts_from_the_first_midnight_to_the_last() {
        let hours = hours(2, None, None);
        let timestamp = |text: &str| text.parse::<Timestamp>().unwrap();
        assert_eq!(hours.check_in(), timestamp("2026-11-22T23:00:00Z"));
        assert_eq!(hours.check_out(), timestamp("2026-11-25T23:00:00Z"));
        assert_eq!(
            hours.days_after_check_out(15),
            timestamp("2026-12-09T23:00:00Z")
        );
    }

    proptest! {
        /// The phase does not change before the timestamp that `next` returns.
        #[test]
        fn the_phase_changes_only_at_the_next_timestamp(
            nights in 0..5_i64,
            hour in prop::option::of(0..24_i8),
            begin in -48..200_i64,
            later in 0..200_i64,
        ) {
            let hours = hours(nights, hour.map(|hour| time(hour, 0, 0, 0)), None);
            let at = hours.at(hours.check_in, Time::midnight()) + begin.hours();
            let after = at + later.hours();
            if after < hours.next(at, 15) {
                prop_assert_eq!(hours.phase(at), hours.phase(after));
            }
        }
    }
}
