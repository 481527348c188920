//! Answers from memory: never older than the last commit, whoever made it, and named by a tag.

use std::io::Read as _;

use reqwest::Method;
use serde_json::{Value, json};
use vestibule::access::Permission;

use crate::support::{Answer, Api, App, on_both};

async fn names(api: &Api) -> Vec<Value> {
    api.get("/portals").await.data().as_array().unwrap().iter().map(|row| row["name"].clone()).collect()
}

async fn with_header(api: &Api, path: &str, name: &str, value: &str) -> Answer {
    Answer::of(api.request(Method::GET, path).header(name, value)).await
}

on_both! {
    async fn a_write_on_any_node_is_seen_at_once(app: App) {
        let org = app.org().await;
        let api = org.key().await;
        let other_node = app.second_node(&[]).await;
        let there = other_node.api(api.token.as_deref().unwrap());
        for number in 0..5 {
            let writer = if number % 2 == 0 { &api } else { &there };
            writer.post("/portals", json!({ "name": format!("Portal {number}") })).await.data();
            for reader in [&api, &there] {
                // Twice, so that the second is from memory.
                assert_eq!((names(reader).await.len(), names(reader).await.len()), (number + 1, number + 1));
            }
        }
    }

    async fn a_token_dies_at_once_on_every_node(app: App) {
        let org = app.org().await;
        let (api, id) = org.key_and_id(&Permission::ALL).await;
        let other_node = app.second_node(&[]).await;
        let there = other_node.api(api.token.as_deref().unwrap());
        for reader in [&api, &there, &api, &there] {
            reader.get("/portals").await.data();
        }
        app.platform().ok(Method::DELETE, &org.path(&format!("/api-keys/{id}")), None).await;
        for reader in [&api, &there] {
            reader.get("/portals").await.error(401);
        }
    }

    async fn a_token_expires_though_nothing_is_written(app: App) {
        let org = app.org().await;
        let body = json!({ "name": "key", "permissions": ["view_properties"], "expiresAt": "2026-11-21T09:31:00Z" });
        let key = app.platform().ok(Method::POST, &org.path("/api-keys"), Some(body)).await;
        let api = app.api(key["token"].as_str().unwrap());
        api.get("/portals").await.data();
        api.get("/portals").await.data();
        app.clock.advance(std::time::Duration::from_secs(60));
        api.get("/portals").await.error(401);
    }

    async fn what_is_kept_is_for_the_same_reach_and_permissions(app: App) {
        let org = app.org().await;
        let api = org.key().await;
        let (mine, theirs) = (org.property(None, &[]).await, org.property(None, &[]).await);
        let count = async |api: &Api| api.get("/properties").await.data().as_array().unwrap().len();
        let (one, both) = (org.limited(&[mine]).await, org.limited(&[mine, theirs]).await);
        for _ in 0..2 {
            assert_eq!((count(&api).await, count(&one).await, count(&both).await), (2, 1, 2));
        }
        assert_eq!(api.get("/properties?limit=1").await.data().as_array().unwrap().len(), 1);
        org.key_with(&[Permission::ViewTasks]).await.get("/properties").await.error(403);
        app.org().await.key().await.get("/properties").await.data().as_array().map(|rows| assert!(rows.is_empty())).unwrap();
    }

    async fn records_that_come_and_go_are_never_stale(app: App) {
        let org = app.org().await;
        let api = org.key().await;
        let flat = org.property(None, &[]).await;
        let limited = org.limited(&[flat]).await;
        for number in 1..4 {
            let stay = org.reservation(Some(flat)).await;
            for reader in [&api, &limited] {
                let listed = async || reader.get("/reservations").await.data().as_array().unwrap().len();
                assert_eq!((listed().await, listed().await), (number, number));
                reader.get(&format!("/reservations/{stay}")).await.data();
            }
        }
        // What a limited caller sees of the configuration hangs on records, too.
        let tag = org.tag().await;
        let step = api.post("/precheck-steps", json!({ "stepType": "main", "nickname": "Main" })).await.data()["id"].clone();
        let scopes = json!({ "entityType": "precheck_step", "entityId": step, "tagIds": [tag] });
        api.post("/entity-scopes/add", scopes).await.data();
        assert_eq!(limited.get("/precheck-steps").await.data(), json!([]));
        let data = json!({ "name": "Flat", "timezone": "Europe/Madrid", "country": "ES", "tagIds": [tag] });
        org.put_record("property", flat, data).await;
        assert_eq!(limited.get("/precheck-steps").await.data().as_array().unwrap().len(), 1);
    }

    async fn a_state_has_a_tag(app: App) {
        let org = app.org().await;
        let api = org.key().await;
        api.post("/portals", json!({ "name": "First" })).await.data();
        let token = org.stay_token(org.reservation(None).await).await;
        let paths = ["/portals", "/portal-brandings", "/reservations", "/members", "/webhook-event-types", "/cover-icons?query=wifi"];
        for path in paths {
            let (one, other) = (api.get(path).await, api.get(path).await);
            let tag = one.header("etag").unwrap().to_owned();
            assert_eq!(other.header("etag"), Some(&*tag), "{path}");
            assert_ne!(one.body["meta"]["requestId"], other.body["meta"]["requestId"], "{path}");
            let unchanged = with_header(&api, path, "if-none-match", &format!("\"other\", W/{tag}")).await;
            assert_eq!((unchanged.status, &unchanged.body, unchanged.header("etag")), (304, &json!(""), Some(&*tag)), "{path}");
            assert!(unchanged.header("x-request-id").is_some());
            assert_eq!(with_header(&api, path, "if-none-match", "\"other\"").await.data(), one.data(), "{path}");
        }
        let view = app.stay(&token, "").await;
        assert!(view.header("etag").is_some() && view.header("cache-control") == Some("no-store"));
        let before = api.get("/portals").await.header("etag").unwrap().to_owned();
        api.post("/portals", json!({ "name": "Second" })).await.data();
        let after = with_header(&api, "/portals", "if-none-match", &before).await;
        assert_eq!((after.status, after.data().as_array().unwrap().len()), (200, 2));
    }

    async fn what_is_compressed_says_the_same(app: App) {
        let org = app.org().await;
        let api = org.key().await;
        for number in 0..20 {
            api.post("/portals", json!({ "name": format!("Casa {number}") })).await.data();
        }
        let plain = api.get("/portals").await;
        for _ in 0..2 {
            let sent = api.request(Method::GET, "/portals").header("accept-encoding", "br;q=0.1, gzip").send().await.unwrap();
            assert_eq!(sent.headers()["content-encoding"], "gzip");
            assert_eq!(sent.headers()["vary"], "accept-encoding");
            let (tag, id) = (sent.headers()["etag"].to_str().unwrap().to_owned(), sent.headers()["x-request-id"].clone());
            let bytes = sent.bytes().await.unwrap();
            let mut text = String::new();
            flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
            let body: Value = serde_json::from_str(&text).unwrap();
            assert_eq!((&body["data"], body["meta"]["requestId"].as_str().unwrap()), (&plain.body["data"], id.to_str().unwrap()));
            assert_eq!(with_header(&api, "/portals", "if-none-match", &tag).await.status, 304);
        }
    }

    async fn each_coding_of_an_answer_has_a_tag_of_its_own(app: App) {
        let org = app.org().await;
        let api = org.key().await;
        // Kept in memory, made anew each time, and the document.
        for path in ["/cover-icons?limit=100", "/webhook-event-types", "/openapi.json"] {
            let mut tags = std::collections::BTreeSet::new();
            for coding in ["identity", "gzip", "br"] {
                let sent = api.request(Method::GET, path).header("accept-encoding", coding).send().await.unwrap();
                let tag = sent.headers()["etag"].to_str().unwrap().to_owned();
                assert_eq!(with_header(&api, path, "if-none-match", &tag).await.status, 304, "{path} {coding}");
                tags.insert(tag);
            }
            assert_eq!(tags.len(), 3, "{path}: {tags:?}");
        }
    }
}
