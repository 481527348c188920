//! Runs the reverse proxies that are installed on this machine, with the configurations in
//! `deploy/`.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use rcgen::{CertifiedKey, KeyPair, generate_simple_self_signed};
use reqwest::{Certificate, Client, ClientBuilder};
use tempfile::TempDir;

use super::left_out::leave_out;
use super::ports::free_port;
use super::{choose_tls_provider, http_client};

/// The proxies that `deploy/` has a configuration for.
pub const PROXIES: [&str; 4] = ["nginx", "haproxy", "caddy", "traefik"];

/// The host name in the configurations in `deploy/`.
const SITE: &str = "stay.example.com";

pub fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy")
}

/// The port and the certificate of the proxy's public URL, chosen before the proxy starts.
pub struct PublicSide {
    port: u16,
    /// The certificate of the proxy; `None` for an address without TLS.
    certificate: Option<CertifiedKey<KeyPair>>,
}

impl PublicSide {
    /// Chooses a free port of 127.0.0.1, without TLS.
    pub fn plain() -> Self {
        Self {
            port: free_port(),
            certificate: None,
        }
    }

    /// Chooses a free port of localhost, and creates a certificate for it. The proxy configurations
    /// that are shipped with the service use TLS.
    pub fn with_tls() -> Self {
        choose_tls_provider();
        let certificate = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        Self {
            port: free_port(),
            certificate: Some(certificate),
        }
    }

    pub fn url(&self) -> String {
        match self.certificate {
            Some(_) => format!("https://localhost:{}", self.port),
            None => format!("http://127.0.0.1:{}", self.port),
        }
    }

    /// Returns a client that trusts the certificate of the proxy.
    pub fn client(&self) -> ClientBuilder {
        match &self.certificate {
            Some(certificate) => Client::builder()
                .tls_certs_only([Certificate::from_der(certificate.cert.der()).unwrap()]),
            None => Client::builder(),
        }
    }
}

/// A proxy in front of a node, killed when dropped.
pub struct ShippedProxy {
    process: Child,
    pub public: String,
    pub inside: String,
    directory: TempDir,
}

impl Drop for ShippedProxy {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

/// A text in a shipped configuration, and the text that replaces it.
type Change = (&'static str, String);

/// The directory of a proxy's files, the address of the node behind the proxy, the two ports of the
/// proxy, and whether its public port has TLS.
struct ProxyFiles<'g> {
    directory: &'g Path,
    node: &'g str,
    public: u16,
    inside: u16,
    has_tls: bool,
}

impl ProxyFiles<'_> {
    fn at(&self, name: &str) -> String {
        self.directory.join(name).display().to_string()
    }

    /// Writes a shipped configuration with these changes to the file `name`.
    fn write(&self, name: &str, shipped: &str, changes: Vec<Change>) {
        let mut text = std::fs::read_to_string(deploy().join(shipped)).unwrap();
        for (from, to) in changes {
            assert!(text.contains(from), "{shipped}: {from}");
            text = text.replace(from, &to);
        }
        std::fs::write(self.directory.join(name), text).unwrap();
    }

    fn nginx(&self) -> Command {
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {kind};"))
            .join(" ");
        let mut changes = vec![
            ("server 127.0.0.1:8080;", format!("server {};", self.node)),
            ("127.0.0.1:8081", format!("127.0.0.1:{}", self.inside)),
            ("access_log off;", format!("access_log off; {temporary}")),
            (
                "worker_processes auto;",
                "worker_processes 1; pid nginx.pid; error_log stderr;".to_owned(),
            ),
        ];
        let public = format!("listen 127.0.0.1:{}", self.public);
        changes.extend(if self.has_tls {
            [
                ("listen 443", public),
                ("/etc/ssl/stay.example.com.pem", self.at("certificate.pem")),
                ("/etc/ssl/stay.example.com.key", self.at("key.pem")),
            ]
        } else {
            [
                ("listen 443 ssl http2", public),
                (
                    "\t\tssl_certificate /etc/ssl/stay.example.com.pem;\n",
                    String::new(),
                ),
                (
                    "\t\tssl_certificate_key /etc/ssl/stay.example.com.key;\n",
                    String::new(),
                ),
            ]
        });
        self.write("conf", "nginx.conf", changes);
        let mut command = Command::new("nginx");
        let prefix = format!("{}/", self.directory.display());
        command.args(["-p", &prefix, "-c", "conf", "-g", "daemon off;"]);
        command
    }

    fn haproxy(&self) -> Command {
        let public = format!("127.0.0.1:{}", self.public);
        let (shipped, bound) = if self.has_tls {
            let bound = format!("{public} ssl crt {}", self.at("both.pem"));
            (":443 ssl crt /etc/ssl/stay.example.com.pem", bound)
        } else {
            let tls = ":443 ssl crt /etc/ssl/stay.example.com.pem alpn h2,http/1.1";
            (tls, public)
        };
        let changes = vec![
            (shipped, bound),
            ("127.0.0.1:8080", self.node.to_owned()),
            ("127.0.0.1:8081", format!("127.0.0.1:{}", self.inside)),
        ];
        self.write("conf", "haproxy.cfg", changes);
        let mut command = Command::new("haproxy");
        command.args(["-f", &self.at("conf")]);
        command
    }

    fn caddy(&self) -> Command {
        let bound = |scheme: &str, host: &str, port: u16, tls: &str| {
            format!("{scheme}://{host}:{port} {{\n\tbind 127.0.0.1{tls}")
        };
        let (scheme, host, tls) = if self.has_tls {
            let tls = format!(
                "\n\ttls {} {}",
                self.at("certificate.pem"),
                self.at("key.pem")
            );
            ("https", "localhost", tls)
        } else {
            ("http", "", String::new())
        };
        let changes = vec![
            ("{$SITE} {", bound(scheme, host, self.public, &tls)),
            ("http://:8081 {", bound("http", "", self.inside, "")),
            ("node-1:8080 node-2:8080 node-3:8080", self.node.to_owned()),
            (
                "\ton_demand_tls {",
                "\tadmin off\n\tauto_https off\n\ton_demand_tls {".to_owned(),
            ),
            (
                "https:// {\n\ttls {\n\t\ton_demand\n\t}",
                bound(scheme, "domain.example", self.public, &tls),
            ),
        ];
        self.write("conf", "Caddyfile", changes);
        let mut command = Command::new("caddy");
        command.args([
            "run",
            "--adapter",
            "caddyfile",
            "--config",
            &self.at("conf"),
        ]);
        command.env("HOME", self.directory);
        command
    }

    fn traefik(&self) -> Command {
        let node = format!("http://{}", self.node);
        let mut changes = vec![("http://127.0.0.1:8080", node)];
        if self.has_tls {
            let stores = format!(
                "tls:\n  certificates:\n    - {{certFile: {}, keyFile: {}}}\nhttp:\n",
                self.at("certificate.pem"),
                self.at("key.pem")
            );
            changes.extend([(SITE, "localhost".to_owned()), ("http:\n", stores)]);
        } else {
            changes.extend([
                (SITE, "127.0.0.1".to_owned()),
                ("      tls: {}\n", String::new()),
            ]);
        }
        self.write("dynamic.yaml", "traefik.yaml", changes);
        // The static configuration from docs/how-to/traefik.md.
        let fixed = format!(
            "entryPoints:\n  websecure:\n    address: 127.0.0.1:{}\n    transport:\n      \
                respondingTimeouts: {{readTimeout: 300s}}\n  inside:\n    address: \
                127.0.0.1:{}\nproviders:\n  file:\n    filename: {}\n",
            self.public,
            self.inside,
            self.at("dynamic.yaml")
        );
        std::fs::write(self.directory.join("static.yaml"), fixed).unwrap();
        let mut command = Command::new("traefik");
        command.arg(format!("--configFile={}", self.at("static.yaml")));
        command
    }
}

impl ShippedProxy {
    /// Starts the proxy `program` in front of a node, with the configuration of the proxy in
    /// `deploy/`. The test changes only addresses, host names and certificates in it. Returns
    /// `None` if the proxy is not installed.
    pub async fn in_front_of(node: &str, program: &'static str, side: &PublicSide) -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        // The workers of nginx run as another user. They need this directory, because they write
        // long responses to files in it.
        let open = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(directory.path(), open).unwrap();
        let ground = ProxyFiles {
            directory: directory.path(),
            node: node.trim_start_matches("http://"),
            public: side.port,
            inside: free_port(),
            has_tls: side.certificate.is_some(),
        };
        if let Some(certificate) = &side.certificate {
            let (certificate, key) = (
                certificate.cert.pem(),
                certificate.signing_key.serialize_pem(),
            );
            std::fs::write(ground.at("certificate.pem"), &certificate).unwrap();
            std::fs::write(ground.at("key.pem"), &key).unwrap();
            std::fs::write(ground.at("both.pem"), certificate + &key).unwrap();
        }
        let mut command = match program {
            "nginx" => ground.nginx(),
            "haproxy" => ground.haproxy(),
            "caddy" => ground.caddy(),
            _ => ground.traefik(),
        };
        let inside = format!("http://127.0.0.1:{}", ground.inside);
        let log = std::fs::File::create(ground.at("log")).unwrap();
        let process = command.stdout(log.try_clone().unwrap()).stderr(log).spawn();
        let Ok(process) = process else {
            let required_by = if program == "traefik" {
                "VESTIBULE_REQUIRE_TRAEFIK"
            } else {
                "VESTIBULE_REQUIRE_PROXIES"
            };
            leave_out(program, "it was not found", required_by);
            return None;
        };
        let proxy = Self {
            process,
            public: side.url(),
            inside,
            directory,
        };
        proxy.until_up(program).await;
        Some(proxy)
    }

    async fn until_up(&self, program: &str) {
        let http = http_client();
        for _ in 0..200 {
            let ready = http
                .get(format!("{}/readyz", self.inside))
                .timeout(Duration::from_secs(2))
                .send()
                .await;
            if ready.is_ok_and(|ready| ready.status() == 200) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let log = std::fs::read_to_string(self.directory.path().join("log")).unwrap();
        panic!("{program} does not come up: {log}");
    }
}
