//! Timers of devices that are back, and what is due by them: the database side of the timekeeper.
//!
//! A timer is a row: a device, and since when it has been back. It is written in the transaction of the change that began it,
//! so it outlives the process. How long a device has to stay is no part of it; that is the timekeeper's to say.
//!
//! Whoever begins, ends or fires a timer has locked the organization first. Firing takes the row in the transaction that
//! fires, so that of several nodes one finds it.

use std::collections::{BTreeSet, HashMap};

use engine::access::Access;
use engine::context::Context;
use engine::error::Result;
use engine::kit::Bell;
use engine::operation::Touches;
use engine::pipeline::Service;
use engine::values;
use jiff::Timestamp;
use store::Transaction;
use uuid::Uuid;

use super::derive::{Timer, is_back};
use super::{Event, fire_all};
use crate::events::Happening;
use crate::records::{Device, Kind, typed_among};

/// Timers fired in one transaction at the most: an organization is locked as long as that takes.
const BATCH: i64 = 100;

store::statements! {
    /// Begins a device's timer, anew where there is one.
    ARM = "insert into device_timer (organization_id, device_id, online_since) values (?1, ?2, ?3)
        on conflict (organization_id, device_id) do update set online_since = excluded.online_since";
    /// Ends devices' timers.
    DISARM = "delete from device_timer where organization_id = ?1 and device_id = any(?2)";
    /// The organization of the device that has been back for longest, at least since then; some organizations are left out.
    DUE = "select t.organization_id from device_timer t join organization o on o.id = t.organization_id
        where t.online_since <= ?1 and not (t.organization_id = any(?2)) and o.erased_at is null
        order by t.online_since, t.organization_id limit 1";
    /// Devices of an organization that have been back at least since then.
    DUE_WITHIN = "select device_id from device_timer where organization_id = ?1 and online_since <= ?2
        order by online_since, device_id limit ?3";
    /// Since when the device that has been back for longest has been.
    FIRST = "select t.online_since from device_timer t join organization o on o.id = t.organization_id
        where o.erased_at is null order by t.online_since limit 1";
}

/// Does to devices' timers what a change of each device means for it.
pub(crate) fn set_all(context: &mut Context<'_, '_>, timers: &HashMap<Uuid, Timer>) -> Result<()> {
    let of = |wanted: Timer| timers.iter().filter(move |(_, timer)| **timer == wanted).map(|(device, _)| *device);
    let (ended, begun): (Vec<Uuid>, Vec<Uuid>) = (of(Timer::Disarm).collect(), of(Timer::Arm).collect());
    if !ended.is_empty() {
        disarm(context, ended)?;
    }
    let now = context.now();
    context.execute_many(&ARM, begun.into_iter().map(|device| values![device, now]).collect()).map(drop)
}

/// Ends devices' timers, where they have one.
fn disarm(context: &mut Context<'_, '_>, devices: Vec<Uuid>) -> Result<()> {
    context.execute_along(&DISARM, values![devices])
}

/// An organization with a device that has been back at least since then, other than these.
pub(super) fn due(tx: &mut Transaction<'_>, since: Timestamp, except: Vec<Uuid>) -> Result<Option<Uuid>> {
    Ok(tx.row(&DUE, &values![since, except])?.map(|row| row.get(0)).transpose()?)
}

/// Fires timers of an organization's devices that have been back at least since then; how many, and what that leaves to do.
pub(super) fn expire(
    tx: &mut Transaction<'_>,
    service: &Service,
    organization: Uuid,
    since: Timestamp,
    now: Timestamp,
) -> Result<(usize, BTreeSet<Bell>)> {
    let access = Access::platform();
    let mut context = Context::for_writing(service.system(tx, now), organization, &access, Touches::Stream)?;
    let rows = context.rows(&DUE_WITHIN, values![since, BATCH])?;
    let ids = rows.iter().map(|row| Ok(row.get(0)?)).collect::<Result<Vec<Uuid>>>()?;
    disarm(&mut context, ids.clone())?;
    // What takes a device away has ended its timer; that it is there is what the event says, so it is looked at again.
    let devices: HashMap<Uuid, Device> = typed_among(&mut context, Kind::Device, ids.clone())?;
    let (event, kind) = (Event::DeviceReconnected, Kind::Device);
    let back = ids.into_iter().filter_map(|id| Some((id, devices.get(&id).filter(|device| is_back(device))?)));
    let happenings: Vec<_> =
        back.map(|(record_id, device)| Happening { event, kind, record_id, property_id: device.property_id }).collect();
    fire_all(&mut context, &happenings)?;
    Ok((rows.len(), context.rung()))
}

/// Since when the device whose timer is due first has been back.
pub(super) fn first(tx: &mut Transaction<'_>) -> Result<Option<Timestamp>> {
    Ok(tx.row(&FIRST, &[])?.map(|row| row.get(0)).transpose()?)
}
