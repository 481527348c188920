//! One SQL text for both databases.
//!
//! A statement is written with `?1 ?2 …` and, where a list is a parameter, `= any(?3)`. PostgreSQL gets `$1 $2 …`;
//! SQLite gets `in rarray(?3)`. Row locks (`for update skip locked`, `for no key update`, `for key share`, …) are written
//! as PostgreSQL has them, and the index that SQLite is to use (`indexed by …`) as SQLite has it.

use std::sync::OnceLock;

use crate::several;
use crate::value::Value;

/// How a query may lock the rows it finds.
const ROW_LOCKS: [&str; 4] = ["for update skip locked", "for no key update skip locked", "for no key update", "for key share"];

/// An SQL statement of the program. Made by [`crate::statements!`] only, so that a test can prepare every one.
pub struct Statement {
    text: &'static str,
    sqlite: OnceLock<String>,
    postgres: OnceLock<String>,
    target: OnceLock<Option<&'static str>>,
}

impl Statement {
    #[doc(hidden)]
    #[must_use]
    pub const fn new(text: &'static str) -> Self {
        Self { text, sqlite: OnceLock::new(), postgres: OnceLock::new(), target: OnceLock::new() }
    }

    /// The text as it was written.
    #[must_use]
    pub const fn text(&self) -> &'static str {
        self.text
    }

    pub(crate) fn sqlite(&self) -> &str {
        self.sqlite.get_or_init(|| without_row_locks(&self.text.replace("= any(?", "in rarray(?")))
    }

    pub(crate) fn postgres(&self) -> &str {
        self.postgres.get_or_init(|| without_chosen_indexes(self.text).replace('?', "$"))
    }

    /// The table that it inserts a row of its parameters into, if that is all it does.
    pub(crate) fn target(&self) -> Option<&'static str> {
        *self.target.get_or_init(|| several::target(self.text))
    }
}

/// Takes a lock of the transaction's.
static TRY_LOCK: Statement = Statement::new("select pg_try_advisory_xact_lock(?1)");

/// Something that is asked of the database.
#[derive(Clone)]
pub struct Ask {
    pub(crate) statement: &'static Statement,
    pub(crate) params: Vec<Value>,
}

impl Ask {
    /// The rows of a query.
    #[must_use]
    pub fn rows(statement: &'static Statement, params: impl Into<Vec<Value>>) -> Self {
        Self { statement, params: params.into() }
    }

    /// A lock, as [`crate::Transaction::try_lock`] takes it.
    #[must_use]
    pub fn lock(key: i64) -> Self {
        Self::rows(&TRY_LOCK, [key.into()])
    }

    /// Whether it is this that is asked.
    pub(crate) fn is(&self, statement: &'static Statement, params: &[Value]) -> bool {
        std::ptr::eq(self.statement, statement) && self.params == params
    }
}

/// A statement for SQLite, which has no row locks and no use for them: whoever writes there is alone.
fn without_row_locks(text: &str) -> String {
    ROW_LOCKS.iter().fold(text.to_owned(), |text, lock| text.replace(lock, ""))
}

/// A statement for PostgreSQL, which chooses its indexes by what is in the tables.
fn without_chosen_indexes(text: &str) -> String {
    let (mut plain, mut rest) = (String::new(), text);
    while let Some((before, named)) = rest.split_once(" indexed by ") {
        plain.push_str(before);
        rest = named.trim_start_matches(|letter: char| letter.is_ascii_alphanumeric() || letter == '_');
    }
    plain + rest
}

/// Declares the statements of a file, and `STATEMENTS`, the list of them.
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
        /// Every statement of this file.
        pub(crate) static STATEMENTS: &[&$crate::Statement] = &[$(&$name),*];
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_database_gets_its_own_placeholders() {
        let statement = Statement::new("select 1 from t where a = ?1 and b = any(?2) and c = ?10");
        assert_eq!(statement.sqlite(), "select 1 from t where a = ?1 and b in rarray(?2) and c = ?10");
        assert_eq!(statement.postgres(), "select 1 from t where a = $1 and b = any($2) and c = $10");
    }

    #[test]
    fn only_sqlite_is_told_which_index_to_use() {
        let removal = Statement::new("delete from t indexed by t_by_a where a = ?1");
        assert_eq!(removal.sqlite(), "delete from t indexed by t_by_a where a = ?1");
        assert_eq!(removal.postgres(), "delete from t where a = $1");
    }

    #[test]
    fn only_postgres_is_asked_to_lock_rows() {
        let claim = Statement::new("with f as (select id from t where a = any(?1) for update skip locked) delete from t");
        assert_eq!(claim.sqlite(), "with f as (select id from t where a in rarray(?1) ) delete from t");
        assert_eq!(claim.postgres(), "with f as (select id from t where a = any($1) for update skip locked) delete from t");
        let hold = Statement::new("select 1 from t where a = ?1 for key share");
        assert_eq!(hold.sqlite(), "select 1 from t where a = ?1 ");
        assert_eq!(hold.postgres(), "select 1 from t where a = $1 for key share");
    }
}
