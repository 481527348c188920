//! Adapts charges to changes of their stays: moved dates, other flats, cancellations.

use std::collections::{BTreeSet, HashMap};

use engine::context::Context;
use engine::error::Result;
use engine::values;
use uuid::Uuid;

use super::charge::StoredCharge;
use super::records::{self, from_row};
use super::stay_times::StayTimes;
use crate::records::{
    Dependents, Property, RecordKind, Reservation, ReservationStatus, records_as,
};

store::statements! {
    /// Selects the charges of stays in the given properties. Omits charges about which no further
    /// notice to the platform is planned.
    OPEN_IN = "select c.doc from record r join guest_charge c on c.organization_id = ?1
        and c.reservation_id = r.id
        where r.organization_id = ?1 and r.kind = 'reservation' and r.property_id = any(?2)
        and c.notice_at is not null";
}

/// Updates the charges of changed reservations, and of stays in changed properties. The due and
/// release times of deposits follow the times of the stay, and a cancelled stay cancels its open
/// charges. The changed records are already stored.
pub(in crate::guest) fn follow_stays(
    context: &mut Context<'_, '_>,
    kind: RecordKind,
    ids: &[Uuid],
) -> Result<()> {
    let charges = match kind.dependents() {
        Dependents::Stay => records::of_stays(context, ids.to_vec())?,
        Dependents::Flat => context
            .rows(&OPEN_IN, values![ids])?
            .iter()
            .map(from_row)
            .collect::<Result<_>>()?,
        Dependents::Assignments | Dependents::Brandings | Dependents::None => return Ok(()),
    };
    if charges.is_empty() {
        return Ok(());
    }
    let stays: BTreeSet<Uuid> = charges
        .iter()
        .map(|stored| stored.charge.reservation_id)
        .collect();
    let stays: HashMap<Uuid, Reservation> = records_as(
        context,
        RecordKind::Reservation,
        stays.into_iter().collect(),
    )?;
    let properties: BTreeSet<Uuid> = stays.values().filter_map(|stay| stay.property_id).collect();
    let properties: HashMap<Uuid, Property> = records_as(
        context,
        RecordKind::Property,
        properties.into_iter().collect(),
    )?;
    let now = context.now();
    let mut changed: Vec<StoredCharge> = Vec::new();
    for mut stored in charges {
        let Some(stay) = stays.get(&stored.charge.reservation_id) else {
            continue;
        };
        let stay_times = stay
            .property_id
            .and_then(|id| properties.get(&id))
            .map(|flat| StayTimes::of(stay, flat));
        let is_cancelled = stay.status == ReservationStatus::Cancelled;
        let is_moved = stored.follow_stay(is_cancelled, stay_times.as_ref(), now);
        let renewed = if is_cancelled {
            None
        } else {
            stored.replacement_charge(context.new_id(), stay_times.as_ref(), now)
        };
        if is_moved || renewed.is_some() {
            changed.push(stored);
        }
        changed.extend(renewed);
    }
    records::save(context, &changed)
}
