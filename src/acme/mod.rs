//! Obtains the TLS certificate of the service from a certificate authority (ACME, RFC 8555), and
//! renews the certificate.
//!
//! The authority checks each host name by a TLS handshake on port 443 (TLS-ALPN-01, RFC 8737),
//! which the listener of the service answers. Only one process may use the folder with the account
//! key and the certificate, so that process locks the folder. If the authority does not answer, the
//! service starts and stops without delay and continues to use the current certificate. It orders
//! again after a pause.
//!
//! [`authority`] orders a certificate, [`schedule`] decides when, and [`folder`] stores the
//! results.

mod authority;
mod client;
mod folder;
mod schedule;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use engine::clock::Clock;
use jiff::Timestamp;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use vestibule_http::server::{CertificateFacts, Tls};

use self::authority::{Authority, IssuedCertificate};
pub(crate) use self::client::examine_directory;
use self::folder::CertificateFolder;
pub(crate) use self::folder::stored_certificate;

/// Pause between two checks of whether the certificate is due for renewal.
const CHECK_EVERY: Duration = Duration::from_secs(3_600);
/// Time limit for an order, from loading the account to downloading the certificate.
const ORDER_DEADLINE: Duration = Duration::from_secs(300);

/// The settings with which the service gets its certificate from an ACME authority.
#[derive(Debug, Clone)]
pub(crate) struct AcmeSettings {
    /// The host names of the certificate, in lower case. There is at least one.
    pub(crate) names: Vec<String>,
    /// The mail address at which the authority may contact the operator.
    pub(crate) email: Option<String>,
    /// The address of the authority's ACME directory.
    pub(crate) directory: String,
    /// A PEM file with certificate authorities to trust for connections to the ACME directory, in
    /// addition to those of the system.
    pub(crate) root: Option<PathBuf>,
    /// The folder with the account key and the certificate.
    pub(crate) folder: PathBuf,
}

/// Renews the certificate of the service before the certificate expires.
pub struct CertificateRenewer {
    settings: AcmeSettings,
    authority: Authority,
    folder: Arc<CertificateFolder>,
    tls: Arc<Tls>,
    clock: Clock,
    /// The names and the validity of the certificate in use.
    current: Mutex<Option<CertificateFacts>>,
    /// Locked during an order, so that there is only one order at a time.
    order: tokio::sync::Mutex<()>,
    /// Ends the pause of [`Self::run`], which then checks at once whether the certificate must be
    /// renewed.
    check_now: Notify,
}

impl CertificateRenewer {
    /// Opens the folder with the account at the certificate authority, and loads the certificate
    /// that is stored in it. Blocks the thread.
    pub(crate) fn open(
        settings: AcmeSettings,
        tls: Arc<Tls>,
        clock: Clock,
    ) -> Result<Self, String> {
        let folder = CertificateFolder::open(&settings.folder, &settings.directory)?;
        let client = client::build_acme_client(settings.root.as_deref())?;
        let keeper = Self {
            authority: Authority::new(client, &settings),
            folder: Arc::new(folder),
            settings,
            tls,
            clock,
            current: Mutex::default(),
            order: tokio::sync::Mutex::default(),
            check_now: Notify::new(),
        };
        keeper.load_stored();
        Ok(keeper)
    }

    /// Loads the stored certificate, if there is one. An unusable certificate is no error, only a
    /// log line, because the first order replaces it.
    fn load_stored(&self) {
        let folder = self.folder.path().display();
        let stored = self.folder.certificate();
        let result = stored.and_then(|pem| pem.map(|pem| self.tls.install(&pem)).transpose());
        match result {
            Ok(Some(certificate)) => {
                tracing::info!(
                    %folder,
                    names = certificate.names.join(", "),
                    not_after = %certificate.not_after,
                    "using the stored TLS certificate"
                );
                self.set_current(certificate);
            }
            Ok(None) => {
                tracing::info!(
                    %folder,
                    "no TLS certificate is stored; https works when the first one is obtained"
                );
            }
            Err(error) => {
                tracing::warn!(
                    %folder,
                    error,
                    "cannot use the stored TLS certificate; ordering another"
                );
            }
        }
    }

    /// Checks at intervals whether the certificate is due for renewal, and renews the certificate,
    /// until `stop` is cancelled.
    pub(crate) async fn run(self: Arc<Self>, stop: CancellationToken) {
        let mut failures = 0;
        loop {
            let Some(result) = stop.run_until_cancelled(self.check()).await else {
                return;
            };
            let pause = match result {
                Ok(_) => {
                    failures = 0;
                    CHECK_EVERY
                }
                Err(error) => {
                    let pause = schedule::pause_after(failures);
                    failures += 1;
                    self.report(&error, pause);
                    pause
                }
            };
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(pause) => {}
                () = self.check_now.notified() => failures = 0,
            }
        }
    }

    /// Makes [`Self::run`] check now, without waiting for the end of its pause.
    pub(crate) fn check_now(&self) {
        self.check_now.notify_one();
    }

    /// Obtains a certificate if the service has none, or if the current certificate is due for
    /// renewal. Returns whether this call obtained a certificate.
    pub(crate) async fn check(&self) -> Result<bool, String> {
        let _order = self.order.lock().await;
        if !self.is_due(self.clock.now()) {
            return Ok(false);
        }
        tracing::info!(
            names = self.settings.names.join(", "),
            directory = self.settings.directory,
            "ordering a TLS certificate"
        );
        let order = self.authority.order(&self.folder, &self.tls);
        let result = tokio::time::timeout(ORDER_DEADLINE, order).await;
        self.tls.forget_challenges();
        let IssuedCertificate { key, chain } = result.unwrap_or_else(|_| {
            Err(format!(
                "the order was not complete after {} s",
                ORDER_DEADLINE.as_secs()
            ))
        })?;
        let pem = format!("{key}{chain}");
        let certificate = Tls::examine_pem(pem.as_bytes())
            .map_err(|error| format!("the certificate that was issued {error}"))?;
        // The certificate is stored before the server uses it. If it cannot be stored, the order
        // fails. A certificate in use that is not stored would be lost at the next restart, and
        // each restart would order another one.
        let folder = self.folder.clone();
        let text = pem.clone();
        let result = tokio::task::spawn_blocking(move || folder.store_certificate(&text)).await;
        result.map_err(|error| error.to_string())??;
        self.tls
            .install(pem.as_bytes())
            .map_err(|error| format!("the certificate that was issued {error}"))?;
        tracing::info!(
            names = certificate.names.join(", "),
            not_after = %certificate.not_after,
            renewal = %schedule::renewal_time(&certificate),
            "obtained a TLS certificate"
        );
        self.set_current(certificate);
        Ok(true)
    }

    /// Returns whether to order a certificate now: if there is none, or if the current certificate
    /// is due for renewal or lacks one of the configured host names.
    fn is_due(&self, now: Timestamp) -> bool {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current
            .as_ref()
            .is_none_or(|certificate| schedule::is_due(certificate, &self.settings.names, now))
    }

    /// Stores the names and the validity of the certificate that the service now uses. They decide
    /// when the certificate is renewed, and at which level a failed order is logged.
    fn set_current(&self, certificate: CertificateFacts) {
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Some(certificate);
    }

    /// Logs a failed order: as a warning while the certificate in use is valid, or else as an
    /// error.
    fn report(&self, error: &str, pause: Duration) {
        let retry_in = format!("{} min", pause.as_secs() / 60);
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        match current.as_ref() {
            Some(certificate) if self.clock.now() < certificate.not_after => {
                tracing::warn!(
                    error,
                    retry_in,
                    not_after = %certificate.not_after,
                    "could not obtain a TLS certificate; the present one stays in use"
                );
            }
            _ => {
                tracing::error!(
                    error,
                    retry_in,
                    "could not obtain a TLS certificate, and there is no valid one; browsers \
                        cannot connect"
                );
            }
        }
    }
}
