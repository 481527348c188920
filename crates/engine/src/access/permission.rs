//! The permissions the spec names (Authentication, 4).

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use strum::{AsRefStr, EnumString, VariantArray};

/// One permission, in the spec's order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, AsRefStr, EnumString, VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
#[expect(missing_docs, reason = "each says what it is")]
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
    /// Whether one of them is held.
    #[must_use]
    pub const fn has(self, permission: Permission) -> bool {
        self.0 & (1 << permission as u16) != 0
    }

    /// What both sets hold.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl FromIterator<Permission> for Permissions {
    fn from_iter<I: IntoIterator<Item = Permission>>(permissions: I) -> Self {
        Self(permissions.into_iter().fold(0, |bits, permission| bits | 1 << permission as u16))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_and_its_permission_find_each_other() {
        for permission in Permission::VARIANTS {
            assert_eq!(permission.as_ref().parse(), Ok(*permission));
            assert_eq!(serde_json::to_value(permission).unwrap(), permission.as_ref());
        }
        assert!("view_everything".parse::<Permission>().is_err());
    }

    #[test]
    fn what_both_hold_is_held() {
        use Permission::{ModifyTasks, ViewGuides, ViewTasks};
        let both = Permissions::from_iter([ViewGuides, ViewTasks]).and(Permissions::from_iter([ViewTasks, ModifyTasks]));
        assert_eq!(both, Permissions::from_iter([ViewTasks]));
        assert!(both.has(ViewTasks) && !both.has(ViewGuides));
    }
}
