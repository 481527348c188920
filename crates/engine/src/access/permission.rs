//! The permissions that a credential can have (rules: access#credentials, 4).

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use strum::{AsRefStr, EnumString, IntoStaticStr, VariantArray};

/// A permission. The variants are in the order in which the rules list the permissions.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    AsRefStr,
    EnumString,
    IntoStaticStr,
    VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Permission {
    ViewProperties,
    ModifyProperties,
    ViewGuides,
    ModifyGuides,
    ModifyTasks,
    ManageOrganization,
    ViewReservations,
    ViewTasks,
    ViewDevices,
    ViewWorkflows,
    ViewAnalytics,
}

impl Permission {
    /// Describes the permission in one sentence.
    #[must_use]
    pub const fn allows(self) -> &'static str {
        match self {
            Self::ViewProperties => "Read properties, portals, brandings and pre-check-in steps.",
            Self::ModifyProperties => {
                "Change portals, brandings and pre-check-in steps, and what they are assigned to."
            }
            Self::ViewGuides => "Read house manuals.",
            Self::ModifyGuides => {
                "Change house manuals, their categories and what they are assigned to."
            }
            Self::ModifyTasks => "Change texts and their translations.",
            Self::ManageOrganization => {
                "Administer the organization: its members, connections and the words of its \
                    portals."
            }
            Self::ViewReservations => {
                "Read reservations, what guests hand in and why they see what they see."
            }
            Self::ViewTasks => "Read tasks, and be told of them.",
            Self::ViewDevices => "Read devices and lock codes, and be told of them.",
            Self::ViewWorkflows => "Read the steps of workflows, and be told of their runs.",
            Self::ViewAnalytics => "Read analytics.",
        }
    }
}

impl JsonSchema for Permission {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Permission".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": Self::VARIANTS })
    }
}

/// A set of permissions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Permissions(u16);

impl Permissions {
    /// Returns whether the set contains a permission.
    #[must_use]
    pub const fn has(self, permission: Permission) -> bool {
        self.0 & (1 << permission as u16) != 0
    }

    /// Returns the permissions that both sets contain.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl FromIterator<Permission> for Permissions {
    fn from_iter<I: IntoIterator<Item = Permission>>(permissions: I) -> Self {
        Self(
            permissions
                .into_iter()
                .fold(0, |bits, permission| bits | 1 << permission as u16),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_permission_parses_from_its_name() {
        for permission in Permission::VARIANTS {
            assert_eq!(permission.as_ref().parse(), Ok(*permission));
            assert_eq!(
                serde_json::to_value(permission).unwrap(),
                permission.as_ref()
            );
        }
        assert!("view_everything".parse::<Permission>().is_err());
    }

    #[test]
    fn the_intersection_holds_only_common_permissions() {
        use Permission::{ModifyTasks, ViewGuides, ViewTasks};
        let both = Permissions::from_iter([ViewGuides, ViewTasks])
            .and(Permissions::from_iter([ViewTasks, ModifyTasks]));
        assert_eq!(both, Permissions::from_iter([ViewTasks]));
        assert!(both.has(ViewTasks) && !both.has(ViewGuides));
    }
}
