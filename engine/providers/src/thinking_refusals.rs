//! Which models have refused requests with what they thought. They get it no more in this process.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use url::Url;

/// The models of this process that have refused what they thought, each with the base URL of its server.
#[derive(Clone, Debug, Default)]
pub(crate) struct ThinkingRefusals(Arc<Mutex<BTreeSet<(Url, String)>>>);

impl ThinkingRefusals {
    pub(crate) fn contains(&self, base: &Url, model: &str) -> bool {
        let refusals = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        refusals.contains(&(base.clone(), model.to_owned()))
    }

    pub(crate) fn add(&self, base: &Url, model: &str) {
        let mut refusals = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        refusals.insert((base.clone(), model.to_owned()));
    }
}
