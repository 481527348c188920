//! One SQL text for both databases.
//!
//! A statement is written with `?1 ?2 …` and, where a list is a parameter, `= any(?3)`. PostgreSQL gets `$1 $2 …`;
//! SQLite gets `in rarray(?3)`.

use std::sync::OnceLock;

/// An SQL statement of the program. Made by [`crate::statements!`] only, so that a test can prepare every one.
pub struct Statement {
    text: &'static str,
    sqlite: OnceLock<String>,
    postgres: OnceLock<String>,
}

impl Statement {
    #[doc(hidden)]
    #[must_use]
    pub const fn new(text: &'static str) -> Self {
        Self { text, sqlite: OnceLock::new(), postgres: OnceLock::new() }
    }

    /// The text as it was written.
    #[must_use]
    pub const fn text(&self) -> &'static str {
        self.text
    }

    pub(crate) fn sqlite(&self) -> &str {
        self.sqlite.get_or_init(|| self.text.replace("= any(?", "in rarray(?"))
    }

    pub(crate) fn postgres(&self) -> &str {
        self.postgres.get_or_init(|| self.text.replace('?', "$"))
    }
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
}
