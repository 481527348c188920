//! The tool interface (contract: Tool interface).

use std::collections::BTreeSet;

use engine::access::Permission;
use engine::operation::{Surface, inline_generator};
use serde_json::{Map, Value, json};

use crate::document::undescribed;
use crate::support::{Answer, Api, App, new_id, on_both};

async fn rpc(app: &App, api: &Api, method: &str, params: Value) -> Value {
    let request = app
        .http
        .post(format!("{}/mcp", app.base))
        .bearer_auth(api.token.as_deref().unwrap())
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2025-06-18")
        .json(&json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }));
    let response = request.send().await.unwrap();
    let text = response.text().await.unwrap();
    serde_json::from_str::<Value>(&text).unwrap_or_else(|_| panic!("{text}"))
}

async fn call(app: &App, api: &Api, name: &str, arguments: Value) -> Value {
    rpc(app, api, "tools/call", json!({ "name": name, "arguments": arguments })).await["result"].clone()
}

fn refusal(result: &Value) -> Value {
    assert_eq!(result["isError"], true, "{result}");
    serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap()
}

/// A message of the protocol, from a page of this origin.
async fn from_page(app: &App, api: &Api, origin: Option<&str>) -> Answer {
    let request = app.http.post(format!("{}/mcp", app.base)).bearer_auth(api.token.as_deref().unwrap());
    let request =
        request.header("accept", "application/json, text/event-stream").json(&json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }));
    Answer::of(match origin {
        Some(origin) => request.header("origin", origin),
        None => request,
    })
    .await
}

on_both! {
    async fn only_pages_that_are_known_get_in(app: App, "--cors-origin=https://app.example") {
        let api = app.org().await.key().await;
        for origin in [None, Some("https://app.example"), Some(&*app.base)] {
            assert_eq!(from_page(&app, &api, origin).await.status, 200, "{origin:?}");
        }
        for origin in ["https://evil.example", "null", "http://app.example", "https://app.example:8443", "https://app.example/", ""] {
            assert_eq!(from_page(&app, &api, Some(origin)).await.error(403)["code"], "FORBIDDEN", "{origin}");
        }
        // Whoever asks: it is looked at first.
        from_page(&app, &app.api("sk_nobody"), Some("https://evil.example")).await.error(403);
    }

    async fn every_message_counts(app: App, "--rate-limit-per-minute=4") {
        let org = app.org().await;
        let api = org.key().await;
        let answer = from_page(&app, &api, None).await;
        assert_eq!((answer.status, answer.header("x-ratelimit-remaining")), (200, Some("3")));
        assert!(rpc(&app, &api, "tools/list", json!({})).await["result"]["tools"].is_array());
        assert_eq!(call(&app, &api, "listTags", json!({})).await["isError"], false);
        let unknown = rpc(&app, &api, "tools/call", json!({ "name": "noSuchTool" })).await;
        assert!(unknown["error"].is_object(), "{unknown}");
        let refused = from_page(&app, &api, None).await;
        assert_eq!(refused.error(429)["code"], "RATE_LIMITED");
        assert_eq!((refused.header("retry-after"), refused.header("x-ratelimit-remaining")), (Some("60"), Some("0")));
        // A call of a tool is refused as the protocol refuses.
        assert_eq!(refusal(&call(&app, &api, "listTags", json!({})).await)["code"], "RATE_LIMITED");
        assert_eq!(from_page(&app, &org.key().await, None).await.status, 200);
    }

    async fn every_operation_but_the_subscriptions_is_a_tool(app: App) {
        let api = app.org().await.key().await;
        let unauthorized = app.http.post(format!("{}/mcp", app.base)).json(&json!({})).send().await.unwrap();
        assert_eq!(unauthorized.status(), 401);
        let challenge = |resource: &str| format!(r#"Bearer resource_metadata="{}/.well-known/oauth-protected-resource{resource}""#, app.base);
        assert_eq!(unauthorized.headers()["www-authenticate"], challenge("/mcp"));
        let unauthorized = app.anonymous().get("/portals").await;
        assert_eq!((unauthorized.status, unauthorized.header("www-authenticate")), (401, Some(challenge("/api/v1").as_str())));
        let initialized = rpc(&app, &api, "initialize", json!({
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" },
        })).await;
        assert!(initialized["result"]["capabilities"]["tools"].is_object(), "{initialized}");
        let listed = rpc(&app, &api, "tools/list", json!({})).await;
        let tools = listed["result"]["tools"].as_array().unwrap();
        let declared = vestibule::app::app().operations.iter().filter(|operation| operation.surface == Surface::Public && !operation.path.starts_with("/webhook-subscriptions"));
        let mut declared: Vec<_> = declared.map(|operation| operation.id).collect();
        let mut named: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        declared.sort_unstable();
        named.sort_unstable();
        assert_eq!(named, declared);
        let tool = |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap();
        assert_eq!(tool("listPortals")["annotations"]["readOnlyHint"], true);
        assert_eq!(tool("createPortal")["annotations"]["idempotentHint"], false);
        assert_eq!(tool("updatePortal")["inputSchema"]["properties"].get("expectedUpdatedAt"), None);
        assert!(tool("updatePortalBranding")["inputSchema"]["properties"].get("expectedUpdatedAt").is_some());
        assert!(tools.iter().all(|tool| tool["outputSchema"]["properties"]["data"].is_object()));
        for tool in tools {
            let name = tool["name"].as_str().unwrap();
            assert_eq!(undescribed(&tool["inputSchema"], &Map::new(), name), BTreeSet::new());
            let operation = &vestibule::app::app().operations.iter().find(|operation| operation.id == name).unwrap();
            let fields = operation.input_schema(&mut inline_generator());
            for (name, argument) in tool["inputSchema"]["properties"].as_object().unwrap() {
                assert_eq!(argument["description"], fields["properties"][name]["description"], "{name}");
            }
        }
    }

    async fn a_tool_gives_the_verdicts_of_rest(app: App) {
        let org = app.org().await;
        let api = org.key().await;
        let created = call(&app, &api, "createPortal", json!({ "name": "By tool" })).await;
        assert_eq!(created["isError"], json!(false), "{created}");
        let id = created["structuredContent"]["data"]["id"].clone();
        let text: Value = serde_json::from_str(created["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(text, created["structuredContent"]);
        let renamed = call(&app, &api, "updatePortal", json!({ "id": id, "data": { "name": "Renamed" } })).await;
        assert_eq!(renamed["structuredContent"]["data"]["name"], "Renamed");
        let stale = call(&app, &api, "updatePortal", json!({ "id": id, "data": {}, "expectedUpdatedAt": "2020-01-01T00:00:00Z" })).await;
        assert_eq!(refusal(&stale)["details"]["issues"][0]["path"], json!(["expectedUpdatedAt"]));
        let rest = api.post("/portals", json!({ "name": "renamed", "colour": 1 })).await;
        let tool = refusal(&call(&app, &api, "createPortal", json!({ "name": "renamed", "colour": 1 })).await);
        assert_eq!(tool, rest.error(400));
        let tool = refusal(&call(&app, &api, "createPortal", json!({ "name": "renamed" })).await);
        assert_eq!(tool["type"], "conflict_error");
        let tool = refusal(&call(&app, &api, "getPortal", json!({ "id": new_id() })).await);
        assert_eq!(tool["code"], "NOT_FOUND");
        let weak = org.key_without(Permission::ModifyProperties).await;
        assert_eq!(refusal(&call(&app, &weak, "createPortal", json!({ "name": "x" })).await)["code"], "FORBIDDEN");
        let page = call(&app, &api, "listTags", json!({ "limit": 5 })).await;
        assert_eq!(page["structuredContent"], json!({ "data": [], "pagination": { "limit": 5, "offset": 0, "total": 0 } }));
    }
}
