//! Tests that each refusal tells the client what to do next.

use std::collections::BTreeSet;
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use test_support::{ApiResponse, App, PLATFORM_KEY, new_id, on_both};

async fn with_header(app: &App, path: &str, header: Option<&str>) -> ApiResponse {
    let request = app.http.get(format!("{}{path}", app.base));
    ApiResponse::of(header.into_iter().fold(request, |request, value| {
        request.header("authorization", value)
    }))
    .await
}

fn message(response: &ApiResponse) -> String {
    response.body["error"]["message"]
        .as_str()
        .unwrap()
        .to_owned()
}

on_both!(a_401_explains_the_fault_of_the_credential);
async fn a_401_explains_the_fault_of_the_credential(app: App) {
    let org = app.org().await;
    let issue = async |expires: Option<&str>| {
        let body =
            json!({ "name": "Key", "permissions": ["view_properties"], "expiresAt": expires });
        org.app
            .platform()
            .post(&org.path("/api-keys"), body)
            .await
            .data()
    };
    let key = issue(None).await["token"].as_str().unwrap().to_owned();
    let expiring = issue(Some("2026-11-21T10:00:00Z")).await["token"]
        .as_str()
        .unwrap()
        .to_owned();
    let revoked = issue(None).await;
    app.platform()
        .ok(
            Method::DELETE,
            &org.path(&format!("/api-keys/{}", revoked["id"].as_str().unwrap())),
            None,
        )
        .await;
    app.clock.advance(Duration::from_secs(3_600));
    let bearer = |token: &str| format!("Bearer {token}");
    let mut messages = BTreeSet::new();
    for (path, header, reason, says) in [
        ("/api/v1/portals", None, "credential.missing", "is missing"),
        (
            "/api/v1/portals",
            Some(format!("Basic {key}")),
            "credential.malformed",
            "must be `Bearer`",
        ),
        (
            "/api/v1/portals",
            Some("Bearer ".into()),
            "credential.malformed",
            "is blank",
        ),
        (
            "/api/v1/portals",
            Some(bearer("sk_unknown")),
            "credential.unknown",
            "unknown: it was never issued",
        ),
        (
            "/api/v1/portals",
            Some(bearer("xyz")),
            "credential.unknown",
            "neither an API key",
        ),
        (
            "/api/v1/portals",
            Some(bearer(&expiring)),
            "credential.expired",
            "expired at 2026-11-21T10:00:00Z",
        ),
        (
            "/api/v1/portals",
            Some(bearer(PLATFORM_KEY)),
            "credential.wrong_interface",
            "for /platform/v1",
        ),
        (
            "/platform/v1/organizations",
            Some(bearer(&key)),
            "credential.wrong_interface",
            "are for /api/v1",
        ),
        (
            "/platform/v1/organizations",
            Some(bearer("xyz")),
            "credential.unknown",
            "platform key is unknown",
        ),
    ] {
        let response = with_header(&app, path, header.as_deref()).await;
        assert_eq!(response.error(401)["details"]["key"], reason, "{header:?}");
        assert!(message(&response).contains(says), "{}", message(&response));
        messages.insert(message(&response));
        let challenge = response
            .header("www-authenticate")
            .unwrap_or_default()
            .to_owned();
        let is_told = path.starts_with("/api/v1") && reason != "credential.missing";
        assert_eq!(
            challenge.contains("error=\"invalid_token\""),
            is_told,
            "{challenge}"
        );
    }
    assert_eq!(messages.len(), 9, "each reason has a sentence of its own");
    let response = with_header(
        &app,
        "/api/v1/portals",
        Some(&bearer(revoked["token"].as_str().unwrap())),
    )
    .await;
    assert_eq!(response.error(401)["details"]["key"], "credential.revoked");
    assert!(
        message(&response).starts_with("The API key was revoked at 2026-11-21T"),
        "{}",
        message(&response)
    );
}

on_both!(a_404_suggests_the_likely_route);
async fn a_404_suggests_the_likely_route(app: App) {
    for (method, path, says) in [
        (
            Method::DELETE,
            "/api/v1/portals",
            "accepts GET, POST; DELETE is not supported",
        ),
        (
            Method::GET,
            "/api/v1/portals/",
            "Leave out the slash at the end: /api/v1/portals. The routes are described at /docs.",
        ),
        (Method::GET, "/", "described at /docs"),
        (
            Method::GET,
            "/api/v1/portal",
            "Did you mean /api/v1/portals?",
        ),
        (Method::GET, "/api/v1/nowhere-near", "described at /docs"),
    ] {
        let response =
            ApiResponse::of(app.http.request(method, format!("{}{path}", app.base))).await;
        response.error(404);
        assert!(
            message(&response).starts_with("Route not found.") && message(&response).contains(says),
            "{}",
            message(&response)
        );
    }
}

on_both!(a_wrong_method_is_answered_with_the_accepted_methods);
async fn a_wrong_method_is_answered_with_the_accepted_methods(app: App) {
    for (method, path, allow) in [
        (Method::GET, "/oauth/token", "POST"),
        (Method::PUT, "/oauth/register", "POST"),
        (
            Method::POST,
            "/.well-known/oauth-authorization-server",
            "GET",
        ),
        (Method::POST, "/healthz", "GET"),
        (Method::DELETE, "/api/v1/openapi.json", "GET"),
    ] {
        let says = format!(
            "Route not found. This address does not accept {method}; the header Allow names the \
                methods that it accepts."
        );
        let response =
            ApiResponse::of(app.http.request(method, format!("{}{path}", app.base))).await;
        response.error(404);
        assert_eq!(message(&response), says, "{path}");
        assert!(
            response
                .header("allow")
                .is_some_and(|methods| methods.contains(allow)),
            "{path}: {:?}",
            response.headers
        );
    }
}

on_both!(a_misspelt_field_gets_a_suggestion);
async fn a_misspelt_field_gets_a_suggestion(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let refused = |answer: ApiResponse| answer.body["error"]["details"]["issues"][0].clone();
    let issue = refused(
        api.post(
            "/portals",
            json!({ "name": "Casa", "suportEmail": "a@example.com" }),
        )
        .await,
    );
    assert_eq!(
        issue["message"],
        "unrecognized field; did you mean \"supportEmail\"?"
    );
    let id = api.post("/portals", json!({ "name": "Casa" })).await.data()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let issue = refused(
        api.patch(
            &format!("/portals/{id}"),
            json!({ "data": { "isChatEnabeld": false } }),
        )
        .await,
    );
    assert_eq!(
        (&issue["path"], &issue["message"]),
        (
            &json!(["data", "isChatEnabeld"]),
            &json!("unrecognized field; did you mean \"isChatEnabled\"?")
        )
    );
    let issue = refused(
        api.post("/portals", json!({ "name": "Casa 2", "colour": "red" }))
            .await,
    );
    assert_eq!(issue["message"], "unrecognized field");
    let question =
        json!({ "kind": "free_form_input", "textMlTextId": new_id(), "isRequried": true });
    let step =
        json!({ "stepType": "additional_questions", "nickname": "Q", "questions": [question] });
    let issue = refused(api.post("/precheck-steps", step).await);
    assert_eq!(
        issue["message"],
        "unrecognized field; did you mean \"isRequired\"?"
    );
}

on_both!(a_misspelt_parameter_causes_only_a_warning);
async fn a_misspelt_parameter_causes_only_a_warning(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let plain = api.get("/reservations").await;
    assert_eq!(plain.body["meta"].get("warnings"), None);
    for _ in 0..2 {
        let response = api
            .get("/reservations?checkinFrom=2026-12-01&propertyIds[]=x&colour=red")
            .await;
        assert_eq!((response.status, response.data()), (200, plain.data()));
        let warnings: Vec<(Value, Value)> = response.body["meta"]["warnings"]
            .as_array()
            .unwrap()
            .iter()
            .map(|warning| (warning["parameter"].clone(), warning["message"].clone()))
            .collect();
        assert_eq!(
            warnings,
            [
                (
                    json!("checkinFrom"),
                    json!("unknown parameter, which was ignored; did you mean \"checkInFrom\"?")
                ),
                (
                    json!("colour"),
                    json!("unknown parameter, which was ignored")
                ),
                (
                    json!("propertyIds[]"),
                    json!("unknown parameter, which was ignored; did you mean \"propertyId\"?")
                ),
            ]
        );
        assert_eq!(
            api.get("/reservations").await.body["meta"].get("warnings"),
            None,
            "another request is not warned"
        );
    }
    // The response contains the warning about an unknown parameter in both rounds. In the second
    // round, the response comes from the cache.
    for _ in 0..2 {
        let warned = api.get("/portals?writableonly=true").await;
        assert_eq!(
            warned.body["meta"]["warnings"][0]["parameter"],
            "writableonly"
        );
        assert_eq!(api.get("/portals").await.body["meta"].get("warnings"), None);
    }
    let created = api
        .post("/portals?dryrun=true", json!({ "name": "Casa" }))
        .await;
    assert_eq!(
        (
            created.status,
            &created.body["meta"]["warnings"][0]["parameter"]
        ),
        (201, &json!("dryrun"))
    );
}

on_both!(a_missing_reference_is_named_by_its_path);
async fn a_missing_reference_is_named_by_its_path(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let (missing, flat) = (new_id(), org.property(None, &[]).await);
    let step = api
        .post(
            "/precheck-steps",
            json!({ "stepType": "your_details", "nickname": "D" }),
        )
        .await
        .data()["id"]
        .clone();
    let question = json!({ "kind": "free_form_input", "textMlTextId": missing });
    for (path, body, at) in [
        (
            "/portals",
            json!({ "name": "Mar", "brandingId": missing }),
            json!(["brandingId"]),
        ),
        (
            "/portal-manuals",
            json!({ "nickname": "Wi-Fi", "title": "Wi-Fi", "manualCategoryId": missing }),
            json!(["manualCategoryId"]),
        ),
        (
            "/portal-manuals",
            json!({
                "nickname": "Wi-Fi",
                "title": "Wi-Fi",
                "propertyId": missing.to_string().to_uppercase(),
            }),
            json!(["propertyId"]),
        ),
        (
            "/precheck-steps",
            json!({ "stepType": "additional_questions", "nickname": "Q", "questions": [question] }),
            json!(["questions", 0, "textMlTextId"]),
        ),
        (
            "/precheck-steps",
            json!({ "stepType": "mandatory_fee", "nickname": "F", "feeProductIds": [missing] }),
            json!(["feeProductIds", 0]),
        ),
        (
            "/entity-scopes/add",
            json!({
                "entityType": "precheck_step",
                "entityId": step,
                "propertyIds": [flat, missing],
            }),
            json!(["propertyIds", 1]),
        ),
        (
            "/webhook-subscriptions",
            json!({
                "event": "task.created",
                "targetUrl": "https://a.example/",
                "filters": { "propertyIds": [missing] },
            }),
            json!(["filters", "propertyIds", 0]),
        ),
    ] {
        let response = api.post(path, body).await;
        let issue = &response.error(404)["details"]["issues"][0];
        assert_eq!(
            (&issue["path"], &issue["message"]),
            (&at, &json!("is not the id of anything that you can see")),
            "{path}: {}",
            response.body
        );
    }
    let response = api.get("/portals/not-an-id").await;
    assert_eq!(
        response.error(404)["details"]["issues"],
        json!([{ "path": ["id"], "message": "must be a UUID" }])
    );
}

on_both!(a_too_long_request_head_is_refused_with_an_error_body);
async fn a_too_long_request_head_is_refused_with_an_error_body(app: App) {
    let address = format!("{}/api/v1/portals?search={}", app.base, "x".repeat(54_000));
    let response = ApiResponse::of(app.http.get(address)).await;
    assert!(
        response.error(414)["message"]
            .as_str()
            .unwrap()
            .contains("53248 bytes"),
        "{}",
        response.body
    );
    assert!(
        response.body["meta"]["requestId"].is_string() && response.header("x-request-id").is_some(),
        "{}",
        response.body
    );
    let request = app.http.get(format!("{}/api/v1/portals", app.base));
    let response = ApiResponse::of(request.header("cookie", "x".repeat(40_000))).await;
    assert!(
        response.error(431)["message"]
            .as_str()
            .unwrap()
            .contains("32768 bytes"),
        "{}",
        response.body
    );
    let many = (0..120).fold(
        app.http.get(format!("{}/api/v1/portals", app.base)),
        |request, number| request.header(format!("x-{number}"), "x"),
    );
    ApiResponse::of(many).await.error(431);
}
