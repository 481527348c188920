//! Background work that deletes files: files after their retention, bytes whose rows are deleted,
//! and bytes that have no row.
//!
//! One transaction deletes a row and queues its storage key for removal, so no row lacks its bytes.
//! Any node deletes the bytes of queued keys. Two nodes may delete the same bytes without harm. If
//! a process ends while it receives a file, the received bytes have neither a row nor a queued key.
//! Once an hour, one node finds such bytes by listing all keys.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use engine::access::Access;
use engine::background::BackgroundTask;
use engine::context::{Context, RaisedRevision, System};
use engine::error::{Error, Result};
use engine::pipeline::Service;
use engine::sweeping;
use engine::uploads::{Uploads, created_at, folder};
use engine::values;
use futures_util::{FutureExt as _, StreamExt as _, TryStreamExt as _};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use store::Transaction;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::records::{self, REMOVALS};
use crate::events;
use crate::records::{Property, RecordKind, Reservation, record_as, records_as};

/// Time between two sweeps.
const INTERVAL: Duration = Duration::from_secs(60);
/// Maximum time between two checks of whether a file's retention is over. Frequent checks are
/// needed, because the dates of the stay may change.
const MAX_CHECK_INTERVAL: SignedDuration = SignedDuration::from_hours(24);
/// Number of rows of files, or of storage keys in the queue, that one transaction processes.
const BATCH_SIZE: usize = 100;
/// Maximum number of batches in one sweep. The limit keeps other writes from waiting for long.
const MAX_BATCHES: usize = 100;
/// Number of storage keys that one query compares with the rows of files.
const LOOKUP_SIZE: usize = 500;
/// Maximum number of concurrent deletions in the storage.
const MAX_CONCURRENT: usize = 8;
/// Time between two listings of all keys in the storage.
const LISTING_INTERVAL: SignedDuration = SignedDuration::from_hours(1);
/// Minimum age of a stored file that has no row in the database before the sweep deletes the file.
/// For a younger file, the transaction that inserts its row may not have committed yet.
const MIN_AGE: SignedDuration = SignedDuration::from_hours(1);
/// The name of the duty that lists all storage keys and deletes each stored file that has no row in
/// `guest_file`. A duty is periodic work that one node does for all nodes.
const DUTY: &str = "unnamed_files";

store::statements! {
    /// Selects files whose retention must be checked again now.
    DUE = "select f.organization_id, f.id from guest_file f
        join organization o on o.id = f.organization_id
        where f.due_at <= ?1 and o.erased_at is null order by f.due_at limit ?2";
    /// Selects, of the files `?2`, those whose retention check is still due, each with the id of
    /// its stay.
    DUE_AMONG = "select id, reservation_id from guest_file where organization_id = ?1
        and id = any(?2) and due_at <= ?3";
    /// Sets the time at which the retention of a file is checked next.
    SET_NEXT_CHECK = "update guest_file set due_at = ?3 where organization_id = ?1 and id = ?2";
    /// Queues a folder of the storage, so that all files in it are deleted.
    QUEUE_FOLDER = "insert into file_removal (organization_id, key) values (?1, ?2)
        on conflict do nothing";
    /// Selects files whose next retention check is after `?1`, the latest first. `?1` is the latest
    /// time that a correct clock could have written. A later time was written while the clock was
    /// ahead.
    LATE = "select organization_id, id from guest_file where due_at > ?1 order by due_at desc
        limit ?2";
    /// Sets the time of a file's next retention check to a timestamp, if the stored time is after
    /// that timestamp.
    BRING_FORWARD = engine::some_late!("guest_file", "id", "due_at");
    /// Selects queued keys in the order of organization and key, starting after a given
    /// organization and key.
    QUEUED_KEYS = "select organization_id, key from file_removal
        where (organization_id, key) > (?1, ?2) order by organization_id, key limit ?3";
    /// Removes the storage key of a file from the queue `file_removal`, after the file's bytes were
    /// deleted from the storage.
    DEQUEUE = "delete from file_removal where organization_id = ?1 and key = ?2";
    /// Selects those of the given storage keys that belong to a file of an organization that is not
    /// erased.
    KEYS_WITH_ROW = "select f.key from guest_file f join organization o on o.id = f.organization_id
        where f.key = any(?1) and o.erased_at is null";
    /// Claims a duty, which is periodic work that one node does for all nodes, if the duty is due.
    /// Sets the time at which it is next due. Also claims a duty whose stored due time is later
    /// than this new time, because only a clock that was ahead can have set it.
    TAKE_DUTY = "update duty set due_at = ?3 where name = ?1 and (due_at <= ?2 or due_at > ?3)";
    /// Claims a duty (periodic work that one node does on behalf of all nodes) that has no row yet.
    /// Inserts the row with the time at which the duty is next due.
    BEGIN_DUTY = "insert into duty (name, due_at) values (?1, ?2) on conflict do nothing";
}

/// The time for which files are stored after check-out.
#[derive(Debug, Clone, Copy)]
pub struct UploadRetention(pub Duration);

/// Returns the end of the retention of a stay's files: check-out plus `retention`. For a stay
/// without a flat, check-out is the end of the check-out date in UTC.
fn retention_end(
    reservation: &Reservation,
    property: Option<&Property>,
    retention: Duration,
) -> Timestamp {
    let day = reservation.check_out;
    let end = || {
        day.at(23, 59, 59, 0)
            .to_zoned(TimeZone::UTC)
            .map_or(Timestamp::MAX, |end| end.timestamp())
    };
    let check_out = events::check_out(reservation, property).unwrap_or_else(end);
    check_out.checked_add(retention).unwrap_or(Timestamp::MAX)
}

/// Returns the next time at which the retention of a stay's files is checked: the end of the
/// retention by the stay's current dates, or one day from now if that is earlier.
pub(super) fn next_retention_check(
    context: &Context<'_, '_>,
    reservation: &Reservation,
    property: Option<&Property>,
) -> Result<Timestamp> {
    let UploadRetention(retention) = *context.extension()?;
    let tomorrow = context
        .now()
        .checked_add(MAX_CHECK_INTERVAL)
        .unwrap_or(Timestamp::MAX);
    Ok(retention_end(reservation, property, retention).min(tomorrow))
}

/// Queues the storage folder of an organization for removal, with all files in it.
pub(crate) fn remove_folder(system: &mut System<'_, '_>, organization: Uuid) -> Result<()> {
    system
        .tx
        .execute(&QUEUE_FOLDER, &values![organization, folder(organization)])?;
    system.wake_signals.insert(REMOVALS);
    Ok(())
}

/// Sweeps the files of guests once a minute. Also deletes the stored files whose storage keys are
/// queued, as soon as a transaction has queued keys. Ends when `stop` is cancelled.
pub fn run(service: Arc<Service>, stop: CancellationToken) -> BackgroundTask {
    async move {
        let keys_queued = service.app_state.wake_signal(REMOVALS);
        let mut ticks = tokio::time::interval(INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let is_tick = tokio::select! {
                () = stop.cancelled() => return,
                _ = ticks.tick() => true,
                () = keys_queued.notified() => false,
            };
            let work = async {
                if is_tick {
                    sweep(&service).await;
                } else {
                    log_failure(
                        remove_queued(&service).await,
                        "could not delete removed files from the storage; retrying at the next \
                            sweep",
                    );
                }
            };
            // Cancelling a sweep is safe: started transactions still commit, and a process that
            // starts later does the remaining work.
            if stop.run_until_cancelled(work).await.is_none() {
                return;
            }
        }
    }
    .boxed()
}

/// Deletes guests' files whose retention is over, stored files whose keys are queued for deletion,
/// and stored files that have no row in `guest_file`.
pub async fn sweep(service: &Arc<Service>) {
    log_failure(
        remove_expired(service).await,
        "could not delete files after their retention; retrying at the next sweep",
    );
    log_failure(
        remove_queued(service).await,
        "could not delete removed files from the storage; retrying at the next sweep",
    );
    log_failure(
        remove_without_row(service).await,
        "could not delete files without a database row; retrying at the next sweep",
    );
}

fn log_failure(result: Result<()>, message: &str) {
    if let Err(error) = result {
        tracing::warn!(cause = error.cause(), "{message}");
    }
}

/// Checks the retention of the files that are due for a check, and removes the files whose
/// retention is over.
async fn remove_expired(service: &Arc<Service>) -> Result<()> {
    let latest = service.clock.now().checked_add(MAX_CHECK_INTERVAL);
    let latest = latest.unwrap_or(Timestamp::MAX);
    let forward =
        move |tx: &mut Transaction<'_>| sweeping::bring_forward(tx, &LATE, &BRING_FORWARD, latest);
    while service.store.write(forward).await? {}
    for _ in 0..MAX_BATCHES {
        let now = service.clock.now();
        let due = service
            .store
            .read(move |tx| {
                tx.rows(
                    &DUE,
                    &values![now, i64::try_from(BATCH_SIZE).unwrap_or(i64::MAX)],
                )
            })
            .await?;
        let mut files = HashMap::<Uuid, Vec<Uuid>>::new();
        for row in &due {
            files.entry(row.get(0)?).or_default().push(row.get(1)?);
        }
        for (organization, ids) in files {
            let shared = service.clone();
            service
                .store
                .write(move |tx| check_retention(tx, &shared, organization, ids, now))
                .await?;
        }
        if due.len() < BATCH_SIZE {
            return Ok(());
        }
    }
    Ok(())
}

/// Removes those of the files `ids` whose retention is over. Sets the time of the next check for
/// the other files.
fn check_retention(
    tx: &mut Transaction<'_>,
    service: &Service,
    organization: Uuid,
    ids: Vec<Uuid>,
    now: Timestamp,
) -> Result<()> {
    let access = Access::platform();
    let mut context = match Context::for_writing(
        service.system(tx, now),
        organization,
        &access,
        RaisedRevision::Stream,
    ) {
        Ok(context) => context,
        // The organization is being erased, and the erasure removes its files as well.
        Err(error) if error.kind() == engine::error::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let rows = context.rows(&DUE_AMONG, values![ids, now])?;
    let due = rows
        .iter()
        .map(|row| Ok((row.get(0)?, row.get(1)?)))
        .collect::<Result<Vec<(Uuid, Uuid)>>>()?;
    let stays: HashSet<Uuid> = due.iter().map(|(_, stay)| *stay).collect();
    let stays: HashMap<Uuid, Reservation> = records_as(
        &mut context,
        RecordKind::Reservation,
        stays.into_iter().collect(),
    )?;
    let mut next_checks = HashMap::new();
    for (id, reservation) in stays {
        let property = reservation
            .property_id
            .map(|id| record_as::<Property>(&mut context, RecordKind::Property, id))
            .transpose()?
            .flatten();
        next_checks.insert(
            id,
            next_retention_check(&context, &reservation, property.as_ref())?,
        );
    }
    let mut expired = Vec::new();
    let mut rechecks = Vec::new();
    for (file, stay) in due {
        match next_checks.get(&stay) {
            Some(next_check) if *next_check > now => rechecks.push(values![file, *next_check]),
            _ => expired.push(file),
        }
    }
    for row in rechecks {
        context.execute(&SET_NEXT_CHECK, row)?;
    }
    records::remove(&mut context, expired)
}

/// Deletes the stored bytes of the files whose storage keys are queued for removal. Each batch
/// starts after the last key of the previous batch. So if the deletion for a key fails, this run
/// does not try that key again.
async fn remove_queued(service: &Arc<Service>) -> Result<()> {
    let mut last_key = (Uuid::nil(), String::new());
    let mut failed = None;
    for _ in 0..MAX_BATCHES {
        let from = last_key.clone();
        let limit = i64::try_from(BATCH_SIZE).unwrap_or(i64::MAX);
        let rows = service
            .store
            .read(move |tx| tx.rows(&QUEUED_KEYS, &values![from.0, from.1, limit]))
            .await?;
        let queued = rows
            .iter()
            .map(|row| Ok((row.get(0)?, row.get(1)?)))
            .collect::<Result<Vec<(Uuid, String)>>>()?;
        let Some(last) = queued.last() else { break };
        last_key.clone_from(last);
        let is_last = queued.len() < BATCH_SIZE;
        let removals = futures_util::stream::iter(queued).map(|(organization, key)| async move {
            let result = remove_bytes(service, &key).await;
            result.map(|()| (organization, key))
        });
        let mut deleted = Vec::new();
        for result in removals
            .buffer_unordered(MAX_CONCURRENT)
            .collect::<Vec<_>>()
            .await
        {
            match result {
                Ok(row) => deleted.push(row),
                Err(error) => failed = Some(error),
            }
        }
        if !deleted.is_empty() {
            // Several nodes may dequeue the same keys. Because each node dequeues in sorted order,
            // the nodes cannot deadlock.
            deleted.sort();
            service
                .store
                .write(move |tx| {
                    deleted.into_iter().try_for_each(|(organization, key)| {
                        tx.execute(&DEQUEUE, &values![organization, key]).map(drop)
                    })
                })
                .await?;
        }
        if is_last {
            break;
        }
    }
    failed.map_or(Ok(()), Err)
}

/// Deletes the object with this key from the file storage. A key that ends with `/` is a folder,
/// and all objects in it are deleted. Without a configured storage there is nothing to delete.
async fn remove_bytes(service: &Service, key: &str) -> Result<()> {
    let Some(uploads) = service.app_state.extension::<Uploads>() else {
        return Ok(());
    };
    if let Some(folder) = key.strip_suffix('/') {
        let keys = uploads.files.list(Some(folder));
        let removals = keys.try_for_each_concurrent(MAX_CONCURRENT, |key| async move {
            uploads.files.delete(&key).await
        });
        return removals.await.map_err(Error::unavailable);
    }
    uploads.files.delete(key).await.map_err(Error::unavailable)
}

/// Deletes the stored files that have no row in the database. Once an hour, one node claims this
/// duty and does it.
async fn remove_without_row(service: &Arc<Service>) -> Result<()> {
    let Some(uploads) = service.app_state.extension::<Uploads>() else {
        return Ok(());
    };
    let now = service.clock.now();
    let next = now.checked_add(LISTING_INTERVAL).unwrap_or(Timestamp::MAX);
    let take = move |tx: &mut Transaction<'_>| {
        let taken = tx.execute(&TAKE_DUTY, &values![DUTY, now, next])?;
        if taken > 0 {
            Ok(taken)
        } else {
            tx.execute(&BEGIN_DUTY, &values![DUTY, next])
        }
    };
    if service.store.write(take).await? == 0 {
        return Ok(());
    }
    let oldest = now.checked_sub(MIN_AGE).unwrap_or(Timestamp::MIN);
    // This service creates only keys that contain their creation time. A key without such a time
    // belongs to other software, so its bytes are not deleted.
    let is_old = move |key: &str| created_at(key).is_some_and(|created| created <= oldest);
    uploads
        .files
        .clear_unfinished(is_old)
        .await
        .map_err(Error::unavailable)?;
    let mut pages = uploads
        .files
        .list(None)
        .try_filter(move |key| std::future::ready(is_old(key)))
        .try_chunks(LOOKUP_SIZE);
    while let Some(page) = pages.next().await {
        let keys = page.map_err(Error::unavailable)?;
        let lookup = keys.clone();
        let rows = service
            .store
            .read(move |tx| tx.rows(&KEYS_WITH_ROW, &values![lookup]))
            .await?;
        let with_row = rows
            .iter()
            .map(|row| Ok(row.get(0)?))
            .collect::<Result<HashSet<String>>>()?;
        let without_row: Vec<String> = keys
            .into_iter()
            .filter(|key| !with_row.contains(key))
            .collect();
        let count = without_row.len();
        let removals = futures_util::stream::iter(without_row).map(Ok);
        let removals = removals.try_for_each_concurrent(MAX_CONCURRENT, |key| async move {
            uploads.files.delete(&key).await
        });
        removals.await.map_err(Error::unavailable)?;
        if count > 0 {
            tracing::info!(count, "deleted files without a database row");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_kept_for_the_retention_time_after_check_out() {
        let stay = serde_json::json!({
            "propertyId": null,
            "status": "confirmed",
            "channel": "direct",
            "bookedAt": "2026-11-02T10:00:00.000Z",
            "checkIn": "2026-12-11",
            "checkOut": "2026-12-15",
            "guest": {},
        });
        let stay: Reservation = serde_json::from_value(stay).unwrap();
        let flat = serde_json::json!({
            "name": "Flat",
            "timezone": "Europe/Madrid",
            "country": "ES",
            "checkOutTime": "11:00",
        });
        let flat: Property = serde_json::from_value(flat).unwrap();
        let until = |property, hours: u64| {
            retention_end(&stay, property, Duration::from_secs(hours * 3_600)).to_string()
        };
        assert_eq!(until(Some(&flat), 720), "2027-01-14T10:00:00Z");
        assert_eq!(until(Some(&flat), 0), "2026-12-15T10:00:00Z");
        assert_eq!(until(None, 24), "2026-12-16T23:59:59Z");
        assert_eq!(retention_end(&stay, None, Duration::MAX), Timestamp::MAX);
    }
}
