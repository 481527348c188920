//! Decides when to renew a certificate, and when to repeat a failed order.

use std::time::Duration;

use jiff::Timestamp;
use vestibule_http::server::CertificateFacts;

/// Pause after the first failed order. The pause doubles with each failure, so there are five
/// orders in the first hour; Let's Encrypt allows five failed checks of a host name per hour.
const FIRST_PAUSE: Duration = Duration::from_secs(120);
/// Maximum pause after a failed order.
const MAX_PAUSE: Duration = Duration::from_secs(6 * 3_600);

/// Returns the time of renewal: the time at which a third of the certificate's lifetime remains.
/// For a certificate of 90 days, this is 30 days before it expires.
pub(super) fn renewal_time(certificate: &CertificateFacts) -> Timestamp {
    let lifetime = certificate.not_after.duration_since(certificate.not_before);
    certificate
        .not_after
        .checked_sub(lifetime / 3)
        .unwrap_or(certificate.not_after)
}

/// Returns whether a certificate is due for renewal, or does not cover these host names.
pub(super) fn is_due(certificate: &CertificateFacts, names: &[String], now: Timestamp) -> bool {
    let is_covered = |name: &String| {
        certificate
            .names
            .iter()
            .any(|own| own.eq_ignore_ascii_case(name))
    };
    now >= renewal_time(certificate) || !names.iter().all(is_covered)
}

/// Returns the pause after a failed order. `failures` is the number of orders that failed in a row
/// directly before this one.
pub(super) fn pause_after(failures: u32) -> Duration {
    let factor = 2_u32.checked_pow(failures);
    factor
        .and_then(|factor| FIRST_PAUSE.checked_mul(factor))
        .map_or(MAX_PAUSE, |pause| pause.min(MAX_PAUSE))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate(from: &str, until: &str) -> CertificateFacts {
        CertificateFacts {
            names: vec!["a.example".into(), "B.example".into()],
            not_before: from.parse().unwrap(),
            not_after: until.parse().unwrap(),
        }
    }

    #[test]
    fn a_certificate_is_renewed_when_a_third_of_its_lifetime_is_left() {
        let three_months = certificate("2026-01-01T00:00:00Z", "2026-04-01T00:00:00Z");
        let names = ["a.example".to_owned()];
        for (now, expected) in [
            ("2026-01-01T00:00:00Z", false),
            ("2026-03-01T23:59:59Z", false),
            ("2026-03-02T00:00:00Z", true),
            ("2026-05-01T00:00:00Z", true),
        ] {
            assert_eq!(
                is_due(&three_months, &names, now.parse().unwrap()),
                expected,
                "{now}"
            );
        }
    }

    #[test]
    fn a_certificate_without_one_of_the_names_is_replaced() {
        let three_months = certificate("2026-01-01T00:00:00Z", "2026-04-01T00:00:00Z");
        let now = "2026-01-02T00:00:00Z".parse().unwrap();
        let due = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            is_due(&three_months, &names, now)
        };
        assert!(!due(&["a.example", "b.example"]));
        assert!(due(&["a.example", "c.example"]));
    }

    #[test]
    fn pauses_double_up_to_six_hours() {
        let minutes = |failures| pause_after(failures).as_secs() / 60;
        assert_eq!([0, 1, 2, 3, 4].map(minutes), [2, 4, 8, 16, 32]);
        assert_eq!(minutes(8), 360);
        assert_eq!(minutes(u32::MAX), 360);
    }
}
