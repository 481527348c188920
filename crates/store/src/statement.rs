//! One SQL text for both databases.
//!
//! A statement is written with the parameters `?1 ?2 …`, and with `= any(?3)` if a parameter is a
//! list. PostgreSQL gets `$1 $2 …` instead. SQLite gets `in rarray(?3)` for a list. Row locks (`for
//! update skip locked`, `for no key update`, `for key share`, …) are written in PostgreSQL's syntax
//! and removed for SQLite. The choice of an index (`indexed by …`) is written in SQLite's syntax
//! and removed for PostgreSQL.

use std::sync::OnceLock;

/// The row locks that statements of the program use.
const ROW_LOCKS: [&str; 4] = [
    "for update skip locked",
    "for no key update skip locked",
    "for no key update",
    "for key share",
];

/// An SQL statement of the program, with its cached forms for SQLite and for PostgreSQL. Only
/// [`crate::statements!`] creates statements, so that a test can prepare every one of them.
pub struct Statement {
    text: &'static str,
    sqlite: OnceLock<String>,
    postgres: OnceLock<String>,
}

impl Statement {
    #[doc(hidden)]
    #[must_use]
    pub const fn new(text: &'static str) -> Self {
        Self {
            text,
            sqlite: OnceLock::new(),
            postgres: OnceLock::new(),
        }
    }

    /// Returns the text of the statement with the parameters `?1 ?2 …`, as it was written in the
    /// program.
    #[must_use]
    pub const fn text(&self) -> &'static str {
        self.text
    }

    pub(crate) fn sqlite(&self) -> &str {
        self.sqlite
            .get_or_init(|| without_row_locks(&self.text.replace("= any(?", "in rarray(?")))
    }

    pub(crate) fn postgres(&self) -> &str {
        self.postgres
            .get_or_init(|| without_index_hints(self.text).replace('?', "$"))
    }
}

/// Takes a lock if no other transaction has it. The lock is released at the end of the transaction.
pub(crate) static TRY_LOCK: Statement = Statement::new("select pg_try_advisory_xact_lock(?1)");

/// Removes the row locks from a statement for SQLite. SQLite has no row locks. It needs none,
/// because only one transaction writes at a time.
fn without_row_locks(text: &str) -> String {
    ROW_LOCKS
        .iter()
        .fold(text.to_owned(), |text, lock| text.replace(lock, ""))
}

/// Removes `indexed by` from a statement for PostgreSQL. PostgreSQL chooses an index by its
/// statistics on the tables.
fn without_index_hints(text: &str) -> String {
    let (mut plain, mut rest) = (String::new(), text);
    while let Some((before, hint)) = rest.split_once(" indexed by ") {
        plain.push_str(before);
        rest = hint.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
    }
    plain + rest
}

/// Declares the statements of a file, and a list of all of them, `STATEMENTS`.
///
/// ```
/// store::statements! {
///     /// The thing with this id.
///     THING = "select name from thing where id = ?1";
/// }
/// assert_eq!(STATEMENTS.len(), 1);
/// ```
#[macro_export]
macro_rules! statements {
    ($($(#[$doc:meta])* $name:ident = $text:expr;)*) => {
        $($(#[$doc])* static $name: $crate::Statement = $crate::Statement::new($text);)*
        /// All statements that this call of the macro declares.
        pub(crate) static STATEMENTS: &[&$crate::Statement] = &[$(&$name),*];
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_database_gets_its_own_placeholders() {
        let statement = Statement::new("select 1 from t where a = ?1 and b = any(?2) and c = ?10");
        assert_eq!(
            statement.sqlite(),
            "select 1 from t where a = ?1 and b in rarray(?2) and c = ?10"
        );
        assert_eq!(
            statement.postgres(),
            "select 1 from t where a = $1 and b = any($2) and c = $10"
        );
    }

    #[test]
    fn index_hints_are_for_sqlite_only() {
        let removal = Statement::new("delete from t indexed by t_by_a where a = ?1");
        assert_eq!(
            removal.sqlite(),
            "delete from t indexed by t_by_a where a = ?1"
        );
        assert_eq!(removal.postgres(), "delete from t where a = $1");
    }

    #[test]
    fn row_lock_clauses_are_for_postgres_only() {
        let claim = Statement::new(
            "with f as (select id from t where a = any(?1) for update skip locked) delete from t",
        );
        assert_eq!(
            claim.sqlite(),
            "with f as (select id from t where a in rarray(?1) ) delete from t"
        );
        assert_eq!(
            claim.postgres(),
            "with f as (select id from t where a = any($1) for update skip locked) delete from t"
        );
        let hold = Statement::new("select 1 from t where a = ?1 for key share");
        assert_eq!(hold.sqlite(), "select 1 from t where a = ?1 ");
        assert_eq!(
            hold.postgres(),
            "select 1 from t where a = $1 for key share"
        );
    }
}
