//! Opens the TLS certificate and the listening socket that the command-line flags name.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use engine::clock::Clock;
use tokio::net::TcpListener;
use vestibule_http::server::Tls;

use crate::acme::CertificateRenewer;
use crate::config::ServeFlags;

/// The source of a server's TLS certificate.
pub enum CertificateSource {
    /// Certificate and key come from files that the command-line flags name. SIGHUP reloads the
    /// files.
    Files(Arc<Tls>),
    /// A certificate authority issues the certificate, and this process renews it.
    Authority(Arc<CertificateRenewer>),
}

/// The TLS configuration of a server, and the task that renews its certificate. A certificate from
/// files has no such task. Without TLS, both are `None`.
pub(super) type Certificates = (Option<Arc<Tls>>, Option<Arc<CertificateRenewer>>);

/// Opens the certificate that the flags name: from files, or from a certificate authority.
pub(super) fn open_certificate(flags: &ServeFlags, clock: &Clock) -> Result<Certificates, String> {
    let text = |error| format!("TLS: {error}");
    if let Some(settings) = flags.acme()? {
        let tls = Arc::new(Tls::managed().map_err(text)?);
        let keeper =
            CertificateRenewer::open(settings, tls.clone(), clock.clone()).map_err(text)?;
        return Ok((Some(tls), Some(Arc::new(keeper))));
    }
    let tls = flags
        .tls
        .files()?
        .map(|(certificate, key)| Tls::open(certificate, key, clock.now()))
        .transpose();
    Ok((tls.map_err(text)?.map(Arc::new), None))
}

/// Binds the address in the flags. The default with `--tls-domain` is all IPv6 addresses, or all
/// IPv4 addresses on a machine without IPv6.
pub(super) async fn listen(flags: &ServeFlags) -> Result<TcpListener, String> {
    let address = flags.listen_address();
    let listener = match TcpListener::bind(address).await {
        Err(error)
            if flags.listen.is_none()
                && address.is_ipv6()
                && !matches!(
                    error.kind(),
                    ErrorKind::PermissionDenied | ErrorKind::AddrInUse
                ) =>
        {
            TcpListener::bind((Ipv4Addr::UNSPECIFIED, address.port())).await
        }
        result => result,
    };
    listener.map_err(|error| {
        let remedy = if error.kind() == ErrorKind::PermissionDenied {
            "; ports below 1024 need the capability CAP_NET_BIND_SERVICE, which \
                deploy/vestibule-tls.conf gives"
        } else {
            ""
        };
        format!("cannot listen on {address}: {error}{remedy}")
    })
}

/// Returns the URL of the address that the server listens on.
pub(super) fn listening_url(address: SocketAddr, tls: Option<&Tls>) -> String {
    format!(
        "{}://{address}",
        if tls.is_some() { "https" } else { "http" }
    )
}
