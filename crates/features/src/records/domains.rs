//! The domains of organizations: the hosts of their custom URLs. A host belongs to one
//! organization.
//!
//! The table `domain` has a row for each host. The transaction that writes custom URLs also updates
//! this table ([`update_domains`]).

use std::collections::{BTreeMap, HashMap};

use engine::context::{Context, System};
use engine::error::Result;
use engine::values;
use store::Transaction;
use url::{Host, Url};
use uuid::Uuid;

use super::RecordKind;
use super::kinds::CustomUrl;
use super::stored::{all_records, record_as};

/// Maximum number of hosts of an organization.
const MAX_HOSTS: usize = 1_000;
/// Maximum length of a host (RFC 1035, 2.3.4).
const MAX_HOST_LENGTH: usize = 253;
/// Maximum length of each label of a host (RFC 1035, 2.3.4).
const MAX_LABEL_LENGTH: usize = 63;
/// The host name of the local machine. No organization can claim it.
const LOCAL: &str = "localhost";

store::statements! {
    /// Selects a host if another organization than `?1` owns it.
    TAKEN = "select host from domain where host = ?2 and owner_id <> ?1";
    /// Selects the hosts that an organization owns.
    OWN = "select host, is_guest_portal from domain where owner_id = ?1 order by host";
    /// Claims a host, or updates a host that the organization owns. Changes no row if another
    /// organization owns the host.
    CLAIM = "insert into domain (owner_id, host, is_guest_portal) values (?1, ?2, ?3)
        on conflict (host) do update set is_guest_portal = excluded.is_guest_portal
        where domain.owner_id = excluded.owner_id";
    /// Deletes the given hosts of an organization, so that any organization can claim them.
    RELEASE = "delete from domain where owner_id = ?1 and host = any(?2)";
    /// Deletes all hosts of an organization, so that any organization can claim them.
    RELEASE_ALL = "delete from domain where owner_id = ?1";
    /// Selects the owner of a host, and whether guest portals are served on the host.
    OWNER = "select owner_id, is_guest_portal from domain where host = ?1";
}

/// The domain to which a request was sent, or for which a certificate is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Domain {
    /// The organization that owns the host.
    pub owner: Uuid,
    /// Whether the service serves guest portals on the host.
    pub is_guest_portal: bool,
}

/// The reason why an organization cannot claim a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HostError {
    /// The text is not a valid host name.
    Invalid,
    /// The host is the host of the service's public URL.
    OwnHost,
    /// Another organization owns the host.
    Taken,
    /// The organization has the maximum number of hosts.
    TooMany,
}

impl HostError {
    /// Returns the message that tells the client why the host is refused.
    pub(crate) fn message(&self) -> String {
        match self {
            Self::Invalid => "must be a host name such as stay.example.com, in letters, digits, \
                hyphens and dots, without a port or a path"
                .into(),
            Self::OwnHost => "is the host of the service itself".into(),
            Self::Taken => "belongs to another organization".into(),
            Self::TooMany => format!("is one more host than the {MAX_HOSTS} of an organization"),
        }
    }
}

/// Normalizes a host name for comparison: lower case, ASCII form, no trailing dot. Returns `None`
/// for a text that is not a host name.
pub(crate) fn host_name(text: &str) -> Option<String> {
    let text = text.strip_suffix('.').unwrap_or(text);
    if text.contains('%') {
        // Refuses percent-encoded characters, which `Host::parse` would decode.
        return None;
    }
    let Ok(Host::Domain(host)) = Host::parse(text) else {
        return None;
    };
    let is_label = |label: &str| {
        (1..=MAX_LABEL_LENGTH).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    // `localhost` must always serve the whole service, so no organization can claim it.
    let is_host = host.len() <= MAX_HOST_LENGTH && host != LOCAL && host.split('.').all(is_label);
    is_host.then_some(host)
}

/// Normalizes the host of a custom URL. Returns the host, or the reason why the organization cannot
/// claim it.
pub(crate) fn check_host(
    context: &mut Context<'_, '_>,
    text: &str,
) -> Result<Result<String, HostError>> {
    let Some(host) = host_name(text) else {
        return Ok(Err(HostError::Invalid));
    };
    if own_host(context).as_deref() == Some(host.as_str()) {
        return Ok(Err(HostError::OwnHost));
    }
    let is_taken = context.exists(&TAKEN, values![&host])?;
    Ok(if is_taken {
        Err(HostError::Taken)
    } else {
        Ok(host)
    })
}

fn own_host(context: &Context<'_, '_>) -> Option<String> {
    let url = Url::parse(context.public_url()).ok()?;
    url.host_str().map(str::to_ascii_lowercase)
}

/// Claims the hosts of all custom URLs, and releases hosts that have no custom URL. Returns the
/// first host that cannot be claimed, with the error: another organization owns the host, or the
/// organization has too many hosts.
pub(crate) fn update_domains(
    context: &mut Context<'_, '_>,
) -> Result<Result<(), (String, HostError)>> {
    let mut host_flags = BTreeMap::<String, bool>::new();
    for (_, url) in all_records::<CustomUrl>(context, RecordKind::CustomUrl)? {
        if let Some(host) = url.host.as_deref().and_then(host_name) {
            *host_flags.entry(host).or_default() |= url.is_guest_portal == Some(true);
        }
    }
    if let Some((host, _)) = host_flags.iter().nth(MAX_HOSTS) {
        return Ok(Err((host.clone(), HostError::TooMany)));
    }
    let mut released = Vec::new();
    for row in context.rows(&OWN, [])? {
        let (host, is_guest_portal): (String, bool) = (row.get(0)?, row.get(1)?);
        match host_flags.get(&host).copied() {
            None => released.push(host),
            Some(flag) if flag == is_guest_portal => drop(host_flags.remove(&host)),
            Some(_) => {}
        }
    }
    if !released.is_empty() {
        context.execute_deferred(&RELEASE, values![released])?;
    }
    for (host, is_guest_portal) in host_flags {
        if context.execute(&CLAIM, values![&host, is_guest_portal])? == 0 {
            return Ok(Err((host, HostError::Taken)));
        }
    }
    Ok(Ok(()))
}

/// Counts the hosts of an organization's custom URLs while a batch of records is applied in memory.
/// A custom URL whose text is not a host name has no host.
#[derive(Debug, Default)]
pub(crate) struct HostTally {
    /// The host of each custom URL, by the custom URL's id.
    host_of: HashMap<Uuid, String>,
    /// The number of custom URLs with each host.
    uses: HashMap<String, usize>,
}

impl HostTally {
    /// Reads the stored custom URLs and counts their hosts.
    pub(crate) fn load(context: &mut Context<'_, '_>) -> Result<Self> {
        let mut tally = Self::default();
        for (id, url) in all_records::<CustomUrl>(context, RecordKind::CustomUrl)? {
            tally.set_host(id, url.host.as_deref());
        }
        Ok(tally)
    }

    /// Sets the host of a custom URL; `None` removes it. Returns whether the host is new to the
    /// organization.
    pub(crate) fn set_host(&mut self, id: Uuid, host: Option<&str>) -> bool {
        if let Some(former) = self.host_of.remove(&id)
            && let Some(uses) = self.uses.get_mut(&former)
        {
            *uses -= 1;
            if *uses == 0 {
                self.uses.remove(&former);
            }
        }
        let Some(host) = host.and_then(host_name) else {
            return false;
        };
        let uses = self.uses.entry(host.clone()).or_default();
        *uses += 1;
        let is_new = *uses == 1;
        self.host_of.insert(id, host);
        is_new
    }

    /// Returns an error if the organization would have too many hosts when the custom URL `id` has
    /// the host `host` instead of its current host.
    pub(crate) fn check_limit_with(&self, id: Uuid, host: &str) -> Option<HostError> {
        if self.uses.contains_key(host) {
            return None;
        }
        let former = self.host_of.get(&id);
        let is_given_up = former.is_some_and(|former| self.uses.get(former) == Some(&1));
        let count = self.uses.len() + 1 - usize::from(is_given_up);
        (count > MAX_HOSTS).then_some(HostError::TooMany)
    }

    /// Returns an error if the organization has too many hosts.
    pub(crate) fn check_limit(&self) -> Option<HostError> {
        (self.uses.len() > MAX_HOSTS).then_some(HostError::TooMany)
    }
}

/// Releases all host names of an organization that is erased.
pub(crate) fn release_domains(system: &mut System<'_, '_>, organization: Uuid) -> Result<()> {
    system.tx.execute(&RELEASE_ALL, &values![organization])?;
    Ok(())
}

/// Finds a domain by its host. Returns `None` if no organization owns the host.
pub(crate) fn find_domain(tx: &mut Transaction<'_>, host: &str) -> Result<Option<Domain>> {
    let Some(row) = tx.row(&OWNER, &values![host])? else {
        return Ok(None);
    };
    Ok(Some(Domain {
        owner: row.get(0)?,
        is_guest_portal: row.get(1)?,
    }))
}

/// Returns the host of a custom URL if it serves guest portals.
pub(crate) fn portal_host(context: &mut Context<'_, '_>, id: Uuid) -> Result<Option<String>> {
    Ok(
        record_as::<CustomUrl>(context, RecordKind::CustomUrl, id)?
            .and_then(CustomUrl::portal_host),
    )
}

/// Returns the hosts of all custom URLs that serve guest portals, by id of the custom URL.
pub(crate) fn portal_hosts(context: &mut Context<'_, '_>) -> Result<HashMap<Uuid, String>> {
    let urls = all_records::<CustomUrl>(context, RecordKind::CustomUrl)?;
    let hosts = urls
        .into_iter()
        .filter_map(|(id, url)| Some((id, url.portal_host()?)));
    Ok(hosts.collect())
}

impl CustomUrl {
    /// Returns the normalized host, if the custom URL serves guest portals.
    fn portal_host(self) -> Option<String> {
        let host = self.host.filter(|_| self.is_guest_portal == Some(true))?;
        host_name(&host)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn hosts_are_compared_in_lower_case_and_ascii_form() {
        for (text, host) in [
            ("stay.example.com", "stay.example.com"),
            ("Stay.EXAMPLE.com.", "stay.example.com"),
            ("münchen.example", "xn--mnchen-3ya.example"),
            ("XN--MNCHEN-3YA.example", "xn--mnchen-3ya.example"),
            ("ｓｔａｙ.example", "stay.example"),
            ("1-2.example", "1-2.example"),
            ("h", "h"),
            ("stay.localhost", "stay.localhost"),
        ] {
            assert_eq!(host_name(text).as_deref(), Some(host), "{text}");
        }
        let long = format!("{}.example", "a".repeat(64));
        let longer = format!("{}example", "abcdefgh.".repeat(30));
        for text in [
            "",
            ".",
            "localhost",
            "stay.example.com:8080",
            "https://stay.example.com",
            "stay.example.com/path",
            "stay.example.com?x",
            "user@stay.example.com",
            " stay.example.com",
            "stay example.com",
            "stay..example.com",
            ".stay.example.com",
            "stay.example.com..",
            "-stay.example.com",
            "stay-.example.com",
            "st_ay.example.com",
            "*.example.com",
            "%73tay.example.com",
            "127.0.0.1",
            "0x7f.1",
            "[::1]",
            &long,
            &longer,
        ] {
            assert_eq!(host_name(text), None, "{text}");
        }
    }

    #[test]
    fn a_tally_counts_each_host_once() {
        let mut tally = HostTally::default();
        let ids: Vec<Uuid> = (0..=1_001).map(Uuid::from_u128).collect();
        for (number, id) in ids.iter().enumerate().take(MAX_HOSTS) {
            assert!(tally.set_host(*id, Some(&format!("h{number}.example"))));
        }
        let (first, new) = (ids[0], ids[MAX_HOSTS]);
        assert_eq!(
            tally.check_limit_with(new, "other.example"),
            Some(HostError::TooMany)
        );
        assert_eq!(
            tally.check_limit_with(new, "h1.example"),
            None,
            "a host of the organization"
        );
        assert_eq!(
            tally.check_limit_with(first, "other.example"),
            None,
            "a change"
        );
        assert!(!tally.set_host(new, Some("H0.example")));
        assert_eq!(
            tally.check_limit_with(first, "other.example"),
            Some(HostError::TooMany),
            "another custom URL keeps its host"
        );
        assert!(tally.set_host(first, Some("other.example")));
        assert_eq!(tally.check_limit(), Some(HostError::TooMany));
        tally.set_host(new, None);
        assert_eq!(tally.check_limit(), None);
    }

    proptest! {
        #[test]
        fn a_host_is_its_own_form(text in "[-a-zA-Z0-9.ü_%: ]{0,40}") {
            if let Some(host) = host_name(&text) {
                prop_assert_eq!(host_name(&host), Some(host.clone()));
                prop_assert!(host.is_ascii() && host.to_ascii_lowercase() == host);
            }
        }
    }
}
