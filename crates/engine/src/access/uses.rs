//! The last use of each API key. Uses are collected in memory and stored periodically, so that a
//! read request does not write to the database.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{PoisonError, RwLock};

use jiff::Timestamp;
use store::{Store, Transaction};
use uuid::Uuid;

use super::{Credential, Owner};
use crate::error::Result;
use crate::values;

/// The maximum number of API keys whose uses are collected. When it is reached, the use of any
/// other key is not recorded until the collected uses are stored.
const MAX_KEYS: usize = 65_536;
/// The maximum number of API keys whose uses are stored in one transaction, so that other writes do
/// not wait long.
const BATCH: usize = 200;

store::statements! {
    /// Stores the last use of an API key. Skips a row that has a later use, or that another
    /// transaction has locked.
    STORE_USE = "update api_key set last_used_at = ?3 where organization_id = ?1 and id in
        (select id from api_key where organization_id = ?1 and id = ?2 and (last_used_at is null
        or last_used_at < ?3) for update skip locked)";
}

/// The organization and the id of a key.
type ApiKeyId = (Uuid, Uuid);

/// For each API key, the last use that is not yet stored in the database.
#[derive(Default)]
pub struct Uses(RwLock<HashMap<ApiKeyId, AtomicI64>>);

impl Uses {
    /// Records a request as the last use of its API key. Ignores requests with other credentials.
    pub(crate) fn record(&self, owner: Owner, now: Timestamp) {
        let Credential::ApiKey(id) = owner.credential else {
            return;
        };
        let (key, at) = ((owner.organization, id), now.as_millisecond());
        if let Some(last_use) = self
            .0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&key)
        {
            last_use.fetch_max(at, Ordering::Relaxed);
            return;
        }
        let mut uses = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if uses.len() < MAX_KEYS || uses.contains_key(&key) {
            uses.entry(key)
                .or_default()
                .fetch_max(at, Ordering::Relaxed);
        }
    }

    /// Returns the last use of an API key, if that use is not yet stored in the database.
    #[must_use]
    pub fn of(&self, organization: Uuid, id: Uuid) -> Option<Timestamp> {
        let uses = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let at = uses.get(&(organization, id))?.load(Ordering::Relaxed);
        Timestamp::from_millisecond(at).ok()
    }

    /// Stores all collected uses of API keys in the database. A use that cannot be stored is
    /// dropped; the next use of its key replaces it.
    pub async fn store_all(&self, store: &Store) -> Result<()> {
        let mut uses: Vec<(ApiKeyId, i64)> = {
            let mut uses = self.0.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *uses)
                .into_iter()
                .map(|(key, at)| (key, at.into_inner()))
                .collect()
        };
        uses.sort_unstable();
        for batch in uses.chunks(BATCH) {
            let batch = batch.to_vec();
            store.write(move |tx| write(tx, &batch)).await?;
        }
        Ok(())
    }
}

fn write(tx: &mut Transaction<'_>, uses: &[(ApiKeyId, i64)]) -> Result<()> {
    for ((organization, id), at) in uses {
        let Ok(at) = Timestamp::from_millisecond(*at) else {
            continue;
        };
        tx.execute(&STORE_USE, &values![*organization, *id, at])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_use_of_a_key_is_remembered() {
        let (organization, id) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let at = |second| Timestamp::from_second(second).unwrap();
        let uses = Uses::default();
        uses.record(
            Owner {
                organization,
                credential: Credential::Member(id),
            },
            at(5),
        );
        assert_eq!(uses.of(organization, id), None);
        for second in [10, 30, 20] {
            uses.record(
                Owner {
                    organization,
                    credential: Credential::ApiKey(id),
                },
                at(second),
            );
        }
        assert_eq!(uses.of(organization, id), Some(at(30)));
        assert_eq!(uses.of(id, organization), None);
    }
}
