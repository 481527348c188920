//! Property scope: the properties that a caller may access (rules: access#limited-callers).

use std::collections::BTreeSet;

use store::Value;
use uuid::Uuid;

/// The properties that a caller may access. It applies to every list and look-up for a caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PropertyScope {
    /// Every property of the organization.
    Everything,
    /// Only the listed properties.
    Properties(BTreeSet<Uuid>),
}

impl PropertyScope {
    /// Returns whether the caller is limited to some properties.
    #[must_use]
    pub const fn is_limited(&self) -> bool {
        matches!(self, Self::Properties(_))
    }

    /// Returns whether the caller may access a property.
    #[must_use]
    pub fn covers(&self, property: Uuid) -> bool {
        match self {
            Self::Everything => true,
            Self::Properties(ids) => ids.contains(&property),
        }
    }

    /// Returns whether the caller may access a record of this property. `None` is a record without
    /// a property.
    #[must_use]
    pub fn covers_record(&self, property: Option<Uuid>) -> bool {
        property.is_none_or(|id| self.covers(id))
    }

    /// Returns the two parameters for a statement's condition `(?n or property_id = any(?m))`. `?n`
    /// is true if the caller may access every property; otherwise `?m` lists the accessible
    /// properties.
    #[must_use]
    pub fn parameters(&self) -> [Value; 2] {
        match self {
            Self::Everything => [Value::Bool(true), Value::Uuids(Vec::new())],
            Self::Properties(ids) => [
                Value::Bool(false),
                Value::Uuids(ids.iter().copied().collect()),
            ],
        }
    }
}
