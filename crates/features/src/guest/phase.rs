//! The phase of a stay, by the calendar of the flat. The guest's page begins with the
//! sections for that phase (`crates/page/src/home.rs`).
//!
//! | phase | from | until |
//! |---|---|---|
//! | before | | the midnight that begins the day of check-in |
//! | arrival day | the midnight that begins the day of check-in | the next midnight |
//! | stay | the end of the arrival day | the midnight that begins the day of check-out |
//! | departure day | the midnight that begins the day of check-out | the next midnight |
//! | after | the end of the departure day | |
//!
//! Days are those of the flat's time zone, and last 23 to 25 hours when the clocks change. The
//! times of check-in and check-out do not begin or end a phase. A guest who may come at 15:00
//! may travel from the morning on, and a guest who leaves at 11:00 may still be there in the
//! afternoon.
//!
//! A stay of one night has no `Stay` phase. A stay that ends on its first day has arrival and
//! departure on the same day; the time of check-in separates them, or noon without such a time.

use jiff::Timestamp;
use jiff::civil::{Date, Time, time};
use jiff::tz::TimeZone;

use crate::records::ReservationStatus;

/// The phases of a stay: `Cancelled`, and then the other phases in the order in which a stay passes
/// through them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// The reservation is cancelled. This phase applies on any day, before, during and after the
    /// stay.
    Cancelled,
    /// The first day of the stay has not begun.
    Before,
    /// The first day of the stay.
    ArrivalDay,
    /// The days between the first day and the last day of the stay.
    Stay,
    /// The last day of the stay.
    DepartureDay,
    /// The last day of the stay is over.
    After,
}

/// Returns the phase of a stay at a timestamp. The records of a stay may say that it ends before
/// its first day. Such a stay ends on its first day.
#[must_use]
pub fn phase(
    status: ReservationStatus,
    (check_in, check_out): (Date, Date),
    check_in_time: Option<Time>,
    zone: &TimeZone,
    at: Timestamp,
) -> Phase {
    let now = zone.to_datetime(at);
    let today = now.date();
    if status == ReservationStatus::Cancelled {
        Phase::Cancelled
    } else if today < check_in {
        Phase::Before
    } else if today > check_in.max(check_out) {
        Phase::After
    } else if today == check_in
        && (check_out > check_in || now.time() < check_in_time.unwrap_or(time(12, 0, 0, 0)))
    {
        Phase::ArrivalDay
    } else if today < check_out {
        Phase::Stay
    } else {
        Phase::DepartureDay
    }
}

#[cfg(test)]
mod tests {
    use jiff::ToSpan as _;
    use jiff::civil::date;
    use proptest::prelude::*;

    use super::*;

    fn at(zone: &TimeZone, local: &str) -> Timestamp {
        zone.to_timestamp(local.parse().unwrap()).unwrap()
    }

    fn of(zone: &str, dates: (Date, Date), local: &str) -> Phase {
        let zone = TimeZone::get(zone).unwrap();
        phase(
            ReservationStatus::Confirmed,
            dates,
            Some(time(15, 0, 0, 0)),
            &zone,
            at(&zone, local),
        )
    }

    #[test]
    fn the_phase_follows_the_days_of_the_stay() {
        let dates = (date(2026, 11, 23), date(2026, 11, 27));
        for (local, expected) in [
            ("2026-11-22T23:59:59", Phase::Before),
            ("2026-11-23T00:00", Phase::ArrivalDay),
            ("2026-11-23T23:59:59", Phase::ArrivalDay),
            ("2026-11-24T00:00", Phase::Stay),
            ("2026-11-26T23:59", Phase::Stay),
            ("2026-11-27T00:00", Phase::DepartureDay),
            ("2026-11-27T23:59", Phase::DepartureDay),
            ("2026-11-28T00:00", Phase::After),
        ] {
            assert_eq!(of("Europe/Madrid", dates, local), expected, "{local}");
        }
    }

    #[test]
    fn the_phase_follows_the_time_zone_of_the_flat() {
        let dates = (date(2026, 11, 23), date(2026, 11, 27));
        let now: Timestamp = "2026-11-22T12:00:00Z".parse().unwrap();
        let phase_in = |zone: &str| {
            phase(
                ReservationStatus::Tentative,
                dates,
                None,
                &TimeZone::get(zone).unwrap(),
                now,
            )
        };
        assert_eq!(
            phase_in("Pacific/Auckland"),
            Phase::ArrivalDay,
            "tomorrow has begun"
        );
        assert_eq!(phase_in("America/New_York"), Phase::Before);
    }

    #[test]
    fn short_stays_have_fewer_phases() {
        let night = (date(2026, 11, 23), date(2026, 11, 24));
        assert_eq!(
            of("Europe/Madrid", night, "2026-11-23T23:59"),
            Phase::ArrivalDay
        );
        assert_eq!(
            of("Europe/Madrid", night, "2026-11-24T00:00"),
            Phase::DepartureDay
        );
        for day in [
            (date(2026, 11, 23), date(2026, 11, 23)),
            (date(2026, 11, 23), date(2026, 11, 20)),
        ] {
            assert_eq!(of("Europe/Madrid", day, "2026-11-22T23:59"), Phase::Before);
            assert_eq!(
                of("Europe/Madrid", day, "2026-11-23T14:59"),
                Phase::ArrivalDay
            );
            assert_eq!(
                of("Europe/Madrid", day, "2026-11-23T15:00"),
                Phase::DepartureDay
            );
            assert_eq!(of("Europe/Madrid", day, "2026-11-24T00:00"), Phase::After);
        }
    }

    /// On 26 April 2024, the clocks of Cairo went from 23:59:59 of the day before to 01:00. So this
    /// day has no midnight and begins at 01:00.
    #[test]
    fn a_day_without_midnight_starts_at_its_first_moment() {
        let zone = TimeZone::get("Africa/Cairo").unwrap();
        let dates = (date(2024, 4, 26), date(2024, 4, 28));
        let first = at(&zone, "2024-04-26T01:00");
        let of = |timestamp| phase(ReservationStatus::Confirmed, dates, None, &zone, timestamp);
        assert_eq!(
            (of(first - 1.second()), of(first)),
            (Phase::Before, Phase::ArrivalDay)
        );
    }

    proptest! {
        #[test]
        fn phases_are_in_order_over_time(
            zone in prop::sample::select(vec![
                "Europe/Madrid",
                "America/Santiago",
                "Africa/Cairo",
                "Pacific/Apia",
                "UTC",
            ]),
            start in -4000..4000_i32,
            nights in -2..9_i32,
            hour in prop::option::of(0..24_i8),
            hour_offsets in prop::collection::vec(-72..300_i64, 2..20),
        ) {
            let zone = TimeZone::get(zone).unwrap();
            let check_in = date(2026, 3, 28) + start.days();
            let dates = (check_in, check_in + nights.days());
            let begin = zone.to_timestamp(check_in.at(0, 0, 0, 0)).unwrap();
            let mut hour_offsets = hour_offsets;
            hour_offsets.sort_unstable();
            let hour = hour.map(|hour| time(hour, 0, 0, 0));
            let phases: Vec<Phase> = hour_offsets
                .iter()
                .map(|hours| {
                    phase(
                        ReservationStatus::Confirmed,
                        dates,
                        hour,
                        &zone,
                        begin + hours.hours(),
                    )
                })
                .collect();
            prop_assert!(phases.is_sorted(), "{phases:?}");
            prop_assert!(!phases.contains(&Phase::Cancelled));
            prop_assert!(nights > 1 || !phases.contains(&Phase::Stay));
        }

        #[test]
        fn a_cancelled_stay_has_the_cancelled_phase_at_any_time(hours in -10_000..10_000_i64) {
            let dates = (date(2026, 11, 23), date(2026, 11, 27));
            let timestamp = Timestamp::UNIX_EPOCH + hours.hours();
            prop_assert_eq!(
                phase(
                    ReservationStatus::Cancelled,
                    dates,
                    None,
                    &TimeZone::UTC,
                    timestamp
                ),
                Phase::Cancelled
            );
        }
    }
}
