//! Checks the TLS certificate, the certificate authority that issues it, and the certificate that
//! signs wallet passes.

use std::time::Duration;

use engine::clock::Clock;
use jiff::{SignedDuration, Timestamp};
use page::PassSigner;
use url::Url;
use vestibule_http::server::Tls;

use super::report::DoctorReport;
use crate::acme::{AcmeSettings, examine_directory, stored_certificate};
use crate::config::ServeFlags;

const CERTIFICATE: &str = "certificate";
/// If a certificate expires within this time, the report has a note about it.
const SOON: SignedDuration = SignedDuration::from_hours(14 * 24);
/// Deadline for looking up a host name.
const LOOKUP_DEADLINE: Duration = Duration::from_secs(5);
/// The port that certificate authorities connect to for the TLS-ALPN challenge.
const HTTPS_PORT: u16 = 443;

pub(super) async fn check(flags: &ServeFlags, clock: &Clock, report: &mut DoctorReport) {
    let now = clock.now();
    if let Ok(Some(settings)) = flags.acme() {
        check_acme(flags, &settings, now, report).await;
    } else if let Ok(Some((certificate, key))) = flags.tls.files() {
        match Tls::examine(certificate, key) {
            Ok(certificate) => {
                let host = flags.public_address().as_deref().and_then(host);
                check_name(&certificate.names, host.as_deref(), report);
                check_validity(certificate.not_before, certificate.not_after, now, report);
            }
            Err(error) => report.add_error(
                CERTIFICATE,
                &error,
                "give the chain in PEM, the own certificate first, and its key without a password",
            ),
        }
    }
    let Some(path) = flags.pass_certificate.as_deref() else {
        return;
    };
    match PassSigner::read(path) {
        Ok(signer) if signer.is_valid(now) => {
            report.add_success(CERTIFICATE, "passes can be signed");
        }
        Ok(_) => report.add_error(
            CERTIFICATE,
            "the certificate for passes is not valid now, so no pass is offered",
            "renew it at Apple, and replace the file of --pass-certificate",
        ),
        Err(error) => report.add_error(
            CERTIFICATE,
            &error,
            "give the pass certificate, its key and Apple's intermediate in one PEM file",
        ),
    }
}

/// Checks the certificate authority, the DNS records of the host names, and the certificate that
/// the service has stored.
async fn check_acme(
    flags: &ServeFlags,
    settings: &AcmeSettings,
    now: Timestamp,
    report: &mut DoctorReport,
) {
    match examine_directory(&settings.directory, settings.root.as_deref()).await {
        Ok(()) => report.add_success(CERTIFICATE, &format!("{} answers", settings.directory)),
        Err(error) => report.add_error(
            CERTIFICATE,
            &error,
            "allow outgoing connections to it, and check --acme-directory and --acme-root",
        ),
    }
    for name in &settings.names {
        let lookup = tokio::net::lookup_host((name.as_str(), HTTPS_PORT));
        let addresses = tokio::time::timeout(LOOKUP_DEADLINE, lookup).await;
        let has_address = addresses
            .is_ok_and(|result| result.is_ok_and(|mut addresses| addresses.next().is_some()));
        if !has_address {
            report.add_error(
                CERTIFICATE,
                &format!("{name} has no address in DNS"),
                "add an A or AAAA record that leads to this machine",
            );
        }
    }
    let address = flags.listen_address();
    if address.port() != HTTPS_PORT {
        report.add_note(
            CERTIFICATE,
            &format!("the service listens on {address}, and the authority connects to port 443"),
            "forward port 443 there without ending TLS, or listen on port 443",
        );
    }
    let stored = stored_certificate(&settings.folder, &settings.directory);
    let examined = stored.and_then(|pem| pem.map(|pem| Tls::examine_pem(&pem)).transpose());
    match examined {
        Ok(Some(certificate)) if now < certificate.not_before || now > certificate.not_after => {
            report.add_error(
                CERTIFICATE,
                &format!(
                    "the stored one is valid from {} until {}, and not now",
                    certificate.not_before, certificate.not_after
                ),
                "read in the log of serve why no other could be obtained",
            );
        }
        Ok(Some(certificate)) => {
            let until = format!(
                "for {} until {}",
                certificate.names.join(", "),
                certificate.not_after
            );
            report.add_success(CERTIFICATE, &until);
        }
        Ok(None) => report.add_note(
            CERTIFICATE,
            "none is stored yet",
            "start serve; port 443 of each name must be open to the internet",
        ),
        Err(error) => report.add_error(
            CERTIFICATE,
            &error,
            "give this process the rights of serve, or remove the file; serve then orders another",
        ),
    }
}

fn host(url: &str) -> Option<String> {
    Url::parse(url).ok()?.host_str().map(str::to_owned)
}

/// Reports a fault if the host of the public address is not among `names`, the names of the
/// certificate.
fn check_name(names: &[String], host: Option<&str>, report: &mut DoctorReport) {
    let Some(host) = host.filter(|host| !names.iter().any(|name| matches_host(name, host))) else {
        return;
    };
    report.add_error(
        CERTIFICATE,
        &format!("it is for {}, and not for {host}", names.join(", ")),
        "get a certificate for the host of --public-url",
    );
}

/// Reports whether a certificate is valid now, and whether it expires soon ([`SOON`]).
fn check_validity(from: Timestamp, until: Timestamp, now: Timestamp, report: &mut DoctorReport) {
    let text = format!("valid from {from} until {until}");
    if now < from || now > until {
        report.add_error(
            CERTIFICATE,
            &format!("{text}, and not now"),
            "renew it, replace the files, and send SIGHUP to the running service",
        );
    } else if until.duration_since(now) < SOON {
        report.add_note(
            CERTIFICATE,
            &text,
            "renew it now; the service reads the new files on SIGHUP",
        );
    } else {
        report.add_success(CERTIFICATE, &text);
    }
}

/// Returns whether a name of a certificate matches a host. A wildcard matches exactly one label.
fn matches_host(name: &str, host: &str) -> bool {
    if name.eq_ignore_ascii_case(host.trim_matches(['[', ']'])) {
        return true;
    }
    let parent = host.split_once('.').map(|(_, parent)| parent);
    match (name.strip_prefix("*."), parent) {
        (Some(name), Some(parent)) => name.eq_ignore_ascii_case(parent),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wildcard_matches_one_label() {
        for (name, host, expected) in [
            ("stay.example.com", "stay.example.com", true),
            ("STAY.example.com", "stay.example.com", true),
            ("*.example.com", "stay.example.com", true),
            ("*.example.com", "a.stay.example.com", false),
            ("*.example.com", "example.com", false),
            ("example.com", "stay.example.com", false),
            ("127.0.0.1", "127.0.0.1", true),
            ("::1", "[::1]", true),
        ] {
            assert_eq!(matches_host(name, host), expected, "{name} {host}");
        }
    }
}
