//! A cache of values that depend on the configuration, keyed by its revision.

use std::any::{Any, TypeId};
use std::hash::Hash;
use std::sync::Arc;

use quick_cache::sync::{Cache as Shards, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};
use uuid::Uuid;

use crate::processors;

/// The maximum size of the cache in bytes. An entry counts with the weight of its value and
/// [`ENTRY_OVERHEAD`].
const MAX_BYTES: u64 = 32 << 20;
/// The expected number of entries, from which the cache computes the initial size of its tables.
const EXPECTED_ENTRIES: usize = 1_024;
/// The approximate size of an entry without its value, in bytes.
const ENTRY_OVERHEAD: u64 = 1_024;
/// The minimum size of a shard in bytes. The cache is split into shards, so that processors do not
/// wait for each other. A value larger than 97 % of a shard is not stored.
const MIN_SHARD_BYTES: u64 = 4 << 20;
/// The number of shards for each processor. [`MIN_SHARD_BYTES`] can reduce this number.
const SHARDS_PER_PROCESSOR: usize = 4;

/// A value that the cache can store, with its size.
pub trait Cacheable: Any + Send + Sync {
    /// Returns the approximate size of the value in bytes.
    fn weight(&self) -> u64;
}

/// A cache for values of any type. An entry is valid only for the revision under which its value
/// was read.
pub(crate) struct Cache(Shards<CacheKey, CacheEntry, ByWeight>);

/// The organization, the type of the value, and its key.
type CacheKey = (Uuid, TypeId, Box<str>);

#[derive(Clone)]
struct CacheEntry {
    revision: i64,
    weight: u64,
    value: Arc<dyn Any + Send + Sync>,
}

#[derive(Clone)]
struct ByWeight;

impl Weighter<CacheKey, CacheEntry> for ByWeight {
    fn weight(&self, _: &CacheKey, entry: &CacheEntry) -> u64 {
        ENTRY_OVERHEAD + entry.weight
    }
}

impl Default for Cache {
    fn default() -> Self {
        Self(sharded(
            EXPECTED_ENTRIES,
            MAX_BYTES,
            ByWeight,
            processors::count(),
        ))
    }
}

impl Cache {
    /// Returns the value of a key, if the value was stored under this revision. Returns `None` if
    /// the cache has no value, or a value of another revision.
    pub(crate) fn get<V: Cacheable>(
        &self,
        organization: Uuid,
        key: &str,
        revision: i64,
    ) -> Option<Arc<V>> {
        let entry = self.0.get(&(organization, TypeId::of::<V>(), key.into()))?;
        if entry.revision == revision {
            entry.value.downcast().ok()
        } else {
            None
        }
    }

    /// Stores a value under the revision under which it was read. Replaces the earlier value of the
    /// key, whatever its revision is.
    pub(crate) fn store<V: Cacheable>(
        &self,
        organization: Uuid,
        key: &str,
        revision: i64,
        value: &Arc<V>,
    ) {
        let entry = CacheEntry {
            revision,
            weight: value.weight(),
            value: value.clone(),
        };
        self.0
            .insert((organization, TypeId::of::<V>(), key.into()), entry);
    }
}

/// Creates a cache of `bytes` bytes. The cache has enough shards for the processors, but no shard
/// smaller than [`MIN_SHARD_BYTES`].
#[must_use]
pub fn sharded<K, V, W>(entries: usize, bytes: u64, weight: W, processors: usize) -> Shards<K, V, W>
where
    K: Eq + Hash,
    V: Clone,
    W: Weighter<K, V> + Clone,
{
    // The cache rounds the number of shards up to a power of two, so the maximum is a power of two.
    let max_shards = 1 << (bytes / MIN_SHARD_BYTES).max(1).ilog2();
    let shards = processors
        .saturating_mul(SHARDS_PER_PROCESSOR)
        .clamp(1, max_shards);
    let options = OptionsBuilder::new()
        .shards(shards)
        .estimated_items_capacity(entries)
        .weight_capacity(bytes)
        .build();
    match options {
        Ok(options) => Shards::with_options(
            options,
            weight,
            DefaultHashBuilder::default(),
            DefaultLifecycle::default(),
        ),
        // The builder fails only if an option is missing, and all are set.
        Err(_) => Shards::with_weighter(entries, bytes, weight),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: u64 = 32 << 20;
    /// A weighter that uses each value itself as its weight.
    #[derive(Clone)]
    struct ValueAsWeight;

    impl Weighter<u64, u64> for ValueAsWeight {
        fn weight(&self, _: &u64, weight: &u64) -> u64 {
            *weight
        }
    }

    #[test]
    fn cache_capacity_does_not_depend_on_the_processor_count() {
        for processors in [1, 2, 3, 8, 32, 128, 1_000] {
            let cache = sharded(4_096, BYTES, ValueAsWeight, processors);
            assert_eq!(cache.capacity(), BYTES, "{processors}");
            // The weight of the largest response: 1 MiB, counted twice because of its compressed
            // form. It must fit in every shard.
            let weight = (2 << 20) + 512;
            for key in 0..64 {
                cache.insert(key, weight);
                assert!(cache.contains_key(&key), "{key} of {processors}");
            }
        }
    }
}
