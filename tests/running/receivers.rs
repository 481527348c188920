//! Tests of webhook receivers that misbehave, and of the outcome of each delivery. The receivers
//! hang, respond slowly or endlessly, reset the connection, redirect, or present a wrong
//! certificate (rules: webhooks#deliveries).

use std::sync::atomic::Ordering;
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use test_support::authority::{Presents, TestAuthority};
use test_support::raw_receiver::{Act, RawReceiver};
use test_support::receiver::{Receiver, while_time_passes};
use test_support::waiting::{wait_until, wait_until_within};
use test_support::{Api, App, new_id, reservation};

/// Number of bytes that is larger than all buffers between two processes, but far smaller than an
/// endless response.
const FLOOD_BYTES: usize = 64 << 20;
/// Number of attempts of a delivery before it fails for good.
const ALL_ATTEMPTS: usize = 5;

store::statements! {
    /// Locks all subscriptions, so that no other transaction can write them. On SQLite the
    /// statement locks the whole database.
    LOCK_ALL_SUBSCRIPTIONS = "update webhook_subscription set target_url = target_url";
}

/// Runs a test on SQLite and on PostgreSQL, with a certificate authority for receivers that the
/// server trusts. The literal after the name of the function is the server's `--webhook-timeout`.
macro_rules! with_authority {
    ($name:ident, $timeout:literal) => {
        mod $name {
            use super::{App, TestAuthority};

            fn flags(authority: &TestAuthority) -> Vec<String> {
                let mut flags = authority.flags().to_vec();
                flags.push(concat!("--webhook-timeout=", $timeout).to_owned());
                flags
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn on_sqlite() {
                test_support::choose_tls_provider();
                let authority = TestAuthority::create();
                let flags = flags(&authority);
                let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
                super::$name(App::on_sqlite(&flags).await, authority).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn on_postgres() {
                test_support::choose_tls_provider();
                let authority = TestAuthority::create();
                let flags = flags(&authority);
                let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
                if let Some(app) = App::on_postgres(&flags).await {
                    super::$name(app, authority).await;
                }
            }
        }
    };
}

/// The outcome of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DeliveryEnd {
    /// The delivery succeeded at the first request.
    Delivered,
    /// The delivery failed after five requests.
    Failed,
    /// The delivery failed, and no request was sent, because the receiver's certificate was not
    /// trusted.
    Unsent,
    /// The receiver answered 410 to one request. The service then deleted the subscription.
    Gone,
}

struct Case {
    what: String,
    presents: Presents,
    act: Act,
    end: DeliveryEnd,
}

fn case(what: &str, act: Act, end: DeliveryEnd) -> Case {
    Case {
        what: what.to_owned(),
        presents: Presents::Right,
        act,
        end,
    }
}

/// Returns a complete response without a body.
fn answer(status: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n")
}

fn say(text: &str) -> Act {
    Act::Say(text.to_owned())
}

/// Returns receivers, each with the expected outcome of a delivery. Some receivers redirect to
/// `trap`, to which the service must never connect.
fn cases(trap: &str) -> Vec<Case> {
    use DeliveryEnd::{Delivered, Failed, Gone, Unsent};
    let noise = "x".repeat(16 * 1024);
    let chunk = format!("4000\r\n{noise}\r\n");
    let long_body = "HTTP/1.1 200 OK\r\ncontent-length: 100000000000\r\n\r\n".to_owned();
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_owned();
    let hints = "HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n";
    let huge = format!(
        "HTTP/1.1 200 OK\r\nx-noise: {}\r\ncontent-length: 0\r\n\r\n",
        "x".repeat(1 << 20)
    );
    let mut all = vec![
        case(
            "200 with a body",
            say("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"),
            Delivered,
        ),
        case("204", say("HTTP/1.1 204 No Content\r\n\r\n"), Delivered),
        case("299", Act::Say(answer("299 Why Not")), Delivered),
        case(
            "HTTP/1.0",
            Act::SayAndClose("HTTP/1.0 200 OK\r\n\r\nok".to_owned()),
            Delivered,
        ),
        case(
            "a body that is not what it says",
            say("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\n\r\nok"),
            Delivered,
        ),
        case(
            "a body that breaks off",
            Act::SayAndClose("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nok".to_owned()),
            Delivered,
        ),
        case(
            "a body that drips",
            Act::Drip(long_body.clone(), "x"),
            Delivered,
        ),
        case(
            "a body that does not come",
            Act::Drip(chunked.clone(), "0"),
            Delivered,
        ),
        case(
            "a flood of known length",
            Act::Flood(long_body, noise.clone()),
            Delivered,
        ),
        case("a flood of chunks", Act::Flood(chunked, chunk), Delivered),
        case(
            "a flood until the end of time",
            Act::Flood("HTTP/1.1 200 OK\r\n\r\n".to_owned(), noise.clone()),
            Delivered,
        ),
        case(
            "some 1xx first",
            Act::Say(format!(
                "HTTP/1.1 100 Continue\r\n\r\n{hints}{hints}{}",
                answer("200 OK")
            )),
            Delivered,
        ),
        case(
            "a folded header",
            say("HTTP/1.1 200 OK\r\nx-a: b\r\n c\r\ncontent-length: 0\r\n\r\n"),
            Delivered,
        ),
        case(
            "a blank before a colon",
            say("HTTP/1.1 200 OK\r\nx-a : b\r\ncontent-length: 0\r\n\r\n"),
            Delivered,
        ),
        case(
            "a header that is none",
            say("HTTP/1.1 200 OK\r\nx(a): b\r\ncontent-length: 0\r\n\r\n"),
            Delivered,
        ),
        case(
            "300 headers",
            Act::Say(format!(
                "HTTP/1.1 200 OK\r\n{}content-length: 0\r\n\r\n",
                "x-noise: x\r\n".repeat(300)
            )),
            Delivered,
        ),
        case("HTTP/2", Act::Http2(204), Delivered),
        case("a flood over HTTP/2", Act::Http2Flood(200), Delivered),
        case("nothing", Act::Hang, Failed),
        case(
            "a head that drips",
            Act::Drip("HTTP/1.1 200 OK\r\n".to_owned(), "x-noise: x\r\n"),
            Failed,
        ),
        case(
            "a head that floods",
            Act::Flood("HTTP/1.1 200 OK\r\nx-noise: ".to_owned(), noise),
            Failed,
        ),
        case("a huge head", Act::Say(huge), Failed),
        case(
            "1xx that drip",
            Act::Drip(String::new(), "HTTP/1.1 102 Processing\r\n\r\n"),
            Failed,
        ),
        case(
            "another protocol",
            say("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n"),
            Failed,
        ),
        case(
            "what is no HTTP",
            say("220 mail.example ESMTP\r\n\r\n"),
            Failed,
        ),
        case("what is no status", say("HTTP/1.1 2x0 OK\r\n\r\n"), Failed),
        case(
            "no answer, and the end",
            Act::SayAndClose(String::new()),
            Failed,
        ),
        case(
            "half a head, and the end",
            Act::SayAndClose("HTTP/1.1 200 OK\r\ncontent-".to_owned()),
            Failed,
        ),
        case(
            "no answer, and a reset",
            Act::SayAndReset(String::new()),
            Failed,
        ),
        case(
            "half a head, and a reset",
            Act::SayAndReset("HTTP/1.1 200 O".to_owned()),
            Failed,
        ),
        case("500 over HTTP/2", Act::Http2(500), Failed),
        case("no TLS", Act::Mute, Unsent),
        case("plain HTTP", Act::Plain(answer("200 OK")), Unsent),
        case("410", Act::Say(answer("410 Gone")), Gone),
        case("410 over HTTP/2", Act::Http2(410), Gone),
        case(
            "410 and a flood",
            Act::Flood("HTTP/1.1 410 Gone\r\n\r\n".to_owned(), "x".repeat(1024)),
            Gone,
        ),
    ];
    all.extend(refusals(trap));
    all
}

/// Returns receivers that make a delivery fail by a status, a redirect, or a wrong certificate.
fn refusals(trap: &str) -> Vec<Case> {
    use DeliveryEnd::{Failed, Unsent};
    let mut all = Vec::new();
    for status in [
        "304 Not Modified",
        "400 Bad Request",
        "401 Unauthorized",
        "404 Not Found",
        "429 Too Many Requests",
        "503 Unavailable",
    ] {
        all.push(case(status, Act::Say(answer(status)), Failed));
    }
    for (status, to) in [
        (301, trap),
        (302, "https://10.0.0.8/"),
        (303, trap),
        (307, trap),
        (308, "https://169.254.169.254/latest/meta-data/"),
    ] {
        let moved =
            format!("HTTP/1.1 {status} Moved\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n");
        all.push(case(&format!("{status} to {to}"), Act::Say(moved), Failed));
    }
    for presents in [
        Presents::OtherName,
        Presents::Expired,
        Presents::Early,
        Presents::SelfSigned,
        Presents::OtherAuthority,
    ] {
        all.push(Case {
            what: format!("{presents:?} certificate"),
            presents,
            act: Act::Say(answer("200 OK")),
            end: Unsent,
        });
    }
    all
}

/// Returns the outcome of the delivery to the target `url`. Returns `None` while the service still
/// makes attempts.
fn end_of(listed: &Value, url: &str) -> Option<DeliveryEnd> {
    let Some(row) = listed
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["targetUrl"] == url)
    else {
        return Some(DeliveryEnd::Gone);
    };
    assert_eq!(row["disabledAt"], Value::Null, "{row}");
    match (
        row["consecutiveFailures"].as_u64().unwrap(),
        row["lastDeliveredAt"].is_null(),
    ) {
        (0, false) => Some(DeliveryEnd::Delivered),
        (1, true) => Some(DeliveryEnd::Failed),
        (0, true) => None,
        _ => panic!("{row}"),
    }
}

async fn subscribe(api: &Api, receiver: &RawReceiver) {
    api.post(
        "/webhook-subscriptions",
        json!({ "event": "reservation.created", "targetUrl": receiver.url }),
    )
    .await
    .data();
}

/// Subscribes a receiver to the event of new reservations. Returns the subscription.
async fn subscribed(api: &Api, receiver: &RawReceiver) -> Value {
    let body = json!({ "event": "reservation.created", "targetUrl": receiver.url });
    api.post("/webhook-subscriptions", body).await.data()
}

async fn unsubscribe(api: &Api, subscription: &Value) {
    let id = subscription["id"].as_str().unwrap();
    let path = format!("/webhook-subscriptions?id={id}");
    api.send(Method::DELETE, &path, None).await.data();
}

fn log_of(subscription: &Value) -> String {
    format!(
        "/webhook-subscriptions/{}/deliveries?limit=100",
        subscription["id"].as_str().unwrap()
    )
}

/// Returns the number of attempts of a delivery.
fn attempt_count(row: &Value) -> usize {
    row["attempts"].as_array().map_or(0, Vec::len)
}

/// Returns whether the subscription's log has exactly `count` deliveries, all delivered.
async fn are_delivered(api: &Api, subscription: &Value, count: usize) -> bool {
    let log = api.get(&log_of(subscription)).await.data();
    let log = log.as_array().unwrap();
    log.len() == count && log.iter().all(|row| row["status"] == "delivered")
}

/// Returns new reservations of a property, for one sync.
fn reservations(flat: Uuid, count: usize) -> Value {
    (0..count)
        .map(|_| json!({ "kind": "reservation", "id": new_id(), "data": reservation(Some(flat)) }))
        .collect()
}

/// Waits until `holds` returns true. Meanwhile advances the clock.
async fn until(app: &App, event: &str, holds: impl AsyncFnMut() -> bool) {
    let limit = Duration::from_secs(60);
    while_time_passes(app, wait_until_within(limit, event, holds)).await;
}

with_authority!(
    the_behaviour_of_a_receiver_decides_the_delivery_status,
    "2s"
);
async fn the_behaviour_of_a_receiver_decides_the_delivery_status(
    app: App,
    authority: TestAuthority,
) {
    let org = app.org().await;
    let api = org.key().await;
    let trap = authority
        .receiver(Presents::Right, Act::Say(answer("200 OK")))
        .await;
    let cases = cases(&trap.url);
    let mut receivers = Vec::new();
    for case in &cases {
        let receiver = authority.receiver(case.presents, case.act.clone()).await;
        subscribe(&api, &receiver).await;
        receivers.push(receiver);
    }
    let flat = org.property(None, &[]).await;
    org.reservation(Some(flat)).await;
    let mut ends = Vec::new();
    until(&app, "every delivery comes to something", async || {
        let listed = api.get("/webhook-subscriptions").await.data();
        ends = receivers
            .iter()
            .map(|receiver| end_of(&listed, &receiver.url))
            .collect();
        ends.iter().all(Option::is_some)
    })
    .await;
    let mut wrong = Vec::new();
    for ((case, receiver), end) in cases.iter().zip(&receivers).zip(&ends) {
        let (next_attempt, requests) = match case.end {
            DeliveryEnd::Failed => (DeliveryEnd::Failed, ALL_ATTEMPTS),
            DeliveryEnd::Unsent => (DeliveryEnd::Failed, 0),
            end => (end, 1),
        };
        let seen = &receiver.seen;
        if (*end, seen.count()) != (Some(next_attempt), requests) || seen.attempts().len() > 1 {
            wrong.push(format!(
                "{}: {end:?} after {} requests",
                case.what,
                seen.count()
            ));
        }
        if case.end == DeliveryEnd::Unsent
            && seen.connections.load(Ordering::Relaxed) != ALL_ATTEMPTS
        {
            wrong.push(format!("{}: {:?} connections", case.what, seen.connections));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(
        trap.seen.connections.load(Ordering::Relaxed),
        0,
        "no redirect is followed"
    );
    // The service closes the connection to a receiver that sends endlessly or sends nothing.
    let is_endless = |case: &Case| {
        matches!(
            case.act,
            Act::Drip(..) | Act::Flood(..) | Act::Hang | Act::Mute
        )
    };
    for (case, receiver) in cases.iter().zip(&receivers) {
        let seen = &receiver.seen;
        if is_endless(case) {
            let is_over =
                || seen.ended.load(Ordering::Relaxed) == seen.connections.load(Ordering::Relaxed);
            until(
                &app,
                &format!("{} has its connection closed", case.what),
                async || is_over(),
            )
            .await;
        }
        assert!(
            seen.bytes_sent.load(Ordering::Relaxed) < FLOOD_BYTES,
            "{} is read: {:?} bytes",
            case.what,
            seen.bytes_sent
        );
    }
}

with_authority!(
    a_request_on_a_connection_that_the_receiver_had_closed_is_sent_again_at_once,
    "2s"
);
async fn a_request_on_a_connection_that_the_receiver_had_closed_is_sent_again_at_once(
    app: App,
    authority: TestAuthority,
) {
    let org = app.org().await;
    let api = org.key().await;
    let then = |act| Act::Once(answer("200 OK"), Box::new(act));
    // If the connection closes before the first byte of a response, the service repeats the request
    // within the same attempt. An incomplete response is a failed attempt, because the receiver may
    // have processed the request. Each case has the expected number of attempts.
    let cases = [
        (then(Act::SayAndClose(String::new())), 1),
        (then(Act::SayAndReset(String::new())), 1),
        (then(Act::SayAndClose("HTTP/1.1 2".to_owned())), 2),
        (then(Act::SayAndReset("HTTP/1.1 2".to_owned())), 2),
    ];
    let flat = org.property(None, &[]).await;
    for (act, attempts) in cases {
        let receiver = authority.receiver(Presents::Right, act.clone()).await;
        let subscription = subscribed(&api, &receiver).await;
        for count in 1..=2 {
            org.reservation(Some(flat)).await;
            until(&app, "both are delivered", async || {
                are_delivered(&api, &subscription, count).await
            })
            .await;
        }
        let log = api.get(&log_of(&subscription)).await.data();
        assert_eq!(
            (attempt_count(&log[0]), attempt_count(&log[1])),
            (attempts, 1),
            "{act:?}: {log}"
        );
        assert_eq!(
            (receiver.seen.count(), receiver.seen.attempts().len()),
            (3, 2),
            "{act:?}"
        );
        unsubscribe(&api, &subscription).await;
    }
}

with_authority!(
    a_request_that_http2_refuses_unread_is_sent_again_at_once_and_once,
    "2s"
);
async fn a_request_that_http2_refuses_unread_is_sent_again_at_once_and_once(
    app: App,
    authority: TestAuthority,
) {
    /// Two HTTP/2 frames. The first is `GOAWAY` with the last stream 0 and no error. The second
    /// is `RST_STREAM` of stream 1 with the error `REFUSED_STREAM`.
    const GO_AWAY: &[u8] = &[0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    const REFUSED: &[u8] = &[0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, 7];
    let org = app.org().await;
    let api = org.key().await;
    let flat = org.property(None, &[]).await;
    for frames in [GO_AWAY, REFUSED] {
        let receiver = authority
            .receiver(Presents::Right, Act::Http2Refusing(frames))
            .await;
        let subscription = subscribed(&api, &receiver).await;
        org.reservation(Some(flat)).await;
        until(&app, "it is delivered", async || {
            are_delivered(&api, &subscription, 1).await
        })
        .await;
        let log = api.get(&log_of(&subscription)).await.data();
        assert_eq!(
            (attempt_count(&log[0]), receiver.seen.count()),
            (1, 1),
            "{log}"
        );
        unsubscribe(&api, &subscription).await;
    }
    let receiver = authority
        .receiver(Presents::Right, Act::Http2AllRefusing(REFUSED))
        .await;
    let subscription = subscribed(&api, &receiver).await;
    org.reservation(Some(flat)).await;
    until(&app, "it has failed", async || {
        api.get(&log_of(&subscription)).await.data()[0]["status"] == "failed"
    })
    .await;
    let log = api.get(&log_of(&subscription)).await.data();
    assert_eq!(attempt_count(&log[0]), ALL_ATTEMPTS);
    assert_eq!(
        log[0]["attempts"][0]["error"],
        "the receiver ended the HTTP/2 request before it answered (REFUSED_STREAM)"
    );
    assert!(
        receiver.seen.connections.load(Ordering::Relaxed) <= 2 * ALL_ATTEMPTS,
        "{:?}",
        receiver.seen.connections
    );
}

with_authority!(retry_after_delays_the_next_attempt, "2s");
async fn retry_after_delays_the_next_attempt(app: App, authority: TestAuthority) {
    let org = app.org().await;
    let api = org.key().await;
    let flat = org.property(None, &[]).await;
    for (status, retry_after, next_attempt) in [
        ("503 Busy", "120", "2026-11-21T09:32:00.000Z"),
        (
            "429 Slow Down",
            "Sat, 21 Nov 2026 09:45:00 GMT",
            "2026-11-21T09:45:00.000Z",
        ),
        ("503 Busy", "86400", "2026-11-21T10:30:00.000Z"),
    ] {
        let text =
            format!("HTTP/1.1 {status}\r\nretry-after: {retry_after}\r\ncontent-length: 0\r\n\r\n");
        let receiver = authority.receiver(Presents::Right, Act::Say(text)).await;
        let subscription = subscribed(&api, &receiver).await;
        org.reservation(Some(flat)).await;
        let row = loop {
            tokio::time::sleep(Duration::from_millis(20)).await;
            let log = api.get(&log_of(&subscription)).await.data();
            if attempt_count(&log[0]) == 1 {
                break log[0].clone();
            }
        };
        assert_eq!(row["nextAttemptAt"], next_attempt, "{retry_after}");
        unsubscribe(&api, &subscription).await;
    }
}

with_authority!(
    the_log_says_in_plain_words_why_a_receiver_did_not_answer,
    "2s"
);
async fn the_log_says_in_plain_words_why_a_receiver_did_not_answer(
    app: App,
    authority: TestAuthority,
) {
    let org = app.org().await;
    let api = org.key().await;
    let flat = org.property(None, &[]).await;
    let silent = String::new;
    for (presents, act, words) in [
        (
            Presents::Right,
            Act::SayAndClose(silent()),
            "the receiver closed the connection before it answered",
        ),
        (
            Presents::Right,
            Act::SayAndReset(silent()),
            "the receiver reset the connection before it answered",
        ),
        (
            Presents::Right,
            say("220 mail.example ESMTP\r\n\r\n"),
            "the answer is not valid HTTP",
        ),
        (
            Presents::Right,
            Act::Plain(answer("200 OK")),
            "the receiver does not speak TLS",
        ),
        (Presents::Right, Act::Hang, "timed out"),
        (
            Presents::Expired,
            say(""),
            "the receiver's certificate has expired",
        ),
        (
            Presents::Early,
            say(""),
            "the receiver's certificate is not valid yet",
        ),
        (
            Presents::OtherName,
            say(""),
            "the receiver's certificate is for another name",
        ),
    ] {
        let receiver = authority.receiver(presents, act.clone()).await;
        let subscription = subscribed(&api, &receiver).await;
        org.reservation(Some(flat)).await;
        let mut error = Value::Null;
        until(&app, words, async || {
            error = api.get(&log_of(&subscription)).await.data()[0]["attempts"][0]["error"].clone();
            error.is_string()
        })
        .await;
        assert_eq!(error, words, "{presents:?} {act:?}");
        unsubscribe(&api, &subscription).await;
    }
}

with_authority!(
    a_receiver_that_floods_with_1xx_times_out_without_delaying_others,
    "1s"
);
async fn a_receiver_that_floods_with_1xx_times_out_without_delaying_others(
    app: App,
    authority: TestAuthority,
) {
    let org = app.org().await;
    let api = org.key().await;
    let hints = "HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n".repeat(100);
    let flooding = authority
        .receiver(Presents::Right, Act::Flood(String::new(), hints))
        .await;
    let quick = authority
        .receiver(Presents::Right, Act::Say(answer("200 OK")))
        .await;
    for receiver in [&flooding, &quick] {
        subscribe(&api, receiver).await;
    }
    let flat = org.property(None, &[]).await;
    org.reservation(Some(flat)).await;
    let end = async |receiver: &RawReceiver| {
        end_of(
            &api.get("/webhook-subscriptions").await.data(),
            &receiver.url,
        )
    };
    until(&app, "the quick receiver's delivery succeeds", async || {
        end(&quick).await == Some(DeliveryEnd::Delivered)
    })
    .await;
    assert!(
        flooding.seen.count() < ALL_ATTEMPTS,
        "the quick delivery did not wait for the flooding one"
    );
    until(&app, "the flooding receiver's delivery fails", async || {
        end(&flooding).await == Some(DeliveryEnd::Failed)
    })
    .await;
    assert_eq!(flooding.seen.count(), ALL_ATTEMPTS);
}

with_authority!(a_hanging_receiver_does_not_delay_others, "20s");
async fn a_hanging_receiver_does_not_delay_others(app: App, authority: TestAuthority) {
    const EVENTS: usize = 24;
    let org = app.org().await;
    let api = org.key().await;
    let slow = authority.receiver(Presents::Right, Act::Hang).await;
    let mute = authority.receiver(Presents::Right, Act::Mute).await;
    let quick = authority
        .receiver(Presents::Right, Act::Say(answer("200 OK")))
        .await;
    let modern = authority.receiver(Presents::Right, Act::Http2(200)).await;
    // The hanging receivers subscribe before the others, so their deliveries are first in every
    // queue.
    for receiver in [&slow, &mute, &quick, &modern] {
        subscribe(&api, receiver).await;
    }
    let flat = org.property(None, &[]).await;
    for _ in 0..EVENTS {
        org.reservation(Some(flat)).await;
    }
    // The time limit of 10 s is shorter than the server's `--webhook-timeout`. With a longer limit,
    // the hanging deliveries could end first, and the test would prove nothing.
    let all_quick = async {
        while quick.seen.count() < EVENTS || modern.seen.count() < EVENTS {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), all_quick)
        .await
        .expect("the deliveries to quick receivers end while others hang");
    assert!(
        (1..=16).contains(&slow.seen.count()),
        "{} at once",
        slow.seen.count()
    );
    assert!(
        (1..=16).contains(&mute.seen.connections.load(Ordering::Relaxed)),
        "{:?} at once",
        mute.seen.connections
    );
    for receiver in [&quick, &modern] {
        assert!(
            receiver.seen.attempts().values().all(|count| *count == 1),
            "each once"
        );
        assert_eq!(receiver.seen.records().len(), EVENTS);
    }
    // The service opens several connections at first, before it knows that the receiver speaks
    // HTTP/2 and one connection is enough.
    assert!(
        modern.seen.connections.load(Ordering::Relaxed) <= 16,
        "{:?} connections",
        modern.seen.connections
    );
}

with_authority!(
    a_waiting_delivery_is_sent_as_soon_as_a_permit_is_free,
    "20s"
);
async fn a_waiting_delivery_is_sent_as_soon_as_a_permit_is_free(
    app: App,
    authority: TestAuthority,
) {
    // This is many times the number of deliveries that may run at once, so most deliveries wait for
    // a permit.
    const EVENTS: usize = 640;
    let org = app.org().await;
    let receiver = authority
        .receiver(Presents::Right, Act::Say(answer("200 OK")))
        .await;
    subscribe(&org.key().await, &receiver).await;
    let flat = org.property(None, &[]).await;
    org.sync(reservations(flat, EVENTS)).await.data();
    // If the dispatcher looked for due deliveries only once a second, it would need twice the limit
    // of 10 s for all of them.
    let all = async {
        while receiver.seen.count() < EVENTS {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), all)
        .await
        .expect("each delivery starts as soon as a permit is free");
    assert!(
        receiver.seen.attempts().len() == EVENTS
            && receiver.seen.attempts().values().all(|count| *count == 1),
        "each once"
    );
}

with_authority!(
    many_subscriptions_to_the_same_target_all_get_their_turn,
    "20s"
);
async fn many_subscriptions_to_the_same_target_all_get_their_turn(
    app: App,
    authority: TestAuthority,
) {
    // Each credential has 100 subscriptions. The dispatcher cannot read the deliveries of all 300
    // with one query, and may send only a few deliveries to one target at the same time.
    const CREDENTIALS: usize = 3;
    let org = app.org().await;
    let receiver = authority
        .receiver(Presents::Right, Act::Say(answer("200 OK")))
        .await;
    for _ in 0..CREDENTIALS {
        let api = org.key().await;
        for _ in 0..100 {
            subscribe(&api, &receiver).await;
        }
    }
    let flat = org.property(None, &[]).await;
    org.reservation(Some(flat)).await;
    until(&app, "every subscription has a delivery", async || {
        receiver.seen.count() == 100 * CREDENTIALS
    })
    .await;
    assert_eq!(
        receiver.seen.attempts().len(),
        100 * CREDENTIALS,
        "each once"
    );
}

with_authority!(a_failed_delivery_counts_once_after_its_fifth_attempt, "2s");
async fn a_failed_delivery_counts_once_after_its_fifth_attempt(app: App, authority: TestAuthority) {
    let org = app.org().await;
    let api = org.key().await;
    let broken = authority
        .receiver(Presents::Right, Act::SayAndClose(String::new()))
        .await;
    subscribe(&api, &broken).await;
    let flat = org.property(None, &[]).await;
    for failures in 1..=3 {
        org.reservation(Some(flat)).await;
        until(&app, "it fails", async || {
            api.get("/webhook-subscriptions").await.data()[0]["consecutiveFailures"] == failures
        })
        .await;
    }
    let attempts = broken.seen.attempts();
    assert!(
        attempts.len() == 3 && attempts.values().all(|count| *count == ALL_ATTEMPTS),
        "{attempts:?}"
    );
}

with_authority!(fifty_failures_in_a_row_disable_a_subscription, "500ms");
async fn fifty_failures_in_a_row_disable_a_subscription(app: App, authority: TestAuthority) {
    let org = app.org().await;
    let api = org.key().await;
    let broken = authority
        .receiver(Presents::Right, Act::Say(answer("500 Oh")))
        .await;
    subscribe(&api, &broken).await;
    let flat = org.property(None, &[]).await;
    org.sync(reservations(flat, 60)).await.data();
    until(&app, "it is disabled", async || {
        !api.get("/webhook-subscriptions").await.data()[0]["disabledAt"].is_null()
    })
    .await;
    let row = api.get("/webhook-subscriptions").await.data()[0].clone();
    assert_eq!(
        (&row["consecutiveFailures"], &row["disabledReason"]),
        (&json!(50), &json!("failures"))
    );
    assert!(
        broken
            .seen
            .attempts()
            .values()
            .all(|count| *count <= ALL_ATTEMPTS)
    );
    let before = broken.seen.count();
    org.reservation(Some(flat)).await;
    app.clock.advance(Duration::from_secs(60));
    app.server.dependencies.due.notify_one();
    let (key, quick) = (
        org.key().await,
        authority
            .receiver(Presents::Right, Act::Say(answer("200 OK")))
            .await,
    );
    subscribe(&key, &quick).await;
    org.reservation(Some(flat)).await;
    until(&app, "another subscription gets its delivery", async || {
        quick.seen.count() == 1
    })
    .await;
    // When the service counted the failure that disabled the subscription, other deliveries to it
    // were already running. They still arrive.
    assert!(
        broken.seen.count() <= before + 8,
        "{} after {before}",
        broken.seen.count()
    );
}

with_authority!(
    a_database_outage_after_the_answer_causes_no_second_delivery,
    "30s"
);
async fn a_database_outage_after_the_answer_causes_no_second_delivery(
    app: App,
    authority: TestAuthority,
) {
    // This receiver sends its response byte by byte, which takes most of a second.
    let slow = authority
        .receiver(
            Presents::Right,
            Act::Drip(
                String::new(),
                "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
            ),
        )
        .await;
    let org = app.org().await;
    let api = org.key().await;
    let subscription = api
        .post(
            "/webhook-subscriptions",
            json!({ "event": "reservation.created", "targetUrl": slow.url }),
        )
        .await
        .data();
    let flat = org.property(None, &[]).await;
    org.reservation(Some(flat)).await;
    wait_until("the event arrives", async || slow.seen.count() > 0).await;
    // The test locks the subscriptions for seven seconds. A write waits for a lock for five
    // seconds at most, so the service's first attempt to record the outcome fails.
    let outage = |tx: &mut store::Transaction<'_>| {
        tx.execute(&LOCK_ALL_SUBSCRIPTIONS, &[])?;
        std::thread::sleep(Duration::from_secs(7));
        Ok::<_, store::Error>(())
    };
    app.server
        .service
        .store
        .write_within(Duration::from_secs(20), outage)
        .await
        .unwrap();
    let log = format!(
        "/webhook-subscriptions/{}/deliveries",
        subscription["id"].as_str().unwrap()
    );
    let mut delivery = Value::Null;
    until(&app, "the delivery is recorded", async || {
        delivery = api.get(&log).await.data()[0].clone();
        delivery["status"] == "delivered"
    })
    .await;
    assert_eq!(
        (
            slow.seen.count(),
            delivery["attempts"].as_array().unwrap().len()
        ),
        (1, 1),
        "{delivery}"
    );
}

/// Sends a burst of deliveries to a receiver that is down for just under three minutes. With the
/// default pauses between attempts, every delivery arrives and no failure is counted.
async fn outlasts_an_outage(app: App, receiver: Receiver) {
    const EVENTS: usize = 200;
    let org = app.org().await;
    let api = org.key().await;
    let body = json!({ "event": "reservation.created", "targetUrl": receiver.url });
    api.post("/webhook-subscriptions", body).await.data();
    let flat = org.property(None, &[]).await;
    receiver.answer(&[503]);
    org.sync(reservations(flat, EVENTS)).await.data();
    for second in (0..600).step_by(5) {
        if second == 175 {
            receiver.answer(&[200]);
        }
        for _ in 0..4 {
            app.server.dependencies.due.notify_one();
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        app.clock.advance(Duration::from_secs(5));
    }
    let subscription = api.get("/webhook-subscriptions").await.data()[0].clone();
    assert_eq!(
        (
            &subscription["disabledAt"],
            &subscription["consecutiveFailures"]
        ),
        (&Value::Null, &json!(0))
    );
    let id = subscription["id"].as_str().unwrap();
    for offset in [0, 100] {
        let path = format!("/webhook-subscriptions/{id}/deliveries?limit=100&offset={offset}");
        let log = api.get(&path).await.data();
        let log = log.as_array().unwrap();
        assert_eq!(log.len(), 100);
        assert!(log.iter().all(|row| row["status"] == "delivered"));
    }
}

mod a_burst_before_an_outage_below_three_minutes_loses_nothing {
    use super::*;

    fn flags(receiver: &Receiver) -> Vec<String> {
        let mut flags = receiver.flags().to_vec();
        flags.push("--webhook-retry-base=30s".to_owned());
        flags
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn on_sqlite() {
        test_support::choose_tls_provider();
        let receiver = Receiver::start().await;
        let flags = flags(&receiver);
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        outlasts_an_outage(App::on_sqlite(&flags).await, receiver).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn on_postgres() {
        test_support::choose_tls_provider();
        let receiver = Receiver::start().await;
        let flags = flags(&receiver);
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        if let Some(app) = App::on_postgres(&flags).await {
            outlasts_an_outage(app, receiver).await;
        }
    }
}
