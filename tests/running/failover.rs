//! Tests of PostgreSQL failures: connections that die silently, and a primary that is replaced.
//! They check the responses, the committed writes and the recovery that
//! docs/explanation/reliability.md guarantees.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::json;
use store::{Error, Migrations, Statement, Store, Transaction};

use test_support::middle_box::{LostMessage, MiddleBox};
use test_support::node::Node;
use test_support::waiting::{WAIT_LIMIT, block_until};
use test_support::{Api, ApiResponse, postgres};

/// Time limit of a response: the guaranteed five seconds, and half a second for a busy machine.
const RESPONSE_LIMIT: Duration = Duration::from_millis(5_500);
/// Time within which a write must succeed again after the connection to the primary failed.
const RECOVERY_LIMIT: Duration = Duration::from_secs(10);

async fn fresh_postgres() -> Option<String> {
    tokio::task::spawn_blocking(postgres::fresh_database)
        .await
        .unwrap()
}

/// Starts a node that reaches its database through the proxy [`MiddleBox`] and has connections in
/// its pool. Returns the proxy, the node and an API client.
async fn behind_proxy() -> Option<(MiddleBox, Node, Api)> {
    let middle_box = MiddleBox::in_front_of(&fresh_postgres().await?).await;
    let node = Node::start(&middle_box.database_url, &[]);
    let api = node.api(&node.key().await);
    for answer in creations(&api, "warm", 16).await {
        answer.data();
    }
    Some((middle_box, node, api))
}

async fn create(api: &Api, name: &str) -> ApiResponse {
    api.post_with_key(
        "/portal-manuals",
        name,
        json!({ "nickname": name, "title": "Wi-Fi" }),
    )
    .await
}

async fn creations(api: &Api, name: &str, count: usize) -> Vec<ApiResponse> {
    join_all((0..count).map(async |number| create(api, &format!("{name} {number}")).await)).await
}

/// Repeats the creation of a manual with one idempotency key while the response is 503 or 409.
/// Panics if that takes longer than `within`.
async fn create_at_last(api: &Api, name: &str, within: Duration) -> ApiResponse {
    let start = Instant::now();
    loop {
        let response = create(api, name).await;
        if !matches!(response.status, 503 | 409) {
            return response;
        }
        assert!(
            start.elapsed() < within,
            "{name}: {} {}",
            response.status,
            response.body
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn named(api: &Api, name: &str) -> usize {
    let rows = api.get("/portal-manuals").await.data();
    rows.as_array()
        .unwrap()
        .iter()
        .filter(|row| row["nickname"] == name)
        .count()
}

async fn given_up(node: &Node) -> u64 {
    let metrics = node.text("/metrics").await;
    let name = "\nvestibule_database_connections_given_up_total ";
    metrics
        .split_once(name)
        .unwrap_or_else(|| panic!("{metrics}"))
        .1
        .lines()
        .next()
        .unwrap()
        .parse()
        .unwrap()
}

/// The proxy silently drops all bytes on the open, idle connections. A short query detects that a
/// connection is dead, and enough time remains to open a new connection for the request.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn dead_idle_connections_are_replaced_without_a_failed_request() {
    let Some((middle_box, node, api)) = behind_proxy().await else {
        return;
    };
    middle_box.drop_open_connections();
    create(&api, "after").await.data();
    assert_eq!(named(&api, "after").await, 1);
    assert!(given_up(&node).await > 0);
}

/// Connections die while statements run. Every request gets a response within the guaranteed five
/// seconds, and after a few seconds all requests succeed again.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn connections_that_die_under_load_are_replaced() {
    let Some((middle_box, _node, api)) = behind_proxy().await else {
        return;
    };
    let start = async |number: usize| {
        let (began, mut answers) = (Instant::now(), Vec::new());
        while began.elapsed() < Duration::from_secs(2) {
            let (name, sent) = (format!("load {number} {}", answers.len()), Instant::now());
            let response = create(&api, &name).await;
            assert!(sent.elapsed() < RESPONSE_LIMIT, "{:?}", sent.elapsed());
            answers.push((name, response.status));
        }
        answers
    };
    let forgotten = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        middle_box.drop_open_connections();
    };
    let (answers, ()) = tokio::join!(join_all((0..40).map(start)), forgotten);
    let answers = answers.concat();
    assert!(
        answers
            .iter()
            .all(|(_, status)| matches!(status, 201 | 503)),
        "{answers:?}"
    );
    for response in creations(&api, "after", 40).await {
        response.data();
    }
    for (name, status) in answers {
        let again = create_at_last(&api, &name, RECOVERY_LIMIT).await;
        assert_eq!(
            (
                again.status,
                status == 503 || again.header("idempotency-replayed").is_some()
            ),
            (201, true),
            "{name}"
        );
    }
}

/// The network drops everything, including new connections. Clients get a 503 within the time limit
/// of a response, and no thread waits forever. The service recovers on new connections, although
/// the old connections stay dead.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_silent_network_gives_503_until_it_recovers() {
    let Some((middle_box, node, api)) = behind_proxy().await else {
        return;
    };
    let places = 8 * std::thread::available_parallelism().unwrap().get();
    let before = node.threads();
    middle_box.close();
    let closed = Instant::now();
    let mut round = 0;
    while closed.elapsed() < Duration::from_secs(6) {
        let start = join_all((0..200).map(async |number| {
            let (name, sent) = (format!("round {round} {number}"), Instant::now());
            (create(&api, &name).await.status, sent.elapsed())
        }));
        for (status, took) in start.await {
            assert!(
                status == 503 && took < RESPONSE_LIMIT,
                "{status} after {took:?}"
            );
        }
        assert_eq!(node.text("/healthz").await.trim(), "ok");
        round += 1;
    }
    // A thread that has dropped its connection needs a moment before it takes the next task. The
    // test therefore allows a few more threads than before the failure.
    if let (Some(before), Some(now)) = (before, node.threads()) {
        assert!(
            now <= before + 4 * places,
            "{before} threads, and then {now}"
        );
    }
    middle_box.open();
    assert_eq!(
        create_at_last(&api, "after", RECOVERY_LIMIT).await.status,
        201
    );
    for answer in creations(&api, "well after", 20).await {
        answer.data();
    }
    for name in ["round 0 0", "round 0 199"] {
        assert_eq!(
            named(&api, name).await,
            0,
            "its caller was told before it began, so it never does"
        );
        let again = create(&api, name).await;
        assert_eq!(
            (again.status, again.header("idempotency-replayed")),
            (201, None),
            "{}",
            again.body
        );
    }
}

/// The network drops either a commit or the database's response to the commit. The first request
/// ends with an unknown outcome. A repeated request with the same idempotency key returns the
/// outcome.
async fn around_a_commit(lost_message: LostMessage) {
    let Some((middle_box, _node, api)) = behind_proxy().await else {
        return;
    };
    middle_box.drop_commit("the marked one", lost_message);
    let sent = Instant::now();
    let response = create(&api, "the marked one").await;
    response.error(503);
    assert!(sent.elapsed() < RESPONSE_LIMIT, "{:?}", sent.elapsed());
    let again = create_at_last(&api, "the marked one", RECOVERY_LIMIT).await;
    assert_eq!(again.status, 201, "{}", again.body);
    let is_replay = again.header("idempotency-replayed").is_some();
    assert_eq!(
        is_replay,
        lost_message == LostMessage::Response,
        "it was committed, if the commit was heard"
    );
    assert_eq!(
        named(&api, "the marked one").await,
        1,
        "it was applied once"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_outcome_of_a_lost_commit_is_found_by_its_key() {
    around_a_commit(LostMessage::Commit).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_outcome_of_a_lost_commit_answer_is_found_by_its_key() {
    around_a_commit(LostMessage::Response).await;
}

/// The service drops every connection to a server that has become read-only. It does not read from
/// that server either, because the server may lag behind its successor.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_demoted_server_is_not_used_until_writes_are_possible() {
    let Some(url) = tokio::task::spawn_blocking(postgres::fresh_cluster)
        .await
        .unwrap()
    else {
        return;
    };
    let node = Node::start(&url, &[]);
    let api = node.api(&node.key().await);
    for answer in creations(&api, "before", 16).await {
        answer.data();
    }
    let demote = |is_demoted: &'static str| {
        let url = url.clone();
        tokio::task::spawn_blocking(move || {
            let mut client = ::postgres::Client::connect(&url, ::postgres::NoTls).unwrap();
            client
                .execute("set default_transaction_read_only = off", &[])
                .unwrap();
            client
                .execute(
                    &format!("alter system set default_transaction_read_only = {is_demoted}"),
                    &[],
                )
                .unwrap();
            client.execute("select pg_reload_conf()", &[]).unwrap();
            // `pg_reload_conf` returns before the server has reloaded its settings.
            let setting = "show default_transaction_read_only";
            let seen = || {
                ::postgres::Client::connect(&url, ::postgres::NoTls)
                    .unwrap()
                    .query_one(setting, &[])
                    .unwrap()
                    .get::<_, String>(0)
            };
            block_until("the server has reloaded its settings", || {
                seen() == is_demoted
            });
        })
    };
    demote("on").await.unwrap();
    let asked = (
        create(&api, "meanwhile"),
        api.get("/portal-manuals?search=before"),
        create(&api, "meanwhile 2"),
    );
    let (one, read, other) = tokio::join!(asked.0, asked.1, asked.2);
    for answer in [one, read, other] {
        answer.error(503);
    }
    assert!(given_up(&node).await > 0);
    demote("off").await.unwrap();
    assert_eq!(
        create_at_last(&api, "meanwhile", RECOVERY_LIMIT)
            .await
            .status,
        201
    );
    assert_eq!(named(&api, "meanwhile").await, 1);
    for answer in creations(&api, "after", 16).await {
        answer.data();
    }
}

/// The database URL has two hosts. The first host accepts connections and stays silent. The service
/// connects to the second host in time and refuses no write.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_silent_host_is_skipped_for_the_next_host() {
    let Some(url) = fresh_postgres().await else {
        return;
    };
    let middle_box = MiddleBox::in_front_of(&url).await;
    let (first_host, database) = middle_box.database_url.rsplit_once('/').unwrap();
    let other = url.split_once('@').unwrap().1;
    assert!(other.ends_with(database));
    let node = Node::start(
        &format!("{first_host},{other}?target_session_attrs=read-write"),
        &[],
    );
    let api = node.api(&node.key().await);
    create(&api, "by the first").await.data();
    middle_box.close();
    for round in 0..3 {
        let sent = Instant::now();
        for answer in creations(&api, &format!("by the second {round}"), 16).await {
            answer.data();
        }
        assert!(sent.elapsed() < RESPONSE_LIMIT, "{:?}", sent.elapsed());
    }
    // The first host in the URL no longer responds. A node that starts now must therefore connect
    // to the second host.
    let node = Node::start(&format!("{first_host},{other}"), &[]);
    assert_eq!(node.text("/readyz").await.trim(), "ready");
}

// Tests of the store alone, without a server.

static PROCESS: Statement = Statement::new("select pg_backend_pid()::bigint");
static INSERT: Statement = Statement::new("insert into thing (name) values (?1)");
static COUNT: Statement = Statement::new("select count(*) from thing");
static NO_WRITES: Statement = Statement::new("set transaction read only");
static END: Statement = Statement::new("select pg_terminate_backend(pg_backend_pid())");

async fn store() -> Option<Store> {
    let url = fresh_postgres().await?;
    let runner = || {
        Migrations::runner(&[(
            "V1__thing",
            "create table thing (name text not null unique)",
        )])
    };
    let migrations = Migrations {
        sqlite: runner(),
        postgres: runner(),
    };
    Some(
        tokio::task::spawn_blocking(move || Store::open(&url, &migrations))
            .await
            .unwrap()
            .unwrap(),
    )
}

fn insert(tx: &mut Transaction<'_>, name: &str) -> Result<u64, Error> {
    tx.execute(&INSERT, &[name.into()])
}

fn process(tx: &mut Transaction<'_>) -> Result<i64, Error> {
    tx.row(&PROCESS, &[])?.unwrap().get(0)
}

async fn count(store: &Store) -> i64 {
    store
        .read(|tx| tx.row(&COUNT, &[])?.unwrap().get(0))
        .await
        .unwrap()
}

/// Returns the id of the PostgreSQL server process behind the store's only connection.
async fn serving(store: &Store) -> i64 {
    store.read(process).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_is_reused_only_outside_of_a_transaction() {
    let Some(store) = store().await else { return };
    let first = serving(&store).await;
    // A rolled-back transaction has ended, so the store reuses the connection.
    let failed = store
        .write(|tx| {
            insert(tx, "a")
                .and_then(|_| Err::<(), _>(Error::Configuration("it changed its mind".into())))
        })
        .await;
    assert!(matches!(failed, Err(Error::Configuration(_))), "{failed:?}");
    assert_eq!((serving(&store).await, count(&store).await), (first, 0));
    // After a panic the state of the connection is unknown, so the store drops it.
    let panicking = store.clone();
    let panics = |tx: &mut Transaction<'_>| -> Result<(), Error> {
        insert(tx, "b").map(|_| panic!("it gave up"))
    };
    let panicked = tokio::spawn(async move { panicking.write(panics).await }).await;
    assert!(panicked.unwrap_err().is_panic());
    let second = serving(&store).await;
    assert_ne!(second, first);
    assert_eq!(count(&store).await, 0);
    // `END` makes the database server close the connection, so the store drops the connection.
    let ended = store
        .write(|tx| insert(tx, "c").and_then(|_| tx.execute(&END, &[])))
        .await;
    assert!(matches!(ended, Err(Error::Unavailable(_))), "{ended:?}");
    assert_ne!(serving(&store).await, second);
    assert_eq!(count(&store).await, 0);
    assert_eq!(store.dropped_connections(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_to_a_read_only_server_is_dropped() {
    let Some(store) = store().await else { return };
    let first = serving(&store).await;
    let refused = store
        .write(|tx| tx.execute(&NO_WRITES, &[]).and_then(|_| insert(tx, "a")))
        .await;
    assert!(matches!(refused, Err(Error::Unavailable(_))), "{refused:?}");
    assert_ne!(serving(&store).await, first);
}

/// PostgreSQL accepts a commit after a failed statement and rolls everything back. The store must
/// not report such a commit as successful.
#[tokio::test(flavor = "multi_thread")]
async fn work_after_a_failed_statement_is_not_acknowledged() {
    let Some(store) = store().await else { return };
    let kept = store
        .write(|tx| insert(tx, "a").map(|_| insert(tx, "a").is_err()))
        .await;
    assert!(matches!(kept, Err(Error::Defect(_))), "{kept:?}");
    assert_eq!(count(&store).await, 0);
    let refused = store
        .write(|tx| insert(tx, "b").and_then(|_| insert(tx, "b")))
        .await;
    assert!(matches!(refused, Err(Error::Defect(_))), "{refused:?}");
    // A write whose connection is lost fails, even if the function that was passed to `write`
    // ignores the statement's error. A read may succeed after a failed statement, because it
    // changes nothing.
    let lost = store
        .write(|tx| Ok::<_, Error>(tx.execute(&END, &[]).is_err()))
        .await;
    assert!(matches!(lost, Err(Error::Unavailable(_))), "{lost:?}");
    assert!(
        store
            .read(|tx| Ok::<_, Error>(insert(tx, "c").is_err()))
            .await
            .unwrap()
    );
}

/// Work that exceeds its time limit is rolled back. The store sends none of its later statements.
#[tokio::test(flavor = "multi_thread")]
async fn work_that_exceeds_its_time_limit_is_rolled_back() {
    let Some(store) = store().await else { return };
    let first = serving(&store).await;
    let limit = Duration::from_millis(700);
    let (reported, received) = std::sync::mpsc::channel();
    // The write has a limit of 700 ms and sleeps for that long. Its second statement comes too
    // late.
    let late = store.write_within(limit, move |tx| {
        insert(tx, "a")?;
        std::thread::sleep(limit);
        reported.send(insert(tx, "b").is_err()).unwrap();
        Ok::<_, Error>(())
    });
    let late = late.await;
    assert!(matches!(late, Err(Error::Unavailable(_))), "{late:?}");
    assert!(
        received.recv_timeout(WAIT_LIMIT).unwrap(),
        "no further statement"
    );
    let late = store
        .write_within(limit, move |tx| {
            insert(tx, "c").map(|_| std::thread::sleep(limit))
        })
        .await;
    assert!(matches!(late, Err(Error::Unavailable(_))), "{late:?}");
    assert_eq!(
        (serving(&store).await, count(&store).await),
        (first, 0),
        "and the connection is as good as before"
    );
}

/// A value of the wrong type is a defect of the program, not of the connection. The store uses the
/// connection again.
#[tokio::test(flavor = "multi_thread")]
async fn a_value_of_the_wrong_type_is_a_defect() {
    let Some(store) = store().await else { return };
    let first = serving(&store).await;
    let of_type = store
        .write(|tx| tx.execute(&INSERT, &[store::Value::Integer(1)]))
        .await;
    assert!(matches!(of_type, Err(Error::Defect(_))), "{of_type:?}");
    let of_text = store.write(|tx| insert(tx, "a\0b")).await;
    assert!(matches!(of_text, Err(Error::Defect(_))), "{of_text:?}");
    let too_few = store.write(|tx| tx.execute(&INSERT, &[])).await;
    assert!(matches!(too_few, Err(Error::Defect(_))), "{too_few:?}");
    let column = store
        .read(|tx| tx.row(&PROCESS, &[])?.unwrap().get::<String>(0))
        .await;
    assert!(matches!(column, Err(Error::Defect(_))), "{column:?}");
    assert_eq!(serving(&store).await, first);
}
