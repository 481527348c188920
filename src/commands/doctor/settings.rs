//! Checks the settings: their values, the files of their secrets, and environment variables that
//! look like settings but are unknown.

use super::report::DoctorReport;
use crate::config::{ServeFlags, unknown_variables};

const SETTINGS: &str = "settings";

pub(super) fn check(flags: &ServeFlags, report: &mut DoctorReport) {
    let errors_before = report.error_count();
    let variables = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    for unknown in unknown_variables(variables) {
        report.add_note(
            SETTINGS,
            &unknown,
            "correct the name, or remove the variable",
        );
    }
    let results = [
        flags.database.url().map(drop),
        flags.database.options().map(drop),
        flags.replica_urls().map(drop),
        flags.platform_keys().map(drop),
        flags.translator_key().map(drop),
        flags.stock_photos_key().map(drop),
        flags.device_connector_key().map(drop),
        flags.redis_url().map(drop),
        flags.oidc().map(drop),
        flags.tls.files().map(drop),
        flags.acme().map(drop),
    ];
    for message in results.into_iter().filter_map(Result::err) {
        report.add_error(
            SETTINGS,
            &message,
            "correct the flag, the variable or the file of the secret",
        );
    }
    if flags.platform_keys().is_ok_and(|keys| keys.is_empty()) {
        report.add_note(
            SETTINGS,
            "no platform key is set, so /platform/v1 answers 401 to every request",
            "name a file with a key in VESTIBULE_PLATFORM_KEY_FILE, unless no platform sends \
                records",
        );
    }
    if report.error_count() == errors_before {
        report.add_success(SETTINGS, "all values can be read");
    }
}
