//! Tests of commands to devices, which the service sends to a device connector. The connector runs
//! on loopback.

use std::future::ready;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use engine::access::Permission::{ModifyProperties, ViewDevices, ViewProperties};
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use test_support::http_server::{HttpServer, Reply, response};
use test_support::waiting::wait_until;
use test_support::{ApiResponse, App, Org, new_id, on_both, on_both_with};

const KEY: &str = "device-key";
/// The status that makes a [`Connector`] send no response.
const NO_RESPONSE: u16 = 0;

/// A device connector on loopback.
struct Connector {
    url: String,
    /// The status of the connector's responses, or [`NO_RESPONSE`].
    status: Arc<Mutex<u16>>,
    server: HttpServer,
}

impl Connector {
    async fn start() -> Self {
        let status = Arc::new(Mutex::new(200));
        let shared = status.clone();
        let server = HttpServer::start(move |request| {
            assert_eq!(request.method(), "POST");
            assert_eq!(request.target(), "/commands?site=1");
            assert_eq!(request.header("content-type"), "application/json");
            ready(match *shared.lock().unwrap() {
                NO_RESPONSE => Reply::Stalled(String::new()),
                status => {
                    let message = "what the provider says";
                    Reply::Response(response(status, "location: /elsewhere", message))
                }
            })
        })
        .await;
        Self {
            url: format!("{}/commands?site=1", server.base),
            status,
            server,
        }
    }

    fn flags(&self) -> [String; 2] {
        [
            format!("--device-connector-url={}", self.url),
            format!("--device-connector-key={KEY}"),
        ]
    }

    fn answer(&self, status: u16) {
        *self.status.lock().unwrap() = status;
    }

    /// Returns the bodies of the requests since the last call.
    fn received(&self) -> Vec<Value> {
        let requests = self.server.take_requests();
        requests
            .iter()
            .map(|request| {
                assert_eq!(request.header("authorization"), format!("Bearer {KEY}"));
                request.json()
            })
            .collect()
    }
}

async fn device(org: &Org<'_>, property: Uuid, kind: &str, fields: Value) -> Uuid {
    let mut data = json!({
        "propertyId": property,
        "name": "Front door",
        "deviceType": kind,
        "vendor": "Acme",
        "isOnline": true,
    });
    for (name, value) in fields.as_object().unwrap() {
        data[name] = value.clone();
    }
    org.record("device", data).await
}

fn replayed(response: &ApiResponse) -> bool {
    response.header("idempotency-replayed") == Some("true")
}

on_both_with!(each_command_reaches_the_connector, Connector);
async fn each_command_reaches_the_connector(app: App, connector: Connector) {
    let org = app.org().await;
    let api = org.key_with(&[ViewDevices, ModifyProperties]).await;
    let flat = org.property(None, &[]).await;
    let lock = device(&org, flat, "lock", json!({})).await;
    let thermostat = device(
        &org,
        flat,
        "thermostat",
        json!({ "isRemoteControlEnabled": true }),
    )
    .await;
    let commands = [
        (lock, "lock", json!({}), "lockDevice", json!({})),
        (lock, "unlock", json!({}), "unlockDevice", json!({})),
        (
            thermostat,
            "temperature",
            json!({ "celsius": 21.5 }),
            "setDeviceTemperature",
            json!({ "celsius": 21.5 }),
        ),
        (
            thermostat,
            "mode",
            json!({ "mode": "auto" }),
            "setDeviceMode",
            json!({ "mode": "auto" }),
        ),
    ];
    let mut keys = std::collections::BTreeSet::new();
    for (id, path, body, command, arguments) in commands {
        let answer = api.post(&format!("/devices/{id}/{path}"), body).await;
        assert_eq!(answer.status, 200);
        assert_eq!(
            answer.data(),
            json!({ "deviceId": id, "command": command, "acceptedAt": "2026-11-21T09:30:00.000Z" })
        );
        let mut received = connector.received();
        assert_eq!(received.len(), 1);
        let key = received[0]
            .as_object_mut()
            .unwrap()
            .remove("idempotencyKey")
            .unwrap();
        keys.insert(key.as_str().unwrap().parse::<Uuid>().unwrap());
        let expected = json!({
            "organizationId": org.id, "deviceId": id, "command": command, "arguments": arguments,
        });
        assert_eq!(received[0], expected);
    }
    assert_eq!(
        keys.len(),
        4,
        "a request without a key has an id of its own"
    );
    let log = org.key().await.get("/audit-log").await.data();
    let entry = log
        .as_array()
        .unwrap()
        .iter()
        .find(|entry| entry["operation"] == "setDeviceTemperature")
        .unwrap();
    assert_eq!(
        entry["target"],
        json!({ "type": "device", "id": thermostat, "name": "Front door" })
    );
    assert_eq!(
        entry["changes"],
        json!([{ "field": "celsius", "before": null, "after": 21.5 }])
    );
}

on_both_with!(
    a_command_that_the_service_refuses_never_reaches_the_connector,
    Connector
);
async fn a_command_that_the_service_refuses_never_reaches_the_connector(
    app: App,
    connector: Connector,
) {
    let org = app.org().await;
    let api = org.key().await;
    let flat = org.property(None, &[]).await;
    let lock = device(&org, flat, "lock", json!({})).await;
    let thermostat = device(&org, flat, "thermostat", json!({})).await;
    let archived = device(&org, flat, "lock", json!({ "isArchived": true })).await;
    let local = device(
        &org,
        flat,
        "lock",
        json!({ "isRemoteControlEnabled": false }),
    )
    .await;
    let lock_of = |id: Uuid| format!("/devices/{id}/lock");
    app.anonymous()
        .post(&lock_of(lock), json!({}))
        .await
        .error(401);
    for held in [vec![ViewDevices], vec![ModifyProperties, ViewProperties]] {
        org.key_with(&held)
            .await
            .post(&lock_of(lock), json!({}))
            .await
            .error(403);
    }
    api.post(&lock_of(new_id()), json!({})).await.error(404);
    let elsewhere = org.property(None, &[]).await;
    org.limited(&[elsewhere])
        .await
        .post(&lock_of(archived), json!({}))
        .await
        .error(404);
    assert_eq!(
        api.post_with_key(&lock_of(archived), "a", json!({}))
            .await
            .error(409)["code"],
        "CONFLICT"
    );
    assert_eq!(
        api.post_with_key(&lock_of(local), "l", json!({}))
            .await
            .error(403)["code"],
        "FORBIDDEN"
    );
    assert_eq!(
        api.post(&lock_of(thermostat), json!({})).await.issues(),
        ["id"]
    );
    assert_eq!(
        api.post(&format!("/devices/{lock}/mode"), json!({ "mode": "heat" }))
            .await
            .issues(),
        ["id"]
    );
    for (path, body, field) in [
        ("temperature", json!({}), "celsius"),
        ("temperature", json!({ "celsius": 4.9 }), "celsius"),
        ("temperature", json!({ "celsius": 35.1 }), "celsius"),
        ("temperature", json!({ "celsius": "warm" }), "celsius"),
        ("mode", json!({ "mode": "dry" }), "mode"),
        ("lock", json!({ "code": 1 }), "code"),
    ] {
        let refused = api
            .post(&format!("/devices/{thermostat}/{path}"), body)
            .await;
        assert_eq!(refused.issues(), [field], "{path}");
    }
    for celsius in [5, 35] {
        api.post(
            &format!("/devices/{thermostat}/temperature"),
            json!({ "celsius": celsius }),
        )
        .await
        .data();
    }
    assert_eq!(connector.received().len(), 2);
    // The service itself refused the first command, so it stored no response under the idempotency
    // key. The repeated command succeeds, because the device is no longer archived.
    org.put_record("device", archived, json!({
        "propertyId": flat, "name": "D", "deviceType": "lock", "vendor": "Acme", "isOnline": true,
    })).await;
    let response = api.post_with_key(&lock_of(archived), "a", json!({})).await;
    assert!(response.status == 200 && !replayed(&response));
    assert_eq!(connector.received().len(), 1);
}

on_both_with!(a_refusal_of_the_connector_is_stored_and_replayed, Connector);
async fn a_refusal_of_the_connector_is_stored_and_replayed(app: App, connector: Connector) {
    let org = app.org().await;
    let api = org.key().await;
    let flat = org.property(None, &[]).await;
    let lock = device(&org, flat, "lock", json!({})).await;
    let path = format!("/devices/{lock}/unlock");
    for status in [400, 403, 404, 409, 429] {
        connector.answer(status);
        let key = format!("k{status}");
        let first = api.post_with_key(&path, &key, json!({})).await;
        let error = first.error(502);
        assert_eq!(
            (&error["type"], &error["code"]),
            (&json!("provider_error"), &json!("CONNECTOR_ERROR"))
        );
        assert!(
            !first.body.to_string().contains("provider says"),
            "{}",
            first.body
        );
        assert!(!replayed(&first));
        connector.answer(200);
        let again = api.post_with_key(&path, &key, json!({})).await;
        assert_eq!(
            (again.status, &again.body, replayed(&again)),
            (502, &first.body, true)
        );
        api.post_with_key(&format!("/devices/{lock}/lock"), &key, json!({}))
            .await
            .error(422);
        assert_eq!(connector.received().len(), 1, "{status}");
    }
    // The response to a request without an idempotency key is not stored.
    connector.answer(409);
    api.post(&path, json!({})).await.error(502);
    connector.answer(200);
    api.post(&path, json!({})).await.data();
    // With an idempotency key, the service stores the response of a successful command, too, and
    // replays it: the connector receives the command only once.
    connector.received();
    let first = api.post_with_key(&path, "done", json!({})).await;
    let again = api.post_with_key(&path, "done", json!({})).await;
    assert_eq!(
        (again.status, &again.body, replayed(&again)),
        (200, &first.body, true)
    );
    assert_eq!(connector.received().len(), 1);
    let log = org.key().await.get("/audit-log").await.data();
    let done = log
        .as_array()
        .unwrap()
        .iter()
        .filter(|entry| entry["operation"] == "unlockDevice");
    assert_eq!(done.count(), 2, "refused commands are not in the audit log");
}

on_both_with!(a_connector_that_fails_releases_the_key, Connector);
async fn a_connector_that_fails_releases_the_key(app: App, connector: Connector) {
    let org = app.org().await;
    let api = org.key().await;
    let flat = org.property(None, &[]).await;
    let lock = device(&org, flat, "lock", json!({})).await;
    let path = format!("/devices/{lock}/lock");
    for status in [500, 503, 301, 307] {
        connector.answer(status);
        let response = api.post_with_key(&path, "k", json!({})).await;
        assert_eq!(
            response.error(503)["code"],
            "SERVICE_UNAVAILABLE",
            "{status}"
        );
        assert!(response.header("retry-after").is_some());
    }
    connector.answer(200);
    let response = api.post_with_key(&path, "k", json!({})).await;
    assert!(response.status == 200 && !replayed(&response));
    let received = connector.received();
    assert_eq!(received.len(), 5, "a redirect is not followed");
    let id = |body: &Value| body["idempotencyKey"].clone();
    assert!(
        received.iter().all(|body| id(body) == id(&received[0])),
        "one key, one id"
    );
    // Another credential's request with the same idempotency key gets another command id.
    org.key()
        .await
        .post_with_key(&path, "k", json!({}))
        .await
        .data();
    assert_ne!(id(&connector.received()[0]), id(&received[0]));
}

on_both_with!(a_command_to_a_silent_connector_times_out, Connector);
async fn a_command_to_a_silent_connector_times_out(app: App, connector: Connector) {
    let org = app.org().await;
    let api = org.key().await;
    let flat = org.property(None, &[]).await;
    let lock = device(&org, flat, "lock", json!({})).await;
    let path = format!("/devices/{lock}/lock");
    connector.answer(NO_RESPONSE);
    let start = Instant::now();
    let waiting = {
        let (api, path) = (api.clone(), path.clone());
        tokio::spawn(async move { api.post_with_key(&path, "k", json!({})).await })
    };
    wait_until("the command reaches the connector", async || {
        !connector.server.requests().is_empty()
    })
    .await;
    // While the command runs, its idempotency key is in use on every node, but other requests of
    // the organization are not delayed.
    api.post_with_key(&path, "k", json!({})).await.error(409);
    if !app.server.service.store.is_only_process() {
        let node = app
            .second_node(&connector.flags().each_ref().map(String::as_str))
            .await;
        let there = node.api(api.token.as_deref().unwrap());
        there.post_with_key(&path, "k", json!({})).await.error(409);
    }
    api.post("/portals", json!({ "name": "Meanwhile" }))
        .await
        .data();
    waiting.await.unwrap().error(503);
    let elapsed = start.elapsed();
    assert!(
        elapsed >= Duration::from_secs(9) && elapsed < Duration::from_secs(20),
        "{elapsed:?}"
    );
    assert_eq!(connector.received().len(), 1);
    connector.answer(200);
    let response = api.post_with_key(&path, "k", json!({})).await;
    assert!(response.status == 200 && !replayed(&response));
}

on_both_with!(a_command_continues_when_its_client_disconnects, Connector);
async fn a_command_continues_when_its_client_disconnects(app: App, connector: Connector) {
    let org = app.org().await;
    let api = org.key().await;
    let flat = org.property(None, &[]).await;
    let lock = device(&org, flat, "lock", json!({})).await;
    let path = format!("/devices/{lock}/lock");
    connector.answer(NO_RESPONSE);
    let request = api
        .request(Method::POST, &path)
        .header("idempotency-key", "k")
        .timeout(Duration::from_millis(500))
        .json(&json!({}));
    assert!(request.send().await.is_err());
    // The command runs for another ten seconds, so its idempotency key is in use.
    api.post_with_key(&path, "k", json!({})).await.error(409);
    assert_eq!(connector.received().len(), 1);
}

on_both_with!(the_tools_have_the_commands, Connector);
async fn the_tools_have_the_commands(app: App, connector: Connector) {
    let org = app.org().await;
    let api = org.key().await;
    let flat = org.property(None, &[]).await;
    let thermostat = device(&org, flat, "thermostat", json!({})).await;
    let call = async |arguments: Value| {
        let body = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": "setDeviceMode", "arguments": arguments },
        });
        let request = app
            .http
            .post(format!("{}/mcp", app.base))
            .bearer_auth(api.token.as_deref().unwrap())
            .header("accept", "application/json, text/event-stream")
            .json(&body);
        ApiResponse::of(request).await.body["result"].clone()
    };
    let result = call(json!({ "id": thermostat, "mode": "cool" })).await;
    assert_eq!(
        result["structuredContent"]["data"]["command"], "setDeviceMode",
        "{result}"
    );
    connector.answer(409);
    let refused = call(json!({ "id": thermostat, "mode": "cool" })).await;
    assert_eq!(refused["isError"], true, "{refused}");
    assert!(refused.to_string().contains("CONNECTOR_ERROR"));
}

on_both!(without_a_connector_commands_give_503);
async fn without_a_connector_commands_give_503(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let flat = org.property(None, &[]).await;
    let lock = device(&org, flat, "lock", json!({})).await;
    let archived = device(&org, flat, "lock", json!({ "isArchived": true })).await;
    let refused = api
        .post_with_key(&format!("/devices/{lock}/lock"), "k", json!({}))
        .await;
    assert!(
        refused.header("retry-after").is_none(),
        "waiting does not help"
    );
    refused.error(503);
    api.post_with_key(&format!("/devices/{lock}/lock"), "k", json!({}))
        .await
        .error(503);
    api.post(&format!("/devices/{archived}/lock"), json!({}))
        .await
        .error(409);
    api.post(&format!("/devices/{}/lock", new_id()), json!({}))
        .await
        .error(404);
}

on_both!(
    an_unreachable_connector_gives_503,
    "--device-connector-url=http://127.0.0.1:9/"
);
async fn an_unreachable_connector_gives_503(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let flat = org.property(None, &[]).await;
    let lock = device(&org, flat, "lock", json!({})).await;
    api.post(&format!("/devices/{lock}/lock"), json!({}))
        .await
        .error(503);
}
