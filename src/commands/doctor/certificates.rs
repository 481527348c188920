//! Checks the certificate that the service shows, and the one that signs passes.

use engine::clock::Clock;
use engine::server::Tls;
use jiff::{SignedDuration, Timestamp};
use url::Url;

use super::report::Report;
use crate::config::ServeFlags;
use crate::page::PassSigner;

const CERTIFICATE: &str = "certificate";
/// A certificate that expires sooner is a note.
const SOON: SignedDuration = SignedDuration::from_hours(14 * 24);

pub(super) fn check(flags: &ServeFlags, clock: &Clock, report: &mut Report) {
    let now = clock.now();
    if let Ok(Some((certificate, key))) = flags.tls() {
        match Tls::examine(certificate, key) {
            Ok(shown) => {
                let host = flags.public_url.as_deref().and_then(host);
                judge_name(&shown.names, host.as_deref(), report);
                judge_validity(shown.not_before, shown.not_after, now, report);
            }
            Err(error) => report.wrong_with(
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
        Ok(signer) if signer.is_valid(now) => report.good(CERTIFICATE, "passes can be signed"),
        Ok(_) => report.wrong_with(
            CERTIFICATE,
            "the certificate for passes is not valid now, so no pass is offered",
            "renew it at Apple, and replace the file of --pass-certificate",
        ),
        Err(error) => report.wrong_with(
            CERTIFICATE,
            &error,
            "give the pass certificate, its key and Apple's intermediate in one PEM file",
        ),
    }
}

fn host(url: &str) -> Option<String> {
    Url::parse(url).ok()?.host_str().map(str::to_owned)
}

fn judge_name(names: &[String], host: Option<&str>, report: &mut Report) {
    let Some(host) = host.filter(|host| !names.iter().any(|name| covers(name, host))) else {
        return;
    };
    report.wrong_with(
        CERTIFICATE,
        &format!("it is for {}, and not for {host}", names.join(", ")),
        "get a certificate for the host of --public-url",
    );
}

fn judge_validity(from: Timestamp, until: Timestamp, now: Timestamp, report: &mut Report) {
    let text = format!("valid from {from} until {until}");
    if now < from || now > until {
        report.wrong_with(
            CERTIFICATE,
            &format!("{text}, and not now"),
            "renew it, replace the files, and send SIGHUP to the running service",
        );
    } else if until.duration_since(now) < SOON {
        report.note(
            CERTIFICATE,
            &text,
            "renew it now; the service reads the new files on SIGHUP",
        );
    } else {
        report.good(CERTIFICATE, &text);
    }
}

/// Returns whether a name of a certificate stands for a host. A wildcard stands for one label.
fn covers(name: &str, host: &str) -> bool {
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
    fn a_wildcard_stands_for_one_label() {
        for (name, host, wanted) in [
            ("stay.example.com", "stay.example.com", true),
            ("STAY.example.com", "stay.example.com", true),
            ("*.example.com", "stay.example.com", true),
            ("*.example.com", "a.stay.example.com", false),
            ("*.example.com", "example.com", false),
            ("example.com", "stay.example.com", false),
            ("127.0.0.1", "127.0.0.1", true),
            ("::1", "[::1]", true),
        ] {
            assert_eq!(covers(name, host), wanted, "{name} {host}");
        }
    }
}
