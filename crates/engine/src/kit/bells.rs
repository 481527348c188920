//! Bells: wake signals. A transaction notes the bells to ring. After its commit, the background
//! tasks that wait for these bells wake up.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

/// A wake signal, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Bell(pub &'static str);

#[derive(Default)]
pub(super) struct Bells(Mutex<HashMap<Bell, Arc<Notify>>>);

impl Bells {
    pub(super) fn get(&self, bell: Bell) -> Arc<Notify> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(bell)
            .or_default()
            .clone()
    }
}
