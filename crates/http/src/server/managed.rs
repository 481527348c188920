//! A certificate that the process obtains and renews itself, and the answers to the challenges of
//! the certificate authority (TLS-ALPN-01, RFC 8737).

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

/// The ALPN protocol name that a certificate authority offers in the TLS handshake with which it
/// checks a host name (RFC 8737). In this handshake, the server presents the certificate of the
/// challenge.
pub(super) const CHALLENGE_PROTOCOL: &[u8] = b"acme-tls/1";

/// The current certificate and the current answers to challenges.
#[derive(Debug, Default)]
pub(super) struct ManagedCertificate {
    current: RwLock<Option<Arc<CertifiedKey>>>,
    /// The certificates with which the server answers ACME challenges, by host name.
    answers: RwLock<HashMap<String, Arc<CertifiedKey>>>,
}

impl ManagedCertificate {
    /// Sets the certificate for new connections.
    pub(super) fn install(&self, certificate: CertifiedKey) {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        *current = Some(Arc::new(certificate));
    }

    /// Sets the certificate that answers the ACME challenge for a host name.
    pub(super) fn answer(&self, name: String, certificate: CertifiedKey) {
        let mut answers = self.answers.write().unwrap_or_else(PoisonError::into_inner);
        answers.insert(name, Arc::new(certificate));
    }

    /// Removes the certificates with which the server answers ACME challenges, for all host names.
    pub(super) fn forget_answers(&self) {
        let mut answers = self.answers.write().unwrap_or_else(PoisonError::into_inner);
        answers.clear();
    }
}

impl ResolvesServerCert for ManagedCertificate {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        // When an ACME authority checks a challenge, `CHALLENGE_PROTOCOL` is the only protocol that
        // it offers in the TLS handshake (RFC 8737, section 3).
        let is_challenge = hello.alpn().into_iter().flatten().eq([CHALLENGE_PROTOCOL]);
        if !is_challenge {
            let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
            return current.clone();
        }
        let name = hello.server_name()?.to_ascii_lowercase();
        let answers = self.answers.read().unwrap_or_else(PoisonError::into_inner);
        answers.get(&name).cloned()
    }
}
