//! Redirect addresses of clients. The redirect address in a request must equal an address that the
//! client has registered, character by character (RFC 6749, section 3.1.2.3; OAuth 2.1, sections
//! 2.3.1 and 4.1.1). Only the port of a loopback address may differ (RFC 8252, section 7.3).

use engine::format::is_redirect_uri;
use form_urlencoded::Serializer;
use url::{Host, Url};

/// The reason why a request has no valid redirect address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InvalidRedirect {
    /// The request has no redirect address, and the client has registered none or several (RFC
    /// 6749, section 3.1.2.3).
    Missing,
    /// The client has not registered the redirect address in the request.
    NotRegistered,
}

/// Returns the redirect address of a request. The client must have registered this address. If the
/// request has no address, the client must have registered exactly one (RFC 6749, section 3.1.2.3).
pub(super) fn redirect_address(
    registered: &[String],
    requested: Option<&str>,
) -> Result<String, InvalidRedirect> {
    match (requested, registered) {
        (Some(requested), _)
            if is_redirect_uri(requested)
                && registered
                    .iter()
                    .any(|registered| is_same(registered, requested)) =>
        {
            Ok(requested.to_owned())
        }
        (None, [single]) if is_redirect_uri(single) => Ok(single.clone()),
        (Some(_), _) => Err(InvalidRedirect::NotRegistered),
        (None, _) => Err(InvalidRedirect::Missing),
    }
}

/// Returns whether a requested address equals a registered address, character by character, except
/// for the port of a loopback address. That port may differ, because a program on the user's
/// machine gets a new port each time it runs (RFC 8252, section 7.3).
fn is_same(registered: &str, requested: &str) -> bool {
    registered == requested
        || matches!(
            (split_loopback(registered), split_loopback(requested)),
            (Some(registered), Some(requested)) if registered == requested
        )
}

/// Splits an http redirect address into its host and the part after the port. Returns `None` for an
/// https address, for an app's own URL scheme, and for a text that is no redirect address.
fn split_loopback(uri: &str) -> Option<(&str, &str)> {
    if !is_redirect_uri(uri) {
        return None;
    }
    let rest = uri.strip_prefix("http://")?;
    let (authority, rest_after_port) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    // The colons of an IPv6 address are inside its brackets.
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => host,
        _ => authority,
    };
    Some((host, rest_after_port))
}

/// Returns the host of a redirect address for display. If the address has an app's own URL scheme,
/// returns the scheme, such as `com.example.app`.
pub(super) fn host(uri: &str) -> String {
    let Ok(url) = Url::parse(uri) else {
        return String::new();
    };
    match (url.scheme(), url.host_str()) {
        ("http" | "https", Some(host)) => url
            .port()
            .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")),
        (scheme, _) => scheme.to_owned(),
    }
}

/// Returns whether a redirect URI leads to a program on the browser's machine.
pub(super) fn is_local(uri: &str) -> bool {
    // Every scheme other than https leads to the browser's machine: http is valid only with a
    // loopback host, and any other scheme starts an app.
    Url::parse(uri).is_ok_and(|url| url.scheme() != "https")
}

/// Returns a redirect address as a source for the directive `form-action` of a content security
/// policy (CSP 3, section 2.3.1). Browsers compare every redirect after a form with the policy. A
/// policy cannot contain an IPv6 address, so for an IPv6 address the source allows every host at
/// the same port. Returns an empty text if `uri` is not a URL.
pub(super) fn source(uri: &str) -> String {
    let Ok(url) = Url::parse(uri) else {
        return String::new();
    };
    match (url.scheme(), url.host()) {
        (scheme @ ("http" | "https"), Some(Host::Ipv6(_))) => {
            format!(
                "{scheme}://*{}",
                url.port()
                    .map(|port| format!(":{port}"))
                    .unwrap_or_default()
            )
        }
        ("http" | "https", _) => url.origin().ascii_serialization(),
        (scheme, _) => format!("{scheme}:"),
    }
}

/// Returns the `form-action` source (see [`source`]) for `uri`, the redirect URI in an
/// authorization request. Returns `None` if this server accepts no redirect URI of this form. Does
/// not check whether a client has registered `uri`.
pub(super) fn claimed_source(uri: &str) -> Option<String> {
    is_redirect_uri(uri).then(|| source(uri))
}

/// Adds parameters to the query of an address. The query that the address already has stays
/// unchanged (RFC 6749, section 3.1.2).
pub(super) fn with_parameters(uri: &str, parameters: &[(&str, &str)]) -> String {
    let query = Serializer::new(String::new())
        .extend_pairs(parameters)
        .finish();
    let separator = match uri.split_once('?') {
        None => "?",
        Some((_, "")) => "",
        Some((_, query)) if query.ends_with('&') => "",
        Some(_) => "&",
    };
    format!("{uri}{separator}{query}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn is_registered(registered: &str, requested: &str) -> bool {
        redirect_address(&[registered.to_owned()], Some(requested)).is_ok()
    }

    #[test]
    fn loopback_redirects_match_on_any_port() {
        for (registered, requested) in [
            ("http://127.0.0.1/cb", "http://127.0.0.1:49152/cb"),
            ("http://127.0.0.1:80/cb", "http://127.0.0.1:49152/cb"),
            ("http://[::1]/cb", "http://[::1]:3000/cb"),
            ("http://localhost:3000/cb?x=1", "http://localhost/cb?x=1"),
            ("http://localhost", "http://localhost:3000"),
        ] {
            assert!(
                is_registered(registered, requested),
                "{registered} {requested}"
            );
        }
    }

    #[test]
    fn similar_redirect_addresses_do_not_match() {
        for (registered, requested) in [
            ("https://app.example/cb", "https://app.example/CB"),
            ("https://app.example/cb", "https://APP.example/cb"),
            ("https://app.example/cb", "HTTPS://app.example/cb"),
            ("https://app.example/cb", "https://app.example:443/cb"),
            ("https://app.example/cb", "https://app.example:8443/cb"),
            ("https://app.example/cb", "https://app.example/cb/"),
            ("https://app.example/cb", "https://app.example/cb?x"),
            ("https://app.example/cb", "https://app.example/cb#"),
            ("https://app.example/cb", "https://app.example/cb#x"),
            ("https://app.example/cb", "https://app.example/x/../cb"),
            ("https://app.example/cb", "https://app.example/%63b"),
            ("https://app.example/a/b", "https://app.example/a%2Fb"),
            ("https://app.example/cb", "https://app.example%2fcb"),
            (
                "https://app.example/cb",
                "https://app.example@evil.example/cb",
            ),
            (
                "https://app.example/cb",
                "https://evil.example@app.example/cb",
            ),
            ("https://app.example/cb", "https://@app.example/cb"),
            (
                "https://app.example/cb",
                "https://app.example.evil.example/cb",
            ),
            (
                "https://app.example/cb",
                "https://app.example\\.evil.example/cb",
            ),
            ("https://app.example/cb", "http://app.example/cb"),
            ("https://app.example/cb", " https://app.example/cb"),
            ("http://127.0.0.1/cb", "http://localhost/cb"),
            ("http://127.0.0.1/cb", "http://127.0.0.2/cb"),
            ("http://127.0.0.1/cb", "http://127.1/cb"),
            ("http://127.0.0.1/cb", "http://[::1]/cb"),
            ("http://localhost/cb", "http://localhost.evil.example/cb"),
            ("http://localhost/cb", "http://localhost./cb"),
            ("http://127.0.0.1/cb", "http://127.0.0.1:80@evil.example/cb"),
            ("http://127.0.0.1/cb", "http://evil.example:80/cb"),
            ("http://127.0.0.1/cb", "http://127.0.0.1:99999/cb"),
            ("http://127.0.0.1/cb", "http://127.0.0.1:1/cb/"),
            ("http://127.0.0.1/cb", "https://127.0.0.1:1/cb"),
            ("com.example.app:/cb", "com.example.app:/cb2"),
            ("com.example.app:/cb", "com.example.app:cb"),
        ] {
            assert!(
                !is_registered(registered, requested),
                "{registered} {requested}"
            );
        }
    }

    #[test]
    fn an_invalid_redirect_address_is_refused_even_if_registered() {
        for uri in [
            "http://app.example/cb",
            "javascript:alert(1)",
            "data:text/html,x",
            "app:/cb",
            "file:///etc/passwd",
            "//x.example",
            "",
        ] {
            assert_eq!(
                redirect_address(&[uri.to_owned()], Some(uri)),
                Err(InvalidRedirect::NotRegistered),
                "{uri}"
            );
            assert_eq!(
                redirect_address(&[uri.to_owned()], None),
                Err(InvalidRedirect::Missing),
                "{uri}"
            );
        }
    }

    #[test]
    fn the_only_registered_address_is_the_default() {
        let two = [
            "https://a.example/".to_owned(),
            "https://b.example/".to_owned(),
        ];
        assert_eq!(
            redirect_address(&two[..1], None).as_deref(),
            Ok("https://a.example/")
        );
        assert_eq!(redirect_address(&two, None), Err(InvalidRedirect::Missing));
        assert_eq!(redirect_address(&[], None), Err(InvalidRedirect::Missing));
    }

    #[test]
    fn the_host_and_form_policy_of_a_redirect_address_are_derived() {
        for (uri, expected_host, policy, is_on_machine) in [
            (
                "https://app.example/cb",
                "app.example",
                "https://app.example",
                false,
            ),
            (
                "https://app.example:8443/cb?x=1",
                "app.example:8443",
                "https://app.example:8443",
                false,
            ),
            (
                "http://127.0.0.1:49152/cb",
                "127.0.0.1:49152",
                "http://127.0.0.1:49152",
                true,
            ),
            ("http://[::1]:3000/", "[::1]:3000", "http://*:3000", true),
            (
                "https://[2001:db8::1]/cb",
                "[2001:db8::1]",
                "https://*",
                false,
            ),
            (
                "com.example.app:/cb",
                "com.example.app",
                "com.example.app:",
                true,
            ),
            (
                "com.example.app://x/cb",
                "com.example.app",
                "com.example.app:",
                true,
            ),
        ] {
            assert!(is_redirect_uri(uri), "{uri}");
            assert_eq!(
                (host(uri).as_str(), source(uri).as_str(), is_local(uri)),
                (expected_host, policy, is_on_machine),
                "{uri}"
            );
        }
    }

    #[test]
    fn the_query_of_a_redirect_address_is_kept() {
        let added = [("code", "a b"), ("iss", "https://x.example")];
        let tail = "code=a+b&iss=https%3A%2F%2Fx.example";
        for (uri, begins) in [
            ("https://a/cb", "https://a/cb?"),
            ("https://a/cb?", "https://a/cb?"),
            ("https://a/cb?x=%20y", "https://a/cb?x=%20y&"),
        ] {
            assert_eq!(with_parameters(uri, &added), format!("{begins}{tail}"));
        }
    }

    fn tricky() -> impl Strategy<Value = String> {
        let piece = proptest::sample::select(vec![
            "https://",
            "http://",
            "https:",
            "com.example.app:",
            "127.0.0.1",
            "localhost",
            "[::1]",
            "app.example",
            "evil.example",
            "/",
            "//",
            "\\",
            "@",
            ":",
            "80",
            "?",
            "#",
            "%2f",
            "%5c",
            "%00",
            ".",
            "..",
            "cb",
            " ",
            "\t",
            "\n",
            ";",
            ",",
            "'",
            "é",
            "javascript:",
        ]);
        proptest::collection::vec(piece, 0..9).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        /// Checks that a redirect has the host, scheme and path of the registered address.
        #[test]
        fn a_redirect_keeps_host_scheme_and_path_of_the_address(
            registered in tricky(),
            requested in tricky(),
        ) {
            if let Ok(chosen) =
                redirect_address(std::slice::from_ref(&registered), Some(&requested))
            {
                let (registered, target) = (
                    Url::parse(&registered).unwrap(),
                    Url::parse(&with_parameters(&chosen, &[("code", "x")])).unwrap(),
                );
                prop_assert_eq!(target.host_str(), registered.host_str());
                prop_assert_eq!(target.scheme(), registered.scheme());
                prop_assert_eq!(target.path(), registered.path());
                prop_assert_eq!(
                    (target.username(), target.password(), target.fragment()),
                    ("", None, None)
                );
            }
        }

        /// Checks that every valid redirect address is valid in a header and in a content security
        /// policy.
        #[test]
        fn every_redirect_address_fits_in_headers(text in prop_oneof![tricky(), any::<String>()]) {
            if is_redirect_uri(&text) {
                prop_assert!(
                    http::HeaderValue::from_str(&with_parameters(&text, &[("state", "\r\nx")]))
                        .is_ok()
                );
                let policy = source(&text);
                prop_assert!(
                    !policy.is_empty() && !policy.contains([';', ',', ' ', '\'', '\n']),
                    "{}",
                    policy
                );
                prop_assert!(!host(&text).is_empty());
            }
        }
    }
}
