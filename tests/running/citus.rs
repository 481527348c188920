//! Tests of a database whose organizations are distributed over several servers with Citus. With
//! `VESTIBULE_ON_CITUS=1` every test on PostgreSQL runs on such a database.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use postgres::{Client, NoTls};
use reqwest::Method;
use serde_json::{Value, json};
use test_support::citus::{self, Servers};
use test_support::node::Node;
use test_support::receiver::{Receiver, retried, subscribe, until, until_read};
use test_support::{App, new_id};
use tokio::task::JoinSet;

use crate::one_organization::is_across;

/// Time for which a client repeats a failed request.
const WAIT_LIMIT: Duration = Duration::from_secs(60);

fn vestibule(arguments: &[&str]) -> (bool, String) {
    let output = Command::new(test_support::program())
        .args(arguments)
        .output()
        .unwrap();
    (
        output.status.success(),
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap(),
    )
}

/// `migrate --citus` distributes all tables of a database that already has an organization. A
/// second run changes nothing. The server refuses to start on a database that is only partly
/// distributed.
#[tokio::test(flavor = "multi_thread")]
async fn a_partly_sharded_database_is_refused() {
    let Some(url) = tokio::task::spawn_blocking(citus::fresh_undistributed)
        .await
        .unwrap()
    else {
        return;
    };
    let token = {
        let plain = Node::start(&url, &[]);
        let token = plain.key().await;
        plain
            .api(&token)
            .ok(Method::POST, "/portals", Some(json!({ "name": "Before" })))
            .await;
        token
    };
    let (is_done, text) = vestibule(&["migrate", "--citus", "--database-url", &url]);
    assert!(is_done && text.starts_with("distributed "), "{text}");
    let (is_done, text) = vestibule(&["migrate", "--citus", "--database-url", &url]);
    assert!(
        is_done && text.starts_with("distributed 0 tables"),
        "{text}"
    );
    {
        let node = Node::start(&url, &[]);
        let api = node.api(&token);
        api.ok(Method::POST, "/portals", Some(json!({ "name": "After" })))
            .await;
        let portals = api.ok(Method::GET, "/portals", None).await;
        assert_eq!(portals.as_array().unwrap().len(), 2, "{portals}");
    }
    let of_database = url.clone();
    let add = move || {
        Client::connect(&of_database, NoTls)
            .unwrap()
            .batch_execute("create table stray (organization_id uuid primary key)")
    };
    tokio::task::spawn_blocking(add).await.unwrap().unwrap();
    for command in [
        ["serve", "--listen", "127.0.0.1:0"],
        ["migrate", "--database-connections", "4"],
    ] {
        let (is_done, text) = vestibule(&[&command[..], &["--database-url", &url]].concat());
        assert!(
            !is_done && text.contains("stray are on this server only"),
            "{text}"
        );
    }
    let (is_done, text) = vestibule(&["migrate", "--citus", "--database-url", &url]);
    assert!(
        is_done && text.starts_with("distributed 1 tables"),
        "{text}"
    );
    let (is_done, text) = vestibule(&["migrate", "--database-url", &url]);
    assert!(is_done, "{text}");
}

/// A later version of the service opens a distributed database. Its migration changes every server
/// and distributes the new tables.
#[tokio::test(flavor = "multi_thread")]
async fn a_sharded_database_migrates_to_a_later_version() {
    let Some(url) = tokio::task::spawn_blocking(citus::fresh_undistributed)
        .await
        .unwrap()
    else {
        return;
    };
    let of_database = url.clone();
    let spread = move || {
        let (url, known) = (of_database, vestibule::migrations());
        let select = |is_wanted: &dyn Fn(i32) -> bool, more: Option<refinery_core::Migration>| {
            let migrations = known
                .postgres
                .get_migrations()
                .iter()
                .filter(|one| is_wanted(one.version()))
                .cloned();
            let postgres = refinery_core::Runner::new(&migrations.chain(more).collect::<Vec<_>>())
                .set_grouped(true);
            store::Migrations {
                sqlite: vestibule::migrations().sqlite,
                postgres,
            }
        };
        store::distribute(
            &url,
            &select(&|version| version == 1, None),
            &vestibule::SHARDING,
        )
        .unwrap();
        let mut client = Client::connect(&url, NoTls).unwrap();
        client
            .batch_execute(
                "insert into organization (id, revision, created_at, updated_at, doc) values \
                    (gen_random_uuid(), 0, now(), now(), '{}')",
            )
            .unwrap();
        let later = "lock table organization in access exclusive mode;

-- Told in a comment; and 'so'.
create table later (
    organization_id uuid not null references organization (id) on delete cascade,
    id uuid not null,
    told text not null default 'a; b',
    primary key (organization_id, id)
);

create index later_by_text on later (organization_id, told);
alter table portal add column later integer not null default 1;
create index portal_by_later on portal (organization_id, later);
update organization set revision = revision + 1;

insert into later (organization_id, id) select id, id from organization;
";
        let later = refinery_core::Migration::unapplied("V999__later", later).unwrap();
        let options = store::Options {
            sharding: Some(&vestibule::SHARDING),
            ..store::Options::default()
        };
        drop(store::Store::open_with(&url, &select(&|_| true, Some(later)), &options).unwrap());
        let mut count = |sql: &str| client.query_one(sql, &[]).unwrap().get::<_, i64>(0);
        assert_eq!(count("select count(*) from later"), 1);
        let is_sharded = "select count(*) from pg_dist_partition where logicalrelid in \
            ('later'::regclass, 'webhook_due'::regclass)
            and colocationid = (select colocationid from pg_dist_partition \
            where logicalrelid = 'organization'::regclass)";
        assert_eq!(count(is_sharded), 2);
        assert_eq!(
            count("select pg_relation_size('later')"),
            0,
            "what lay here alone is gone"
        );
        let references = "select count(*) from pg_constraint where conrelid = 'later'::regclass \
            and contype = 'f'";
        assert_eq!(count(references), 1);
        client
            .batch_execute("delete from refinery_schema_history where version = 999")
            .unwrap();
    };
    tokio::task::spawn_blocking(spread).await.unwrap();
    let node = Node::start(&url, &[]);
    let token = node.key().await;
    node.api(&token)
        .ok(Method::POST, "/portals", Some(json!({ "name": "After" })))
        .await;
}

/// The table `webhook_due` is the queue. It has a row for each organization with due deliveries,
/// whichever statement added them, and no row for any other organization.
#[tokio::test(flavor = "multi_thread")]
async fn only_organizations_with_due_deliveries_are_in_the_queue() {
    let Some(url) = tokio::task::spawn_blocking(citus::fresh_database)
        .await
        .unwrap()
    else {
        return;
    };
    let receiver = Receiver::start().await;
    let flags = receiver.flags();
    let app = App::on(url, &flags.each_ref().map(String::as_str)).await;
    let org = app.org().await;
    let flat = org.property(None, &[]).await;
    let api = org.key().await;
    subscribe(&api, "task.created", &receiver.url).await;
    let task = async || {
        let data = json!({ "propertyId": flat, "title": "Clean", "status": "open" });
        org.sync(json!([{ "kind": "task", "id": new_id(), "data": data }]))
            .await;
    };
    let queue = async || {
        app.query("select due_at from webhook_due", Vec::new(), |row| {
            row.get::<Timestamp>(0)
        })
        .await
    };
    let delivered = |subscriptions: &Value| !subscriptions[0]["lastDeliveredAt"].is_null();

    task().await;
    receiver.next().await;
    until(&api, delivered).await;
    app.clock.advance(Duration::from_secs(6));
    delivery::tidy(&app.server.dependencies).await.unwrap();
    assert_eq!(queue().await, []);

    // An organization stays in the queue of organizations with deliveries while one of its
    // deliveries waits for a retry.
    receiver.answer(&[500, 200]);
    task().await;
    receiver.next().await;
    retried(&app, &receiver).await;

    // The dispatcher finds no delivery of an organization that has no row in the queue. The
    // function `fill` reads every subscription and adds the missing row.
    receiver.answer(&[500]);
    task().await;
    receiver.next().await;
    let log = format!(
        "/webhook-subscriptions/{}/deliveries",
        api.get("/webhook-subscriptions").await.data()[0]["id"]
            .as_str()
            .unwrap()
    );
    until_read(&api, &log, |log| {
        log[0]["attempts"]
            .as_array()
            .is_some_and(|attempts| attempts.len() == 1)
    })
    .await;
    app.change("delete from webhook_due", Vec::new()).await;
    receiver.answer(&[200]);
    app.clock.advance(Duration::from_millis(100));
    app.server.dependencies.due.notify_one();
    assert!(receiver.is_quiet().await);
    delivery::fill(&app.server.dependencies).await.unwrap();
    receiver.next().await;
}

/// Citus accepts every statement of the service. A statement of one organization runs on one shard.
#[tokio::test(flavor = "multi_thread")]
async fn every_statement_of_an_organization_runs_on_a_single_shard() {
    let Some(url) = tokio::task::spawn_blocking(citus::fresh_database)
        .await
        .unwrap()
    else {
        return;
    };
    let held = move || {
        let mut client = Client::connect(&url, NoTls).unwrap();
        let mut wrong = Vec::new();
        for statement in &vestibule::app::app().statements {
            let text = statement
                .text()
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ");
            if text.starts_with("with recursive waiting") {
                // The service runs this statement, which searches the deliveries of all
                // organizations, only on databases that are not distributed.
                continue;
            }
            let sql = match text.split_once(" indexed by ") {
                Some((head, tail)) => format!("{head} {}", tail.split_once(' ').unwrap().1),
                None => text.clone(),
            }
            .replace('?', "$");
            let types: Vec<String> = client
                .prepare(&sql)
                .unwrap()
                .params()
                .iter()
                .map(|of| of.name().to_owned())
                .collect();
            let values: Vec<&str> = types.iter().map(|of| literal_of(of)).collect();
            let call = if values.is_empty() {
                "execute held".to_owned()
            } else {
                format!("execute held ({})", values.join(", "))
            };
            client
                .batch_execute(&format!("prepare held as {sql}"))
                .unwrap();
            let plan = client.query(&format!("explain {call}"), &[]);
            client.batch_execute("deallocate held").unwrap();
            match plan {
                Err(error) => wrong.push(format!("{error:?}: {text}")),
                Ok(plan) => {
                    let plan: Vec<String> = plan.iter().map(|row| row.get(0)).collect();
                    let asked = plan
                        .iter()
                        .filter_map(|line| line.trim().strip_prefix("Task Count: "))
                        .any(|count| count != "1");
                    if asked && !is_across(&text) {
                        wrong.push(format!("asks several shards: {text}"));
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    };
    tokio::task::spawn_blocking(held).await.unwrap();
}

/// Returns an SQL literal of the type `of`.
fn literal_of(of: &str) -> &'static str {
    match of {
        "uuid" => "'0192f0c1-2345-7abc-8def-0123456789ab'",
        "_uuid" => "'{0192f0c1-2345-7abc-8def-0123456789ab}'",
        "_text" => "'{a}'",
        "_bytea" => "array['\\x01'::bytea]",
        "bytea" => "'\\x01'",
        "int8" | "int4" => "1",
        "bool" => "true",
        "timestamptz" => "'2026-11-21T09:30:00Z'",
        "jsonb" => "'{}'",
        _ => "'a'",
    }
}

/// A function that causes a fault on one of the servers. Its second argument is the index of that
/// server.
type CauseFault = fn(&Servers, usize);

/// The coordinator crashes three times while clients write. `VESTIBULE_CITUS_CRASHES` sets another
/// number of crashes.
#[tokio::test(flavor = "multi_thread")]
async fn coordinator_crashes_leave_no_partial_writes() {
    let crashes =
        std::env::var("VESTIBULE_CITUS_CRASHES").map_or(3, |count| count.parse().unwrap());
    assert_no_partial_writes(
        "crashes of the coordinator",
        Servers::crash,
        &vec![0; crashes],
        Duration::from_millis(1100),
    )
    .await;
}

/// One worker after another crashes while clients write. The rows of each organization are on one
/// worker.
#[tokio::test(flavor = "multi_thread")]
async fn worker_crashes_leave_no_partial_writes() {
    let crashes =
        std::env::var("VESTIBULE_CITUS_CRASHES").map_or(2, |count| count.parse().unwrap());
    let workers: Vec<usize> = (0..crashes).map(|crash| 1 + crash % 2).collect();
    assert_no_partial_writes(
        "crashes of workers",
        Servers::crash,
        &workers,
        Duration::from_millis(1100),
    )
    .await;
}

/// The connection to a worker is lost during a transaction or its commit. The coordinator then
/// reports an internal error, and the service asks the client to try again.
#[tokio::test(flavor = "multi_thread")]
async fn lost_worker_connections_leave_no_partial_writes() {
    let workers: Vec<usize> = (0..60).map(|cut| 1 + cut % 2).collect();
    assert_no_partial_writes(
        "cuts of the ways to workers",
        Servers::cut,
        &workers,
        Duration::from_millis(30),
    )
    .await;
}

/// Runs clients that write, and causes the fault `trouble` on the servers in `befallen`, one after
/// another. Checks that each write was applied completely or not at all.
async fn assert_no_partial_writes(
    which: &str,
    trouble: CauseFault,
    befallen: &[usize],
    apart: Duration,
) {
    const WRITERS: usize = 8;
    let Some(servers) = tokio::task::spawn_blocking(Servers::start).await.unwrap() else {
        return;
    };
    let servers = Arc::new(servers);
    let created = servers.clone();
    let url = tokio::task::spawn_blocking(move || {
        let url = created.database("crashing");
        store::distribute(&url, &vestibule::migrations(), &vestibule::SHARDING).unwrap();
        url
    })
    .await
    .unwrap();
    let node = Arc::new(Node::start(&url, &[]));
    let is_over = Arc::new(AtomicBool::new(false));
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let (token, http, base) = (node.key().await, reqwest::Client::new(), node.base.clone());
        let (is_over, reported) = (is_over.clone(), node.clone());
        writers.spawn(async move {
            let mut created = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                let (key, body) = (
                    format!("w{writer}-{}", created.len()),
                    json!({ "nickname": format!("w{writer}-{}", created.len()), "title": "Wi-Fi" }),
                );
                let began = Instant::now();
                let id = loop {
                    let request = http
                        .post(format!("{base}/api/v1/portal-manuals"))
                        .bearer_auth(&token);
                    let sent = request
                        .header("Idempotency-Key", &key)
                        .json(&body)
                        .timeout(Duration::from_secs(20))
                        .send()
                        .await;
                    if let Ok(answer) = sent {
                        let status = answer.status().as_u16();
                        let body: serde_json::Value = answer.json().await.unwrap_or_default();
                        if status == 201 {
                            break body["data"]["id"].as_str().unwrap().to_owned();
                        }
                        assert!(
                            [409, 503].contains(&status),
                            "{status} {body}: {}",
                            reported.lines("cause").concat()
                        );
                    }
                    assert!(began.elapsed() < WAIT_LIMIT, "no answer to {key}");
                    tokio::time::sleep(Duration::from_millis(20)).await;
                };
                created.push(id);
            }
            created
        });
    }
    for (moment, server) in (0_u32..5).cycle().zip(befallen.iter().copied()) {
        tokio::time::sleep(apart + apart * moment / 8).await;
        let servers = servers.clone();
        tokio::task::spawn_blocking(move || trouble(&servers, server))
            .await
            .unwrap();
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    is_over.store(true, Ordering::Relaxed);
    let created: Vec<String> = writers.join_all().await.concat();
    let counted = tokio::task::spawn_blocking(move || {
        let mut client = Client::connect(&url, NoTls).unwrap();
        let mut count = |sql: &str| client.query_one(sql, &[]).unwrap().get::<_, i64>(0);
        let unrecorded =
            "select count(*) from manual m where not exists (select 1 from idempotency_record r
            where r.organization_id = m.organization_id and r.body like '%' || m.id || '%')";
        let undone =
            "select count(*) from idempotency_record r where not exists (select 1 from manual m
            where r.organization_id = m.organization_id and r.body like '%' || m.id || '%')";
        (
            count("select count(*) from manual"),
            count(unrecorded),
            count(undone),
        )
    });
    let (manuals, unrecorded, undone) = counted.await.unwrap();
    eprintln!(
        "{} {which}: {} manuals acknowledged, {manuals} there",
        befallen.len(),
        created.len()
    );
    assert_eq!(
        (unrecorded, undone),
        (0, 0),
        "a manual and the record of its key are one"
    );
    assert_eq!(
        usize::try_from(manuals).unwrap(),
        created.len(),
        "each that was acknowledged, once, and no other"
    );
}
