//! OAuth scopes (RFC 6749, section 3.3). For each permission, there is a scope with the same name.

use std::fmt;

use engine::access::Permission;
use strum::VariantArray as _;

use super::refusal::{OauthError, OauthErrorCode};

/// Scopes of OpenID Connect, which many clients always send. This server ignores them.
const OPENID_SCOPES: [&str; 4] = ["openid", "profile", "email", "offline_access"];

/// A set of scopes without duplicates, in the order of the permissions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScopeSet(Vec<Permission>);

impl ScopeSet {
    /// Returns all scopes.
    pub(super) fn all() -> Self {
        Self(Permission::VARIANTS.to_vec())
    }

    /// Returns the scopes of an authorization request. If the request names no scope, returns all
    /// scopes (RFC 6749, section 3.3, requires that this default is documented).
    pub(super) fn parse_or_all(text: Option<&str>) -> Result<Self, OauthError> {
        Ok(Self::parse(text.unwrap_or_default())?.unwrap_or_else(Self::all))
    }

    /// Parses names of scopes that are separated by any number of blanks. Returns `None` if the
    /// text names no scope except those of OpenID Connect.
    ///
    /// Ignores unknown scopes if the text also names a known scope. A text with only unknown scopes
    /// is an error. Otherwise a request with a misspelt scope would get the default, which is all
    /// scopes.
    pub(super) fn parse(text: &str) -> Result<Option<Self>, OauthError> {
        let names = text.split_whitespace();
        let names: Vec<&str> = names.filter(|name| !OPENID_SCOPES.contains(name)).collect();
        let permissions: Vec<Permission> =
            names.iter().filter_map(|name| name.parse().ok()).collect();
        if permissions.is_empty() && !names.is_empty() {
            return Err(OauthError::new(
                OauthErrorCode::InvalidScope,
                "No scope of this server is among those that were asked for.",
            ));
        }
        Ok((!permissions.is_empty()).then(|| Self::of(permissions)))
    }

    /// Creates a set from permissions, which may be unsorted.
    pub(super) fn of(permissions: impl IntoIterator<Item = Permission>) -> Self {
        let mut permissions: Vec<_> = permissions.into_iter().collect();
        permissions.sort_unstable();
        permissions.dedup();
        Self(permissions)
    }

    /// Returns the scopes that the member can grant: those that are also permissions of the member
    /// (`own`).
    pub(super) fn restricted_to(&self, own: &[Permission]) -> Self {
        Self(
            self.0
                .iter()
                .copied()
                .filter(|permission| own.contains(permission))
                .collect(),
        )
    }

    /// Returns the scopes for a refresh request: the requested scopes, or all granted scopes if the
    /// request names none. A request for a scope that was not granted is an error (RFC 6749,
    /// section 6).
    pub(super) fn narrow(&self, text: Option<&str>) -> Result<Self, OauthError> {
        let Some(requested) = Self::parse(text.unwrap_or_default())? else {
            return Ok(self.clone());
        };
        if requested
            .0
            .iter()
            .all(|permission| self.0.contains(permission))
        {
            return Ok(requested);
        }
        Err(OauthError::new(
            OauthErrorCode::InvalidScope,
            "A scope exceeds what was granted.",
        ))
    }

    pub(super) fn permissions(&self) -> &[Permission] {
        &self.0
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for ScopeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.0.iter().map(AsRef::as_ref).collect();
        f.write_str(&names.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_scopes() -> impl Strategy<Value = ScopeSet> {
        proptest::sample::subsequence(
            Permission::VARIANTS.to_vec(),
            1..=Permission::VARIANTS.len(),
        )
        .prop_map(ScopeSet::of)
    }

    #[test]
    fn only_permission_names_are_valid_scopes() {
        assert_eq!(
            ScopeSet::parse_or_all(None)
                .unwrap()
                .to_string()
                .split(' ')
                .count(),
            11
        );
        for text in [
            "view_tasks view_properties view_tasks",
            " view_properties  view_tasks ",
            "openid view_tasks offline_access view_properties",
            "view_properties view_everything view_tasks",
        ] {
            let scopes = ScopeSet::parse(text).unwrap().unwrap();
            assert_eq!(scopes.to_string(), "view_properties view_tasks", "{text:?}");
        }
        for nothing in ["", " ", "openid profile email", "offline_access  "] {
            assert_eq!(ScopeSet::parse(nothing).unwrap(), None, "{nothing:?}");
        }
        for invalid in [
            "view_everything",
            "VIEW_TASKS",
            "view_tasks,view_guides",
            "openid view_everything",
        ] {
            assert_eq!(
                ScopeSet::parse(invalid).unwrap_err().code,
                OauthErrorCode::InvalidScope,
                "{invalid:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn written_scopes_read_back(scopes in any_scopes()) {
            prop_assert_eq!(ScopeSet::parse(&scopes.to_string()).unwrap(), Some(scopes));
        }

        #[test]
        fn a_refresh_never_widens_its_scopes(granted in any_scopes(), requested in any_scopes()) {
            let is_within = requested.restricted_to(granted.permissions()) == requested;
            let narrowed = granted.narrow(Some(&requested.to_string()));
            prop_assert_eq!(narrowed.is_ok(), is_within);
            if let Ok(narrowed) = narrowed {
                prop_assert_eq!(narrowed, requested);
            }
            prop_assert_eq!(granted.narrow(None).unwrap(), granted);
        }

        #[test]
        fn granted_scopes_are_held_by_the_member(requested in any_scopes(), held in any_scopes()) {
            let granted = requested.restricted_to(held.permissions());
            prop_assert!(
                granted
                    .permissions()
                    .iter()
                    .all(|permission| requested.permissions().contains(permission)
                        && held.permissions().contains(permission))
            );
        }

        #[test]
        fn parsing_scopes_never_panics(text: String) {
            let _ = ScopeSet::parse(&text);
        }
    }
}
