//! Which properties a caller reaches (spec: Authentication, 2 and 6).

use std::collections::BTreeSet;

use store::Value;
use uuid::Uuid;

/// The properties a caller may see and touch. Every listing and lookup for a caller goes through it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// Every property of the organization.
    Everything,
    /// These and no others: a limited caller.
    Properties(BTreeSet<Uuid>),
}

impl Reach {
    /// Whether the caller is limited to some properties.
    #[must_use]
    pub const fn is_limited(&self) -> bool {
        matches!(self, Self::Properties(_))
    }

    /// Whether a property is within reach.
    #[must_use]
    pub fn covers(&self, property: Uuid) -> bool {
        match self {
            Self::Everything => true,
            Self::Properties(ids) => ids.contains(&property),
        }
    }

    /// Whether a record that names this property, or none, is within reach.
    #[must_use]
    pub fn covers_record(&self, property: Option<Uuid>) -> bool {
        property.is_none_or(|id| self.covers(id))
    }

    /// The two parameters by which a statement asks for it: `(?n or property_id = any(?m))`.
    #[must_use]
    pub fn parameters(&self) -> [Value; 2] {
        match self {
            Self::Everything => [Value::Bool(true), Value::Uuids(Vec::new())],
            Self::Properties(ids) => [Value::Bool(false), Value::Uuids(ids.iter().copied().collect())],
        }
    }
}
