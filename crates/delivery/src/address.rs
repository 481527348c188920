//! Decides from the text of a URL where the URL leads, and which addresses and names are private
//! (rules: webhooks#targets). This file makes no network request. The target guard resolves names.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

/// The error for a text that is not a URL, or whose scheme is not https. Like the other errors
/// below, it continues a sentence that begins with "targetUrl".
pub(super) const NOT_HTTPS: &str = "must be an absolute https URL";
/// The error for a URL with a name or password before its host.
pub(super) const HAS_USERINFO: &str = "must not embed a username or password";
/// The error for a URL whose target is private.
pub(super) const IS_PRIVATE: &str = "must not point at a private or loopback host";

/// Zones whose names are all private. Some zones are reserved for private use. The others are
/// common inside networks (RFC 6762, appendix G), and no public name ends in them. The internal
/// names of clouds end in one of these zones or have one label: `metadata.google.internal`,
/// `instance-data.ec2.internal`, `host.docker.internal`, `metadata`, `instance-data`.
const PRIVATE_ZONES: [&str; 10] = [
    "localhost",
    "localhost.localdomain",
    "local",
    "internal",
    "home.arpa",
    "intranet",
    "private",
    "corp",
    "home",
    "lan",
];

/// IPv4 ranges that are not global unicast or that a cloud uses internally. Each range is given by
/// its first address and its prefix length.
const RESERVED: [([u8; 4], u32); 18] = [
    ([0, 0, 0, 0], 8),        // this network
    ([10, 0, 0, 0], 8),       // private use
    ([100, 64, 0, 0], 10),    // carrier-grade NAT, Alibaba Cloud's metadata among them
    ([127, 0, 0, 0], 8),      // loopback
    ([161, 26, 0, 0], 16),    // IBM Cloud's own services, seen from within only
    ([166, 8, 0, 0], 14),     // the same
    ([168, 63, 129, 16], 32), // Azure's wire server, seen from within only
    ([169, 254, 0, 0], 16),   // link-local, the clouds' metadata among them
    ([172, 16, 0, 0], 12),    // private use
    ([192, 0, 0, 0], 24),     // IETF protocol assignments, Oracle Cloud's metadata among them
    ([192, 0, 2, 0], 24),     // documentation
    ([192, 88, 99, 0], 24),   // 6to4 relay anycast, withdrawn
    ([192, 168, 0, 0], 16),   // private use
    ([198, 18, 0, 0], 15),    // benchmarking
    ([198, 51, 100, 0], 24),  // documentation
    ([203, 0, 113, 0], 24),   // documentation
    ([224, 0, 0, 0], 4),      // multicast
    ([240, 0, 0, 0], 4),      // reserved, and broadcast
];

/// The host of a URL: an IP address or a name. It is parsed from the URL's text alone, without a
/// look-up of names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Destination {
    /// An IP address. URLs may write the same address in different ways, such as `127.1` and
    /// `127.0.0.1`.
    Address(IpAddr),
    /// A host name. Only a resolver can tell whether its addresses are private.
    Name(String),
    /// A host name that is private by its form, such as `localhost`, whatever its addresses are.
    PrivateName(String),
}

/// Parses the target URL of a subscription. Returns an error if the URL is not an absolute https
/// URL, or has a username or password.
pub(super) fn parse_target(text: &str) -> Result<Url, &'static str> {
    // The URL is stored exactly as the API client sent it, and every parser must read it in the
    // same way. This check therefore refuses characters that `Url` would silently drop or convert.
    if text.contains(|c: char| c.is_whitespace() || c.is_control() || c == '\\') {
        return Err(NOT_HTTPS);
    }
    let (scheme, rest) = text.split_once("://").ok_or(NOT_HTTPS)?;
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if !scheme.eq_ignore_ascii_case("https") || authority.is_empty() {
        return Err(NOT_HTTPS);
    }
    // `Url` drops an empty userinfo, as in `https://@host/`, so this check reads the text instead.
    if authority.contains('@') {
        return Err(HAS_USERINFO);
    }
    Url::parse(text).map_err(|_| NOT_HTTPS)
}

/// Returns the destination of a URL, or an error text if the URL has none. Makes no network
/// request.
pub(super) fn destination(url: &Url) -> Result<Destination, &'static str> {
    match url.host() {
        Some(Host::Ipv4(ip)) => Ok(Destination::Address(ip.into())),
        Some(Host::Ipv6(ip)) => Ok(Destination::Address(ip.into())),
        // The root name `.` is not a host name. Nor is a name with an empty label, such as `a..b`.
        Some(Host::Domain(name))
            if name
                .strip_suffix('.')
                .unwrap_or(name)
                .split('.')
                .any(str::is_empty) =>
        {
            Err(NOT_HTTPS)
        }
        Some(Host::Domain(name)) if is_private_name(name) => {
            Ok(Destination::PrivateName(name.into()))
        }
        Some(Host::Domain(name)) => Ok(Destination::Name(name.into())),
        None => Err(NOT_HTTPS),
    }
}

/// Returns the host of a URL, which is an IP address or a host name. Different spellings of one IP
/// address or of one host name give the same text.
pub(super) fn host_of(url: &Url) -> Option<String> {
    Some(match url.host()? {
        Host::Ipv4(ip) => ip.to_string(),
        Host::Ipv6(ip) => embedded_ipv4(ip.into()).to_string(),
        Host::Domain(name) => name.trim_end_matches('.').to_owned(),
    })
}

/// Returns whether a name is private by its form. A name of one label is private, because a
/// resolver appends the search domain of the network that this service runs in.
pub(super) fn is_private_name(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    if !name.contains('.') {
        return true;
    }
    let is_below = |zone: &&str| {
        name.strip_suffix(*zone)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    PRIVATE_ZONES.iter().any(is_below)
}

/// Returns whether an address is global unicast. For an IPv6 address that embeds an IPv4 address,
/// the IPv4 address decides.
#[must_use]
pub(super) fn is_public(ip: IpAddr) -> bool {
    match embedded_ipv4(ip) {
        IpAddr::V4(ip) => is_public_v4(ip),
        IpAddr::V6(ip) => is_public_v6(ip),
    }
}

fn is_public_v4(ip: Ipv4Addr) -> bool {
    let bits = u32::from(ip);
    !RESERVED
        .iter()
        .any(|(first, length)| (bits ^ u32::from_be_bytes(*first)) >> (32 - length) == 0)
}

fn is_public_v6(ip: Ipv6Addr) -> bool {
    match ip.segments() {
        // 2001::/23, protocol assignments: Teredo, ORCHID, benchmarking and others; 2001:db8::/32,
        // documentation.
        [0x2001, second, ..] if second < 0x0200 || second == 0x0db8 => false,
        // The range 3fff::/20 is reserved for documentation, so its addresses are not public.
        [0x3fff, second, ..] if second < 0x1000 => false,
        // Only 2000::/3 is assigned for global unicast. An address outside this range is not
        // public.
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

/// Returns the IPv4 address that an IPv6 address embeds. Returns the address itself if it embeds
/// none.
pub(super) fn embedded_ipv4(ip: IpAddr) -> IpAddr {
    let IpAddr::V6(wrapper) = ip else { return ip };
    match wrapper.segments() {
        // An IPv4-mapped address: the prefix `::ffff:0:0/96`, then the IPv4 address.
        [0, 0, 0, 0, 0, 0xffff, high, low]
        // A NAT64 address, with the well-known prefix or with the local prefix. Under the local
        // prefix a network may embed the IPv4 address at another position, which only that network
        // knows. Such an address is returned unchanged and is therefore not public.
        | [0x0064, 0xff9b, 0 | 1, 0, 0, 0, high, low]
        // A 6to4 address: the prefix `2002::/16`, then the IPv4 address.
        | [0x2002, high, low, ..] => IpAddr::V4(Ipv4Addr::from(
            u32::from(high) << 16 | u32::from(low),
        )),
        _ => ip,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn verdict(url: &str) -> &'static str {
        match parse_target(url).and_then(|url| destination(&url)) {
            Err(_) => "refused",
            Ok(Destination::Address(ip)) if is_public(ip) => "public address",
            Ok(Destination::Address(_)) => "private address",
            Ok(Destination::Name(_)) => "name",
            Ok(Destination::PrivateName(_)) => "private name",
        }
    }

    #[test]
    fn urls_that_are_not_plain_https_are_refused() {
        for url in [
            "",
            "http://example.com/x",
            "ftp://example.com/",
            "wss://example.com/",
            "javascript:alert(1)",
            "//example.com/",
            "https:example.com",
            "https:/example.com/",
            "https://",
            "https:///example.com/",
            "https://?x",
            "https://#x",
            " https://example.com/",
            "https://example.com/ x",
            "https://exa\tmple.com/",
            "https://example.com/\u{a0}",
            "https://example.com\\@10.0.0.1/",
            "https://example.com:99999/",
            "https://u:p@example.com/",
            "https://u@example.com/",
            "https://@example.com/",
            "https://:@example.com/",
            "https://example.com@10.0.0.1/",
            "https://exa%40mple.com/",
            "https://exa%2fmple.com/",
            "https://1.2.3.4.5/",
            "https://0x7f.1.2.3.4/",
            "https://256.1.1.1/",
            "https://4294967296/",
            "https://[::1/",
            "https://[fe80::1%25eth0]/",
            "https://./",
            "https://../",
            "https://a..example/",
            "https://localhost../",
        ] {
            assert_eq!(verdict(url), "refused", "{url}");
        }
    }

    #[test]
    fn private_addresses_are_detected_in_every_notation() {
        for url in [
            "https://127.0.0.1/",
            "https://127.0.0.1:8443/x?y#z",
            "HTTPS://127.0.0.1./",
            "https://127.1/",
            "https://0x7f.1/",
            "https://0x7f000001/",
            "https://0177.0.0.1/",
            "https://017700000001/",
            "https://2130706433/",
            "https://%31%32%37.0.0.1/",
            "https://１２７.０.０.１/",
            "https://127。0。0。1/",
            "https://0/",
            "https://0x/",
            "https://10.0.0.8/",
            "https://100.64.0.1/",
            "https://169.254.169.254/latest/meta-data/",
            "https://172.31.255.255/",
            "https://192.0.2.7/",
            "https://192.168.1.1:8443/",
            "https://198.18.0.1/",
            "https://224.0.0.1/",
            "https://255.255.255.255/",
            "https://[::]/",
            "https://[::1]/",
            "https://[0:0:0:0:0:0:0:1]/",
            "https://[::127.0.0.1]/",
            "https://[::ffff:127.0.0.1]/",
            "https://[::ffff:7f00:1]/",
            "https://[64:ff9b::10.0.0.1]/",
            "https://[64:ff9b:1::10.0.0.1]/",
            "https://[64:ff9b:1:a00:0:100:808:808]/",
            "https://[2002:7f00:1::]/",
            "https://[fc00::1]/",
            "https://[fd12:3456::1]/",
            "https://[fe80::1]/",
            "https://[fec0::1]/",
            "https://[ff02::1]/",
            "https://[100::1]/",
            "https://[2001::1]/",
            "https://[2001:db8::1]/",
            "https://[3fff::1]/",
            "https://[5f00::1]/",
        ] {
            assert_eq!(verdict(url), "private address", "{url}");
        }
    }

    #[test]
    fn private_names_are_detected_in_every_spelling() {
        for url in [
            "https://localhost/",
            "https://LOCALHOST./",
            "https://a.b.localhost/",
            "https://localhost.localdomain/",
            "https://printer.local/",
            "https://metadata.google.internal/computeMetadata/v1/",
            "https://nas.home.arpa./",
            "https://local%68ost/",
            "https://ⓛocalhost/",
            "https://metadata/",
            "https://instance-data./latest/",
            "https://intranet/",
            "https://ai./",
            "https://xn--bcher-kva/",
            "https://db.corp/",
            "https://NAS.Lan./",
            "https://wiki.intranet/",
            "https://a.b.home/",
            "https://c.private/",
        ] {
            assert_eq!(verdict(url), "private name", "{url}");
        }
    }

    #[test]
    fn public_names_and_addresses_are_accepted() {
        for (url, expected) in [
            ("https://example.com/", "name"),
            ("HTTPS://Example.com:8443/a?b=c@d#e@f", "name"),
            ("https://a.example/@b", "name"),
            ("https://bücher.example/", "name"),
            ("https://intranet.example/", "name"),
            ("https://notlocal.example/", "name"),
            ("https://mylan.example/", "name"),
            ("https://localhost.example.com/", "name"),
            ("https://internal.example.com/", "name"),
            ("https://10.0.0.1.nip.example/", "name"),
            ("https://8.8.8.8/", "public address"),
            ("https://0x08080808/", "public address"),
            ("https://[2606:4700::1111]/", "public address"),
            ("https://[::ffff:8.8.8.8]/", "public address"),
            ("https://[64:ff9b::8.8.8.8]/", "public address"),
            ("https://[2002:808:808::]/", "public address"),
        ] {
            assert_eq!(verdict(url), expected, "{url}");
        }
    }

    #[test]
    fn addresses_at_the_ends_of_private_ranges_are_classified() {
        for (ip, expected) in [
            ("0.255.255.255", false),
            ("1.0.0.0", true),
            ("9.255.255.255", true),
            ("10.0.0.0", false),
            ("10.255.255.255", false),
            ("11.0.0.0", true),
            ("100.63.255.255", true),
            ("100.64.0.0", false),
            ("100.127.255.255", false),
            ("100.128.0.0", true),
            ("126.255.255.255", true),
            ("127.0.0.0", false),
            ("128.0.0.0", true),
            ("161.25.255.255", true),
            ("161.26.0.10", false),
            ("161.27.0.0", true),
            ("166.7.255.255", true),
            ("166.8.0.0", false),
            ("166.11.255.255", false),
            ("166.12.0.0", true),
            ("168.63.129.15", true),
            ("168.63.129.16", false),
            ("::ffff:168.63.129.16", false),
            ("168.63.129.17", true),
            ("169.253.255.255", true),
            ("169.254.0.0", false),
            ("169.254.169.254", false),
            ("fd00:ec2::254", false),
            ("100.100.100.200", false),
            ("192.0.0.192", false),
            ("169.255.0.0", true),
            ("172.15.255.255", true),
            ("172.16.0.0", false),
            ("172.32.0.0", true),
            ("192.0.0.255", false),
            ("192.0.1.0", true),
            ("192.0.2.0", false),
            ("192.0.3.0", true),
            ("192.88.98.255", true),
            ("192.88.99.1", false),
            ("192.88.100.0", true),
            ("192.167.255.255", true),
            ("192.168.0.0", false),
            ("192.169.0.0", true),
            ("198.17.255.255", true),
            ("198.18.0.0", false),
            ("198.19.255.255", false),
            ("198.20.0.0", true),
            ("198.51.100.9", false),
            ("198.51.101.0", true),
            ("203.0.113.255", false),
            ("203.0.114.0", true),
            ("223.255.255.255", true),
            ("224.0.0.0", false),
            ("240.0.0.0", false),
            ("255.255.255.255", false),
            ("::", false),
            ("::1", false),
            ("1fff:ffff::1", false),
            ("2000::", true),
            ("2001::", false),
            ("2001:1ff:ffff::1", false),
            ("2001:200::", true),
            ("2001:db7:ffff::1", true),
            ("2001:db8:ffff::1", false),
            ("2001:db9::", true),
            ("2002:a00:1::", false),
            ("2003::", true),
            ("3ffe::", true),
            ("3fff:fff:ffff::1", false),
            ("3fff:1000::", true),
            ("4000::", false),
            ("64:ff9b:1::8.8.8.8", true),
            ("64:ff9b:1:808:8:800::", false),
            ("64:ff9b:2::8.8.8.8", false),
            ("::ffff:0:8.8.8.8", false),
        ] {
            assert_eq!(is_public(ip.parse().unwrap()), expected, "{ip}");
        }
    }

    #[test]
    fn every_spelling_of_a_host_gives_the_same_host() {
        let host = |url: &str| host_of(&Url::parse(url).unwrap());
        for (one, other) in [
            ("https://Hooks.Example/", "https://hooks.example.:8443/x"),
            ("https://8.8.8.8/", "https://[::ffff:8.8.8.8]/"),
            ("https://8.8.8.8/", "https://[64:ff9b::808:808]/"),
            ("https://0x8.8.8.010/", "https://[2002:808:808::1]/"),
            (
                "https://[2606:4700::1111]/",
                "https://[2606:4700:0:0:0:0:0:1111]/",
            ),
        ] {
            assert_eq!(host(one), host(other), "{one} {other}");
        }
        assert_ne!(host("https://a.example/"), host("https://b.example/"));
    }

    proptest! {
        #[test]
        fn a_single_label_name_is_private(
            label in "[a-z]([a-z0-9-]{0,20}[a-z0-9])?",
            is_rooted: bool,
        ) {
            let dot = if is_rooted { "." } else { "" };
            let (alone, below) = (format!("{label}{dot}"), format!("{label}.example{dot}"));
            prop_assert!(is_private_name(&alone));
            prop_assert!(!is_private_name(&below));
        }

        #[test]
        fn an_embedded_ipv4_address_decides_whether_ipv6_is_public(bits: u32) {
            let ip = Ipv4Addr::from(bits);
            let [a, b, c, d] = ip.octets();
            let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
            for wrapper in [
                ip.to_ipv6_mapped(),
                Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
                Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
            ] {
                prop_assert_eq!(
                    is_public(wrapper.into()),
                    is_public(ip.into()),
                    "{}",
                    wrapper
                );
            }
        }
    }
}
