//! Helpers that queue writes, so that they share a commit.

use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use store::{Error, Share, Store, WORK_LIMIT};
use tokio::task::JoinHandle;

/// Attempts of a test to get several writes into one commit. On a busy machine a write may take as
/// long as a commit stays open, and the next write is then in another commit.
pub const ATTEMPTS: usize = 20;

/// Begins a write that lasts until the sender is dropped and is alone in its commit. Later writes
/// queue behind it.
pub async fn hold(store: &Store, share: Share) -> (Sender<()>, JoinHandle<Result<(), Error>>) {
    let ((begun, has_begun), (open, gate)) = (channel(), channel::<()>());
    let store = store.clone();
    let held = tokio::spawn(async move {
        let work = move |_: &mut store::Transaction<'_>| {
            begun.send(()).unwrap();
            let _ = gate.recv();
            // Longer than a commit stays open for more writes.
            std::thread::sleep(Duration::from_millis(11));
            Ok(())
        };
        store.write_for(share, WORK_LIMIT, work).await
    });
    tokio::task::spawn_blocking(move || has_begun.recv())
        .await
        .unwrap()
        .unwrap();
    (open, held)
}

/// Waits until `count` writes are queued.
pub async fn queued(store: &Store, count: usize) {
    while store.load().queued < count {
        tokio::task::yield_now().await;
    }
}
