//! Runs Pebble, the ACME test server of the makers of Let's Encrypt.
//!
//! Pebble validates a host name by a TLS-ALPN-01 handshake. Its DNS server resolves every host name
//! to 127.0.0.1.

use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use rcgen::{CertifiedKey, generate_simple_self_signed};
use reqwest::{Certificate, Client};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::json;
use tempfile::TempDir;

use super::choose_tls_provider;
use super::left_out::leave_out;
use super::ports::free_port;
use super::waiting::{WAIT_LIMIT, block_until};

/// Lifetime of issued certificates in seconds: 90 days.
const LIFETIME: u32 = 90 * 24 * 3_600;

/// A running Pebble with its DNS server (`resolver`). Both processes are killed when this value is
/// dropped.
pub struct Pebble {
    server: Child,
    resolver: Child,
    directory: TempDir,
    /// The ports of Pebble's ACME interface, its management interface and its DNS server.
    ports: [u16; 3],
}

impl Pebble {
    /// Starts Pebble, which validates host names on the port `validated`. Returns `None` if Pebble
    /// is not installed; the test is then skipped.
    pub fn start(validated: u16) -> Option<Self> {
        if Command::new("pebble-challtestsrv")
            .arg("-h")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_err()
        {
            leave_out("Pebble", "it was not found", "VESTIBULE_REQUIRE_PEBBLE");
            return None;
        }
        choose_tls_provider();
        let ports = [free_port(), free_port(), free_port()];
        let [acme, management, names] = ports;
        let directory = tempfile::tempdir().unwrap();
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let file = |name: &str| directory.path().join(name);
        std::fs::write(file("certificate.pem"), cert.pem()).unwrap();
        std::fs::write(file("key.pem"), signing_key.serialize_pem()).unwrap();
        let settings = json!({ "pebble": {
            "listenAddress": format!("127.0.0.1:{acme}"),
            "managementListenAddress": format!("127.0.0.1:{management}"),
            "certificate": file("certificate.pem"),
            "privateKey": file("key.pem"),
            "httpPort": 1,
            "tlsPort": validated,
            "certificateValidityPeriod": LIFETIME,
        } });
        std::fs::write(file("pebble.json"), settings.to_string()).unwrap();
        let resolver = Command::new("pebble-challtestsrv")
            .args(["-defaultIPv4", "127.0.0.1", "-defaultIPv6", ""])
            .args(["-dns01", &format!("127.0.0.1:{names}")])
            .args(["-http01", "", "-https01", "", "-tlsalpn01", ""])
            .args(["-management", &format!("127.0.0.1:{}", free_port())])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // The DNS server listens on TCP as well as UDP, so the test can wait for its TCP port.
        wait_for(names);
        let server = run(&directory, ports);
        Some(Self {
            server,
            resolver,
            directory,
            ports,
        })
    }

    /// Starts Pebble again. After the restart, Pebble has a new root certificate and no accounts.
    pub fn restart(&mut self) {
        self.stop();
        self.server = run(&self.directory, self.ports);
    }

    /// Stops the ACME server.
    pub fn stop(&mut self) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
    }

    /// Returns the flags with which a server orders certificates from Pebble.
    pub fn flags(&self) -> [String; 2] {
        [
            format!("--acme-directory=https://localhost:{}/dir", self.ports[0]),
            format!(
                "--acme-root={}",
                self.directory.path().join("certificate.pem").display()
            ),
        ]
    }

    /// Returns the root certificate of the certificates that Pebble issues.
    pub async fn root(&self) -> CertificateDer<'static> {
        let own = std::fs::read(self.directory.path().join("certificate.pem")).unwrap();
        let client = Client::builder()
            .tls_certs_only([Certificate::from_pem(&own).unwrap()])
            .timeout(WAIT_LIMIT)
            .build()
            .unwrap();
        let url = format!("https://localhost:{}/roots/0", self.ports[1]);
        let response = client.get(url).send().await.unwrap();
        let pem = response.bytes().await.unwrap();
        CertificateDer::from_pem_slice(&pem).unwrap()
    }
}

impl Drop for Pebble {
    fn drop(&mut self) {
        for process in [&mut self.server, &mut self.resolver] {
            process.kill().ok();
            process.wait().ok();
        }
    }
}

fn run(directory: &TempDir, [acme, _, names]: [u16; 3]) -> Child {
    let server = Command::new("pebble")
        .arg("-config")
        .arg(directory.path().join("pebble.json"))
        .args(["-dnsserver", &format!("127.0.0.1:{names}")])
        // With these settings, Pebble validates without a pause, accepts every nonce, and validates
        // each host name in each order.
        .envs([
            ("PEBBLE_VA_NOSLEEP", "1"),
            ("PEBBLE_WFE_NONCEREJECT", "0"),
            ("PEBBLE_AUTHZREUSE", "0"),
        ])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for(acme);
    server
}

fn wait_for(port: u16) {
    block_until(&format!("a program listens on port {port}"), || {
        TcpStream::connect(("127.0.0.1", port)).is_ok()
    });
}
