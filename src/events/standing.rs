//! Whether a subscription's credential may still hear of its event (spec: States, webhook subscription).
//!
//! Asked before each delivery, and about every active subscription once a minute: a credential that expires, and an
//! organization that begins to require two-factor authentication, touch no subscription by themselves.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use delivery::{self, DisabledReason, tell_disabled};
use engine::access::{self, Credential, Identified};
use engine::error::Result;
use engine::operation::Touches;
use engine::pipeline::Service;
use engine::values;
use jiff::Timestamp;
use store::Transaction;
use uuid::Uuid;

use super::Event;
use super::subscriptions::event_of;

/// Subscriptions looked at in one transaction, so that a sweep holds up no one.
const BATCH: i64 = 500;

store::statements! {
    /// Active subscriptions behind a place, those of one credential together.
    ACTIVE = "select organization_id, credential, created_at, id, event from webhook_subscription
        where disabled_at is null and (credential, organization_id, created_at, id) > (?1, ?2, ?3, ?4)
        order by credential, organization_id, created_at, id limit ?5";
    /// The active subscriptions of a credential.
    ACTIVE_OF = "select id, event from webhook_subscription
        where organization_id = ?1 and credential = ?2 and disabled_at is null order by created_at, id";
}

/// Who reads for a subscription to an event; the reason to disable it where its credential may not hear of that any more. A
/// credential that is gone is nobody.
pub(super) fn hearing(caller: Option<&Identified>, event: Event) -> Result<&Identified, DisabledReason> {
    let caller = caller.filter(|caller| caller.access.satisfies_two_factor).ok_or(DisabledReason::CredentialInvalid)?;
    if caller.access.permissions.has(event.permission()) { Ok(caller) } else { Err(DisabledReason::PermissionLost) }
}

/// Whom a credential, written as it is beside its subscriptions, stands for now; `None` for one that is gone.
pub(super) fn caller_of(tx: &mut Transaction<'_>, organization: Uuid, credential: &str, now: Timestamp) -> Result<Option<Identified>> {
    let Some(credential) = Credential::from_key(credential) else { return Ok(None) };
    access::load(tx, organization, credential, now)
}

/// Disables the subscriptions whose credential may not hear of their event any more.
pub async fn disable_lapsed(service: &Arc<Service>) -> Result<()> {
    let mut cursor = Some(Cursor::first());
    while let Some(from) = cursor {
        let now = service.clock.now();
        let (lapsed, next) = service.store.read(move |tx| look(tx, &from, now)).await?;
        for (organization, credential) in lapsed {
            let shared = service.clone();
            let disabled = service.store.write(move |tx| disable(tx, &shared, organization, &credential, now)).await?;
            for (subscription, reason) in disabled {
                tell_disabled(organization, subscription, reason);
            }
        }
        cursor = next;
    }
    Ok(())
}

/// How far a sweep has come.
struct Cursor {
    organization: Uuid,
    credential: String,
    created_at: Timestamp,
    id: Uuid,
}

impl Cursor {
    /// Before all subscriptions.
    const fn first() -> Self {
        Self { organization: Uuid::nil(), credential: String::new(), created_at: Timestamp::UNIX_EPOCH, id: Uuid::nil() }
    }
}

/// Credentials by their organizations.
type Lapsed = BTreeSet<(Uuid, String)>;

/// Credentials that may not hear of something they are subscribed to, among those of a batch of subscriptions; and where to
/// go on, if there is more.
fn look(tx: &mut Transaction<'_>, from: &Cursor, now: Timestamp) -> Result<(Lapsed, Option<Cursor>)> {
    let rows = tx.rows(&ACTIVE, &values![&from.credential, from.organization, from.created_at, from.id, BATCH])?;
    let mut callers: BTreeMap<(Uuid, String), Option<Identified>> = BTreeMap::new();
    let mut lapsed = BTreeSet::new();
    for row in &rows {
        let (organization, credential): (Uuid, String) = (row.get(0)?, row.get(1)?);
        let caller = match callers.entry((organization, credential.clone())) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(caller_of(tx, organization, &credential, now)?),
        };
        if hearing(caller.as_ref(), event_of(row, 4)?).is_err() {
            lapsed.insert((organization, credential));
        }
    }
    let is_full = i64::try_from(rows.len()).is_ok_and(|count| count >= BATCH);
    let next = match rows.last().filter(|_| is_full) {
        Some(last) => Some(Cursor { organization: last.get(0)?, credential: last.get(1)?, created_at: last.get(2)?, id: last.get(3)? }),
        None => None,
    };
    Ok((lapsed, next))
}

/// Disables what a credential may not hear of any more, if that is still so; which subscriptions, and why.
///
/// They may be several, so the organization is locked, as it is by whoever else changes several subscriptions at once.
fn disable(
    tx: &mut Transaction<'_>,
    service: &Service,
    organization: Uuid,
    credential: &str,
    now: Timestamp,
) -> Result<Vec<(Uuid, DisabledReason)>> {
    service.system(tx, now).lock(organization, Touches::Configuration)?;
    let caller = caller_of(tx, organization, credential, now)?;
    let mut disabled = Vec::new();
    for row in tx.rows(&ACTIVE_OF, &values![organization, credential])? {
        if let Err(reason) = hearing(caller.as_ref(), event_of(&row, 1)?) {
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
    fn a_credential_hears_of_what_it_may_read_while_it_is_valid() {
        let settings: Settings = serde_json::from_value(serde_json::json!({
            "name": "O", "country": "ES", "languages": ["en"], "isTwoFactorRequired": false,
        }))
        .unwrap();
        let organization = Organization { id: Uuid::nil(), settings };
        let caller = |permission: Permission, satisfies_two_factor: bool| Identified {
            access: Access { permissions: [permission].into_iter().collect(), satisfies_two_factor, ..Access::platform() },
            organization: organization.clone(),
            revisions: Revisions::default(),
            valid_until: None,
            resource: None,
        };
        let verdict = |caller: Option<&Identified>, event| hearing(caller, event).err();
        let tasks = caller(Permission::ViewTasks, true);
        assert_eq!(verdict(Some(&tasks), Event::TaskCreated), None);
        assert_eq!(verdict(Some(&tasks), Event::DeviceOffline), Some(DisabledReason::PermissionLost));
        assert_eq!(verdict(Some(&tasks), Event::WorkflowStep), Some(DisabledReason::PermissionLost));
        let not_enrolled = caller(Permission::ViewTasks, false);
        assert_eq!(verdict(Some(&not_enrolled), Event::TaskCreated), Some(DisabledReason::CredentialInvalid));
        assert_eq!(verdict(None, Event::TaskCreated), Some(DisabledReason::CredentialInvalid));
    }
}
