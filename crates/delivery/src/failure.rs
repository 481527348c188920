//! Describes in plain words why an attempt at a delivery got no answer.

use std::error::Error;
use std::io::{self, ErrorKind};

use rustls::{AlertDescription, CertificateError};

use super::target::Refusal;

/// The error text of an attempt whose answer is in a protocol other than HTTP.
const NO_HTTP: &str = "the answer is not valid HTTP";
/// The error text of an attempt whose connection ended before the response was complete.
const CLOSED: &str = "the receiver closed the connection before it answered";

/// Returns the innermost cause of an error, even if a library wrapped that cause into an I/O error.
pub(super) fn cause<'e>(error: &'e (dyn Error + 'static)) -> &'e (dyn Error + 'static) {
    let mut cause = error;
    loop {
        // Libraries wrap the cause into an I/O error of one of these two kinds. An I/O error of any
        // other kind describes the failure itself and wraps only a text.
        let wrapped = cause
            .downcast_ref::<io::Error>()
            .filter(|error| matches!(error.kind(), ErrorKind::Other | ErrorKind::InvalidData))
            .and_then(io::Error::get_ref)
            .map(|wrapped| wrapped as &(dyn Error + 'static));
        match wrapped.or_else(|| cause.source()) {
            Some(source) => cause = source,
            None => return cause,
        }
    }
}

/// Returns whether the receiver refused a request without processing it, or the request was never
/// sent. Over HTTP/2 a receiver refuses a request with `GOAWAY`, or with `REFUSED_STREAM`.
pub(super) fn is_refused(cause: &(dyn Error + 'static)) -> bool {
    if let Some(error) = cause.downcast_ref::<h2::Error>() {
        // A GOAWAY names the last stream that the receiver processes. Requests on streams up to
        // that one continue, so they do not fail with this error.
        let is_refused = error.is_reset() && error.reason() == Some(h2::Reason::REFUSED_STREAM);
        return error.is_remote() && (error.is_go_away() || is_refused);
    }
    cause
        .downcast_ref::<hyper::Error>()
        .is_some_and(hyper::Error::is_canceled)
}

/// Returns whether a connection ended before a response was complete.
pub(super) fn is_cut_off(cause: &(dyn Error + 'static)) -> bool {
    if let Some(error) = cause.downcast_ref::<io::Error>() {
        return matches!(
            error.kind(),
            ErrorKind::ConnectionReset
                | ErrorKind::ConnectionAborted
                | ErrorKind::BrokenPipe
                | ErrorKind::UnexpectedEof
        );
    }
    cause
        .downcast_ref::<hyper::Error>()
        .is_some_and(|error| error.is_incomplete_message() || error.is_closed())
}

/// Describes why an attempt got no answer. `error` is the error of the attempt.
pub(super) fn describe(error: &(dyn Error + 'static)) -> String {
    let cause = cause(error);
    let text = if let Some(refusal) = cause.downcast_ref::<Refusal>() {
        Some(refusal.to_string())
    } else if let Some(error) = cause.downcast_ref::<rustls::Error>() {
        Some(describe_tls(error))
    } else if let Some(error) = cause.downcast_ref::<h2::Error>() {
        Some(describe_http2(error))
    } else if let Some(error) = cause.downcast_ref::<hyper::Error>() {
        describe_http(error).map(str::to_owned)
    } else if let Some(error) = cause.downcast_ref::<io::Error>() {
        describe_io(error.kind()).map(str::to_owned)
    } else {
        None
    };
    text.unwrap_or_else(|| format!("the request failed: {cause}"))
}

fn describe_io(kind: ErrorKind) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::ConnectionRefused => "the receiver refused the connection",
        ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe => {
            "the receiver reset the connection before it answered"
        }
        ErrorKind::UnexpectedEof => CLOSED,
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => {
            "no network leads to the receiver's address"
        }
        ErrorKind::TimedOut => "the receiver's address does not respond",
        _ => return None,
    })
}

fn describe_http(error: &hyper::Error) -> Option<&'static str> {
    if error.is_parse_too_large() {
        Some("the head of the answer is too large")
    } else if error.is_parse() {
        Some(NO_HTTP)
    } else if error.is_incomplete_message() || error.is_closed() || error.is_canceled() {
        Some(CLOSED)
    } else {
        None
    }
}

fn describe_http2(error: &h2::Error) -> String {
    let code = error
        .reason()
        .map(|reason| format!(" ({reason:?})"))
        .unwrap_or_default();
    if error.is_go_away() && error.is_remote() {
        format!("the receiver closed the HTTP/2 connection before it answered{code}")
    } else if error.is_reset() && error.is_remote() {
        format!("the receiver ended the HTTP/2 request before it answered{code}")
    } else {
        format!("the answer is not valid HTTP/2{code}")
    }
}

fn describe_tls(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InvalidCertificate(error) => describe_certificate(error),
        rustls::Error::AlertReceived(alert) => describe_alert(*alert),
        rustls::Error::InvalidMessage(_) => "the receiver does not speak TLS".to_owned(),
        error => format!("the TLS handshake failed: {error}"),
    }
}

fn describe_alert(alert: AlertDescription) -> String {
    match alert {
        AlertDescription::CertificateRequired => {
            "the receiver demands a client certificate, and none is ever sent".to_owned()
        }
        AlertDescription::NoApplicationProtocol => {
            "the receiver speaks neither HTTP/1.1 nor HTTP/2".to_owned()
        }
        alert => format!("the receiver refused the TLS handshake ({alert:?})"),
    }
}

fn describe_certificate(error: &CertificateError) -> String {
    let text = match error {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "has expired",
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "is not valid yet"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "is for another name"
        }
        CertificateError::UnknownIssuer => {
            "is from an unknown authority, or its intermediate certificates are missing"
        }
        CertificateError::Revoked => "was revoked",
        error => return format!("the receiver's certificate is not valid: {error}"),
    };
    format!("the receiver's certificate {text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_within_io_errors_are_found_and_described() {
        let expired = rustls::Error::InvalidCertificate(CertificateError::Expired);
        let wrapped = io::Error::other(io::Error::new(ErrorKind::InvalidData, expired));
        assert_eq!(describe(&wrapped), "the receiver's certificate has expired");
        let unresolved = io::Error::other(Refusal::Unresolved);
        assert_eq!(describe(&unresolved), "the name cannot be resolved");
        for (kind, text) in [
            (
                ErrorKind::ConnectionRefused,
                "the receiver refused the connection",
            ),
            (
                ErrorKind::ConnectionReset,
                "the receiver reset the connection before it answered",
            ),
            (ErrorKind::UnexpectedEof, CLOSED),
        ] {
            assert_eq!(describe(&io::Error::from(kind)), text);
            assert_eq!(describe(&io::Error::new(kind, "words of a library")), text);
        }
        let go_away = io::Error::other(h2::Error::from(h2::Reason::REFUSED_STREAM));
        assert!(!is_refused(cause(&go_away)), "an error of our own side");
    }
}
