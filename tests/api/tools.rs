//! Tests of the tool interface. Assistants call operations through it (rules: tools).

use std::collections::BTreeSet;

use engine::access::Permission;
use engine::operation::{Effect, Operation, Surface, inline_generator};
use reqwest::RequestBuilder;
use serde_json::{Value, json};

use test_support::{Api, ApiResponse, App, new_id, on_both};

/// Maximum length of the list of all tools, in bytes.
const LIST_LIMIT: usize = 72_000;

/// Builds a POST request to a path of the tool interface, without a body.
fn post(app: &App, api: &Api, path: &str) -> RequestBuilder {
    let request = app
        .http
        .post(format!("{}{path}", app.base))
        .bearer_auth(api.token.as_deref().unwrap());
    request
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2025-06-18")
}

async fn rpc_at(app: &App, api: &Api, path: &str, method: &str, params: Value) -> Value {
    let request = post(app, api, path)
        .json(&json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }));
    let text = request.send().await.unwrap().text().await.unwrap();
    serde_json::from_str::<Value>(&text).unwrap_or_else(|_| panic!("{text}"))
}

async fn rpc(app: &App, api: &Api, method: &str, params: Value) -> Value {
    rpc_at(app, api, "/mcp", method, params).await
}

/// Returns the names of the tools in the list at a path.
async fn listed(app: &App, api: &Api, path: &str) -> BTreeSet<String> {
    let response = rpc_at(app, api, path, "tools/list", json!({})).await;
    let tools = response["result"]["tools"]
        .as_array()
        .unwrap_or_else(|| panic!("{response}"));
    tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect()
}

/// Returns the operations that the tool interface offers.
fn declared() -> impl Iterator<Item = &'static Operation> {
    vestibule::app::app()
        .operations
        .iter()
        .filter(|operation| operation.surface == Surface::Public && operation.is_tool)
        // Operations with `is_offered` depend on an optional provider. The servers under test have
        // no such provider, so they do not offer these operations.
        .filter(|operation| operation.is_offered.is_none())
}

fn names(operations: impl Iterator<Item = &'static Operation>) -> BTreeSet<String> {
    operations
        .map(|operation| operation.id.to_owned())
        .collect()
}

async fn call(app: &App, api: &Api, name: &str, arguments: Value) -> Value {
    rpc(
        app,
        api,
        "tools/call",
        json!({ "name": name, "arguments": arguments }),
    )
    .await["result"]
        .clone()
}

/// Returns the published schema of the argument `limit` of an operation. Returns `None` if the
/// operation has no such argument.
fn limit_of(operation: &Operation) -> Option<Value> {
    let schema = operation.input_schema(&mut inline_generator());
    schema["properties"].get("limit").cloned()
}

fn refusal(result: &Value) -> Value {
    assert_eq!(result["isError"], true, "{result}");
    serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap()
}

/// Sends a protocol message with this `Origin` header, as a script in a web page does.
async fn from_page(app: &App, api: &Api, origin: Option<&str>) -> ApiResponse {
    let request = app
        .http
        .post(format!("{}/mcp", app.base))
        .bearer_auth(api.token.as_deref().unwrap());
    let request = request
        .header("accept", "application/json, text/event-stream")
        .json(&json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }));
    ApiResponse::of(match origin {
        Some(origin) => request.header("origin", origin),
        None => request,
    })
    .await
}

on_both!(a_stateless_revision_has_no_initialize);
/// Protocol revision 2026-07-28 has no message `initialize`. Older revisions have one.
async fn a_stateless_revision_has_no_initialize(app: App) {
    let token = app.org().await.key().await.token.unwrap();
    let initialize = |version: &str| {
        let message = json!({
            "jsonrpc": "2.0",
            "id": 7,
            "method": "initialize",
            "params": {
                "protocolVersion": version,
                "capabilities": {},
                "clientInfo": { "name": "test", "version": "1" },
            },
        });
        app.http
            .post(format!("{}/mcp", app.base))
            .bearer_auth(&token)
            .header("accept", "application/json, text/event-stream")
            .json(&message)
    };
    let response = ApiResponse::of(initialize("2026-07-28")).await;
    assert_eq!(
        (
            response.status,
            &response.body["error"]["code"],
            &response.body["id"]
        ),
        (404, &json!(-32601), &json!(7))
    );
    assert_eq!(ApiResponse::of(initialize("2025-11-25")).await.status, 200);
}

on_both!(
    only_known_origins_may_call_the_tools,
    "--cors-origin=https://app.example"
);
async fn only_known_origins_may_call_the_tools(app: App) {
    let api = app.org().await.key().await;
    for origin in [None, Some("https://app.example"), Some(&*app.base)] {
        assert_eq!(
            from_page(&app, &api, origin).await.status,
            200,
            "{origin:?}"
        );
    }
    for origin in [
        "https://evil.example",
        "null",
        "http://app.example",
        "https://app.example:8443",
        "https://app.example/",
        "",
    ] {
        assert_eq!(
            from_page(&app, &api, Some(origin)).await.error(403)["code"],
            "FORBIDDEN",
            "{origin}"
        );
    }
    // The service checks the `Origin` header before the credential.
    from_page(&app, &app.api("sk_nobody"), Some("https://evil.example"))
        .await
        .error(403);
}

on_both!(clients_that_accept_json_get_json);
async fn clients_that_accept_json_get_json(app: App) {
    let api = app.org().await.key().await;
    let token = api.token.clone().unwrap();
    let message =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} }).to_string();
    let send = async |accept: Option<&str>, kind: &str| {
        let request = app
            .http
            .post(format!("{}/mcp", app.base))
            .bearer_auth(&token)
            .header("content-type", kind)
            .body(message.clone());
        ApiResponse::of(match accept {
            Some(accept) => request.header("accept", accept),
            None => request,
        })
        .await
    };
    for accept in [
        None,
        Some("*/*"),
        Some("application/json"),
        Some("application/json, text/event-stream"),
        Some("text/html, */*;q=0.8"),
    ] {
        let response = send(accept, "application/json").await;
        assert_eq!(
            (response.status, response.header("content-type")),
            (200, Some("application/json")),
            "{accept:?} {}",
            response.body
        );
        assert!(
            response.body["result"]["tools"].is_array(),
            "{}",
            response.body
        );
    }
    assert_eq!(
        send(Some("text/html"), "application/json").await.status,
        406
    );
    for kind in [
        "application/json;charset=UTF8",
        "application/json; charset=utf-8",
        "Application/JSON",
    ] {
        assert_eq!(send(Some("*/*"), kind).await.status, 200, "{kind}");
        let created = api
            .request(reqwest::Method::POST, "/portals")
            .header("content-type", kind)
            .body(json!({ "name": kind }).to_string());
        assert_eq!(ApiResponse::of(created).await.status, 201, "{kind}");
    }
}

on_both!(null_for_an_optional_argument_is_the_same_as_leaving_it_out);
async fn null_for_an_optional_argument_is_the_same_as_leaving_it_out(app: App) {
    let api = app.org().await.key().await;
    let listed = call(
        &app,
        &api,
        "listConnections",
        json!({ "limit": null, "offset": null }),
    )
    .await;
    assert_eq!(listed["isError"], false, "{listed}");
    let created = call(
        &app,
        &api,
        "createPortal",
        json!({ "name": "Casa", "isDefault": null }),
    )
    .await;
    assert_eq!(created["isError"], false, "{created}");
    // A required argument must not be null, so the service refuses this call. A field that may be
    // null becomes null.
    let nameless = refusal(&call(&app, &api, "createPortal", json!({ "name": null })).await);
    assert_eq!(nameless["code"], "VALIDATION_ERROR");
    let id = &created["structuredContent"]["data"]["id"];
    let phoned = call(
        &app,
        &api,
        "updatePortal",
        json!({ "id": id, "data": { "supportPhone": "+34 600 000 000" } }),
    )
    .await;
    assert_eq!(phoned["isError"], false, "{phoned}");
    let cleared = call(
        &app,
        &api,
        "updatePortal",
        json!({ "id": id, "data": { "supportPhone": null } }),
    )
    .await;
    assert_eq!(cleared["isError"], false, "{cleared}");
    assert!(
        cleared["structuredContent"]["data"]["supportPhone"].is_null(),
        "{cleared}"
    );
    // If a field within `data` may not be null, the service treats null as a missing field.
    let kept = call(
        &app,
        &api,
        "updatePortal",
        json!({ "id": id, "data": { "name": null, "isDefault": null, "supportPhone": null } }),
    )
    .await;
    assert_eq!(kept["isError"], false, "{kept}");
    assert_eq!(kept["structuredContent"]["data"]["name"], "Casa");
}

on_both!(
    every_message_counts_toward_the_rate_limit,
    "--rate-limit-per-minute=4"
);
async fn every_message_counts_toward_the_rate_limit(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let response = from_page(&app, &api, None).await;
    assert_eq!(
        (response.status, response.header("x-ratelimit-remaining")),
        (200, Some("3"))
    );
    assert!(rpc(&app, &api, "tools/list", json!({})).await["result"]["tools"].is_array());
    assert_eq!(
        call(&app, &api, "listTags", json!({})).await["isError"],
        false
    );
    let unknown = rpc(&app, &api, "tools/call", json!({ "name": "noSuchTool" })).await;
    assert!(unknown["error"].is_object(), "{unknown}");
    let refused = from_page(&app, &api, None).await;
    assert_eq!(refused.error(429)["code"], "RATE_LIMITED");
    assert_eq!(
        (
            refused.header("retry-after"),
            refused.header("x-ratelimit-remaining")
        ),
        (Some("60"), Some("0"))
    );
    // A tool call above the rate limit gets a refusal in the form of the tool protocol.
    let limited = refusal(&call(&app, &api, "listTags", json!({})).await);
    assert_eq!(
        (&limited["code"], &limited["details"]["retryAfterSeconds"]),
        (&json!("RATE_LIMITED"), &json!(60))
    );
    assert_eq!(from_page(&app, &org.key().await, None).await.status, 200);
}

on_both!(every_operation_except_subscriptions_is_a_tool);
async fn every_operation_except_subscriptions_is_a_tool(app: App) {
    let api = app.org().await.key().await;
    let unauthorized = app
        .http
        .post(format!("{}/mcp", app.base))
        .json(&json!({}))
        .send()
        .await
        .unwrap();
    assert_eq!(unauthorized.status(), 401);
    let challenge = |resource: &str| {
        format!(
            r#"Bearer resource_metadata="{}/.well-known/oauth-protected-resource{resource}""#,
            app.base
        )
    };
    assert_eq!(
        unauthorized.headers()["www-authenticate"],
        challenge("/mcp")
    );
    let unauthorized = app.anonymous().get("/portals").await;
    assert_eq!(
        (unauthorized.status, unauthorized.header("www-authenticate")),
        (401, Some(challenge("/api/v1").as_str()))
    );
    let initialized = rpc(
        &app,
        &api,
        "initialize",
        json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": { "name": "t", "version": "1" },
        }),
    )
    .await;
    assert_eq!(
        initialized["result"]["capabilities"],
        json!({ "tools": {} }),
        "{initialized}"
    );
    let all = declared().filter(|operation| !operation.path.starts_with("/webhook-subscriptions"));
    assert_eq!(listed(&app, &api, "/mcp").await, names(all));
}

on_both!(only_permitted_tools_are_listed);
async fn only_permitted_tools_are_listed(app: App) {
    let org = app.org().await;
    let weak = org.key_with(&[Permission::ViewProperties]).await;
    let seen = listed(&app, &weak, "/mcp").await;
    for (name, is_listed) in [
        ("listPortals", true),
        ("search", true),
        ("searchCoverIcons", true),
        ("createPortalPreview", true),
        ("updatePortal", false),
        ("listReservations", false),
        ("approvePrecheckin", false),
        ("listTeamMembers", false),
    ] {
        assert_eq!(seen.contains(name), is_listed, "{name}");
    }
    assert_eq!(
        refusal(&call(&app, &weak, "updatePortal", json!({})).await)["code"],
        "FORBIDDEN"
    );
    let nothing = listed(&app, &org.key_with(&[]).await, "/mcp").await;
    assert!(
        nothing.contains("searchCoverIcons") && !nothing.contains("search"),
        "{nothing:?}"
    );
}

on_both!(an_address_can_select_a_part_of_the_tools);
async fn an_address_can_select_a_part_of_the_tools(app: App) {
    let api = app.org().await.key().await;
    let reading = names(declared().filter(|operation| operation.effect == Effect::Read));
    let of_sets = |sets: &'static [&'static str]| {
        names(declared().filter(|operation| sets.contains(&operation.toolset)))
    };
    for (path, wanted) in [
        ("/mcp/read-only", reading.clone()),
        (
            "/mcp?toolsets=portals,steps",
            of_sets(&["portals", "steps"]),
        ),
        (
            "/mcp?toolsets=portals&toolsets=steps",
            of_sets(&["portals", "steps"]),
        ),
        (
            "/mcp/read-only?toolsets=manuals",
            of_sets(&["manuals"])
                .intersection(&reading)
                .cloned()
                .collect(),
        ),
    ] {
        assert_eq!(listed(&app, &api, path).await, wanted, "{path}");
    }
    for (path, tool, is_there) in [
        ("/mcp/read-only", "createPortal", false),
        ("/mcp/read-only", "listPortals", true),
        ("/mcp?toolsets=steps", "listPortals", false),
        ("/mcp?toolsets=steps,portals", "listPortals", true),
    ] {
        let called = rpc_at(
            &app,
            &api,
            path,
            "tools/call",
            json!({ "name": tool, "arguments": {} }),
        )
        .await;
        assert_eq!(
            called["error"]["code"] == -32602,
            !is_there,
            "{path} {tool}: {called}"
        );
    }
    for path in [
        "/mcp?toolsets=portals,doors",
        "/mcp?toolsets=",
        "/mcp/read-only?toolsets=Portals",
    ] {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
        let refused = ApiResponse::of(post(&app, &api, path).json(&message)).await;
        assert_eq!(refused.issues(), ["toolsets"], "{path}");
        let reported = refused.body["error"]["details"]["issues"][0]["message"]
            .as_str()
            .unwrap();
        assert!(
            reported.contains(
                "assignments, brandings, manuals, portals, records, reservations, search, steps, \
                    translations"
            ),
            "{reported}"
        );
    }
    // A caller without a token gets a 401 with one of two challenges. The challenge at the
    // read-only path names the metadata document of that path. The other paths share a challenge.
    let mut challenges = BTreeSet::new();
    for path in [
        "/mcp",
        "/mcp/read-only",
        "/mcp?toolsets=portals",
        "/mcp?toolsets=doors",
    ] {
        let refused = ApiResponse::of(
            app.http
                .post(format!("{}{path}", app.base))
                .json(&json!({})),
        )
        .await;
        refused.error(401);
        challenges.insert(refused.header("www-authenticate").unwrap().to_owned());
    }
    assert_eq!(challenges.len(), 2, "{challenges:?}");
}

on_both!(undeclared_methods_are_not_found);
async fn undeclared_methods_are_not_found(app: App) {
    let api = app.org().await.key().await;
    for method in [
        "prompts/list",
        "prompts/get",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "completion/complete",
        "logging/setLevel",
        "doors/open",
    ] {
        let response = rpc(&app, &api, method, json!({})).await;
        assert_eq!(response["error"]["code"], -32601, "{method}: {response}");
    }
    assert_eq!(
        rpc(&app, &api, "tools/call", json!({ "arguments": {} })).await["error"]["code"],
        -32602
    );
}

on_both!(invalid_messages_are_refused_as_json_rpc_errors);
async fn invalid_messages_are_refused_as_json_rpc_errors(app: App) {
    let api = app.org().await.key().await;
    let ping = json!({ "jsonrpc": "2.0", "id": 7, "method": "ping" });
    for (body, kind, code, id) in [
        ("{".to_owned(), "application/json", -32700, json!(null)),
        (
            json!([ping]).to_string(),
            "application/json",
            -32600,
            json!(null),
        ),
        (
            json!({ "id": 7, "method": "ping" }).to_string(),
            "application/json",
            -32600,
            json!(7),
        ),
        (
            json!({ "jsonrpc": "2.0", "id": 7, "method": "ping", "params": 5 }).to_string(),
            "application/json",
            -32600,
            json!(7),
        ),
        (
            json!("ping").to_string(),
            "application/json",
            -32600,
            json!(null),
        ),
        (ping.to_string(), "text/plain", -32600, json!(null)),
    ] {
        let response = ApiResponse::of(
            post(&app, &api, "/mcp")
                .header("content-type", kind)
                .body(body.clone()),
        )
        .await;
        assert_eq!(
            (response.status, response.header("content-type")),
            (400, Some("application/json")),
            "{body}"
        );
        assert_eq!(
            (&response.body["error"]["code"], &response.body["id"]),
            (&json!(code), &id),
            "{body}"
        );
    }
    // The service reads a body without a content type as JSON. If the client accepts neither
    // JSON nor an event stream, the response is a 406 with a JSON body.
    assert_eq!(
        ApiResponse::of(post(&app, &api, "/mcp").body(ping.to_string()))
            .await
            .status,
        200
    );
    let request = app
        .http
        .post(format!("{}/mcp", app.base))
        .bearer_auth(api.token.as_deref().unwrap())
        .header("accept", "text/html");
    let refused = ApiResponse::of(request.json(&ping)).await;
    assert_eq!(
        (refused.status, &refused.body["error"]["code"]),
        (406, &json!(-32600))
    );
    let got = ApiResponse::of(
        app.http
            .get(format!("{}/mcp", app.base))
            .bearer_auth(api.token.as_deref().unwrap()),
    )
    .await;
    assert_eq!(
        (got.status, &got.body["error"]["code"]),
        (405, &json!(-32600))
    );
}

on_both!(clients_of_both_protocol_revisions_are_served);
async fn clients_of_both_protocol_revisions_are_served(app: App) {
    let api = app.org().await.key().await;
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let ask = async |method: &str, mut params: Value, name: Option<&str>| {
        params["_meta"] = meta.clone();
        let request = app
            .http
            .post(format!("{}/mcp", app.base))
            .bearer_auth(api.token.as_deref().unwrap());
        let mut request = request
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2026-07-28");
        request = request.header("mcp-method", method);
        if let Some(name) = name {
            request = request.header("mcp-name", name);
        }
        ApiResponse::of(
            request.json(&json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })),
        )
        .await
        .body
    };
    let discovered = ask("server/discover", json!({}), None).await;
    assert!(
        discovered["result"]["supportedVersions"]
            .as_array()
            .unwrap()
            .contains(&json!("2026-07-28")),
        "{discovered}"
    );
    let list = ask("tools/list", json!({}), None).await;
    assert_eq!(list["result"]["cacheScope"], "private", "{list}");
    let called = ask(
        "tools/call",
        json!({ "name": "listTags", "arguments": {} }),
        Some("listTags"),
    )
    .await;
    assert_eq!(
        called["result"]["structuredContent"]["data"],
        json!([]),
        "{called}"
    );
    let old = rpc(
        &app,
        &api,
        "initialize",
        json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": { "name": "t", "version": "1" },
        }),
    )
    .await;
    assert_eq!(old["result"]["protocolVersion"], "2025-06-18");
}

on_both!(refused_tool_calls_explain_the_next_step);
async fn refused_tool_calls_explain_the_next_step(app: App) {
    let api = app.org().await.key().await;
    let manual = call(
        &app,
        &api,
        "createPortalManual",
        json!({ "nickname": "Wi-Fi", "title": "Wi-Fi" }),
    )
    .await;
    let id = &manual["structuredContent"]["data"]["id"];
    let issues = |result: &Value| refusal(result)["details"]["issues"].clone();
    let misplaced = call(
        &app,
        &api,
        "updatePortalManual",
        json!({ "id": id, "data": {}, "visibilityRules": [] }),
    )
    .await;
    assert_eq!(
        issues(&misplaced),
        json!([{ "path": ["visibilityRules"], "message": "must be inside data" }])
    );
    let questions = json!([{ "kind": "yes_no", "text": "Do you bring a pet?" }]);
    let step =
        json!({ "stepType": "additional_questions", "nickname": "Pets", "questions": questions });
    let reported = issues(&call(&app, &api, "createPrecheckStep", step).await);
    assert_eq!(reported[0]["path"], json!(["questions", 0, "text"]));
    assert!(
        reported[0]["message"]
            .as_str()
            .unwrap()
            .contains("createTranslation"),
        "{reported}"
    );
    for (tool, finder) in [
        ("getPortal", "listPortals"),
        ("getPortalManual", "listPortalManuals"),
        ("getReservation", "listReservations"),
    ] {
        let refused = call(&app, &api, tool, json!({ "id": new_id() })).await;
        assert_eq!(refusal(&refused)["code"], "NOT_FOUND");
        assert!(
            refused["content"][1]["text"]
                .as_str()
                .unwrap()
                .contains(finder),
            "{refused}"
        );
    }
}

on_both!(a_list_tool_without_a_limit_returns_20_items);
async fn a_list_tool_without_a_limit_returns_20_items(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    for number in 0..21 {
        api.post("/portals", json!({ "name": format!("Casa {number}") }))
            .await
            .data();
    }
    let stay = org.reservation(None).await;
    for operation in declared().filter(|operation| limit_of(operation).is_some()) {
        let arguments = match operation.id {
            "listReservationCharges" | "listReservationMessages" => json!({ "id": stay }),
            "search" => json!({ "query": "casa" }),
            _ => json!({}),
        };
        let answer = call(&app, &api, operation.id, arguments).await;
        let content = &answer["structuredContent"];
        // If a list has no pages, the test counts the items in the response. More than 20 items
        // exist. So a response with exactly 20 items shows that the default limit of tools applies.
        let items = content["data"]
            .as_array()
            .or_else(|| content["data"]["items"].as_array())
            .map(Vec::len);
        let returned = match operation.paging {
            Some(_) => content["pagination"]["limit"].as_u64(),
            None => items.and_then(|count| count.try_into().ok()),
        };
        assert_eq!(returned, Some(20), "{}: {answer}", operation.id);
    }
}

on_both!(llms_txt_links_to_the_guides);
async fn llms_txt_links_to_the_guides(app: App) {
    let get = async |path: &str| {
        let response = app
            .http
            .get(format!("{}{path}", app.base))
            .send()
            .await
            .unwrap();
        assert_eq!(response.status(), 200, "{path}");
        let kind = response.headers()["content-type"]
            .to_str()
            .unwrap()
            .to_owned();
        (kind, response.text().await.unwrap())
    };
    let (kind, index) = get("/llms.txt").await;
    assert_eq!(kind, "text/plain; charset=utf-8");
    let base = format!("]({}", app.base);
    let guides: Vec<&str> = index
        .split(&base)
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .filter(|path| path.contains(".md"))
        .collect();
    assert!(
        guides.len() >= 8 && guides.contains(&"/docs/how-to/connect-an-assistant.md"),
        "{guides:?}"
    );
    for path in guides {
        let (kind, text) = get(path).await;
        assert_eq!(kind, "text/markdown; charset=utf-8");
        assert!(text.starts_with("# "), "{path}");
    }
}

on_both!(tool_calls_have_the_same_results_as_rest);
async fn tool_calls_have_the_same_results_as_rest(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let created = call(&app, &api, "createPortal", json!({ "name": "By tool" })).await;
    assert_eq!(created["isError"], json!(false), "{created}");
    let id = created["structuredContent"]["data"]["id"].clone();
    let text: Value =
        serde_json::from_str(created["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text, created["structuredContent"]);
    let renamed = call(
        &app,
        &api,
        "updatePortal",
        json!({ "id": id, "data": { "name": "Renamed" } }),
    )
    .await;
    assert_eq!(renamed["structuredContent"]["data"]["name"], "Renamed");
    let stale = call(
        &app,
        &api,
        "updatePortal",
        json!({ "id": id, "data": {}, "expectedUpdatedAt": "2020-01-01T00:00:00Z" }),
    )
    .await;
    assert_eq!(
        refusal(&stale)["details"]["issues"][0]["path"],
        json!(["expectedUpdatedAt"])
    );
    let rest = api
        .post("/portals", json!({ "name": "renamed", "colour": 1 }))
        .await;
    let tool = refusal(
        &call(
            &app,
            &api,
            "createPortal",
            json!({ "name": "renamed", "colour": 1 }),
        )
        .await,
    );
    assert_eq!(tool, rest.error(400));
    let tool = refusal(&call(&app, &api, "createPortal", json!({ "name": "renamed" })).await);
    assert_eq!(tool["type"], "conflict_error");
    let tool = refusal(&call(&app, &api, "getPortal", json!({ "id": new_id() })).await);
    assert_eq!(tool["code"], "NOT_FOUND");
    let weak = org.key_without(Permission::ModifyProperties).await;
    assert_eq!(
        refusal(&call(&app, &weak, "createPortal", json!({ "name": "x" })).await)["code"],
        "FORBIDDEN"
    );
    let page = call(&app, &api, "listTags", json!({ "limit": 5 })).await;
    assert_eq!(
        page["structuredContent"],
        json!({ "data": [], "pagination": { "limit": 5, "offset": 0, "total": 0 } })
    );
}

/// A language model reads the whole list of tools first, so the list must be short.
#[test]
fn the_list_of_tools_has_a_bounded_size() {
    let result =
        json!({ "tools": vestibule_tools::describe_all(vestibule::app::app()) }).to_string();
    assert!(result.len() <= LIST_LIMIT, "{} bytes", result.len());
}

#[test]
fn every_tool_belongs_to_a_toolset_and_has_its_own_description() {
    let sets = [
        "assignments",
        "brandings",
        "manuals",
        "portals",
        "records",
        "reservations",
        "search",
        "steps",
        "translations",
    ];
    let of_all: BTreeSet<&str> = declared().map(|operation| operation.toolset).collect();
    assert_eq!(Vec::from_iter(of_all), sets);
    let mut text = BTreeSet::new();
    for operation in declared() {
        assert!(
            text.insert(operation.title) && text.insert(operation.about),
            "{} says what another does",
            operation.id
        );
        assert!(
            (4..=32).contains(&operation.title.len()) && operation.about.len() >= 15,
            "{}",
            operation.id
        );
        // A description may name other operations. Each of these operations must exist.
        for name in operation
            .about
            .split('`')
            .skip(1)
            .step_by(2)
            .filter(|name| name.starts_with("list") || name.starts_with("update"))
        {
            assert!(
                declared().any(|other| other.id == name),
                "{} names {name}",
                operation.id
            );
        }
    }
}

#[test]
fn tool_hints_match_the_effects_of_operations() {
    let tools = vestibule_tools::describe_all(vestibule::app::app());
    let hints = |name: &str| {
        let tool = tools.iter().find(|tool| tool.name == name).unwrap();
        let hints = tool.annotations.clone().unwrap();
        (
            hints.read_only_hint.unwrap(),
            hints.destructive_hint.unwrap(),
            hints.idempotent_hint,
            hints.open_world_hint.unwrap(),
        )
    };
    for (name, expected) in [
        ("listPortals", (true, false, None, false)),
        ("searchStockPhotos", (true, false, None, true)),
        ("createPortal", (false, false, Some(false), false)),
        ("createPortalPreview", (false, false, Some(false), false)),
        ("updatePortal", (false, true, Some(true), false)),
        ("addEntityScopes", (false, false, Some(true), false)),
        ("removeEntityScopes", (false, true, Some(true), false)),
        ("updateEntityScopes", (false, true, Some(true), false)),
        ("assignPortalToProperty", (false, true, Some(true), false)),
        ("deleteInstruction", (false, true, Some(true), false)),
    ] {
        assert_eq!(hints(name), expected, "{name}");
    }
}

/// Some assistants refuse a tool whose schema contains an array of types, such as
/// `["string", "null"]`.
#[test]
fn tool_schemas_have_no_array_of_types() {
    fn has_array_of_types(schema: &Value) -> bool {
        match schema {
            Value::Object(fields) => {
                fields.get("type").is_some_and(Value::is_array)
                    || fields.values().any(has_array_of_types)
            }
            Value::Array(items) => items.iter().any(has_array_of_types),
            _ => false,
        }
    }
    for tool in vestibule_tools::describe_all(vestibule::app::app()) {
        let schema = Value::Object(tool.input_schema.as_ref().clone());
        assert!(!has_array_of_types(&schema), "{}: {schema}", tool.name);
    }
}

/// A language model reads every item of a list. A list with a limit therefore returns 20 items by
/// default as a tool. REST has other defaults.
#[test]
fn the_schema_of_a_list_tool_has_a_default_limit_of_20() {
    let tools = vestibule_tools::describe_all(vestibule::app::app());
    let mut count = 0;
    for operation in declared() {
        let Some(limit) = limit_of(operation) else {
            continue;
        };
        let tool = tools.iter().find(|tool| tool.name == operation.id).unwrap();
        let reported = &tool.input_schema["properties"]["limit"];
        assert!(
            limit["maximum"].as_u64().is_some_and(|most| most >= 20),
            "{}",
            operation.id
        );
        assert_eq!(reported["default"], 20, "{}", operation.id);
        count += 1;
    }
    assert!(count > 20, "{count}");
}

/// The arguments of a tool are the fields of its operation, each with its type and description.
#[test]
fn tool_arguments_are_the_fields_of_the_operation() {
    let tools = vestibule_tools::describe_all(vestibule::app::app());
    for operation in declared() {
        let reported = &tools
            .iter()
            .find(|tool| tool.name == operation.id)
            .unwrap()
            .input_schema;
        let schema = operation.input_schema(&mut inline_generator());
        for (name, field) in schema["properties"].as_object().unwrap() {
            let is_left_out =
                operation.not_for_tools.contains(&name.as_str()) || field["deprecated"] == true;
            let argument = reported
                .get("properties")
                .and_then(|reported| reported.get(name));
            assert_eq!(argument.is_none(), is_left_out, "{}.{name}", operation.id);
            let Some(argument) = argument else { continue };
            assert!(
                ["type", "enum", "oneOf", "anyOf"]
                    .iter()
                    .any(|part| argument.get(part).is_some()),
                "{}.{name}",
                operation.id
            );
            let is_page =
                operation.paging.is_some() && ["limit", "offset"].contains(&name.as_str());
            assert!(
                is_page
                    || argument["description"]
                        .as_str()
                        .is_some_and(|text| text.len() >= 15),
                "{}.{name}",
                operation.id
            );
        }
        assert_eq!(
            reported.get("required").is_some(),
            schema["required"]
                .as_array()
                .is_some_and(|names| !names.is_empty()),
            "{}",
            operation.id
        );
    }
}
