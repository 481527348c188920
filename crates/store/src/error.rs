//! Database errors, in the classes that other crates must distinguish. A driver's error is
//! converted by its code and type, never by its text.

use std::error::Error as StdError;
use std::io;

use tokio_postgres::error::SqlState;

/// A failed database operation.
#[derive(Debug, Clone)]
pub enum Error {
    /// The database is busy, unreachable, out of space or out of connections. The same work may
    /// succeed later.
    Unavailable(String),
    /// The work succeeded in this process, but the commit was not confirmed in time. Only the
    /// database knows whether it saved the changes.
    Unknown(String),
    /// The URL or the database itself cannot be used. A retry does not help.
    Configuration(String),
    /// A statement does not fit the schema, or a value does not fit its column. This is a defect of
    /// the program.
    Defect(String),
}

/// A result with an error of this crate, unless `E` names another error type.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unavailable(text) => write!(f, "database unavailable: {text}"),
            Self::Unknown(text) => write!(f, "database did not confirm: {text}"),
            Self::Configuration(text) => write!(f, "database not usable: {text}"),
            Self::Defect(text) => write!(f, "database statement failed: {text}"),
        }
    }
}

impl StdError for Error {}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode as Code;
        let text = error.to_string();
        match error.sqlite_error_code() {
            Some(
                Code::DatabaseBusy
                | Code::DatabaseLocked
                | Code::DiskFull
                | Code::SystemIoFailure
                | Code::CannotOpen
                | Code::ReadOnly
                | Code::OperationInterrupted
                | Code::OutOfMemory,
            ) => Self::Unavailable(text),
            Some(Code::NotADatabase | Code::DatabaseCorrupt | Code::PermissionDenied) => {
                Self::Configuration(text)
            }
            _ => Self::Defect(text),
        }
    }
}

/// Returns the text of a driver's error and of the errors that caused it.
pub(crate) fn describe(error: &tokio_postgres::Error) -> String {
    error
        .source()
        .map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"))
}

impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Self {
        let is_temporary = match error.code() {
            Some(state) => TEMPORARY
                .iter()
                .any(|class| state.code().starts_with(class)),
            // An error without an SQLSTATE is either a connection error, or a value that does not
            // fit its parameter, its column or a message.
            None => {
                error.is_closed()
                    || error
                        .source()
                        .and_then(<dyn StdError>::downcast_ref::<io::Error>)
                        .is_some_and(is_of_connection)
            }
        };
        if is_temporary {
            Self::Unavailable(describe(&error))
        } else {
            Self::Defect(describe(&error))
        }
    }
}

/// SQLSTATE classes and codes of temporary errors: connection errors, a server that refuses writes,
/// missing resources, intervention by an operator, system errors, serialization failures and
/// deadlocks, and internal errors of the server. The coordinator of a distributed database
/// reports an internal error when it loses another server during a transaction.
const TEMPORARY: [&str; 8] = ["08", "25006", "40", "53", "55P03", "57", "58", "XX000"];

/// Returns whether an I/O error comes from the connection. The driver uses `InvalidInput` for a
/// message that it cannot write or parse, which is a defect of the program.
fn is_of_connection(error: &io::Error) -> bool {
    error.kind() != io::ErrorKind::InvalidInput
}

impl From<refinery_core::Error> for Error {
    fn from(error: refinery_core::Error) -> Self {
        use refinery_core::error::Kind;
        Self::Configuration(match error.kind() {
            // `applied_on` is set if the database has a migration that this program does not know.
            // It is not set if the database lacks a migration of this program.
            Kind::MissingVersion(migration) if migration.applied_on().is_some() => {
                newer_version_message(migration)
            }
            Kind::Connection(action, cause) => {
                match cause.downcast_ref::<tokio_postgres::Error>() {
                    Some(cause)
                        if cause
                            .code()
                            .is_some_and(|state| MISSING_PRIVILEGES.contains(state)) =>
                    {
                        format!(
                            "its role must be allowed to create and change tables in the schema it \
                                connects to ({})",
                            describe(cause)
                        )
                    }
                    Some(cause) => format!("migration failed: {action}: {}", describe(cause)),
                    None => format!("migration failed: {error}"),
                }
            }
            _ => format!("migration failed: {error}"),
        })
    }
}

/// Returns the message for a database with a migration unknown to this program.
pub(crate) fn newer_version_message(migration: impl std::fmt::Display) -> String {
    format!(
        "a newer version of this program has migrated it, and this version does not know its \
            migration {migration}; run that version or a newer one"
    )
}

/// SQLSTATE codes for a role that lacks a privilege, and for a search path in which no schema
/// exists.
const MISSING_PRIVILEGES: [SqlState; 2] = [
    SqlState::INSUFFICIENT_PRIVILEGE,
    SqlState::INVALID_SCHEMA_NAME,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connection_errors_are_distinguished_from_invalid_messages() {
        for (kind, is_temporary) in [
            (io::ErrorKind::UnexpectedEof, true),
            (io::ErrorKind::ConnectionReset, true),
            (io::ErrorKind::TimedOut, true),
            (io::ErrorKind::InvalidInput, false),
        ] {
            assert_eq!(
                is_of_connection(&io::Error::from(kind)),
                is_temporary,
                "{kind}"
            );
        }
    }
}
