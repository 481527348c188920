//! Browser test of the guest page without a connection: the service worker shows the cached page,
//! for example at the door of the flat.

use std::time::Duration;

use serde_json::json;
use test_support::App;

use super::casa::Casa;
use super::driver::browse;
use super::window::{PHONE, Window};

const DEADLINE: Duration = Duration::from_secs(90);

/// The dates of a stay that includes two days: the day on which the tests' clock starts, and the
/// real date. The browser's service worker uses the clock of this machine.
const STAY_DATES: (&str, &str) = ("2026-11-21", "2099-01-01");

/// Script that returns whether the service worker controls the page and has cached it.
const IS_CACHED: &str = "
    return caches.match(location.pathname).then((copy) => Boolean(copy &&
        navigator.serviceWorker.controller));
";

async fn shows(window: &Window, text: &str) -> bool {
    window.text().await.contains(text)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_door_code_is_shown_without_a_connection() {
    browse(DEADLINE, async |window| {
        let app = App::on_sqlite(&[]).await;
        let casa = Casa::build(&app).await;
        let page = format!(
            "{}/stay/{}",
            app.base,
            casa.stay(STAY_DATES, json!({})).await
        );
        let door = casa.manuals[0];
        drop(casa);
        window.resize(PHONE).await;
        window.go(&page).await;
        assert!(
            shows(window, "4711#").await,
            "it is open on the day of arrival"
        );
        let notice = "return [...document.querySelectorAll('[role=status]')].map((it) => \
            it.innerText.trim()).filter(Boolean).join()";
        assert_eq!(window.run(notice).await, "");
        window.until("the page is kept", IS_CACHED).await;
        let App { server, .. } = app;
        server.stop().await;
        window.reload().await;
        assert!(shows(window, "4711#").await, "{}", window.text().await);
        assert_ne!(window.run(notice).await, "", "it says how old it is");
        window.go(&format!("{page}/manuals/{door}")).await;
        assert!(
            shows(window, "4711#").await,
            "an address that was never opened: {}",
            window.text().await
        );
    })
    .await;
}
