//! `vestibule doctor`: checks the service's requirements, and prints faults with their remedies.
//!
//! Each submodule checks one area, and [`report`] prints the results. The command changes no data
//! of the service.

mod address;
mod certificates;
mod database;
mod provider;
mod report;
mod settings;
mod storage;

use engine::clock::Clock;
use jiff::{SignedDuration, Timestamp};

use self::report::DoctorReport;
use crate::config::ServeFlags;

/// The difference between two clocks up to which the command reports no fault.
const CLOCK_TOLERANCE: SignedDuration = SignedDuration::from_secs(60);

/// Checks the settings of `serve` and the services that the settings refer to, and prints a report.
/// Fails if a check found a fault.
pub async fn doctor(flags: &ServeFlags) -> Result<(), String> {
    let clock = Clock::system();
    let mut report = DoctorReport::default();
    settings::check(flags, &mut report);
    let database_time = database::check(flags, &mut report).await;
    storage::check(flags, &mut report).await;
    certificates::check(flags, &clock, &mut report).await;
    let public_time = address::check(flags, &mut report).await;
    provider::check(flags, &clock, &mut report).await;
    let times = [
        ("the database", database_time),
        ("the public address", public_time),
    ];
    check_clock(clock.now(), &times, &mut report);
    super::print_text(&report.to_string())?;
    match report.error_count() {
        0 => Ok(()),
        1 => Err("1 check found something wrong".into()),
        count => Err(format!("{count} checks found something wrong")),
    }
}

/// Compares the clock of this machine with the clocks of the database and of the server at the
/// public address, as far as their times are known.
fn check_clock(now: Timestamp, others: &[(&str, Option<Timestamp>)], report: &mut DoctorReport) {
    const CLOCK: &str = "clock";
    let mut compared = Vec::new();
    for (name, time) in others {
        let Some(time) = time else { continue };
        let ahead = now.duration_since(*time);
        if ahead.abs() > CLOCK_TOLERANCE {
            report.add_error(
                CLOCK,
                &format!("{now} here, and {time} at {name}"),
                "set the time on both by NTP; sign-ins, signatures and schedules depend on it",
            );
            return;
        }
        compared.push(*name);
    }
    if compared.is_empty() {
        report.add_success(CLOCK, &format!("{now}; no other clock to compare it with"));
    } else {
        let others = compared.join(" and ");
        report.add_success(CLOCK, &format!("{now}, the same as at {others}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_may_differ_by_a_minute() {
        let now: Timestamp = "2026-11-21T09:30:00Z".parse().unwrap();
        for (other, expected) in [
            (None, 0),
            (Some("2026-11-21T09:30:59Z"), 0),
            (Some("2026-11-21T09:28:00Z"), 1),
            (Some("2026-11-23T09:30:00Z"), 1),
        ] {
            let mut report = DoctorReport::default();
            let other = other.map(|time| time.parse().unwrap());
            check_clock(now, &[("the database", other)], &mut report);
            assert_eq!(report.error_count(), expected, "{report}");
        }
    }
}
