//! Background work that fails is begun again, and told of meanwhile.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::support::{Answer, App};

#[tokio::test(flavor = "multi_thread")]
async fn readiness_names_what_is_down_until_it_is_up_again() {
    let app = App::on_sqlite(&[]).await;
    let ready = async || Answer::of(app.http.get(format!("{}/readyz", app.base))).await;
    assert_eq!(ready().await.status, 200);
    let (service, has_failed) = (app.server.service.clone(), AtomicBool::new(false));
    let running = CancellationToken::new().drop_guard();
    let stop = running.token().clone();
    tokio::spawn(async move {
        let work = || async {
            assert!(has_failed.swap(true, Ordering::Relaxed), "the first time it fails");
            std::future::pending::<()>().await;
        };
        service.background.keep_up("errands", stop, work).await;
    });
    let until = async |status: u16| {
        let began = Instant::now();
        loop {
            let answer = ready().await;
            if answer.status == status {
                return answer;
            }
            assert!(began.elapsed() < Duration::from_secs(20), "{}", answer.body);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let down = until(503).await;
    assert_eq!(down.error(503)["message"], "Background work is down: errands.");
    assert_eq!(down.header("retry-after"), Some("1"));
    until(200).await;
    let metrics = Answer::of(app.http.get(format!("{}/metrics", app.base))).await.body;
    assert!(metrics.as_str().unwrap().contains("vestibule_background_restarts_total{name=\"errands\"} 1"), "{metrics}");
}
