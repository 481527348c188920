//! Background work that tells the platform when a charge is due, and when a paid deposit is to be
//! released.
//!
//! Every node runs it. One transaction locks the organization, writes the notice and marks the
//! charge. So only one node sends a notice, and only once.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use engine::access::Access;
use engine::context::Context;
use engine::error::{Error, Result};
use engine::kit::Bell;
use engine::operation::Touches;
use engine::pipeline::Service;
use engine::values;
use jiff::Timestamp;
use store::Transaction;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::records::{self, from_row};

/// Maximum pause between two searches for due charges. A notice is sent within 60 s of its moment,
/// also if another node wrote the charge.
const LONGEST_SLEEP: Duration = Duration::from_secs(20);
/// Minimum pause between two searches.
const SHORTEST_SLEEP: Duration = Duration::from_millis(200);
/// Maximum number of notices in one transaction. The organization is locked during it.
const BATCH: i64 = 100;

store::statements! {
    /// Selects the organization of the charge whose notice has been due longest at the given
    /// moment. Some organizations are excluded.
    DUE = "select c.organization_id from guest_charge c join organization o on o.id = c.organization_id
        where c.notice_at <= ?1 and not (c.organization_id = any(?2)) and o.erased_at is null
        order by c.notice_at, c.organization_id limit 1";
    /// Selects charges of an organization whose notice is due at the given moment.
    DUE_WITHIN = "select doc from guest_charge where organization_id = ?1 and notice_at <= ?2 order by notice_at, id limit ?3";
    /// Selects the moment of the next notice.
    FIRST = "select c.notice_at from guest_charge c join organization o on o.id = c.organization_id
        where c.notice_at is not null and o.erased_at is null order by c.notice_at limit 1";
}

/// Sends the platform a notice when a charge is due, and when a paid deposit is to be released.
#[derive(Clone)]
pub struct ChargeTeller(Arc<Service>);

impl ChargeTeller {
    /// Makes a teller.
    #[must_use]
    pub fn new(service: Arc<Service>) -> Self {
        Self(service)
    }

    /// Sends due notices until `stop` is cancelled.
    pub async fn run(self, stop: CancellationToken) {
        while !stop.is_cancelled() {
            if stop.run_until_cancelled(self.step()).await.is_none() {
                return;
            }
            let sleep = self.sleep().await;
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(sleep) => {}
            }
        }
    }

    /// Sends the notices of all charges that are due now. Returns the number of notices. An
    /// organization that cannot be locked does not delay the others.
    pub async fn step(&self) -> usize {
        let now = self.0.clock.now();
        let (mut count, mut unavailable) = (0, Vec::new());
        while let Some(told) = self.tell_some(now, &mut unavailable).await {
            count += told;
        }
        count
    }

    /// Sends the due notices of one organization, up to the limit of one transaction. Returns
    /// `None` if none is left.
    async fn tell_some(&self, now: Timestamp, unavailable: &mut Vec<Uuid>) -> Option<usize> {
        let except = unavailable.clone();
        let found = self.0.store.read(move |tx| due(tx, now, except)).await;
        let organization = match found {
            Ok(found) => found?,
            Err(error) => {
                warn(&error);
                return None;
            }
        };
        let shared = self.0.clone();
        let told = self
            .0
            .store
            .write(move |tx| tell(tx, &shared, organization, now))
            .await;
        match told {
            Ok((count, rung)) => {
                self.0.kit.ring(&rung);
                // A standby may still list charges whose notice was given already.
                if count == 0 {
                    unavailable.push(organization);
                }
                Some(count)
            }
            Err(error) => {
                warn(&error);
                unavailable.push(organization);
                Some(0)
            }
        }
    }

    /// Returns the time until the next search.
    async fn sleep(&self) -> Duration {
        let sleep = match self.0.store.read(first).await {
            Ok(Some(first)) => Duration::try_from(self.0.clock.now().duration_until(first))
                .unwrap_or(Duration::ZERO)
                .min(LONGEST_SLEEP),
            Ok(None) => LONGEST_SLEEP,
            Err(error) => {
                warn(&error);
                LONGEST_SLEEP
            }
        };
        sleep.max(SHORTEST_SLEEP)
    }
}

/// Returns an organization that has a due notice. Skips the organizations in `except`.
fn due(tx: &mut Transaction<'_>, now: Timestamp, except: Vec<Uuid>) -> Result<Option<Uuid>> {
    Ok(tx
        .row(&DUE, &values![now, except])?
        .map(|row| row.get(0))
        .transpose()?)
}

/// Returns the moment of the next notice.
fn first(tx: &mut Transaction<'_>) -> Result<Option<Timestamp>> {
    Ok(tx.row(&FIRST, &[])?.map(|row| row.get(0)).transpose()?)
}

/// Gives the due notices of an organization. Returns their number, and the wake signals to send.
fn tell(
    tx: &mut Transaction<'_>,
    service: &Service,
    organization: Uuid,
    now: Timestamp,
) -> Result<(usize, BTreeSet<Bell>)> {
    let access = Access::platform();
    let mut context = Context::for_writing(
        service.system(tx, now),
        organization,
        &access,
        Touches::Stream,
    )?;
    let rows = context.rows(&DUE_WITHIN, values![now, BATCH])?;
    let mut charges = rows.iter().map(from_row).collect::<Result<Vec<_>>>()?;
    for stored in &mut charges {
        if let Some(notice) = stored.tell(now) {
            records::note(&mut context, notice, stored)?;
        }
    }
    records::save(&mut context, &charges)?;
    Ok((charges.len(), context.rung()))
}

fn warn(error: &Error) {
    tracing::warn!(
        cause = error.cause().unwrap_or_default(),
        "could not tell which charges are due; retrying at the next look"
    );
}
