//! Disables the webhook subscriptions of a credential that ends or loses a permission. The change
//! of the credential and the disabling are in one transaction (rules: webhooks#ends).
//! `eligibility.rs` finds credentials that lose access without a change, for example by expiry.

use delivery::{DisabledReason, log_disabled};
use engine::access::Credential;
use engine::context::Context;
use engine::error::{Error, Result};
use engine::values;
use store::Row;
use uuid::Uuid;

use super::Event;

store::statements! {
    /// Disables every active subscription of a credential. Returns the ids of these subscriptions.
    DISABLE_ALL = "update webhook_subscription set disabled_at = ?3, disabled_reason = ?4
        where organization_id = ?1 and credential = ?2 and disabled_at is null returning id";
    /// Selects the active subscriptions of a credential in all other organizations.
    ACTIVE_ELSEWHERE = "select organization_id, id from webhook_subscription
        where organization_id <> ?1 and credential = ?2 and disabled_at is null
        order by organization_id, id";
    /// Disables the subscription `?3` of the organization `?2`. The transaction belongs to another
    /// organization, `?1`. Changes nothing if another transaction has locked the subscription.
    DISABLE_ELSEWHERE = "with free as (select id from webhook_subscription
            where organization_id <> ?1 and organization_id = ?2 and id = ?3
            and disabled_at is null for no key update skip locked)
        update webhook_subscription set disabled_at = ?4, disabled_reason = ?5
        where organization_id <> ?1 and organization_id = ?2 and id in (select id from free)";
    /// Disables a member's active subscriptions to the given events. Apps created these
    /// subscriptions on behalf of the member.
    DISABLE_MEMBER = "update webhook_subscription set disabled_at = ?3, disabled_reason = ?4
        where organization_id = ?1 and credential like 'oauth:%:' || ?2 and disabled_at is null
        and event = any(?5) returning id";
}

/// Disables every active subscription of a credential.
pub fn disable_all_of(
    context: &mut Context<'_, '_>,
    credential: Credential,
    reason: DisabledReason,
) -> Result<()> {
    let (key, now) = (credential.key(), context.now());
    let disabled = context.rows(&DISABLE_ALL, values![key, now, reason.as_ref()])?;
    log_all_disabled(context, &disabled, reason)
}

/// Disables every active subscription of a credential in other organizations, because a member now
/// uses the credential's OAuth app for this organization. Returns 503 if another transaction has
/// locked one of these subscriptions. Does not wait for the lock: transactions lock rows of other
/// organizations in no common order, so waiting could deadlock.
pub fn disable_all_in_other_organizations(
    context: &mut Context<'_, '_>,
    credential: Credential,
    reason: DisabledReason,
) -> Result<()> {
    let (key, now) = (credential.key(), context.now());
    for row in context.rows(&ACTIVE_ELSEWHERE, values![key])? {
        let (organization, id): (Uuid, Uuid) = (row.get(0)?, row.get(1)?);
        let params = values![organization, id, now, reason.as_ref()];
        if context.execute(&DISABLE_ELSEWHERE, params)? == 0 {
            return Err(Error::unavailable(
                "a subscription is being changed in another organization",
            ));
        }
        log_disabled(organization, id, reason);
    }
    Ok(())
}

/// Disables a member's active subscriptions to these events. Apps created these subscriptions on
/// behalf of the member.
pub fn disable_events_of_member(
    context: &mut Context<'_, '_>,
    member: Uuid,
    events: &[Event],
    reason: DisabledReason,
) -> Result<()> {
    let now = context.now();
    let events: Vec<String> = events
        .iter()
        .map(|event| event.as_ref().to_owned())
        .collect();
    let disabled = context.rows(
        &DISABLE_MEMBER,
        values![member.to_string(), now, reason.as_ref(), events],
    )?;
    log_all_disabled(context, &disabled, reason)
}

/// Logs each of the subscriptions in `disabled`, with the reason for which it was disabled.
fn log_all_disabled(
    context: &Context<'_, '_>,
    disabled: &[Row],
    reason: DisabledReason,
) -> Result<()> {
    for row in disabled {
        log_disabled(context.organization.id, row.get(0)?, reason);
    }
    Ok(())
}
