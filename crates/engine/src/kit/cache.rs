//! What is kept from one request to the next under the revisions of what it is made of.

use std::any::{Any, TypeId};
use std::hash::Hash;
use std::sync::Arc;

use quick_cache::sync::{Cache as Shards, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};
use uuid::Uuid;

use crate::processors;

/// Bytes kept at once, as they weigh themselves.
const KEPT: u64 = 32 << 20;
/// About how many entries that is.
const ENTRIES: usize = 1_024;
/// About what an entry takes besides.
const OVERHEAD: u64 = 1_024;
/// The least that a shard holds. What is kept is split over shards, so that processors do not wait for each other, and nothing
/// is kept that takes more than 97 % of one.
const SHARD: u64 = 4 << 20;
/// Shards a processor, where there are not too many.
const SHARDS_A_PROCESSOR: usize = 4;

/// What can be kept.
pub trait Weighed: Any + Send + Sync {
    /// About how many bytes it takes.
    fn weight(&self) -> u64;
}

/// What is kept, of any type. An entry is good for exactly the state it was read in.
pub(crate) struct Cache(Shards<Key, Kept, ByWeight>);

/// The state that something was read in: the revision of what is configured, and that of the records that come and go where it
/// is made of these, too.
pub(crate) type State = (i64, Option<i64>);

/// Of which organization, of which type, and which of these.
type Key = (Uuid, TypeId, Box<str>);

#[derive(Clone)]
struct Kept {
    state: State,
    weight: u64,
    value: Arc<dyn Any + Send + Sync>,
}

#[derive(Clone)]
struct ByWeight;

impl Weighter<Key, Kept> for ByWeight {
    fn weight(&self, _: &Key, kept: &Kept) -> u64 {
        OVERHEAD + kept.weight
    }
}

impl Default for Cache {
    fn default() -> Self {
        Self(sharded(ENTRIES, KEPT, ByWeight, processors::count()))
    }
}

impl Cache {
    /// What was kept of a state.
    pub(crate) fn get<V: Weighed>(&self, organization: Uuid, key: &str, state: State) -> Option<Arc<V>> {
        let kept = self.0.get(&(organization, TypeId::of::<V>(), key.into()))?;
        if kept.state == state { kept.value.downcast().ok() } else { None }
    }

    /// Keeps something of the state it was read in, in the place of what was kept of another.
    pub(crate) fn keep<V: Weighed>(&self, organization: Uuid, key: &str, state: State, value: &Arc<V>) {
        let kept = Kept { state, weight: value.weight(), value: value.clone() };
        self.0.insert((organization, TypeId::of::<V>(), key.into()), kept);
    }
}

/// Room for so many bytes, in as many shards as keeps the processors from waiting for each other, and in none that is smaller
/// than [`SHARD`], however many processors there are.
#[must_use]
pub fn sharded<K, V, W>(entries: usize, bytes: u64, weight: W, processors: usize) -> Shards<K, V, W>
where
    K: Eq + Hash,
    V: Clone,
    W: Weighter<K, V> + Clone,
{
    // There will be the next power of two of what is asked for, so the most is one itself.
    let most = 1 << (bytes / SHARD).max(1).ilog2();
    let shards = processors.saturating_mul(SHARDS_A_PROCESSOR).clamp(1, most);
    let options = OptionsBuilder::new().shards(shards).estimated_items_capacity(entries).weight_capacity(bytes).build();
    match options {
        Ok(options) => Shards::with_options(options, weight, DefaultHashBuilder::default(), DefaultLifecycle::default()),
        // Nothing is left out of the options, so this does not happen.
        Err(_) => Shards::with_weighter(entries, bytes, weight),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: u64 = 32 << 20;
    /// Every thing weighs what it says.
    #[derive(Clone)]
    struct Itself;

    impl Weighter<u64, u64> for Itself {
        fn weight(&self, _: &u64, weight: &u64) -> u64 {
            *weight
        }
    }

    #[test]
    fn what_is_kept_does_not_hang_on_the_number_of_processors() {
        for processors in [1, 2, 3, 8, 32, 128, 1_000] {
            let cache = sharded(4_096, BYTES, Itself, processors);
            assert_eq!(cache.capacity(), BYTES, "{processors}");
            // As an answer of 1 MiB weighs with its compressed form, whichever shard it falls to.
            let weight = (2 << 20) + 512;
            for key in 0..64 {
                cache.insert(key, weight);
                assert!(cache.contains_key(&key), "{key} of {processors}");
            }
        }
    }
}
