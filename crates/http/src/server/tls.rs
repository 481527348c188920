//! TLS for incoming connections: the certificate and the handshake.
//!
//! The server offers HTTP/1.1 and HTTP/2, with the same limits as without TLS. The certificate is
//! in files, which are read at the start and at each reload, or it is installed while the process
//! runs. A new certificate does not affect open connections.

use std::io::{self, Read as _};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use jiff::Timestamp;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WantsServerCert;
use rustls::sign::CertifiedKey;
use rustls::{ConfigBuilder, crypto};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use x509_cert::Certificate;
use x509_cert::der::Decode as _;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;

use super::connections::Socket;
use super::managed::{CHALLENGE_PROTOCOL, ManagedCertificate};

/// The maximum size of a certificate or key file in bytes. A chain has a few KiB.
const MAX_FILE_SIZE: u64 = 1 << 20;
/// The maximum number of bytes that are read from a client without TLS before its connection is
/// closed.
const MAX_DISCARDED: usize = 64 << 10;
/// The response to a client that uses HTTP without TLS.
const TLS_REQUIRED: &[u8] = b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-type: \
    text/plain\r\ncontent-length: 24\r\n\r\nThis port speaks https.\n";

/// The certificate for clients, and its source.
pub struct Tls {
    source: CertificateSource,
    current: RwLock<Arc<ServerConfig>>,
}

/// The source of a certificate: files, or this process itself.
enum CertificateSource {
    /// Two files, which an operator replaces.
    Files { certificate: PathBuf, key: PathBuf },
    /// A certificate that [`Tls::install`] sets.
    Managed(Arc<ManagedCertificate>),
}

impl Tls {
    /// Reads a certificate chain and its private key, both in PEM. Blocks the thread.
    pub fn open(certificate: &Path, key: &Path, now: Timestamp) -> Result<Self, String> {
        let pair = Pair::read(certificate, key)?;
        if !pair.is_valid(now) {
            tracing::warn!(
                not_before = %pair.not_before,
                not_after = %pair.not_after,
                "the TLS certificate is not valid now; clients may refuse to connect"
            );
        }
        publish_expiry(pair.not_after);
        Ok(Self {
            source: CertificateSource::Files {
                certificate: certificate.to_owned(),
                key: key.to_owned(),
            },
            current: RwLock::new(pair.config),
        })
    }

    /// Creates TLS without a certificate. Until [`Tls::install`] is called, every handshake fails,
    /// except the handshake of a certificate authority that fetches the answer to its challenge.
    pub fn managed() -> Result<Self, String> {
        let managed = Arc::new(ManagedCertificate::default());
        let mut config = builder()?.with_cert_resolver(managed.clone());
        config.alpn_protocols = protocols();
        config.alpn_protocols.push(CHALLENGE_PROTOCOL.to_vec());
        Ok(Self {
            source: CertificateSource::Managed(managed),
            current: RwLock::new(Arc::new(config)),
        })
    }

    /// Uses a certificate chain and its private key, both in PEM, for new connections. Fails if the
    /// server reads its certificate from files.
    pub fn install(&self, pem: &[u8]) -> Result<CertificateFacts, String> {
        let CertificateSource::Managed(managed) = &self.source else {
            return Err("the certificate is in files".into());
        };
        let (facts, certified_key) = certified_key(pem)?;
        managed.install(certified_key);
        publish_expiry(facts.not_after);
        Ok(facts)
    }

    /// Sets the certificate and the key that answer an authority's challenge for a host name. Fails
    /// if the certificate is in files.
    pub fn answer_challenge(
        &self,
        name: &str,
        certificate: CertificateDer<'static>,
        key: PrivateKeyDer<'static>,
    ) -> Result<(), String> {
        let CertificateSource::Managed(managed) = &self.source else {
            return Err("the certificate is in files".into());
        };
        // `CertifiedKey::from_der` is not suitable, because it compares the key with the
        // certificate. The comparison fails for the certificate of a challenge: this certificate
        // has a critical extension that only certificate authorities understand.
        let key =
            crypto::ring::sign::any_supported_type(&key).map_err(|error| error.to_string())?;
        let certified_key = CertifiedKey::new(vec![certificate], key);
        managed.answer(name.to_ascii_lowercase(), certified_key);
        Ok(())
    }

    /// Removes the answers to challenges.
    pub fn forget_challenges(&self) {
        if let CertificateSource::Managed(managed) = &self.source {
            managed.forget_answers();
        }
    }

    /// Reads a certificate chain and its key from one PEM text. Returns the names and the validity
    /// of the certificate.
    pub fn examine_pem(pem: &[u8]) -> Result<CertificateFacts, String> {
        certified_key(pem).map(|(facts, _)| facts)
    }

    /// Reads a certificate and its key from two files. Returns the names and the validity of the
    /// certificate. Blocks the thread.
    pub fn examine(certificate: &Path, key: &Path) -> Result<CertificateFacts, String> {
        let pair = Pair::read(certificate, key)?;
        Ok(CertificateFacts {
            names: pair.names,
            not_before: pair.not_before,
            not_after: pair.not_after,
        })
    }

    /// Reads the certificate file and the key file again, and uses them for new connections. If the
    /// files are not usable, new connections still use the previous certificate. Does nothing for a
    /// certificate that is not in files. Blocks the thread.
    pub fn reload(&self, now: Timestamp) -> Result<(), String> {
        let CertificateSource::Files { certificate, key } = &self.source else {
            return Ok(());
        };
        let pair = Pair::read(certificate, key)?;
        if !pair.is_valid(now) {
            let path = certificate.display();
            return Err(format!(
                "{path}: is valid from {} until {}, and not now",
                pair.not_before, pair.not_after
            ));
        }
        publish_expiry(pair.not_after);
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = pair.config;
        Ok(())
    }

    /// Does the handshake with a client. Returns `None` if the handshake fails.
    pub(super) async fn handshake(
        &self,
        mut socket: Socket,
        close_timeout: Duration,
    ) -> Option<TlsStream<Socket>> {
        let outcome = match socket.first_byte().await {
            // An HTTP request begins with a letter. A TLS record never does.
            Ok(Some(b'A'..=b'Z')) => {
                drop(socket.write_all(TLS_REQUIRED).await);
                Err((io::ErrorKind::InvalidData.into(), socket))
            }
            Ok(Some(_)) => {
                let config = self
                    .current
                    .read()
                    .unwrap_or_else(PoisonError::into_inner)
                    .clone();
                TlsAcceptor::from(config)
                    .accept(socket)
                    .into_fallible()
                    .await
            }
            Ok(None) => return None,
            Err(error) => Err((error, socket)),
        };
        match outcome {
            // The certificate in this handshake was the answer to the challenge. No request
            // follows.
            Ok(mut stream) if stream.get_ref().1.alpn_protocol() == Some(CHALLENGE_PROTOCOL) => {
                tracing::info!("a certificate authority has fetched the answer to its challenge");
                drop(tokio::time::timeout(close_timeout, stream.shutdown()).await);
                None
            }
            Ok(stream) => Some(stream),
            Err((error, socket)) => {
                tracing::debug!(%error, "a TLS handshake failed");
                drop(tokio::time::timeout(close_timeout, close_after_reading(socket)).await);
                None
            }
        }
    }
}

/// Closes a connection so that its client receives the last response. If the socket had unread
/// bytes, closing it would reset the connection. This function therefore reads them first, up to
/// `MAX_DISCARDED` bytes.
async fn close_after_reading(mut socket: Socket) -> io::Result<()> {
    socket.shutdown().await?;
    let (mut remaining, mut buffer) = (MAX_DISCARDED, [0; 1024]);
    while remaining > 0 {
        match socket.read(&mut buffer).await? {
            0 => break,
            count => remaining = remaining.saturating_sub(count),
        }
    }
    Ok(())
}

/// The host names and the validity of a certificate.
#[derive(Debug, Clone)]
pub struct CertificateFacts {
    /// The host names and IP addresses for which the certificate is valid.
    pub names: Vec<String>,
    /// When the certificate begins to be valid.
    pub not_before: Timestamp,
    /// When the certificate expires.
    pub not_after: Timestamp,
}

/// A certificate that was read from the files, with its key: the TLS configuration with both, the
/// host names in the certificate, and the period in which it is valid.
struct Pair {
    config: Arc<ServerConfig>,
    names: Vec<String>,
    not_before: Timestamp,
    not_after: Timestamp,
}

impl Pair {
    fn read(certificate: &Path, key: &Path) -> Result<Self, String> {
        let certificate_error = |message: String| format!("{}: {message}", certificate.display());
        let key_error = |message: String| format!("{}: {message}", key.display());
        let chain = chain(&read_file(certificate).map_err(certificate_error)?)
            .map_err(certificate_error)?;
        let (not_before, not_after) = validity(&chain[0]).map_err(certificate_error)?;
        let names = names(&chain[0]);
        let private_key = PrivateKeyDer::from_pem_slice(&read_file(key).map_err(key_error)?)
            .map_err(|_| {
                key_error(
                    "contains no private key in PEM, or one that is encrypted with a password"
                        .into(),
                )
            })?;
        let mut config = builder()?
            .with_single_cert(chain, private_key)
            .map_err(|error| match error {
                rustls::Error::InconsistentKeys(_) => {
                    format!(
                        "{}: is not the key of the first certificate in {}",
                        key.display(),
                        certificate.display()
                    )
                }
                error => key_error(format!("cannot be used: {error}")),
            })?;
        config.alpn_protocols = protocols();
        Ok(Self {
            config: Arc::new(config),
            names,
            not_before,
            not_after,
        })
    }

    fn is_valid(&self, now: Timestamp) -> bool {
        (self.not_before..=self.not_after).contains(&now)
    }
}

/// Publishes the expiry of the certificate on `/metrics`.
fn publish_expiry(not_after: Timestamp) {
    const NAME: &str = "vestibule_tls_certificate_expires_timestamp_seconds";
    metrics::describe_gauge!(
        NAME,
        "When the TLS certificate in use expires, in Unix seconds."
    );
    // An `f64` represents a number of seconds exactly for many centuries.
    #[expect(clippy::cast_precision_loss, reason = "exact up to 2^53")]
    metrics::gauge!(NAME).set(not_after.as_second() as f64);
}

fn builder() -> Result<ConfigBuilder<ServerConfig, WantsServerCert>, String> {
    let builder = ServerConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    Ok(builder.with_no_client_auth())
}

/// Returns the protocols for clients, the preferred one first.
fn protocols() -> Vec<Vec<u8>> {
    vec![b"h2".to_vec(), b"http/1.1".to_vec()]
}

/// Reads a certificate chain and its private key from one PEM text. Also returns the certificate's
/// names and its period of validity.
fn certified_key(pem: &[u8]) -> Result<(CertificateFacts, CertifiedKey), String> {
    let chain = chain(pem)?;
    let (not_before, not_after) = validity(&chain[0])?;
    let facts = CertificateFacts {
        names: names(&chain[0]),
        not_before,
        not_after,
    };
    let key = PrivateKeyDer::from_pem_slice(pem).map_err(|_| "contains no private key in PEM")?;
    let certified_key = CertifiedKey::from_der(chain, key, &crypto::ring::default_provider())
        .map_err(|error| format!("cannot be used: {error}"))?;
    Ok((facts, certified_key))
}

fn read_file(path: &Path) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    // Opening a pipe would block until another process writes to it.
    let metadata = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("is not a regular file".into());
    }
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    let length = file
        .take(MAX_FILE_SIZE + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| error.to_string())?;
    if u64::try_from(length).is_ok_and(|length| length > MAX_FILE_SIZE) {
        Err(format!("is larger than {MAX_FILE_SIZE} bytes"))
    } else {
        Ok(bytes)
    }
}

fn chain(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let chain = certificates.map_err(|_| "contains a certificate that is not valid PEM")?;
    if chain.is_empty() {
        Err("contains no certificate in PEM".into())
    } else {
        Ok(chain)
    }
}

/// Returns the host names and addresses that a certificate is valid for.
fn names(certificate: &CertificateDer<'_>) -> Vec<String> {
    let parsed = Certificate::from_der(certificate).ok();
    let names = parsed.and_then(|parsed| {
        parsed
            .tbs_certificate
            .get::<SubjectAltName>()
            .ok()
            .flatten()
    });
    let names = names.map_or_else(Vec::new, |(_, SubjectAltName(names))| names);
    names
        .iter()
        .filter_map(|name| match name {
            GeneralName::DnsName(name) => Some(name.to_string()),
            GeneralName::IpAddress(bytes) => address(bytes.as_bytes()),
            _ => None,
        })
        .collect()
}

fn address(bytes: &[u8]) -> Option<String> {
    let ipv4 = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    let ipv6 = <[u8; 16]>::try_from(bytes).map(IpAddr::from);
    ipv4.or(ipv6).ok().map(|address| address.to_string())
}

fn validity(certificate: &CertificateDer<'_>) -> Result<(Timestamp, Timestamp), String> {
    let parsed = Certificate::from_der(certificate)
        .map_err(|error| format!("contains a certificate that cannot be read: {error}"))?;
    let validity = parsed.tbs_certificate.validity;
    let timestamp = |since_epoch: Duration| {
        let seconds = i64::try_from(since_epoch.as_secs()).unwrap_or(i64::MAX);
        // A date that is too late for a `Timestamp` becomes the last representable time.
        Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX)
    };
    Ok((
        timestamp(validity.not_before.to_unix_duration()),
        timestamp(validity.not_after.to_unix_duration()),
    ))
}
