//! What can go wrong with a database, as the caller has to tell it apart.

/// A failed database operation.
#[derive(Debug, Clone)]
pub enum Error {
    /// Busy, unreachable, out of space or out of connections: the same work may succeed later.
    Unavailable(String),
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
            Self::Configuration(text) => write!(f, "database not usable: {text}"),
            Self::Defect(text) => write!(f, "database statement failed: {text}"),
        }
    }
}

impl std::error::Error for Error {}

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

impl From<postgres::Error> for Error {
    fn from(error: postgres::Error) -> Self {
        let text = std::error::Error::source(&error).map_or_else(|| error.to_string(), |source| format!("{error}: {source}"));
        let Some(state) = error.code() else {
            // Without an SQLSTATE it is either the connection, or a value that does not fit its parameter or column.
            let misfit = text.starts_with("error serializing") || text.starts_with("error deserializing") || text.starts_with("expected");
            return if misfit { Self::Defect(text) } else { Self::Unavailable(text) };
        };
        // Connection trouble, resources, operator intervention, system errors, and transactions that lost against others.
        let passing = ["08", "25006", "40", "53", "55P03", "57", "58"];
        if passing.iter().any(|class| state.code().starts_with(class)) { Self::Unavailable(text) } else { Self::Defect(text) }
    }
}
