//! Finds the address of a client, also behind proxies. The log and every limit by address use this
//! address. Nothing else in the program reads a forwarding header.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use http::header::FORWARDED;
use http::{HeaderMap, HeaderName};
use ipnet::IpNet;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The address ranges of proxies whose forwarding headers the server trusts.
#[derive(Debug, Clone, Default)]
pub struct TrustedProxies(Arc<[IpNet]>);

impl TrustedProxies {
    /// Trusts the proxies whose IP addresses are in `ranges`.
    #[must_use]
    pub fn new(ranges: &[IpNet]) -> Self {
        Self(ranges.into())
    }

    /// Returns whether an address is that of a trusted proxy.
    #[must_use]
    pub fn has(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|range| range.contains(&address))
    }

    /// Returns the address of the client behind a connection from `peer`.
    ///
    /// If the peer is not trusted, returns the peer. Otherwise returns the last forwarded address
    /// that is not itself a trusted proxy. An entry that is not an address ends the search, because
    /// the writer of the entries before it is unknown. The client is then the proxy that wrote the
    /// entry.
    ///
    /// `X-Forwarded-For` takes precedence over `Forwarded`, because almost every proxy sets it. A
    /// proxy that sets only `X-Forwarded-For` passes on a `Forwarded` header that the client may
    /// have forged.
    #[must_use]
    pub fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut client = peer.to_canonical();
        if !self.has(client) {
            return client;
        }
        let hops = if headers.contains_key(&X_FORWARDED_FOR) {
            x_forwarded_for(headers)
        } else {
            forwarded(headers)
        };
        for hop in hops.into_iter().rev() {
            let Some(address) = hop else { break };
            client = address;
            if !self.has(address) {
                break;
            }
        }
        client
    }
}

/// Returns the addresses of `X-Forwarded-For`, in order. An entry that is not an address is `None`.
fn x_forwarded_for(headers: &HeaderMap) -> Vec<Option<IpAddr>> {
    let lines = headers.get_all(&X_FORWARDED_FOR).iter();
    let lines = lines.map(|line| line.to_str().unwrap_or("-"));
    lines
        .flat_map(|line| line.split(','))
        .map(parse_address)
        .collect()
}

/// Returns the addresses in the `Forwarded` headers of a request (RFC 7239, section 4), in order.
/// An element without an address is `None`.
fn forwarded(headers: &HeaderMap) -> Vec<Option<IpAddr>> {
    let lines = headers.get_all(FORWARDED).iter();
    let lines = lines.map(|line| line.to_str().unwrap_or("-"));
    let elements = lines.flat_map(|line| split(line, ','));
    let address = |element: &str| {
        split(element, ';').into_iter().find_map(|pair| {
            let (name, value) = pair.split_once('=')?;
            let is_for = name.trim().eq_ignore_ascii_case("for");
            is_for.then(|| parse_address(value.trim().trim_matches('"')))?
        })
    };
    elements.map(address).collect()
}

/// Splits a text at a separator outside of quotes.
fn split(text: &str, separator: char) -> Vec<&str> {
    let mut is_quoted = false;
    text.split(|c| {
        is_quoted ^= c == '"';
        c == separator && !is_quoted
    })
    .collect()
}

/// Parses an address, with or without a port. IPv6 with a port is in brackets.
fn parse_address(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let without_brackets = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'));
    let address = without_brackets.unwrap_or(text).parse::<IpAddr>().ok();
    let address = address.or_else(|| Some(text.parse::<SocketAddr>().ok()?.ip()));
    address.map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    fn proxies() -> TrustedProxies {
        TrustedProxies::new(&["10.0.0.0/8".parse().unwrap(), "fd00::/8".parse().unwrap()])
    }

    fn client(peer: &str, lines: &[(&'static str, &str)]) -> String {
        let headers = lines.iter().map(|(name, line)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_str(line).unwrap(),
            )
        });
        let headers: HeaderMap = headers.collect();
        proxies()
            .client(peer.parse().unwrap(), &headers)
            .to_string()
    }

    #[test]
    fn the_last_address_that_is_no_proxy_is_the_client() {
        for (line, expected) in [
            ("203.0.113.7", "203.0.113.7"),
            ("198.51.100.1, 203.0.113.7", "203.0.113.7"),
            ("203.0.113.7, 10.1.1.1,10.2.2.2", "203.0.113.7"),
            ("203.0.113.7:4711", "203.0.113.7"),
            ("2001:db8::1", "2001:db8::1"),
            ("[2001:db8::1]:443", "2001:db8::1"),
            ("[2001:db8::1]", "2001:db8::1"),
            ("::ffff:203.0.113.7", "203.0.113.7"),
            // All addresses are proxies, so the first of them is the client.
            ("10.9.9.9, 10.1.1.1", "10.9.9.9"),
            // The service reads the entries from the last to the first. It stops at an entry that
            // is no IP address, and takes the proxy that wrote this entry as the client.
            ("203.0.113.7, unknown", "10.0.0.1"),
            ("203.0.113.7, unknown, 10.1.1.1", "10.1.1.1"),
            ("", "10.0.0.1"),
        ] {
            assert_eq!(
                client("10.0.0.1", &[("x-forwarded-for", line)]),
                expected,
                "{line}"
            );
        }
        for (line, expected) in [
            ("for=203.0.113.7", "203.0.113.7"),
            ("For=\"[2001:db8::1]:4711\";proto=https", "2001:db8::1"),
            (
                "for=198.51.100.1, proto=http;for=203.0.113.7;by=10.0.0.1",
                "203.0.113.7",
            ),
            ("for=203.0.113.7, for=\"10.1.1.1:80\"", "203.0.113.7"),
            ("for=203.0.113.7, for=_hidden", "10.0.0.1"),
            ("for=203.0.113.7;host=\"a,b;for=1.1.1.1\"", "203.0.113.7"),
            ("proto=https", "10.0.0.1"),
        ] {
            assert_eq!(
                client("10.0.0.1", &[("forwarded", line)]),
                expected,
                "{line}"
            );
        }
        let lines = [
            ("x-forwarded-for", "203.0.113.7"),
            ("x-forwarded-for", "10.1.1.1"),
        ];
        assert_eq!(client("10.0.0.1", &lines), "203.0.113.7");
        assert_eq!(client("::ffff:10.0.0.1", &lines), "203.0.113.7");
        assert_eq!(client("fd00::1", &lines), "203.0.113.7");
        assert_eq!(client("10.0.0.1", &[]), "10.0.0.1");
    }

    #[test]
    fn a_client_cannot_choose_its_address() {
        let forged = [
            ("x-forwarded-for", "198.51.100.1"),
            ("forwarded", "for=198.51.100.1"),
        ];
        assert_eq!(client("203.0.113.7", &forged), "203.0.113.7");
        // The proxy sets `X-Forwarded-For` and passes on the `Forwarded` that its client sent.
        let passed = [
            ("x-forwarded-for", "203.0.113.7"),
            ("forwarded", "for=198.51.100.1"),
        ];
        assert_eq!(client("10.0.0.1", &passed), "203.0.113.7");
    }

    proptest! {
        /// A proxy appends the address that it sees. So the entries that a client sends do not
        /// change the result.
        #[test]
        fn what_the_proxy_appends_counts(sent in "[ -~]{0,60}") {
            let line = format!("{sent}, 203.0.113.7");
            prop_assert_eq!(
                client("10.0.0.1", &[("x-forwarded-for", &line)]),
                "203.0.113.7"
            );
        }

        #[test]
        fn no_header_makes_it_panic(sent in "[ -~]{0,60}") {
            client("10.0.0.1", &[("forwarded", &sent)]);
        }
    }
}
