//! Tests of pushes to phones whose wallet pass has changed. An HTTP/2 server on loopback stands in
//! for Apple's push service.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use serde_json::json;
use test_support::App;
use test_support::house::House;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::wallet::{PassPhone, TYPE, WalletAuthority, content, is_tested, pass};

/// A push that the push service received.
#[derive(Debug, PartialEq, Eq)]
struct ReceivedPush {
    path: String,
    topic: String,
    body: String,
}

/// A stand-in for Apple's push service. It accepts only HTTP/2, and only client certificates that a
/// [`WalletAuthority`] issued.
#[derive(Clone)]
struct PushService {
    port: u16,
    received: Arc<Mutex<Vec<ReceivedPush>>>,
    /// Status and reason of the next responses. When the list is empty, the status is 200.
    answers: Arc<Mutex<VecDeque<(u16, &'static str)>>>,
}

impl PushService {
    async fn start(authority: &WalletAuthority) -> Self {
        let acceptor = TlsAcceptor::from(Arc::new(config(authority)));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let service = Self {
            port: listener.local_addr().unwrap().port(),
            received: Arc::default(),
            answers: Arc::default(),
        };
        let shared = service.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, shared) = (acceptor.clone(), shared.clone());
                tokio::spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else {
                        return;
                    };
                    let response = service_fn(move |request| shared.clone().answer(request));
                    hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                        .serve_connection(TokioIo::new(stream), response)
                        .await
                        .ok();
                });
            }
        });
        service
    }

    async fn answer(
        self,
        request: Request<Incoming>,
    ) -> Result<Response<Full<Bytes>>, hyper::Error> {
        assert_eq!(request.version(), Version::HTTP_2);
        let path = request.uri().path().to_owned();
        let topic = request.headers()["apns-topic"].to_str().unwrap().to_owned();
        let body = request.into_body().collect().await?.to_bytes();
        let body = String::from_utf8(body.to_vec()).unwrap();
        self.received
            .lock()
            .unwrap()
            .push(ReceivedPush { path, topic, body });
        let (status, reason) = self
            .answers
            .lock()
            .unwrap()
            .pop_front()
            .unwrap_or((200, ""));
        let body = if reason.is_empty() {
            String::new()
        } else {
            json!({ "reason": reason }).to_string()
        };
        let response = Response::builder().status(status);
        Ok(response.body(Full::from(body)).unwrap())
    }

    /// Runs the server's background task for pushes once. Returns the number of pushes that
    /// arrived.
    async fn pushes_of(&self, app: &App) -> usize {
        app.server.push_passes().await;
        std::mem::take(&mut *self.received.lock().unwrap()).len()
    }

    fn answer_next_with(&self, status: u16, reason: &'static str) {
        self.answers.lock().unwrap().push_back((status, reason));
    }
}

/// Returns a TLS configuration that requires a client certificate that `authority` issued.
fn config(authority: &WalletAuthority) -> ServerConfig {
    let key = KeyPair::generate().unwrap();
    let names = ["127.0.0.1".to_owned(), "localhost".to_owned()];
    let certificate = CertificateParams::new(names)
        .unwrap()
        .signed_by(&key, &authority.intermediate.1)
        .unwrap();
    let der = |pem: &[u8]| CertificateDer::from_pem_slice(pem).unwrap();
    let root = std::fs::read(authority.directory.path().join("root.pem")).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(der(&root)).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let clients = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone());
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let chain = vec![
        certificate.der().clone(),
        der(authority.intermediate.0.as_bytes()),
    ];
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(clients.build().unwrap())
        .with_single_cert(chain, key)
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    config
}

/// Starts servers that use this push service, one on SQLite and one on PostgreSQL.
async fn apps(authority: &WalletAuthority, service: &PushService) -> Vec<App> {
    // The TLS handshake uses the machine's clock, so the certificate is valid from 2020.
    let certificate = authority.usual("pass.pem", 2020);
    let root = authority.directory.path().join("root.pem");
    let flags = [
        format!("--pass-certificate={certificate}"),
        format!("--apns-url=https://127.0.0.1:{}", service.port),
        format!("--webhook-ca-file={}", root.display()),
    ];
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let mut apps = vec![App::on_sqlite(&flags).await];
    apps.extend(App::on_postgres(&flags).await);
    apps
}

/// Registers a phone for the pass of the house's stay.
async fn phone<'a>(authority: &WalletAuthority, house: &House<'a>) -> PassPhone<'a> {
    let app = house.org.app;
    let content = content(authority, &pass(app, house, "").await.unwrap());
    let phone = PassPhone {
        app,
        serial: content["serialNumber"].as_str().unwrap().to_owned(),
        token: content["authenticationToken"].as_str().unwrap().to_owned(),
    };
    assert_eq!(phone.register().await, 201);
    phone
}

#[tokio::test(flavor = "multi_thread")]
async fn a_phone_is_pushed_once_for_each_change_of_its_pass() {
    if !is_tested() {
        return;
    }
    let authority = WalletAuthority::new();
    let service = PushService::start(&authority).await;
    for app in apps(&authority, &service).await {
        let house = House::build(&app).await;
        let _phone = phone(&authority, &house).await;
        assert_eq!(
            service.pushes_of(&app).await,
            0,
            "a new phone requests the pass by itself"
        );

        let code = |more: serde_json::Value| {
            test_support::house::with(json!({ "name": "Door", "reservationId": house.stay }), more)
        };
        house
            .org
            .record("lock_code", code(json!({ "code": "4711" })))
            .await;
        app.server.push_passes().await;
        let received = std::mem::take(&mut *service.received.lock().unwrap());
        let expected = ReceivedPush {
            path: "/3/device/abc".into(),
            topic: TYPE.into(),
            body: "{}".into(),
        };
        assert_eq!(received, [expected]);
        assert_eq!(
            service.pushes_of(&app).await,
            0,
            "the phone has got this change already"
        );

        // A new stay of the organization does not change the pass of this stay.
        house.org.reservation(Some(house.flat)).await;
        assert_eq!(service.pushes_of(&app).await, 0);

        // This door code becomes valid in an hour. The pass changes at that time.
        let later = app.clock.now() + jiff::SignedDuration::from_hours(1);
        let later = code(json!({ "code": "8888", "startsAt": later.to_string() }));
        house.org.record("lock_code", later).await;
        assert_eq!(service.pushes_of(&app).await, 0);
        app.clock.advance(Duration::from_secs(3_601));
        assert_eq!(service.pushes_of(&app).await, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_that_fails_is_sent_again_and_an_unknown_phone_is_removed() {
    if !is_tested() {
        return;
    }
    let authority = WalletAuthority::new();
    let service = PushService::start(&authority).await;
    for app in apps(&authority, &service).await {
        let house = House::build(&app).await;
        let phone = phone(&authority, &house).await;
        let change = async |code: &str| {
            app.clock.advance(Duration::from_secs(1));
            let data = json!({ "name": "Door", "reservationId": house.stay, "code": code });
            house.org.record("lock_code", data).await;
        };
        change("1111").await;
        service.answer_next_with(503, "ServiceUnavailable");
        assert_eq!(service.pushes_of(&app).await, 1);
        assert_eq!(service.pushes_of(&app).await, 0, "not before the pause");
        app.clock.advance(Duration::from_secs(31));
        assert_eq!(service.pushes_of(&app).await, 1);
        app.clock.advance(Duration::from_secs(600));
        assert_eq!(service.pushes_of(&app).await, 0);

        // The service makes five attempts for one change, and no more.
        change("2222").await;
        for _ in 0..6 {
            service.answer_next_with(429, "TooManyRequests");
        }
        let mut count = 0;
        for _ in 0..8 {
            count += service.pushes_of(&app).await;
            app.clock.advance(Duration::from_secs(300));
        }
        assert_eq!(count, 5);
        service.answers.lock().unwrap().clear();

        change("3333").await;
        service.answer_next_with(410, "Unregistered");
        assert_eq!(service.pushes_of(&app).await, 1);
        assert_eq!(phone.changed("").await, None, "the registration is gone");
    }
}

/// A server whose clock is days ahead schedules a push. Another server, whose clock is right, sends
/// the push the next time that its background task runs.
#[tokio::test(flavor = "multi_thread")]
async fn a_push_that_a_fast_clock_scheduled_is_sent_at_once() {
    if !is_tested() {
        return;
    }
    let authority = WalletAuthority::new();
    let service = PushService::start(&authority).await;
    for app in apps(&authority, &service).await {
        let house = House::build(&app).await;
        let _phone = phone(&authority, &house).await;
        app.clock.advance(Duration::from_secs(1));
        let code = json!({ "name": "Door", "reservationId": house.stay, "code": "1111" });
        house.org.record("lock_code", code).await;
        service.answer_next_with(503, "ServiceUnavailable");
        assert_eq!(service.pushes_of(&app).await, 1);
        let put_off = "update pass_registration set next_push_at = ?2 where organization_id = ?1";
        let ahead = app.clock.now() + jiff::SignedDuration::from_hours(48);
        app.change(put_off, vec![house.org.id.into(), ahead.into()])
            .await;
        assert_eq!(service.pushes_of(&app).await, 1);
        assert_eq!(service.pushes_of(&app).await, 0, "it is told");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_service_needs_a_pass_certificate() {
    let directory = tempfile::tempdir().unwrap();
    let database = format!("sqlite:{}", directory.path().join("x.db").display());
    let flags = test_support::serve_flags(&database, &["--apns-url=https://127.0.0.1:9"]);
    let clock = engine::clock::Clock::system();
    let error = vestibule::server::Server::start(flags, clock)
        .await
        .err()
        .unwrap();
    assert_eq!(error, "--apns-url needs --pass-certificate");
}
