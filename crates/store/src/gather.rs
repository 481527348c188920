//! Look-ups that share a query: what many ask for at once is asked of the database together.
//!
//! One query is under way at a time. Who asks meanwhile waits for it to end, and is in the next one. So a query is begun after
//! everybody whose key is in it has asked, and a statement that stands alone sees whatever was committed before it began: each
//! hears of every commit there was before they asked, as if they had asked by themselves. How long they wait has a bound, and
//! so has what is asked for together.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::error::Error;
use crate::job::WorkError;
use crate::postgres::Postgres;
use crate::{Backend, Store, Transaction, WAIT_LIMIT};

/// Who may share a query.
const TOGETHER: usize = 1_024;
/// Who may wait for the next ones.
const WAITING: usize = 16_384;

/// Finds what there is of these keys.
pub type Find<K, V, E> = dyn Fn(&mut Transaction<'_>, &[K]) -> Result<HashMap<K, V>, E> + Send + Sync;

/// Look-ups of one kind.
pub struct Gather<K, V, E>(Arc<Inner<K, V, E>>);

struct Inner<K, V, E> {
    store: Store,
    find: Box<Find<K, V, E>>,
    state: Mutex<State<K, V, E>>,
}

struct State<K, V, E> {
    waiting: VecDeque<(K, Answer<V, E>)>,
    is_asking: bool,
}

type Answer<V, E> = oneshot::Sender<Result<Option<V>, E>>;

impl<K, V, E> Gather<K, V, E>
where
    K: Eq + Hash + Clone + Send + 'static,
    V: Clone + Send + 'static,
    E: WorkError + Clone,
{
    /// Look-ups in a store. What `find` reads of it does not have to be of one state.
    pub fn new(store: Store, find: impl Fn(&mut Transaction<'_>, &[K]) -> Result<HashMap<K, V>, E> + Send + Sync + 'static) -> Self {
        let state = Mutex::new(State { waiting: VecDeque::new(), is_asking: false });
        Self(Arc::new(Inner { store, find: Box::new(find), state }))
    }

    /// What a key stands for, as of a moment after this was called.
    pub async fn ask(&self, key: K) -> Result<Option<V>, E> {
        let inner = self.0.clone();
        let Backend::Postgres(postgres) = self.0.store.backend.clone() else {
            // There it costs no more to ask by oneself.
            let keys = [key];
            return self.0.store.read(move |tx| Ok((inner.find)(tx, &keys)?.remove(&keys[0]))).await;
        };
        let (sender, receiver) = oneshot::channel();
        if self.0.wait(key, sender)? {
            tokio::task::spawn_blocking(move || inner.run(&postgres));
        }
        let unavailable = |why: &str| Err(E::from(Error::Unavailable(why.into())));
        match tokio::time::timeout(WAIT_LIMIT, receiver).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => unavailable("a look-up ended without an answer"),
            Err(_) => unavailable("the database did not answer in time"),
        }
    }
}

impl<K: Eq + Hash + Clone, V: Clone, E: WorkError + Clone> Inner<K, V, E> {
    /// Puts somebody in line; whether nobody is asking who would come to them.
    fn wait(&self, key: K, answer: Answer<V, E>) -> Result<bool, E> {
        let mut state = self.state();
        if state.waiting.len() >= WAITING {
            return Err(Error::Unavailable("too much is waiting for the database".into()).into());
        }
        state.waiting.push_back((key, answer));
        Ok(!std::mem::replace(&mut state.is_asking, true))
    }

    /// Asks for whoever waits, until nobody does.
    fn run(&self, postgres: &Postgres) {
        while let Some(answers) = self.next() {
            let keys: Vec<K> = answers.keys().cloned().collect();
            let found = postgres.look(|tx| (self.find)(tx, &keys));
            // Who asked in a way that panics is told that there is no answer, by the end of their channel.
            let Ok(found) = found else { continue };
            for (key, answers) in answers {
                let answer = found.as_ref().map(|found| found.get(&key).cloned()).map_err(Clone::clone);
                // A caller that has gone needs no answer.
                for sender in answers {
                    drop(sender.send(answer.clone()));
                }
            }
        }
    }

    /// Who is asked for next; none where nobody waits, and then nobody asks.
    fn next(&self) -> Option<HashMap<K, Vec<Answer<V, E>>>> {
        let mut state = self.state();
        let count = state.waiting.len().min(TOGETHER);
        let mut answers: HashMap<K, Vec<Answer<V, E>>> = HashMap::new();
        for (key, answer) in state.waiting.drain(..count).filter(|(_, answer)| !answer.is_closed()) {
            answers.entry(key).or_default().push(answer);
        }
        state.is_asking = count > 0;
        (count > 0).then_some(answers)
    }

    fn state(&self) -> MutexGuard<'_, State<K, V, E>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
