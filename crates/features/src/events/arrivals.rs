//! Ids of all reviews that ever arrived, so that `review.submitted` fires only once for each id.
//! The id of a deleted review remains in the table, because the platform may send the review again.

use std::collections::HashSet;

use engine::context::Context;
use engine::error::Result;
use engine::values;
use uuid::Uuid;

store::statements! {
    /// Selects those of the review ids `?2` that are stored. A stored id belongs to a review that
    /// arrived before.
    ARRIVED = "select review_id from review_arrival where organization_id = ?1
        and review_id = any(?2)";
    /// Stores the id of a review that arrived.
    NOTE_ARRIVAL = "insert into review_arrival (organization_id, review_id) values (?1, ?2)
        on conflict do nothing";
}

/// Returns the ids in `ids` of reviews that are already recorded as arrived.
pub(crate) fn arrived_reviews(
    context: &mut Context<'_, '_>,
    ids: Vec<Uuid>,
) -> Result<HashSet<Uuid>> {
    if ids.is_empty() {
        return Ok(HashSet::new());
    }
    let rows = context.rows(&ARRIVED, values![ids])?;
    rows.iter().map(|row| Ok(row.get(0)?)).collect()
}

/// Stores the ids of reviews that arrived, so that [`arrived_reviews`] returns them later.
pub(crate) fn record_arrived_reviews(
    context: &mut Context<'_, '_>,
    ids: impl IntoIterator<Item = Uuid>,
) -> Result<()> {
    let rows: Vec<_> = ids.into_iter().map(|id| values![id]).collect();
    if rows.is_empty() {
        return Ok(());
    }
    context.execute_many(&NOTE_ARRIVAL, rows).map(drop)
}
