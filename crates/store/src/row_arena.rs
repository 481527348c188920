//! The result of a SQLite query in two allocations, one for the cells of all rows and one for their
//! bytes. So a row needs no separate allocation.

use std::sync::Arc;

use rusqlite::types::ValueRef;

use crate::error::{Error, Result};

/// The value of one column in one row. A text or blob is a range of the arena's bytes.
enum Cell {
    Null,
    Integer(i64),
    Real(f64),
    Text(Span),
    Blob(Span),
}

/// A range of bytes in the arena. The arena has less than 4 GiB, so 32 bits are enough for a
/// position.
#[derive(Clone, Copy)]
struct Span {
    start: u32,
    end: u32,
}

/// All rows of a query's result.
#[derive(Default)]
pub(crate) struct RowArena {
    cells: Vec<Cell>,
    bytes: Vec<u8>,
}

impl RowArena {
    /// Adds a row of `width` columns.
    pub(crate) fn add(&mut self, row: &rusqlite::Row<'_>, width: usize) -> Result<()> {
        for index in 0..width {
            let cell = match row.get_ref(index)? {
                ValueRef::Null => Cell::Null,
                ValueRef::Integer(number) => Cell::Integer(number),
                ValueRef::Real(number) => Cell::Real(number),
                ValueRef::Text(text) => Cell::Text(self.append(text)?),
                ValueRef::Blob(bytes) => Cell::Blob(self.append(bytes)?),
            };
            self.cells.push(cell);
        }
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) -> Result<Span> {
        let start = self.bytes.len();
        let offset = |bytes: usize| {
            u32::try_from(bytes).map_err(|_| Error::Defect("a result is larger than 4 GiB".into()))
        };
        let span = Span {
            start: offset(start)?,
            end: offset(start + bytes.len())?,
        };
        self.bytes.extend_from_slice(bytes);
        Ok(span)
    }

    /// Returns the rows, of `width` columns each.
    pub(crate) fn rows(self, width: usize) -> impl Iterator<Item = ArenaRow> {
        let count = self.cells.len() / width.max(1);
        let arena = Arc::new(self);
        (0..count).map(move |row| ArenaRow {
            arena: Arc::clone(&arena),
            first: row * width,
            width,
        })
    }
}

/// A row of the query's result in a [`RowArena`].
pub(crate) struct ArenaRow {
    arena: Arc<RowArena>,
    first: usize,
    width: usize,
}

impl ArenaRow {
    /// Returns the column at `index`, counted from 0.
    pub(crate) fn get(&self, index: usize) -> Option<ValueRef<'_>> {
        let cell = self
            .arena
            .cells
            .get(self.first + index)
            .filter(|_| index < self.width)?;
        let bytes = |span: &Span| self.arena.bytes.get(span.start as usize..span.end as usize);
        Some(match cell {
            Cell::Null => ValueRef::Null,
            Cell::Integer(number) => ValueRef::Integer(*number),
            Cell::Real(number) => ValueRef::Real(*number),
            Cell::Text(span) => ValueRef::Text(bytes(span)?),
            Cell::Blob(span) => ValueRef::Blob(bytes(span)?),
        })
    }
}
