//! Background work that tells the platform when a charge is due, and when a paid deposit must be
//! released.
//!
//! Every node runs this work. One transaction locks the organization, records the notice in the
//! list of guests' changes, and stores in the charge that the notice was sent. So only one node
//! sends a notice, and only once.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use engine::access::Access;
use engine::app_state::WakeSignal;
use engine::background::BackgroundTask;
use engine::context::Context;
use engine::due::{DueWork, DueWorker};
use engine::error::Result;
use engine::operation::RaisedRevision;
use engine::pipeline::Service;
use engine::values;
use jiff::Timestamp;
use store::Transaction;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::records::{self, from_row};

/// Maximum pause between two searches for due charges. It ensures that a notice is sent within 60 s
/// of its time, even if another node wrote the charge.
const LONGEST_PAUSE: Duration = Duration::from_secs(20);
/// Maximum number of notices in one transaction, which locks the organization.
const BATCH_SIZE: i64 = 100;

store::statements! {
    /// Selects the organization of the charge whose notice has been due for the longest time. `?2`
    /// lists organizations to skip.
    DUE = "select c.organization_id from guest_charge c
        join organization o on o.id = c.organization_id
        where c.notice_at <= ?1 and not (c.organization_id = any(?2)) and o.erased_at is null
        order by c.notice_at, c.organization_id limit 1";
    /// Selects charges of an organization whose notice to the platform is due at `?2` or earlier,
    /// the earliest first.
    DUE_WITHIN = "select doc from guest_charge where organization_id = ?1 and notice_at <= ?2
        order by notice_at, id limit ?3";
    /// Selects the earliest time at which a notice about a charge is due.
    FIRST = "select c.notice_at from guest_charge c join organization o on o.id = c.organization_id
        where c.notice_at is not null and o.erased_at is null order by c.notice_at limit 1";
}

/// The background worker that tells the platform about due charges and about deposits to release.
pub type ChargeNoticeWorker = DueWorker<ChargeNotices>;

/// Sends the notices that are due until `stop` is cancelled.
#[must_use]
pub fn run(service: Arc<Service>, stop: CancellationToken) -> BackgroundTask {
    ChargeNoticeWorker::new(service).run(stop)
}

/// Finds the charges whose notice is due, and records the notices. [`ChargeNoticeWorker`] runs this
/// work.
pub struct ChargeNotices;

impl DueWork for ChargeNotices {
    const MIN_DELAY: Duration = Duration::from_millis(200);
    const RETRY_DELAY: Duration = Duration::from_secs(5);
    const FAILED: &str = "could not send notices about due charges; retrying at the next search";

    fn max_delay(_service: &Service) -> Duration {
        LONGEST_PAUSE
    }

    fn find(tx: &mut Transaction<'_>, until: Timestamp, except: Vec<Uuid>) -> Result<Option<Uuid>> {
        Ok(tx
            .row(&DUE, &values![until, except])?
            .map(|row| row.get(0))
            .transpose()?)
    }

    fn perform(
        tx: &mut Transaction<'_>,
        service: &Service,
        organization: Uuid,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<(usize, BTreeSet<WakeSignal>)> {
        let access = Access::platform();
        let mut context = Context::for_writing(
            service.system(tx, now),
            organization,
            &access,
            RaisedRevision::Stream,
        )?;
        let rows = context.rows(&DUE_WITHIN, values![until, BATCH_SIZE])?;
        let mut charges = rows.iter().map(from_row).collect::<Result<Vec<_>>>()?;
        for stored in &mut charges {
            if let Some(notice) = stored.take_due_notice(now) {
                records::record_notice(&mut context, notice, stored)?;
            }
        }
        records::save(&mut context, &charges)?;
        Ok((charges.len(), context.take_wake_signals()))
    }

    fn first(tx: &mut Transaction<'_>) -> Result<Option<Timestamp>> {
        Ok(tx.row(&FIRST, &[])?.map(|row| row.get(0)).transpose()?)
    }
}
