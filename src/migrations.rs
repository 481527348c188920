//! The migrations: one SQL text for both databases, with each database's types filled in.
//!
//! `migrations/V1__baseline.sql` explains the notation. A migration that has been released is never
//! edited, because a database remembers the checksum of each one that it has applied.

include!(concat!(env!("OUT_DIR"), "/migrations.rs"));

/// How a PostgreSQL database is distributed over several servers: by organization. Every server has
/// all OAuth apps, because they belong to no organization, and all hosts, because they are unique.
pub const SHARDING: store::Sharding = store::Sharding {
    root: ("organization", "id"),
    column: "organization_id",
    copied: &["domain", "oauth_app"],
};

/// A database that a migration is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Database {
    Sqlite,
    Postgres,
}

/// The types of the notation, with their names on SQLite and on PostgreSQL.
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

/// Returns a migration in the SQL of one database.
fn text_for(text: &str, database: Database) -> String {
    let mut filled: String = text
        .lines()
        .filter_map(|line| line_for(line, database))
        .map(|line| line + "\n")
        .collect();
    // A last line without a line break would hide the end of its statement.
    filled.truncate(filled.trim_end().len());
    filled + "\n"
}

/// Returns a line in the SQL of one database, or `None` if the line is for the other database.
fn line_for(line: &str, database: Database) -> Option<String> {
    let (own, other) = match database {
        Database::Sqlite => (" -- only sqlite", " -- only postgres"),
        Database::Postgres => (" -- only postgres", " -- only sqlite"),
    };
    if line.ends_with(other) {
        return None;
    }
    let line = typed(line.strip_suffix(own).unwrap_or(line), database);
    Some(match database {
        Database::Sqlite => line.replace(") include (", ", "),
        Database::Postgres if line.starts_with(") strict") => ");".into(),
        Database::Postgres => line.replace(" virtual,", " stored,"),
    })
}

/// Fills in the type of a column, if the line declares one.
fn typed(line: &str, database: Database) -> String {
    let declared = line
        .strip_prefix("    ")
        .or_else(|| line.split_once(" add column ").map(|(_, column)| column));
    let column = declared.and_then(|declared| declared.split_once(' '));
    let Some((_, column)) = column else {
        return line.to_owned();
    };
    let length = column
        .find(|letter: char| !letter.is_ascii_alphabetic())
        .unwrap_or(column.len());
    let (name, rest) = column.split_at(length);
    let Some((_, sqlite, postgres)) = TYPES.iter().find(|(known, ..)| *known == name) else {
        return line.to_owned();
    };
    let filled = match database {
        Database::Sqlite => sqlite,
        Database::Postgres => postgres,
    };
    let before = &line[..line.len() - column.len()];
    format!("{before}{filled}{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(line: &str) -> [Option<String>; 2] {
        [Database::Sqlite, Database::Postgres].map(|database| line_for(line, database))
    }

    fn each(sqlite: &str, postgres: &str) -> [Option<String>; 2] {
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
            assert_eq!(both(line), each(sqlite, postgres), "{line}");
        }
    }

    #[test]
    fn tables_and_indexes_get_the_syntax_of_each_database() {
        assert_eq!(
            both(") strict, without rowid;"),
            each(") strict, without rowid;", ");")
        );
        assert_eq!(
            both("create index a on b (c) include (d, e);"),
            each(
                "create index a on b (c, d, e);",
                "create index a on b (c) include (d, e);"
            )
        );
        assert_eq!(
            both("create index a on b (c); -- only postgres"),
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
