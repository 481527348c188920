//! Tests of the SQLite backend: the guarantees for each operation of a group commit.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use self::support::Opened;
use store::{Error, Migrations, Store, Transaction, Value};

store::statements! {
    /// Inserts a row.
    INSERT = "insert into thing (id, name) values (?1, ?2)";
    /// Reads every row.
    ALL = "select id, name from thing order by id";
    /// Reads the rows whose ids are in a list.
    SOME = "select name from thing where id = any(?1) order by id";
    /// Inserts a row without a name. This statement fails, because a name must not be null.
    BROKEN = "insert into thing (id, name) values (?1, null)";
    /// Claims rows. Skips rows that another transaction has locked, so that several nodes can claim
    /// at once.
    CLAIM = "with free as (select id from thing where id = any(?1) and name <> ?2 order by id
        for update skip locked)
        update thing set name = ?2 where id in (select id from free) returning id";
    /// Reads a row and, on PostgreSQL, locks it.
    HOLD = "select name from thing where id = ?1 for key share";
}

/// The only table of the tests.
const TABLE: &str = "create table thing (id blob primary key, name text not null) strict";

fn migrations() -> Migrations {
    support::migrations(TABLE)
}

fn open() -> Opened {
    support::open(TABLE)
}

fn id(number: u128) -> uuid::Uuid {
    uuid::Uuid::from_u128(number)
}

fn insert(tx: &mut Transaction<'_>, number: u128) -> Result<u64, Error> {
    tx.execute(
        &INSERT,
        &[
            Value::Uuid(id(number)),
            Value::from(format!("thing {number}")),
        ],
    )
}

async fn count(store: &Store) -> usize {
    store
        .read(|tx| Ok::<_, Error>(tx.rows(&ALL, &[])?.len()))
        .await
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_write_does_not_affect_others_in_its_batch() {
    let opened = open();
    let writes = (0..200_u128).map(|number| {
        let store = opened.store.clone();
        tokio::spawn(async move {
            store
                .write(move |tx| {
                    insert(tx, number)?;
                    match number % 4 {
                        0 => Ok(number),
                        1 => Err(Error::Configuration("it changed its mind".into())),
                        2 => tx
                            .execute(&BROKEN, &[Value::Uuid(id(1_000 + number))])
                            .map(|_| number),
                        _ => panic!("it gave up"),
                    }
                })
                .await
        })
    });
    let writes: Vec<_> = writes.collect();
    for (number, write) in writes.into_iter().enumerate() {
        match (number % 4, write.await) {
            (0, Ok(Ok(answer))) => assert_eq!(answer, number as u128),
            (1, Ok(Err(Error::Configuration(_)))) | (2, Ok(Err(Error::Defect(_)))) => {}
            (3, Err(panicked)) => assert!(panicked.is_panic()),
            (_, outcome) => panic!("{number}: {outcome:?}"),
        }
    }
    assert_eq!(count(&opened.store).await, 50);
}

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_writes_are_in_the_file_for_other_readers() {
    let opened = open();
    opened.store.write(|tx| insert(tx, 1)).await.unwrap();
    let other = Store::open(&opened.url, &migrations()).unwrap();
    assert_eq!(count(&other).await, 1);
    opened.store.checkpoint().unwrap();
    let copy = opened.directory.path().join("copy.db");
    std::fs::copy(opened.directory.path().join("store.db"), &copy).unwrap();
    let copied = Store::open(&format!("sqlite:{}", copy.display()), &migrations()).unwrap();
    assert_eq!(count(&copied).await, 1, "the file alone is the database");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_cannot_write_and_sees_a_snapshot() {
    let opened = open();
    let refused = opened.store.read(|tx| insert(tx, 1)).await;
    assert!(refused.is_err(), "{refused:?}");
    opened.store.write(|tx| insert(tx, 1)).await.unwrap();
    let store = opened.store.clone();
    let (begun, proceed) = (
        std::sync::mpsc::channel::<()>(),
        std::sync::mpsc::channel::<()>(),
    );
    let reading = tokio::spawn({
        let (begun, proceed) = (begun.0, proceed.1);
        async move {
            store
                .read(move |tx| {
                    let before = tx.rows(&ALL, &[])?.len();
                    begun.send(()).unwrap();
                    proceed.recv().unwrap();
                    Ok::<_, Error>((before, tx.rows(&ALL, &[])?.len()))
                })
                .await
        }
    });
    tokio::task::spawn_blocking(move || begun.1.recv_timeout(Duration::from_secs(10)))
        .await
        .unwrap()
        .unwrap();
    // A write does not wait for the read that is in progress.
    tokio::time::timeout(
        Duration::from_secs(10),
        opened.store.write(|tx| insert(tx, 2)),
    )
    .await
    .expect("the write ends")
    .unwrap();
    proceed.0.send(()).unwrap();
    assert_eq!(reading.await.unwrap().unwrap(), (1, 1));
    assert_eq!(count(&opened.store).await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_can_be_a_parameter() {
    let opened = open();
    for number in 1..=3 {
        opened
            .store
            .write(move |tx| insert(tx, number))
            .await
            .unwrap();
    }
    let names = |ids: Vec<uuid::Uuid>| {
        let store = opened.store.clone();
        async move {
            let rows = store
                .read(move |tx| tx.rows(&SOME, &[Value::Uuids(ids)]))
                .await;
            rows.unwrap()
                .iter()
                .map(|row| row.get::<String>(0).unwrap())
                .collect::<Vec<_>>()
        }
    };
    assert_eq!(
        names(vec![id(3), id(1), id(9)]).await,
        ["thing 1", "thing 3"]
    );
    assert_eq!(names(Vec::new()).await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_with_row_locks_work_on_sqlite() {
    let opened = open();
    for number in 1..=3 {
        opened
            .store
            .write(move |tx| insert(tx, number))
            .await
            .unwrap();
    }
    let claim = || async {
        let claimed = opened
            .store
            .write(|tx| {
                tx.rows(
                    &CLAIM,
                    &[
                        Value::Uuids(vec![id(1), id(3), id(9)]),
                        Value::from("claimed"),
                    ],
                )
            })
            .await;
        let mut claimed: Vec<uuid::Uuid> = claimed
            .unwrap()
            .iter()
            .map(|row| row.get(0).unwrap())
            .collect();
        claimed.sort();
        claimed
    };
    assert_eq!(claim().await, [id(1), id(3)]);
    assert!(claim().await.is_empty(), "nothing is claimed twice");
    let row = opened
        .store
        .read(|tx| tx.row(&HOLD, &[Value::Uuid(id(3))]))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(row.get::<String>(0).unwrap(), "claimed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_locked_database_is_unavailable_until_it_is_released() {
    let opened = open();
    let path = opened.url.strip_prefix("sqlite:").unwrap();
    let other = rusqlite::Connection::open(path).unwrap();
    other.execute_batch("begin immediate").unwrap();
    let started = Instant::now();
    let refused = opened.store.write(|tx| insert(tx, 1)).await;
    assert!(matches!(refused, Err(Error::Unavailable(_))), "{refused:?}");
    // A write waits at most 4.8 s (`WORK_LIMIT`). The test allows 0.7 s more for a busy machine.
    assert!(
        started.elapsed() < Duration::from_millis(5_500),
        "{:?}",
        started.elapsed()
    );
    assert_eq!(count(&opened.store).await, 0, "reading goes on");
    other.execute_batch("rollback").unwrap();
    opened.store.write(|tx| insert(tx, 2)).await.unwrap();
    assert_eq!(
        count(&opened.store).await,
        1,
        "what was refused was not done later"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_fails_the_whole_batch_and_later_writes_succeed() {
    let opened = open();
    opened.store.write(|tx| insert(tx, 1)).await.unwrap();
    // A limit on the number of pages in the file has the same effect as a full disk.
    opened
        .store
        .write(|tx| tx.execute(&FEW_PAGES, &[]))
        .await
        .ok();
    let large = |number: u128| {
        let store = opened.store.clone();
        async move {
            store
                .write(move |tx| {
                    tx.execute(
                        &INSERT,
                        &[Value::Uuid(id(number)), Value::from("x".repeat(1 << 20))],
                    )
                })
                .await
        }
    };
    let refused = large(2).await;
    assert!(matches!(refused, Err(Error::Unavailable(_))), "{refused:?}");
    assert_eq!(count(&opened.store).await, 1);
    opened
        .store
        .write(|tx| tx.execute(&MANY_PAGES, &[]))
        .await
        .ok();
    large(3).await.unwrap();
    assert_eq!(count(&opened.store).await, 2);
}

static FEW_PAGES: store::Statement = store::Statement::new("pragma max_page_count = 20");
static MANY_PAGES: store::Statement = store::Statement::new("pragma max_page_count = 100000");

#[test]
fn a_database_that_cannot_be_opened_is_a_configuration_error() {
    for url in [
        "mysql://x",
        "sqlite:/no/such/directory/x.db",
        "postgres://127.0.0.1:1/x",
        "postgres://127.0.0.1:1/x?sslmode=sometimes",
    ] {
        let refused = Store::open(url, &migrations()).map(drop);
        assert!(
            matches!(refused, Err(Error::Configuration(_))),
            "{url}: {refused:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_commit_of_any_connection_changes_the_version() {
    let opened = open();
    let other = Store::open(&opened.url, &migrations()).unwrap();
    let write = |store: Store, number| async move {
        store.write(move |tx| insert(tx, number)).await.unwrap()
    };
    write(opened.store.clone(), 1).await;
    let before = opened.store.version().unwrap();
    assert_eq!(count(&opened.store).await, 1);
    assert_eq!(
        opened.store.version(),
        Some(before),
        "reading changes nothing"
    );
    write(opened.store.clone(), 2).await;
    let after = opened.store.version().unwrap();
    assert_ne!(after, before);
    write(other, 3).await;
    assert_ne!(
        opened.store.version().unwrap(),
        after,
        "another writer of the same file"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_during_writes_is_consistent() {
    let opened = open();
    let (store, written) = (opened.store.clone(), Arc::new(AtomicUsize::new(0)));
    let writing = tokio::spawn({
        let written = written.clone();
        async move {
            for number in (0..u128::MAX).step_by(2) {
                store
                    .write(move |tx| insert(tx, number).and_then(|_| insert(tx, number + 1)))
                    .await
                    .unwrap();
                written.fetch_add(2, Ordering::SeqCst);
            }
        }
    });
    for round in 0..5 {
        let file = opened.directory.path().join(format!("copy {round}.db"));
        std::fs::File::create(&file).unwrap();
        let acknowledged = written.load(Ordering::SeqCst);
        let (url, into) = (opened.url.clone(), file.clone());
        tokio::task::spawn_blocking(move || store::back_up(&url, &into))
            .await
            .unwrap()
            .unwrap();
        let beside = std::fs::read_dir(opened.directory.path())
            .unwrap()
            .filter(|entry| {
                let name = entry.as_ref().unwrap().file_name();
                name.to_string_lossy()
                    .starts_with(&format!("copy {round}.db"))
            });
        assert_eq!(beside.count(), 1, "the file alone is the copy");
        let copied =
            count(&Store::open(&format!("sqlite:{}", file.display()), &migrations()).unwrap())
                .await;
        assert!(
            copied >= acknowledged && copied.is_multiple_of(2),
            "{copied} of {acknowledged} that were acknowledged"
        );
    }
    writing.abort();
}

#[test]
fn a_failed_backup_is_a_configuration_error() {
    let opened = open();
    let into = opened.directory.path().join("copy.db");
    let directory = opened.directory.path();
    std::fs::write(
        directory.join("text.db"),
        "no database, and long enough to be seen as none".repeat(100),
    )
    .unwrap();
    for url in [
        format!("sqlite:{}", directory.join("none.db").display()),
        format!("sqlite:{}", directory.join("text.db").display()),
        "postgres://127.0.0.1:1/x".to_owned(),
        "mysql://x".to_owned(),
    ] {
        let refused = store::back_up(&url, &into);
        assert!(
            matches!(refused, Err(Error::Configuration(_))),
            "{url}: {refused:?}"
        );
    }
    assert!(!directory.join("none.db").exists());
}
