//! Request coalescing: look-ups that arrive at about the same time are answered by one query.
//!
//! At most one query runs at a time. A look-up that arrives during a query waits and is answered by
//! the next query. So a query begins after all its look-ups have arrived, and a look-up sees every
//! commit made before its arrival. The wait and the number of keys in a query are bounded.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::error::Error;
use crate::job::WorkError;
use crate::postgres::Postgres;
use crate::{Backend, Store, Transaction, WAIT_LIMIT};

/// Maximum number of look-ups in one query.
const BATCH_SIZE: usize = 1_024;
/// Maximum number of look-ups that wait for the next query.
const WAITING: usize = 16_384;

/// A function that finds the values of the given keys. A key without a value is absent from the
/// map.
pub type Find<K, V, E> =
    dyn Fn(&mut Transaction<'_>, &[K]) -> Result<HashMap<K, V>, E> + Send + Sync;

/// Look-ups that use the same [`Find`] function. One query answers several of them.
pub struct BatchLookup<K, V, E>(Arc<LookupInner<K, V, E>>);

struct LookupInner<K, V, E> {
    store: Store,
    find: Box<Find<K, V, E>>,
    state: Mutex<LookupState<K, V, E>>,
}

struct LookupState<K, V, E> {
    waiting: VecDeque<(K, LookupAnswer<V, E>)>,
    is_running: bool,
}

type LookupAnswer<V, E> = oneshot::Sender<Result<Option<V>, E>>;

impl<K, V, E> BatchLookup<K, V, E>
where
    K: Eq + Hash + Clone + Send + 'static,
    V: Clone + Send + 'static,
    E: WorkError + Clone,
{
    /// Creates the queue of the look-ups that `find` answers. On PostgreSQL the statements of
    /// `find` share no snapshot: a statement may see a commit that the statement before it did not
    /// see.
    pub fn new<F>(store: Store, find: F) -> Self
    where
        F: Fn(&mut Transaction<'_>, &[K]) -> Result<HashMap<K, V>, E> + Send + Sync + 'static,
    {
        let state = Mutex::new(LookupState {
            waiting: VecDeque::new(),
            is_running: false,
        });
        Self(Arc::new(LookupInner {
            store,
            find: Box::new(find),
            state,
        }))
    }

    /// Looks up the value of a key. Sees everything committed before this call.
    pub async fn look_up(&self, key: K) -> Result<Option<V>, E> {
        let inner = self.0.clone();
        let Backend::Postgres(postgres) = self.0.store.backend.clone() else {
            // On SQLite, one query for each look-up costs no more than one query for many.
            let keys = [key];
            return self
                .0
                .store
                .read(move |tx| Ok((inner.find)(tx, &keys)?.remove(&keys[0])))
                .await;
        };
        let (sender, receiver) = oneshot::channel();
        if self.0.enqueue(key, sender)? {
            tokio::task::spawn_blocking(move || inner.run(&postgres));
        }
        let unavailable = |why: &str| Err(E::from(Error::Unavailable(why.into())));
        match tokio::time::timeout(WAIT_LIMIT, receiver).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => unavailable("a combined query ended without an answer"),
            Err(_) => unavailable("the database did not answer in time"),
        }
    }
}

impl<K: Eq + Hash + Clone, V: Clone, E: WorkError + Clone> LookupInner<K, V, E> {
    /// Adds a look-up to the queue. Returns true if no query is running. The calling function must
    /// then start one.
    fn enqueue(&self, key: K, answer: LookupAnswer<V, E>) -> Result<bool, E> {
        let mut state = self.state();
        if state.waiting.len() >= WAITING {
            return Err(
                Error::Unavailable("too many operations wait for the database".into()).into(),
            );
        }
        state.waiting.push_back((key, answer));
        Ok(!std::mem::replace(&mut state.is_running, true))
    }

    /// Runs queries until no look-up waits.
    fn run(&self, postgres: &Postgres) {
        while let Some(answers) = self.next() {
            let keys: Vec<K> = answers.keys().cloned().collect();
            let values = postgres.look_up(|tx| (self.find)(tx, &keys));
            // If `find` panicked, the channels of the look-ups in this query are closed, and the
            // functions that wait for an answer get an error.
            let Ok(values) = values else { continue };
            for (key, answers) in answers {
                let answer = values
                    .as_ref()
                    .map(|values| values.get(&key).cloned())
                    .map_err(Clone::clone);
                // If the function that asked for a look-up no longer waits, its answer is dropped.
                for sender in answers {
                    drop(sender.send(answer.clone()));
                }
            }
        }
    }

    /// Removes the look-ups for the next query from the queue and returns them, by key. If no
    /// look-up waits, marks that no query runs and returns `None`.
    fn next(&self) -> Option<HashMap<K, Vec<LookupAnswer<V, E>>>> {
        let mut state = self.state();
        let count = state.waiting.len().min(BATCH_SIZE);
        let mut answers: HashMap<K, Vec<LookupAnswer<V, E>>> = HashMap::new();
        for (key, answer) in state
            .waiting
            .drain(..count)
            .filter(|(_, answer)| !answer.is_closed())
        {
            answers.entry(key).or_default().push(answer);
        }
        state.is_running = count > 0;
        (count > 0).then_some(answers)
    }

    fn state(&self) -> MutexGuard<'_, LookupState<K, V, E>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
