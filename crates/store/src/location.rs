//! Reads database URLs. No other module reads them, so all modules agree on the paths of the
//! database, of the files beside it and of its backups.

use std::path::{Path, PathBuf};

use crate::{Error, Result};

/// The path of a SQLite database whose URL has no path.
const DEFAULT: &str = "vestibule.db";

/// The database that a database URL names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// A SQLite file, absolute or relative to the working directory.
    Sqlite(PathBuf),
    /// A PostgreSQL database, as its URL with the scheme in lower case.
    Postgres(String),
}

impl Location {
    /// Reads a database URL: `sqlite:PATH`, `sqlite://PATH`, `postgres://…` or `postgresql://…`.
    /// PATH is relative to the working directory unless it begins with a slash. The scheme may have
    /// upper-case letters.
    ///
    /// Returns [`Error::Configuration`] for a URL in none of these forms.
    pub fn of(url: &str) -> Result<Self> {
        let (scheme, rest) = url.split_once(':').unwrap_or_default();
        match scheme.to_ascii_lowercase().as_str() {
            "sqlite" => {
                let path = rest.strip_prefix("//").unwrap_or(rest);
                let path = if path.is_empty() { DEFAULT } else { path };
                Ok(Self::Sqlite(path.into()))
            }
            scheme @ ("postgres" | "postgresql") if rest.starts_with("//") => {
                Ok(Self::Postgres(format!("{scheme}:{rest}")))
            }
            _ => Err(Error::Configuration(
                "a database URL begins with sqlite: or postgres://".into(),
            )),
        }
    }

    /// Returns the path of a SQLite database with a suffix appended, such as `-wal`. Returns `None`
    /// for PostgreSQL.
    #[must_use]
    pub fn with_suffix(&self, suffix: &str) -> Option<PathBuf> {
        match self {
            Self::Sqlite(path) => {
                let mut path = path.as_os_str().to_owned();
                path.push(suffix);
                Some(path.into())
            }
            Self::Postgres(_) => None,
        }
    }
}

/// Formats the location for messages to people. A SQLite database is shown by its absolute path. A
/// PostgreSQL database is shown by its hosts and its name, without user, password and options.
impl std::fmt::Display for Location {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Sqlite(path) => {
                let absolute = std::path::absolute(path);
                let path: &Path = absolute.as_deref().unwrap_or(path);
                write!(f, "sqlite:{}", path.display())
            }
            Self::Postgres(url) => {
                let rest = url.split_once("//").map_or("", |(_, rest)| rest);
                let rest = rest.split_once('@').map_or(rest, |(_, rest)| rest);
                let without_options = rest.split(['?', '&', '#', '=', '@']).next();
                write!(f, "postgres://{}", without_options.unwrap_or_default())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_file_name_one_file() {
        for (url, path) in [
            ("sqlite:guest.db", "guest.db"),
            ("sqlite://guest.db", "guest.db"),
            ("SQLite:guest.db", "guest.db"),
            ("sqlite:data/guest.db", "data/guest.db"),
            ("sqlite://data/guest.db", "data/guest.db"),
            ("sqlite:/data/guest.db", "/data/guest.db"),
            ("sqlite:///data/guest.db", "/data/guest.db"),
            ("sqlite:", "vestibule.db"),
            ("sqlite://", "vestibule.db"),
        ] {
            let location = Location::of(url).unwrap();
            assert_eq!(location, Location::Sqlite(path.into()), "{url}");
            assert_eq!(
                location.with_suffix(".uploads"),
                Some(format!("{path}.uploads").into()),
                "{url}"
            );
        }
        for wrong in ["", "guest.db", "mysql://x", "postgres:x", "/guest.db"] {
            assert!(Location::of(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_displayed_location_has_no_secret() {
        for (url, displayed) in [
            (
                "Postgres://u:p%40@db:5433/v?sslmode=x",
                "postgres://db:5433/v",
            ),
            ("postgresql://db/v", "postgres://db/v"),
            ("postgres://u@a,b:1/v", "postgres://a,b:1/v"),
            ("postgres://db/v?user=a@b&password=secret", "postgres://b"),
        ] {
            assert_eq!(Location::of(url).unwrap().to_string(), displayed);
        }
        assert_eq!(
            Location::of("sqlite:///data/x.db").unwrap().to_string(),
            "sqlite:/data/x.db"
        );
    }
}
