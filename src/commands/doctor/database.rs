//! Checks the database: whether it can be reached, its encoding, its connections and the rights of
//! the role.

use jiff::Timestamp;
use store::Location;

use super::report::DoctorReport;
use crate::config::ServeFlags;

const DATABASE: &str = "database";

/// Checks the database. Returns its time, if it has a clock of its own.
pub(super) async fn check(flags: &ServeFlags, report: &mut DoctorReport) -> Option<Timestamp> {
    let (url, options) = (flags.database.url().ok()?, flags.database.options().ok()?);
    let place = match Location::of(&url) {
        Ok(location) => location.to_string(),
        Err(error) => {
            report.wrong_with(
                DATABASE,
                &error.to_string(),
                "write --database-url as sqlite:PATH or postgres://USER@HOST/NAME",
            );
            return None;
        }
    };
    let examine = move || store::examine(&url, &options);
    let examined = tokio::task::spawn_blocking(examine).await;
    let examined = examined
        .map_err(|error| error.to_string())
        .and_then(|examined| examined.map_err(|error| error.to_string()));
    let examined = match examined {
        Ok(examined) => examined,
        Err(error) => {
            report.wrong_with(
                DATABASE,
                &format!("{place}: {error}"),
                "check --database-url, whether the server runs, and the rights of the role",
            );
            return None;
        }
    };
    for (text, remedy) in &examined.faults {
        report.wrong_with(DATABASE, &format!("{place}: {text}"), remedy);
    }
    for (text, remedy) in &examined.notes {
        report.note(DATABASE, &format!("{place}: {text}"), remedy);
    }
    if examined.faults.is_empty() {
        let state = if examined.is_new {
            "without data of this service yet"
        } else {
            "with data of this service"
        };
        let facts: Vec<&str> = [place.as_str(), state]
            .into_iter()
            .chain(examined.facts.iter().map(String::as_str))
            .collect();
        report.good(DATABASE, &facts.join(", "));
    }
    examined
        .now
        .and_then(|milliseconds| Timestamp::from_millisecond(milliseconds).ok())
}
