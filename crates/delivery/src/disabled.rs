//! The reasons why a subscription gets no more deliveries (rules: webhooks#ends).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{AsRefStr, EnumString, VariantArray};
use uuid::Uuid;

/// Why a subscription is disabled.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    JsonSchema,
    AsRefStr,
    EnumString,
    VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
#[schemars(inline)]
pub enum DisabledReason {
    /// Too many deliveries failed in a row.
    Failures,
    /// The credential was revoked, expired, disconnected, switched off, or lacks two-factor
    /// authentication.
    CredentialInvalid,
    /// The credential no longer has the permission that the event needs.
    PermissionLost,
    /// The target was found to lead into a private network.
    PrivateTarget,
}

/// Logs that a subscription was disabled. The API also shows the reason, as a field of the
/// subscription.
pub fn log_disabled(organization: Uuid, subscription: Uuid, reason: DisabledReason) {
    tracing::warn!(
        %organization,
        %subscription,
        reason = reason.as_ref(),
        "a webhook subscription was disabled; nothing more is sent for it"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_disabled_reason_parses_from_its_name() {
        for reason in DisabledReason::VARIANTS {
            assert_eq!(reason.as_ref().parse(), Ok(*reason));
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.as_ref());
        }
    }
}
