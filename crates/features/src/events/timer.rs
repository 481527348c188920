//! Timers of devices that are back online, in the table `device_timer`. The timekeeper
//! (`timekeeper.rs`) fires them.
//!
//! A timer is a row with a device and the time at which the device came back. The transaction of
//! the device's change writes the row, so the timer survives a restart. The row does not contain
//! the delay, which is a setting of the timekeeper.
//!
//! Code that starts, ends or fires a timer must lock the organization first. The transaction that
//! fires a timer also deletes its row, so that only one of several nodes fires it.

use std::collections::{BTreeSet, HashMap};

use engine::access::Access;
use engine::app_state::WakeSignal;
use engine::context::Context;
use engine::error::Result;
use engine::operation::RaisedRevision;
use engine::pipeline::Service;
use engine::sweeping;
use engine::values;
use jiff::Timestamp;
use store::Transaction;
use uuid::Uuid;

use super::derive::{TimerEffect, is_back};
use super::{Event, fire_all};
use crate::events::RecordEvent;
use crate::records::{Device, RecordKind, records_as};

/// Maximum number of timers fired in one transaction. The organization is locked during the
/// transaction.
const BATCH: i64 = 100;

store::statements! {
    /// Starts a device's timer, or restarts it.
    ARM = "insert into device_timer (organization_id, device_id, online_since) values (?1, ?2, ?3)
        on conflict (organization_id, device_id)
            do update set online_since = excluded.online_since";
    /// Deletes the timers of the given devices.
    DISARM = "delete from device_timer where organization_id = ?1 and device_id = any(?2)";
    /// Selects the organization that has the device whose timer started first, if that timer
    /// started at `?1` or earlier. A timer starts when its device comes back online. Skips the
    /// organizations in `?2`.
    DUE = "select t.organization_id from device_timer t
        join organization o on o.id = t.organization_id
        where t.online_since <= ?1 and not (t.organization_id = any(?2)) and o.erased_at is null
        order by t.online_since, t.organization_id limit 1";
    /// Selects the devices of an organization whose timers started at the time `?2` or before. A
    /// timer starts when its device comes back online.
    DUE_WITHIN = "select device_id from device_timer where organization_id = ?1
        and online_since <= ?2
        order by online_since, device_id limit ?3";
    /// Selects the earliest time at which a device with a timer came back online.
    FIRST = "select t.online_since from device_timer t
        join organization o on o.id = t.organization_id
        where o.erased_at is null order by t.online_since limit 1";
    /// Selects timers whose start is after the timestamp `?1`, the latest start first. With the
    /// current time as `?1`, these are timers that start in the future. Such a start was written
    /// while the clock of a node was ahead of the current clock.
    LATE = "select organization_id, device_id from device_timer where online_since > ?1
        order by online_since desc limit ?2";
    /// Sets the start of the given timers to a timestamp if the stored start is later.
    BRING_FORWARD = engine::some_late!("device_timer", "device_id", "online_since");
}

/// Restarts timers whose start is in the future, because the clock was ahead when they started.
/// Returns true if more of these timers may remain.
pub fn restart_future_timers(tx: &mut Transaction<'_>, now: Timestamp) -> Result<bool> {
    sweeping::bring_forward(tx, &LATE, &BRING_FORWARD, now)
}

/// Starts, restarts or ends the timers of changed devices. `timers` maps the id of each device to
/// the effect on its timer.
pub(crate) fn apply_timer_effects(
    context: &mut Context<'_, '_>,
    timers: &HashMap<Uuid, TimerEffect>,
) -> Result<()> {
    let devices_with = |effect: TimerEffect| {
        timers
            .iter()
            .filter(move |(_, timer)| **timer == effect)
            .map(|(device, _)| *device)
    };
    let (ended, begun): (Vec<Uuid>, Vec<Uuid>) = (
        devices_with(TimerEffect::Disarm).collect(),
        devices_with(TimerEffect::Arm).collect(),
    );
    if !ended.is_empty() {
        disarm(context, ended)?;
    }
    let now = context.now();
    context
        .execute_many(
            &ARM,
            begun
                .into_iter()
                .map(|device| values![device, now])
                .collect(),
        )
        .map(drop)
}

/// Ends the timers of these devices. A device without a timer is ignored.
fn disarm(context: &mut Context<'_, '_>, devices: Vec<Uuid>) -> Result<()> {
    context.execute_deferred(&DISARM, values![devices])
}

/// Returns an organization that has a timer whose start is at `since` or earlier. Skips the
/// organizations in `except`.
pub(super) fn due_organization(
    tx: &mut Transaction<'_>,
    since: Timestamp,
    except: Vec<Uuid>,
) -> Result<Option<Uuid>> {
    Ok(tx
        .row(&DUE, &values![since, except])?
        .map(|row| row.get(0))
        .transpose()?)
}

/// In one organization, ends a batch of the timers that started at `since` or earlier. Fires
/// `device.reconnected` for each device of these timers that is still online. Returns the number of
/// timers, and the wake signals to send after the commit.
pub(super) fn expire(
    tx: &mut Transaction<'_>,
    service: &Service,
    organization: Uuid,
    since: Timestamp,
    now: Timestamp,
) -> Result<(usize, BTreeSet<WakeSignal>)> {
    let access = Access::platform();
    let mut context = Context::for_writing(
        service.system(tx, now),
        organization,
        &access,
        RaisedRevision::Stream,
    )?;
    let rows = context.rows(&DUE_WITHIN, values![since, BATCH])?;
    let ids = rows
        .iter()
        .map(|row| Ok(row.get(0)?))
        .collect::<Result<Vec<Uuid>>>()?;
    disarm(&mut context, ids.clone())?;
    // The event fires only for devices that are still online. Deleted devices are not in `devices`.
    let devices: HashMap<Uuid, Device> = records_as(&mut context, RecordKind::Device, ids.clone())?;
    let (event, kind) = (Event::DeviceReconnected, RecordKind::Device);
    let online = ids
        .into_iter()
        .filter_map(|id| Some((id, devices.get(&id).filter(|device| is_back(device))?)));
    let events: Vec<_> = online
        .map(|(record_id, device)| RecordEvent {
            event,
            kind,
            record_id,
            property_id: device.property_id,
        })
        .collect();
    fire_all(&mut context, &events)?;
    Ok((rows.len(), context.take_wake_signals()))
}

/// Returns the start time of the timer that started first, among the running timers of all
/// organizations; `None` if no timer runs.
pub(super) fn earliest_timer(tx: &mut Transaction<'_>) -> Result<Option<Timestamp>> {
    Ok(tx.row(&FIRST, &[])?.map(|row| row.get(0)).transpose()?)
}
