//! A cache of values that depend on the configuration, keyed by its revision.

use std::any::{Any, TypeId};
use std::hash::Hash;
use std::sync::Arc;

use quick_cache::sync::{Cache as Shards, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};
use uuid::Uuid;

use crate::processors;

/// The most bytes in the cache, by the weights of its values.
const KEPT: u64 = 32 << 20;
/// The expected number of entries.
const ENTRIES: usize = 1_024;
/// The approximate size of an entry without its value, in bytes.
const OVERHEAD: u64 = 1_024;
/// The least bytes of a shard. The cache is split into shards, so that processors do not wait for
/// each other. A value of more than 97 % of a shard is not stored.
const SHARD: u64 = 4 << 20;
/// Shards per processor, unless [`SHARD`] allows fewer.
const SHARDS_A_PROCESSOR: usize = 4;

/// A value that can be cached.
pub trait Weighed: Any + Send + Sync {
    /// Returns the approximate size in bytes.
    fn weight(&self) -> u64;
}

/// The cache, for values of any type. An entry is valid only for the revision that it was read
/// under.
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
    fn weight(&self, _: &CacheKey, kept: &CacheEntry) -> u64 {
        OVERHEAD + kept.weight
    }
}

impl Default for Cache {
    fn default() -> Self {
        Self(sharded(ENTRIES, KEPT, ByWeight, processors::count()))
    }
}

impl Cache {
    /// Returns the value that was stored under this revision.
    pub(crate) fn get<V: Weighed>(
        &self,
        organization: Uuid,
        key: &str,
        revision: i64,
    ) -> Option<Arc<V>> {
        let kept = self.0.get(&(organization, TypeId::of::<V>(), key.into()))?;
        if kept.revision == revision {
            kept.value.downcast().ok()
        } else {
            None
        }
    }

    /// Stores a value under the revision that it was read under. It replaces a value of another
    /// revision.
    pub(crate) fn keep<V: Weighed>(
        &self,
        organization: Uuid,
        key: &str,
        revision: i64,
        value: &Arc<V>,
    ) {
        let kept = CacheEntry {
            revision,
            weight: value.weight(),
            value: value.clone(),
        };
        self.0
            .insert((organization, TypeId::of::<V>(), key.into()), kept);
    }
}

/// Creates a cache of `bytes` bytes. It has enough shards for the processors, but no shard smaller
/// than [`SHARD`].
#[must_use]
pub fn sharded<K, V, W>(entries: usize, bytes: u64, weight: W, processors: usize) -> Shards<K, V, W>
where
    K: Eq + Hash,
    V: Clone,
    W: Weighter<K, V> + Clone,
{
    // The cache rounds the number of shards up to a power of two, so the maximum is one already.
    let most = 1 << (bytes / SHARD).max(1).ilog2();
    let shards = processors.saturating_mul(SHARDS_A_PROCESSOR).clamp(1, most);
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
        // All options are set, so this does not happen.
        Err(_) => Shards::with_weighter(entries, bytes, weight),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: u64 = 32 << 20;
    /// A weighter that takes the value as its weight.
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
            // An answer of 1 MiB with its compressed form has this weight. It must fit in every
            // shard.
            let weight = (2 << 20) + 512;
            for key in 0..64 {
                cache.insert(key, weight);
                assert!(cache.contains_key(&key), "{key} of {processors}");
            }
        }
    }
}
