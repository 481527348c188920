//! How much the database is asked to do: that it does not grow with what it should not grow with.

use store::Effort;

use crate::support::{App, on_both};

on_both! {
    async fn what_a_transaction_does_is_counted(app: App) {
        let store = &app.server.service.store;
        // What is done in the background may come between.
        for attempt in 0.. {
            store.heaviest();
            store.read(|tx| tx.row(&ORGANIZATIONS, &[])).await.unwrap();
            let Effort { statements, rows, steps } = store.heaviest();
            if (statements, rows, steps > 0) == (1, 1, store.is_private()) {
                break;
            }
            assert!(attempt < 20, "{statements} {rows} {steps}");
        }
    }

    async fn a_rehearsal_leaves_nothing(app: App) {
        let org = app.org().await;
        let store = &app.server.service.store;
        let rehearsed = store.write(move |tx| {
            tx.rehearse();
            tx.execute(&REMOVE, &[org.id.into()])
        }).await;
        assert_eq!(rehearsed.unwrap(), 1);
        let count: i64 = store.read(|tx| tx.row(&ORGANIZATIONS, &[])).await.unwrap().unwrap().get(0).unwrap();
        assert_eq!(count, 1);
    }
}

static ORGANIZATIONS: store::Statement = store::Statement::new("select count(*) from organization");
static REMOVE: store::Statement = store::Statement::new("delete from organization where id = ?1");
