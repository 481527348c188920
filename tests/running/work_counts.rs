//! Tests of the counters of statements and rows in a transaction. Other tests use these counters to
//! check that the work of an operation does not grow.

use store::WorkCount;

use test_support::{App, on_both};

on_both!(the_statements_and_rows_of_a_transaction_are_counted);
async fn the_statements_and_rows_of_a_transaction_are_counted(app: App) {
    let share = Some(app.org().await.id);
    let store = &app.server.service.store;
    store.max_work();
    store
        .read_for(share, |tx| tx.row(&ORGANIZATIONS, &[]))
        .await
        .unwrap();
    let WorkCount {
        statements,
        rows,
        instructions,
    } = store.max_work();
    assert_eq!(
        (statements, rows, instructions > 0),
        (1, 1, store.is_only_process())
    );
}

on_both!(work_without_a_share_is_not_counted);
async fn work_without_a_share_is_not_counted(app: App) {
    let store = &app.server.service.store;
    store.max_work();
    store.read(|tx| tx.row(&ORGANIZATIONS, &[])).await.unwrap();
    assert_eq!(store.max_work(), WorkCount::default());
}

on_both!(a_dry_run_changes_nothing);
async fn a_dry_run_changes_nothing(app: App) {
    let org = app.org().await;
    let store = &app.server.service.store;
    let rehearsed = store
        .write(move |tx| {
            tx.dry_run();
            tx.execute(&REMOVE, &[org.id.into()])
        })
        .await;
    assert_eq!(rehearsed.unwrap(), 1);
    let count: i64 = store
        .read(|tx| tx.row(&ORGANIZATIONS, &[]))
        .await
        .unwrap()
        .unwrap()
        .get(0)
        .unwrap();
    assert_eq!(count, 1);
}

static ORGANIZATIONS: store::Statement = store::Statement::new("select count(*) from organization");
static REMOVE: store::Statement = store::Statement::new("delete from organization where id = ?1");
