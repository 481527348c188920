//! Tests of traces as an OpenTelemetry collector receives them.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::State;
use axum::routing::post;
use engine::access::Permission;
use reqwest::Method;
use serde_json::{Value, json};
use strum::VariantArray as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use test_support::node::Node;
use test_support::receiver::Receiver;
use test_support::waiting::in_time;
use test_support::{ApiResponse, PLATFORM_KEY, new_id, postgres, reservation};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER: &str = "00f067aa0ba902b7";

/// A collector on loopback. It stores every span that it receives.
struct Collector {
    endpoint: String,
    heard: Arc<Mutex<Vec<Value>>>,
}

impl Collector {
    async fn start() -> Self {
        let heard: Arc<Mutex<Vec<Value>>> = Arc::default();
        let keep = async |State(heard): State<Arc<Mutex<Vec<Value>>>>, sent: String| {
            heard
                .lock()
                .unwrap()
                .push(serde_json::from_str(&sent).unwrap());
            "{}"
        };
        let router = Router::new()
            .route("/otlp/v1/traces", post(keep))
            .with_state(heard.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}/otlp/", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { endpoint, heard }
    }

    fn spans(&self) -> Vec<Value> {
        let received = self.heard.lock().unwrap();
        received
            .iter()
            .flat_map(|sent| {
                sent["resourceSpans"][0]["scopeSpans"][0]["spans"]
                    .as_array()
                    .unwrap()
                    .clone()
            })
            .collect()
    }

    /// Waits until a span of the trace satisfies the condition. Returns the spans of the trace.
    async fn trace(&self, id: &str, condition: impl Fn(&Value) -> bool) -> Vec<Value> {
        let start = Instant::now();
        loop {
            let spans: Vec<_> = self
                .spans()
                .into_iter()
                .filter(|span| span["traceId"] == id)
                .collect();
            if spans.iter().any(&condition) {
                return spans;
            }
            assert!(
                start.elapsed() < Duration::from_secs(20),
                "{:?}",
                self.spans()
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

fn attribute<'s>(span: &'s Value, key: &str) -> &'s Value {
    let attributes = span["attributes"].as_array().unwrap();
    attributes
        .iter()
        .find(|attribute| attribute["key"] == key)
        .map_or(&Value::Null, |attribute| &attribute["value"])
}

fn named<'s>(spans: &'s [Value], name: &str) -> Vec<&'s Value> {
    spans.iter().filter(|span| span["name"] == name).collect()
}

/// Sends a change whose request is part of a trace. Checks the spans of that trace, from the
/// platform's request to the webhook.
#[expect(
    clippy::too_many_lines,
    reason = "one story, from the request to the webhook"
)]
async fn is_traced(database_url: &str) {
    let (collector, receiver) = (Collector::start().await, Receiver::start().await);
    let flags = receiver.flags();
    let flags: Vec<_> = flags
        .iter()
        .map(String::as_str)
        .chain(["--otlp-endpoint", &collector.endpoint])
        .collect();
    let node = Node::start(database_url, &flags);
    let (platform, organization) = (node.platform(), new_id());
    platform
        .ok(
            Method::PUT,
            &format!("/organizations/{organization}"),
            Some(json!({ "name": "Casa Secreta" })),
        )
        .await;
    let key = json!({ "name": "k", "permissions": Permission::VARIANTS });
    let key = platform
        .ok(
            Method::POST,
            &format!("/organizations/{organization}/api-keys"),
            Some(key),
        )
        .await;
    let token = key["token"].as_str().unwrap();
    let api = node.api(token);
    api.post(
        "/webhook-subscriptions",
        json!({ "event": "reservation.created", "targetUrl": receiver.url }),
    )
    .await
    .data();
    let flat = json!({
        "name": "Flat",
        "timezone": "Europe/Madrid",
        "country": "ES",
        "checkInTime": "15:00",
        "checkOutTime": "11:00",
        "propertyGroupId": null,
        "tagIds": [],
    });
    let flat_id = new_id();
    let records = json!({
        "records": [
            { "kind": "property", "id": flat_id, "data": flat },
            { "kind": "reservation", "id": new_id(), "data": reservation(Some(flat_id)) },
        ],
    });
    let sync = platform
        .request(Method::POST, &format!("/organizations/{organization}/sync"))
        .json(&records);
    ApiResponse::of(sync.header("traceparent", format!("00-{TRACE}-{CALLER}-01")))
        .await
        .data();
    let delivery = receiver.next().await;
    let spans = collector
        .trace(TRACE, |span| span["name"] == "webhook")
        .await;

    let [request] = named(&spans, "sync")[..] else {
        panic!("{spans:?}")
    };
    assert_eq!(
        (&request["parentSpanId"], &request["kind"]),
        (&json!(CALLER), &json!(2))
    );
    assert_eq!(
        attribute(request, "vestibule.organization.id"),
        &json!({ "stringValue": organization.to_string() })
    );
    assert_eq!(
        attribute(request, "http.response.status_code"),
        &json!({ "intValue": "200" })
    );
    // The parent of each span is the span of the client that sent the request, or another span of
    // the trace.
    let ids: BTreeSet<_> = spans
        .iter()
        .map(|span| span["spanId"].as_str().unwrap())
        .chain([CALLER])
        .collect();
    assert_eq!(ids.len(), spans.len() + 1);
    assert!(
        spans
            .iter()
            .all(|span| ids.contains(span["parentSpanId"].as_str().unwrap())),
        "{spans:?}"
    );
    let names: BTreeSet<_> = spans
        .iter()
        .map(|span| span["name"].as_str().unwrap())
        .collect();
    let expected = [
        "authenticate",
        "read",
        "validate",
        "write to the database",
        "run",
        "statement",
        "webhook",
    ];
    assert!(
        expected.iter().all(|name| names.contains(name)),
        "{names:?}"
    );
    let statements: Vec<_> = named(&spans, "statement")
        .into_iter()
        .map(|span| attribute(span, "db.query.text")["stringValue"].clone())
        .collect();
    assert!(
        statements.iter().any(|text| text
            .as_str()
            .unwrap()
            .contains("insert into webhook_delivery")),
        "{statements:?}"
    );
    let time = |span: &Value, key: &str| span[key].as_str().unwrap().parse::<u64>().unwrap();
    assert!(
        spans
            .iter()
            .all(|span| time(span, "startTimeUnixNano") <= time(span, "endTimeUnixNano"))
    );
    // The `traceparent` header of the webhook request contains the id of the webhook's span.
    let [webhook] = named(&spans, "webhook")[..] else {
        panic!("{spans:?}")
    };
    assert_eq!(
        delivery.header("traceparent"),
        format!("00-{TRACE}-{}-01", webhook["spanId"].as_str().unwrap())
    );
    assert_eq!(
        attribute(webhook, "vestibule.event"),
        &json!({ "stringValue": "reservation.created" })
    );

    // The `traceparent` of this request says that the client does not sample the trace, so the
    // service does not sample it either. The `traceparent` of the webhooks says the same.
    let unsampled = "c0ffee".repeat(6)[..32].to_owned();
    let records = json!({
        "records": [{ "kind": "reservation", "id": new_id(), "data": reservation(Some(flat_id)) }],
    });
    let sync = platform
        .request(Method::POST, &format!("/organizations/{organization}/sync"))
        .json(&records);
    ApiResponse::of(sync.header("traceparent", format!("00-{unsampled}-{CALLER}-00")))
        .await
        .data();
    assert_eq!(
        receiver.next().await.header("traceparent"),
        format!("00-{unsampled}-{CALLER}-00")
    );

    // A request without `traceparent` begins a trace whose id is the request's id. The second
    // request belongs to the trace `unsampled`, which the client does not sample.
    let read = api.get("/portals").await;
    let own = read.body["meta"]["requestId"]
        .as_str()
        .unwrap()
        .replace('-', "");
    let request = api
        .request(Method::GET, "/portals?limit=3")
        .header("traceparent", format!("00-{unsampled}-{CALLER}-00"));
    ApiResponse::of(request).await.data();
    let refused = node.api("none").get("/portals").await;
    assert_eq!(refused.status, 401);
    let spans = collector
        .trace(&own, |span| span["name"] == "listPortals")
        .await;
    assert_eq!(named(&spans, "listPortals")[0]["parentSpanId"], "");
    collector
        .trace(
            &refused.body["meta"]["requestId"]
                .as_str()
                .unwrap()
                .replace('-', ""),
            |_| true,
        )
        .await;
    let all = collector.spans();
    assert!(all.iter().all(|span| span["traceId"] != unsampled.as_str()));
    let text = Value::Array(all).to_string();
    for secret in [
        token,
        PLATFORM_KEY,
        "ada@example.com",
        "Ada",
        "Secreta",
        &receiver.url,
        "limit=3",
    ] {
        assert!(!text.contains(secret), "{secret}");
    }
    assert!(
        node.text("/metrics")
            .await
            .contains("\nvestibule_spans_lost_total 0\n")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_traced_to_its_webhook_on_sqlite() {
    let directory = tempfile::tempdir().unwrap();
    is_traced(&format!(
        "sqlite:{}",
        directory.path().join("t.db").display()
    ))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_traced_to_its_webhook_on_postgres() {
    let Some(url) = tokio::task::spawn_blocking(postgres::fresh_database)
        .await
        .unwrap()
    else {
        return;
    };
    is_traced(&url).await;
}

/// The collector accepts connections and never responds. The service drops the spans that it cannot
/// send, and no request waits for the collector.
#[tokio::test(flavor = "multi_thread")]
async fn a_silent_collector_does_not_delay_requests() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let mut node = Node::start(
        &format!("sqlite:{}", directory.path().join("t.db").display()),
        &["--otlp-endpoint", &endpoint],
    );
    let api = node.api(&node.key().await);
    let start = Instant::now();
    let lost = loop {
        let request_start = Instant::now();
        assert_eq!(api.get("/portals").await.status, 200);
        // If a request waited for the collector, it would take five seconds.
        assert!(request_start.elapsed() < Duration::from_secs(4));
        let metrics = node.text("/metrics").await;
        let lost: u64 = metrics
            .split_once("\nvestibule_spans_lost_total ")
            .unwrap()
            .1
            .lines()
            .next()
            .unwrap()
            .parse()
            .unwrap();
        if lost > 0 {
            break lost;
        }
        assert!(start.elapsed() < Duration::from_secs(20));
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    assert!(lost > 4, "{lost}");
    assert_eq!(node.logged("the trace collector does not accept spans"), 1);
    // The server stops without waiting for the collector, although spans are still being sent.
    assert_eq!(api.get("/portals").await.status, 200);
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let stopped = Instant::now();
    node.signal("-TERM");
    while node.is_running() {
        assert!(stopped.elapsed() < Duration::from_secs(7));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let reported = node.lines("could not send the remaining trace spans");
    let [reported] = &reported[..] else {
        panic!("{reported:?}")
    };
    assert!(
        serde_json::from_str::<Value>(reported).unwrap()["spans_lost"].as_u64() > Some(lost),
        "{reported}"
    );
}

/// The service also traces a request that is still running when the process stops.
#[tokio::test(flavor = "multi_thread")]
async fn requests_that_end_during_shutdown_are_traced() {
    let collector = Collector::start().await;
    let directory = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", directory.path().join("t.db").display());
    let mut node = Node::start(&url, &["--otlp-endpoint", &collector.endpoint]);
    let (token, body) = (node.key().await, r#"{"name":"Casa"}"#);
    let mut stream = TcpStream::connect(node.base.strip_prefix("http://").unwrap())
        .await
        .unwrap();
    let head = format!(
        "POST /api/v1/portals HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\ntraceparent: \
            00-{TRACE}-{CALLER}-01\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(500)).await;
    node.signal("-TERM");
    // After this wait, every other request has ended. The process continues only because of the
    // unfinished request.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert_eq!(node.logged("stopping"), 1);
    stream.write_all(body.as_bytes()).await.unwrap();
    let mut answer = [0; 12];
    in_time("the response arrives", stream.read_exact(&mut answer))
        .await
        .unwrap();
    assert_eq!(&answer, b"HTTP/1.1 201");
    drop(stream);
    let spans = collector
        .trace(TRACE, |span| span["name"] == "createPortal")
        .await;
    assert!(
        !named(&spans, "write to the database").is_empty(),
        "{spans:?}"
    );
    let start = Instant::now();
    while node.is_running() {
        assert!(start.elapsed() < Duration::from_secs(10));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// If tracing is off, webhooks have no `traceparent` header.
#[tokio::test(flavor = "multi_thread")]
async fn webhooks_carry_no_trace_if_tracing_is_off() {
    let receiver = Receiver::start().await;
    let flags = receiver.flags();
    let directory = tempfile::tempdir().unwrap();
    let node = Node::start(
        &format!("sqlite:{}", directory.path().join("t.db").display()),
        &flags.each_ref().map(String::as_str),
    );
    let api = node.api(&node.key().await);
    let created = api
        .post(
            "/webhook-subscriptions",
            json!({ "event": "reservation.created", "targetUrl": receiver.url }),
        )
        .await
        .data();
    let ping = api.request(
        Method::POST,
        &format!(
            "/webhook-subscriptions/{}/ping",
            created["id"].as_str().unwrap()
        ),
    );
    let ping = ApiResponse::of(ping.header("traceparent", format!("00-{TRACE}-{CALLER}-01"))).await;
    assert!((200..300).contains(&ping.status), "{}", ping.body);
    let delivery = receiver.next().await;
    assert!(
        delivery
            .headers
            .iter()
            .all(|(name, _)| !name.eq_ignore_ascii_case("traceparent"))
    );
}
