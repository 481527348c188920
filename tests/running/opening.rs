//! Tests of the requirements on a database. If a database does not meet a requirement, the service
//! does not start and says why.

use std::process::Command;

use test_support::node::Node;
use test_support::pgbouncer::PgBouncer;
use test_support::postgres;
use test_support::server_process::output_of;

async fn fresh_postgres() -> Option<String> {
    tokio::task::spawn_blocking(postgres::fresh_database)
        .await
        .unwrap()
}

/// Returns the error message of `migrate` on a database. Checks that `serve` reports the same
/// message.
async fn refusal(database_url: &str) -> String {
    let text = refusal_of("migrate", database_url).await;
    assert_eq!(refusal_of("serve", database_url).await, text);
    text
}

async fn refusal_of(command: &'static str, database_url: &str) -> String {
    let database_url = database_url.to_owned();
    let run = move || {
        output_of(Command::new(test_support::program()).args([
            command,
            "--database-url",
            &database_url,
        ]))
    };
    let output = tokio::task::spawn_blocking(run).await.unwrap();
    assert!(!output.status.success(), "{command} went on");
    let text = String::from_utf8(output.stderr).unwrap();
    text.lines()
        .find(|line| line.starts_with("vestibule: "))
        .unwrap_or_else(|| panic!("{text}"))
        .to_owned()
}

/// Returns the output of `migrate` with these flags.
async fn output_with(database_url: &str, flags: &[&str]) -> String {
    let mut command = Command::new(test_support::program());
    command
        .args(["migrate", "--database-url", database_url])
        .args(flags);
    let output = tokio::task::spawn_blocking(move || output_of(&mut command))
        .await
        .unwrap();
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

async fn admits(database_url: &str) -> bool {
    admits_with(database_url, &[]).await
}

async fn admits_with(database_url: &str, flags: &[&str]) -> bool {
    let (database_url, flags) = (
        database_url.to_owned(),
        flags
            .iter()
            .map(|flag| (*flag).to_owned())
            .collect::<Vec<_>>(),
    );
    let migrate = move || {
        output_of(
            Command::new(test_support::program())
                .args(["migrate", "--database-url", &database_url])
                .args(flags),
        )
    };
    let output = tokio::task::spawn_blocking(migrate).await.unwrap();
    output.status.success()
}

/// Applies all migrations of the tested version, and then `sql` as a later migration that this
/// version does not know.
pub async fn migrate_beyond(database_url: &str, sql: &'static str) {
    let (url, known) = (database_url.to_owned(), vestibule::migrations());
    let beyond = move |runner: &refinery_core::Runner| {
        let mut migrations = runner.get_migrations().clone();
        migrations.push(refinery_core::Migration::unapplied("V999__later", sql).unwrap());
        refinery_core::Runner::new(&migrations)
    };
    let later = store::Migrations {
        sqlite: beyond(&known.sqlite),
        postgres: beyond(&known.postgres),
    };
    tokio::task::spawn_blocking(move || store::Store::open(&url, &later).map(drop))
        .await
        .unwrap()
        .unwrap();
}

async fn assert_newer_schema_refused(database_url: &str) {
    assert!(admits(database_url).await);
    migrate_beyond(database_url, "create table later (id integer)").await;
    let text = refusal(database_url).await;
    assert!(
        text.contains("a newer version of this program has migrated it")
            && text.contains("V999__later"),
        "{text}"
    );
}

/// On Citus the service sends a migration one statement at a time. The service splits the text of
/// the migration at each semicolon before a line break.
#[tokio::test(flavor = "multi_thread")]
async fn each_migration_statement_ends_at_a_line_end() {
    let Some(url) = fresh_postgres().await else {
        return;
    };
    let run = move || {
        let mut client = ::postgres::Client::connect(&url, ::postgres::NoTls).unwrap();
        let mut transaction = client.transaction().unwrap();
        let mut migrations = vestibule::migrations().postgres.get_migrations().clone();
        migrations.sort();
        for migration in migrations {
            for statement in migration
                .sql()
                .unwrap()
                .split(";\n")
                .filter(|statement| !statement.trim().is_empty())
            {
                // `execute` prepares the text that it gets. PostgreSQL refuses to prepare two
                // commands together, so the test fails if `statement` contains two commands.
                transaction
                    .execute(statement, &[])
                    .unwrap_or_else(|error| panic!("{migration}: {error}: {statement}"));
            }
        }
    };
    tokio::task::spawn_blocking(run).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_sqlite_schema_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    assert_newer_schema_refused(&format!(
        "sqlite:{}",
        directory.path().join("newer.db").display()
    ))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_postgres_schema_is_refused() {
    let Some(url) = fresh_postgres().await else {
        return;
    };
    assert_newer_schema_refused(&url).await;
}

async fn execute(database_url: &str, sql: &str) {
    let (url, sql) = (database_url.to_owned(), sql.to_owned());
    let execute = move || postgres_client(&url).batch_execute(&sql).unwrap();
    tokio::task::spawn_blocking(execute).await.unwrap();
}

fn postgres_client(url: &str) -> ::postgres::Client {
    ::postgres::Client::connect(url, ::postgres::NoTls).unwrap()
}

/// The database role of the service may lack the right to connect or to create tables, or may have
/// no schema for them. The service reports each of these problems.
#[tokio::test(flavor = "multi_thread")]
async fn a_database_role_without_rights_is_reported() {
    let Some(url) = fresh_postgres().await else {
        return;
    };
    let name = format!("weak_{}", url.rsplit('_').next().unwrap());
    execute(&url, &format!("create role {name} login")).await;
    let weak = url.replace("//vestibule@", &format!("//{name}@"));
    let text = refusal(&weak).await;
    assert!(
        text.contains("must be allowed to create")
            && text.contains("permission denied for schema public"),
        "{text}"
    );
    execute(
        &url,
        &format!("alter role {name} set search_path = nowhere"),
    )
    .await;
    let text = refusal(&weak).await;
    assert!(
        text.contains("must be allowed to create") && text.contains("no schema"),
        "{text}"
    );
    execute(&url, &format!("alter role {name} nologin")).await;
    let text = refusal(&weak).await;
    assert!(text.contains("is not permitted to log in"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_only_server_is_reported() {
    let Some(url) = fresh_postgres().await else {
        return;
    };
    let name = url.rsplit('/').next().unwrap();
    execute(
        &url,
        &format!("alter database {name} set default_transaction_read_only = on"),
    )
    .await;
    let text = refusal(&url).await;
    assert!(text.contains("does not allow writes"), "{text}");
}

/// The service detects a pooler in transaction mode, whatever its pool settings. It refuses to
/// migrate through the pooler, and serves a database that was migrated without the pooler.
#[tokio::test(flavor = "multi_thread")]
async fn migrations_are_refused_through_a_transaction_pooler() {
    for pool in [
        "",
        "server_round_robin = 1",
        "min_pool_size = 5",
        "default_pool_size = 1",
    ] {
        let Some(url) = fresh_postgres().await else {
            return;
        };
        let Some(pooler) =
            PgBouncer::in_front_of(&url, &format!("pool_mode = transaction\n{pool}"))
        else {
            return;
        };
        // In the second round, the pooler reuses the connections to PostgreSQL that it opened in
        // the first round.
        for _ in 0..2 {
            let text = refusal_of("migrate", &pooler.database_url).await;
            assert!(
                text.contains("behind a pooler that pools by transaction")
                    && text.contains("--database-direct-url"),
                "{pool}: {text}"
            );
            let text = refusal_of("serve", &pooler.database_url).await;
            assert!(
                text.contains("of an older version") && text.contains("vestibule migrate"),
                "{pool}: {text}"
            );
        }
        assert!(
            !admits_with(
                &pooler.database_url,
                &["--database-direct-url", &pooler.database_url]
            )
            .await,
            "that leads nowhere else"
        );
        assert!(
            admits_with(&pooler.database_url, &["--database-direct-url", &url]).await,
            "{pool}"
        );
        let node = Node::start(&pooler.database_url, &[]);
        assert_eq!(
            node.api(&node.key().await).get("/portals").await.status,
            200,
            "{pool}"
        );
        drop(node);
        migrate_beyond(&url, "create table later (id integer)").await;
        let text = refusal_of("serve", &pooler.database_url).await;
        assert!(
            text.contains("a newer version of this program has migrated it")
                && text.contains("V999__later"),
            "{text}"
        );
    }
}

/// The service shards a database in several steps on one connection. It therefore refuses to do so
/// through a pooler in transaction mode.
#[tokio::test(flavor = "multi_thread")]
async fn sharding_is_refused_through_a_transaction_pooler() {
    let Some(url) = fresh_postgres().await else {
        return;
    };
    let Some(pooler) = PgBouncer::in_front_of(&url, "pool_mode = transaction") else {
        return;
    };
    let text = output_with(&pooler.database_url, &["--citus"]).await;
    assert!(
        text.contains("behind a pooler that pools by transaction")
            && text.contains("--database-direct-url"),
        "{text}"
    );
    let text = refusal_of("serve", &pooler.database_url).await;
    assert!(
        text.contains("of an older version"),
        "nothing has been migrated: {text}"
    );
    // Without the pooler the command passes the check for poolers. It then distributes the tables,
    // or reports that Citus is not installed.
    let text = output_with(
        &pooler.database_url,
        &["--citus", "--database-direct-url", &url],
    )
    .await;
    assert!(
        text.contains("Citus is not installed in this database") || text.contains("distributed "),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_pooler_is_accepted_and_a_statement_pooler_refused() {
    let Some(url) = fresh_postgres().await else {
        return;
    };
    let Some(pooler) = PgBouncer::in_front_of(&url, "pool_mode = statement") else {
        return;
    };
    let text = refusal(&pooler.database_url).await;
    assert!(text.contains("statement pooling mode"), "{text}");
    let pooler = PgBouncer::in_front_of(&url, "pool_mode = session").unwrap();
    assert!(
        admits(&pooler.database_url).await,
        "one that works by session will do"
    );
}
