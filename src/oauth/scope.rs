//! Scopes: they are the permissions of the interface, by the same names (RFC 6749, section 3.3).

use std::fmt;

use engine::access::Permission;
use strum::VariantArray as _;

use super::refusal::{Code, Refusal};

/// A set of scopes, in the order of the permissions, each once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Scopes(Vec<Permission>);

impl Scopes {
    /// All there are.
    pub(super) fn all() -> Self {
        Self(Permission::VARIANTS.to_vec())
    }

    /// What a request asks for; everything where it does not say (RFC 6749, section 3.3: a default that is documented).
    pub(super) fn asked(text: Option<&str>) -> Result<Self, Refusal> {
        text.map_or_else(|| Ok(Self::all()), Self::parse)
    }

    /// Names, one space between two (RFC 6749, section 3.3).
    pub(super) fn parse(text: &str) -> Result<Self, Refusal> {
        let named: Result<Vec<Permission>, _> = text.split(' ').map(str::parse).collect();
        named.map(Self::of).map_err(|_| Refusal::new(Code::InvalidScope, "A scope is unknown."))
    }

    /// These, whatever their order.
    pub(super) fn of(permissions: impl IntoIterator<Item = Permission>) -> Self {
        let mut permissions: Vec<_> = permissions.into_iter().collect();
        permissions.sort_unstable();
        permissions.dedup();
        Self(permissions)
    }

    /// Of these, what a member holds: nobody gives what they have not got.
    pub(super) fn held(&self, by: &[Permission]) -> Self {
        Self(self.0.iter().copied().filter(|permission| by.contains(permission)).collect())
    }

    /// What a refresh asks for: as much as was granted or less, never more (RFC 6749, section 6).
    pub(super) fn narrowed(&self, text: Option<&str>) -> Result<Self, Refusal> {
        let Some(text) = text else { return Ok(self.clone()) };
        let asked = Self::parse(text)?;
        if asked.0.iter().all(|permission| self.0.contains(permission)) {
            return Ok(asked);
        }
        Err(Refusal::new(Code::InvalidScope, "A scope goes beyond what was granted."))
    }

    /// The permissions.
    pub(super) fn permissions(&self) -> &[Permission] {
        &self.0
    }

    /// Whether there is none.
    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.0.iter().map(AsRef::as_ref).collect();
        f.write_str(&names.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn some() -> impl Strategy<Value = Scopes> {
        proptest::sample::subsequence(Permission::VARIANTS.to_vec(), 1..=Permission::VARIANTS.len()).prop_map(Scopes::of)
    }

    #[test]
    fn names_are_those_of_permissions_and_nothing_else() {
        assert_eq!(Scopes::asked(None).unwrap().to_string().split(' ').count(), 11);
        assert_eq!(Scopes::parse("view_tasks view_properties view_tasks").unwrap().to_string(), "view_properties view_tasks");
        for wrong in
            ["", " ", "view_tasks ", "view_tasks  view_guides", "view_everything", "VIEW_TASKS", "view_tasks,view_guides", "openid"]
        {
            assert_eq!(Scopes::parse(wrong).unwrap_err().code, Code::InvalidScope, "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_reads_as_what_it_was(scopes in some()) {
            prop_assert_eq!(Scopes::parse(&scopes.to_string()).unwrap(), scopes);
        }

        #[test]
        fn a_refresh_never_gets_more(granted in some(), asked in some()) {
            let is_within = asked.held(granted.permissions()) == asked;
            let narrowed = granted.narrowed(Some(&asked.to_string()));
            prop_assert_eq!(narrowed.is_ok(), is_within);
            if let Ok(narrowed) = narrowed {
                prop_assert_eq!(narrowed, asked);
            }
            prop_assert_eq!(granted.narrowed(None).unwrap(), granted);
        }

        #[test]
        fn nobody_gives_what_they_do_not_hold(asked in some(), held in some()) {
            let given = asked.held(held.permissions());
            prop_assert!(given.permissions().iter().all(|permission| asked.permissions().contains(permission) && held.permissions().contains(permission)));
        }

        #[test]
        fn no_text_makes_it_panic(text: String) {
            let _ = Scopes::parse(&text);
        }
    }
}
