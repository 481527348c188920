//! The operation `getLastBackup`, which returns the time of the last backup by `vestibule backup`.
//!
//! `vestibule backup` runs in another process than the server. It writes the time to a JSON file
//! beside the SQLite database, and this operation reads the file.

use std::fs;
use std::io;
use std::path::PathBuf;

use engine::access::Permission;
use engine::moment::Moment;
use engine::operation::{Needs, Nothing, Operation, OperationName};
use http::Method;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use store::Location;

/// The operation that reads the time of the last backup, and the time of the last attempt if that
/// attempt failed.
pub const GET_LAST_BACKUP: OperationName<LastBackup> = OperationName::new("getLastBackup");

/// The end of the name of the JSON file with the times of backups. The name begins with that of the
/// database file.
const NOTE_SUFFIX: &str = ".backup.json";

/// The path of the JSON file with the times of a database's last backup and last failed backup.
#[derive(Debug, Clone)]
pub struct BackupStatusFile(PathBuf);

/// The times of the last completed backup and of the last attempt, if that attempt failed.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(example = json!({ "lastBackupAt": "2026-11-21T09:30:00.000Z", "lastFailureAt": null }))]
pub struct LastBackup {
    /// Time of the last backup by `vestibule backup`; null if there is none, and for PostgreSQL.
    pub last_backup_at: Option<Moment>,
    /// Time of the last attempt, if it failed; null otherwise.
    pub last_failure_at: Option<Moment>,
}

impl BackupStatusFile {
    /// Returns the path of the JSON file in which `vestibule backup` records the backups of a
    /// SQLite database. Returns `None` for PostgreSQL.
    #[must_use]
    pub fn for_database(database_url: &str) -> Option<Self> {
        let location = Location::of(database_url).ok()?;
        location.with_suffix(NOTE_SUFFIX).map(Self)
    }

    /// Writes the time of a successful backup. With `error`, writes the time of a failed attempt
    /// instead.
    pub fn write(&self, now: Timestamp, error: Option<&str>) -> io::Result<()> {
        let before = self.read();
        let note = match error {
            None => LastBackup {
                last_backup_at: Some(Moment(now)),
                last_failure_at: None,
            },
            Some(_) => LastBackup {
                last_failure_at: Some(Moment(now)),
                ..before
            },
        };
        let mut partial = self.0.clone().into_os_string();
        partial.push(".partial");
        fs::write(&partial, serde_json::to_vec(&note)?)?;
        fs::rename(&partial, &self.0)
    }

    /// Reads the times of backups from the JSON file at this path. Returns no times if the file is
    /// missing or damaged.
    fn read(&self) -> LastBackup {
        let text = fs::read(&self.0).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::public(
            GET_LAST_BACKUP.id(),
            Method::GET,
            "/last-backup",
            Needs::Permission(Permission::ManageOrganization),
        )
        .summary("Read when the database was last backed up")
        .tool(
            "records",
            "Read the last backup",
            "When `vestibule backup` last copied the database of the service.",
        )
        .asks_as(GET_LAST_BACKUP, |app_state, _: Nothing| async move {
            let note = app_state.extension::<BackupStatusFile>().cloned();
            let read = tokio::task::spawn_blocking(move || {
                note.map(|note| note.read()).unwrap_or_default()
            });
            Ok(read.await.unwrap_or_default())
        }),
    ]
}
