//! Checks whether a subscription's credential may still receive its event (rules: webhooks#ends).
//!
//! The check runs before each delivery, and once a minute for every active subscription. The check
//! once a minute finds credentials that lose access although no request changes them or their
//! subscriptions. For example, a credential expires, or an organization begins to require
//! two-factor authentication.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use delivery::{self, DisabledReason, log_disabled};
use engine::access::{self, Credential, Identified};
use engine::error::Result;
use engine::operation::RaisedRevision;
use engine::pipeline::Service;
use engine::values;
use jiff::Timestamp;
use store::Transaction;
use uuid::Uuid;

use super::Event;
use super::subscriptions::event_from_row;

/// Maximum number of subscriptions that one transaction checks, so that the sweep does not delay
/// other work.
const BATCH: i64 = 500;

store::statements! {
    /// Selects the active subscriptions after a cursor, in the order of their credentials.
    ACTIVE = "select organization_id, credential, created_at, id, event from webhook_subscription
        where disabled_at is null and (credential, organization_id, created_at, id) >
        (?1, ?2, ?3, ?4)
        order by credential, organization_id, created_at, id limit ?5";
    /// Selects the active subscriptions of a credential.
    ACTIVE_OF = "select id, event from webhook_subscription
        where organization_id = ?1 and credential = ?2 and disabled_at is null
        order by created_at, id";
}

/// Checks that a credential may receive an event. `caller` is the result of [`load_caller`].
/// Returns the caller, or the reason for which the subscription is to be disabled.
pub(super) fn check_eligibility(
    caller: Option<&Identified>,
    event: Event,
) -> Result<&Identified, DisabledReason> {
    let caller = caller
        .filter(|caller| caller.access.satisfies_two_factor)
        .ok_or(DisabledReason::CredentialInvalid)?;
    if caller.access.permissions.has(event.permission()) {
        Ok(caller)
    } else {
        Err(DisabledReason::PermissionLost)
    }
}

/// Loads the caller that a stored credential identifies, with the caller's current permissions.
/// Returns `None` if the credential was deleted.
pub(super) fn load_caller(
    tx: &mut Transaction<'_>,
    organization: Uuid,
    credential: &str,
    now: Timestamp,
) -> Result<Option<Identified>> {
    let Some(credential) = Credential::from_key(credential) else {
        return Ok(None);
    };
    access::load(tx, organization, credential, now)
}

/// Disables the subscriptions whose credential may no longer receive the event. Runs once a minute.
pub async fn disable_lapsed(service: &Arc<Service>) -> Result<()> {
    let mut cursor = Some(Cursor::first());
    while let Some(from) = cursor {
        let now = service.clock.now();
        let (lapsed, next) = service
            .store
            .read(move |tx| find_lapsed(tx, &from, now))
            .await?;
        for (organization, credential) in lapsed {
            let service_ref = service.clone();
            let disabled = service
                .store
                .write(move |tx| disable(tx, &service_ref, organization, &credential, now))
                .await?;
            for (subscription, reason) in disabled {
                log_disabled(organization, subscription, reason);
            }
        }
        cursor = next;
    }
    Ok(())
}

/// The position of the sweep in the order of [`ACTIVE`]: the last subscription that the sweep has
/// checked.
struct Cursor {
    organization: Uuid,
    credential: String,
    created_at: Timestamp,
    id: Uuid,
}

impl Cursor {
    /// Returns the position before all subscriptions.
    const fn first() -> Self {
        Self {
            organization: Uuid::nil(),
            credential: String::new(),
            created_at: Timestamp::UNIX_EPOCH,
            id: Uuid::nil(),
        }
    }
}

/// Credentials that have lost the right to receive at least one event to which they are subscribed,
/// each with the organization of its subscriptions.
type LapsedCredentials = BTreeSet<(Uuid, String)>;

/// Checks a batch of subscriptions that begins after a position. Returns the credentials that may
/// no longer receive one of their events. Also returns the position after which the next batch
/// begins; this position is `None` after the last batch.
fn find_lapsed(
    tx: &mut Transaction<'_>,
    from: &Cursor,
    now: Timestamp,
) -> Result<(LapsedCredentials, Option<Cursor>)> {
    let rows = tx.rows(
        &ACTIVE,
        &values![
            &from.credential,
            from.organization,
            from.created_at,
            from.id,
            BATCH
        ],
    )?;
    let mut callers: BTreeMap<(Uuid, String), Option<Identified>> = BTreeMap::new();
    let mut lapsed = BTreeSet::new();
    for row in &rows {
        let (organization, credential): (Uuid, String) = (row.get(0)?, row.get(1)?);
        let caller = match callers.entry((organization, credential.clone())) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(load_caller(tx, organization, &credential, now)?),
        };
        if check_eligibility(caller.as_ref(), event_from_row(row, 4)?).is_err() {
            lapsed.insert((organization, credential));
        }
    }
    let is_full = i64::try_from(rows.len()).is_ok_and(|count| count >= BATCH);
    let next = match rows.last().filter(|_| is_full) {
        Some(last) => Some(Cursor {
            organization: last.get(0)?,
            credential: last.get(1)?,
            created_at: last.get(2)?,
            id: last.get(3)?,
        }),
        None => None,
    };
    Ok((lapsed, next))
}

/// Checks a credential's subscriptions again, in a write transaction, and disables those whose
/// event the credential may no longer receive. Returns the disabled subscriptions with the reasons.
///
/// Locks the organization first. Every transaction that changes several subscriptions does this, so
/// that two such transactions cannot deadlock.
fn disable(
    tx: &mut Transaction<'_>,
    service: &Service,
    organization: Uuid,
    credential: &str,
    now: Timestamp,
) -> Result<Vec<(Uuid, DisabledReason)>> {
    service
        .system(tx, now)
        .lock(organization, RaisedRevision::Configuration)?;
    let caller = load_caller(tx, organization, credential, now)?;
    let mut disabled = Vec::new();
    for row in tx.rows(&ACTIVE_OF, &values![organization, credential])? {
        if let Err(reason) = check_eligibility(caller.as_ref(), event_from_row(&row, 1)?) {
            let id = row.get(0)?;
            if delivery::disable(tx, organization, id, reason, now)? {
                disabled.push((id, reason));
            }
        }
    }
    Ok(disabled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::access::{Access, Organization, Permission, Revisions, Settings};

    #[test]
    fn a_valid_credential_receives_only_events_that_it_may_read() {
        let settings: Settings = serde_json::from_value(serde_json::json!({
            "name": "O", "country": "ES", "languages": ["en"], "isTwoFactorRequired": false,
        }))
        .unwrap();
        let organization = Organization {
            id: Uuid::nil(),
            settings,
        };
        let caller = |permission: Permission, satisfies_two_factor: bool| Identified {
            access: Access {
                permissions: [permission].into_iter().collect(),
                satisfies_two_factor,
                ..Access::platform()
            },
            organization: organization.clone(),
            revisions: Revisions::default(),
            valid_until: None,
            resource: None,
        };
        let disable_reason =
            |caller: Option<&Identified>, event| check_eligibility(caller, event).err();
        let tasks = caller(Permission::ViewTasks, true);
        assert_eq!(disable_reason(Some(&tasks), Event::TaskCreated), None);
        assert_eq!(
            disable_reason(Some(&tasks), Event::DeviceOffline),
            Some(DisabledReason::PermissionLost)
        );
        assert_eq!(
            disable_reason(Some(&tasks), Event::WorkflowStep),
            Some(DisabledReason::PermissionLost)
        );
        let not_enrolled = caller(Permission::ViewTasks, false);
        assert_eq!(
            disable_reason(Some(&not_enrolled), Event::TaskCreated),
            Some(DisabledReason::CredentialInvalid)
        );
        assert_eq!(
            disable_reason(None, Event::TaskCreated),
            Some(DisabledReason::CredentialInvalid)
        );
    }
}
