//! What engines share about accounts, in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use engine::ports::{AccountId, Change, GateStore, GateStoreError, SharedAccount};

/// Shares bytes between the gates of one process.
#[derive(Clone, Debug, Default)]
pub struct FakeGateStore(Arc<Mutex<Shared>>);

#[derive(Debug, Default)]
struct Shared {
    bytes: BTreeMap<String, Vec<u8>>,
    members: BTreeSet<String>,
    count: u64,
}

impl FakeGateStore {
    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl GateStore for FakeGateStore {
    async fn run(&self, step: Box<dyn FnOnce() + Send>) {
        step();
    }

    fn join(&self, account: &AccountId) -> Result<Box<dyn SharedAccount>, GateStoreError> {
        let mut shared = self.lock();
        shared.count += 1;
        let name = format!("member-{}", shared.count);
        shared.members.insert(name.clone());
        drop(shared);
        let account = account.identity().to_owned();
        Ok(Box::new(FakeMember { name, account, store: self.clone() }))
    }
}

struct FakeMember {
    name: String,
    account: String,
    store: FakeGateStore,
}

impl SharedAccount for FakeMember {
    fn member(&self) -> &str {
        &self.name
    }

    fn now(&self) -> Duration {
        Duration::from_secs(1_000)
    }

    fn update(&mut self, change: &mut Change<'_>) -> Result<(), GateStoreError> {
        let mut shared = self.store.lock();
        let members = shared.members.clone();
        let bytes = shared.bytes.entry(self.account.clone()).or_default();
        *bytes = change(bytes, &|member| members.contains(member));
        Ok(())
    }
}

impl Drop for FakeMember {
    fn drop(&mut self) {
        self.store.lock().members.remove(&self.name);
    }
}
