//! Counts processors, for sizes that depend on the number of processors.

/// Returns the number of processors that this process may use.
#[must_use]
pub fn count() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
