//! What can go wrong with a database, as the caller has to tell it apart: by codes and types, never by texts.

use std::error::Error as StdError;
use std::io;

use tokio_postgres::error::SqlState;

/// A failed database operation.
#[derive(Debug, Clone)]
pub enum Error {
    /// Busy, unreachable, out of space or out of connections: the same work may succeed later.
    Unavailable(String),
    /// The work was done as far as can be told from here, and no confirmation came, or not in time: whether it is in the
    /// database only the database can tell.
    Unknown(String),
    /// The URL or the database itself cannot be used; no retry helps.
    Configuration(String),
    /// A statement and the schema, or a value and its column, do not fit: a defect of the program.
    Defect(String),
}

/// A result of this crate.
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
            Some(Code::NotADatabase | Code::DatabaseCorrupt | Code::PermissionDenied) => Self::Configuration(text),
            _ => Self::Defect(text),
        }
    }
}

/// What a driver's error says, with its cause.
pub(crate) fn told(error: &tokio_postgres::Error) -> String {
    error.source().map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"))
}

impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Self {
        let is_passing = match error.code() {
            Some(state) => PASSING.iter().any(|class| state.code().starts_with(class)),
            // Without an SQLSTATE it is either the connection, or a value that does not fit its parameter, its column or a message.
            None => error.is_closed() || error.source().and_then(<dyn StdError>::downcast_ref::<io::Error>).is_some_and(is_of_connection),
        };
        if is_passing { Self::Unavailable(told(&error)) } else { Self::Defect(told(&error)) }
    }
}

/// The classes and codes of what passes: connection trouble, a server that takes no writes, resources, operator intervention,
/// system errors, transactions that lost against others, and errors of the server's own, which is what Citus says where a worker
/// was lost in the midst of a transaction.
const PASSING: [&str; 8] = ["08", "25006", "40", "53", "55P03", "57", "58", "XX000"];

/// The driver says by `InvalidInput` that a message cannot be written or read.
fn is_of_connection(error: &io::Error) -> bool {
    error.kind() != io::ErrorKind::InvalidInput
}

impl From<refinery_core::Error> for Error {
    fn from(error: refinery_core::Error) -> Self {
        use refinery_core::error::Kind;
        Self::Configuration(match error.kind() {
            // One that was applied, and is missing among those of this program; the other way round it is missing over there.
            Kind::MissingVersion(migration) if migration.applied_on().is_some() => of_a_newer_version(migration),
            Kind::Connection(doing, cause) => match cause.downcast_ref::<tokio_postgres::Error>() {
                Some(cause) if cause.code().is_some_and(|state| RIGHTS.contains(state)) => {
                    format!("its role has to be allowed to create and to change tables in the schema it connects to ({})", told(cause))
                }
                Some(cause) => format!("migration failed: {doing}: {}", told(cause)),
                None => format!("migration failed: {error}"),
            },
            _ => format!("migration failed: {error}"),
        })
    }
}

/// What is said of a database with a migration that this program does not have.
pub(crate) fn of_a_newer_version(migration: impl std::fmt::Display) -> String {
    format!(
        "it is of a newer version of this program, and its migration {migration} is not known to this one; run that version, or a newer one"
    )
}

/// What a role hears that lacks a right, or has no schema in which it may look for tables.
const RIGHTS: [SqlState; 2] = [SqlState::INSUFFICIENT_PRIVILEGE, SqlState::INVALID_SCHEMA_NAME];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_message_is_told_from_what_is_wrong_with_a_connection() {
        for (kind, is_passing) in [
            (io::ErrorKind::UnexpectedEof, true),
            (io::ErrorKind::ConnectionReset, true),
            (io::ErrorKind::TimedOut, true),
            (io::ErrorKind::InvalidInput, false),
        ] {
            assert_eq!(is_of_connection(&io::Error::from(kind)), is_passing, "{kind}");
        }
    }
}
