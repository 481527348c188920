//! Checks the database: whether the service can connect, its encoding, its limit of connections and
//! the rights of the role.

use jiff::Timestamp;
use store::Location;

use super::report::DoctorReport;
use crate::config::ServeFlags;

const DATABASE: &str = "database";

/// Checks the database. Returns the time of the database server; SQLite has none.
pub(super) async fn check(flags: &ServeFlags, report: &mut DoctorReport) -> Option<Timestamp> {
    let (url, options) = (flags.database.url().ok()?, flags.database.options().ok()?);
    let location = match Location::of(&url) {
        Ok(location) => location.to_string(),
        Err(error) => {
            report.add_error(
                DATABASE,
                &error.to_string(),
                "write --database-url as sqlite:PATH or postgres://USER@HOST/NAME",
            );
            return None;
        }
    };
    let examine = move || store::examine(&url, &options);
    let result = tokio::task::spawn_blocking(examine).await;
    let result = result
        .map_err(|error| error.to_string())
        .and_then(|result| result.map_err(|error| error.to_string()));
    let examination = match result {
        Ok(examination) => examination,
        Err(error) => {
            report.add_error(
                DATABASE,
                &format!("{location}: {error}"),
                "check --database-url, whether the server runs, and the rights of the role",
            );
            return None;
        }
    };
    for (text, remedy) in &examination.faults {
        report.add_error(DATABASE, &format!("{location}: {text}"), remedy);
    }
    for (text, remedy) in &examination.notes {
        report.add_note(DATABASE, &format!("{location}: {text}"), remedy);
    }
    if examination.faults.is_empty() {
        let state = if examination.is_new {
            "without data of this service yet"
        } else {
            "with data of this service"
        };
        let details: Vec<&str> = [location.as_str(), state]
            .into_iter()
            .chain(examination.facts.iter().map(String::as_str))
            .collect();
        report.add_success(DATABASE, &details.join(", "));
    }
    examination
        .now
        .and_then(|milliseconds| Timestamp::from_millisecond(milliseconds).ok())
}
