//! Tests of the HTTP layer in front of all operations: routes, bodies, compression, CORS,
//! authentication headers and validation (rules: errors).

use engine::access::Permission;
use reqwest::Method;
use serde_json::{Value, json};
use strum::VariantArray;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use test_support::{ApiResponse, App, on_both};

on_both!(unknown_routes_and_methods_are_404);
async fn unknown_routes_and_methods_are_404(app: App) {
    let api = app.org().await.key().await;
    for (method, path) in [
        (Method::GET, "/no-such-thing"),
        (Method::DELETE, "/portals"),
        (Method::PUT, "/portals"),
        (Method::OPTIONS, "/portals"),
        (Method::TRACE, "/portals"),
        (Method::GET, "/portals/"),
        (Method::GET, "//portals"),
        (Method::GET, "/Portals"),
        (Method::GET, "/portals/%ff"),
        (Method::GET, "/portals/00000000000000000000000000000000"),
        (Method::GET, "/portals/%00"),
        (Method::GET, "/reservations/%00/guest-link"),
    ] {
        let error = api.send(method, path, None).await.error(404);
        assert_eq!(
            (&error["type"], &error["code"]),
            (&json!("not_found_error"), &json!("NOT_FOUND")),
            "{path}"
        );
    }
    // A path without a route gets a 404 with or without a credential. A malformed id in a path gets
    // a 404 only after authentication.
    app.anonymous().get("/no-such-thing").await.error(404);
    app.anonymous().get("/portals/nonsense").await.error(401);
    for path in [
        "/guest/v1/stays/%00",
        "/guest/v1/stays/%ff",
        "/platform/v1/organizations/%ff",
    ] {
        ApiResponse::of(app.http.get(format!("{}{path}", app.base)))
            .await
            .error(404);
    }
    assert_eq!(
        api.send(
            Method::DELETE,
            "/webhook-subscriptions?target_url=%00",
            None
        )
        .await
        .issues(),
        ["target_url"]
    );
    for path in ["/", "/api/v1", "/platform/v1/x", "/guest/v1/x"] {
        ApiResponse::of(app.http.get(format!("{}{path}", app.base)))
            .await
            .error(404);
    }
}

on_both!(a_body_that_is_not_a_json_object_is_refused);
async fn a_body_that_is_not_a_json_object_is_refused(app: App) {
    let api = app.org().await.key().await;
    let send = |kind: Option<&str>, body: Vec<u8>| {
        let request = api.request(Method::POST, "/portals").body(body);
        ApiResponse::of(match kind {
            Some(kind) => request.header("content-type", kind),
            None => request,
        })
    };
    let deep = format!("{{\"name\":{}1{}}}", "[".repeat(200), "]".repeat(200)).into_bytes();
    let large = format!("{{\"name\":\"{}\"}}", "x".repeat(1 << 20)).into_bytes();
    for body in [
        b"".to_vec(),
        b"{".to_vec(),
        b"[]".to_vec(),
        b"null".to_vec(),
        b"\"x\"".to_vec(),
        b"\xef\xbb\xbf{\"name\":\"x\"}".to_vec(),
        b"{\"name\":\"x\",\"name\":\"y\"}".to_vec(),
        b"{\"name\":\"\\u0000\"}".to_vec(),
        b"{\"name\":\"\\ud800\"}".to_vec(),
        b"{\"name\":\"\xff\"}".to_vec(),
        deep,
        large,
    ] {
        let shown = String::from_utf8_lossy(&body[..body.len().min(40)]).into_owned();
        let error = send(Some("application/json"), body).await.error(400);
        assert_eq!(error["code"], "VALIDATION_ERROR", "{shown}");
        assert!(error["details"]["issues"][0]["path"].is_array(), "{shown}");
    }
    let good = b"{\"name\":\"x\"}".to_vec();
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/json; charset=latin-1",
        "nonsense",
    ] {
        send(Some(kind), good.clone()).await.error(400);
    }
    let encoded = api
        .request(Method::POST, "/portals")
        .header("content-encoding", "gzip")
        .header("content-type", "application/json")
        .body(good.clone());
    ApiResponse::of(encoded).await.error(400);
    send(None, good).await.data();
    send(
        Some("application/JSON; charset=\"UTF-8\""),
        b"{\"name\":\"y\"}".to_vec(),
    )
    .await
    .data();
    assert_eq!(
        api.get("/portals").await.data().as_array().unwrap().len(),
        2
    );
}

on_both!(head_answers_like_get_without_a_body);
async fn head_answers_like_get_without_a_body(app: App) {
    let api = app.org().await.key().await;
    let response = api.request(Method::HEAD, "/portals").send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert!(response.headers().contains_key("x-request-id"));
    assert_eq!(response.text().await.unwrap(), "");
}

on_both!(large_answers_are_compressed);
async fn large_answers_are_compressed(app: App) {
    let api = app.org().await.key().await;
    for number in 0..30 {
        api.post("/portals", json!({ "name": format!("Portal {number}") }))
            .await
            .data();
    }
    for encoding in ["gzip", "br"] {
        let response = api
            .request(Method::GET, "/portals")
            .header("accept-encoding", encoding)
            .send()
            .await
            .unwrap();
        assert_eq!(response.headers()["content-encoding"], encoding);
    }
    // A client that forbids every content coding gets the uncompressed response.
    for encoding in ["identity;q=0", "*;q=0", "identity;q=0, zstd"] {
        let response = api
            .request(Method::GET, "/portals")
            .header("accept-encoding", encoding)
            .send()
            .await
            .unwrap();
        assert_eq!(
            (
                response.status().as_u16(),
                response.headers().get("content-encoding")
            ),
            (200, None),
            "{encoding}"
        );
        assert!(
            response.text().await.unwrap().contains("Portal 29"),
            "{encoding}"
        );
    }
    let small = api
        .request(Method::GET, "/tags")
        .header("accept-encoding", "gzip")
        .send()
        .await
        .unwrap();
    assert!(!small.headers().contains_key("content-encoding"));
}

on_both!(
    cors_preflight_allows_only_configured_origins,
    "--cors-origin=https://app.example"
);
async fn cors_preflight_allows_only_configured_origins(app: App) {
    let preflight = |origin: &'static str| {
        let request = app
            .http
            .request(Method::OPTIONS, format!("{}/api/v1/portals", app.base))
            .header("origin", origin);
        request
            .header("access-control-request-method", "POST")
            .send()
    };
    let allowed = preflight("https://app.example").await.unwrap();
    assert_eq!(
        (
            allowed.status().as_u16(),
            allowed.headers()["access-control-allow-origin"]
                .to_str()
                .unwrap()
        ),
        (200, "https://app.example")
    );
    let refused = preflight("https://other.example").await.unwrap();
    assert!(
        !refused
            .headers()
            .contains_key("access-control-allow-origin")
    );
    assert_eq!(refused.status(), 404);
    let without_origin = app
        .http
        .request(Method::OPTIONS, format!("{}/api/v1/portals", app.base))
        .send()
        .await
        .unwrap();
    assert_eq!(without_origin.status(), 404);
}

on_both!(
    an_allowed_origin_may_send_and_read_what_assistants_need,
    "--cors-origin=https://app.example"
);
async fn an_allowed_origin_may_send_and_read_what_assistants_need(app: App) {
    let sent = "authorization, content-type, accept, idempotency-key, if-none-match, \
        last-event-id, mcp-protocol-version, mcp-session-id, traceparent";
    for (path, method) in [
        ("/api/v1/portals", "GET"),
        ("/mcp", "POST"),
        ("/mcp/read-only", "POST"),
    ] {
        let request = app
            .http
            .request(Method::OPTIONS, format!("{}{path}", app.base))
            .header("origin", "https://app.example");
        let request = request
            .header("access-control-request-method", method)
            .header("access-control-request-headers", sent);
        let preflight = request.send().await.unwrap();
        let allowed = preflight.headers()["access-control-allow-headers"]
            .to_str()
            .unwrap()
            .to_owned();
        for name in sent.split(", ") {
            assert!(
                allowed.split(',').any(|allowed| allowed.trim() == name),
                "{path} {name}: {allowed}"
            );
        }
        let refused = app
            .http
            .request(Method::POST, format!("{}{path}", app.base))
            .header("origin", "https://app.example");
        let refused = refused
            .header("content-type", "application/json")
            .body("{}")
            .send()
            .await
            .unwrap();
        assert_eq!(refused.status(), 401, "{path}");
        let exposed = refused.headers()["access-control-expose-headers"]
            .to_str()
            .unwrap()
            .to_owned();
        for name in [
            "etag",
            "www-authenticate",
            "x-request-id",
            "retry-after",
            "idempotency-replayed",
            "x-ratelimit-limit",
            "x-ratelimit-remaining",
            "x-ratelimit-reset",
            "mcp-session-id",
        ] {
            assert!(
                exposed.split(',').any(|exposed| exposed.trim() == name),
                "{path} {name}: {exposed}"
            );
        }
    }
}

on_both!(health_metrics_and_docs_are_served);
async fn health_metrics_and_docs_are_served(app: App) {
    for (path, kind) in [
        ("/healthz", "text/plain"),
        ("/readyz", "text/plain"),
        ("/metrics", "text/plain"),
        ("/docs", "text/html"),
        ("/api/v1/openapi.json", "application/json"),
    ] {
        let response = app
            .http
            .get(format!("{}{path}", app.base))
            .send()
            .await
            .unwrap();
        assert_eq!(response.status(), 200, "{path}");
        assert!(
            response.headers()["content-type"]
                .to_str()
                .unwrap()
                .starts_with(kind),
            "{path}"
        );
        assert!(response.headers().contains_key("x-request-id"), "{path}");
    }
    app.org().await.key().await.get("/portals").await.data();
    let metrics = app
        .http
        .get(format!("{}/metrics", app.base))
        .send()
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    for name in [
        "vestibule_requests_total{operation=\"listPortals\",status=\"200\"}",
        "vestibule_request_duration_seconds_bucket",
        "vestibule_database_queue",
    ] {
        assert!(metrics.contains(name), "{name}\n{metrics}");
    }
    let page = app
        .http
        .get(format!("{}/docs", app.base))
        .send()
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    assert!(
        !page.contains("http://") && !page.contains("https://"),
        "nothing from elsewhere: {page}"
    );
}

on_both!(static_documents_are_served_in_each_content_coding);
async fn static_documents_are_served_in_each_content_coding(app: App) {
    for path in ["/docs/scalar.js", "/api/v1/openapi.json"] {
        let send = async |coding: &'static str| {
            app.http
                .get(format!("{}{path}", app.base))
                .header("accept-encoding", coding)
                .send()
                .await
                .unwrap()
        };
        let plain = send("identity").await;
        assert!(!plain.headers().contains_key("content-encoding"), "{path}");
        let length = plain.bytes().await.unwrap().len();
        for coding in ["gzip", "br"] {
            let (first, second) = (send(coding).await, send(coding).await);
            assert_eq!(
                (
                    &first.headers()["content-encoding"],
                    &first.headers()["vary"]
                ),
                (
                    &coding.parse().unwrap(),
                    &"accept-encoding".parse().unwrap()
                ),
                "{path}"
            );
            let bytes = first.bytes().await.unwrap();
            assert!(bytes.len() < length / 2, "{path} {coding}");
            assert_eq!(second.bytes().await.unwrap(), bytes);
        }
    }
}

on_both!(credentials_are_read_from_a_single_bearer_header);
async fn credentials_are_read_from_a_single_bearer_header(app: App) {
    let token = app.org().await.key().await.token.unwrap();
    let url = format!("{}/api/v1/portals", app.base);
    let send = |values: Vec<String>| {
        let request = values
            .into_iter()
            .fold(app.http.get(&url), |request, value| {
                request.header("authorization", value)
            });
        ApiResponse::of(request)
    };
    send(vec![format!("Bearer {token}")]).await.data();
    send(vec![format!("bearer   {token}")]).await.data();
    for values in [
        vec![token.clone()],
        vec![format!("Basic {token}")],
        vec!["Bearer ".into()],
        vec![format!("Bearer {token} x")],
        vec![format!("Bearer {token}"), format!("Bearer {token}")],
    ] {
        let error = send(values).await.error(401);
        assert_eq!(
            (&error["type"], &error["code"]),
            (&json!("authentication_error"), &json!("UNAUTHORIZED"))
        );
    }
}

on_both!(integers_may_be_written_with_a_zero_fraction);
async fn integers_may_be_written_with_a_zero_fraction(app: App) {
    let org = app.org().await;
    let flat = org.property(None, &[]).await;
    let text = format!(
        "{{\"records\":[{{\"kind\":\"instruction\",\"id\":\"{}\",\
            \"data\":{{\"scopeId\":\"{flat}\",\"title\":\"I\",\"position\":1.0}}}}]}}",
        test_support::new_id()
    );
    let request = app
        .platform()
        .request(Method::POST, &org.path("/sync"))
        .header("content-type", "application/json")
        .body(text);
    ApiResponse::of(request).await.data();
    assert_eq!(
        org.key().await.get("/instructions").await.data()[0]["position"],
        Value::from(1)
    );
}

on_both!(the_whole_body_is_validated_before_references_are_checked);
#[expect(clippy::too_many_lines, reason = "a table of bodies")]
async fn the_whole_body_is_validated_before_references_are_checked(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let member = test_support::new_id();
    org.member(member, None, Permission::VARIANTS, true).await;
    let connection = org.token_of(member, Permission::VARIANTS).await;
    let (unknown, target) = (test_support::new_id(), "https://client.example/hook");
    let step = api
        .post(
            "/precheck-steps",
            json!({ "stepType": "main", "nickname": "Main" }),
        )
        .await
        .data();
    let step = format!("/precheck-steps/{}", step["id"].as_str().unwrap());
    let manual = api
        .post(
            "/portal-manuals",
            json!({ "nickname": "Oven", "title": "Oven" }),
        )
        .await
        .data();
    let manual = format!("/portal-manuals/{}", manual["id"].as_str().unwrap());
    let ask = |kind: &str| json!({ "kind": kind, "textMlTextId": unknown });
    let asks = |kind: &str, field: &str, value: Value| {
        let mut question = ask(kind);
        question[field] = value;
        question
    };
    let inverted = json!({
        "ruleCategory": "seasonal",
        "seasonalWindows": [{ "startDate": "2026-08-01", "endDate": "2026-07-01" }],
    });
    let new_step = |questions: Value| {
        json!({
            "nickname": "n",
            "stepType": "additional_questions",
            "questions": questions,
        })
    };
    let events: Vec<String> = (0..101)
        .map(|_| test_support::new_id().to_string())
        .collect();
    let (post, patch) = (Method::POST, Method::PATCH);
    for (caller, method, path, body, expected) in [
        // No resource that these bodies name exists. The service nevertheless answers with the
        // issues of the body (400), because it checks the body before it looks the resources
        // up.
        (
            &api,
            &post,
            "/precheck-steps",
            new_step(json!([ask("single_select")])),
            vec!["questions.0.options"],
        ),
        (
            &api,
            &post,
            "/precheck-steps",
            new_step(json!([asks("free_form_input", "options", json!([{}]))])),
            vec!["questions.0.options"],
        ),
        (
            &api,
            &post,
            "/precheck-steps",
            new_step(json!([asks("yes_no", "id", json!(unknown))])),
            vec!["questions.0.id"],
        ),
        (
            &api,
            &post,
            "/precheck-steps",
            new_step(json!([asks(
                "yes_no",
                "conditions",
                json!([{ "questionIndex": 0, "optionIndex": 0 }])
            )])),
            vec!["questions.0.conditions.0"],
        ),
        (
            &api,
            &post,
            "/portal-manuals",
            json!({
                "nickname": "n",
                "title": "t",
                "propertyId": unknown,
                "visibilityRules": [inverted],
            }),
            vec!["visibilityRules.0.seasonalWindows.0.startDate"],
        ),
        (
            &api,
            &post,
            "/portal-manual-categories/reorder",
            json!({ "orderedIds": [unknown, unknown] }),
            vec!["orderedIds"],
        ),
        (
            &api,
            &post,
            "/entity-scopes",
            json!({ "entityType": "manual", "entityId": unknown, "portalSettingsIds": [unknown] }),
            vec!["portalSettingsIds"],
        ),
        // These bodies have issues of several kinds. The service reports all of them at once.
        (
            &api,
            &post,
            "/entity-scopes/add",
            json!({
                "entityType": "manual",
                "entityId": unknown,
                "portalSettingsIds": [unknown],
                "propertyIds": ["x"],
                "zz": 1,
            }),
            vec!["portalSettingsIds", "propertyIds.0", "zz"],
        ),
        (
            &api,
            &post,
            "/precheck-steps",
            json!({
                "nickname": "",
                "stepType": "additional_questions",
                "questions": [
                    ask("multi_select"),
                    asks("free_form_input", "conditions", json!([
                        { "questionIndex": 5, "optionIndex": 0 },
                    ])),
                ],
            }),
            vec![
                "nickname",
                "questions.0.options",
                "questions.1.conditions.0",
            ],
        ),
        (
            &api,
            &patch,
            &step,
            json!({ "data": { "nickname": "", "displayTitleLanguage": "fr" } }),
            vec!["data.displayTitleLanguage", "data.nickname"],
        ),
        (
            &api,
            &patch,
            &step,
            json!({
                "data": {
                    "sortOrder": -1,
                    "questions": [ask("single_select")],
                    "displayTitleLanguage": "fr",
                },
            }),
            vec![
                "data.displayTitleLanguage",
                "data.questions.0.options",
                "data.sortOrder",
            ],
        ),
        (
            &api,
            &patch,
            &manual,
            json!({ "data": { "nickname": "", "iconName": "a", "imageUrl": "https://a/b" } }),
            vec!["data.iconName", "data.imageUrl", "data.nickname"],
        ),
        (
            &api,
            &post,
            "/webhook-subscriptions",
            json!({
                "event": "task.created",
                "targetUrl": "http://x",
                "filters": { "workflowStep": "a:b" },
            }),
            vec!["filters.workflowStep", "targetUrl"],
        ),
        (
            &api,
            &post,
            "/webhook-subscriptions",
            json!({
                "event": "task.created",
                "targetUrl": target,
                "filters": { "propertyIds": events, "workflowStep": "a:b" },
            }),
            vec!["filters.propertyIds", "filters.workflowStep"],
        ),
        (
            &connection,
            &post,
            "/webhook-subscriptions",
            json!({ "event": "workflow.step", "targetUrl": "http://x" }),
            vec!["filters.workflowStep", "targetUrl"],
        ),
        (
            &connection,
            &post,
            "/webhook-subscriptions",
            json!({
                "event": "workflow.step",
                "targetUrl": "http://x",
                "filters": { "propertyIds": [unknown], "zz": 1 },
            }),
            vec![
                "filters.propertyIds",
                "filters.workflowStep",
                "filters.zz",
                "targetUrl",
            ],
        ),
    ] {
        assert_eq!(
            caller
                .send(method.clone(), path, Some(body.clone()))
                .await
                .issues(),
            expected,
            "{method} {path} {body}"
        );
    }
    // An update may send the conditions of a stored question back as the service returned them.
    let text = api
        .post(
            "/translations",
            json!({ "sourceTable": "precheck_question", "text": "Late?" }),
        )
        .await
        .data()["id"]
        .clone();
    let asked = json!([
        { "kind": "yes_no", "textMlTextId": text },
        {
            "kind": "yes_no",
            "textMlTextId": text,
            "conditions": [{ "questionIndex": 0, "optionIndex": 1 }],
        },
    ]);
    api.patch(&step, json!({ "data": { "questions": asked } }))
        .await
        .data();
    let kept = api.get(&step).await.data()["questions"].clone();
    let (first, second) = (&kept[0], &kept[1]);
    let again = json!([
        { "id": first["id"], "kind": "yes_no", "textMlTextId": text },
        {
            "id": second["id"],
            "kind": "yes_no",
            "textMlTextId": text,
            "conditions": second["conditions"],
        },
    ]);
    api.patch(&step, json!({ "data": { "questions": again } }))
        .await
        .data();
    assert_eq!(api.get(&step).await.data()["questions"], kept);
}

on_both!(the_last_timestamps_of_9999_are_accepted);
async fn the_last_timestamps_of_9999_are_accepted(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let body = json!({
        "name": "key",
        "permissions": ["view_properties"],
        "expiresAt": "9999-12-31T23:59:59.999Z",
    });
    let key = app
        .platform()
        .ok(Method::POST, &org.path("/api-keys"), Some(body))
        .await;
    assert_eq!(key["expiresAt"], "9999-12-30T22:00:00.999Z");
    app.api(key["token"].as_str().unwrap())
        .get("/portals")
        .await
        .data();
    let portal = api.post("/portals", json!({ "name": "Casa" })).await.data();
    let late = json!({ "data": {}, "expectedUpdatedAt": "9999-12-31T23:59:59.999Z" });
    api.patch(
        &format!("/portals/{}", portal["id"].as_str().unwrap()),
        late,
    )
    .await
    .error(409);
}

/// The service disconnects a client that never finishes its headers. The test waits for the real
/// ten seconds, because this deadline uses the runtime's clock.
#[tokio::test(flavor = "multi_thread")]
async fn a_slow_client_is_disconnected_while_others_are_served() {
    let app = App::on_sqlite(&[]).await;
    let mut slow = tokio::net::TcpStream::connect(app.server.address)
        .await
        .unwrap();
    slow.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n")
        .await
        .unwrap();
    let response = app
        .http
        .get(format!("{}/healthz", app.base))
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), 200);
    let mut rest = Vec::new();
    let ended = tokio::time::timeout(
        std::time::Duration::from_secs(15),
        slow.read_to_end(&mut rest),
    )
    .await;
    assert!(ended.is_ok(), "the connection is closed");
}
