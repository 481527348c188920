//! Deletes files in the background: files of stays that are long over, bytes whose rows are
//! deleted, and bytes that no row names.
//!
//! One transaction deletes a row and notes its key for removal, so a row never lacks its bytes. Any
//! node removes noted bytes, and removing them twice does no harm. A process that ends while it
//! receives a file leaves bytes that nobody noted. One node finds these by listing all keys once an
//! hour.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use engine::access::Access;
use engine::context::{Context, RaisedRevision, System};
use engine::error::{Error, Result};
use engine::pipeline::Service;
use engine::sweeping;
use engine::uploads::{Uploads, created_at, folder};
use engine::values;
use futures_util::{StreamExt as _, TryStreamExt as _};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use store::Transaction;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::records::{self, REMOVALS};
use crate::events;
use crate::records::{Property, RecordKind, Reservation, typed, typed_among};

/// How often the sweep runs.
const EVERY: Duration = Duration::from_secs(60);
/// How often the retention of a file is checked at least, because its stay may have been moved.
const LOOK: SignedDuration = SignedDuration::from_hours(24);
/// Rows or keys handled together.
const BATCH: usize = 100;
/// Batches handled in one run, before other work gets its turn.
const BATCHES: usize = 100;
/// Keys looked up together.
const PAGE: usize = 500;
/// Keys whose bytes are removed concurrently.
const AT_ONCE: usize = 8;
/// How often all keys are listed.
const ROUND: SignedDuration = SignedDuration::from_hours(1);
/// How long bytes may exist before a row must name them.
const UNNAMED: SignedDuration = SignedDuration::from_hours(1);
/// The name of the duty that lists all keys.
const DUTY: &str = "unnamed_files";

store::statements! {
    /// Selects files whose retention is due for a check.
    DUE = "select f.organization_id, f.id from guest_file f join organization o on o.id = f.organization_id
        where f.due_at <= ?1 and o.erased_at is null order by f.due_at limit ?2";
    /// Selects those of some files that are still due, and their stays.
    DUE_AMONG = "select id, reservation_id from guest_file where organization_id = ?1 and id = any(?2) and due_at <= ?3";
    /// Sets the time of a file's next check.
    LOOK_AGAIN = "update guest_file set due_at = ?3 where organization_id = ?1 and id = ?2";
    /// Notes a folder whose files are to be removed.
    NOTE_FOLDER = "insert into file_removal (organization_id, key) values (?1, ?2) on conflict do nothing";
    /// Selects files whose retention is due for a check after a moment, the latest first.
    LATE = "select organization_id, id from guest_file where due_at > ?1 order by due_at desc limit ?2";
    /// Makes some of them due at that moment.
    BRING_FORWARD = engine::some_late!("guest_file", "id", "due_at");
    /// Selects the keys after a given one whose bytes are to be removed.
    NOTED = "select organization_id, key from file_removal where (organization_id, key) > (?1, ?2) order by organization_id, key limit ?3";
    /// Deletes the note of a key whose bytes are removed.
    REMOVED = "delete from file_removal where organization_id = ?1 and key = ?2";
    /// Selects those of some keys that rows name.
    NAMED = "select f.key from guest_file f join organization o on o.id = f.organization_id where f.key = any(?1) and o.erased_at is null";
    /// Takes a duty that is due, until its next time. A later time was set by a clock that was
    /// ahead.
    TAKE_DUTY = "update duty set due_at = ?3 where name = ?1 and (due_at <= ?2 or due_at > ?3)";
    /// Takes a duty that has no row yet, until its next time.
    BEGIN_DUTY = "insert into duty (name, due_at) values (?1, ?2) on conflict do nothing";
}

/// How long files are kept after check-out.
#[derive(Debug, Clone, Copy)]
pub struct UploadRetention(pub Duration);

/// Returns the end of the retention of a stay's files: check-out plus `retention`. Where the flat
/// is not known, check-out is the end of that day in UTC.
fn kept_until(
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

/// Returns when the retention of a stay's files is checked next: at its end as known now, but
/// within a day.
pub(super) fn next_look(
    context: &Context<'_, '_>,
    reservation: &Reservation,
    property: Option<&Property>,
) -> Result<Timestamp> {
    let UploadRetention(retention) = *context.part()?;
    let tomorrow = context.now().checked_add(LOOK).unwrap_or(Timestamp::MAX);
    Ok(kept_until(reservation, property, retention).min(tomorrow))
}

/// Notes the folder of an organization, so that all its files are removed.
pub(crate) fn remove_folder(system: &mut System<'_, '_>, organization: Uuid) -> Result<()> {
    system
        .tx
        .execute(&NOTE_FOLDER, &values![organization, folder(organization)])?;
    system.wake_signals.insert(REMOVALS);
    Ok(())
}

/// Sweeps once a minute, and removes noted bytes as soon as keys are noted. Ends when `stop` is
/// cancelled.
pub(crate) async fn run(service: Arc<Service>, stop: CancellationToken) {
    let noted = service.app_state.wake_signal(REMOVALS);
    let mut minute = tokio::time::interval(EVERY);
    minute.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let is_minute = tokio::select! {
            () = stop.cancelled() => return,
            _ = minute.tick() => true,
            () = noted.notified() => false,
        };
        let swept = async {
            if is_minute {
                sweep(&service).await;
            } else {
                log_failure(
                    remove_noted(&service).await,
                    "could not delete removed files from the storage; retrying at the next sweep",
                );
            }
        };
        // A cancelled sweep is harmless: started work ends by itself, and the rest waits for the
        // next start.
        if stop.run_until_cancelled(swept).await.is_none() {
            return;
        }
    }
}

/// Removes files after their retention, noted bytes, and bytes without a row.
pub(crate) async fn sweep(service: &Arc<Service>) {
    log_failure(
        remove_old(service).await,
        "could not delete files after their retention; retrying at the next sweep",
    );
    log_failure(
        remove_noted(service).await,
        "could not delete removed files from the storage; retrying at the next sweep",
    );
    log_failure(
        remove_unnamed(service).await,
        "could not delete files without a database row; retrying at the next sweep",
    );
}

fn log_failure(swept: Result<()>, otherwise: &str) {
    if let Err(error) = swept {
        tracing::warn!(cause = error.cause(), "{otherwise}");
    }
}

/// Checks the files that are due, and removes those whose retention is over.
async fn remove_old(service: &Arc<Service>) -> Result<()> {
    let latest = service.clock.now().checked_add(LOOK);
    let latest = latest.unwrap_or(Timestamp::MAX);
    let forward =
        move |tx: &mut Transaction<'_>| sweeping::bring_forward(tx, &LATE, &BRING_FORWARD, latest);
    while service.store.write(forward).await? {}
    for _ in 0..BATCHES {
        let now = service.clock.now();
        let due = service
            .store
            .read(move |tx| {
                tx.rows(
                    &DUE,
                    &values![now, i64::try_from(BATCH).unwrap_or(i64::MAX)],
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
                .write(move |tx| look(tx, &shared, organization, ids, now))
                .await?;
        }
        if due.len() < BATCH {
            return Ok(());
        }
    }
    Ok(())
}

/// Removes those files whose retention is over, and sets the next check of the others.
fn look(
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
        // The organization is being erased, and its files with it.
        Err(error) if error.kind() == engine::error::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let rows = context.rows(&DUE_AMONG, values![ids, now])?;
    let due = rows
        .iter()
        .map(|row| Ok((row.get(0)?, row.get(1)?)))
        .collect::<Result<Vec<(Uuid, Uuid)>>>()?;
    let stays: HashSet<Uuid> = due.iter().map(|(_, stay)| *stay).collect();
    let stays: HashMap<Uuid, Reservation> = typed_among(
        &mut context,
        RecordKind::Reservation,
        stays.into_iter().collect(),
    )?;
    let mut looks = HashMap::new();
    for (id, reservation) in stays {
        let property = reservation
            .property_id
            .map(|id| typed::<Property>(&mut context, RecordKind::Property, id))
            .transpose()?
            .flatten();
        looks.insert(id, next_look(&context, &reservation, property.as_ref())?);
    }
    let mut over = Vec::new();
    let mut later = Vec::new();
    for (file, stay) in due {
        match looks.get(&stay) {
            Some(look) if *look > now => later.push(values![file, *look]),
            _ => over.push(file),
        }
    }
    for row in later {
        context.execute(&LOOK_AGAIN, row)?;
    }
    records::remove(&mut context, over)
}

/// Removes the bytes of the noted keys. Each batch starts after the last key of the batch before,
/// so keys that could not be removed are skipped.
async fn remove_noted(service: &Arc<Service>) -> Result<()> {
    let mut behind = (Uuid::nil(), String::new());
    let mut failed = None;
    for _ in 0..BATCHES {
        let from = behind.clone();
        let limit = i64::try_from(BATCH).unwrap_or(i64::MAX);
        let rows = service
            .store
            .read(move |tx| tx.rows(&NOTED, &values![from.0, from.1, limit]))
            .await?;
        let noted = rows
            .iter()
            .map(|row| Ok((row.get(0)?, row.get(1)?)))
            .collect::<Result<Vec<(Uuid, String)>>>()?;
        let Some(last) = noted.last() else { break };
        behind.clone_from(last);
        let is_last = noted.len() < BATCH;
        let removals = futures_util::stream::iter(noted).map(|(organization, key)| async move {
            let removed = remove_bytes(service, &key).await;
            removed.map(|()| (organization, key))
        });
        let mut gone = Vec::new();
        for removed in removals.buffer_unordered(AT_ONCE).collect::<Vec<_>>().await {
            match removed {
                Ok(row) => gone.push(row),
                Err(error) => failed = Some(error),
            }
        }
        if !gone.is_empty() {
            // Several nodes may remove the same keys. The sorted order keeps them from deadlocking.
            gone.sort();
            service
                .store
                .write(move |tx| {
                    gone.into_iter().try_for_each(|(organization, key)| {
                        tx.execute(&REMOVED, &values![organization, key]).map(drop)
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

/// Removes the bytes of a key, or of all keys in a folder. Without a configured storage there are
/// no bytes.
async fn remove_bytes(service: &Service, key: &str) -> Result<()> {
    let Some(uploads) = service.app_state.extension::<Uploads>() else {
        return Ok(());
    };
    if let Some(folder) = key.strip_suffix('/') {
        let keys = uploads.files.list(Some(folder));
        let removals =
            keys.try_for_each_concurrent(
                AT_ONCE,
                |key| async move { uploads.files.delete(&key).await },
            );
        return removals.await.map_err(Error::unavailable);
    }
    uploads.files.delete(key).await.map_err(Error::unavailable)
}

/// Removes bytes that no row names, once an hour, on the first node that takes the duty.
async fn remove_unnamed(service: &Arc<Service>) -> Result<()> {
    let Some(uploads) = service.app_state.extension::<Uploads>() else {
        return Ok(());
    };
    let now = service.clock.now();
    let next = now.checked_add(ROUND).unwrap_or(Timestamp::MAX);
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
    let oldest = now.checked_sub(UNNAMED).unwrap_or(Timestamp::MIN);
    // A key that does not follow our naming is not one of our files.
    let is_old = move |key: &str| created_at(key).is_some_and(|made| made <= oldest);
    uploads
        .files
        .clear_unfinished(is_old)
        .await
        .map_err(Error::unavailable)?;
    let mut pages = uploads
        .files
        .list(None)
        .try_filter(move |key| std::future::ready(is_old(key)))
        .try_chunks(PAGE);
    while let Some(page) = pages.next().await {
        let keys = page.map_err(Error::unavailable)?;
        let asked = keys.clone();
        let rows = service
            .store
            .read(move |tx| tx.rows(&NAMED, &values![asked]))
            .await?;
        let named = rows
            .iter()
            .map(|row| Ok(row.get(0)?))
            .collect::<Result<HashSet<String>>>()?;
        let unnamed: Vec<String> = keys
            .into_iter()
            .filter(|key| !named.contains(key))
            .collect();
        let count = unnamed.len();
        let removals = futures_util::stream::iter(unnamed).map(Ok);
        let removals = removals.try_for_each_concurrent(AT_ONCE, |key| async move {
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
            "propertyId": null, "status": "confirmed", "channel": "direct", "bookedAt": "2026-11-02T10:00:00.000Z",
            "checkIn": "2026-12-11", "checkOut": "2026-12-15", "guest": {},
        });
        let stay: Reservation = serde_json::from_value(stay).unwrap();
        let flat = serde_json::json!({ "name": "Flat", "timezone": "Europe/Madrid", "country": "ES", "checkOutTime": "11:00" });
        let flat: Property = serde_json::from_value(flat).unwrap();
        let until = |property, hours: u64| {
            kept_until(&stay, property, Duration::from_secs(hours * 3_600)).to_string()
        };
        assert_eq!(until(Some(&flat), 720), "2027-01-14T10:00:00Z");
        assert_eq!(until(Some(&flat), 0), "2026-12-15T10:00:00Z");
        assert_eq!(until(None, 24), "2026-12-16T23:59:59Z");
        assert_eq!(kept_until(&stay, None, Duration::MAX), Timestamp::MAX);
    }
}
