//! Tests of a server that is killed repeatedly: each acknowledged write exists exactly once.
//! `VESTIBULE_RELIABILITY_REQUESTS` sets the number of requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{Client, Process, ServerResponse, assert_intact, number, on_each};

/// Time limit of a request, with its repetitions.
const WAIT_LIMIT: Duration = Duration::from_secs(60);

/// The progress of the clients: the numbers of final responses and of requests that were sent
/// again. The test reads these numbers to decide when to kill the server. `is_over` tells the
/// clients to stop.
#[derive(Default)]
struct Progress {
    final_response: AtomicUsize,
    sent_again: AtomicUsize,
    is_over: AtomicBool,
}

impl Progress {
    /// Repeats a request with the same idempotency key while it gets no response, or a response
    /// after which the client has to try again (`is_retryable`).
    async fn final_response(
        &self,
        client: &Client,
        method: Method,
        path: &str,
        key: Option<&str>,
        body: Option<Value>,
    ) -> ServerResponse {
        let start = Instant::now();
        loop {
            if let Some(heard) = client.ask(method.clone(), path, key, body.clone()).await
                && !heard.is_retryable()
            {
                self.final_response.fetch_add(1, Ordering::Relaxed);
                return heard;
            }
            self.sent_again.fetch_add(1, Ordering::Relaxed);
            assert!(start.elapsed() < WAIT_LIMIT, "no answer: {method} {path}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Creates manuals, reads and changes them, and reads them again. Returns the name, the id and
    /// the icon of each manual, as the server has acknowledged them.
    async fn write_and_read(
        self: Arc<Self>,
        client: Client,
        writer: usize,
    ) -> Vec<(String, Value, String)> {
        let mut made = Vec::new();
        while !self.is_over.load(Ordering::Relaxed) {
            let name = format!("w{writer}-{}-", made.len());
            let body = json!({ "nickname": name, "title": "Wi-Fi" });
            let created = self
                .final_response(
                    &client,
                    Method::POST,
                    "/api/v1/portal-manuals",
                    Some(&name),
                    Some(body),
                )
                .await;
            assert_eq!(created.status, 201, "{}", created.body);
            let id = created.body["data"]["id"].clone();
            let icon = format!("icon-{}", made.len());
            let (list, one) = (
                format!("/api/v1/portal-manuals?search={name}"),
                format!("/api/v1/portal-manuals/{}", id.as_str().unwrap()),
            );
            for change in [false, true] {
                if change {
                    let body = json!({ "data": { "iconName": icon } });
                    let changed = self
                        .final_response(&client, Method::PATCH, &one, None, Some(body))
                        .await;
                    assert_eq!(changed.status, 200, "{}", changed.body);
                }
                let listed = self
                    .final_response(&client, Method::GET, &list, None, None)
                    .await;
                assert_eq!(listed.status, 200, "{}", listed.body);
                let rows = listed.body["data"].as_array().unwrap();
                assert_eq!(
                    (rows.len(), &rows[0]["id"]),
                    (1, &id),
                    "what was acknowledged is read, by whichever process answers"
                );
                assert!(
                    !change || rows[0]["iconName"] == icon.as_str(),
                    "{}",
                    rows[0]
                );
            }
            made.push((name, id, icon));
        }
        made
    }
}

on_each!(repeated_kills_lose_and_duplicate_no_writes);
/// Kills the server about once a second under load. Acknowledged writes survive. The server applies
/// repeated requests with one idempotency key once, and gives each of them the first response.
async fn repeated_kills_lose_and_duplicate_no_writes(database_url: String) {
    const WRITERS: usize = 16;
    const KILLS: u64 = 3;
    let (request_count, began) = (
        number("VESTIBULE_RELIABILITY_REQUESTS", 2_000),
        Instant::now(),
    );
    let mut server = Process::start(&database_url);
    let (client, course) = (Client::of(&server).await, Arc::new(Progress::default()));
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        writers.spawn(course.clone().write_and_read(client.clone(), writer));
    }
    let mut kills = 0;
    while kills < KILLS || course.final_response.load(Ordering::Relaxed) < request_count {
        // The delay before a kill differs between kills and between runs.
        let noise = u64::from(std::process::id())
            .wrapping_mul(0x9e37_79b9)
            .wrapping_add(kills * 7_919)
            % 601;
        tokio::time::sleep(Duration::from_millis(900 + noise)).await;
        server.kill();
        server.assert_sound();
        server = Process::start(&database_url);
        client.base.lock().unwrap().clone_from(&server.base);
        kills += 1;
        // Writers end only after this loop, unless they panic. Without this check, the loop would
        // wait for ever for the requests of a writer that has panicked.
        assert!(writers.try_join_next().is_none(), "a writer has failed");
    }
    course.is_over.store(true, Ordering::Relaxed);
    let created = writers.join_all().await.concat();

    let manuals = client.manuals().await;
    assert_eq!(
        manuals.len(),
        created.len(),
        "nothing is there that nobody asked for"
    );
    for (name, id, icon) in &created {
        let row = manuals
            .get(name)
            .unwrap_or_else(|| panic!("{name} was acknowledged"));
        assert_eq!(
            (&row["id"], row["iconName"].as_str()),
            (id, Some(icon.as_str())),
            "{name}"
        );
    }
    // The test repeats every request with its idempotency key. Each repeated request gets the
    // response of the first one, and creates no second manual.
    for some in created.chunks(WRITERS) {
        for (again, (name, id, _)) in join_all(some.iter().map(|(name, ..)| client.create(name)))
            .await
            .into_iter()
            .zip(some)
        {
            let again = again.unwrap();
            assert_eq!(
                (again.status, again.is_replay, &again.body["data"]["id"]),
                (201, true, id),
                "{name}"
            );
        }
    }
    assert_eq!(client.manuals().await.len(), created.len());
    server.assert_sound();
    assert_intact(&database_url);
    let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
    eprintln!(
        "{}: {} requests answered, {} times one was sent again, {kills} kills, {} manuals, {:.1} s",
        database_url.split(':').next().unwrap(),
        count(&course.final_response),
        count(&course.sent_again),
        created.len(),
        began.elapsed().as_secs_f64(),
    );
}
