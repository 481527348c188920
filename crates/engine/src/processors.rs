//! Counts the processors that this process may use. The number of shards of a cache depends on it.

/// Returns the number of processors that this process may use.
#[must_use]
pub fn count() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
