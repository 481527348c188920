//! Functions that queue several writes behind a running write, so that the queued writes share a
//! commit.

use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use store::{Error, Share, Store, WORK_LIMIT};
use tokio::task::JoinHandle;

use super::waiting::{WAIT_LIMIT, in_time};

/// Maximum number of attempts of a test to get several writes into one commit. On a busy machine, a
/// write may enter the queue too late for the commit.
pub const ATTEMPTS: usize = 20;

/// Starts a write that is alone in its commit and lasts until the test drops the returned sender.
/// Later writes queue behind it.
pub async fn hold(store: &Store, share: Share) -> (Sender<()>, JoinHandle<Result<(), Error>>) {
    let ((begun, has_begun), (open, gate)) = (channel(), channel::<()>());
    let store = store.clone();
    let running_write = tokio::spawn(async move {
        let work = move |_: &mut store::Transaction<'_>| {
            begun.send(()).unwrap();
            let _ = gate.recv();
            // A commit accepts more writes only for a time that is shorter than this pause. This
            // write therefore stays alone in its commit.
            std::thread::sleep(Duration::from_millis(11));
            Ok(())
        };
        store.write_for(share, WORK_LIMIT, work).await
    });
    tokio::task::spawn_blocking(move || has_begun.recv_timeout(WAIT_LIMIT))
        .await
        .unwrap()
        .expect("the write begins");
    (open, running_write)
}

/// Waits until `count` writes are queued.
pub async fn until_queued(store: &Store, count: usize) {
    let are_queued = async {
        while store.load().queued < count {
            tokio::task::yield_now().await;
        }
    };
    in_time("the writes are queued", are_queued).await;
}
