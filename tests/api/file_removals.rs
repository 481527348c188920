//! Tests of the table `file_removal`, whose rows name files to remove, while several nodes remove
//! the files at the same time.

use std::sync::mpsc;

use engine::uploads::folder;
use tokio::sync::oneshot;

use test_support::App;
use test_support::files::uploads;
use test_support::waiting::{WAIT_LIMIT, block_until, in_time, wait_until};

/// Number of files to remove.
const COUNT: usize = 40;
/// Index of the row that another transaction locks.
const LOCKED: usize = 20;

/// Each node locks the rows of `file_removal` in the order of their keys. So a node that waits for
/// a row has locked only rows with smaller keys, and two nodes never deadlock.
#[tokio::test(flavor = "multi_thread")]
async fn notes_of_removed_files_are_deleted_in_the_order_of_their_keys() {
    let Some(app) = App::on_postgres(&[uploads()]).await else {
        return;
    };
    let org = app.org().await.id;
    // The path of every second file is a folder. Removing a folder takes longer, so the nodes
    // finish the removals in another order than that of the keys.
    let keys: Vec<String> = (0..COUNT)
        .map(|number| {
            let end = if number % 2 == 0 { "/" } else { "" };
            format!("{}{number:02}{end}", folder(org))
        })
        .collect();
    for key in &keys {
        let text = "insert into file_removal (organization_id, key) values (?1, ?2)";
        app.change(text, vec![org.into(), key.into()]).await;
    }
    let (url, held) = (app.database_url.clone(), keys[LOCKED].clone());
    let (locked, is_locked) = oneshot::channel();
    let (let_go, is_let_go) = mpsc::channel::<()>();
    let holder = tokio::task::spawn_blocking(move || {
        let mut client = postgres::Client::connect(&url, postgres::NoTls).unwrap();
        let mut transaction = client.transaction().unwrap();
        let lock = "select 1 from file_removal where key = $1 for update";
        assert_eq!(transaction.query(lock, &[&held]).unwrap().len(), 1);
        locked.send(()).unwrap();
        is_let_go
            .recv_timeout(2 * WAIT_LIMIT)
            .expect("a sweep waits for the locked row");
    });
    in_time("the row is locked", is_locked).await.unwrap();
    let url = app.database_url.clone();
    let observer = tokio::task::spawn_blocking(move || {
        let mut client = postgres::Client::connect(&url, postgres::NoTls).unwrap();
        let waiting = "select 1 from pg_stat_activity where datname = current_database() and \
            wait_event_type = 'Lock'";
        block_until("a sweep waits for the locked row", || {
            !client.query(waiting, &[]).unwrap().is_empty()
        });
        let free = "select key from file_removal order by key for update skip locked";
        let rows = client.query(free, &[]).unwrap();
        let_go.send(()).unwrap();
        rows.iter().map(|row| row.get(0)).collect::<Vec<String>>()
    });
    let ((), free) = tokio::join!(app.server.sweep_once(), observer);
    assert_eq!(free.unwrap(), &keys[LOCKED + 1..]);
    holder.await.unwrap();
    let remaining = async || {
        let text = "select count(*) from file_removal";
        app.query(text, Vec::new(), |row| row.get::<i64>(0)).await[0]
    };
    wait_until("the sweeps delete every row", async || {
        app.server.sweep_once().await;
        remaining().await == 0
    })
    .await;
}
