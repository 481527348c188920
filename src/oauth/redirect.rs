//! Where people are sent back to: an address that the client has named beforehand, letter by letter (RFC 6749, section 3.1.2.3;
//! OAuth 2.1, sections 2.3.1 and 4.1.1).

use engine::format::is_redirect_uri;
use form_urlencoded::Serializer;
use url::{Host, Url};

/// Why nobody is sent anywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wrong {
    /// There is no address, and more than one to choose from (RFC 6749, section 3.1.2.3).
    Missing,
    /// The client has not named this one.
    Foreign,
}

/// The address to send somebody back to: the one that is asked for, if the client has named it; where none is asked for, the only
/// one that it has named (RFC 6749, section 3.1.2.3).
pub(super) fn chosen(named: &[String], asked: Option<&str>) -> Result<String, Wrong> {
    match (asked, named) {
        (Some(asked), _) if is_redirect_uri(asked) && named.iter().any(|named| is_same(named, asked)) => Ok(asked.to_owned()),
        (None, [only]) if is_redirect_uri(only) => Ok(only.clone()),
        (Some(_), _) => Err(Wrong::Foreign),
        (None, _) => Err(Wrong::Missing),
    }
}

/// Whether two addresses are the same: letter by letter, but for the port of the own machine, which a program there is given anew
/// each time it runs (RFC 8252, section 7.3).
fn is_same(named: &str, asked: &str) -> bool {
    named == asked || matches!((on_loopback(named), on_loopback(asked)), (Some(named), Some(asked)) if named == asked)
}

/// An address of the own machine without its port: its host, and what comes behind.
fn on_loopback(uri: &str) -> Option<(&str, &str)> {
    if !is_redirect_uri(uri) {
        return None;
    }
    let rest = uri.strip_prefix("http://")?;
    let (authority, behind) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    // The colons of an IPv6 address are inside its brackets.
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => host,
        _ => authority,
    };
    Some((host, behind))
}

/// What people are told of where they are sent: the host, or of a private-use scheme the scheme.
pub(super) fn host(uri: &str) -> String {
    let Ok(url) = Url::parse(uri) else { return String::new() };
    match (url.scheme(), url.host_str()) {
        ("http" | "https", Some(host)) => url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")),
        (scheme, _) => scheme.to_owned(),
    }
}

/// Whether an address leads to a program on the machine that the browser runs on.
pub(super) fn is_local(uri: &str) -> bool {
    Url::parse(uri).is_ok_and(|url| match (url.scheme(), url.host()) {
        ("http", Some(Host::Domain(_) | Host::Ipv4(_) | Host::Ipv6(_))) => true,
        (scheme, _) => scheme.contains('.'),
    })
}

/// An address as a content security policy names its source (CSP 3, section 2.3.1): browsers hold where a form leads against it. No
/// policy can name an IPv6 address, so that for one every host is let through, at its port.
pub(super) fn source(uri: &str) -> String {
    let Ok(url) = Url::parse(uri) else { return String::new() };
    match (url.scheme(), url.host()) {
        (scheme @ ("http" | "https"), Some(Host::Ipv6(_))) => {
            format!("{scheme}://*{}", url.port().map(|port| format!(":{port}")).unwrap_or_default())
        }
        ("http" | "https", _) => url.origin().ascii_serialization(),
        (scheme, _) => format!("{scheme}:"),
    }
}

/// The source of whatever a request calls its redirect address, whether or not a client has named it.
pub(super) fn claimed_source(uri: &str) -> Option<String> {
    is_redirect_uri(uri).then(|| source(uri))
}

/// An address with parameters added to its query, which it keeps as it is (RFC 6749, section 3.1.2).
pub(super) fn with(uri: &str, parameters: &[(&str, &str)]) -> String {
    let query = Serializer::new(String::new()).extend_pairs(parameters).finish();
    let between = match uri.split_once('?') {
        None => "?",
        Some((_, "")) => "",
        Some((_, own)) if own.ends_with('&') => "",
        Some(_) => "&",
    };
    format!("{uri}{between}{query}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn is_named(named: &str, asked: &str) -> bool {
        chosen(&[named.to_owned()], Some(asked)).is_ok()
    }

    #[test]
    fn the_own_machine_has_any_port() {
        for (named, asked) in [
            ("http://127.0.0.1/cb", "http://127.0.0.1:49152/cb"),
            ("http://127.0.0.1:80/cb", "http://127.0.0.1:49152/cb"),
            ("http://[::1]/cb", "http://[::1]:3000/cb"),
            ("http://localhost:3000/cb?x=1", "http://localhost/cb?x=1"),
            ("http://localhost", "http://localhost:3000"),
        ] {
            assert!(is_named(named, asked), "{named} {asked}");
        }
    }

    #[test]
    fn what_is_almost_the_same_is_another() {
        for (named, asked) in [
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
            ("https://app.example/cb", "https://app.example@evil.example/cb"),
            ("https://app.example/cb", "https://evil.example@app.example/cb"),
            ("https://app.example/cb", "https://@app.example/cb"),
            ("https://app.example/cb", "https://app.example.evil.example/cb"),
            ("https://app.example/cb", "https://app.example\\.evil.example/cb"),
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
            assert!(!is_named(named, asked), "{named} {asked}");
        }
    }

    #[test]
    fn an_address_that_may_be_none_is_none_even_if_it_was_named() {
        for uri in ["http://app.example/cb", "javascript:alert(1)", "data:text/html,x", "app:/cb", "file:///etc/passwd", "//x.example", ""]
        {
            assert_eq!(chosen(&[uri.to_owned()], Some(uri)), Err(Wrong::Foreign), "{uri}");
            assert_eq!(chosen(&[uri.to_owned()], None), Err(Wrong::Missing), "{uri}");
        }
    }

    #[test]
    fn the_only_one_need_not_be_said() {
        let two = ["https://a.example/".to_owned(), "https://b.example/".to_owned()];
        assert_eq!(chosen(&two[..1], None).as_deref(), Ok("https://a.example/"));
        assert_eq!(chosen(&two, None), Err(Wrong::Missing));
        assert_eq!(chosen(&[], None), Err(Wrong::Missing));
    }

    #[test]
    fn people_and_browsers_are_told_where_it_leads() {
        for (uri, told, policy, is_on_machine) in [
            ("https://app.example/cb", "app.example", "https://app.example", false),
            ("https://app.example:8443/cb?x=1", "app.example:8443", "https://app.example:8443", false),
            ("http://127.0.0.1:49152/cb", "127.0.0.1:49152", "http://127.0.0.1:49152", true),
            ("http://[::1]:3000/", "[::1]:3000", "http://*:3000", true),
            ("https://[2001:db8::1]/cb", "[2001:db8::1]", "https://*", false),
            ("com.example.app:/cb", "com.example.app", "com.example.app:", true),
            ("com.example.app://x/cb", "com.example.app", "com.example.app:", true),
        ] {
            assert!(is_redirect_uri(uri), "{uri}");
            assert_eq!((host(uri).as_str(), source(uri).as_str(), is_local(uri)), (told, policy, is_on_machine), "{uri}");
        }
    }

    #[test]
    fn a_query_is_kept() {
        let added = [("code", "a b"), ("iss", "https://x.example")];
        let tail = "code=a+b&iss=https%3A%2F%2Fx.example";
        for (uri, begins) in
            [("https://a/cb", "https://a/cb?"), ("https://a/cb?", "https://a/cb?"), ("https://a/cb?x=%20y", "https://a/cb?x=%20y&")]
        {
            assert_eq!(with(uri, &added), format!("{begins}{tail}"));
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
        /// Whoever is sent somewhere is sent to the host that was named, by the scheme that was named.
        #[test]
        fn nobody_is_sent_to_another_host(named in tricky(), asked in tricky()) {
            if let Ok(chosen) = chosen(std::slice::from_ref(&named), Some(&asked)) {
                let (named, there) = (Url::parse(&named).unwrap(), Url::parse(&with(&chosen, &[("code", "x")])).unwrap());
                prop_assert_eq!(there.host_str(), named.host_str());
                prop_assert_eq!(there.scheme(), named.scheme());
                prop_assert_eq!(there.path(), named.path());
                prop_assert_eq!((there.username(), there.password(), there.fragment()), ("", None, None));
            }
        }

        /// What may be an address can stand in a header and in a policy, whatever it is.
        #[test]
        fn what_may_be_an_address_fits_a_header(text in prop_oneof![tricky(), any::<String>()]) {
            if is_redirect_uri(&text) {
                prop_assert!(http::HeaderValue::from_str(&with(&text, &[("state", "\r\nx")])).is_ok());
                let policy = source(&text);
                prop_assert!(!policy.is_empty() && !policy.contains([';', ',', ' ', '\'', '\n']), "{}", policy);
                prop_assert!(!host(&text).is_empty());
            }
        }
    }
}
