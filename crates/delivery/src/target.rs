//! The target guard: a delivery must never lead into a private network (rules: webhooks#targets).
//!
//! The guard works at two times. When a subscription is created, [`Targets::check`] checks the URL:
//! its text, and then the addresses that its name resolves to. At delivery the HTTP client resolves
//! names through [`Targets`]. So it connects only to addresses that were just checked, even if the
//! name resolved to other addresses before. If the URL contains an address instead of a name, no
//! name is resolved, and [`Targets::address`] checks the address.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use ipnet::IpNet;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::Url;
use uuid::Uuid;

use super::address::{
    Destination, IS_PRIVATE, destination, embedded_ipv4, is_private_name, is_public, parse_target,
};
use super::names::{Names, organization};

/// The permitted webhook targets: all public addresses, and the private ranges that the
/// configuration allows.
#[derive(Debug, Clone, Default)]
pub struct Targets {
    allowed: Arc<[IpNet]>,
    names: Names,
}

/// The reason why the target guard refuses the host name of a webhook target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The host name resolves to an IP address that is not permitted.
    Private,
    /// The host name does not resolve to any IP address.
    Unresolved,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Private => "the name resolves to a private address",
            Self::Unresolved => "the name cannot be resolved",
        })
    }
}

impl std::error::Error for Refusal {}

impl Targets {
    /// Creates a guard that permits webhook targets with public IP addresses, and with private ones
    /// in the ranges `allowed`.
    #[must_use]
    pub fn new(allowed: Vec<IpNet>) -> Self {
        Self {
            allowed: allowed.into(),
            names: Names::System,
        }
    }

    /// Sets the resolver that returns the IP addresses of the host names in webhook URLs.
    #[must_use]
    pub fn with_names(self, names: Names) -> Self {
        Self { names, ..self }
    }

    /// Checks whether a URL may be the target of a subscription. The error message continues a
    /// sentence that begins with `targetUrl`.
    ///
    /// Accepts a public host name that cannot be resolved now, because each delivery checks the
    /// name again.
    pub async fn check(&self, url: &str) -> Result<(), String> {
        match destination(&parse_target(url)?)? {
            Destination::Address(ip) if self.allows(ip) => Ok(()),
            Destination::Address(_) => Err(IS_PRIVATE.into()),
            Destination::Name(name) => match self.lookup(&name, Uuid::nil()).await {
                Err(Refusal::Private) => Err(IS_PRIVATE.into()),
                Ok(_) | Err(Refusal::Unresolved) => Ok(()),
            },
            Destination::PrivateName(name) => self
                .lookup(&name, Uuid::nil())
                .await
                .map(drop)
                .map_err(|_| IS_PRIVATE.into()),
        }
    }

    /// Returns whether an address is permitted.
    #[must_use]
    pub fn allows(&self, ip: IpAddr) -> bool {
        is_public(ip) || self.is_in_allowed_range(ip)
    }

    /// Parses a stored URL. Returns `None` if the URL's text alone shows that the target is not
    /// permitted, for example because its host is a private address. Makes no lookup.
    #[must_use]
    pub fn address(&self, url: &str) -> Option<Url> {
        let url = parse_target(url).ok()?;
        let is_allowed = match destination(&url).ok()? {
            Destination::Address(ip) => self.allows(ip),
            Destination::PrivateName(_) => !self.allowed.is_empty(),
            Destination::Name(_) => true,
        };
        is_allowed.then_some(url)
    }

    /// Returns whether an IP address, or the IPv4 address that it embeds, is in a private range
    /// that the configuration allows.
    fn is_in_allowed_range(&self, ip: IpAddr) -> bool {
        let wrapped = embedded_ipv4(ip);
        self.allowed
            .iter()
            .any(|range| range.contains(&ip) || range.contains(&wrapped))
    }

    /// Resolves a host name to its addresses, all of which must be permitted. A single private
    /// address among public ones leads to a refusal. Otherwise the owner of the name could
    /// influence which of the addresses the HTTP client connects to.
    pub(super) async fn lookup(
        &self,
        name: &str,
        organization: Uuid,
    ) -> Result<Vec<SocketAddr>, Refusal> {
        let is_private = is_private_name(name);
        if is_private && self.allowed.is_empty() {
            return Err(Refusal::Private);
        }
        let addresses = self.names.addresses(name, organization).await;
        if addresses.is_empty() {
            return Err(Refusal::Unresolved);
        }
        // A name that is private by its form, such as `printer.local`, remains private even if it
        // resolves to a public address.
        let is_allowed = |ip| {
            if is_private {
                self.is_in_allowed_range(ip)
            } else {
                self.allows(ip)
            }
        };
        if addresses.iter().all(|address| is_allowed(address.ip())) {
            Ok(addresses)
        } else {
            Err(Refusal::Private)
        }
    }
}

impl Resolve for Targets {
    fn resolve(&self, name: Name) -> Resolving {
        let targets = self.clone();
        // The organization is read before the future is created. The HTTP client may run the future
        // in another task, where no organization is set.
        let organization = organization();
        Box::pin(async move {
            let addresses = targets.lookup(name.as_str(), organization).await?;
            let addresses: Addrs = Box::new(addresses.into_iter());
            Ok(addresses)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use futures_util::FutureExt as _;
    use proptest::prelude::*;

    use super::*;
    use crate::address::{HAS_USERINFO, NOT_HTTPS};

    #[test]
    fn an_opened_range_allows_only_its_own_addresses() {
        let targets = Targets::new(vec![
            "127.0.0.0/8".parse().unwrap(),
            "fd00::/16".parse().unwrap(),
        ]);
        for (ip, expected) in [
            ("127.0.0.1", true),
            ("::ffff:127.0.0.1", true),
            ("fd00::1", true),
            ("8.8.8.8", true),
            ("::1", false),
            ("fd01::1", false),
            ("10.0.0.1", false),
        ] {
            assert_eq!(targets.allows(ip.parse().unwrap()), expected, "{ip}");
        }
        assert!(targets.address("https://127.0.0.1:1/").is_some());
        assert!(targets.address("https://10.0.0.1/").is_none());
        assert!(targets.address("http://example.com/").is_none());
        assert!(
            targets.address("https://localhost/").is_some()
                && Targets::default().address("https://localhost/").is_none()
        );
    }

    #[tokio::test]
    async fn urls_with_an_address_or_a_fault_are_checked_without_dns() {
        let opened = Targets::new(vec!["127.0.0.0/8".parse().unwrap()]);
        assert_eq!(opened.check("https://127.0.0.1:1/").await, Ok(()));
        assert_eq!(
            opened.check("https://10.0.0.1/").await,
            Err(IS_PRIVATE.into())
        );
        let closed = Targets::default();
        assert_eq!(closed.check("https://8.8.8.8/").await, Ok(()));
        for url in [
            "https://127.0.0.1:1/",
            "https://localhost/",
            "https://a.internal/",
        ] {
            assert_eq!(closed.check(url).await, Err(IS_PRIVATE.into()), "{url}");
        }
        assert_eq!(
            closed.check("http://example.com/").await,
            Err(NOT_HTTPS.into())
        );
        assert_eq!(
            closed.check("https://@example.com/").await,
            Err(HAS_USERINFO.into())
        );
    }

    /// Returns whether a guard that allows the range `opened` permits a name that resolves to these
    /// addresses.
    fn is_allowed(opened: &str, name: &str, addresses: &[IpAddr]) -> bool {
        let names = Names::table();
        names.set(name, addresses);
        let targets = Targets::new(vec![opened.parse().unwrap()]).with_names(names);
        targets
            .lookup(name, Uuid::nil())
            .now_or_never()
            .expect("a table answers at once")
            .is_ok()
    }

    #[test]
    fn a_private_name_must_resolve_within_the_opened_range() {
        for (name, addresses, expected) in [
            ("localhost", vec!["127.0.0.1"], true),
            ("hooks.example", vec!["127.0.0.1"], true),
            ("receiver", vec!["127.0.0.1"], true),
            ("db.internal", vec!["10.0.0.5"], false),
            ("db.internal", vec!["127.0.0.1", "10.0.0.5"], false),
            ("db.internal", vec!["8.8.8.8"], false),
            ("receiver", vec!["8.8.8.8"], false),
            ("metadata.google.internal", vec!["169.254.169.254"], false),
            ("hooks.example", vec!["10.0.0.5"], false),
            ("hooks.example", vec!["8.8.8.8"], true),
            ("localhost", vec!["127.0.0.1", "::1"], false),
            ("localhost", vec![], false),
        ] {
            let ips: Vec<IpAddr> = addresses.iter().map(|ip| ip.parse().unwrap()).collect();
            assert_eq!(
                is_allowed("127.0.0.0/8", name, &ips),
                expected,
                "{name} {addresses:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn a_name_is_allowed_if_all_its_addresses_are_allowed(
            bits in proptest::collection::vec(
                prop_oneof![
                    any::<u32>(),
                    0x7f00_0000..0x7f00_0004_u32,
                    0x0a00_0000..0x0a00_0004_u32,
                ],
                1..4,
            ),
            length in 0_u8..=32,
            is_private: bool,
        ) {
            let opened = format!("127.0.0.0/{length}");
            let range: IpNet = opened.parse().unwrap();
            let ips: Vec<IpAddr> = bits
                .iter()
                .map(|bits| Ipv4Addr::from(*bits).into())
                .collect();
            let name = if is_private {
                "db.internal"
            } else {
                "hooks.example"
            };
            let expected = ips
                .iter()
                .all(|ip| range.contains(ip) || (!is_private && is_public(*ip)));
            prop_assert_eq!(
                is_allowed(&opened, name, &ips),
                expected,
                "{} {:?}",
                opened,
                ips
            );
        }

        #[test]
        fn parsing_a_target_never_panics(text: String) {
            let _ = Targets::default().address(&text);
            let _ = Targets::default().address(&format!("https://{text}"));
        }
    }
}
