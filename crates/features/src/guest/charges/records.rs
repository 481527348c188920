//! Reads and writes charges in the database. The column `notice_at` is the time of the next notice
//! about the charge, so that an index finds due notices.

use engine::context::Context;
use engine::error::Result;
use engine::moment::Moment;
use engine::values;
use store::{Json, Row, Value};
use uuid::Uuid;

use super::charge::{ChargeNoticeKind, StoredCharge};
use crate::guest::changes::{self, ChangeKind};

store::statements! {
    /// Inserts or replaces a charge.
    PUT_CHARGE = "insert into guest_charge
        (organization_id, id, reservation_id, status, notice_at, created_at, doc)
        values (?1, ?2, ?3, ?4, ?5, ?6, ?7)
        on conflict (organization_id, id) do update
        set status = excluded.status, notice_at = excluded.notice_at, doc = excluded.doc";
    /// Selects the charges of the given stays, oldest first.
    OF_STAYS = "select doc from guest_charge where organization_id = ?1 and reservation_id = any(?2)
        order by created_at, id";
    /// Selects a charge.
    CHARGE = "select doc from guest_charge where organization_id = ?1 and id = ?2";
    /// Deletes the charges of the given stays.
    FORGET_CHARGES = "delete from guest_charge where organization_id = ?1
        and reservation_id = any(?2)";
}

/// Reads a charge from a row whose first column is its document.
pub(super) fn from_row(row: &Row) -> Result<StoredCharge> {
    let Json(charge) = row.get(0)?;
    Ok(charge)
}

/// Returns the charges of these stays, oldest first.
pub(super) fn of_stays(
    context: &mut Context<'_, '_>,
    reservations: Vec<Uuid>,
) -> Result<Vec<StoredCharge>> {
    context
        .rows(&OF_STAYS, values![reservations])?
        .iter()
        .map(from_row)
        .collect()
}

/// Returns a charge; `None` if there is none with this id.
pub(super) fn find(context: &mut Context<'_, '_>, id: Uuid) -> Result<Option<StoredCharge>> {
    context
        .row(&CHARGE, values![id])?
        .map(|row| from_row(&row))
        .transpose()
}

/// Inserts or replaces charges.
pub(super) fn save(context: &mut Context<'_, '_>, charges: &[StoredCharge]) -> Result<()> {
    let mut rows = Vec::new();
    for stored in charges {
        let charge = &stored.charge;
        let notice_at = stored
            .next_notice()
            .map_or(Value::Null, |(_, Moment(at))| at.into());
        rows.push(values![
            charge.id,
            charge.reservation_id,
            charge.status.as_ref(),
            notice_at,
            charge.created_at,
            Value::json(stored)?
        ]);
    }
    if rows.is_empty() {
        return Ok(());
    }
    context.execute_many(&PUT_CHARGE, rows).map(drop)
}

/// Adds a change to the organization's list of changes by guests, which the platform reads. The
/// change says that a charge is due, or that a deposit is to be released.
pub(super) fn record_notice(
    context: &mut Context<'_, '_>,
    notice: ChargeNoticeKind,
    stored: &StoredCharge,
) -> Result<()> {
    let kind = match notice {
        ChargeNoticeKind::Due => ChangeKind::ChargeDue,
        ChargeNoticeKind::Release => ChangeKind::ChargeReleaseDue,
    };
    let charge = &stored.charge;
    changes::record_charge(
        context,
        kind,
        charge.reservation_id,
        charge.step_id,
        charge.id,
    )
}

/// Deletes the charges of deleted reservations.
pub(in crate::guest) fn forget(context: &mut Context<'_, '_>, reservations: &[Uuid]) -> Result<()> {
    context.execute_deferred(&FORGET_CHARGES, values![reservations])
}
