//! Tests of `--tls-domain`: the service obtains, stores and renews its TLS certificate from an ACME
//! authority. Pebble is the authority.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::clock::Clock;
use reqwest::{Certificate, Client};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use vestibule::server::Server;

use test_support::node::Node;
use test_support::pebble::Pebble;
use test_support::ports::free_port;
use test_support::waiting::{in_time, wait_until_within};
use test_support::{choose_tls_provider, serve_flags};

/// Time limit of events that take milliseconds on an idle machine.
const SOON: Duration = Duration::from_secs(20);
const DAY: Duration = Duration::from_secs(24 * 3_600);
const NAME: &str = "guests.example";

/// A server's directory and port, and an ACME authority. The server's host name is [`NAME`]. To
/// validate that name, the authority connects to the port.
struct Machine {
    pebble: Pebble,
    port: u16,
    directory: TempDir,
}

impl Machine {
    fn new() -> Option<Self> {
        let port = free_port();
        Some(Self {
            pebble: Pebble::start(port)?,
            port,
            directory: tempfile::tempdir().unwrap(),
        })
    }

    fn database(&self) -> String {
        format!("sqlite:{}", self.directory.path().join("t.db").display())
    }

    fn flags(&self, domains: &str) -> Vec<String> {
        let own = [
            format!("--listen=127.0.0.1:{}", self.port),
            format!("--tls-domain={domains}"),
            "--acme-email=operator@guests.example".to_owned(),
        ];
        own.into_iter().chain(self.pebble.flags()).collect()
    }

    fn node(&self, domains: &str) -> Node {
        let flags = self.flags(domains);
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        Node::start(&self.database(), &flags)
    }

    /// Returns the files that contain secrets: the key of the ACME account and the key of the
    /// certificate.
    fn secrets(&self) -> Vec<PathBuf> {
        let folder = self.directory.path().join("t.db.acme");
        let authority = std::fs::read_dir(folder).unwrap().next().unwrap().unwrap();
        ["account.json", "certificate.pem"]
            .map(|name| authority.path().join(name))
            .to_vec()
    }
}

/// Opens a TLS connection to a port on loopback. The client asks for the host name `name`, trusts
/// only the root certificate `root`, and offers the ALPN protocols `protocols`.
async fn connect(
    port: u16,
    name: &str,
    root: &CertificateDer<'static>,
    protocols: &[&[u8]],
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(root.clone()).unwrap();
    let mut config = ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let connector = TlsConnector::from(Arc::new(config));
    in_time("the TLS handshake ends", connector.connect(name, stream)).await
}

/// Returns the certificate that the server presents to clients that connect to `name`.
async fn presented_certificate(
    port: u16,
    name: &str,
    root: &CertificateDer<'static>,
) -> CertificateDer<'static> {
    let stream = connect(port, name, root, &[b"http/1.1"]).await.unwrap();
    stream.get_ref().1.peer_certificates().unwrap()[0].clone()
}

async fn until_logged(node: &Node, text: &str) {
    let event = format!("the node logs: {text}");
    wait_until_within(SOON, &event, async || node.logged(text) > 0).await;
}

/// Returns a listener that acts as an authority: it accepts connections and never responds. Also
/// returns the authority's URL.
fn silent_authority() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    (
        listener,
        format!("--acme-directory=https://127.0.0.1:{port}/dir"),
    )
}

/// The first start obtains one certificate for all configured host names. The next start uses the
/// stored certificate, even if the authority is down.
#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_is_obtained_and_used_again_after_a_restart() {
    let Some(mut machine) = Machine::new() else {
        return;
    };
    let names = "guests.example,stay.example";
    let mut node = machine.node(names);
    until_logged(&node, "obtained a TLS certificate").await;
    for step in [
        "registered an account at the certificate authority",
        "ordering a TLS certificate",
        "the certificate authority now connects to port 443",
        "has fetched the answer to its challenge",
        "has checked the host names",
    ] {
        assert!(node.logged(step) > 0, "{step}: {:?}", node.lines(""));
    }
    let root = machine.pebble.root().await;
    let first = presented_certificate(machine.port, NAME, &root).await;
    assert_eq!(
        presented_certificate(machine.port, "stay.example", &root).await,
        first
    );
    let client = Client::builder()
        .tls_certs_only([Certificate::from_der(&root).unwrap()])
        .resolve(NAME, SocketAddr::from((Ipv4Addr::LOCALHOST, machine.port)))
        .build()
        .unwrap();
    let base = format!("https://{NAME}:{}", machine.port);
    let response = client.get(format!("{base}/healthz")).send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert!(response.headers().contains_key("strict-transport-security"));
    let metadata = "/.well-known/oauth-authorization-server";
    let response = client.get(format!("{base}{metadata}")).send().await;
    let metadata: serde_json::Value = response.unwrap().json().await.unwrap();
    assert_eq!(metadata["issuer"], format!("https://{NAME}"));
    for path in machine.secrets() {
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", path.display());
    }

    node.kill();
    machine.pebble.stop();
    let node = machine.node(names);
    assert_eq!(node.logged("using the stored TLS certificate"), 1);
    assert_eq!(
        presented_certificate(machine.port, NAME, &root).await,
        first
    );
    assert_eq!(node.logged("ordering a TLS certificate"), 0);
}

/// Pebble restarts before the renewal and thereby forgets all accounts, so the renewal also
/// registers a new account.
#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_is_renewed_when_a_third_of_its_lifetime_remains() {
    let Some(mut machine) = Machine::new() else {
        return;
    };
    let clock = Clock::manual(Clock::system().now());
    let flags = machine.flags(NAME);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let flags = serve_flags(&machine.database(), &flags);
    let server = Server::start(flags, clock.clone()).await.unwrap();
    // The background task may already have obtained the certificate. The test therefore ignores
    // whether this call renews it.
    server.renew_certificate().await.unwrap();
    assert_eq!(
        server.service.app_state.public_url,
        format!("https://{NAME}")
    );
    let first_root = machine.pebble.root().await;
    let first = presented_certificate(machine.port, NAME, &first_root).await;
    clock.advance(59 * DAY);
    assert_eq!(server.renew_certificate().await, Ok(false));

    machine.pebble.restart();
    let root = machine.pebble.root().await;
    assert_eq!(
        presented_certificate(machine.port, NAME, &first_root).await,
        first
    );
    clock.advance(2 * DAY);
    assert_eq!(server.renew_certificate().await, Ok(true));
    assert_ne!(
        presented_certificate(machine.port, NAME, &root).await,
        first
    );
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_order_is_logged_and_retried() {
    let nothing_listens = free_port();
    let Some(pebble) = Pebble::start(nothing_listens) else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let database = format!("sqlite:{}", directory.path().join("t.db").display());
    let [authority, root] = pebble.flags();
    let mut node = Node::start(
        &database,
        &[&format!("--tls-domain={NAME}"), &authority, &root],
    );
    until_logged(&node, "could not obtain a TLS certificate").await;
    let line = &node.lines("could not obtain a TLS certificate")[0];
    for part in [
        "guests.example was not accepted: ",
        "2 min",
        "there is no valid one",
    ] {
        assert!(line.contains(part), "{line}");
    }
    assert!(node.is_running());
}

/// An authority that does not respond delays neither the start nor the stop of the server. Without
/// a certificate every TLS handshake fails, including the handshake of an ACME challenge.
#[tokio::test(flavor = "multi_thread")]
async fn a_silent_authority_delays_neither_start_nor_stop() {
    choose_tls_provider();
    let (_listener, authority) = silent_authority();
    let directory = tempfile::tempdir().unwrap();
    let database = format!("sqlite:{}", directory.path().join("t.db").display());
    let domain = format!("--tls-domain={NAME}");
    let start = Instant::now();
    let server = Server::start(
        serve_flags(&database, &[&domain, &authority]),
        Clock::system(),
    )
    .await
    .unwrap();
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    let any = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let port = server.address.port();
    for protocol in [&b"http/1.1"[..], b"acme-tls/1"] {
        let connected = connect(port, NAME, any.cert.der(), &[protocol]).await;
        assert!(connected.is_err(), "{protocol:?}");
    }
    let start = Instant::now();
    server.stop().await;
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "{:?}",
        start.elapsed()
    );
}

/// Runs `vestibule` with settings that it refuses. Returns the error text.
fn refusal(directory: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(test_support::program());
    let output = command
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap();
    assert!(!output.status.success(), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn settings_that_cannot_work_are_refused_at_the_start() {
    let directory = tempfile::tempdir().unwrap();
    let domain = "--tls-domain=guests.example";
    std::fs::write(directory.path().join("no.pem"), "nothing").unwrap();
    for (arguments, words) in [
        (
            vec![
                "serve",
                domain,
                "--tls-certificate=a.pem",
                "--tls-key=b.pem",
            ],
            "--tls-domain obtains a certificate, and --tls-certificate names one in files",
        ),
        (
            vec!["serve", domain, "--acme-root=no.pem"],
            "--acme-root: no.pem: contains no certificate in PEM",
        ),
        (
            vec!["serve", domain, "--acme-folder=/proc/acme"],
            "--acme-folder: /proc/acme",
        ),
        (
            vec!["demo", domain],
            "demo keeps nothing, so it would order a certificate at each start",
        ),
    ] {
        let reported = refusal(directory.path(), &arguments);
        assert!(reported.contains(words), "{arguments:?}: {reported}");
    }
}

#[test]
fn links_of_other_commands_begin_with_the_first_domain() {
    let directory = tempfile::tempdir().unwrap();
    let output = Command::new(test_support::program())
        .arg("setup-link")
        .env("VESTIBULE_TLS_DOMAIN", "guests.example,stay.example")
        .current_dir(directory.path())
        .output()
        .unwrap();
    let link = String::from_utf8(output.stdout).unwrap();
    assert!(
        link.starts_with("set up at https://guests.example/setup?"),
        "{link}"
    );
}
