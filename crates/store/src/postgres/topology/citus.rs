//! Distribution of the organizations' rows over several servers, by PostgreSQL's extension Citus.
//!
//! Every table with an organization's id is sharded by that column, so that all rows of one
//! organization are on the same server. A few small tables are copied to every server. A
//! transaction of one organization then needs only the commit of one server. If only some of the
//! tables were distributed, such a transaction could need several servers without any error, so the
//! process refuses such a database.

use refinery_core::traits::r#async::{AsyncMigrate, AsyncQuery, AsyncTransaction};
use tokio::time::Instant;
use tokio_postgres::Client;
use tokio_postgres::config::TargetSessionAttrs;

use super::super::link::{Connector, Failure, Link};
use super::super::migration::{self, MigrationFailure};
use super::Topology;
use super::pooler::{self, Pooling};
use crate::WAIT_LIMIT;
use crate::error::{Error, Result};

/// How the tables of a database are distributed over several servers.
#[derive(Debug, Clone, Copy)]
pub struct Sharding {
    /// The table with one row for each organization, and the name of its key column.
    pub root: (&'static str, &'static str),
    /// The name of the column with the organization's id. Apart from `root`, every table whose rows
    /// belong to organizations has this column.
    pub column: &'static str,
    /// Tables whose rows belong to no organization, and that other tables refer to. Every server
    /// has a copy of them.
    pub copied: &'static [&'static str],
}

/// Query that returns a row if any table of the database is distributed.
const IS_SHARDED: &str = "select 1 from pg_dist_partition limit 1";
const HAS_EXTENSION: &str = "select 1 from pg_extension where extname = 'citus'";
/// Query for the number of servers that store distributed rows, without the coordinator.
const WORKERS: &str = "select count(*) from pg_dist_node where groupid <> 0 and isactive and \
    shouldhaveshards and noderole = 'primary'";
/// Setting for a transaction that changes a copied table and a sharded table. Citus refuses to do
/// both in parallel.
const SEQUENTIAL_CHANGES: &str = "citus.multi_shard_modify_mode = 'sequential'";

/// The tables of a database, grouped by how they are distributed.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tables {
    distributed: Vec<String>,
    local: Vec<String>,
    /// Tables that are distributed in another way than this program needs.
    misplaced: Vec<String>,
}

impl Tables {
    /// Parses a list of tables such as `a=+,b=-,c=!`. `+` means that the table is distributed as
    /// this program needs, `-` that it is local, and `!` that it is distributed in another way.
    fn read(text: &str) -> Self {
        let mut tables = Self::default();
        for (name, mark) in text.split(',').filter_map(|table| table.split_once('=')) {
            match mark {
                "+" => &mut tables.distributed,
                "-" => &mut tables.local,
                _ => &mut tables.misplaced,
            }
            .push(name.to_owned());
        }
        tables
    }

    /// Returns an error text if a table is distributed in another way than this program needs, or
    /// if only some of the tables are distributed.
    fn refusal(&self) -> Option<String> {
        if !self.misplaced.is_empty() {
            return Some(format!(
                "Citus distributes these tables differently from `vestibule migrate --citus`: {}",
                self.misplaced.join(", ")
            ));
        }
        (!self.distributed.is_empty() && !self.local.is_empty()).then(|| {
            format!(
                "only a part of the database is distributed over several servers: {} are on this \
                    server only, so a crash could keep a part of a write; stop every node and run \
                    `vestibule migrate --citus`",
                self.local.join(", ")
            )
        })
    }
}

/// Returns whether the organizations' rows are distributed over several servers.
pub(super) fn is_sharded(link: &mut Link, until: Instant) -> Result<bool, Failure> {
    Ok(has_extension(link, until)? && link.scalar(until, IS_SHARDED)?.is_some())
}

fn has_extension(link: &mut Link, until: Instant) -> Result<bool, Failure> {
    Ok(link.scalar(until, HAS_EXTENSION)?.is_some())
}

/// A database whose tables Citus distributes.
pub(super) struct Citus {
    /// How this program distributes the tables. `None` if the caller does not say; then tables are
    /// neither checked nor distributed.
    sharding: Option<&'static Sharding>,
}

impl Citus {
    pub(super) fn new(sharding: Option<&'static Sharding>) -> Self {
        Self { sharding }
    }
}

impl Topology for Citus {
    fn is_sharded(&self) -> bool {
        true
    }

    /// The server plans a look-up at each execution, because the keys determine which servers run
    /// it.
    fn lookup_plans(&self) -> Option<&'static str> {
        None
    }

    fn migrate(
        &self,
        link: &mut Link,
        until: Instant,
        migrations: &refinery_core::Runner,
    ) -> Result<refinery_core::Report, MigrationFailure> {
        Ok(link.drive(until, async |client| {
            migrations.run_async(&mut SingleStatements(client)).await
        })??)
    }

    fn place_tables(&self, link: &mut Link, until: Instant) -> Result<(), MigrationFailure> {
        match self.sharding {
            Some(sharding) => distribute_tables(link, until, sharding).map(drop),
            None => Ok(()),
        }
    }

    fn check(&self, link: &mut Link, until: Instant) -> Result<()> {
        let Some(sharding) = self.sharding else {
            return Ok(());
        };
        tables(link, until, sharding)?
            .refusal()
            .map_or(Ok(()), |refusal| Err(Error::Configuration(refusal)))
    }
}

fn tables(link: &mut Link, until: Instant, sharding: &Sharding) -> Result<Tables, Failure> {
    let Sharding {
        root: (root, key),
        column,
        copied,
    } = sharding;
    let copied = sql_array(copied.iter());
    let all = format!(
        "select string_agg(t.name || '=' || case when p.logicalrelid is null then '-'
            when t.name = any({copied}) then
                case when p.partmethod = 'n' and p.repmodel = 't' then '+' else '!' end
            when p.partmethod = 'h' and column_to_column_name(p.logicalrelid,
                p.partkey) = case when t.name = '{root}' then '{key}' else '{column}' end
                and p.colocationid = (select r.colocationid from pg_dist_partition r
                    where r.logicalrelid = '{root}'::regclass) then '+'
            else '!' end, ',' order by t.name)
        from (select c.oid, c.relname::text as name from pg_class c
            where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace
            and (c.relname = '{root}' or c.relname = any({copied})
                or exists (select 1 from pg_attribute a where a.attrelid = c.oid
                    and a.attname = '{column}' and not a.attisdropped))) t
        left join pg_dist_partition p on p.logicalrelid = t.oid"
    );
    Ok(Tables::read(&link.scalar(until, &all)?.unwrap_or_default()))
}

/// Migrates a database, and distributes the tables that are not distributed yet. Returns the number
/// of tables that this call distributed. Blocks, and locks the tables for all users of the
/// database.
pub(crate) fn distribute(
    url: &str,
    migrations: &refinery_core::Runner,
    sharding: &'static Sharding,
) -> Result<usize> {
    let until = Instant::now() + migration::MIGRATION_LIMIT;
    let connector = Connector::new(url, TargetSessionAttrs::ReadWrite)?;
    let mut link = connector
        .connect(Instant::now() + WAIT_LIMIT)
        .map_err(unusable)?;
    let refuse = |text: &str| Err(Error::Configuration(text.into()));
    if pooler::detect(&connector, &mut link)? == Pooling::ByTransaction {
        return refuse(migration::POOLER_REFUSAL);
    }
    migration::migrate(&mut link, migrations, Some(sharding))?;
    if !has_extension(&mut link, until)? {
        return refuse(
            "Citus is not installed in this database: run `create extension citus` in it on every \
                server",
        );
    }
    if link
        .scalar(until, WORKERS)?
        .is_none_or(|count| count == "0")
    {
        return refuse(
            "Citus knows no worker server: run `select citus_add_node(…)` for each of them",
        );
    }
    link.run(until, "set statement_timeout = 0; set lock_timeout = 0")?;
    let count = distribute_tables(&mut link, until, sharding)?;
    link.close();
    Ok(count)
}

/// Distributes the tables that are not distributed yet, in one transaction. Returns the number of
/// tables that this call distributed.
fn distribute_tables(
    link: &mut Link,
    until: Instant,
    sharding: &Sharding,
) -> Result<usize, MigrationFailure> {
    let Tables {
        local, misplaced, ..
    } = tables(link, until, sharding)?;
    if !misplaced.is_empty() {
        let refusal = Tables {
            misplaced,
            ..Tables::default()
        }
        .refusal()
        .unwrap_or_default();
        return Err(Error::Configuration(refusal).into());
    }
    if local.is_empty() {
        return Ok(0);
    }
    // Each statement is sent by itself. Citus would send a text with several statements to its
    // workers as a whole, once for each statement.
    for statement in statements(link, until, sharding, &local)? {
        if let Err(failure) = link.run(until, &statement) {
            // If the statement `rollback` fails as well, the connection is lost. The server then
            // rolls back the transaction by itself.
            drop(link.run(until, "rollback"));
            return Err(failure.into());
        }
    }
    Ok(local.len())
}

/// Returns the statements that distribute the tables that are local. Foreign keys are dropped
/// first, and are added again after both of their tables are distributed.
fn statements(
    link: &mut Link,
    until: Instant,
    sharding: &Sharding,
    local: &[String],
) -> Result<Vec<String>, Failure> {
    let Sharding {
        root: (root, key),
        column,
        copied,
    } = sharding;
    let among = format!("any({}::regclass[])", sql_array(local.iter()));
    let mut references = |form: &str| {
        let each = format!(
            "select string_agg({form},
            chr(10) order by conname) from pg_constraint where contype = 'f' and conparentid = 0
                and (conrelid = {among} or confrelid = {among})"
        );
        let rows = link.scalar(until, &each).map(Option::unwrap_or_default);
        rows.map(|rows| rows.lines().map(str::to_owned).collect::<Vec<_>>())
    };
    let dropped =
        references("format('alter table %s drop constraint %I', conrelid::regclass, conname)")?;
    let added = references(
        "format('alter table %s add constraint %I %s', conrelid::regclass, conname, \
            pg_get_constraintdef(oid))",
    )?;
    let settings = link.scalar(
        until,
        &format!(
            "select format('alter database %I set {}', current_database())",
            SEQUENTIAL_CHANGES.replace('\'', "''")
        ),
    )?;
    let is_local = |table: &str| local.iter().any(|local| local == table);
    let mut statements = vec![
        "begin".to_owned(),
        format!("set local {SEQUENTIAL_CHANGES}"),
    ];
    statements.extend(dropped);
    statements.extend(
        copied
            .iter()
            .filter(|table| is_local(table))
            .map(|table| format!("select create_reference_table('{table}')")),
    );
    if is_local(root) {
        statements.push(format!(
            "select create_distributed_table('{root}', '{key}', colocate_with => 'none')"
        ));
    }
    let others = local
        .iter()
        .filter(|table| table != root && !copied.contains(&table.as_str()));
    statements.extend(others.map(|table| {
        format!("select create_distributed_table('{table}', '{column}', colocate_with => '{root}')")
    }));
    // Without this statement the rows that were copied to other servers would still use disk space
    // on this one.
    statements.extend(
        local
            .iter()
            .map(|table| format!("select truncate_local_data_after_distributing_table('{table}')")),
    );
    statements.extend(added);
    statements.extend(settings);
    statements.push("commit".to_owned());
    Ok(statements)
}

/// Runs each statement of a migration by itself. Citus would send a text with several statements to
/// its workers as a whole, once for each statement.
struct SingleStatements<'c>(&'c mut Client);

impl AsyncTransaction for SingleStatements<'_> {
    type Error = tokio_postgres::Error;

    async fn execute<'a, T: Iterator<Item = &'a str> + Send + 'a>(
        &mut self,
        queries: T,
    ) -> Result<usize, Self::Error> {
        let transaction = self.0.transaction().await?;
        let mut count = 0;
        for query in queries {
            for statement in statements_of(query) {
                transaction.batch_execute(statement).await?;
            }
            count += 1;
        }
        transaction.commit().await?;
        Ok(count)
    }
}

impl AsyncQuery<Vec<refinery_core::Migration>> for SingleStatements<'_> {
    async fn query(&mut self, query: &str) -> Result<Vec<refinery_core::Migration>, Self::Error> {
        AsyncQuery::query(self.0, query).await
    }
}

impl AsyncMigrate for SingleStatements<'_> {}

/// Splits a migration into its statements. Each ends with a semicolon at the end of a line.
fn statements_of(migration: &str) -> impl Iterator<Item = &str> {
    migration
        .split(";\n")
        .map(str::trim)
        .filter(|statement| !statement.is_empty())
}

fn sql_array(names: impl Iterator<Item = impl AsRef<str>>) -> String {
    let names: Vec<_> = names.map(|name| format!("'{}'", name.as_ref())).collect();
    format!("array[{}]::text[]", names.join(", "))
}

fn unusable(failure: Failure) -> Error {
    Error::Configuration(failure.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partly_sharded_database_is_refused() {
        assert_eq!(Tables::read("").refusal(), None);
        assert_eq!(Tables::read("a=+,b=+").refusal(), None);
        assert_eq!(Tables::read("a=-,b=-").refusal(), None);
        assert!(
            Tables::read("a=+,b=-,c=-")
                .refusal()
                .is_some_and(|refusal| refusal.contains("b, c are on this server only"))
        );
        assert!(
            Tables::read("a=+,b=!")
                .refusal()
                .is_some_and(|refusal| refusal.contains("differently") && refusal.contains('b'))
        );
    }
}
