//! The TLS settings of all clients that connect to addresses which organizations choose: receivers
//! of webhooks, calendars and OAuth client documents.

use std::sync::Arc;

use rustls::ClientConfig;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls_platform_verifier::Verifier;

/// The settings of a client for TLS. All these clients share one value, so that the authorities of
/// the system are read only once.
pub struct ClientTls(ClientConfig);

impl ClientTls {
    /// Reads the authorities that are trusted: those of the system and those in `ca`, a PEM bundle.
    /// Fails if no default crypto provider is installed in the process.
    pub fn new(ca: Option<&[u8]>) -> Result<Self, String> {
        let failed =
            |error: rustls::Error| format!("cannot create the TLS settings of clients: {error}");
        let provider = CryptoProvider::get_default()
            .ok_or("cannot create the TLS settings of clients: no TLS provider is installed")?;
        let verifier = Verifier::new_with_extra_roots(
            ca.map(authorities).transpose()?.unwrap_or_default(),
            provider.clone(),
        )
        .map_err(failed)?;
        let config = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(failed)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        Ok(Self(config))
    }

    /// Returns the settings without a choice of HTTP versions. A connector adds its own.
    pub(super) fn without_http_version(&self) -> ClientConfig {
        self.0.clone()
    }

    /// Returns the settings for a client that speaks HTTP/2 and HTTP/1.1, and prefers HTTP/2.
    pub(super) fn with_http_versions(&self) -> ClientConfig {
        let mut config = self.0.clone();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        config
    }
}

fn authorities(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(pem)
        .collect::<Result<_, _>>()
        .map_err(|error| {
            format!("cannot read the file of certificate authorities for webhooks: {error}")
        })?;
    if certificates.is_empty() {
        return Err(
            "the file of certificate authorities for webhooks contains no certificate".into(),
        );
    }
    Ok(certificates)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_authorities_must_contain_valid_certificates() {
        rustls::crypto::ring::default_provider()
            .install_default()
            .ok();
        for (pem, reason) in [
            ("", "contains no certificate"),
            ("not PEM", "contains no certificate"),
            (
                "-----BEGIN CERTIFICATE-----\nAA==\n",
                "cannot read the file",
            ),
        ] {
            let error = ClientTls::new(Some(pem.as_bytes())).err().unwrap();
            assert!(error.contains(reason), "{pem:?}: {error}");
        }
        assert!(ClientTls::new(None).is_ok());
    }
}
