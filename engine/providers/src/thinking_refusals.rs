//! Which models have refused requests with what they thought. They get it no more in this process.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use url::Url;

/// The models of this process that have refused what they thought.
#[derive(Clone, Debug, Default)]
pub(crate) struct ThinkingRefusals(Arc<Mutex<Known>>);

/// A model, with the base URL of its server.
type Key = (Url, String);

#[derive(Debug, Default)]
struct Known {
    refusing: BTreeSet<Key>,
    /// The last message of each model with which it has refused a request that had no thinking, too.
    others: BTreeMap<Key, String>,
}

impl ThinkingRefusals {
    pub(crate) fn contains(&self, base: &Url, model: &str) -> bool {
        self.known().refusing.contains(&key(base, model))
    }

    pub(crate) fn add(&self, base: &Url, model: &str) {
        self.known().refusing.insert(key(base, model));
    }

    /// Returns whether a model refuses for another reason if it says `message`.
    pub(crate) fn is_other(&self, base: &Url, model: &str, message: &str) -> bool {
        self.known().others.get(&key(base, model)).is_some_and(|other| other == message)
    }

    /// Remembers a message with which a model refuses for another reason.
    pub(crate) fn add_other(&self, base: &Url, model: &str, message: &str) {
        self.known().others.insert(key(base, model), message.to_owned());
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(base: &Url, model: &str) -> Key {
    (base.clone(), model.to_owned())
}
