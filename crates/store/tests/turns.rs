//! The SQLite side: nobody is in the way of another for longer than a turn takes, and nobody writes into a file that is gone.

mod support;

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use self::support::Opened;
use store::{Error, Share, Store, Transaction, Value, WORK_LIMIT};
use tokio::task::JoinHandle;
use uuid::Uuid;

store::statements! {
    /// Writes a row.
    INSERT = "insert into thing (id) values (?1)";
    /// Every row.
    ALL = "select id from thing";
}

/// The only table.
const TABLE: &str = "create table thing (id blob primary key) strict";

fn open() -> Opened {
    support::open(TABLE)
}

#[expect(clippy::unnecessary_wraps, reason = "it is what the store takes")]
fn share(number: u128) -> Share {
    Some(Uuid::from_u128(number))
}

fn insert(tx: &mut Transaction<'_>, number: u128) -> Result<(), Error> {
    tx.execute(&INSERT, &[Value::Uuid(Uuid::from_u128(number))]).map(drop)
}

fn refuse() -> Result<(), Error> {
    Err(Error::Configuration("refused".into()))
}

/// Opens a write, alone in its batch, that lasts until the sender is dropped; what is written meanwhile queues up behind it.
async fn hold(store: &Store) -> (Sender<()>, JoinHandle<Result<(), Error>>) {
    let ((begun, has_begun), (open, gate)) = (channel(), channel::<()>());
    let store = store.clone();
    let holding = tokio::spawn(async move {
        store
            .write(move |_| {
                begun.send(()).unwrap();
                let _ = gate.recv();
                // Past what a batch takes operations for, so that what is behind this is in the next one.
                std::thread::sleep(Duration::from_millis(6));
                Ok(())
            })
            .await
    });
    tokio::task::spawn_blocking(move || has_begun.recv()).await.unwrap().unwrap();
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

/// Waits until so much is waiting.
async fn queued(store: &Store, count: usize) {
    while store.load().queued < count {
        tokio::task::yield_now().await;
    }
}

fn shut(gate: &Arc<Mutex<Receiver<()>>>) {
    let _ = gate.lock().unwrap().recv();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_ends_after_so_many_attempts_though_all_but_one_failed() {
    let opened = open();
    let (go, holding) = hold(&opened.store).await;
    let good = write(&opened.store, share(1), |tx| insert(tx, 1));
    queued(&opened.store, 1).await;
    // The three hundredth waits for the good one to be answered, which it never is if both are in one batch.
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
    holding.await.unwrap().unwrap();
    good.await.unwrap().unwrap();
    drop(open);
    for write in refused {
        assert!(write.await.unwrap().is_err());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_takes_long_is_not_waited_for_each_time() {
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
    holding.await.unwrap().unwrap();
    for write in writes {
        write.await.unwrap().unwrap();
    }
    assert_eq!(*order.lock().unwrap(), [(1, 1), (2, 1), (2, 2), (2, 3), (1, 2), (1, 3)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_ends_after_its_time() {
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
    holding.await.unwrap().unwrap();
    good.await.unwrap().unwrap();
    drop(open);
    assert!(slow.await.unwrap().is_err() && last.await.unwrap().is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn writers_take_turns() {
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
    holding.await.unwrap().unwrap();
    for write in writes {
        write.await.unwrap().unwrap();
    }
    assert_eq!(*order.lock().unwrap(), [1, 2, 3, 1, 1, 1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_share_that_reads_a_lot_leaves_readers_to_the_others() {
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
        opened.store.read_for(share(2), |tx| tx.rows(&ALL, &[])).await.unwrap();
    }
    drop(open);
    for read in heavy {
        read.await.unwrap().unwrap();
    }
}

fn beside(opened: &Opened, name: &str) -> std::path::PathBuf {
    opened.directory.path().join(name)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_would_go_into_a_file_that_is_gone_is_refused() {
    for name in ["store.db", "store.db-wal"] {
        let opened = open();
        write(&opened.store, None, |tx| insert(tx, 1)).await.unwrap().unwrap();
        assert!(opened.store.version().is_some());
        let (file, elsewhere) = (beside(&opened, name), beside(&opened, "elsewhere"));
        std::fs::rename(&file, &elsewhere).unwrap();
        for replaced in [false, true] {
            if replaced {
                std::fs::copy(&elsewhere, &file).unwrap();
            }
            let refused = write(&opened.store, None, |tx| insert(tx, 2)).await.unwrap();
            assert!(matches!(refused, Err(Error::Unavailable(_))), "{name} {refused:?}");
            // Reading is a look of a millisecond ago at the most.
            tokio::time::sleep(Duration::from_millis(2)).await;
            let refused = opened.store.read(|tx| tx.rows(&ALL, &[]).map(|rows| rows.len())).await;
            assert!(matches!(refused, Err(Error::Unavailable(_))), "{name} {refused:?}");
            assert_eq!(opened.store.version(), None, "nothing that is remembered holds");
        }
        std::fs::rename(&elsewhere, &file).unwrap();
        write(&opened.store, None, |tx| insert(tx, 3)).await.unwrap().unwrap();
        assert_eq!(opened.store.read(|tx| tx.rows(&ALL, &[])).await.unwrap().len(), 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_went_into_a_file_while_it_vanished_is_not_acknowledged() {
    let opened = open();
    let file = beside(&opened, "store.db");
    let refused = write(&opened.store, None, move |tx| {
        std::fs::remove_file(&file).unwrap();
        insert(tx, 1)
    });
    assert!(matches!(refused.await.unwrap(), Err(Error::Unavailable(_))));
}

#[test]
fn a_new_database_is_for_its_owner_alone() {
    let opened = open();
    for name in ["store.db", "store.db-wal", "store.db-shm"] {
        let mode = std::fs::metadata(beside(&opened, name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_behind_a_link_is_the_one_it_leads_to() {
    let opened = open();
    std::os::unix::fs::symlink(opened.url.trim_start_matches("sqlite:"), beside(&opened, "link.db")).unwrap();
    write(&opened.store, None, |tx| insert(tx, 1)).await.unwrap().unwrap();
    let linked = Store::open(&format!("sqlite:{}", beside(&opened, "link.db").display()), &support::migrations(TABLE)).unwrap();
    write(&linked, None, |tx| insert(tx, 2)).await.unwrap().unwrap();
    assert_eq!(opened.store.read(|tx| tx.rows(&ALL, &[])).await.unwrap().len(), 2);
    assert!(!beside(&opened, "link.db-wal").exists());
}

#[test]
fn a_database_is_claimed_by_one_at_a_time() {
    let directory = tempfile::tempdir().unwrap();
    let url = |name: &str| format!("sqlite:{}", directory.path().join(name).display());
    let claim = store::claim(&url("store.db")).unwrap();
    std::os::unix::fs::symlink(directory.path().join("store.db"), directory.path().join("soft.db")).unwrap();
    std::fs::hard_link(directory.path().join("store.db"), directory.path().join("hard.db")).unwrap();
    for name in ["store.db", "soft.db", "hard.db"] {
        let refused = store::claim(&url(name)).map(drop);
        assert!(matches!(&refused, Err(Error::Configuration(text)) if text.contains("another process")), "{name} {refused:?}");
    }
    drop(claim);
    drop(store::claim(&url("soft.db")).unwrap());
    // Nobody is kept from a server that many share.
    drop((store::claim("postgres://127.0.0.1/x").unwrap(), store::claim("postgres://127.0.0.1/x").unwrap()));
    let nowhere = Path::new("/no/such/directory/x.db");
    assert!(store::claim(&format!("sqlite:{}", nowhere.display())).is_err());
}
