//! Splits a long list into pages, with links to the previous and the next page.

use features::words::fill;

use super::request::ConsoleRequest;
use super::words::ConsoleWords;

/// Number of rows on a page.
pub const ROWS: usize = 50;

/// One page of a list, and the addresses of the pages before and after it.
pub struct Paging {
    /// The number of rows in the whole list.
    pub total: usize,
    /// The number of the first row on the page, from 1; 0 if the list is empty.
    pub first: usize,
    /// The number of the last row on the page.
    pub last: usize,
    /// The path and query of the previous page of the list. `None` on the first page.
    pub previous: Option<String>,
    /// Address of the next page. `None` on the last page.
    pub next: Option<String>,
}

impl Paging {
    /// Returns the offset of the page that the query asks for. Returns 0 if the query has no
    /// offset.
    pub fn offset(request: &ConsoleRequest) -> usize {
        request
            .query_parameter("from")
            .and_then(|text| text.parse().ok())
            .unwrap_or(0)
    }

    /// Returns the page that the query asks for, of a list with `total` rows. The links repeat the
    /// other query parameters.
    pub fn of(request: &ConsoleRequest, path: &str, total: usize) -> Self {
        Self::at(Self::offset(request), total, |from| {
            let from = from.to_string();
            let others = request
                .query
                .iter()
                .filter(|(name, _)| name != "from" && name != "done");
            let query: Vec<(&str, &str)> = others
                .map(|(name, value)| (name.as_str(), value.as_str()))
                .chain([("from", &*from)])
                .collect();
            request.address_with(path, &query)
        })
    }

    /// Returns the page of the list that begins at `offset`. `address` returns the path and query
    /// of the page that begins at a given offset; the links to the previous and the next page need
    /// them.
    pub fn at(offset: usize, total: usize, address: impl Fn(usize) -> String) -> Self {
        let offset = offset.min(total.saturating_sub(1) / ROWS * ROWS);
        let last = (offset + ROWS).min(total);
        Self {
            total,
            first: if total == 0 { 0 } else { offset + 1 },
            last,
            previous: (offset > 0).then(|| address(offset.saturating_sub(ROWS))),
            next: (last < total).then(|| address(last)),
        }
    }

    /// Selects the rows of this page from `rows`, which has all rows of the list.
    pub fn rows_of_page<T>(&self, mut rows: Vec<T>) -> Vec<T> {
        rows.truncate(self.last);
        rows.drain(..self.first.saturating_sub(1).min(rows.len()));
        rows
    }

    /// Returns a text like "1–50 of 120".
    pub fn text(&self, words: &ConsoleWords) -> String {
        let [first, last, total] =
            [self.first, self.last, self.total].map(|number| number.to_string());
        fill(
            words.frame.rows,
            &[("first", &first), ("last", &last), ("total", &total)],
        )
    }

    /// Returns the offset of the previous page.
    pub const fn previous_offset(&self) -> usize {
        self.first.saturating_sub(1 + ROWS)
    }

    /// Returns whether the list needs more than one page.
    pub const fn is_needed(&self) -> bool {
        self.previous.is_some() || self.next.is_some()
    }
}
