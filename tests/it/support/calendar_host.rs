//! A server of calendar files on loopback, over HTTPS, with its own certificate authority.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// Runs a test on both databases, with a host of calendars that the server trusts.
macro_rules! with_calendars {
    ($($(#[$meta:meta])* async fn $name:ident($app:ident: App, $host:ident: CalendarHost) $body:block)*) => {
        $($(#[$meta])* mod $name {
            use super::*;

            async fn run($app: crate::support::App, $host: crate::support::calendar_host::CalendarHost) $body

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn on_sqlite() {
                let host = crate::support::calendar_host::CalendarHost::start().await;
                let flags = host.flags();
                run(crate::support::App::on_sqlite(&flags.each_ref().map(String::as_str)).await, host).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn on_postgres() {
                let host = crate::support::calendar_host::CalendarHost::start().await;
                let flags = host.flags();
                if let Some(app) = crate::support::App::on_postgres(&flags.each_ref().map(String::as_str)).await {
                    run(app, host).await;
                }
            }
        })*
    };
}
pub(crate) use with_calendars;

/// The answer of the host.
#[derive(Debug, Clone)]
pub enum Served {
    /// A calendar with these events.
    Events(String),
    /// A calendar with these events, in this version.
    Version(String, &'static str),
    /// A status with a header and a body.
    Answer(u16, String, String),
    /// No answer at all.
    Silence,
    /// The beginning of a calendar, and then nothing.
    Stalled,
    /// More bytes than a calendar may have, without their number.
    Endless,
}

pub struct CalendarHost {
    pub url: String,
    authority: PathBuf,
    served: Arc<Mutex<Served>>,
    /// The heads of the requests so far.
    asked: Arc<Mutex<Vec<String>>>,
    _directory: TempDir,
}

impl CalendarHost {
    pub async fn start() -> Self {
        let authority_key = KeyPair::generate().unwrap();
        let mut authority = CertificateParams::new(Vec::new()).unwrap();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority_certificate = authority.self_signed(&authority_key).unwrap();
        let issuer = Issuer::new(authority, authority_key);
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(vec!["127.0.0.1".to_owned()])
            .unwrap()
            .signed_by(&key, &issuer)
            .unwrap();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ca.pem");
        std::fs::write(&path, authority_certificate.pem()).unwrap();
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!(
            "https://127.0.0.1:{}/export.ics?s=secret",
            listener.local_addr().unwrap().port()
        );
        let served = Arc::new(Mutex::new(Served::Events(String::new())));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (shared, heads) = (served.clone(), asked.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, served, asked) = (acceptor.clone(), shared.clone(), heads.clone());
                tokio::spawn(async move {
                    if let Ok(stream) = acceptor.accept(stream).await {
                        answer(stream, &served, &asked).await;
                    }
                });
            }
        });
        Self {
            url,
            authority: path,
            served,
            asked,
            _directory: directory,
        }
    }

    /// Returns the flags that let a server fetch from this host.
    pub fn flags(&self) -> [String; 2] {
        [
            "--webhook-allow=127.0.0.0/8".into(),
            format!("--webhook-ca-file={}", self.authority.display()),
        ]
    }

    pub fn serve(&self, served: Served) {
        *self.served.lock().unwrap() = served;
    }

    /// Serves a calendar with these events.
    pub fn events(&self, events: &[String]) {
        self.serve(Served::Events(events.concat()));
    }

    /// Returns the heads of the requests so far, in lower case.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

/// An all-day event.
pub fn event(uid: &str, from: &str, until: &str, more: &str) -> String {
    let more = more.replace('\n', "\r\n");
    format!(
        "BEGIN:VEVENT\r\nUID:{uid}\r\nDTSTAMP:20261120T120000Z\r\nDTSTART;VALUE=DATE:{from}\r\nDTEND;VALUE=DATE:{until}\r\n{more}\r\nEND:VEVENT\r\n"
    )
}

fn calendar(events: &str) -> String {
    format!("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Example//EN\r\n{events}END:VCALENDAR\r\n")
}

async fn answer(
    mut stream: tokio_rustls::server::TlsStream<tokio::net::TcpStream>,
    served: &Mutex<Served>,
    asked: &Mutex<Vec<String>>,
) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        match stream.read(&mut byte).await {
            Ok(0) | Err(_) => return,
            Ok(_) => head.extend_from_slice(&byte),
        }
    }
    let head = String::from_utf8_lossy(&head).to_lowercase();
    asked.lock().unwrap().push(head.clone());
    let served = served.lock().unwrap().clone();
    let whole = |status: u16, header: &str, body: &str| {
        let header = if header.is_empty() {
            String::new()
        } else {
            format!("{header}\r\n")
        };
        format!(
            "HTTP/1.1 {status} X\r\n{header}content-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        )
    };
    let text = match served {
        Served::Events(events) => whole(200, "content-type: text/calendar", &calendar(&events)),
        Served::Version(_, version) if head.contains(&format!("if-none-match: {version}")) => {
            whole(304, "", "")
        }
        Served::Version(events, version) => {
            whole(200, &format!("etag: {version}"), &calendar(&events))
        }
        Served::Answer(status, header, body) => whole(status, &header, &body),
        Served::Silence => return std::future::pending().await,
        Served::Stalled => {
            let start = "HTTP/1.1 200 X\r\ncontent-length: 1000\r\n\r\nBEGIN:VCALENDAR\r\n";
            stream.write_all(start.as_bytes()).await.ok();
            stream.flush().await.ok();
            return std::future::pending().await;
        }
        Served::Endless => {
            let start = "HTTP/1.1 200 X\r\nconnection: close\r\n\r\nBEGIN:VCALENDAR\r\n";
            stream.write_all(start.as_bytes()).await.ok();
            let line = "X-FILLER:0123456789\r\n".repeat(1_000);
            while stream.write_all(line.as_bytes()).await.is_ok() {}
            return;
        }
    };
    stream.write_all(text.as_bytes()).await.ok();
    stream.shutdown().await.ok();
}
