//! Tests of calendar feeds: the service fetches a calendar and creates reservations from its events
//! (rules: calendar-feeds).

use std::time::Duration;

use engine::access::Permission;
use engine::clock::Clock;
use jiff::Timestamp;
use reqwest::Method;
use serde_json::{Value, json};
use test_support::calendar_host::{CalendarHost, Served, event};
use test_support::house::id;
use test_support::receiver::until_read;
use test_support::{Api, ApiResponse, App, Org, on_both, on_both_with, serve_flags};
use uuid::Uuid;
use vestibule::server::Server;

use crate::console::{Form, marta, page, plain};

/// A flat with a new calendar feed, which the service has not fetched yet.
struct FeedScene<'a> {
    org: Org<'a>,
    api: Api,
    flat: Uuid,
    feed: Uuid,
}

impl<'a> FeedScene<'a> {
    async fn build(app: &'a App, host: &CalendarHost, more: Value) -> Self {
        let org = app.org().await;
        let api = org.key().await;
        let flat = org.property(None, &[]).await;
        let mut body = json!({ "propertyId": flat, "url": host.url, "channel": "airbnb" });
        for (field, value) in more.as_object().unwrap() {
            body[field] = value.clone();
        }
        let created = api.post("/calendar-feeds", body).await;
        assert_eq!(created.status, 201);
        Self {
            feed: id(&created.data()["id"]),
            org,
            api,
            flat,
        }
    }

    /// Makes the service fetch the calendar feed. Returns the feed.
    async fn fetch(&self) -> Value {
        // The test clock does not advance by itself, so all fetches would have the same timestamp.
        self.org.app.clock.advance(Duration::from_secs(1));
        let path = format!("/calendar-feeds/{}/refresh", self.feed);
        self.api.post(&path, json!({})).await.data()
    }

    /// Returns check-in, check-out and status of each reservation of the feed, sorted by check-in.
    async fn stays(&self) -> Vec<(String, String, String)> {
        let records = self.api.get("/reservations?limit=100").await.data();
        let text = |record: &Value, field: &str| record[field].as_str().unwrap().to_owned();
        let mut stays: Vec<_> = records
            .as_array()
            .unwrap()
            .iter()
            .map(|record| {
                (
                    text(record, "checkIn"),
                    text(record, "checkOut"),
                    text(record, "status"),
                )
            })
            .collect();
        stays.sort();
        stays
    }

    /// Returns the feed's only reservation.
    async fn stay(&self) -> Value {
        let records = self.api.get("/reservations").await.data();
        assert_eq!(records.as_array().unwrap().len(), 1, "{records}");
        records[0].clone()
    }

    async fn delete(&self, query: &str) -> ApiResponse {
        let path = format!("/calendar-feeds/{}{query}", self.feed);
        self.api.send(Method::DELETE, &path, None).await
    }
}

fn stay(from: &str, until: &str, status: &str) -> (String, String, String) {
    (from.into(), until.into(), status.into())
}

on_both_with!(
    bookings_become_reservations_and_fetching_again_changes_nothing,
    CalendarHost
);
async fn bookings_become_reservations_and_fetching_again_changes_nothing(
    app: App,
    host: CalendarHost,
) {
    host.events(&[
        event(
            "a@example",
            "20261211",
            "20261215",
            "SUMMARY:Reserved\nDESCRIPTION:Reservation URL: \
                https://www.example.com/hosting/reservations/de\n tails/HMABC",
        ),
        event("b@example", "20261220", "20261222", "SUMMARY:Ada Lovelace"),
        event(
            "c@example",
            "20261224",
            "20261226",
            "SUMMARY:CLOSED - Not available",
        ),
        event(
            "d@example",
            "20270101",
            "20270105",
            "SUMMARY:Example (Not available)",
        ),
    ]);
    let scene = FeedScene::build(&app, &host, json!({})).await;
    let feed = scene.fetch().await;
    let expected = [
        stay("2026-12-11", "2026-12-15", "confirmed"),
        stay("2026-12-20", "2026-12-22", "confirmed"),
        stay("2026-12-24", "2026-12-26", "tentative"),
    ];
    assert_eq!(scene.stays().await, expected);
    assert_eq!(
        (&feed["reservationCount"], &feed["lastError"]),
        (&json!(3), &json!(null))
    );
    let records = scene.api.get("/reservations").await.data();
    for record in records.as_array().unwrap() {
        assert_eq!(
            (&record["origin"], &record["channel"]),
            (&json!("calendar"), &json!("airbnb"))
        );
        assert_eq!(record["propertyId"], json!(scene.flat));
    }
    let named = records
        .as_array()
        .unwrap()
        .iter()
        .find(|record| record["checkIn"] == "2026-12-20")
        .unwrap();
    assert_eq!(
        (&named["guest"]["firstName"], &named["guest"]["lastName"]),
        (&json!("Ada"), &json!("Lovelace"))
    );
    scene.fetch().await;
    assert_eq!(scene.api.get("/reservations").await.data(), records);
    let held = scene
        .api
        .get(&format!("/calendar-feeds/{}/held", scene.feed))
        .await
        .data();
    assert_eq!(
        (held.as_array().unwrap().len(), &held[0]["checkIn"]),
        (1, &json!("2026-12-24"))
    );
}

on_both_with!(a_new_feed_is_fetched_in_the_background, CalendarHost);
async fn a_new_feed_is_fetched_in_the_background(app: App, host: CalendarHost) {
    host.events(&[event("a", "20261211", "20261215", "SUMMARY:Reserved")]);
    let scene = FeedScene::build(&app, &host, json!({})).await;
    let feeds = until_read(&scene.api, "/calendar-feeds", |feeds| {
        !feeds[0]["lastFetchedAt"].is_null()
    })
    .await;
    assert_eq!(feeds[0]["reservationCount"], 1);
    assert_eq!(scene.stays().await.len(), 1);
}

on_both_with!(
    a_feed_that_a_fast_clock_scheduled_is_due_after_one_interval,
    CalendarHost
);
async fn a_feed_that_a_fast_clock_scheduled_is_due_after_one_interval(
    app: App,
    host: CalendarHost,
) {
    app.clock.advance(Duration::from_secs(2 * 86_400));
    let scene = FeedScene::build(&app, &host, json!({})).await;
    scene.fetch().await;
    let lease = "update calendar_feed set leased_until = next_fetch_at where organization_id = ?1";
    app.change(lease, vec![scene.org.id.into()]).await;
    let clock = Clock::manual("2026-11-21T09:30:00Z".parse().unwrap());
    let right = Server::start(serve_flags(&app.database_url, &[]), clock)
        .await
        .unwrap();
    right.sweep_once().await;
    right.stop().await;
    let found = app.query(
        "select next_fetch_at, leased_until from calendar_feed where organization_id = ?1",
        vec![scene.org.id.into()],
        |row| Ok((row.get::<Timestamp>(0)?, row.get::<Option<Timestamp>>(1)?)),
    );
    let due: Timestamp = "2026-11-21T09:45:00Z".parse().unwrap();
    assert_eq!(found.await, [(due, None)]);
}

on_both_with!(moved_dates_keep_the_reservation_and_its_link, CalendarHost);
async fn moved_dates_keep_the_reservation_and_its_link(app: App, host: CalendarHost) {
    host.events(&[event("a", "20261211", "20261215", "SUMMARY:Reserved")]);
    let scene = FeedScene::build(&app, &host, json!({})).await;
    scene.fetch().await;
    let before = scene.stay().await;
    let token = scene.org.stay_token(id(&before["id"])).await;
    host.events(&[event("a", "20261212", "20261216", "SUMMARY:Reserved")]);
    scene.fetch().await;
    let after = scene.stay().await;
    assert_eq!(
        (&after["id"], &after["checkIn"], &after["checkOut"]),
        (&before["id"], &json!("2026-12-12"), &json!("2026-12-16"))
    );
    assert_eq!(scene.org.stay_token(id(&after["id"])).await, token);
}

on_both_with!(two_fetches_without_an_event_cancel_its_stay, CalendarHost);
async fn two_fetches_without_an_event_cancel_its_stay(app: App, host: CalendarHost) {
    let (first, second) = (
        event("a", "20261211", "20261215", "SUMMARY:Reserved"),
        event("b", "20261220", "20261222", "SUMMARY:Reserved"),
    );
    host.events(&[first.clone(), second.clone()]);
    let scene = FeedScene::build(&app, &host, json!({})).await;
    scene.fetch().await;
    host.events(std::slice::from_ref(&second));
    scene.fetch().await;
    assert_eq!(scene.stays().await[0].2, "confirmed");
    host.events(&[first.clone(), second.clone()]);
    scene.fetch().await;
    host.events(std::slice::from_ref(&second));
    scene.fetch().await;
    assert_eq!(
        scene.stays().await[0].2,
        "confirmed",
        "the fetches without it were not in a row"
    );
    let feed = scene.fetch().await;
    assert_eq!(
        scene.stays().await,
        [
            stay("2026-12-11", "2026-12-15", "cancelled"),
            stay("2026-12-20", "2026-12-22", "confirmed")
        ]
    );
    assert_eq!(feed["reservationCount"], 1);
    host.events(&[first, second]);
    scene.fetch().await;
    assert_eq!(scene.stays().await[0].2, "confirmed", "it came back");
}

on_both_with!(an_unchanged_calendar_counts_as_fetched, CalendarHost);
async fn an_unchanged_calendar_counts_as_fetched(app: App, host: CalendarHost) {
    let (first, second) = (
        event("a", "20261211", "20261215", "SUMMARY:Reserved"),
        event("b", "20261220", "20261222", "SUMMARY:Reserved"),
    );
    host.serve(Served::Version(first.clone() + &second, "\"one\""));
    let scene = FeedScene::build(&app, &host, json!({})).await;
    scene.fetch().await;
    host.serve(Served::Version(second, "\"two\""));
    let feed = scene.fetch().await;
    assert_eq!(scene.stays().await[0].2, "confirmed");
    let again = scene.fetch().await;
    assert!(
        host.requests()
            .last()
            .unwrap()
            .contains("if-none-match: \"two\"")
    );
    assert!(again["lastFetchedAt"].as_str() > feed["lastFetchedAt"].as_str());
    assert_eq!(
        scene.stays().await[0].2,
        "cancelled",
        "it was missing twice in a row"
    );
}

on_both_with!(a_stay_that_has_begun_is_never_cancelled, CalendarHost);
async fn a_stay_that_has_begun_is_never_cancelled(app: App, host: CalendarHost) {
    host.events(&[
        event("a", "20261120", "20261125", "SUMMARY:Reserved"),
        event("b", "20261211", "20261215", "SUMMARY:Reserved"),
    ]);
    let scene = FeedScene::build(&app, &host, json!({})).await;
    scene.fetch().await;
    host.events(&[event(
        "b",
        "20261211",
        "20261215",
        "SUMMARY:Reserved\nSTATUS:CANCELLED",
    )]);
    scene.fetch().await;
    scene.fetch().await;
    scene.fetch().await;
    assert_eq!(
        scene.stays().await,
        [
            stay("2026-11-20", "2026-11-25", "confirmed"),
            stay("2026-12-11", "2026-12-15", "cancelled")
        ]
    );
}

on_both_with!(
    a_failed_fetch_changes_nothing_and_reports_the_reason,
    CalendarHost
);
async fn a_failed_fetch_changes_nothing_and_reports_the_reason(app: App, host: CalendarHost) {
    host.events(&[event("a", "20261211", "20261215", "SUMMARY:Reserved")]);
    let scene = FeedScene::build(&app, &host, json!({})).await;
    let good = scene.fetch().await;
    let records = scene.api.get("/reservations").await.data();
    let page = "<html><body>Sign in</body></html>".to_owned();
    for (failures, (served, code)) in (1..).zip([
        (
            Served::Response(500, String::new(), String::new()),
            "refused",
        ),
        (
            Served::Response(404, String::new(), String::new()),
            "refused",
        ),
        (
            Served::Response(302, "location: https://127.0.0.1:1/x".into(), String::new()),
            "redirects",
        ),
        (
            Served::Response(304, String::new(), String::new()),
            "refused",
        ),
        (Served::Response(200, String::new(), page), "no_calendar"),
        (
            Served::Response(
                200,
                String::new(),
                "BEGIN:VCALENDAR\r\nVERSION:2.0\r\n".into(),
            ),
            "no_calendar",
        ),
        (
            Served::Response(200, String::new(), "X".repeat((5 << 20) + 1)),
            "too_large",
        ),
        (Served::Endless, "too_large"),
    ]) {
        host.serve(served.clone());
        let feed = scene.fetch().await;
        assert_eq!(feed["lastErrorCode"], code, "{feed}");
        assert_eq!(feed["consecutiveFailures"], failures);
        assert_eq!(feed["lastFetchedAt"], good["lastFetchedAt"]);
        assert!(feed["lastAttemptAt"].as_str() > good["lastAttemptAt"].as_str());
        assert!(!feed.to_string().contains("secret"), "{feed}");
        assert_eq!(scene.api.get("/reservations").await.data(), records);
    }
    host.events(&[event("a", "20261211", "20261215", "SUMMARY:Reserved")]);
    let feed = scene.fetch().await;
    assert_eq!(
        (&feed["lastError"], &feed["consecutiveFailures"]),
        (&json!(null), &json!(0))
    );
    assert_eq!(scene.api.get("/reservations").await.data(), records);
}

on_both_with!(
    a_host_that_never_answers_ends_after_ten_seconds,
    CalendarHost
);
async fn a_host_that_never_answers_ends_after_ten_seconds(app: App, host: CalendarHost) {
    host.events(&[event("a", "20261211", "20261215", "SUMMARY:Reserved")]);
    let scene = FeedScene::build(&app, &host, json!({})).await;
    scene.fetch().await;
    for served in [Served::Silence, Served::Stalled] {
        host.serve(served);
        let start = std::time::Instant::now();
        let feed = scene.fetch().await;
        assert_eq!(feed["lastErrorCode"], "timed_out", "{feed}");
        assert!(start.elapsed() < Duration::from_secs(20));
        assert_eq!(
            scene.stays().await,
            [stay("2026-12-11", "2026-12-15", "confirmed")]
        );
    }
}

on_both_with!(fetches_of_one_feed_run_one_after_the_other, CalendarHost);
async fn fetches_of_one_feed_run_one_after_the_other(app: App, host: CalendarHost) {
    let events = [event("a", "20261211", "20261215", "SUMMARY:Reserved")];
    host.events(&events);
    let scene = FeedScene::build(&app, &host, json!({})).await;
    until_read(&scene.api, "/calendar-feeds", |feeds| {
        !feeds[0]["lastFetchedAt"].is_null()
    })
    .await;
    // A second node needs PostgreSQL, because a SQLite database has only one process.
    let flags = host.flags();
    let other = if app.database_url.starts_with("sqlite:") {
        None
    } else {
        Some(app.second_node(&flags.each_ref().map(String::as_str)).await)
    };
    let there = other
        .as_ref()
        .unwrap_or(&app)
        .api(scene.api.token.as_deref().unwrap());
    let before = host.requests().len();
    host.serve(Served::Silence);
    let path = format!("/calendar-feeds/{}/refresh", scene.feed);
    let (one, two, ()) = tokio::join!(
        scene.api.post(&path, json!({})),
        there.post(&path, json!({})),
        async {
            tokio::time::sleep(Duration::from_secs(3)).await;
            assert_eq!(
                host.requests().len(),
                before + 1,
                "one fetch waits for the other"
            );
            host.events(&events);
        }
    );
    let mut codes =
        [one.data(), two.data()].map(|feed| feed["lastErrorCode"].as_str().map(str::to_owned));
    codes.sort();
    assert_eq!(codes, [None, Some("timed_out".to_owned())]);
    assert_eq!(
        scene.stays().await,
        [stay("2026-12-11", "2026-12-15", "confirmed")]
    );
}

on_both_with!(a_members_changes_stay_until_the_event_changes, CalendarHost);
async fn a_members_changes_stay_until_the_event_changes(app: App, host: CalendarHost) {
    let unclear = |until: &str| event("a", "20261211", until, "SUMMARY:CLOSED - Not available");
    host.events(&[unclear("20261215")]);
    let scene = FeedScene::build(&app, &host, json!({})).await;
    scene.fetch().await;
    let mut record = scene.stay().await;
    let id = record["id"].clone();
    for own in ["id", "createdAt", "updatedAt", "origin"] {
        record.as_object_mut().unwrap().remove(own);
    }
    record["status"] = json!("confirmed");
    record["guest"]["firstName"] = json!("Ada");
    scene
        .api
        .post(
            "/records",
            json!({ "records": [{ "kind": "reservation", "id": id, "data": record }] }),
        )
        .await
        .data();
    scene.fetch().await;
    let kept = scene.stay().await;
    assert_eq!(
        (
            &kept["status"],
            &kept["guest"]["firstName"],
            &kept["origin"]
        ),
        (&json!("confirmed"), &json!("Ada"), &json!("calendar"))
    );
    host.events(&[unclear("20261216")]);
    scene.fetch().await;
    let moved = scene.stay().await;
    assert_eq!(
        (
            &moved["status"],
            &moved["guest"]["firstName"],
            &moved["checkOut"]
        ),
        (&json!("tentative"), &json!("Ada"), &json!("2026-12-16"))
    );
}

on_both_with!(
    a_calendar_feed_does_not_change_reservations_of_the_platform,
    CalendarHost
);
async fn a_calendar_feed_does_not_change_reservations_of_the_platform(
    app: App,
    host: CalendarHost,
) {
    host.events(&[event("a", "20261211", "20261215", "SUMMARY:Reserved")]);
    let scene = FeedScene::build(&app, &host, json!({})).await;
    scene.fetch().await;
    let record = scene.stay().await;
    let data = test_support::reservation(Some(scene.flat));
    scene
        .org
        .put_record("reservation", id(&record["id"]), data)
        .await;
    host.events(&[event("a", "20261212", "20261216", "SUMMARY:Reserved")]);
    let feed = scene.fetch().await;
    let after = scene.stay().await;
    assert_eq!(
        (&after["origin"], &after["checkIn"]),
        (&json!("platform"), &json!("2026-12-11"))
    );
    assert_eq!(
        (&feed["reservationCount"], &feed["lastError"]),
        (&json!(0), &json!(null))
    );
}

on_both_with!(faulty_events_are_skipped_and_reported, CalendarHost);
async fn faulty_events_are_skipped_and_reported(app: App, host: CalendarHost) {
    host.events(&[
        event("a", "20261211", "20261215", "SUMMARY:Reserved"),
        event("b", "20261211", "20261211", "SUMMARY:Reserved"),
        event(
            "c",
            "20261211",
            "20261215",
            "SUMMARY:Reserved\nRRULE:FREQ=WEEKLY",
        ),
        "BEGIN:VEVENT\r\nDTSTART;VALUE=DATE:20261211\r\nEND:VEVENT\r\n".into(),
    ]);
    let scene = FeedScene::build(&app, &host, json!({})).await;
    let feed = scene.fetch().await;
    assert_eq!(
        (&feed["skippedCount"], &feed["reservationCount"]),
        (&json!(3), &json!(1))
    );
    let uids: Vec<&Value> = feed["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|warning| &warning["uid"])
        .collect();
    assert_eq!(uids, [&json!("b"), &json!("c"), &json!(null)]);
    host.events(&[event("a", "20261215", "20261211", "SUMMARY:Reserved")]);
    for _ in 0..3 {
        scene.fetch().await;
    }
    assert_eq!(
        scene.stays().await,
        [stay("2026-12-11", "2026-12-15", "confirmed")],
        "a fault cancels nothing"
    );
}

on_both_with!(deleting_a_feed_keeps_its_reservations, CalendarHost);
async fn deleting_a_feed_keeps_its_reservations(app: App, host: CalendarHost) {
    host.events(&[
        event("a", "20261120", "20261125", "SUMMARY:Reserved"),
        event("b", "20261211", "20261215", "SUMMARY:Reserved"),
    ]);
    let scene = FeedScene::build(&app, &host, json!({})).await;
    scene.fetch().await;
    scene.delete("").await.data();
    scene.delete("").await.error(404);
    assert_eq!(scene.api.get("/calendar-feeds").await.data(), json!([]));
    let records = scene.api.get("/reservations").await.data();
    assert!(
        records
            .as_array()
            .unwrap()
            .iter()
            .all(|record| record["origin"] == "manual" && record["status"] == "confirmed")
    );
    let again = FeedScene::build(&app, &host, json!({ "ambiguous": "import" })).await;
    again.fetch().await;
    again.delete("?cancelUpcoming=true").await.data();
    assert_eq!(
        again.stays().await,
        [
            stay("2026-11-20", "2026-11-25", "confirmed"),
            stay("2026-12-11", "2026-12-15", "cancelled")
        ]
    );
}

on_both_with!(
    deleting_a_feed_gives_its_reservations_distinct_change_times,
    CalendarHost
);
async fn deleting_a_feed_gives_its_reservations_distinct_change_times(
    app: App,
    host: CalendarHost,
) {
    let night = |day: u32| {
        event(
            &format!("e{day}"),
            &format!("202701{day:02}"),
            &format!("202701{:02}", day + 1),
            "SUMMARY:Reserved",
        )
    };
    let events: Vec<String> = (1..=25).map(night).collect();
    host.events(&events);
    let scene = FeedScene::build(&app, &host, json!({})).await;
    scene.fetch().await;
    app.clock.advance(Duration::from_secs(1));
    let since = app.clock.now();
    scene.delete("").await.data();
    let changed = scene
        .api
        .get(&format!("/reservations?limit=100&updatedSince={since}"))
        .await
        .data();
    let changed = changed.as_array().unwrap();
    assert_eq!(changed.len(), 25);
    assert!(
        changed.chunks(11).all(
            |page| page[0]["updatedAt"] != page[page.len() - 1]["updatedAt"] || page.len() < 11
        )
    );
}

on_both_with!(the_address_is_a_secret, CalendarHost);
async fn the_address_is_a_secret(app: App, host: CalendarHost) {
    let scene = FeedScene::build(&app, &host, json!({})).await;
    scene.fetch().await;
    let feeds = scene.api.get("/calendar-feeds").await.data();
    assert_eq!(feeds[0]["url"], "https://127.0.0.1/…");
    let log = scene.api.get("/audit-log").await.data();
    assert!(
        log.to_string().contains("createCalendarFeed") && !log.to_string().contains("export.ics"),
        "{log}"
    );
    let twice = json!({ "propertyId": scene.flat, "url": host.url, "channel": "airbnb" });
    let refused = scene.api.post("/calendar-feeds", twice).await.error(409);
    assert!(!refused.to_string().contains("export.ics"));
}

on_both_with!(members_add_a_feed_and_decide_on_held_entries, CalendarHost);
async fn members_add_a_feed_and_decide_on_held_entries(app: App, host: CalendarHost) {
    let org = app.org().await;
    let api = org.key().await;
    org.record(
        "property",
        json!({ "name": "Casa Azul", "timezone": "Europe/Madrid", "country": "ES" }),
    )
    .await;
    host.events(&[
        event(
            "a",
            "20261211",
            "20261215",
            "SUMMARY:CLOSED - Not available",
        ),
        event(
            "b",
            "20261220",
            "20261222",
            "SUMMARY:CLOSED - Not available",
        ),
    ]);
    let browser = marta(&org).await;
    assert!(
        page(&browser, "/console/calendars")
            .await
            .contains("There are no calendar feeds")
    );
    let form = Form::of(
        &page(&browser, "/console/calendars/new").await,
        "/calendars/new",
    );
    let again = form
        .clone()
        .with("flat", "Nowhere")
        .with("url", &host.url)
        .with("channel", "airbnb")
        .refused(&browser, 400)
        .await;
    assert!(
        plain(&again).contains("“Nowhere” is not the name of exactly one flat"),
        "{again}"
    );
    let (location, _) = form
        .with("flat", "Casa Azul")
        .with("url", &host.url)
        .with("channel", "airbnb")
        .done(&browser, "created")
        .await;
    let path = location.split('?').next().unwrap().to_owned();
    let read = Form::of(&page(&browser, &path).await, "/refresh")
        .send(&browser)
        .await;
    assert_eq!(read.status, 303, "{}", read.body);
    let html = page(&browser, &path).await;
    assert!(
        !html.contains("export.ics") && html.contains("11–15 December"),
        "{html}"
    );
    let held = api
        .get(&format!(
            "/calendar-feeds/{}/held",
            path.rsplit('/').next().unwrap()
        ))
        .await
        .data();
    for (button, entry) in [("confirm", &held[0]), ("refuse", &held[1])] {
        let form = Form::of(&page(&browser, &path).await, "/held")
            .with(button, entry["id"].as_str().unwrap());
        form.done(&browser, "saved").await;
    }
    let records = api.get("/reservations").await.data();
    let status = |from: &str| {
        records
            .as_array()
            .unwrap()
            .iter()
            .find(|record| record["checkIn"] == from)
            .unwrap()["status"]
            .clone()
    };
    assert_eq!(
        [status("2026-12-11"), status("2026-12-20")],
        [json!("confirmed"), json!("cancelled")]
    );
    assert!(
        page(&browser, &path)
            .await
            .contains("Nothing waits for a decision")
    );
    let asked = page(&browser, &format!("{path}/delete")).await;
    Form::of(&asked, "/delete").done(&browser, "removed").await;
    assert_eq!(api.get("/calendar-feeds").await.data(), json!([]));
}

on_both_with!(a_feed_needs_its_permissions_and_its_flat, CalendarHost);
async fn a_feed_needs_its_permissions_and_its_flat(app: App, host: CalendarHost) {
    let scene = FeedScene::build(&app, &host, json!({})).await;
    let body = json!({
        "propertyId": scene.flat,
        "url": "https://127.0.0.1:1/a.ics",
        "channel": "airbnb",
    });
    let refresh = format!("/calendar-feeds/{}/refresh", scene.feed);
    for missing in [Permission::ModifyProperties, Permission::ViewReservations] {
        let api = scene.org.key_without(missing).await;
        api.post("/calendar-feeds", body.clone()).await.error(403);
        api.post(&refresh, json!({})).await.error(403);
    }
    let other = scene.org.property(None, &[]).await;
    let limited = scene.org.limited(&[other]).await;
    assert_eq!(limited.get("/calendar-feeds").await.data(), json!([]));
    limited.post(&refresh, json!({})).await.error(404);
    limited.post("/calendar-feeds", body).await.error(404);
    scene.org.delete_record("property", scene.flat).await;
    assert_eq!(
        scene.api.get("/calendar-feeds").await.data(),
        json!([]),
        "the feed goes with its flat"
    );
}

on_both!(private_addresses_are_refused);
async fn private_addresses_are_refused(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let flat = org.property(None, &[]).await;
    for url in [
        "https://127.0.0.1/a.ics",
        "https://10.0.0.1/a.ics",
        "http://example.com/a.ics",
        "https://localhost/a.ics",
        "webcal://example.com/a.ics",
    ] {
        let response = api
            .post(
                "/calendar-feeds",
                json!({ "propertyId": flat, "url": url, "channel": "airbnb" }),
            )
            .await;
        assert_eq!(response.issues(), ["url"], "{url}");
    }
}
