//! Reads scenario files, and counts across sessions what was attempted.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use engine::ports::{AccountId, Clock, ModelLocation, Provider, ProviderInfo};
use protocol::{Failure, FailureClass, ModelRoute};

use super::check::script;
use super::provider::{API, Attempts, Scripted};
use super::script::Script;
use crate::price::Price;

/// The most bytes of a scenario file.
const LARGEST: u64 = 4 << 20;

/// The scenario files that are played.
#[derive(Debug, Default)]
pub(crate) struct Scenarios {
    attempts: Arc<Attempts>,
    /// What each file said when it was last read: hundreds of sessions read the same one.
    read: Mutex<BTreeMap<String, Read>>,
}

/// What a file said, and what that means.
#[derive(Debug)]
struct Read {
    text: String,
    script: Arc<Script>,
}

impl Scenarios {
    /// Returns the model that the file named by `route` plays.
    pub(crate) fn open(
        &self,
        route: &ModelRoute,
        price: Option<Price>,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<dyn Provider>, Failure> {
        let (script, attempts) = (self.script(&route.id)?, Arc::clone(&self.attempts));
        let info = info(route);
        Ok(Arc::new(Scripted { info, script, attempts, price, clock }))
    }

    fn script(&self, path: &str) -> Result<Arc<Script>, Failure> {
        let invalid = |what: String| Failure::new(FailureClass::Invalid, what);
        let text = read(Path::new(path))
            .map_err(|why| invalid(format!("the scenario file {path} cannot be read: {why}")))?;
        let mut before = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = before.get(path).filter(|before| before.text == text) {
            return Ok(Arc::clone(&before.script));
        }
        let script = script(&text).map_err(|error| invalid(format!("{path}:{error}")))?;
        let script = Arc::new(script);
        before.insert(path.to_owned(), Read { text, script: Arc::clone(&script) });
        Ok(script)
    }
}

/// Returns what is known of the model that `route` plays. It is as patient as a remote one, so that
/// a rehearsal fails as a run would.
pub(crate) fn info(route: &ModelRoute) -> ProviderInfo {
    let account = AccountId { provider: route.provider.clone(), base_url: None, key: None };
    ProviderInfo { api: API, route: route.clone(), account, location: ModelLocation::Remote }
}

fn read(path: &Path) -> Result<String, String> {
    let said = |error: std::io::Error| error.to_string();
    // Asked before it is opened: opening a pipe would wait for someone to write.
    if !std::fs::metadata(path).map_err(said)?.is_file() {
        return Err("it is no file".to_owned());
    }
    let mut text = String::new();
    let read = File::open(path).map_err(said)?.take(LARGEST + 1).read_to_string(&mut text);
    read.map_err(said)?;
    if text.len() as u64 > LARGEST {
        return Err(format!("it is larger than {} MiB", LARGEST >> 20));
    }
    Ok(text)
}

#[cfg(test)]
mod tests;
