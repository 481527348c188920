//! Receivers of webhooks on loopback, in this process: HTTPS, with a certificate of an authority of their own.

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

/// How long to wait for what was sent, until it counts as lost.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long an answer may take, as it is with the service.
const TIMEOUT: Duration = Duration::from_secs(10);

/// What receivers present, and the file that a sender trusts it by.
pub struct Identity {
    tls: TlsAcceptor,
    authority: PathBuf,
}

impl Identity {
    /// A new one; its file goes into `scratch`. From now on this process uses its TLS.
    pub fn new(scratch: &Path) -> anyhow::Result<Self> {
        let mut wanted = CertificateParams::new(Vec::new())?;
        wanted.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate()?;
        let authority = scratch.join("ca.pem");
        fs::write(&authority, wanted.self_signed(&key)?.pem())?;
        let issuer = Issuer::new(wanted, key);
        let key = KeyPair::generate()?;
        let certificate = CertificateParams::new(vec!["127.0.0.1".to_owned()])?.signed_by(&key, &issuer)?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        // It fails where it was chosen before, which is as good.
        drop(ring::default_provider().install_default());
        Ok(Self { tls: TlsAcceptor::from(Arc::new(config)), authority })
    }

    /// What the service needs to be told to send here.
    pub fn flags(&self) -> Vec<String> {
        vec!["--webhook-allow=127.0.0.0/8".into(), format!("--webhook-ca-file={}", self.authority.display())]
    }

    /// The file that a sender trusts receivers by.
    pub fn authority(&self) -> &Path {
        &self.authority
    }
}

/// The HTTP client of the service's dispatcher, without what guards it; it trusts this authority.
pub fn client(authority: &[u8]) -> anyhow::Result<reqwest::Client> {
    drop(ring::default_provider().install_default());
    let authority = reqwest::Certificate::from_pem(authority)?;
    let builder = reqwest::Client::builder().timeout(TIMEOUT).https_only(true).redirect(Policy::none()).no_proxy();
    Ok(builder.retry(reqwest::retry::never()).tls_certs_merge([authority]).build()?)
}

/// A request that was answered.
pub struct Arrival {
    /// When: as soon as it was there, or had been waited for.
    pub at: Instant,
    /// Its headers, except those that say where it goes and how long it is.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Bytes,
}

/// Receivers, each on a port of its own, until dropped. They answer 200, and as long as they are closed, nothing at all.
pub struct Receivers {
    /// Where they listen.
    pub urls: Arc<[String]>,
    gate: watch::Sender<bool>,
    arrivals: Mutex<mpsc::UnboundedReceiver<Arrival>>,
    _listeners: JoinSet<()>,
}

impl Receivers {
    /// Starts so many.
    pub async fn start(identity: &Identity, count: usize, is_open: bool) -> anyhow::Result<Self> {
        let (gate, is_open) = watch::channel(is_open);
        let (noted, arrivals) = mpsc::unbounded_channel();
        let (mut urls, mut listeners) = (Vec::new(), JoinSet::new());
        for _ in 0..count {
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            urls.push(format!("https://{}/hook", listener.local_addr()?));
            listeners.spawn(listen(listener, identity.tls.clone(), is_open.clone(), noted.clone()));
        }
        Ok(Self { urls: urls.into(), gate, arrivals: Mutex::new(arrivals), _listeners: listeners })
    }

    /// Lets them answer, what waits and what comes.
    pub fn open(&self) {
        self.gate.send_replace(true);
    }

    /// The next request of all that are answered.
    pub async fn next(&self) -> anyhow::Result<Arrival> {
        let next = async { self.arrivals.lock().await.recv().await };
        tokio::time::timeout(PATIENCE, next).await.context("a delivery did not arrive")?.context("nobody listens")
    }

    /// When the next `count` requests were answered, the earliest first.
    pub async fn times(&self, count: usize) -> anyhow::Result<Vec<Instant>> {
        let mut times = Vec::with_capacity(count);
        while times.len() < count {
            times.push(self.next().await?.at);
        }
        times.sort_unstable();
        Ok(times)
    }
}

/// How many there are a second, from the earliest, which comes first, to the latest.
pub fn rate(times: &[Instant]) -> anyhow::Result<f64> {
    let [first, others @ .., last] = times else { bail!("one moment makes no rate") };
    Ok(f64::from(u32::try_from(others.len() + 1)?) / last.duration_since(*first).as_secs_f64())
}

async fn listen(listener: TcpListener, tls: TlsAcceptor, is_open: watch::Receiver<bool>, noted: mpsc::UnboundedSender<Arrival>) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(attend(stream, tls.clone(), is_open.clone(), noted.clone()));
    }
}

/// One connection, until the sender closes it.
async fn attend(stream: TcpStream, tls: TlsAcceptor, is_open: watch::Receiver<bool>, noted: mpsc::UnboundedSender<Arrival>) {
    drop(stream.set_nodelay(true));
    let Ok(stream) = tls.accept(stream).await else { return };
    let service = service_fn(move |request: Request<Incoming>| answer(request, is_open.clone(), noted.clone()));
    // A sender that is killed breaks it off.
    drop(http1::Builder::new().serve_connection(TokioIo::new(stream), service).await);
}

async fn answer(
    request: Request<Incoming>,
    mut is_open: watch::Receiver<bool>,
    noted: mpsc::UnboundedSender<Arrival>,
) -> hyper::Result<Response<Empty<Bytes>>> {
    let (head, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    // It ends as well when there is nobody left to open it.
    drop(is_open.wait_for(|is_open| *is_open).await);
    let at = Instant::now();
    let mut headers = head.headers;
    headers.remove(HOST);
    headers.remove(CONTENT_LENGTH);
    drop(noted.send(Arrival { at, headers, body }));
    Ok(Response::new(Empty::new()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_from_the_first_to_the_last() {
        let first = Instant::now();
        let times: Vec<_> = [0, 100, 200, 500].map(|after| first + Duration::from_millis(after)).into();
        assert!((rate(&times).unwrap() - 6.0).abs() < 1e-9);
        assert!(rate(&times[..1]).is_err() && rate(&[]).is_err());
    }

    #[tokio::test]
    async fn closed_receivers_answer_when_they_are_opened() {
        let scratch = tempfile::tempdir().unwrap();
        let identity = Identity::new(scratch.path()).unwrap();
        let receivers = Receivers::start(&identity, 2, false).await.unwrap();
        let client = client(&fs::read(identity.authority()).unwrap()).unwrap();
        let sent = |number: usize| tokio::spawn(client.post(&receivers.urls[number]).header("webhook-id", "1").body("{}").send());
        let answers = [sent(0), sent(1)];
        assert!(tokio::time::timeout(Duration::from_millis(200), receivers.next()).await.is_err());
        let opened = Instant::now();
        receivers.open();
        for answer in answers {
            assert!(answer.await.unwrap().unwrap().status().is_success());
        }
        let arrival = receivers.next().await.unwrap();
        assert_eq!((&arrival.body[..], arrival.headers.contains_key("webhook-id")), (&b"{}"[..], true));
        assert!(arrival.at >= opened && !arrival.headers.contains_key(HOST));
        assert_eq!(receivers.times(1).await.unwrap().len(), 1);
    }
}
