//! Clocks that jump ahead, or are set back.

use std::time::Duration;

use engine::access::Permission;
use engine::clock::Clock;
use reqwest::Method;
use serde_json::{Value, json};
use strum::VariantArray;
use vestibule::server::Server;

use crate::support::{Answer, App, Org, on_both, serve_flags};

/// A server on the same database whose clock says something else.
struct Elsewhen {
    server: Server,
    http: reqwest::Client,
}

impl Elsewhen {
    async fn start(app: &App, now: &str) -> Self {
        let clock = Clock::manual(now.parse().unwrap());
        let server = Server::start(serve_flags(&app.database_url, &[]), clock).await.unwrap();
        Self { server, http: app.http.clone() }
    }

    async fn send(&self, method: Method, path: &str, token: &str, key: &str, body: Value) -> Answer {
        let request = self.http.request(method, format!("http://{}/api/v1{path}", self.server.address)).bearer_auth(token);
        Answer::of(request.header("idempotency-key", key).json(&body)).await
    }
}

async fn expiring_key(org: &Org<'_>, expires_at: &str) -> String {
    let body = json!({ "name": "key", "permissions": Permission::VARIANTS, "expiresAt": expires_at });
    let key = org.app.platform().ok(Method::POST, &org.path("/api-keys"), Some(body)).await;
    key["token"].as_str().unwrap().to_owned()
}

on_both! {
    async fn a_clock_that_jumps_a_day_ahead_ends_what_has_had_its_time(app: App) {
        let org = app.org().await;
        let api = org.key().await;
        let (tonight, next_week) = (expiring_key(&org, "2026-11-22T02:00:00Z").await, expiring_key(&org, "2026-11-28T00:00:00Z").await);
        let stay = org.reservation(Some(org.property(None, &[]).await)).await;
        let token = org.stay_token(stay).await;
        let first = api.post_with_key("/portals", "k", json!({ "name": "One" })).await.data();
        let path = format!("/portals/{}", first["id"].as_str().unwrap());
        app.api(&tonight).get("/portals").await.data();

        app.clock.advance(Duration::from_secs(25 * 3_600));
        app.api(&tonight).get("/portals").await.error(401);
        app.api(&next_week).get("/portals").await.data();
        app.stay(&token, "").await.data();
        // The key's day is over, swept or not: it is a new request, which finds the name taken.
        api.post_with_key("/portals", "k", json!({ "name": "One" })).await.error(409);
        app.server.sweep_once().await;
        let other = api.post_with_key("/portals", "k", json!({ "name": "Two" })).await;
        assert_eq!((other.status, other.header("idempotency-replayed")), (201, None));
        let changed = api.patch(&path, json!({ "data": { "supportNotes": "later" } })).await.data();
        assert_eq!(changed["updatedAt"], "2026-11-22T10:30:00.000Z");
        app.platform().ok(Method::PUT, &org.path(""), Some(json!({ "name": "Still there" }))).await;
        for pages in ["/readyz", "/metrics", "/healthz"] {
            assert_eq!(app.http.get(format!("{}{pages}", app.base)).send().await.unwrap().status(), 200, "{pages}");
        }
    }

    /// As after a restart of a machine whose clock was set back, or on a second node whose clock is slow.
    async fn a_clock_that_is_set_back_takes_nothing_back(app: App) {
        let org = app.org().await;
        let api = org.key().await;
        let key = api.token.clone().unwrap();
        let soon = expiring_key(&org, "2026-11-21T09:35:00Z").await;
        let first = api.post_with_key("/portals", "k", json!({ "name": "One" })).await;
        let path = format!("/portals/{}", first.body["data"]["id"].as_str().unwrap());
        let mut last = first.body["data"]["updatedAt"].as_str().unwrap().to_owned();
        let behind = Elsewhen::start(&app, "2026-11-21T09:20:00Z").await;

        let again = behind.send(Method::POST, "/portals", &key, "k", json!({ "name": "One" })).await;
        assert_eq!((again.status, again.header("idempotency-replayed"), &again.body), (201, Some("true"), &first.body));
        for number in 0..6 {
            let body = json!({ "data": { "supportNotes": format!("{number}") }, "expectedUpdatedAt": last });
            let changed = if number % 3 == 2 {
                api.patch(&path, body).await.data()
            } else {
                behind.send(Method::PATCH, &path, &key, "-", body).await.data()
            };
            let now = changed["updatedAt"].as_str().unwrap().to_owned();
            assert!(now > last, "{last}, then {now}");
            last = now;
        }
        let second = behind.send(Method::POST, "/portals", &key, "later", json!({ "name": "Two" })).await.data();
        assert_eq!(api.post_with_key("/portals", "later", json!({ "name": "Two" })).await.header("idempotency-replayed"), Some("true"));
        assert!(second["updatedAt"].as_str() >= Some("2026-11-21T09:20:00.000Z"), "{second}");
        behind.send(Method::GET, "/portals", &soon, "-", json!({})).await.data();
        app.clock.advance(Duration::from_secs(6 * 60));
        app.api(&soon).get("/portals").await.error(401);
        behind.server.sweep_once().await;
        let again = api.post_with_key("/portals", "k", json!({ "name": "One" })).await;
        assert_eq!(again.header("idempotency-replayed"), Some("true"), "a slow node sweeps nothing away");
        behind.server.stop().await;
    }
}
