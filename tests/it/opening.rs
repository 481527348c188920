//! What a database has to be like, and how a process says at its start that it is not.

use std::process::Command;

use crate::support::node::Node;
use crate::support::pgbouncer::PgBouncer;
use crate::support::postgres;

async fn fresh_postgres() -> Option<String> {
    tokio::task::spawn_blocking(postgres::fresh_database).await.unwrap()
}

/// What `migrate` says where it fails, and that `serve` says the same.
async fn refusal(database_url: &str) -> String {
    let said = refusal_of("migrate", database_url).await;
    assert_eq!(refusal_of("serve", database_url).await, said);
    said
}

async fn refusal_of(command: &'static str, database_url: &str) -> String {
    let database_url = database_url.to_owned();
    let run = move || Command::new(env!("CARGO_BIN_EXE_vestibule")).args([command, "--database-url", &database_url]).output();
    let output = tokio::task::spawn_blocking(run).await.unwrap().unwrap();
    assert!(!output.status.success(), "{command} went on");
    let said = String::from_utf8(output.stderr).unwrap();
    said.lines().find(|line| line.starts_with("vestibule: ")).unwrap_or_else(|| panic!("{said}")).to_owned()
}

/// What `migrate` says with flags.
async fn said_with(database_url: &str, flags: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vestibule"));
    command.args(["migrate", "--database-url", database_url]).args(flags);
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

async fn admits(database_url: &str) -> bool {
    admits_with(database_url, &[]).await
}

async fn admits_with(database_url: &str, flags: &[&str]) -> bool {
    let (database_url, flags) = (database_url.to_owned(), flags.iter().map(|flag| (*flag).to_owned()).collect::<Vec<_>>());
    let migrate =
        move || Command::new(env!("CARGO_BIN_EXE_vestibule")).args(["migrate", "--database-url", &database_url]).args(flags).status();
    tokio::task::spawn_blocking(migrate).await.unwrap().unwrap().success()
}

/// Brings a database to a version that is not known yet, by such a migration.
pub async fn migrate_beyond(database_url: &str, sql: &'static str) {
    let (url, known) = (database_url.to_owned(), vestibule::migrations());
    let beyond = move |runner: &refinery_core::Runner| {
        let mut migrations = runner.get_migrations().clone();
        migrations.push(refinery_core::Migration::unapplied("V999__later", sql).unwrap());
        refinery_core::Runner::new(&migrations)
    };
    let later = store::Migrations { sqlite: beyond(&known.sqlite), postgres: beyond(&known.postgres) };
    tokio::task::spawn_blocking(move || store::Store::open(&url, &later).map(drop)).await.unwrap().unwrap();
}

async fn a_newer_one_is_refused(database_url: &str) {
    assert!(admits(database_url).await);
    migrate_beyond(database_url, "create table later (id integer)").await;
    let said = refusal(database_url).await;
    assert!(said.contains("of a newer version of this program") && said.contains("V999__later"), "{said}");
}

/// Where rows are on several servers a migration is sent a statement at a time, and it is told by the ends of lines where one is over.
#[tokio::test(flavor = "multi_thread")]
async fn a_statement_of_a_migration_ends_with_its_line() {
    let Some(url) = fresh_postgres().await else { return };
    let run = move || {
        let mut client = ::postgres::Client::connect(&url, ::postgres::NoTls).unwrap();
        let mut transaction = client.transaction().unwrap();
        let mut migrations = vestibule::migrations().postgres.get_migrations().clone();
        migrations.sort();
        for migration in migrations {
            for statement in migration.sql().unwrap().split(";\n").filter(|statement| !statement.trim().is_empty()) {
                // What has two commands in it is refused.
                transaction.execute(statement, &[]).unwrap_or_else(|error| panic!("{migration}: {error}: {statement}"));
            }
        }
    };
    tokio::task::spawn_blocking(run).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_file_is_told() {
    let directory = tempfile::tempdir().unwrap();
    a_newer_one_is_refused(&format!("sqlite:{}", directory.path().join("newer.db").display())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_postgres_is_told() {
    let Some(url) = fresh_postgres().await else { return };
    a_newer_one_is_refused(&url).await;
}

async fn execute(database_url: &str, sql: &str) {
    let (url, sql) = (database_url.to_owned(), sql.to_owned());
    let execute = move || postgres_client(&url).batch_execute(&sql).unwrap();
    tokio::task::spawn_blocking(execute).await.unwrap();
}

fn postgres_client(url: &str) -> ::postgres::Client {
    ::postgres::Client::connect(url, ::postgres::NoTls).unwrap()
}

/// A role that may not create tables; one that has no schema to create them in; one that may not even come in.
#[tokio::test(flavor = "multi_thread")]
async fn a_role_without_rights_is_told() {
    let Some(url) = fresh_postgres().await else { return };
    let name = format!("weak_{}", url.rsplit('_').next().unwrap());
    execute(&url, &format!("create role {name} login")).await;
    let weak = url.replace("//vestibule@", &format!("//{name}@"));
    let said = refusal(&weak).await;
    assert!(said.contains("has to be allowed to create") && said.contains("permission denied for schema public"), "{said}");
    execute(&url, &format!("alter role {name} set search_path = nowhere")).await;
    let said = refusal(&weak).await;
    assert!(said.contains("has to be allowed to create") && said.contains("no schema"), "{said}");
    execute(&url, &format!("alter role {name} nologin")).await;
    let said = refusal(&weak).await;
    assert!(said.contains("is not permitted to log in"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_takes_no_writes_is_told() {
    let Some(url) = fresh_postgres().await else { return };
    let name = url.rsplit('/').next().unwrap();
    execute(&url, &format!("alter database {name} set default_transaction_read_only = on")).await;
    let said = refusal(&url).await;
    assert!(said.contains("does not allow writes"), "{said}");
}

/// A pooler that gives each transaction another connection is found out, however it chooses. Nothing is migrated through it; what has
/// been migrated past it is served.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_migrated_through_a_pooler_that_works_by_transaction() {
    for pool in ["", "server_round_robin = 1", "min_pool_size = 5", "default_pool_size = 1"] {
        let Some(url) = fresh_postgres().await else { return };
        let Some(pooler) = PgBouncer::before(&url, &format!("pool_mode = transaction\n{pool}")) else { return };
        // The second time with connections in it that the first has left.
        for _ in 0..2 {
            let said = refusal_of("migrate", &pooler.database_url).await;
            assert!(
                said.contains("a pooler before it that works by transaction") && said.contains("--database-direct-url"),
                "{pool}: {said}"
            );
            let said = refusal_of("serve", &pooler.database_url).await;
            assert!(said.contains("of an older version") && said.contains("vestibule migrate"), "{pool}: {said}");
        }
        assert!(!admits_with(&pooler.database_url, &["--database-direct-url", &pooler.database_url]).await, "that leads nowhere else");
        assert!(admits_with(&pooler.database_url, &["--database-direct-url", &url]).await, "{pool}");
        let node = Node::start(&pooler.database_url, &[]);
        assert_eq!(node.api(&node.key().await).get("/portals").await.status, 200, "{pool}");
        drop(node);
        migrate_beyond(&url, "create table later (id integer)").await;
        let said = refusal_of("serve", &pooler.database_url).await;
        assert!(said.contains("of a newer version of this program") && said.contains("V999__later"), "{said}");
    }
}

/// Nor is a database spread through one, which takes as many steps that belong together.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_spread_through_a_pooler_that_works_by_transaction() {
    let Some(url) = fresh_postgres().await else { return };
    let Some(pooler) = PgBouncer::before(&url, "pool_mode = transaction") else { return };
    let said = said_with(&pooler.database_url, &["--citus"]).await;
    assert!(said.contains("a pooler before it that works by transaction") && said.contains("--database-direct-url"), "{said}");
    let said = refusal_of("serve", &pooler.database_url).await;
    assert!(said.contains("of an older version"), "nothing has been migrated: {said}");
    // Past it, it comes to what is there.
    let said = said_with(&pooler.database_url, &["--citus", "--database-direct-url", &url]).await;
    assert!(said.contains("there is no Citus here") || said.contains("spread "), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pooler_that_works_by_session_is_like_none_and_one_by_statement_is_refused() {
    let Some(url) = fresh_postgres().await else { return };
    let Some(pooler) = PgBouncer::before(&url, "pool_mode = statement") else { return };
    let said = refusal(&pooler.database_url).await;
    assert!(said.contains("statement pooling mode"), "{said}");
    let pooler = PgBouncer::before(&url, "pool_mode = session").unwrap();
    assert!(admits(&pooler.database_url).await, "one that works by session will do");
}
