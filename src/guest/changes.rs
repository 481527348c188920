//! What guests do, in order, for the platform to follow (contract: guest-changes).
//!
//! Each change has a cursor, the next number of its organization. A write begins by locking its organization and holds the lock
//! until it is committed, whichever node it runs on. So whoever takes a number sees the one before it committed: numbers are
//! committed in their order, none is missing and none is there twice. Who has read up to a number has seen every lower one, and
//! nothing can still come in before it.
//!
//! What is old goes from the front, so that a cursor tells by itself whether something behind it is gone: whatever is kept
//! follows without a gap. A change outlives its reservation, for the same reason.

use std::time::Duration;

use engine::context::Context;
use engine::error::{Error, Result};
use engine::moment::Moment;
use engine::operation::Operation;
use engine::sweeping;
use engine::values;
use http::Method;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use store::{Row, Transaction};
use strum::{AsRefStr, EnumString, VariantArray};
use uuid::Uuid;

/// How long a change is kept.
const KEPT: Duration = Duration::from_secs(30 * 24 * 3_600);
/// Changes of a page where no limit is given.
const PAGE: u32 = 100;
/// Old changes removed in one transaction, so that a sweep holds up no one.
const SWEEP_BATCH: i64 = 500;
/// The lock by which one node at a time removes them: two that pass over each other's rows could leave a gap.
const SWEEP_LOCK: i64 = 0x6368_616e_6765;

store::statements! {
    /// Takes the next cursor of an organization, and a time no earlier than that of the one before.
    NEXT = "insert into guest_change_cursor (organization_id, latest, latest_at) values (?1, 1, ?2)
        on conflict (organization_id) do update set latest = guest_change_cursor.latest + 1,
        latest_at = case when excluded.latest_at > guest_change_cursor.latest_at then excluded.latest_at else guest_change_cursor.latest_at end
        returning latest, latest_at";
    /// A change.
    INSERT_CHANGE = "insert into guest_change (organization_id, cursor, kind, reservation_id, step_id, occurred_at) values (?1, ?2, ?3, ?4, ?5, ?6)";
    /// The last cursor that an organization has given.
    LATEST = "select latest from guest_change_cursor where organization_id = ?1";
    /// The first one that is kept.
    OLDEST = "select min(cursor) from guest_change where organization_id = ?1";
    /// What follows a cursor.
    BEHIND = "select cursor, kind, reservation_id, step_id, occurred_at from guest_change where organization_id = ?1 and cursor > ?2
        order by cursor limit ?3";
    /// What is old, the oldest first.
    OLD = "select organization_id, cursor from guest_change where occurred_at < ?1 order by occurred_at, organization_id, cursor limit ?2";
    /// Removes what is old of an organization, up to a cursor: cursors are in the order of time.
    REMOVE = "delete from guest_change where organization_id = ?1 and cursor <= ?2 and occurred_at < ?3";
}

/// What a guest did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, AsRefStr, EnumString, VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub(crate) enum ChangeKind {
    /// Saved a step.
    AnswersSaved,
    /// Added a file to a step.
    FileAdded,
    /// Removed one.
    FileRemoved,
    /// Submitted pre-check-in, for the first time or again.
    Submitted,
    /// Wrote to the host.
    Message,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListGuestChanges {
    /// Id of the organization whose guests are followed.
    #[expect(dead_code, reason = "the context is opened by it")]
    organization_id: Uuid,
    /// The `next` of the page before: the list goes on behind it. One of more than 30 days ago is a 410. Left out: from the oldest that is kept.
    #[serde(default)]
    #[schemars(regex(pattern = r"^(0|[1-9][0-9]{0,18})$"))]
    after: Option<String>,
    /// How many changes at the most. Left out: 100.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1_000))]
    limit: Option<u32>,
}

/// Changes in their order, and where the next ones follow.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(example = example())]
struct GuestChanges {
    items: Vec<GuestChange>,
    /// What to send as `after` for what comes next; the same again where nothing has come.
    next: i64,
}

/// Something that a guest did. What there is to know of it is read where it is: here is only that, and of which stay.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct GuestChange {
    /// Its place in the order.
    cursor: i64,
    kind: ChangeKind,
    /// Of which stay. The reservation may have been deleted since.
    reservation_id: Uuid,
    /// Of which step, where it is of one.
    step_id: Option<Uuid>,
    occurred_at: Moment,
}

impl GuestChange {
    /// From the columns of [`BEHIND`].
    fn from_row(row: &Row) -> Result<Self> {
        let kind = row.get::<String>(1)?.parse().map_err(|_| Error::internal("a guest's change of an unknown kind"))?;
        Ok(Self { cursor: row.get(0)?, kind, reservation_id: row.get(2)?, step_id: row.get(3)?, occurred_at: Moment(row.get(4)?) })
    }
}

fn example() -> serde_json::Value {
    json!({
        "items": [{
            "cursor": 41, "kind": "answers_saved", "reservationId": "0192f0c1-2345-7abc-8def-0123456789ab",
            "stepId": "0192f0c1-2345-7abc-8def-0123456789ac", "occurredAt": "2026-11-21T09:30:00.000Z",
        }],
        "next": 41,
    })
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::platform("listGuestChanges", Method::GET, "/organizations/{organizationId}/guest-changes")
            .summary("What guests did since, in order: saved steps, submitted, wrote to the host")
            .run(list),
    ]
}

/// Notes what a guest did, in the transaction that does it; `step` where it is of one.
pub(crate) fn record(context: &mut Context<'_, '_>, kind: ChangeKind, reservation: Uuid, step: Option<Uuid>) -> Result<()> {
    let row = context.row(&NEXT, values![context.now()])?.ok_or_else(|| Error::internal("a cursor without a row"))?;
    let (cursor, occurred_at): (i64, Timestamp) = (row.get(0)?, row.get(1)?);
    context.execute_along(&INSERT_CHANGE, values![cursor, kind.as_ref(), reservation, step, occurred_at])
}

fn list(context: &mut Context<'_, '_>, input: ListGuestChanges) -> Result<GuestChanges> {
    let latest = context.row(&LATEST, values![])?.map_or(Ok(0), |row| row.get(0))?;
    let oldest = context.row(&OLDEST, values![])?.map_or(Ok(None), |row| row.get(0))?;
    let kept = Kept { oldest: oldest.unwrap_or(latest + 1), latest };
    let after = kept.place(input.after.as_deref())?;
    let rows = context.rows(&BEHIND, values![after, input.limit.unwrap_or(PAGE)])?;
    let items = rows.iter().map(GuestChange::from_row).collect::<Result<Vec<_>>>()?;
    let next = items.last().map_or(after, |last| last.cursor);
    Ok(GuestChanges { items, next })
}

/// Removes what is kept no longer; true when there may be more of it.
pub fn sweep(tx: &mut Transaction<'_>, now: Timestamp) -> Result<bool> {
    let Ok(oldest) = now.checked_sub(KEPT) else { return Ok(false) };
    if !tx.try_lock(SWEEP_LOCK)? {
        return Ok(false);
    }
    let rows = tx.rows(&OLD, &values![oldest, SWEEP_BATCH])?;
    for (organization, cursors) in sweeping::by_organization::<i64>(&rows)? {
        tx.execute(&REMOVE, &values![organization, cursors.into_iter().max(), oldest])?;
    }
    Ok(i64::try_from(rows.len()).unwrap_or(0) >= SWEEP_BATCH)
}

/// The cursors whose changes are kept.
#[derive(Debug, Clone, Copy)]
struct Kept {
    /// The first of them; the one to come where there are none.
    oldest: i64,
    /// The last one given.
    latest: i64,
}

impl Kept {
    /// The cursor behind which somebody reads on: 410 where something behind it is gone, 400 for one that was never given.
    fn place(self, after: Option<&str>) -> Result<i64> {
        let before_oldest = self.oldest - 1;
        let Some(after) = after else { return Ok(before_oldest) };
        match after.parse::<i64>() {
            Ok(after) if after > self.latest => Err(never_given()),
            Ok(after) if after < before_oldest => Err(Error::gone(
                "Some of what follows this cursor is kept no longer: changes are kept for 30 days. Begin anew without `after`.",
            )),
            Ok(after) => Ok(after),
            Err(_) => Err(never_given()),
        }
    }
}

fn never_given() -> Error {
    Error::invalid(&["after"], "is no cursor of this organization")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_name_and_its_kind_find_each_other() {
        for kind in ChangeKind::VARIANTS {
            assert_eq!(kind.as_ref().parse(), Ok(*kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_ref());
        }
    }

    proptest! {
        /// Whoever is let in misses nothing: what follows their cursor is all kept, and was all given.
        #[test]
        fn whoever_reads_on_misses_nothing(given in 0..20_i64, swept in 0..20_i64, after in prop::option::of(-3..25_i64)) {
            let swept = swept.min(given);
            let kept: Vec<i64> = (swept + 1..=given).collect();
            let place = Kept { oldest: swept + 1, latest: given }.place(after.map(|after| after.to_string()).as_deref());
            let follow = |after: i64| -> Vec<i64> { (after + 1..=given).collect() };
            match (place.map_err(|error| error.kind().status()), after) {
                (Ok(place), None) => prop_assert_eq!(follow(place), kept),
                (Ok(place), Some(after)) => prop_assert!(place == after && follow(after).iter().all(|cursor| kept.contains(cursor))),
                (Err(410), Some(after)) => prop_assert!(follow(after).iter().any(|cursor| !kept.contains(cursor))),
                (Err(status), after) => prop_assert!(status == 400 && after.is_some_and(|after| after > given)),
            }
        }
    }
}
