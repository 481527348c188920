//! Generates unique UUIDs, which serve as idempotency keys and as ids.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use uuid::Uuid;

/// Generates UUIDs in random order, like those of many clients. No UUID is generated twice, not
/// even by two clones of the same value.
#[derive(Debug, Clone, Default)]
pub struct Keys(Arc<AtomicU64>);

impl Keys {
    /// Returns a UUID that neither this value nor a clone of it has returned before.
    #[must_use]
    pub fn next(&self) -> Uuid {
        let number = self.0.fetch_add(1, Ordering::Relaxed);
        Uuid::from_u64_pair(scatter(number), number)
    }
}

/// Maps each number to another number by the generator `SplitMix64`. Two numbers never have the
/// same result. The results are spread over all 64-bit numbers.
#[must_use]
pub const fn scatter(number: u64) -> u64 {
    let number = number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_distinct_and_unsorted() {
        let keys = Keys::default();
        let generated: Vec<_> = (0..1_000).map(|_| keys.clone().next()).collect();
        assert!(!generated.is_sorted());
        let distinct: std::collections::HashSet<_> = generated.iter().collect();
        assert_eq!(distinct.len(), generated.len());
    }
}
