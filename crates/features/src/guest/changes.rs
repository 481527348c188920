//! The changes that guests make, in order, for the platform to follow (rules:
//! submissions#changes-of-guests).
//!
//! Each change has a cursor: a number that is one greater than the previous cursor of its
//! organization. On every node, a write begins by locking its organization, and its commit releases
//! the lock. When a write gets its cursor, the write with the previous cursor has committed. So
//! cursors become visible in order, without gaps or duplicates. A reader that has read up to a
//! cursor has seen every lower cursor, and no lower cursor can appear later.
//!
//! Old changes are deleted in the order of their cursors, so the stored changes have no gap, and a
//! cursor alone tells whether changes after it are deleted. The deletion of a reservation does not
//! delete its changes, because that would leave a gap.

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
use store::{Json, Row, Transaction};
use uuid::Uuid;

use super::extras::CartItem;

/// The time for which a change is stored.
const RETENTION: Duration = Duration::from_secs(30 * 24 * 3_600);
/// Number of changes on a page if the request sets no limit.
const DEFAULT_LIMIT: u32 = 100;
/// Number of old changes that one transaction deletes, so that a sweep does not block other writes
/// for long.
const SWEEP_BATCH: i64 = 500;
/// The lock that lets only one node at a time delete old changes. Two nodes that delete at once
/// would each skip the rows that the other node has locked. The skipped rows could leave a gap
/// between the stored cursors.
const SWEEP_LOCK: i64 = 0x6368_616e_6765;

store::statements! {
    /// Assigns the next cursor of an organization. The time of a cursor is never earlier than that
    /// of the previous cursor.
    NEXT = "insert into guest_change_cursor (organization_id, latest, latest_at) values (?1, 1, ?2)
        on conflict (organization_id) do update set latest = guest_change_cursor.latest + 1,
        latest_at = case
        when excluded.latest_at > guest_change_cursor.latest_at then excluded.latest_at
        else guest_change_cursor.latest_at end
        returning latest, latest_at";
    /// Inserts a guest change with its cursor.
    INSERT_CHANGE = "insert into guest_change
        (organization_id, cursor, kind, reservation_id, step_id, occurred_at, details)
        values (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    /// Selects the cursor of an organization's latest guest change.
    LATEST = "select latest from guest_change_cursor where organization_id = ?1";
    /// Selects the lowest cursor whose change is still stored.
    OLDEST = "select min(cursor) from guest_change where organization_id = ?1";
    /// Selects the changes after a cursor.
    CHANGES_AFTER = "select cursor, kind, reservation_id, step_id, occurred_at, details
        from guest_change where organization_id = ?1 and cursor > ?2
        order by cursor limit ?3";
    /// Selects changes that occurred before a timestamp, the oldest first.
    OLD = "select organization_id, cursor from guest_change where occurred_at < ?1
        order by occurred_at, organization_id, cursor limit ?2";
    /// Deletes the changes of an organization that occurred before a timestamp, up to a cursor.
    /// Times rise with cursors, so the deletion leaves no gap.
    REMOVE = "delete from guest_change where organization_id = ?1 and cursor <= ?2
        and occurred_at < ?3";
}

engine::stored_enum! {
    /// The kind of a change: an action of the guest, or an event that the service reports to the
    /// platform.
    pub(crate) enum ChangeKind {
        /// The guest saved a step.
        AnswersSaved,
        /// The guest added a file to a step.
        FileAdded,
        /// The guest removed a file from a step.
        FileRemoved,
        /// The guest submitted pre-check-in, for the first time or again.
        Submitted,
        /// The guest sent a message to the host.
        Message,
        /// A charge became due.
        ChargeDue,
        /// A paid deposit must be released.
        ChargeReleaseDue,
        /// The guest reported an issue.
        IssueReported,
        /// The guest asked for the extras in the cart.
        ExtrasRequested,
        /// The guest selected extras and did not ask for them in time.
        CartAbandoned,
    }
}

/// The fields that only changes of some kinds have.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChangeDetails {
    /// For `issue_reported`, the id of the task that the issue became; absent for other kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<Uuid>,
    /// Id of the charge, for `charge_due` and `charge_release_due`; absent for other kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub charge_id: Option<Uuid>,
    /// For `extras_requested`, the extras that the guest asked for; absent for other kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<Vec<CartItem>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListGuestChanges {
    /// Id of the organization whose guests' changes are listed.
    #[expect(dead_code, reason = "the context is opened by it")]
    organization_id: Uuid,
    /// The `next` of the previous page; the list starts after this cursor. A cursor older than 30
    /// days is a 410. Left out: the list starts with the oldest change that is still stored.
    #[serde(default)]
    #[schemars(regex(pattern = r"^(0|[1-9][0-9]{0,18})$"))]
    after: Option<String>,
    /// Maximum number of changes. Left out: 100.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1_000))]
    limit: Option<u32>,
}

/// Changes in the order of their cursors, and the cursor for the next page.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(example = example())]
struct GuestChanges {
    items: Vec<GuestChange>,
    /// Value of `after` for the next page. If this page has no changes, it is the cursor after
    /// which this page begins.
    next: i64,
}

/// A change that a guest made or caused. It names the stay and the step; other operations return
/// the details.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct GuestChange {
    /// The cursor of this change. A later change has a greater cursor.
    cursor: i64,
    kind: ChangeKind,
    /// The stay's id. The reservation may have been deleted since.
    reservation_id: Uuid,
    /// Id of the step; null if the change concerns no step.
    step_id: Option<Uuid>,
    occurred_at: Moment,
    #[serde(flatten)]
    details: ChangeDetails,
}

impl GuestChange {
    /// Reads a row with the columns of [`CHANGES_AFTER`].
    fn from_row(row: &Row) -> Result<Self> {
        let kind = row
            .get::<String>(1)?
            .parse()
            .map_err(|_| Error::internal("a change by a guest has an unknown kind"))?;
        Ok(Self {
            cursor: row.get(0)?,
            kind,
            reservation_id: row.get(2)?,
            step_id: row.get(3)?,
            occurred_at: Moment(row.get(4)?),
            details: row
                .get::<Option<Json<ChangeDetails>>>(5)?
                .map(|Json(details)| details)
                .unwrap_or_default(),
        })
    }
}

fn example() -> serde_json::Value {
    json!({
        "items": [
            {
                "cursor": 41,
                "kind": "answers_saved",
                "reservationId": "0192f0c1-2345-7abc-8def-0123456789ab",
                "stepId": "0192f0c1-2345-7abc-8def-0123456789ac",
                "occurredAt": "2026-11-21T09:30:00.000Z",
            },
        ],
        "next": 41,
    })
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::platform(
            "listGuestChanges",
            Method::GET,
            "/organizations/{organizationId}/guest-changes",
        )
        .summary("What guests did since, in order: saved steps, submitted, wrote to the host")
        .run(list),
    ]
}

/// Records a guest's action in the transaction of that action, with the step if there is one.
pub(crate) fn record(
    context: &mut Context<'_, '_>,
    kind: ChangeKind,
    reservation: Uuid,
    step: Option<Uuid>,
) -> Result<()> {
    insert(context, kind, reservation, step, store::Value::Null)
}

/// Records a guest's action as `record` does. Also stores `details`, the fields that only some
/// kinds of changes have.
pub(super) fn record_with(
    context: &mut Context<'_, '_>,
    kind: ChangeKind,
    reservation: Uuid,
    step: Option<Uuid>,
    details: &ChangeDetails,
) -> Result<()> {
    let details = store::Value::json(details)?;
    insert(context, kind, reservation, step, details)
}

/// Records the notice that a charge is due, or that a paid deposit must be released. In the same
/// transaction, the calling function stores in the charge that the notice was sent.
pub(super) fn record_charge(
    context: &mut Context<'_, '_>,
    kind: ChangeKind,
    reservation: Uuid,
    step: Uuid,
    charge: Uuid,
) -> Result<()> {
    let details = ChangeDetails {
        charge_id: Some(charge),
        ..ChangeDetails::default()
    };
    record_with(context, kind, reservation, Some(step), &details)
}

fn insert(
    context: &mut Context<'_, '_>,
    kind: ChangeKind,
    reservation: Uuid,
    step: Option<Uuid>,
    details: store::Value,
) -> Result<()> {
    let row = context
        .row(&NEXT, values![context.now()])?
        .ok_or_else(|| Error::internal("the query for the cursor returned no row"))?;
    let (cursor, occurred_at): (i64, Timestamp) = (row.get(0)?, row.get(1)?);
    context.execute_deferred(
        &INSERT_CHANGE,
        values![
            cursor,
            kind.as_ref(),
            reservation,
            step,
            occurred_at,
            details
        ],
    )
}

fn list(context: &mut Context<'_, '_>, input: ListGuestChanges) -> Result<GuestChanges> {
    let latest = context
        .row(&LATEST, values![])?
        .map_or(Ok(0), |row| row.get(0))?;
    let oldest = context
        .row(&OLDEST, values![])?
        .map_or(Ok(None), |row| row.get(0))?;
    let kept_changes = KeptChanges {
        oldest: oldest.unwrap_or(latest + 1),
        latest,
    };
    let after = kept_changes.resume_after(input.after.as_deref())?;
    let rows = context.rows(
        &CHANGES_AFTER,
        values![after, input.limit.unwrap_or(DEFAULT_LIMIT)],
    )?;
    let items = rows
        .iter()
        .map(GuestChange::from_row)
        .collect::<Result<Vec<_>>>()?;
    let next = items.last().map_or(after, |last| last.cursor);
    Ok(GuestChanges { items, next })
}

/// Deletes changes whose retention is over. Returns true if this call must be repeated, because
/// more expired changes may remain. Returns false without any deletion while another node deletes
/// changes.
pub fn sweep(tx: &mut Transaction<'_>, now: Timestamp) -> Result<bool> {
    let Ok(oldest) = now.checked_sub(RETENTION) else {
        return Ok(false);
    };
    if !tx.try_lock(SWEEP_LOCK)? {
        return Ok(false);
    }
    let rows = tx.rows(&OLD, &values![oldest, SWEEP_BATCH])?;
    for (organization, cursors) in sweeping::by_organization::<i64>(&rows)? {
        tx.execute(
            &REMOVE,
            &values![organization, cursors.into_iter().max(), oldest],
        )?;
    }
    Ok(i64::try_from(rows.len()).unwrap_or(0) >= SWEEP_BATCH)
}

/// The range of cursors whose changes are still stored.
#[derive(Debug, Clone, Copy)]
struct KeptChanges {
    /// The lowest cursor whose change is stored. If no change is stored, the next cursor that will
    /// be assigned.
    oldest: i64,
    /// The highest cursor that a change of the organization has had, even if that change is
    /// deleted.
    latest: i64,
}

impl KeptChanges {
    /// Returns the cursor after which a reader continues. Fails with 410 if changes after the
    /// requested cursor are deleted, and with 400 if the cursor was never assigned.
    fn resume_after(self, after: Option<&str>) -> Result<i64> {
        let before_oldest = self.oldest - 1;
        let Some(after) = after else {
            return Ok(before_oldest);
        };
        match after.parse::<i64>() {
            Ok(after) if after > self.latest => Err(unknown_cursor()),
            Ok(after) if after < before_oldest => Err(Error::gone(
                "Some changes after this cursor are no longer kept, because changes are kept for \
                    30 days. Start again without `after`.",
            )),
            Ok(after) => Ok(after),
            Err(_) => Err(unknown_cursor()),
        }
    }
}

fn unknown_cursor() -> Error {
    Error::invalid(&["after"], "is not a cursor of this organization")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use strum::VariantArray as _;

    use super::*;

    #[test]
    fn every_change_kind_parses_from_its_name() {
        for kind in ChangeKind::VARIANTS {
            assert_eq!(kind.as_ref().parse(), Ok(*kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_ref());
        }
    }

    proptest! {
        /// A reader whose cursor is accepted misses nothing: all changes after the cursor are still
        /// stored.
        #[test]
        fn a_reader_with_a_valid_cursor_misses_no_change(
            latest in 0..20_i64,
            swept in 0..20_i64,
            after in prop::option::of(-3..25_i64),
        ) {
            let swept = swept.min(latest);
            let kept: Vec<i64> = (swept + 1..=latest).collect();
            let position = KeptChanges {
                oldest: swept + 1,
                latest,
            }
            .resume_after(after.map(|after| after.to_string()).as_deref());
            let follow = |after: i64| -> Vec<i64> { (after + 1..=latest).collect() };
            match (position.map_err(|error| error.kind().status()), after) {
                (Ok(position), None) => prop_assert_eq!(follow(position), kept),
                (Ok(position), Some(after)) => prop_assert!(
                    position == after && follow(after).iter().all(|cursor| kept.contains(cursor))
                ),
                (Err(410), Some(after)) => {
                    prop_assert!(follow(after).iter().any(|cursor| !kept.contains(cursor)));
                }
                (Err(status), after) => {
                    prop_assert!(status == 400 && after.is_some_and(|after| after > latest));
                }
            }
        }
    }
}
