//! What the tools of one session share.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::panic::resume_unwind;
use std::sync::Arc;

use engine::ports::{CancelToken, Commands, ToolAnswer, ToolText, Workbench};
use serde_json::Value;
use tokio::sync::{Mutex, Semaphore};
use tokio::task::spawn_blocking;

use crate::artifacts::Artifacts;
use crate::tree::Tree;
use crate::trouble::Trouble;

/// What the tools of one session share.
pub(crate) struct Desk {
    /// The working tree.
    pub(crate) tree: Arc<Tree>,
    /// Runs commands.
    pub(crate) commands: Arc<dyn Commands>,
    /// Where output goes.
    pub(crate) artifacts: Arc<Artifacts>,
    /// What is added to the environment of commands.
    pub(crate) environment: BTreeMap<String, OsString>,
    /// How many bytes of output are kept of one call.
    pub(crate) keep: u64,
    /// The JSON Schema of what is to be yielded.
    pub(crate) result: Option<Value>,
    /// Held by who changes a file. One file may have several paths, so there is one queue for all
    /// of them; it is served in the order of the calls.
    changes: Arc<Mutex<()>>,
    /// Held by who waits for the disk, of all sessions.
    disk: Arc<Semaphore>,
}

impl Desk {
    /// Returns what the tools that work on `bench` share. `disk` bounds how many threads wait.
    pub(crate) fn new(bench: Workbench, commands: Arc<dyn Commands>, disk: Arc<Semaphore>) -> Self {
        let Workbench { root, folder, repo, environment, artifacts, keep, schema } = bench;
        Self {
            tree: Arc::new(Tree::new(root, folder, repo)),
            commands,
            artifacts: Arc::new(Artifacts::new(artifacts)),
            environment,
            keep,
            result: schema,
            changes: Arc::default(),
            disk,
        }
    }

    /// Makes a change to a file when nobody else makes one.
    pub(crate) async fn change(
        &self,
        stop: &CancelToken,
        change: impl FnOnce() -> Result<ToolText, Trouble> + Send + 'static,
    ) -> Result<ToolAnswer, Trouble> {
        let mine = Arc::clone(&self.changes).lock_owned();
        let turn = tokio::select! {
            biased;
            () = stop.cancelled() => return Err(Trouble::Aborted),
            guard = mine => guard,
        };
        self.aside(move || {
            // A change outlives a call that is dropped, and so does its turn.
            let _turn = turn;
            change().map(ToolAnswer::Said)
        })
        .await
    }

    /// Does something that waits for the disk where waiting holds nobody up.
    pub(crate) async fn aside<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Trouble> + Send + 'static,
    ) -> Result<T, Trouble> {
        let Ok(place) = Arc::clone(&self.disk).acquire_owned().await else {
            return Err(Trouble::Aborted);
        };
        // What has begun goes on when the call is dropped, and so does its claim.
        let worked = spawn_blocking(move || {
            let _place = place;
            work()
        });
        match worked.await {
            Ok(done) => done,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                // The runtime is going down.
                Err(_) => Err(Trouble::Aborted),
            },
        }
    }
}
