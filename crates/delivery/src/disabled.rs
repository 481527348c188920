//! Why a subscription is sent nothing any more (spec: States, webhook subscription).

use schemars::JsonSchema;
use serde::Serialize;
use uuid::Uuid;

/// Why a subscription is disabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum DisabledReason {
    /// Too many deliveries failed in a row.
    Failures,
    /// The credential was revoked, expired, disconnected, switched off, or lacks two-factor authentication.
    CredentialInvalid,
    /// The credential no longer holds the permission the event needs.
    PermissionLost,
    /// The target was found to lead into a private network.
    PrivateTarget,
}

impl DisabledReason {
    /// Every reason.
    pub const ALL: [Self; 4] = [Self::Failures, Self::CredentialInvalid, Self::PermissionLost, Self::PrivateTarget];

    /// As it is written and stored.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Failures => "failures",
            Self::CredentialInvalid => "credential_invalid",
            Self::PermissionLost => "permission_lost",
            Self::PrivateTarget => "private_target",
        }
    }

    /// The reason written so.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.name() == name)
    }
}

/// Writes down that a subscription is disabled: nobody else tells its owner.
pub fn tell_disabled(organization: Uuid, subscription: Uuid, reason: DisabledReason) {
    tracing::warn!(%organization, %subscription, reason = reason.name(), "a webhook subscription is disabled");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_and_its_name_find_each_other() {
        for reason in DisabledReason::ALL {
            assert_eq!(DisabledReason::named(reason.name()), Some(reason));
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.name());
        }
    }
}
