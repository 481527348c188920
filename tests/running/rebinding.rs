//! Tests of DNS rebinding: webhook targets whose IP addresses change between the check and the
//! connection (rules: webhooks#ends, 4). The test sets the IP addresses of the host names, so the
//! service uses no DNS resolver.

use std::net::IpAddr;
use std::sync::atomic::Ordering;

use delivery::Names;
use serde_json::{Value, json};

use test_support::authority::{Presents, TestAuthority};
use test_support::raw_receiver::{Act, RawReceiver};
use test_support::receiver::{self, while_time_passes};
use test_support::{Api, ApiResponse, App};

/// A public IP address. The tests send nothing to it.
const PUBLIC: &str = "93.184.215.14";

/// The IP addresses of host names that the service must refuse as webhook targets, a list for each
/// host name. Each list contains at least one address that no webhook target may have by default,
/// such as a private or a multicast address.
const HOSTILE: [&[&str]; 20] = [
    &["127.0.0.1"],
    &["10.0.0.8"],
    &["100.64.0.1"],
    &["169.254.169.254"],
    &["192.0.2.7"],
    &["224.0.0.1"],
    &["0.0.0.0"],
    &["255.255.255.255"],
    &["::1"],
    &["::"],
    &["fe80::1"],
    &["fd00::1"],
    &["2001:db8::1"],
    &["::ffff:127.0.0.1"],
    &["64:ff9b::7f00:1"],
    &["2002:7f00:1::1"],
    &[PUBLIC, "127.0.0.1"],
    &["127.0.0.1", PUBLIC],
    &[PUBLIC, "2606:4700:4700::1111", "::ffff:10.0.0.8"],
    &["2606:4700:4700::1111", "fe80::1"],
];

/// Runs a test on SQLite and on PostgreSQL. The test gets a table of host names with their IP
/// addresses, and the certificate authority of a receiver.
macro_rules! with_names {
    ($name:ident, $range:literal) => {
        mod $name {
            use super::{App, Names, TestAuthority};

            fn flags(authority: &TestAuthority) -> Vec<String> {
                vec![
                    concat!("--webhook-allow=", $range).to_owned(),
                    format!("--webhook-ca-file={}", authority.file.display()),
                ]
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn on_sqlite() {
                let (authority, names) = (TestAuthority::create(), Names::table());
                let flags = flags(&authority);
                let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
                super::$name(
                    App::on_sqlite_resolving(&flags, names.clone()).await,
                    names,
                    authority,
                )
                .await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn on_postgres() {
                let (authority, names) = (TestAuthority::create(), Names::table());
                let flags = flags(&authority);
                let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
                if let Some(app) = App::on_postgres_resolving(&flags, names.clone()).await {
                    super::$name(app, names, authority).await;
                }
            }
        }
    };
}

fn ips(texts: &[&str]) -> Vec<IpAddr> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

/// Starts a receiver that closes its connection after each delivery. For each delivery, the service
/// therefore has to connect again and resolve the name again.
async fn receiver(authority: &TestAuthority) -> RawReceiver {
    let answer = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    // The certificate of `OtherName` is valid for `hooks.example`, a host name of the test's
    // targets.
    authority
        .receiver(Presents::OtherName, Act::SayAndClose(answer.to_owned()))
        .await
}

/// Creates a subscription whose target has this host name and the receiver's port.
async fn subscribe(api: &Api, name: &str, receiver: &RawReceiver) -> ApiResponse {
    let target = receiver.url.replace("127.0.0.1", name);
    api.post(
        "/webhook-subscriptions",
        json!({ "event": "reservation.created", "targetUrl": target }),
    )
    .await
}

fn connections(receiver: &RawReceiver) -> usize {
    receiver.seen.connections.load(Ordering::Relaxed)
}

/// Waits until all subscriptions satisfy `condition`. Meanwhile advances the clock. Returns the
/// subscriptions.
async fn until(app: &App, api: &Api, condition: impl Fn(&Value) -> bool) -> Vec<Value> {
    let all = |listed: &Value| listed.as_array().unwrap().iter().all(&condition);
    let listed = while_time_passes(app, receiver::until(api, all)).await;
    listed.as_array().unwrap().clone()
}

fn is_disabled(row: &Value) -> bool {
    !row["disabledAt"].is_null()
}

with_names!(
    a_name_that_becomes_private_after_the_check_is_not_contacted,
    "203.0.113.255/32"
);
async fn a_name_that_becomes_private_after_the_check_is_not_contacted(
    app: App,
    names: Names,
    authority: TestAuthority,
) {
    let org = app.org().await;
    let api = org.key().await;
    let receiver = receiver(&authority).await;
    for number in 0..HOSTILE.len() {
        let name = format!("n{number}.example");
        names.set(&name, &ips(&[PUBLIC]));
        subscribe(&api, &name, &receiver).await.data();
    }
    for (number, addresses) in HOSTILE.iter().enumerate() {
        names.set(&format!("n{number}.example"), &ips(addresses));
    }
    let flat = org.property(None, &[]).await;
    org.reservation(Some(flat)).await;
    for row in until(&app, &api, is_disabled).await {
        assert_eq!(
            (&row["disabledReason"], &row["consecutiveFailures"]),
            (&json!("private_target"), &json!(0)),
            "{row}"
        );
        assert!(row["lastDeliveredAt"].is_null(), "{row}");
    }
    assert_eq!(connections(&receiver), 0);
}

with_names!(
    a_single_private_address_of_a_name_refuses_the_target,
    "203.0.113.255/32"
);
async fn a_single_private_address_of_a_name_refuses_the_target(
    app: App,
    names: Names,
    authority: TestAuthority,
) {
    let api = app.org().await.key().await;
    let receiver = receiver(&authority).await;
    for addresses in HOSTILE {
        names.set("mixed.example", &ips(addresses));
        assert_eq!(
            subscribe(&api, "mixed.example", &receiver).await.issues(),
            ["targetUrl"],
            "{addresses:?}"
        );
    }
    names.set("mixed.example", &ips(&[PUBLIC, "2606:4700:4700::1111"]));
    subscribe(&api, "mixed.example", &receiver).await.data();
}

with_names!(
    an_unresolved_name_is_retried_and_checked_again,
    "203.0.113.255/32"
);
async fn an_unresolved_name_is_retried_and_checked_again(
    app: App,
    names: Names,
    authority: TestAuthority,
) {
    let org = app.org().await;
    let api = org.key().await;
    let receiver = receiver(&authority).await;
    subscribe(&api, "later.example", &receiver).await.data();
    let flat = org.property(None, &[]).await;
    org.reservation(Some(flat)).await;
    let row = until(&app, &api, |row| row["consecutiveFailures"] == 1)
        .await
        .remove(0);
    assert!(!is_disabled(&row), "{row}");
    names.set("later.example", &ips(&["127.0.0.1"]));
    org.reservation(Some(flat)).await;
    let row = until(&app, &api, is_disabled).await.remove(0);
    assert_eq!(
        (&row["disabledReason"], &row["consecutiveFailures"]),
        (&json!("private_target"), &json!(1))
    );
    assert_eq!(connections(&receiver), 0);
}

with_names!(
    an_opened_address_opens_no_other_address_of_its_name,
    "127.0.0.1/32"
);
async fn an_opened_address_opens_no_other_address_of_its_name(
    app: App,
    names: Names,
    authority: TestAuthority,
) {
    let org = app.org().await;
    let api = org.key().await;
    let receiver = receiver(&authority).await;
    names.set("hooks.example", &ips(&["127.0.0.1"]));
    subscribe(&api, "hooks.example", &receiver).await.data();
    let flat = org.property(None, &[]).await;
    org.reservation(Some(flat)).await;
    until(&app, &api, |row| !row["lastDeliveredAt"].is_null()).await;
    assert_eq!(connections(&receiver), 1);
    names.set("hooks.example", &ips(&["127.0.0.1", "127.0.0.2"]));
    org.reservation(Some(flat)).await;
    let row = until(&app, &api, is_disabled).await.remove(0);
    assert_eq!(row["disabledReason"], "private_target");
    assert_eq!((connections(&receiver), receiver.seen.count()), (1, 1));
}

with_names!(
    an_opened_loopback_range_opens_no_other_address,
    "127.0.0.0/8"
);
async fn an_opened_loopback_range_opens_no_other_address(
    app: App,
    names: Names,
    authority: TestAuthority,
) {
    let org = app.org().await;
    let api = org.key().await;
    let receiver = receiver(&authority).await;
    for (name, addresses, status) in [
        ("localhost", vec!["127.0.0.1"], 201),
        ("hooks.internal", vec!["127.0.0.1"], 201),
        ("receiver", vec!["127.0.0.1"], 201),
        ("db.internal", vec!["10.0.0.5"], 400),
        ("db.internal", vec!["127.0.0.1", "10.0.0.5"], 400),
        ("db.internal", vec![PUBLIC], 400),
        ("db.internal", vec![], 400),
        ("metadata.google.internal", vec!["169.254.169.254"], 400),
        ("metadata", vec!["169.254.169.254"], 400),
        ("receiver", vec![PUBLIC], 400),
        ("receiver", vec![], 400),
        ("wire.example", vec!["168.63.129.16"], 400),
        ("hooks.example", vec!["10.0.0.5"], 400),
    ] {
        names.set(name, &ips(&addresses));
        assert_eq!(
            subscribe(&api, name, &receiver).await.status,
            status,
            "{name} {addresses:?}"
        );
    }
    // When the subscriptions were created, the host names had permitted IP addresses. Before the
    // deliveries, the test gives each host name an IP address that is not permitted for it.
    for (name, addresses) in [
        ("localhost", ["10.0.0.5"]),
        ("hooks.internal", [PUBLIC]),
        ("receiver", ["168.63.129.16"]),
    ] {
        names.set(name, &ips(&addresses));
    }
    let flat = org.property(None, &[]).await;
    org.reservation(Some(flat)).await;
    for row in until(&app, &api, is_disabled).await {
        assert_eq!(row["disabledReason"], "private_target", "{row}");
    }
    assert_eq!(connections(&receiver), 0);
}

with_names!(a_private_name_needs_an_opened_address, "10.1.0.0/16");
// The service treats `db.internal` as private even if this host name has a public IP address. It
// accepts the name only if all its IP addresses are in a range that the operator allows.
async fn a_private_name_needs_an_opened_address(app: App, names: Names, authority: TestAuthority) {
    let api = app.org().await.key().await;
    let receiver = receiver(&authority).await;
    for (addresses, status) in [
        (vec![], 400),
        (vec![PUBLIC], 400),
        (vec!["10.2.0.1"], 400),
        (vec!["10.1.0.1", PUBLIC], 400),
        (vec!["10.1.0.1"], 201),
    ] {
        names.set("db.internal", &ips(&addresses));
        assert_eq!(
            subscribe(&api, "db.internal", &receiver).await.status,
            status,
            "{addresses:?}"
        );
    }
}
