//! Counts of records of a kind, so that a list finds a page and a total without a walk over all
//! earlier records.
//!
//! The records of a kind are ordered by creation, then by id. This order is divided into blocks,
//! and the table `record_block` stores the number of records in each block. To find a page, a list
//! adds up the counts of the blocks before the page, and then walks within one block. A block
//! contains the records from its first position up to the first position of the next block. The
//! first block begins before all records.
//!
//! Code that inserts or removes records first locks the organization, and calls
//! [`update_block_counts`] in the same transaction. Most new records are the last of the order. If
//! the last block is full, the next record at the end begins a new block. Any other record is
//! counted in the block at its position, even if that block is full. A block that is more than full
//! makes lists slower but never wrong.

use engine::context::Context;
use engine::error::{Error, Result};
use engine::values;
use jiff::Timestamp;
use store::Row;
use uuid::Uuid;

use super::RecordKind;

/// Number of records at which a block is full.
const FULL: i64 = 4_000;

store::statements! {
    /// Selects all blocks of a record kind, each with its first position and its number of records.
    BLOCKS = "select from_created_at, from_id, records from record_block where organization_id = ?1
        and kind = ?2
        order by from_created_at, from_id";
    /// Selects the block that contains a position in the order of a kind's records, and all blocks
    /// after that block.
    BLOCKS_FROM = "select from_created_at, from_id, records from record_block
        where organization_id = ?1 and kind = ?2
        and (from_created_at, from_id) >= (select from_created_at, from_id from record_block
            where organization_id = ?1 and kind = ?2 and (from_created_at, from_id) <= (?3, ?4)
            order by from_created_at desc, from_id desc limit 1)
        order by from_created_at, from_id";
    /// Inserts a block, or replaces the number of records of an existing block.
    PUT_BLOCK = "insert into record_block (organization_id, kind, from_created_at, from_id, records)
        values (?1, ?2, ?3, ?4, ?5)
        on conflict (organization_id, kind, from_created_at, from_id) do update
        set records = excluded.records";
    /// Selects the position of the last record of a kind.
    LAST = "select created_at, id from record where organization_id = ?1 and kind = ?2
        order by created_at desc, id desc limit 1";
}

/// The position of a record in the order of its kind: the time of creation, and the id.
pub(crate) type Position = (Timestamp, Uuid);

/// A position that is before the positions of all records.
const FIRST: Position = (Timestamp::UNIX_EPOCH, Uuid::nil());

/// A block of records: the position at which it begins, the number of its records, and whether this
/// number differs from the stored one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Block {
    from: Position,
    records: i64,
    is_changed: bool,
}

impl Block {
    fn read(row: &Row) -> Result<Self> {
        Ok(Self {
            from: (row.get(0)?, row.get(1)?),
            records: row.get(2)?,
            is_changed: false,
        })
    }

    const fn new(from: Position) -> Self {
        Self {
            from,
            records: 0,
            is_changed: true,
        }
    }
}

/// The start of a page: a position, a number of records to skip from there, and the total.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PageStart {
    /// The position of the first record that is read.
    pub from: Position,
    /// The number of records to skip, counted from `from`, before the first record of the page.
    pub skipped: i64,
    /// The total number of records of the kind.
    pub total: i64,
}

/// Finds the block that contains the record at `offset` in a list of all records of the kind. The
/// page begins in this block.
pub(super) fn start(
    context: &mut Context<'_, '_>,
    kind: RecordKind,
    offset: i64,
) -> Result<PageStart> {
    let blocks = context.rows(&BLOCKS, values![kind.as_ref()])?;
    let blocks = blocks.iter().map(Block::read).collect::<Result<Vec<_>>>()?;
    Ok(start_among(&blocks, offset))
}

fn start_among(blocks: &[Block], offset: i64) -> PageStart {
    let total = blocks.iter().map(|block| block.records).sum();
    let mut start = PageStart {
        from: FIRST,
        skipped: offset,
        total,
    };
    if offset >= total {
        return start;
    }
    for block in blocks {
        start.from = block.from;
        if start.skipped < block.records {
            break;
        }
        start.skipped -= block.records;
    }
    start
}

/// Updates the counts of a kind's blocks. The records at the positions `removed` have already been
/// removed, and the records at the positions `added` are about to be inserted.
pub(crate) fn update_block_counts(
    context: &mut Context<'_, '_>,
    kind: RecordKind,
    mut added: Vec<Position>,
    removed: &[Position],
) -> Result<()> {
    let Some(earliest) = added.iter().chain(removed).min().copied() else {
        return Ok(());
    };
    let rows = context.rows(&BLOCKS_FROM, values![kind.as_ref(), earliest.0, earliest.1])?;
    let mut blocks = rows.iter().map(Block::read).collect::<Result<Vec<_>>>()?;
    // A new block begins only when the last block is full. To find out which new records follow the
    // last stored record, the code needs the position of that record. It queries the position only
    // if the last block may become full.
    let may_fill = blocks.last().is_some_and(|block| {
        block.records + i64::try_from(added.len()).unwrap_or(i64::MAX) >= FULL
    });
    let last = if may_fill {
        context.row(&LAST, values![kind.as_ref()])?
    } else {
        None
    };
    let last = last
        .map(|row| Ok::<_, Error>((row.get(0)?, row.get(1)?)))
        .transpose()?;
    added.sort_unstable();
    change(&mut blocks, last, &added, removed);
    let changed = blocks.iter().filter(|block| block.is_changed);
    let rows = changed
        .map(|block| values![kind.as_ref(), block.from.0, block.from.1, block.records])
        .collect();
    context.execute_many(&PUT_BLOCK, rows).map(drop)
}

/// Updates the counts of blocks for removed and added records. `added` is sorted. `last` is the
/// position of the last record before this change. It may be `None` if the kind has no records, or
/// if the last block cannot become full.
fn change(
    blocks: &mut Vec<Block>,
    mut last: Option<Position>,
    added: &[Position],
    removed: &[Position],
) {
    if blocks.is_empty() {
        blocks.push(Block::new(FIRST));
    }
    for (positions, by) in [(removed, -1), (added, 1)] {
        for position in positions {
            let following = blocks.partition_point(|block| block.from <= *position);
            let is_at_the_end =
                by > 0 && following == blocks.len() && last.is_none_or(|last| last < *position);
            if is_at_the_end {
                last = Some(*position);
                if blocks.last().is_some_and(|block| block.records >= FULL) {
                    blocks.push(Block::new(*position));
                }
            }
            let block_end = if is_at_the_end {
                blocks.len()
            } else {
                following
            };
            // The first of `blocks` begins at or before every position in this call: it is the
            // block that contains the earliest position, or the block at `FIRST` if the kind had no
            // blocks yet. So `block_end` is at least 1.
            let block = &mut blocks[block_end.saturating_sub(1)];
            block.records += by;
            block.is_changed = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn position(number: i64) -> Position {
        (
            Timestamp::from_second(number / 3).unwrap(),
            Uuid::from_u128(u128::try_from(number).unwrap()),
        )
    }

    /// Finds the record at an offset in the same way as a list does: skips whole blocks by their
    /// numbers of records, and then skips records within one block.
    fn record_at(blocks: &[Block], records: &BTreeSet<Position>, offset: i64) -> Option<Position> {
        let start = start_among(blocks, offset);
        assert_eq!(start.total, i64::try_from(records.len()).unwrap());
        records
            .range(start.from..)
            .nth(usize::try_from(start.skipped).unwrap())
            .copied()
    }

    #[test]
    fn a_new_block_starts_after_a_full_block() {
        let mut blocks = Vec::new();
        let all: Vec<_> = (0..10_000).map(position).collect();
        change(&mut blocks, None, &all, &[]);
        assert_eq!(
            blocks.iter().map(|block| block.records).collect::<Vec<_>>(),
            [FULL, FULL, 2_000]
        );
        assert_eq!(
            start_among(&blocks, 9_999),
            PageStart {
                from: position(8_000),
                skipped: 1_999,
                total: 10_000
            }
        );
        assert_eq!(
            start_among(&[], 5),
            PageStart {
                from: FIRST,
                skipped: 5,
                total: 0
            }
        );
        // A new record between existing records is counted in the block at its position.
        change(
            &mut blocks,
            Some(position(20_000)),
            &[position(1), position(15_000)],
            &[],
        );
        assert_eq!(
            blocks.iter().map(|block| block.records).collect::<Vec<_>>(),
            [FULL + 1, FULL, 2_001]
        );
    }

    proptest! {
        #[test]
        fn every_offset_is_found_in_the_blocks(
            rounds in prop::collection::vec(
                (
                    prop::collection::btree_set(0_i64..40_000, 0..3_000),
                    0_usize..200,
                ),
                1..6,
            ),
        ) {
            let (mut blocks, mut records) = (Vec::new(), BTreeSet::new());
            for (numbers, gone) in rounds {
                let removed: Vec<_> = records
                    .iter()
                    .rev()
                    .step_by(7)
                    .take(gone)
                    .copied()
                    .collect();
                for position in &removed {
                    records.remove(position);
                }
                let added: Vec<_> = numbers
                    .into_iter()
                    .map(position)
                    .filter(|position| !records.contains(position))
                    .collect();
                let last = records.last().copied();
                change(&mut blocks, last, &added, &removed);
                records.extend(added);
            }
            for offset in (0..records.len() + 2)
                .step_by(97)
                .chain([records.len().saturating_sub(1), records.len()])
            {
                let expected = records.iter().nth(offset).copied();
                prop_assert_eq!(
                    record_at(&blocks, &records, i64::try_from(offset).unwrap()),
                    expected
                );
            }
        }
    }
}
