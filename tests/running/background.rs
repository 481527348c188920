//! Tests that a failed background task is restarted, and that `/readyz` reports the failure until
//! the task runs again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use test_support::{ApiResponse, App};

#[tokio::test(flavor = "multi_thread")]
async fn readiness_names_failed_tasks_until_they_recover() {
    let app = App::on_sqlite(&[]).await;
    let ready = async || ApiResponse::of(app.http.get(format!("{}/readyz", app.base))).await;
    assert_eq!(ready().await.status, 200);
    let (service, is_broken) = (app.server.service.clone(), Arc::new(AtomicBool::new(true)));
    let broken = is_broken.clone();
    let running = CancellationToken::new().drop_guard();
    let stop = running.token().clone();
    tokio::spawn(async move {
        let work = || async {
            assert!(!broken.load(Ordering::Relaxed), "it fails");
            std::future::pending::<()>().await;
        };
        service.background.supervise("errands", stop, work).await;
    });
    let until = async |status: u16| {
        let start = Instant::now();
        loop {
            let response = ready().await;
            if response.status == status {
                return response;
            }
            assert!(
                start.elapsed() < Duration::from_secs(20),
                "{}",
                response.body
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let down = until(503).await;
    assert_eq!(
        down.error(503)["message"],
        "Background work is down: errands."
    );
    assert_eq!(down.header("retry-after"), Some("1"));
    is_broken.store(false, Ordering::Relaxed);
    until(200).await;
    let metrics = ApiResponse::of(app.http.get(format!("{}/metrics", app.base)))
        .await
        .body;
    let restarts = metrics
        .as_str()
        .unwrap()
        .split_once("\nvestibule_background_restarts_total{name=\"errands\"} ")
        .unwrap()
        .1;
    assert!(
        restarts.lines().next().unwrap().parse::<u64>().unwrap() > 0,
        "{metrics}"
    );
}
