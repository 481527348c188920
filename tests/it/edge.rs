//! The HTTP edge (contract: Requests; spec: Errors).

use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::support::{Answer, App, on_both};

on_both! {
    async fn what_is_no_route_is_not_found(app: App) {
        let api = app.org().await.key().await;
        for (method, path) in [
            (Method::GET, "/no-such-thing"), (Method::DELETE, "/portals"), (Method::PUT, "/portals"), (Method::OPTIONS, "/portals"),
            (Method::TRACE, "/portals"), (Method::GET, "/portals/"), (Method::GET, "//portals"), (Method::GET, "/Portals"), (Method::GET, "/portals/%ff"),
            (Method::GET, "/portals/00000000000000000000000000000000"), (Method::GET, "/portals/%00"), (Method::GET, "/reservations/%00/guest-link"),
        ] {
            let error = api.send(method, path, None).await.error(404);
            assert_eq!((&error["type"], &error["code"]), (&json!("not_found_error"), &json!("NOT_FOUND")), "{path}");
        }
        // A route that is not there is not there for anyone; an id is judged once the caller is known.
        app.anonymous().get("/no-such-thing").await.error(404);
        app.anonymous().get("/portals/nonsense").await.error(401);
        for path in ["/guest/v1/stays/%00", "/guest/v1/stays/%ff", "/stay/%00", "/stay/%ff", "/platform/v1/organizations/%ff"] {
            Answer::of(app.http.get(format!("{}{path}", app.base))).await.error(404);
        }
        assert_eq!(api.send(Method::DELETE, "/webhook-subscriptions?target_url=%00", None).await.issues(), ["target_url"]);
        for path in ["/", "/api/v1", "/platform/v1/x", "/guest/v1/x", "/stay", "/stay/"] {
            Answer::of(app.http.get(format!("{}{path}", app.base))).await.error(404);
        }
    }

    async fn a_body_that_is_not_a_json_object_is_refused(app: App) {
        let api = app.org().await.key().await;
        let send = |kind: Option<&str>, body: Vec<u8>| {
            let request = api.request(Method::POST, "/portals").body(body);
            Answer::of(match kind { Some(kind) => request.header("content-type", kind), None => request })
        };
        let deep = format!("{{\"name\":{}1{}}}", "[".repeat(200), "]".repeat(200)).into_bytes();
        let large = format!("{{\"name\":\"{}\"}}", "x".repeat(1 << 20)).into_bytes();
        for body in [
            b"".to_vec(), b"{".to_vec(), b"[]".to_vec(), b"null".to_vec(), b"\"x\"".to_vec(), b"\xef\xbb\xbf{\"name\":\"x\"}".to_vec(),
            b"{\"name\":\"x\",\"name\":\"y\"}".to_vec(), b"{\"name\":\"\\u0000\"}".to_vec(), b"{\"name\":\"\\ud800\"}".to_vec(),
            b"{\"name\":\"\xff\"}".to_vec(), deep, large,
        ] {
            let shown = String::from_utf8_lossy(&body[..body.len().min(40)]).into_owned();
            let error = send(Some("application/json"), body).await.error(400);
            assert_eq!(error["code"], "VALIDATION_ERROR", "{shown}");
            assert!(error["details"]["issues"][0]["path"].is_array(), "{shown}");
        }
        let good = b"{\"name\":\"x\"}".to_vec();
        for kind in ["text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin-1", "nonsense"] {
            send(Some(kind), good.clone()).await.error(400);
        }
        let encoded = api.request(Method::POST, "/portals").header("content-encoding", "gzip").header("content-type", "application/json").body(good.clone());
        Answer::of(encoded).await.error(400);
        send(None, good).await.data();
        send(Some("application/JSON; charset=\"UTF-8\""), b"{\"name\":\"y\"}".to_vec()).await.data();
        assert_eq!(api.get("/portals").await.data().as_array().unwrap().len(), 2);
    }

    async fn head_is_get_without_a_body(app: App) {
        let api = app.org().await.key().await;
        let response = api.request(Method::HEAD, "/portals").send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert!(response.headers().contains_key("x-request-id"));
        assert_eq!(response.text().await.unwrap(), "");
    }

    async fn large_answers_are_compressed(app: App) {
        let api = app.org().await.key().await;
        for number in 0..30 {
            api.post("/portals", json!({ "name": format!("Portal {number}") })).await.data();
        }
        for encoding in ["gzip", "br"] {
            let response = api.request(Method::GET, "/portals").header("accept-encoding", encoding).send().await.unwrap();
            assert_eq!(response.headers()["content-encoding"], encoding);
        }
        let small = api.request(Method::GET, "/tags").header("accept-encoding", "gzip").send().await.unwrap();
        assert!(!small.headers().contains_key("content-encoding"));
    }

    async fn an_allowed_origin_may_ask(app: App, "--cors-origin=https://app.example") {
        let preflight = |origin: &'static str| {
            let request = app.http.request(Method::OPTIONS, format!("{}/api/v1/portals", app.base)).header("origin", origin);
            request.header("access-control-request-method", "POST").send()
        };
        let allowed = preflight("https://app.example").await.unwrap();
        assert_eq!((allowed.status().as_u16(), allowed.headers()["access-control-allow-origin"].to_str().unwrap()), (200, "https://app.example"));
        assert!(!preflight("https://other.example").await.unwrap().headers().contains_key("access-control-allow-origin"));
    }

    async fn the_pages_beside_answer(app: App) {
        for (path, kind) in [("/healthz", "text/plain"), ("/readyz", "text/plain"), ("/metrics", "text/plain"), ("/docs", "text/html"), ("/api/v1/openapi.json", "application/json")] {
            let response = app.http.get(format!("{}{path}", app.base)).send().await.unwrap();
            assert_eq!(response.status(), 200, "{path}");
            assert!(response.headers()["content-type"].to_str().unwrap().starts_with(kind), "{path}");
            assert!(response.headers().contains_key("x-request-id"), "{path}");
        }
        app.org().await.key().await.get("/portals").await.data();
        let metrics = app.http.get(format!("{}/metrics", app.base)).send().await.unwrap().text().await.unwrap();
        for name in ["vestibule_requests_total{operation=\"listPortals\",status=\"200\"}", "vestibule_request_duration_seconds_bucket", "vestibule_database_queue"] {
            assert!(metrics.contains(name), "{name}\n{metrics}");
        }
        let page = app.http.get(format!("{}/docs", app.base)).send().await.unwrap().text().await.unwrap();
        assert!(!page.contains("http://") && !page.contains("https://"), "nothing from elsewhere: {page}");
    }

    async fn credentials_are_taken_from_one_bearer_header(app: App) {
        let token = app.org().await.key().await.token.unwrap();
        let url = format!("{}/api/v1/portals", app.base);
        let send = |values: Vec<String>| {
            let request = values.into_iter().fold(app.http.get(&url), |request, value| request.header("authorization", value));
            Answer::of(request)
        };
        send(vec![format!("Bearer {token}")]).await.data();
        send(vec![format!("bearer   {token}")]).await.data();
        for values in [
            vec![token.clone()], vec![format!("Basic {token}")], vec!["Bearer ".into()], vec![format!("Bearer {token} x")],
            vec![format!("Bearer {token}"), format!("Bearer {token}")],
        ] {
            let error = send(values).await.error(401);
            assert_eq!((&error["type"], &error["code"]), (&json!("authentication_error"), &json!("UNAUTHORIZED")));
        }
    }

    async fn integers_may_be_written_with_a_fraction_of_nothing(app: App) {
        let org = app.org().await;
        let flat = org.property(None, &[]).await;
        let text = format!(
            "{{\"records\":[{{\"kind\":\"instruction\",\"id\":\"{}\",\"data\":{{\"scopeId\":\"{flat}\",\"title\":\"I\",\"position\":1.0}}}}]}}",
            crate::support::new_id()
        );
        let request = app.platform().request(Method::POST, &org.path("/sync")).header("content-type", "application/json").body(text);
        Answer::of(request).await.data();
        assert_eq!(org.key().await.get("/instructions").await.data()[0]["position"], Value::from(1));
    }
}

/// A client that never finishes its headers is let go; the test waits the ten seconds, since the deadline is the runtime's.
#[tokio::test(flavor = "multi_thread")]
async fn a_slow_client_is_let_go_while_others_are_served() {
    let app = App::on_sqlite(&[]).await;
    let mut slow = tokio::net::TcpStream::connect(app.server.address).await.unwrap();
    slow.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n").await.unwrap();
    let answer = app.http.get(format!("{}/healthz", app.base)).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    let mut rest = Vec::new();
    let ended = tokio::time::timeout(std::time::Duration::from_secs(15), slow.read_to_end(&mut rest)).await;
    assert!(ended.is_ok(), "the connection is closed");
}
