//! Tests of `vestibule doctor`: its findings, the remedies that it prints, and its exit code.

use std::path::Path;
use std::process::Command;

use serde_json::json;
use tempfile::TempDir;

use test_support::node::Node;
use test_support::{choose_tls_provider, postgres};

/// Runs `vestibule doctor` in a directory. Returns whether it found no fault, and its report.
fn doctor(directory: &Path, flags: &[&str]) -> (bool, String) {
    let output = Command::new(test_support::program())
        .arg("doctor")
        .args(flags)
        .current_dir(directory)
        .output()
        .unwrap();
    let report = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.code().is_some_and(|code| code <= 1),
        "{report}"
    );
    (output.status.success(), report)
}

/// Returns the lines of a report that begin with this verdict and this area.
fn lines<'r>(report: &'r str, verdict: &str, area: &str) -> Vec<&'r str> {
    let beginning = format!("{verdict:<6}{area}");
    let lines = report.lines();
    lines.filter(|line| line.starts_with(&beginning)).collect()
}

#[test]
fn on_a_sound_machine_no_fault_is_reported_and_no_file_is_created() {
    let directory = TempDir::new().unwrap();
    let (is_sound, report) = doctor(directory.path(), &["--database-url=sqlite:a.db"]);
    assert!(is_sound, "{report}");
    for area in ["settings", "database", "storage", "clock", "provider"] {
        assert_eq!(lines(&report, "ok", area).len(), 1, "{area}: {report}");
    }
    // Each note of the report contains a remedy.
    assert_eq!(lines(&report, "note", "public URL").len(), 1, "{report}");
    assert!(report.contains("-> set --public-url"), "{report}");
    assert_eq!(directory.path().read_dir().unwrap().count(), 0);
}

#[test]
fn each_fault_is_reported_with_a_remedy_and_exit_code_1() {
    let directory = TempDir::new().unwrap();
    std::fs::write(directory.path().join("no.pem"), "nothing").unwrap();
    for (flags, area, words) in [
        (
            vec!["--database-url=sqlite:missing/x.db"],
            "database",
            "missing",
        ),
        (
            vec!["--database-url=postgres://127.0.0.1:9/x"],
            "database",
            "127.0.0.1:9",
        ),
        (vec!["--database-url=mysql://x"], "database", "sqlite:"),
        (
            vec!["--uploads-url=file:///proc/uploads"],
            "storage",
            "/proc/uploads",
        ),
        (
            vec!["--tls-certificate=no.pem", "--tls-key=no.pem"],
            "certificate",
            "no.pem",
        ),
        (
            vec![
                "--tls-domain=stay.invalid",
                "--acme-directory=https://127.0.0.1:9/dir",
            ],
            "certificate",
            "127.0.0.1:9",
        ),
        (vec!["--tls-domain=*.stay.invalid"], "settings", "wildcard"),
        (
            vec!["--public-url=http://stay.invalid"],
            "public URL",
            "https",
        ),
        (
            vec![
                "--public-url=https://stay.invalid",
                "--oidc-issuer=http://127.0.0.1:9",
                "--oidc-client-id=us",
            ],
            "provider",
            "127.0.0.1:9",
        ),
    ] {
        let (is_sound, report) = doctor(directory.path(), &flags);
        assert!(!is_sound, "{flags:?}: {report}");
        let wrong = lines(&report, "wrong", area);
        assert!(
            wrong.first().is_some_and(|line| line.contains(words)),
            "{flags:?}: {report}"
        );
        assert!(report.contains("-> "), "{report}");
        assert!(
            report.matches("database not usable").count() <= 1,
            "{report}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn encoding_connections_and_rights_of_a_postgres_role_are_checked() {
    let databases = tokio::task::spawn_blocking(|| {
        Some([
            postgres::fresh_database()?,
            postgres::fresh_database_of("LATIN1")?,
        ])
    });
    let Some([sound, latin]) = databases.await.unwrap() else {
        return;
    };
    let directory = TempDir::new().unwrap();
    let examined = |url: &str| doctor(directory.path(), &[&format!("--database-url={url}")]);
    let (is_sound, report) = examined(&sound);
    assert!(is_sound, "{report}");
    let found = lines(&report, "ok", "database")[0];
    assert!(
        found.contains("encoding UTF8") && found.contains("connections"),
        "{report}"
    );
    assert!(report.contains("the same as at the database"), "{report}");
    let (is_sound, report) = examined(&latin);
    assert!(
        !is_sound && lines(&report, "wrong", "database")[0].contains("LATIN1"),
        "{report}"
    );

    let poor = sound.clone();
    tokio::task::spawn_blocking(move || {
        let mut client = ::postgres::Client::connect(&poor, ::postgres::NoTls).unwrap();
        client
            .batch_execute(
                "drop role if exists doctor_poor; create role doctor_poor login connection limit 3",
            )
            .unwrap();
    })
    .await
    .unwrap();
    let (_, rest) = sound.split_once("://").unwrap();
    let rest = rest.split_once('@').map_or(rest, |(_, rest)| rest);
    let (is_sound, report) = examined(&format!("postgres://doctor_poor@{rest}"));
    assert!(!is_sound, "{report}");
    assert!(
        lines(&report, "wrong", "database")[0].contains("may not create tables"),
        "{report}"
    );
    assert!(
        lines(&report, "note", "database")[0].contains("3 connections"),
        "{report}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_public_address_must_lead_to_this_service() {
    choose_tls_provider();
    let directory = TempDir::new().unwrap();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", free.local_addr().unwrap());
    let flags = [
        format!(
            "--database-url=sqlite:{}",
            directory.path().join("a.db").display()
        ),
        format!("--public-url={address}"),
    ];
    let flags = flags.each_ref().map(String::as_str);
    let (is_sound, report) = doctor(directory.path(), &flags);
    assert!(
        is_sound && lines(&report, "note", "public URL").len() == 1,
        "before the start: {report}"
    );
    drop(free);
    let listen = format!("--listen={}", address.trim_start_matches("http://"));
    let database = flags[0].trim_start_matches("--database-url=");
    let _node = Node::start(database, &[flags[1], &listen]);
    let (is_sound, report) = doctor(directory.path(), &flags);
    assert!(is_sound, "{report}");
    assert!(
        lines(&report, "ok", "public URL")[0].contains("leads to this service"),
        "{report}"
    );
    assert!(report.contains("another process serves it now"), "{report}");
    let other = format!("--public-url={}", address.replace("127.0.0.1", "localhost"));
    let (is_sound, report) = doctor(directory.path(), &[flags[0], &other]);
    assert!(!is_sound, "{report}");
    assert!(
        lines(&report, "wrong", "public URL")[0].contains(&address),
        "{report}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_provider_must_know_this_service_and_its_redirect_address() {
    choose_tls_provider();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let issuer = format!("http://{}", listener.local_addr().unwrap());
    let metadata = json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/authorize"),
        "token_endpoint": format!("{issuer}/token"),
        "jwks_uri": format!("{issuer}/keys"),
        "id_token_signing_alg_values_supported": ["ES256"],
    });
    let keys = json!({
        "keys": [
            {
                "kty": "EC",
                "crv": "P-256",
                "use": "sig",
                "kid": "a",
                "alg": "ES256",
                "x": "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",
                "y": "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM",
            },
        ],
    });
    let reported = axum::routing::get(
        |axum::extract::RawQuery(query): axum::extract::RawQuery| async move {
            let query = query.unwrap_or_default();
            let is_known = query.contains("client_id=us&")
                && query.contains("redirect_uri=https%3A%2F%2Fstay.invalid%2Fsign-in%2Fcallback");
            if is_known {
                http::StatusCode::OK
            } else {
                http::StatusCode::BAD_REQUEST
            }
        },
    );
    let document = |document: serde_json::Value| {
        axum::routing::get(move || std::future::ready(document.to_string()))
    };
    let routes = axum::Router::new()
        .route("/.well-known/openid-configuration", document(metadata))
        .route("/keys", document(keys))
        .route("/authorize", reported);
    tokio::spawn(async move { axum::serve(listener, routes).await });
    let directory = TempDir::new().unwrap();
    let examine = |client: &str, address: &str| {
        let flags = [
            format!("--oidc-issuer={issuer}"),
            format!("--oidc-client-id={client}"),
            format!("--public-url={address}"),
        ];
        let directory = directory.path().to_owned();
        tokio::task::spawn_blocking(move || {
            doctor(&directory, &flags.each_ref().map(String::as_str))
        })
    };
    let (is_sound, report) = examine("us", "https://stay.invalid").await.unwrap();
    assert!(
        is_sound && lines(&report, "ok", "provider")[0].contains("keys (1)"),
        "{report}"
    );
    for (client, address) in [
        ("them", "https://stay.invalid"),
        ("us", "https://other.invalid"),
    ] {
        let (is_sound, report) = examine(client, address).await.unwrap();
        assert!(!is_sound, "{report}");
        assert!(
            lines(&report, "wrong", "provider")[0].contains("400"),
            "{report}"
        );
        assert!(
            report.contains(&format!("{address}/sign-in/callback")),
            "{report}"
        );
    }
}
