//! A certificate authority for the servers that a test starts on loopback.

use std::path::PathBuf;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd,
};
use tempfile::TempDir;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// A certificate authority, and the file of its certificate for the flags of the server under test.
pub struct TestAuthority {
    /// The certificate as a PEM file.
    pub file: PathBuf,
    issuer: Issuer<'static, KeyPair>,
    _directory: TempDir,
}

/// The certificate that a server in a test presents to its clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presents {
    /// A certificate of the authority that is valid for the server's address.
    Right,
    /// A certificate for another name and another address.
    OtherName,
    /// An expired certificate.
    Expired,
    /// A certificate that is not valid yet.
    Early,
    /// A self-signed certificate.
    SelfSigned,
    /// A certificate for the right host, signed by an authority that is not trusted but has the
    /// same name as the trusted one.
    OtherAuthority,
}

impl TestAuthority {
    pub fn create() -> Self {
        let (certificate, issuer) = authority();
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("ca.pem");
        std::fs::write(&file, certificate.pem()).unwrap();
        Self {
            file,
            issuer,
            _directory: directory,
        }
    }

    /// Returns the flags with which a server trusts this authority and may connect to loopback
    /// addresses.
    pub fn flags(&self) -> [String; 2] {
        [
            "--webhook-allow=127.0.0.0/8".into(),
            format!("--webhook-ca-file={}", self.file.display()),
        ]
    }

    /// Returns the TLS configuration of a server that presents this certificate and speaks this
    /// protocol.
    pub fn config(&self, presents: Presents, protocol: &str) -> ServerConfig {
        let key = KeyPair::generate().unwrap();
        let names: &[&str] = if presents == Presents::OtherName {
            &["hooks.example", "127.0.0.2"]
        } else {
            &["127.0.0.1", "localhost"]
        };
        let mut wanted = CertificateParams::new(
            names
                .iter()
                .map(|name| (*name).to_owned())
                .collect::<Vec<_>>(),
        )
        .unwrap();
        match presents {
            Presents::Expired => {
                (wanted.not_before, wanted.not_after) =
                    (date_time_ymd(2020, 1, 1), date_time_ymd(2021, 1, 1));
            }
            Presents::Early => wanted.not_before = date_time_ymd(3000, 1, 1),
            _ => {}
        }
        let certificate = match presents {
            Presents::SelfSigned => wanted.self_signed(&key),
            Presents::OtherAuthority => wanted.signed_by(&key, &authority().1),
            _ => wanted.signed_by(&key, &self.issuer),
        };
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.unwrap().der().clone()], key)
            .unwrap();
        config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        config
    }
}

fn authority() -> (Certificate, Issuer<'static, KeyPair>) {
    let key = KeyPair::generate().unwrap();
    let mut wanted = CertificateParams::new(Vec::new()).unwrap();
    wanted.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    (wanted.self_signed(&key).unwrap(), Issuer::new(wanted, key))
}
