//! Tests of the store on PostgreSQL. The store combines several lookups into one query, and several
//! writes into one commit.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;
use store::{
    BatchLookup, Error, Migrations, Options, Share, Statement, Store, Transaction, WORK_LIMIT,
};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use uuid::Uuid;

use test_support::middle_box::MiddleBox;
use test_support::node::Node;
use test_support::queueing::{self, ATTEMPTS, until_queued};
use test_support::waiting::WAIT_LIMIT;
use test_support::{Api, App, new_id, on_both, postgres};

static INSERT: Statement = Statement::new("insert into thing (name) values (?1)");
static INSERT_OTHER: Statement = Statement::new("insert into other (name) values (?1)");
static COUNT: Statement = Statement::new("select count(*) from thing");
static TRANSACTION: Statement = Statement::new("select pg_current_xact_id()::text::bigint");
static NAMED: Statement = Statement::new("select 1 from thing where name = ?1");
static MISFIT: Statement = Statement::new("insert into nothing (name) values (?1)");
static SLEEP: Statement = Statement::new("select pg_sleep(2.7)");
static END: Statement = Statement::new("select pg_terminate_backend(pg_backend_pid())");

async fn store() -> Option<Store> {
    store_of(Options::default()).await
}

async fn store_of(options: Options) -> Option<Store> {
    let url = tokio::task::spawn_blocking(postgres::fresh_database)
        .await
        .unwrap()?;
    let runner = || {
        Migrations::runner(&[(
            "V1__thing",
            "create table thing (name text not null unique); create table other (name text not \
                null unique)",
        )])
    };
    let migrations = Migrations {
        sqlite: runner(),
        postgres: runner(),
    };
    Some(
        tokio::task::spawn_blocking(move || Store::open_with(&url, &migrations, &options))
            .await
            .unwrap()
            .unwrap(),
    )
}

#[expect(clippy::unnecessary_wraps, reason = "it is what the store takes")]
fn share(number: u128) -> Share {
    Some(Uuid::from_u128(number))
}

fn insert(tx: &mut Transaction<'_>, name: &str) -> Result<(), Error> {
    tx.execute(&INSERT, &[name.into()]).map(drop)
}

/// Inserts a row with a deferred statement. Returns the id of the transaction.
fn insert_deferred(tx: &mut Transaction<'_>, name: &str) -> Result<i64, Error> {
    let transaction = tx.row(&TRANSACTION, &[])?.unwrap().get(0);
    tx.execute_deferred(&INSERT, vec![name.into()])?;
    transaction
}

async fn count(store: &Store) -> i64 {
    store
        .read(|tx| tx.row(&COUNT, &[])?.unwrap().get(0))
        .await
        .unwrap()
}

/// Starts a write of the organization with the number 1. The write lasts until the test drops the
/// returned sender, and later writes queue behind it ([`queueing::hold`]).
async fn hold(store: &Store) -> (Sender<()>, JoinHandle<Result<(), Error>>) {
    queueing::hold(store, share(1)).await
}

fn write<T: Send + 'static>(
    store: &Store,
    whose: u128,
    work: impl FnOnce(&mut Transaction<'_>) -> Result<T, Error> + Send + 'static,
) -> JoinHandle<Result<T, Error>> {
    let store = store.clone();
    tokio::spawn(async move { store.write_for(share(whose), WORK_LIMIT, work).await })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_write_is_rolled_back_alone_in_a_group_commit() {
    let Some(store) = store().await else { return };
    let (go, running_write) = hold(&store).await;
    let mut good = Vec::new();
    good.push(write(&store, 1, |tx| insert_deferred(tx, "a")));
    until_queued(&store, 1).await;
    let refused = write(&store, 1, |tx| {
        insert_deferred(tx, "refused")
            .and_then(|_| Err::<(), _>(Error::Configuration("it changed its mind".into())))
    });
    until_queued(&store, 2).await;
    let twice = write(&store, 1, |tx| insert(tx, "a"));
    until_queued(&store, 3).await;
    let twice_along = write(&store, 1, |tx| insert_deferred(tx, "a"));
    until_queued(&store, 4).await;
    let rehearsed = write(&store, 1, |tx| {
        tx.dry_run();
        insert(tx, "rehearsed")
    });
    until_queued(&store, 5).await;
    let misfit = write(&store, 1, |tx| {
        tx.execute_deferred(&INSERT, vec![store::Value::Integer(1)])
    });
    until_queued(&store, 6).await;
    let panicked = write(&store, 1, |tx| {
        insert(tx, "panicked").map(|()| panic!("it gave up"))
    });
    until_queued(&store, 7).await;
    good.push(write(&store, 1, |tx| insert_deferred(tx, "b")));
    until_queued(&store, 8).await;
    drop(go);
    running_write.await.unwrap().unwrap();
    assert!(matches!(
        refused.await.unwrap(),
        Err(Error::Configuration(_))
    ));
    for twice in [
        twice.await.unwrap(),
        twice_along.await.unwrap().map(drop),
        misfit.await.unwrap(),
    ] {
        assert!(matches!(twice, Err(Error::Defect(_))), "{twice:?}");
    }
    rehearsed.await.unwrap().unwrap();
    let panicked: Result<Result<(), Error>, _> = panicked.await;
    assert!(panicked.unwrap_err().is_panic());
    for good in good {
        good.await.unwrap().unwrap();
    }
    assert_eq!(count(&store).await, 2);
}

/// While many organizations write continuously, the store starts at most one Tokio task for each
/// writer and two for each connection.
#[tokio::test(flavor = "multi_thread")]
async fn the_number_of_tasks_waiting_for_a_connection_is_bounded() {
    const WRITERS: usize = 16;
    let Some(store) = store_of(Options {
        connections: Some(2),
        ..Options::default()
    })
    .await
    else {
        return;
    };
    let size = store.load().size;
    let alive = || {
        tokio::runtime::Handle::current()
            .metrics()
            .num_alive_tasks()
    };
    let before = alive();
    let most = Arc::new(AtomicUsize::new(0));
    let writers = (0..WRITERS).map(|writer| {
        let (store, most) = (store.clone(), most.clone());
        async move {
            for number in 0..100 {
                let whose = share(u128::try_from(writer).unwrap());
                store
                    .write_for(whose, WORK_LIMIT, move |tx| {
                        insert(tx, &format!("{writer} {number}"))
                    })
                    .await
                    .unwrap();
                most.fetch_max(alive(), Ordering::Relaxed);
            }
        }
    });
    join_all(writers).await;
    let most = most.load(Ordering::Relaxed) - before;
    assert!(
        most <= WRITERS + 2 * size,
        "{most} tasks with {size} connections"
    );
}

/// Each write inserts rows into two tables with deferred statements. The second write and the third
/// write each insert a row that exists already. Both writes fail, and no row of either remains.
#[tokio::test(flavor = "multi_thread")]
async fn rows_of_a_write_in_different_tables_are_atomic() {
    let Some(store) = store().await else { return };
    let (go, running_write) = hold(&store).await;
    let both = |thing: &'static str, other: &'static str| {
        write(&store, 1, move |tx| {
            tx.execute_deferred(&INSERT, vec![thing.into()])?;
            tx.execute_deferred(&INSERT_OTHER, vec![other.into()])?;
            tx.execute_deferred(&INSERT, vec![format!("{thing} again").into()])
        })
    };
    let mut writes = Vec::new();
    for (number, (thing, other)) in [("a", "a"), ("b", "a"), ("a", "b"), ("c", "c")]
        .into_iter()
        .enumerate()
    {
        writes.push(both(thing, other));
        until_queued(&store, number + 1).await;
    }
    drop(go);
    running_write.await.unwrap().unwrap();
    let mut is_done = Vec::new();
    for write in writes {
        is_done.push(write.await.unwrap().is_ok());
    }
    assert_eq!(is_done, [true, false, false, true]);
    assert_eq!(count(&store).await, 4, "two each of the first and the last");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_deferred_statement_rolls_back_only_its_write() {
    let Some(store) = store().await else { return };
    store
        .write_for(share(1), WORK_LIMIT, |tx| insert(tx, "taken"))
        .await
        .unwrap();
    // Three operations share a commit. In the first round the first operation fails, then the
    // middle one, then the last one. The last statement of the failing operation is deferred, so
    // the store learns of the failure only after the operation has ended.
    for failing in 0..3 {
        let (go, running_write) = hold(&store).await;
        let mut writes = Vec::new();
        for number in 0..3 {
            writes.push(write(&store, 1, move |tx| {
                let name = format!("{failing} {number}");
                insert(tx, &name)?;
                // In the round in which the middle operation fails, no operation reads before it
                // defers its statement. In the other rounds, each operation reads the number of
                // rows first.
                if failing != 1 {
                    tx.rows(&COUNT, &[])?;
                }
                let along = if number == failing {
                    "taken".into()
                } else {
                    format!("{name} along")
                };
                tx.execute_deferred(&INSERT, vec![along.into()])
            }));
            until_queued(&store, number + 1).await;
        }
        drop(go);
        running_write.await.unwrap().unwrap();
        for (number, write) in writes.into_iter().enumerate() {
            let wrote = write.await.unwrap();
            assert_eq!(
                wrote.is_err(),
                number == failing,
                "{failing} {number} {wrote:?}"
            );
            assert!(
                wrote.is_ok() || matches!(wrote, Err(Error::Defect(_))),
                "{wrote:?}"
            );
        }
        assert_eq!(
            count(&store).await,
            1 + 4 * (i64::try_from(failing).unwrap() + 1)
        );
    }
}

/// The connection is lost before a group commit is complete. All operations of the group fail. A
/// dry run and a refused operation fail too, because they may have read data of the group. The next
/// write succeeds.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_connection_fails_only_the_writes_of_its_group_commit() {
    let Some(store) = store().await else { return };
    for attempt in 0.. {
        assert!(attempt < ATTEMPTS, "they never share a commit");
        let (go, running_write) = hold(&store).await;
        let before = write(&store, 1, move |tx| {
            insert(tx, &format!("before {attempt}"))
        });
        until_queued(&store, 1).await;
        let rehearsed = write(&store, 1, |tx| {
            tx.dry_run();
            tx.row(&COUNT, &[]).map(drop)
        });
        until_queued(&store, 2).await;
        let refused = write(&store, 1, |tx| {
            tx.row(&COUNT, &[])
                .and_then(|_| Err::<(), _>(Error::Configuration("taken".into())))
        });
        until_queued(&store, 3).await;
        let ends = write(&store, 1, |tx| tx.rows(&END, &[]).map(drop));
        until_queued(&store, 4).await;
        let after = write(&store, 1, move |tx| insert(tx, &format!("after {attempt}")));
        until_queued(&store, 5).await;
        drop(go);
        running_write.await.unwrap().unwrap();
        let before = before.await.unwrap();
        let others = [
            rehearsed.await.unwrap(),
            refused.await.unwrap(),
            ends.await.unwrap(),
        ];
        after.await.unwrap().unwrap();
        if before.is_ok() {
            continue;
        }
        for lost in [before].into_iter().chain(others) {
            assert!(matches!(lost, Err(Error::Unavailable(_))), "{lost:?}");
        }
        assert_eq!(count(&store).await, 2 * i64::try_from(attempt).unwrap() + 1);
        break;
    }
}

/// PostgreSQL skips all deferred statements of a message if one of them cannot be prepared. The
/// store acknowledges no operation whose statements were skipped.
#[tokio::test(flavor = "multi_thread")]
async fn a_prepare_error_loses_no_acknowledged_statements() {
    let Some(store) = store().await else { return };
    for along in [false, true] {
        let (go, running_write) = hold(&store).await;
        let name = |number: usize| format!("{along} {number}");
        let mut writes = Vec::new();
        for number in 0..3 {
            let name = name(number);
            writes.push(write(&store, 1, move |tx| {
                insert(tx, &name)?;
                tx.execute_deferred(&INSERT, vec![format!("{name} along").into()])
            }));
            until_queued(&store, number + 1).await;
        }
        let misfit = write(&store, 1, move |tx| {
            if along {
                tx.execute_deferred(&MISFIT, vec!["a".into()])
            } else {
                tx.execute(&MISFIT, &["a".into()]).map(drop)
            }
        });
        until_queued(&store, 4).await;
        drop(go);
        running_write.await.unwrap().unwrap();
        misfit.await.unwrap().unwrap_err();
        for (number, write) in writes.into_iter().enumerate() {
            let is_done = write.await.unwrap().is_ok();
            for name in [name(number), format!("{} along", name(number))] {
                let row = store
                    .read(move |tx| tx.row(&NAMED, &[name.as_str().into()]))
                    .await
                    .unwrap();
                assert_eq!(row.is_some(), is_done, "{along} {number}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_share_does_not_wait_for_the_queue_of_another() {
    let Some(store) = store().await else { return };
    let (go, running_write) = hold(&store).await;
    let waiting: Vec<_> = (0..200)
        .map(|number| {
            write(&store, 1, move |tx| {
                insert(tx, &format!("waiting {number}"))
            })
        })
        .collect();
    until_queued(&store, 200).await;
    for number in 0..3 {
        write(&store, 2, move |tx| insert(tx, &format!("other {number}")))
            .await
            .unwrap()
            .unwrap();
    }
    assert_eq!(count(&store).await, 3);
    drop(go);
    running_write.await.unwrap().unwrap();
    for waiting in waiting {
        waiting.await.unwrap().unwrap();
    }
    assert_eq!(count(&store).await, 203);
}

/// If an operation exceeds its time limit, all operations of its commit fail with it. The store
/// acknowledges none of them, and none of their rows exists.
#[tokio::test(flavor = "multi_thread")]
async fn a_timed_out_write_rolls_back_its_whole_group_commit() {
    let Some(store) = store().await else { return };
    let mut done = 0;
    for attempt in 0.. {
        assert!(attempt < ATTEMPTS, "they never share a commit");
        let (go, running_write) = hold(&store).await;
        let limit = Duration::from_millis(700);
        let first = tokio::spawn({
            let store = store.clone();
            async move {
                store
                    .write_for(share(1), limit, move |tx| {
                        insert(tx, &format!("first {attempt}"))
                    })
                    .await
            }
        });
        until_queued(&store, 1).await;
        let second = write(&store, 1, move |tx| {
            std::thread::sleep(limit);
            insert(tx, &format!("second {attempt}"))
        });
        until_queued(&store, 2).await;
        drop(go);
        running_write.await.unwrap().unwrap();
        let (first, second) = (first.await.unwrap(), second.await.unwrap());
        if first.is_ok() || second.is_ok() {
            done += i64::from(first.is_ok()) + i64::from(second.is_ok());
            continue;
        }
        for late in [first, second] {
            assert!(matches!(late, Err(Error::Unavailable(_))), "{late:?}");
        }
        assert_eq!(count(&store).await, done);
        break;
    }
}

/// A queued operation that has timed out does not delay the operations behind it in the queue.
#[tokio::test(flavor = "multi_thread")]
async fn an_abandoned_write_does_not_delay_later_writes() {
    let Some(store) = store().await else { return };
    let (go, running_write) = hold(&store).await;
    let start = Instant::now();
    let gone = write(&store, 1, |tx| insert(tx, "gone"));
    until_queued(&store, 1).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let waiting: Vec<_> = (0..3)
        .map(|number| {
            write(&store, 1, move |tx| {
                insert(tx, &format!("waiting {number}"))
            })
        })
        .collect();
    until_queued(&store, 4).await;
    assert!(matches!(gone.await.unwrap(), Err(Error::Unavailable(_))));
    tokio::time::sleep_until(start + WORK_LIMIT + Duration::from_millis(100)).await;
    drop(go);
    running_write.await.unwrap().unwrap_err();
    for waiting in waiting {
        waiting.await.unwrap().unwrap();
    }
    assert_eq!(count(&store).await, 3);
}

/// A read that is aborted while it waits for a connection leaves the queue.
#[tokio::test(flavor = "multi_thread")]
async fn an_aborted_read_leaves_the_queue_for_a_connection() {
    let Some(store) = store_of(Options {
        connections: Some(2),
        ..Options::default()
    })
    .await
    else {
        return;
    };
    let (go, running_write) = hold(&store).await;
    let read = tokio::spawn({
        let store = store.clone();
        async move { store.read(|tx| tx.row(&COUNT, &[]).map(drop)).await }
    });
    until_queued(&store, 1).await;
    read.abort();
    assert!(read.await.unwrap_err().is_cancelled());
    assert_eq!(store.load().queued, 0);
    drop(go);
    running_write.await.unwrap().unwrap();
}

/// The time limit of a statement applies to each deferred statement alone, not to all of them
/// together.
#[tokio::test(flavor = "multi_thread")]
async fn each_deferred_statement_has_its_own_time_limit() {
    let Some(store) = store().await else { return };
    let took = store.write_for(share(1), 4 * WORK_LIMIT, |tx| {
        tx.execute_deferred(&SLEEP, Vec::new())?;
        tx.execute_deferred(&SLEEP, Vec::new())?;
        insert(tx, "a")
    });
    took.await.unwrap();
    assert_eq!(count(&store).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn group_commits_are_bounded_and_long_writes_commit_alone() {
    let Some(store) = store().await else { return };
    let (go, running_write) = hold(&store).await;
    let mut transactions = Vec::new();
    for number in 0..70 {
        transactions.push(write(&store, 1, move |tx| {
            insert_deferred(tx, &format!("{number}"))
        }));
        until_queued(&store, number + 1).await;
    }
    let long = tokio::spawn({
        let store = store.clone();
        async move {
            store
                .write_for(share(1), 2 * WORK_LIMIT, |tx| insert_deferred(tx, "long"))
                .await
        }
    });
    until_queued(&store, 71).await;
    drop(go);
    running_write.await.unwrap().unwrap();
    let mut results = HashMap::<i64, usize>::new();
    for transaction in transactions {
        *results
            .entry(transaction.await.unwrap().unwrap())
            .or_default() += 1;
    }
    assert!(results.values().all(|count| *count <= 64), "{results:?}");
    assert!(results.len() < 70, "some share a commit: {results:?}");
    assert!(!results.contains_key(&long.await.unwrap().unwrap()));
}

/// If a lookup is requested while a query runs, it joins the next query. It therefore sees every
/// commit that was complete before the request.
#[tokio::test(flavor = "multi_thread")]
async fn a_lookup_sees_every_commit_before_its_request() {
    let Some(store) = store().await else { return };
    let (asked, is_held) = (
        Arc::new(AtomicUsize::new(0)),
        Arc::new(AtomicBool::new(true)),
    );
    let ((looked, has_looked), (open, gate)) = (channel(), channel::<()>());
    let (calls, held, gate) = (asked.clone(), is_held.clone(), Mutex::new(gate));
    let gathered = Arc::new(BatchLookup::new(store.clone(), move |tx, keys: &[u8]| {
        calls.fetch_add(1, Ordering::SeqCst);
        let count: i64 = tx.row(&COUNT, &[])?.unwrap().get(0)?;
        if held.swap(false, Ordering::SeqCst) {
            looked.send(()).unwrap();
            let _ = gate.lock().unwrap().recv();
        }
        Ok::<_, Error>(
            keys.iter()
                .filter(|key| **key != 9)
                .map(|key| (*key, (count, keys.len())))
                .collect(),
        )
    }));
    let ask = |key: u8| {
        let gathered = gathered.clone();
        tokio::spawn(async move { gathered.look_up(key).await.unwrap() })
    };
    let first = ask(0);
    tokio::task::spawn_blocking(move || has_looked.recv_timeout(WAIT_LIMIT))
        .await
        .unwrap()
        .unwrap();
    store.write(|tx| insert(tx, "between")).await.unwrap();
    let others: Vec<_> = [1, 2, 1, 9].into_iter().map(ask).collect();
    tokio::time::sleep(Duration::from_millis(500)).await;
    drop(open);
    assert_eq!(first.await.unwrap(), Some((0, 1)));
    let mut received = Vec::new();
    for other in others {
        received.push(other.await.unwrap());
    }
    assert_eq!(
        received,
        [Some((1, 3)), Some((1, 3)), Some((1, 3)), None],
        "of one state, in one query"
    );
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

/// Counts the round trips between a node and PostgreSQL for one write. Authentication, the recorded
/// response, the lock of the organization, each read of the operation, and the commit need one
/// round trip each. A deferred statement needs no round trip, because it is sent with the next
/// statement.
#[tokio::test(flavor = "multi_thread")]
async fn a_write_takes_few_round_trips_to_the_server() {
    let Some(url) = tokio::task::spawn_blocking(postgres::fresh_database)
        .await
        .unwrap()
    else {
        return;
    };
    let proxy = MiddleBox::in_front_of(&url).await;
    let node = Node::start(&proxy.database_url, &["--database-connections", "2"]);
    let api = node.api(&node.key().await);
    let step = json!({ "stepType": "agreement", "contractTemplateText": "No smoking." });
    let things = [
        (
            "/portals",
            "name",
            json!({ "supportEmail": "hello@example.com" }),
        ),
        ("/portal-brandings", "name", json!({ "nickname": "Casa" })),
        ("/precheck-steps", "nickname", step),
        (
            "/portal-manuals",
            "nickname",
            json!({ "title": "Wi-Fi", "description": "Network **casa**" }),
        ),
        (
            "/portal-manuals",
            "nickname",
            json!({ "titleId": text(&api, "manual").await }),
        ),
    ];
    let mut fewest = Vec::new();
    for (path, name, mut body) in things {
        let (mut created, mut changed) = (Vec::new(), Vec::new());
        // The first requests also prepare statements, and some requests coincide with background
        // work. The test therefore takes the lowest number of round trips among eight requests.
        for number in 0..8 {
            body[name] = format!("Number {number}").into();
            let before = proxy.round_trips();
            let thing = api
                .post_with_key(path, &new_id().to_string(), body.clone())
                .await
                .data();
            created.push(proxy.round_trips() - before);
            let path = format!("{path}/{}", thing["id"].as_str().unwrap());
            let before = proxy.round_trips();
            api.patch(
                &path,
                json!({ "data": { name: format!("Changed {number}") } }),
            )
            .await
            .data();
            changed.push(proxy.round_trips() - before);
        }
        fewest.push((
            path,
            created.into_iter().min().unwrap(),
            changed.into_iter().min().unwrap(),
        ));
    }
    // A write that links a text also reads that text, to check its placeholders.
    let manuals = [("/portal-manuals", 4, 6), ("/portal-manuals", 7, 6)];
    let expected = [
        [
            ("/portals", 5, 7),
            ("/portal-brandings", 4, 6),
            ("/precheck-steps", 4, 6),
        ]
        .as_slice(),
        &manuals,
    ]
    .concat();
    assert_eq!(fewest, expected);
}

/// Creates a text for a source table. Returns its id.
async fn text(api: &Api, source: &str) -> String {
    let created = api
        .post(
            "/translations",
            json!({ "sourceTable": source, "text": "Wi-Fi" }),
        )
        .await
        .data();
    created["id"].as_str().unwrap().to_owned()
}

on_both!(reads_after_an_answered_write_return_its_result);
/// Many clients read a list while one client changes it. A read that begins after the response
/// to a change returns that change or a later one.
async fn reads_after_an_answered_write_return_its_result(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let id = api.post("/portals", json!({ "name": "0" })).await.data()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let (answered, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let change = async {
        for number in 1..=40 {
            api.patch(
                &format!("/portals/{id}"),
                json!({ "data": { "name": number.to_string() } }),
            )
            .await
            .data();
            answered.store(number, Ordering::SeqCst);
        }
        is_over.store(true, Ordering::SeqCst);
    };
    let read = async |_| {
        while !is_over.load(Ordering::SeqCst) {
            let least = answered.load(Ordering::SeqCst);
            let name: usize = api.get("/portals").await.data()[0]["name"]
                .as_str()
                .unwrap()
                .parse()
                .unwrap();
            assert!(name >= least, "{name} after {least} was answered");
        }
    };
    tokio::join!(change, join_all((0..16).map(read)));
}
