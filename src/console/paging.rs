//! Which part of a long list is shown, and the ways to the others.

use super::visit::Visit;
use super::words::Words;
use crate::words::fill;

/// How many rows a page of a list has.
pub const ROWS: usize = 50;

/// A part of a list.
pub struct Paging {
    /// How many rows there are in all.
    pub total: usize,
    /// The number of the first row that is shown, from 1; 0 where there is none.
    pub first: usize,
    /// That of the last.
    pub last: usize,
    /// Leads to the rows before.
    pub before: Option<String>,
    /// Leads to the rows behind.
    pub behind: Option<String>,
}

impl Paging {
    /// Where the part begins that is asked for.
    pub fn offset(visit: &Visit) -> usize {
        visit.asks("from").and_then(|text| text.parse().ok()).unwrap_or(0)
    }

    /// The part of a list of so many rows that is asked for, at a path; the rest of the query is kept.
    pub fn of(visit: &Visit, path: &str, total: usize) -> Self {
        Self::at(Self::offset(visit), total, |from| {
            let from = from.to_string();
            let others = visit.query.iter().filter(|(name, _)| name != "from" && name != "done");
            let query: Vec<(&str, &str)> = others.map(|(name, value)| (name.as_str(), value.as_str())).chain([("from", &*from)]).collect();
            visit.address_with(path, &query)
        })
    }

    /// The part that begins so far into a list of so many rows, and the way to another one.
    pub fn at(offset: usize, total: usize, way: impl Fn(usize) -> String) -> Self {
        let offset = offset.min(total.saturating_sub(1) / ROWS * ROWS);
        let last = (offset + ROWS).min(total);
        Self {
            total,
            first: if total == 0 { 0 } else { offset + 1 },
            last,
            before: (offset > 0).then(|| way(offset.saturating_sub(ROWS))),
            behind: (last < total).then(|| way(last)),
        }
    }

    /// The rows of the part, of a list that is there in full.
    pub fn cut<T>(&self, mut rows: Vec<T>) -> Vec<T> {
        rows.truncate(self.last);
        rows.drain(..self.first.saturating_sub(1).min(rows.len()));
        rows
    }

    /// Which rows they are, in words.
    pub fn said(&self, words: &Words) -> String {
        let [first, last, total] = [self.first, self.last, self.total].map(|number| number.to_string());
        fill(words.frame.rows, &[("first", &first), ("last", &last), ("total", &total)])
    }

    /// Where the part before begins.
    pub const fn begins_before(&self) -> usize {
        self.first.saturating_sub(1 + ROWS)
    }

    /// Whether it takes several pages.
    pub const fn is_needed(&self) -> bool {
        self.before.is_some() || self.behind.is_some()
    }
}
