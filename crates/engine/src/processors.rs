//! The processors there are.

/// How many processors this process has.
#[must_use]
pub fn count() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
