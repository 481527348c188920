//! The migrations of the database. Each migration is one SQL text for SQLite and PostgreSQL, and
//! this module fills in the column types of the database.
//!
//! `migrations/V1__baseline.sql` explains the notation. Never edit a released migration, because
//! each database stores the checksums of the migrations that it has applied.

include!(concat!(env!("OUT_DIR"), "/migrations.rs"));

/// How Citus distributes a PostgreSQL database over several servers: by organization.
///
/// Two groups of tables are not distributed. Every server has a copy of these tables. Tables of
/// OAuth apps are copied because an app belongs to no organization. Tables of domains are copied
/// because a domain must be unique in the whole database.
pub const SHARDING: store::Sharding = store::Sharding {
    root: ("organization", "id"),
    column: "organization_id",
    copied: &["domain", "oauth_app"],
};

/// The database product for which a migration is rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Database {
    Sqlite,
    Postgres,
}

/// The names of column types in the migration files, each with its names in SQLite and in
/// PostgreSQL.
const TYPES: [(&str, &str, &str); 7] = [
    ("id", "blob", "uuid"),
    ("moment", "integer", "timestamptz"),
    ("json", "text", "jsonb"),
    ("bytes", "blob", "bytea"),
    ("flag", "integer", "boolean"),
    ("integer", "integer", "bigint"),
    ("bytewise", "text", "text collate \"C\""),
];

/// The migrations of both databases, built into the binary.
#[must_use]
pub fn migrations() -> store::Migrations {
    let runner = |database: Database| {
        let texts: Vec<(&str, String)> = ALL
            .iter()
            .map(|(name, text)| (*name, text_for(text, database)))
            .collect();
        let texts: Vec<(&str, &str)> = texts
            .iter()
            .map(|(name, text)| (*name, text.as_str()))
            .collect();
        store::Migrations::runner(&texts)
    };
    store::Migrations {
        sqlite: runner(Database::Sqlite),
        postgres: runner(Database::Postgres),
    }
}

/// Returns a migration as SQL for one database product.
fn text_for(text: &str, database: Database) -> String {
    let mut sql: String = text
        .lines()
        .filter_map(|line| line_for(line, database))
        .map(|line| line + "\n")
        .collect();
    // Makes the text end with exactly one line break.
    sql.truncate(sql.trim_end().len());
    sql + "\n"
}

/// Returns a line of a migration as SQL for one database product. Returns `None` if the line is
/// only for the other product.
fn line_for(line: &str, database: Database) -> Option<String> {
    let (own, other) = match database {
        Database::Sqlite => (" -- only sqlite", " -- only postgres"),
        Database::Postgres => (" -- only postgres", " -- only sqlite"),
    };
    if line.ends_with(other) {
        return None;
    }
    let line = fill_type(line.strip_suffix(own).unwrap_or(line), database);
    Some(match database {
        Database::Sqlite => line.replace(") include (", ", "),
        Database::Postgres if line.starts_with(") strict") => ");".into(),
        Database::Postgres => line.replace(" virtual,", " stored,"),
    })
}

/// If a line of a migration declares a column, replaces the column's type by its name in the
/// database product.
fn fill_type(line: &str, database: Database) -> String {
    let declaration = line
        .strip_prefix("    ")
        .or_else(|| line.split_once(" add column ").map(|(_, column)| column));
    let parts = declaration.and_then(|declaration| declaration.split_once(' '));
    let Some((_, type_and_rest)) = parts else {
        return line.to_owned();
    };
    let length = type_and_rest
        .find(|c: char| !c.is_ascii_alphabetic())
        .unwrap_or(type_and_rest.len());
    let (name, rest) = type_and_rest.split_at(length);
    let Some((_, sqlite, postgres)) = TYPES.iter().find(|(notation, ..)| *notation == name) else {
        return line.to_owned();
    };
    let sql_type = match database {
        Database::Sqlite => sqlite,
        Database::Postgres => postgres,
    };
    let prefix = &line[..line.len() - type_and_rest.len()];
    format!("{prefix}{sql_type}{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a line of a migration as SQL for SQLite and as SQL for PostgreSQL. `None` means that
    /// the line is only for the other database product.
    fn lines_for(line: &str) -> [Option<String>; 2] {
        [Database::Sqlite, Database::Postgres].map(|database| line_for(line, database))
    }

    fn expected(sqlite: &str, postgres: &str) -> [Option<String>; 2] {
        [Some(sqlite.into()), Some(postgres.into())]
    }

    #[test]
    fn columns_get_the_types_of_each_database() {
        for (line, sqlite, postgres) in [
            (
                "    id id not null,",
                "    id blob not null,",
                "    id uuid not null,",
            ),
            (
                "    due_at moment,",
                "    due_at integer,",
                "    due_at timestamptz,",
            ),
            (
                "    kind bytewise not null,",
                "    kind text not null,",
                "    kind text collate \"C\" not null,",
            ),
            (
                "    text text not null,",
                "    text text not null,",
                "    text text not null,",
            ),
            (
                "alter table x add column y flag;",
                "alter table x add column y integer;",
                "alter table x add column y boolean;",
            ),
            (
                "    primary key (organization_id, id)",
                "    primary key (organization_id, id)",
                "    primary key (organization_id, id)",
            ),
            (
                "-- A comment with an id in it.",
                "-- A comment with an id in it.",
                "-- A comment with an id in it.",
            ),
        ] {
            assert_eq!(lines_for(line), expected(sqlite, postgres), "{line}");
        }
    }

    #[test]
    fn tables_and_indexes_get_the_syntax_of_each_database() {
        assert_eq!(
            lines_for(") strict, without rowid;"),
            expected(") strict, without rowid;", ");")
        );
        assert_eq!(
            lines_for("create index a on b (c) include (d, e);"),
            expected(
                "create index a on b (c, d, e);",
                "create index a on b (c) include (d, e);"
            )
        );
        assert_eq!(
            lines_for("create index a on b (c); -- only postgres"),
            [None, Some("create index a on b (c);".into())]
        );
    }

    #[test]
    fn no_notation_is_left_in_a_migration() {
        for (name, text) in ALL {
            for database in [Database::Sqlite, Database::Postgres] {
                let text = text_for(text, database);
                assert!(
                    !text.contains("-- only") || text.contains("--   id "),
                    "{name}"
                );
                let strict = text.contains(") strict");
                assert_eq!(
                    strict,
                    database == Database::Sqlite && text.contains("create table"),
                    "{name}"
                );
            }
        }
    }
}
