//! Tests of the store on the real schema: every statement can be prepared, and the store handles
//! lost connections, locks and errors of PostgreSQL.

use test_support::waiting::WAIT_LIMIT;
use test_support::{App, on_both};

on_both!(every_statement_can_be_prepared_on_the_schema);
async fn every_statement_can_be_prepared_on_the_schema(app: App) {
    let statements = &vestibule::app::app().statements;
    assert!(statements.len() > 60, "{}", statements.len());
    app.server
        .service
        .store
        .write(move |tx| {
            for statement in statements {
                tx.prepare(statement)?;
            }
            Ok::<_, store::Error>(())
        })
        .await
        .unwrap();
}

/// The store replaces connections that the server closed, and the next requests succeed on new
/// connections.
#[tokio::test(flavor = "multi_thread")]
async fn lost_connections_are_replaced() {
    let Some(app) = App::on_postgres(&[]).await else {
        return;
    };
    let api = app.org().await.key().await;
    futures_util::future::join_all((0..8).map(|_| api.get("/portals"))).await;
    let url = app.database_url.clone();
    let closed = tokio::task::spawn_blocking(move || {
        let mut client = postgres::Client::connect(&url, postgres::NoTls).unwrap();
        let others = "select pid, pg_terminate_backend(pid) from pg_stat_activity where datname = \
            current_database() and pid <> pg_backend_pid()";
        let ended: Vec<i32> = client
            .query(others, &[])
            .unwrap()
            .iter()
            .map(|row| row.get(0))
            .collect();
        // A connection that PostgreSQL is about to close may still accept a request, which is then
        // lost. The loop waits until PostgreSQL has closed all of these connections.
        let start = std::time::Instant::now();
        while !client
            .query(
                "select 1 from pg_stat_activity where pid = any($1)",
                &[&ended],
            )
            .unwrap()
            .is_empty()
        {
            assert!(
                start.elapsed() < WAIT_LIMIT,
                "the server does not close its connections"
            );
        }
        ended.len()
    })
    .await
    .unwrap();
    assert!(closed > 0);
    for answer in futures_util::future::join_all((0..8).map(|_| api.get("/portals"))).await {
        answer.data();
    }
    api.post("/portals", serde_json::json!({ "name": "After" }))
        .await
        .data();
}

/// A write that waits too long for a lock gets a 503 within five seconds. After the lock is
/// released, the write succeeds.
#[tokio::test(flavor = "multi_thread")]
async fn a_locked_organization_gets_503_until_it_is_released() {
    let Some(app) = App::on_postgres(&[]).await else {
        return;
    };
    let org = app.org().await;
    let api = org.key().await;
    let url = app.database_url.clone();
    let id = org.id;
    let (locked, release) = (
        tokio::sync::oneshot::channel(),
        std::sync::mpsc::channel::<()>(),
    );
    let holder = tokio::task::spawn_blocking(move || {
        let mut client = postgres::Client::connect(&url, postgres::NoTls).unwrap();
        let mut transaction = client.transaction().unwrap();
        transaction
            .execute(
                "select 1 from organization where id = $1::text::uuid for update",
                &[&id.to_string()],
            )
            .unwrap();
        locked.0.send(()).unwrap();
        release.1.recv().unwrap();
    });
    locked.1.await.unwrap();
    let started = std::time::Instant::now();
    let response = api
        .post("/portals", serde_json::json!({ "name": "Waits" }))
        .await;
    let error = response.error(503);
    assert_eq!(
        (&error["type"], &error["code"]),
        (&"service_unavailable".into(), &"SERVICE_UNAVAILABLE".into())
    );
    assert!(response.header("retry-after").is_some());
    // A write waits for a lock for at most five seconds. The test adds half a second for a busy
    // machine.
    assert!(
        started.elapsed() < std::time::Duration::from_millis(5_500),
        "{:?}",
        started.elapsed()
    );
    api.get("/portals").await.data();
    release.0.send(()).unwrap();
    holder.await.unwrap();
    assert_eq!(
        api.post("/portals", serde_json::json!({ "name": "Waits" }))
            .await
            .status,
        201
    );
}

/// When Citus loses a worker, it reports an internal error. The same write may succeed later. If a
/// statement failed, the write is not applied. If the commit failed, the outcome of the write is
/// unknown.
#[tokio::test(flavor = "multi_thread")]
async fn an_internal_error_of_the_server_can_be_retried() {
    let Some(app) = App::on_postgres(&[]).await else {
        return;
    };
    if app.server.service.store.is_sharded() {
        // The test needs a trigger. On a sharded database, Citus distributes the tables, and
        // distributed tables cannot have triggers.
        return;
    }
    let api = app.org().await.key().await;
    let run = async |sql: &'static str| {
        let url = app.database_url.clone();
        let run = move || {
            postgres::Client::connect(&url, postgres::NoTls)
                .unwrap()
                .batch_execute(sql)
                .unwrap();
        };
        tokio::task::spawn_blocking(run).await.unwrap();
    };
    let post = async || {
        api.post("/portals", serde_json::json!({ "name": "P" }))
            .await
    };
    run(
        "create function fail() returns trigger language plpgsql as $$ begin raise 'lost' using \
            errcode = 'XX000'; end $$",
    )
    .await;
    run("create trigger fails before insert on portal for each row execute function fail()").await;
    assert!(post().await.error(503)["details"]["key"].is_null());
    run("drop trigger fails on portal").await;
    run(
        "create constraint trigger fails after insert on portal deferrable initially deferred for \
            each row execute function fail()",
    )
    .await;
    assert_eq!(post().await.error(503)["details"]["key"], "outcome_unknown");
    run("drop trigger fails on portal").await;
    assert_eq!(post().await.status, 201);
}

/// Checks that the app lists every statement that a `store::statements!` block declares. The test
/// `every_statement_can_be_prepared_on_the_schema` prepares only the listed statements.
#[test]
fn every_declared_statement_is_listed() {
    fn count(directory: &std::path::Path) -> usize {
        std::fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .map(|path| {
                if path.is_dir() {
                    return count(&path);
                }
                let text = std::fs::read_to_string(&path).unwrap_or_default();
                let Some((_, rest)) = text.split_once("\nstore::statements! {") else {
                    return 0;
                };
                let block = rest.split("\n}").next().unwrap();
                block
                    .lines()
                    .filter_map(|line| line.trim_start().split_once(" = "))
                    .filter(|(name, _)| {
                        name.chars()
                            .all(|character| character.is_ascii_uppercase() || character == '_')
                    })
                    .count()
            })
            .sum()
    }
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let declared: usize = [
        "access", "console", "delivery", "engine", "features", "page",
    ]
    .iter()
    .map(|name| count(&root.join(format!("crates/{name}/src"))))
    .sum();
    assert_eq!(vestibule::app::app().statements.len(), declared);
}
