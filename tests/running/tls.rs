//! Tests of a service that has a TLS certificate itself: HTTP/1.1 and HTTP/2, limits, invalid
//! files, and changed files.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use rcgen::{CertifiedKey, KeyPair, generate_simple_self_signed};
use reqwest::Version;
use serde_json::json;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use vestibule::server::Limits;

use test_support::node::Node;
use test_support::server_process::{output_of, serve};
use test_support::waiting::{in_time_within, wait_until_within};
use test_support::{ApiResponse, App, choose_tls_provider};

/// Time limit of events that take milliseconds on an idle machine.
const SOON: Duration = Duration::from_secs(10);
/// Time limit that some tests set for idle clients. The tests give the server up to [`SOON`] to
/// disconnect such a client.
const IDLE_TIMEOUT: Duration = Duration::from_secs(1);
const HEALTH: &[u8] = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";

/// A certificate file and its key file.
struct Files {
    directory: TempDir,
}

impl Files {
    fn new() -> (Self, CertificateDer<'static>) {
        choose_tls_provider();
        let files = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        let certificate = files.renew();
        (files, certificate)
    }

    /// Writes a new certificate and a new key to the two files. Returns the certificate.
    fn renew(&self) -> CertificateDer<'static> {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        std::fs::write(self.certificate(), cert.pem()).unwrap();
        std::fs::write(self.key(), signing_key.serialize_pem()).unwrap();
        cert.der().clone()
    }

    fn certificate(&self) -> PathBuf {
        self.directory.path().join("certificate.pem")
    }

    fn key(&self) -> PathBuf {
        self.directory.path().join("key.pem")
    }

    fn flags(&self) -> [String; 2] {
        [
            format!("--tls-certificate={}", self.certificate().display()),
            format!("--tls-key={}", self.key().display()),
        ]
    }
}

async fn app(files: &Files, limits: Limits) -> App {
    App::on_sqlite_with_limits(&files.flags().each_ref().map(String::as_str), limits).await
}

/// Returns a TLS client that trusts exactly these certificates.
fn connector(trusted: &[&CertificateDer<'static>]) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    for certificate in trusted {
        roots.add((*certificate).clone()).unwrap();
    }
    TlsConnector::from(Arc::new(
        ClientConfig::builder()
            .with_root_certificates(roots)
            .with_no_client_auth(),
    ))
}

async fn connect(base: &str, connector: &TlsConnector) -> TlsStream<TcpStream> {
    let stream = TcpStream::connect(base.trim_start_matches("https://"))
        .await
        .unwrap();
    let handshake = connector.connect(ServerName::try_from("localhost").unwrap(), stream);
    in_time_within(SOON, "the TLS handshake ends", handshake)
        .await
        .unwrap()
}

/// Reads until the server closes the connection. Returns the text that it read.
async fn rest(stream: &mut (impl tokio::io::AsyncRead + Unpin)) -> String {
    let mut received = Vec::new();
    timeout(SOON, stream.read_to_end(&mut received))
        .await
        .expect("the connection ends")
        .expect("it is not reset");
    String::from_utf8_lossy(&received).into_owned()
}

async fn health(base: &str, connector: &TlsConnector) -> String {
    let mut stream = connect(base, connector).await;
    stream.write_all(HEALTH).await.unwrap();
    rest(&mut stream).await
}

fn http(certificate: &CertificateDer<'static>) -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .tls_certs_only([reqwest::Certificate::from_der(certificate).unwrap()])
        .timeout(SOON)
}

#[tokio::test(flavor = "multi_thread")]
async fn http_1_and_http_2_are_served_over_tls() {
    let (files, certificate) = Files::new();
    let app = app(&files, Limits::default()).await;
    let port = app.server.address.port();
    assert_eq!(app.base, format!("https://127.0.0.1:{port}"));
    assert_eq!(
        app.server.service.app_state.public_url, app.base,
        "what guests are told is as they reach it"
    );
    for (client, version) in [
        (http(&certificate), Version::HTTP_2),
        (http(&certificate).http1_only(), Version::HTTP_11),
    ] {
        let response = client
            .build()
            .unwrap()
            .get(format!("https://localhost:{port}/healthz"))
            .send()
            .await
            .unwrap();
        assert_eq!(
            (response.version(), response.status().as_u16()),
            (version, 200)
        );
        assert_eq!(
            response.headers()["strict-transport-security"],
            "max-age=31536000"
        );
        assert_eq!(response.text().await.unwrap().trim(), "ok");
    }
    let metrics = http(&certificate)
        .build()
        .unwrap()
        .get(format!("https://localhost:{port}/metrics"))
        .send()
        .await
        .unwrap();
    assert!(
        metrics
            .text()
            .await
            .unwrap()
            .contains("\nvestibule_tls_certificate_expires_timestamp_seconds ")
    );
}

/// The server disconnects a client that does not finish its TLS handshake, at whatever point the
/// client stops. It also serves other clients while as many handshakes are unfinished as the server
/// accepts connections.
#[tokio::test(flavor = "multi_thread")]
async fn an_unfinished_tls_handshake_does_not_delay_other_clients() {
    let (files, certificate) = Files::new();
    let app = app(
        &files,
        Limits {
            connections: 8,
            ..Limits::default()
        },
    )
    .await;
    let hello = client_hello().await;
    let half = &hello[..hello.len() / 2];
    let mut silent = Vec::new();
    for round in 0..24 {
        let mut stream = TcpStream::connect(app.server.address).await.unwrap();
        stream
            .write_all([&b""[..], &hello[..1], half, &hello][round % 4])
            .await
            .unwrap();
        silent.push(stream);
    }
    let start = Instant::now();
    assert!(
        health(&app.base, &connector(&[&certificate]))
            .await
            .starts_with("HTTP/1.1 200")
    );
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "{:?}",
        start.elapsed()
    );
    drop(silent);

    let short = App::on_sqlite_with_limits(
        &files.flags().each_ref().map(String::as_str),
        Limits {
            idle: IDLE_TIMEOUT,
            ..Limits::default()
        },
    )
    .await;
    let start = Instant::now();
    let ends = [&b""[..], &hello[..1], half, &hello].map(async |text| {
        let mut stream = TcpStream::connect(short.server.address).await.unwrap();
        stream.write_all(text).await.unwrap();
        drop(
            timeout(SOON, stream.read_to_end(&mut Vec::new()))
                .await
                .expect("it is let go"),
        );
    });
    join_all(ends).await;
    assert!(start.elapsed() >= IDLE_TIMEOUT && start.elapsed() < SOON);
    // After the TLS handshake, the same limits apply as to a connection without TLS.
    let mut idle = connect(&short.base, &connector(&[&certificate])).await;
    drop(
        timeout(SOON, idle.read_to_end(&mut Vec::new()))
            .await
            .expect("it is let go"),
    );
}

/// Returns the first message of a TLS handshake.
async fn client_hello() -> Vec<u8> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (files, certificate) = Files::new();
    drop(files);
    let asks = async {
        let stream = TcpStream::connect(address).await.unwrap();
        drop(
            connector(&[&certificate])
                .connect(ServerName::try_from("localhost").unwrap(), stream)
                .await,
        );
    };
    let hears = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut hello = vec![0; 4096];
        let reading = stream.read(&mut hello);
        let count = in_time_within(SOON, "the client sends its first message", reading)
            .await
            .unwrap();
        hello.truncate(count);
        hello
    };
    tokio::join!(asks, hears).1
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plain_http_client_gets_an_answer_and_is_disconnected() {
    let (files, certificate) = Files::new();
    let app = app(&files, Limits::default()).await;
    let long = format!(
        "POST /api/v1/portals HTTP/1.1\r\nhost: x\r\ncontent-length: 20000\r\n\r\n{}",
        "x".repeat(20_000)
    );
    for text in [HEALTH, long.as_bytes(), b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"] {
        let mut stream = TcpStream::connect(app.server.address).await.unwrap();
        stream.write_all(text).await.unwrap();
        let received = rest(&mut stream).await;
        assert!(
            received.starts_with("HTTP/1.1 400 ")
                && received.ends_with("\r\n\r\nThis port speaks https.\n"),
            "{received}"
        );
    }
    for text in [
        &[0; 300][..],
        b"\x16\x03\x01\xff\xff\xff\xff",
        b"\x80\x2e\x01\x00\x02",
    ] {
        let mut stream = TcpStream::connect(app.server.address).await.unwrap();
        stream.write_all(text).await.unwrap();
        stream.shutdown().await.unwrap();
        rest(&mut stream).await;
    }
    assert!(
        health(&app.base, &connector(&[&certificate]))
            .await
            .starts_with("HTTP/1.1 200")
    );
}

/// The server is stopping. A request that began before the stop still gets its response. A client
/// in the middle of a TLS handshake does not delay the stop.
#[tokio::test(flavor = "multi_thread")]
async fn shutdown_over_tls_completes_running_requests() {
    let (files, certificate) = Files::new();
    let app = app(&files, Limits::default()).await;
    let client = http(&certificate).build().unwrap();
    let platform = format!(
        "https://localhost:{}/platform/v1/organizations/0192f0c1-0000-7000-8000-000000000001",
        app.server.address.port()
    );
    let created = ApiResponse::of(
        client
            .put(&platform)
            .bearer_auth(test_support::PLATFORM_KEY)
            .json(&json!({ "name": "O" })),
    )
    .await;
    created.data();
    let mut busy = connect(&app.base, &connector(&[&certificate])).await;
    let first_half = format!(
        "GET /platform/v1/organizations/0192f0c1-0000-7000-8000-000000000001 HTTP/1.1\r\nhost: \
            x\r\nauthorization: Bearer {}\r\n",
        test_support::PLATFORM_KEY
    );
    busy.write_all(first_half.as_bytes()).await.unwrap();
    let mut silent = TcpStream::connect(app.server.address).await.unwrap();
    silent.write_all(&client_hello().await).await.unwrap();
    tokio::time::sleep(Duration::from_millis(500)).await;
    let start = Instant::now();
    let other_half = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        busy.write_all(b"\r\n").await.unwrap();
        rest(&mut busy).await
    };
    let ((), answer) = tokio::join!(app.server.stop(), other_half);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(
        start.elapsed() < Duration::from_secs(8),
        "{:?}",
        start.elapsed()
    );
}

/// Returns the error message of a server, which must refuse to start with these flags.
fn refusal(flags: &[String]) -> String {
    let directory = tempfile::tempdir().unwrap();
    let database = format!("sqlite:{}", directory.path().join("t.db").display());
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let output = output_of(&mut serve(&database, &flags));
    assert!(!output.status.success());
    let text = String::from_utf8(output.stderr).unwrap();
    text.lines()
        .find(|line| line.starts_with("vestibule: "))
        .unwrap_or_else(|| panic!("{text}"))
        .to_owned()
}

#[test]
fn invalid_tls_files_are_reported_at_start() {
    let (files, _) = Files::new();
    let flags = files.flags();
    assert!(refusal(&flags[..1]).contains("--tls-certificate needs --tls-key"));
    assert!(refusal(&flags[1..]).contains("--tls-key needs --tls-certificate"));
    std::fs::write(files.key(), KeyPair::generate().unwrap().serialize_pem()).unwrap();
    assert!(refusal(&flags).contains("key.pem: is not the key of the first certificate in"));
    std::fs::write(files.key(), "nothing").unwrap();
    assert!(refusal(&flags).contains("key.pem: contains no private key in PEM"));
    for (text, reported) in [
        ("", "certificate.pem: contains no certificate in PEM"),
        (
            "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
            "certificate.pem: contains a certificate that cannot be read",
        ),
        (
            "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n",
            "certificate.pem: contains a certificate that is not valid PEM",
        ),
    ] {
        std::fs::write(files.certificate(), text).unwrap();
        assert!(
            refusal(&flags).contains(reported),
            "{reported}: {}",
            refusal(&flags)
        );
    }
    std::fs::remove_file(files.certificate()).unwrap();
    assert!(refusal(&flags).contains("certificate.pem: No such file"));
}

/// On SIGHUP the server reads the certificate files again, for new connections only. If a file is
/// invalid, the server logs that and continues to use the old certificate.
#[tokio::test(flavor = "multi_thread")]
async fn sighup_reloads_the_certificate() {
    let (files, first) = Files::new();
    let directory = tempfile::tempdir().unwrap();
    let node = Node::start(
        &format!("sqlite:{}", directory.path().join("t.db").display()),
        &files.flags().each_ref().map(String::as_str),
    );
    assert!(node.base.starts_with("https://127.0.0.1:"), "{}", node.base);
    let mut connected = connect(&node.base, &connector(&[&first])).await;
    let hang_up = async |reported: &str, count: usize| {
        node.signal("-HUP");
        wait_until_within(SOON, reported, async || node.logged(reported) >= count).await;
    };
    let second = files.renew();
    hang_up("reloaded the TLS certificate", 1).await;
    let shown = async || {
        connect(&node.base, &connector(&[&first, &second]))
            .await
            .get_ref()
            .1
            .peer_certificates()
            .unwrap()[0]
            .clone()
    };
    assert_eq!(shown().await, second);
    connected.write_all(HEALTH).await.unwrap();
    assert!(
        rest(&mut connected).await.starts_with("HTTP/1.1 200"),
        "a connection keeps what it began with"
    );

    std::fs::write(files.key(), KeyPair::generate().unwrap().serialize_pem()).unwrap();
    hang_up("the former one stays", 1).await;
    let mut expired = rcgen::CertificateParams::new(["localhost".to_owned()]).unwrap();
    expired.not_after = rcgen::date_time_ymd(2020, 1, 1);
    let key = KeyPair::generate().unwrap();
    std::fs::write(
        files.certificate(),
        expired.self_signed(&key).unwrap().pem(),
    )
    .unwrap();
    std::fs::write(files.key(), key.serialize_pem()).unwrap();
    hang_up("the former one stays", 2).await;
    assert_eq!(node.lines("and not now").len(), 1);
    assert_eq!(shown().await, second);

    // The certificate file is a named pipe without a writer. The server does not wait for a writer.
    std::fs::remove_file(files.certificate()).unwrap();
    let piped = Command::new("mkfifo").arg(files.certificate()).status();
    assert!(piped.unwrap().success());
    hang_up("is not a regular file", 1).await;
    assert_eq!(shown().await, second);
}
