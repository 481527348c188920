//! Receivers of webhooks on loopback, in this process. They use HTTPS, with a certificate from a
//! certificate authority that the benchmark creates.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, HOST};
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use reqwest::redirect::Policy;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, mpsc, watch};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// How long the benchmark waits for the next delivery. If no delivery arrives in this time, the
/// benchmark fails.
const DELIVERY_TIMEOUT: Duration = Duration::from_secs(60);
/// The time limit for a receiver's response. The service has the same limit.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The certificate of the receivers, and the file with the certificate authority that has signed
/// it.
pub struct Identity {
    tls: TlsAcceptor,
    authority: PathBuf,
}

impl Identity {
    /// Creates a certificate, and in `scratch` the file with its certificate authority. Installs
    /// this process's default TLS provider.
    pub fn new(scratch: &Path) -> anyhow::Result<Self> {
        let mut authority_params = CertificateParams::new(Vec::new())?;
        authority_params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate()?;
        let authority = scratch.join("ca.pem");
        fs::write(&authority, authority_params.self_signed(&key)?.pem())?;
        let issuer = Issuer::new(authority_params, key);
        let key = KeyPair::generate()?;
        let certificate =
            CertificateParams::new(vec!["127.0.0.1".to_owned()])?.signed_by(&key, &issuer)?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        // This call fails if the process already has a default TLS provider. The process then uses
        // that provider.
        drop(ring::default_provider().install_default());
        Ok(Self {
            tls: TlsAcceptor::from(Arc::new(config)),
            authority,
        })
    }

    /// Returns the service's flags that permit deliveries to these receivers.
    pub fn flags(&self) -> Vec<String> {
        vec![
            "--webhook-allow=127.0.0.0/8".into(),
            format!("--webhook-ca-file={}", self.authority.display()),
        ]
    }

    /// Returns the path of the file with the receivers' certificate authority.
    pub fn authority(&self) -> &Path {
        &self.authority
    }
}

/// Returns an HTTP client like that of the service's dispatcher, but without the target guard. The
/// client trusts the receivers' certificate authority.
pub fn trusting_client(authority: &[u8]) -> anyhow::Result<reqwest::Client> {
    drop(ring::default_provider().install_default());
    let authority = reqwest::Certificate::from_pem(authority)?;
    let builder = reqwest::Client::builder()
        .timeout(TIMEOUT)
        .https_only(true)
        .redirect(Policy::none())
        .no_proxy();
    Ok(builder
        .retry(reqwest::retry::never())
        .tls_certs_merge([authority])
        .build()?)
}

/// A request to which a receiver has responded.
pub struct Arrival {
    /// The time of the response: when the request arrived or, if that was later, when the receivers
    /// began to respond ([`Receivers::open`]).
    pub at: Instant,
    /// The headers of the request, except those for its destination and its length.
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// Receivers, each on a separate port. They respond to requests with 200. Receivers that were
/// started with `is_open` false do not respond before [`Receivers::open`]. Dropping this value
/// stops the receivers.
pub struct Receivers {
    pub urls: Arc<[String]>,
    gate: watch::Sender<bool>,
    arrivals: Mutex<mpsc::UnboundedReceiver<Arrival>>,
    _listeners: JoinSet<()>,
}

impl Receivers {
    /// Starts `count` receivers. If `is_open` is false, they do not respond until
    /// [`Receivers::open`] is called.
    pub async fn start(identity: &Identity, count: usize, is_open: bool) -> anyhow::Result<Self> {
        let (gate, is_open) = watch::channel(is_open);
        let (arrival_sender, arrivals) = mpsc::unbounded_channel();
        let (mut urls, mut listeners) = (Vec::new(), JoinSet::new());
        for _ in 0..count {
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            urls.push(format!("https://{}/hook", listener.local_addr()?));
            listeners.spawn(listen(
                listener,
                identity.tls.clone(),
                is_open.clone(),
                arrival_sender.clone(),
            ));
        }
        Ok(Self {
            urls: urls.into(),
            gate,
            arrivals: Mutex::new(arrivals),
            _listeners: listeners,
        })
    }

    /// Makes the receivers respond, to the requests that already wait and to all later ones.
    pub fn open(&self) {
        self.gate.send_replace(true);
    }

    /// Waits for the next request to which a receiver has responded, and returns it.
    pub async fn next(&self) -> anyhow::Result<Arrival> {
        let next = async { self.arrivals.lock().await.recv().await };
        tokio::time::timeout(DELIVERY_TIMEOUT, next)
            .await
            .context("a delivery did not arrive")?
            .context("the receivers have stopped")
    }

    /// Waits for the next `count` responses. Returns their times, the earliest first.
    pub async fn times(&self, count: usize) -> anyhow::Result<Vec<Instant>> {
        let mut times = Vec::with_capacity(count);
        while times.len() < count {
            times.push(self.next().await?.at);
        }
        times.sort_unstable();
        Ok(times)
    }
}

/// Returns the number of responses per second between the first and the last of these times, which
/// must be sorted.
pub fn rate(times: &[Instant]) -> anyhow::Result<f64> {
    let [first, middle @ .., last] = times else {
        bail!("a rate needs at least two times")
    };
    Ok(f64::from(u32::try_from(middle.len() + 1)?) / last.duration_since(*first).as_secs_f64())
}

async fn listen(
    listener: TcpListener,
    tls: TlsAcceptor,
    is_open: watch::Receiver<bool>,
    arrival_sender: mpsc::UnboundedSender<Arrival>,
) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(serve_connection(
            stream,
            tls.clone(),
            is_open.clone(),
            arrival_sender.clone(),
        ));
    }
}

/// Serves one connection until its sender closes it.
async fn serve_connection(
    stream: TcpStream,
    tls: TlsAcceptor,
    is_open: watch::Receiver<bool>,
    arrival_sender: mpsc::UnboundedSender<Arrival>,
) {
    drop(stream.set_nodelay(true));
    let Ok(stream) = tls.accept(stream).await else {
        return;
    };
    let service = service_fn(move |request: Request<Incoming>| {
        respond(request, is_open.clone(), arrival_sender.clone())
    });
    // If the sender is killed, the connection fails. That is not an error of the receiver.
    drop(
        http1::Builder::new()
            .serve_connection(TokioIo::new(stream), service)
            .await,
    );
}

async fn respond(
    request: Request<Incoming>,
    mut is_open: watch::Receiver<bool>,
    arrival_sender: mpsc::UnboundedSender<Arrival>,
) -> hyper::Result<Response<Empty<Bytes>>> {
    let (head, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    // Wait until the receivers may respond. The wait also ends when the receivers are dropped.
    drop(is_open.wait_for(|is_open| *is_open).await);
    let at = Instant::now();
    let mut headers = head.headers;
    headers.remove(HOST);
    headers.remove(CONTENT_LENGTH);
    drop(arrival_sender.send(Arrival { at, headers, body }));
    Ok(Response::new(Empty::new()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_measured_from_first_to_last_arrival() {
        let first = Instant::now();
        let times: Vec<_> = [0, 100, 200, 500]
            .map(|after| first + Duration::from_millis(after))
            .into();
        assert!((rate(&times).unwrap() - 6.0).abs() < 1e-9);
        assert!(rate(&times[..1]).is_err() && rate(&[]).is_err());
    }

    #[tokio::test]
    async fn closed_receivers_answer_after_they_open() {
        let scratch = tempfile::tempdir().unwrap();
        let identity = Identity::new(scratch.path()).unwrap();
        let receivers = Receivers::start(&identity, 2, false).await.unwrap();
        let client = trusting_client(&fs::read(identity.authority()).unwrap()).unwrap();
        let send = |number: usize| {
            tokio::spawn(
                client
                    .post(&receivers.urls[number])
                    .header("webhook-id", "1")
                    .body("{}")
                    .send(),
            )
        };
        let responses = [send(0), send(1)];
        assert!(
            tokio::time::timeout(Duration::from_millis(200), receivers.next())
                .await
                .is_err()
        );
        let opened = Instant::now();
        receivers.open();
        for response in responses {
            assert!(response.await.unwrap().unwrap().status().is_success());
        }
        let arrival = receivers.next().await.unwrap();
        assert_eq!(
            (
                &arrival.body[..],
                arrival.headers.contains_key("webhook-id")
            ),
            (&b"{}"[..], true)
        );
        assert!(arrival.at >= opened && !arrival.headers.contains_key(HOST));
        assert_eq!(receivers.times(1).await.unwrap().len(), 1);
    }
}
