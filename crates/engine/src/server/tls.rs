//! TLS on the connections that are served: which certificate is shown, and how a client agrees on it.
//!
//! Both protocols are offered, and are under the same limits as without TLS. The files are read at the start and whenever it is
//! asked for; a connection keeps what it began with.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use jiff::Timestamp;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use x509_cert::Certificate;
use x509_cert::der::Decode as _;

use super::connections::Socket;

/// The most that a file may hold: a chain has a few KiB.
const LARGEST: u64 = 1 << 20;
/// Bytes of a client that speaks something else that are taken before its connection is closed.
const STRAY_BYTES: usize = 64 << 10;
/// What is said to a client that speaks HTTP without TLS.
const NOT_WITHOUT: &[u8] = b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-type: text/plain\r\ncontent-length: 24\r\n\r\n\
This port speaks https.\n";

/// What is shown to clients.
pub struct Tls {
    certificate: PathBuf,
    key: PathBuf,
    shown: RwLock<Arc<ServerConfig>>,
}

impl Tls {
    /// Reads a certificate with those between it and its authority, and its private key, both in PEM. Blocks.
    pub fn open(certificate: &Path, key: &Path, now: Timestamp) -> Result<Self, String> {
        let read = Pair::read(certificate, key)?;
        if !read.is_valid(now) {
            tracing::warn!(not_before = %read.not_before, not_after = %read.not_after, "the certificate is not valid at the moment");
        }
        read.measure();
        Ok(Self { certificate: certificate.to_owned(), key: key.to_owned(), shown: RwLock::new(read.config) })
    }

    /// Reads both files anew, and shows what is in them from now on. What cannot be used changes nothing. Blocks.
    pub fn reload(&self, now: Timestamp) -> Result<(), String> {
        let read = Pair::read(&self.certificate, &self.key)?;
        if !read.is_valid(now) {
            let path = self.certificate.display();
            return Err(format!("{path}: is valid from {} until {}, and not at the moment", read.not_before, read.not_after));
        }
        read.measure();
        *self.shown.write().unwrap_or_else(PoisonError::into_inner) = read.config;
        Ok(())
    }

    /// Agrees with a client; `None` where it does not come to that.
    pub(super) async fn agree(&self, mut socket: Socket, patience: Duration) -> Option<TlsStream<Socket>> {
        let said = match socket.first_byte().await {
            // Every request of HTTP begins with a letter, and nothing of TLS does.
            Ok(Some(b'A'..=b'Z')) => {
                drop(socket.write_all(NOT_WITHOUT).await);
                Err((io::ErrorKind::InvalidData.into(), socket))
            }
            Ok(Some(_)) => {
                let shown = self.shown.read().unwrap_or_else(PoisonError::into_inner).clone();
                TlsAcceptor::from(shown).accept(socket).into_fallible().await
            }
            Ok(None) => return None,
            Err(error) => Err((error, socket)),
        };
        match said {
            Ok(stream) => Some(stream),
            Err((error, socket)) => {
                tracing::debug!(%error, "a client did not agree on TLS");
                drop(tokio::time::timeout(patience, leave(socket)).await);
                None
            }
        }
    }
}

/// Ends a connection so that its client hears what was said: a socket that is closed with something unread in it is reset.
async fn leave(mut socket: Socket) -> io::Result<()> {
    socket.shutdown().await?;
    let (mut left, mut stray) = (STRAY_BYTES, [0; 1024]);
    while left > 0 {
        match socket.read(&mut stray).await? {
            0 => break,
            count => left = left.saturating_sub(count),
        }
    }
    Ok(())
}

/// A certificate and its key, read.
struct Pair {
    config: Arc<ServerConfig>,
    not_before: Timestamp,
    not_after: Timestamp,
}

impl Pair {
    fn read(certificate: &Path, key: &Path) -> Result<Self, String> {
        let of_certificate = |told: String| format!("{}: {told}", certificate.display());
        let of_key = |told: String| format!("{}: {told}", key.display());
        let chain = chain(&bytes(certificate).map_err(of_certificate)?).map_err(of_certificate)?;
        let (not_before, not_after) = validity(&chain[0]).map_err(of_certificate)?;
        let private = PrivateKeyDer::from_pem_slice(&bytes(key).map_err(of_key)?)
            .map_err(|_| of_key("holds no private key in PEM, or one that asks for a password".into()))?;
        let builder = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let mut config = builder.with_no_client_auth().with_single_cert(chain, private).map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => {
                format!("{}: is not the key of the first certificate in {}", key.display(), certificate.display())
            }
            error => of_key(format!("cannot be used: {error}")),
        })?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self { config: Arc::new(config), not_before, not_after })
    }

    fn is_valid(&self, now: Timestamp) -> bool {
        (self.not_before..=self.not_after).contains(&now)
    }

    /// Tells `/metrics` when it ends.
    fn measure(&self) {
        const NAME: &str = "vestibule_tls_certificate_expires_timestamp_seconds";
        metrics::describe_gauge!(NAME, "When the certificate ends that is shown, in seconds since 1970.");
        // Whole seconds of this and the next centuries.
        #[expect(clippy::cast_precision_loss, reason = "exact up to 2^53")]
        metrics::gauge!(NAME).set(self.not_after.as_second() as f64);
    }
}

fn bytes(path: &Path) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    let length = file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if u64::try_from(length).is_ok_and(|length| length > LARGEST) { Err(format!("holds more than {LARGEST} bytes")) } else { Ok(bytes) }
}

fn chain(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let chain = read.map_err(|_| "holds a certificate that is no PEM")?;
    if chain.is_empty() { Err("holds no certificate in PEM".into()) } else { Ok(chain) }
}

fn validity(certificate: &CertificateDer<'_>) -> Result<(Timestamp, Timestamp), String> {
    let read = Certificate::from_der(certificate).map_err(|error| format!("holds a certificate that cannot be read: {error}"))?;
    let validity = read.tbs_certificate.validity;
    let moment = |since_epoch: Duration| {
        let seconds = i64::try_from(since_epoch.as_secs()).unwrap_or(i64::MAX);
        // The last moment there is, where it is later.
        Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX)
    };
    Ok((moment(validity.not_before.to_unix_duration()), moment(validity.not_after.to_unix_duration())))
}
