//! Tests of the SQLite backend: organizations take turns in writing, so a busy organization does
//! not delay the others. The store does not write into a database file that was deleted.

mod support;

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use self::support::Opened;
use store::{Error, Share, Store, Transaction, Value, WORK_LIMIT};
use tokio::task::JoinHandle;
use uuid::Uuid;

store::statements! {
    /// Inserts a row.
    INSERT = "insert into thing (id) values (?1)";
    /// Reads the id of every row.
    ALL = "select id from thing";
}

/// The only table of the tests.
const TABLE: &str = "create table thing (id blob primary key) strict";
/// Time limit of a wait for an event that takes milliseconds on an idle machine.
const WAIT_LIMIT: Duration = Duration::from_secs(10);

fn open() -> Opened {
    support::open(TABLE)
}

#[expect(clippy::unnecessary_wraps, reason = "it is what the store takes")]
fn share(number: u128) -> Share {
    Some(Uuid::from_u128(number))
}

fn insert(tx: &mut Transaction<'_>, number: u128) -> Result<(), Error> {
    tx.execute(&INSERT, &[Value::Uuid(Uuid::from_u128(number))])
        .map(drop)
}

fn refuse() -> Result<(), Error> {
    Err(Error::Configuration("refused".into()))
}

/// Starts a write that is alone in its batch. The write ends after the returned sender is dropped.
/// Writes that start before that wait in the queue.
async fn hold(store: &Store) -> (Sender<()>, JoinHandle<Result<(), Error>>) {
    let ((begun, has_begun), (open, gate)) = (channel(), channel::<()>());
    let store = store.clone();
    let holding = tokio::spawn(async move {
        store
            .write(move |_| {
                begun.send(()).unwrap();
                let _ = gate.recv();
                // This sleep is longer than the time for which a transaction takes further writes
                // into its batch, so the next write goes into another batch.
                std::thread::sleep(Duration::from_millis(6));
                Ok(())
            })
            .await
    });
    tokio::task::spawn_blocking(move || has_begun.recv_timeout(WAIT_LIMIT))
        .await
        .unwrap()
        .unwrap();
    (open, holding)
}

fn write(
    store: &Store,
    share: Share,
    work: impl FnOnce(&mut Transaction<'_>) -> Result<(), Error> + Send + 'static,
) -> JoinHandle<Result<(), Error>> {
    let store = store.clone();
    tokio::spawn(async move { store.write_for(share, WORK_LIMIT, work).await })
}

/// Waits until this many operations are queued. Fails the test after [`WAIT_LIMIT`].
async fn queued(store: &Store, count: usize) {
    let deadline = Instant::now() + WAIT_LIMIT;
    loop {
        let queued = store.load().queued;
        if queued >= count {
            return;
        }
        assert!(
            Instant::now() < deadline,
            "{queued} operations are queued after {WAIT_LIMIT:?}, expected {count}"
        );
        tokio::task::yield_now().await;
    }
}

/// Returns the result of a write. Fails the test if the write does not end within [`WAIT_LIMIT`].
async fn ended(write: JoinHandle<Result<(), Error>>) -> Result<(), Error> {
    tokio::time::timeout(WAIT_LIMIT, write)
        .await
        .expect("the write ends")
        .unwrap()
}

fn shut(gate: &Arc<Mutex<Receiver<()>>>) {
    let _ = gate.lock().unwrap().recv();
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_writes_count_toward_the_size_of_a_batch() {
    let opened = open();
    let (go, holding) = hold(&opened.store).await;
    let good = write(&opened.store, share(1), |tx| insert(tx, 1));
    queued(&opened.store, 1).await;
    // The last refused write waits in the function `shut` until the good write has been answered.
    // If both writes were in one batch, the good write would be answered only after the refused
    // write had ended. Each of the two would then wait for the other, and this test would fail at
    // its time limit.
    let (open, gate) = channel::<()>();
    let gate = Arc::new(Mutex::new(gate));
    let mut refused = Vec::new();
    for number in 1..=300 {
        let gate = gate.clone();
        refused.push(write(&opened.store, share(1), move |_| {
            if number == 300 {
                shut(&gate);
            }
            refuse()
        }));
        queued(&opened.store, number + 1).await;
    }
    drop(go);
    ended(holding).await.unwrap();
    ended(good).await.unwrap();
    drop(open);
    for write in refused {
        assert!(ended(write).await.is_err());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn fast_writes_of_a_share_pass_slow_writes_of_another() {
    let opened = open();
    let (go, holding) = hold(&opened.store).await;
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut writes = Vec::new();
    for number in 1..=3 {
        for (whose, takes) in [(1, Duration::from_millis(40)), (2, Duration::ZERO)] {
            let order = order.clone();
            writes.push(write(&opened.store, share(whose), move |_| {
                std::thread::sleep(takes);
                order.lock().unwrap().push((whose, number));
                Ok(())
            }));
            queued(&opened.store, writes.len()).await;
        }
    }
    drop(go);
    ended(holding).await.unwrap();
    for write in writes {
        ended(write).await.unwrap();
    }
    assert_eq!(
        *order.lock().unwrap(),
        [(1, 1), (2, 1), (2, 2), (2, 3), (1, 2), (1, 3)]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_ends_after_its_time_limit() {
    let opened = open();
    let (go, holding) = hold(&opened.store).await;
    let good = write(&opened.store, share(1), |tx| insert(tx, 1));
    queued(&opened.store, 1).await;
    let slow = write(&opened.store, share(1), |_| {
        std::thread::sleep(Duration::from_millis(6));
        refuse()
    });
    queued(&opened.store, 2).await;
    let (open, gate) = channel::<()>();
    let last = write(&opened.store, share(1), move |_| {
        let _ = gate.recv();
        refuse()
    });
    queued(&opened.store, 3).await;
    drop(go);
    ended(holding).await.unwrap();
    ended(good).await.unwrap();
    drop(open);
    assert!(ended(slow).await.is_err() && ended(last).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn shares_take_turns_in_writing() {
    let opened = open();
    let (go, holding) = hold(&opened.store).await;
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut writes = Vec::new();
    for (number, whose) in [1, 1, 1, 1, 2, 3].into_iter().enumerate() {
        let order = order.clone();
        writes.push(write(&opened.store, share(whose), move |tx| {
            order.lock().unwrap().push(whose);
            insert(tx, number as u128)
        }));
        queued(&opened.store, number + 1).await;
    }
    drop(go);
    ended(holding).await.unwrap();
    for write in writes {
        ended(write).await.unwrap();
    }
    assert_eq!(*order.lock().unwrap(), [1, 2, 3, 1, 1, 1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_share_with_many_reads_leaves_readers_to_others() {
    let opened = open();
    let (open, gate) = channel::<()>();
    let gate = Arc::new(Mutex::new(gate));
    let heavy: Vec<_> = (0..64)
        .map(|_| {
            let (store, gate) = (opened.store.clone(), gate.clone());
            tokio::spawn(async move {
                let work = move |_: &mut Transaction<'_>| {
                    shut(&gate);
                    Ok::<_, Error>(())
                };
                store.read_for(share(1), work).await
            })
        })
        .collect();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    queued(&opened.store, 64 - cores).await;
    for _ in 0..10 {
        let read = opened.store.read_for(share(2), |tx| tx.rows(&ALL, &[]));
        tokio::time::timeout(WAIT_LIMIT, read)
            .await
            .expect("a reader is free")
            .unwrap();
    }
    drop(open);
    for read in heavy {
        read.await.unwrap().unwrap();
    }
}

fn with_suffix(opened: &Opened, name: &str) -> std::path::PathBuf {
    opened.directory.path().join(name)
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_to_a_deleted_or_replaced_file_are_refused() {
    for name in ["store.db", "store.db-wal"] {
        let opened = open();
        write(&opened.store, None, |tx| insert(tx, 1))
            .await
            .unwrap()
            .unwrap();
        assert!(opened.store.version().is_some());
        let (file, elsewhere) = (
            with_suffix(&opened, name),
            with_suffix(&opened, "elsewhere"),
        );
        std::fs::rename(&file, &elsewhere).unwrap();
        for replaced in [false, true] {
            if replaced {
                std::fs::copy(&elsewhere, &file).unwrap();
            }
            let refused = write(&opened.store, None, |tx| insert(tx, 2))
                .await
                .unwrap();
            assert!(
                matches!(refused, Err(Error::Unavailable(_))),
                "{name} {refused:?}"
            );
            // A read checks the database file again only if the last check is more than a
            // millisecond old.
            tokio::time::sleep(Duration::from_millis(2)).await;
            let refused = opened
                .store
                .read(|tx| tx.rows(&ALL, &[]).map(|rows| rows.len()))
                .await;
            assert!(
                matches!(refused, Err(Error::Unavailable(_))),
                "{name} {refused:?}"
            );
            assert_eq!(
                opened.store.version(),
                None,
                "nothing that is remembered holds"
            );
        }
        std::fs::rename(&elsewhere, &file).unwrap();
        write(&opened.store, None, |tx| insert(tx, 3))
            .await
            .unwrap()
            .unwrap();
        assert_eq!(
            opened
                .store
                .read(|tx| tx.rows(&ALL, &[]))
                .await
                .unwrap()
                .len(),
            2
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_to_a_file_deleted_meanwhile_is_not_acknowledged() {
    let opened = open();
    let file = with_suffix(&opened, "store.db");
    let refused = write(&opened.store, None, move |tx| {
        std::fs::remove_file(&file).unwrap();
        insert(tx, 1)
    });
    assert!(matches!(refused.await.unwrap(), Err(Error::Unavailable(_))));
}

#[test]
fn a_new_database_is_accessible_to_its_owner_only() {
    let opened = open();
    for name in ["store.db", "store.db-wal", "store.db-shm"] {
        let mode = std::fs::metadata(with_suffix(&opened, name))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_is_opened_through_a_symbolic_link() {
    let opened = open();
    std::os::unix::fs::symlink(
        opened.url.trim_start_matches("sqlite:"),
        with_suffix(&opened, "link.db"),
    )
    .unwrap();
    write(&opened.store, None, |tx| insert(tx, 1))
        .await
        .unwrap()
        .unwrap();
    let linked = Store::open(
        &format!("sqlite:{}", with_suffix(&opened, "link.db").display()),
        &support::migrations(TABLE),
    )
    .unwrap();
    write(&linked, None, |tx| insert(tx, 2))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        opened
            .store
            .read(|tx| tx.rows(&ALL, &[]))
            .await
            .unwrap()
            .len(),
        2
    );
    assert!(!with_suffix(&opened, "link.db-wal").exists());
}

#[test]
fn a_database_can_be_claimed_only_once_at_a_time() {
    let directory = tempfile::tempdir().unwrap();
    let url = |name: &str| format!("sqlite:{}", directory.path().join(name).display());
    let claim = store::claim(&url("store.db")).unwrap();
    std::os::unix::fs::symlink(
        directory.path().join("store.db"),
        directory.path().join("soft.db"),
    )
    .unwrap();
    std::fs::hard_link(
        directory.path().join("store.db"),
        directory.path().join("hard.db"),
    )
    .unwrap();
    for name in ["store.db", "soft.db", "hard.db"] {
        let refused = store::claim(&url(name)).map(drop);
        assert!(
            matches!(&refused, Err(Error::Configuration(text)) if text.contains("another process")),
            "{name} {refused:?}"
        );
    }
    drop(claim);
    drop(store::claim(&url("soft.db")).unwrap());
    // Several processes may use one PostgreSQL database, so a second claim of it succeeds.
    drop((
        store::claim("postgres://127.0.0.1/x").unwrap(),
        store::claim("postgres://127.0.0.1/x").unwrap(),
    ));
    let nowhere = Path::new("/no/such/directory/x.db");
    assert!(store::claim(&format!("sqlite:{}", nowhere.display())).is_err());
}
