//! Obtains the certificate of the service from a certificate authority (ACME, RFC 8555), and renews
//! it.
//!
//! The authority checks each host name by a TLS handshake on port 443 (TLS-ALPN-01, RFC 8737),
//! which the ordinary listener answers. One process holds the folder with the account key and the
//! certificate. An authority that does not answer delays neither the start nor the end of the
//! process: the present certificate stays in use, and the order is tried again after a pause.

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

use self::authority::{Authority, Obtained};
pub(crate) use self::client::examine_directory;
use self::folder::CertificateFolder;
pub(crate) use self::folder::stored_certificate;

/// Interval of checks whether the certificate is due for renewal.
const CHECK_EVERY: Duration = Duration::from_secs(3_600);
/// Deadline for one order, from the account to the certificate.
const ORDER_DEADLINE: Duration = Duration::from_secs(300);

/// How the certificate is obtained.
#[derive(Debug, Clone)]
pub(crate) struct AcmeSettings {
    /// The host names of the certificate, in lower case. There is at least one.
    pub(crate) names: Vec<String>,
    /// The address at which the authority may write to the operator.
    pub(crate) email: Option<String>,
    /// The address of the authority's directory.
    pub(crate) directory: String,
    /// A PEM file with certificate authorities that are trusted for the directory, beside those of
    /// the system.
    pub(crate) root: Option<PathBuf>,
    /// The folder that holds the account key and the certificate.
    pub(crate) folder: PathBuf,
}

/// Keeps the certificate of the service valid.
pub struct CertificateKeeper {
    settings: AcmeSettings,
    authority: Authority,
    folder: Arc<CertificateFolder>,
    tls: Arc<Tls>,
    clock: Clock,
    /// The facts about the certificate in use.
    present: Mutex<Option<CertificateFacts>>,
    /// Held by the one order that is under way.
    order: tokio::sync::Mutex<()>,
    /// Ends the pause before the next check.
    check_now: Notify,
}

impl CertificateKeeper {
    /// Opens the folder, and uses the certificate that is stored there. Blocks.
    pub(crate) fn open(
        settings: AcmeSettings,
        tls: Arc<Tls>,
        clock: Clock,
    ) -> Result<Self, String> {
        let folder = CertificateFolder::open(&settings.folder, &settings.directory)?;
        let client = client::build(settings.root.as_deref())?;
        let keeper = Self {
            authority: Authority::new(client, &settings),
            folder: Arc::new(folder),
            settings,
            tls,
            clock,
            present: Mutex::default(),
            order: tokio::sync::Mutex::default(),
            check_now: Notify::new(),
        };
        keeper.use_stored();
        Ok(keeper)
    }

    /// Uses the stored certificate, if there is one. A certificate that cannot be used is replaced
    /// by the first order.
    fn use_stored(&self) {
        let folder = self.folder.path().display();
        let stored = self.folder.certificate();
        let used = stored.and_then(|pem| pem.map(|pem| self.tls.install(&pem)).transpose());
        match used {
            Ok(Some(facts)) => {
                tracing::info!(%folder, names = facts.names.join(", "), not_after = %facts.not_after, "using the stored TLS certificate");
                self.note(facts);
            }
            Ok(None) => {
                tracing::info!(%folder, "no TLS certificate is stored; https works when the first one is obtained");
            }
            Err(error) => {
                tracing::warn!(%folder, error, "cannot use the stored TLS certificate; ordering another");
            }
        }
    }

    /// Renews the certificate in time, until `stop` is cancelled.
    pub(crate) async fn run(self: Arc<Self>, stop: CancellationToken) {
        let mut failures = 0;
        loop {
            let Some(checked) = stop.run_until_cancelled(self.check()).await else {
                return;
            };
            let pause = match checked {
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

    /// Checks now, without waiting for the end of the pause.
    pub(crate) fn check_now(&self) {
        self.check_now.notify_one();
    }

    /// Obtains a certificate if there is none, or if the present one is due for renewal. Returns
    /// whether one was obtained.
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
        let ordered = self.authority.order(&self.folder, &self.tls);
        let ordered = tokio::time::timeout(ORDER_DEADLINE, ordered).await;
        self.tls.forget_challenges();
        let Obtained { key, chain } = ordered.unwrap_or_else(|_| {
            Err(format!(
                "the order was not complete after {} s",
                ORDER_DEADLINE.as_secs()
            ))
        })?;
        let pem = format!("{key}{chain}");
        let facts = Tls::examine_pem(pem.as_bytes())
            .map_err(|error| format!("the certificate that was issued {error}"))?;
        // The certificate is stored first. If it were used without being stored, each restart would
        // order another one.
        let folder = self.folder.clone();
        let stored = pem.clone();
        let stored = tokio::task::spawn_blocking(move || folder.store_certificate(&stored)).await;
        stored.map_err(|error| error.to_string())??;
        self.tls
            .install(pem.as_bytes())
            .map_err(|error| format!("the certificate that was issued {error}"))?;
        tracing::info!(names = facts.names.join(", "), not_after = %facts.not_after, renewal = %schedule::renewal(&facts), "obtained a TLS certificate");
        self.note(facts);
        Ok(true)
    }

    fn is_due(&self, now: Timestamp) -> bool {
        let present = self.present.lock().unwrap_or_else(PoisonError::into_inner);
        present
            .as_ref()
            .is_none_or(|facts| schedule::is_due(facts, &self.settings.names, now))
    }

    fn note(&self, facts: CertificateFacts) {
        *self.present.lock().unwrap_or_else(PoisonError::into_inner) = Some(facts);
    }

    /// Reports a failed order.
    fn report(&self, error: &str, pause: Duration) {
        let retry_in = format!("{} min", pause.as_secs() / 60);
        let present = self.present.lock().unwrap_or_else(PoisonError::into_inner);
        match present.as_ref() {
            Some(facts) if self.clock.now() < facts.not_after => {
                tracing::warn!(error, retry_in, not_after = %facts.not_after, "could not obtain a TLS certificate; the present one stays in use");
            }
            _ => {
                tracing::error!(
                    error,
                    retry_in,
                    "could not obtain a TLS certificate, and there is no valid one; browsers cannot connect"
                );
            }
        }
    }
}
