//! Writes that queue up behind one another, so that they share a commit.

use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use store::{Error, Share, Store, WORK_LIMIT};
use tokio::task::JoinHandle;

/// How often a test tries to have writes share a commit: on a machine that has other things to do one takes as long as a commit is
/// open, and the next is in another.
pub const ATTEMPTS: usize = 20;

/// Begins a write that lasts until the sender is dropped, alone in its commit; what comes meanwhile queues up.
pub async fn hold(store: &Store, share: Share) -> (Sender<()>, JoinHandle<Result<(), Error>>) {
    let ((begun, has_begun), (open, gate)) = (channel(), channel::<()>());
    let store = store.clone();
    let held = tokio::spawn(async move {
        let work = move |_: &mut store::Transaction<'_>| {
            begun.send(()).unwrap();
            let _ = gate.recv();
            // Longer than a commit is open.
            std::thread::sleep(Duration::from_millis(11));
            Ok(())
        };
        store.write_for(share, WORK_LIMIT, work).await
    });
    tokio::task::spawn_blocking(move || has_begun.recv()).await.unwrap().unwrap();
    (open, held)
}

/// Waits until so many are queued.
pub async fn queued(store: &Store, count: usize) {
    while store.load().queued < count {
        tokio::task::yield_now().await;
    }
}
