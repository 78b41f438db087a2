//! Which backends there are.

use std::sync::Arc;

use protocol::IsolationMode;

use crate::backends::in_place::InPlace;
use crate::backends::worktree::Worktree;
use crate::backends::{Backend, FrozenTree, RunContext};
use crate::error::{Result, cannot};

/// The backends of an engine, one per mode.
#[derive(Clone)]
pub struct Backends(Vec<Arc<dyn Backend>>);

impl Default for Backends {
    /// Returns the backends of this crate: one line for each.
    fn default() -> Self {
        Self(vec![Arc::new(Worktree), Arc::new(InPlace)])
    }
}

impl Backends {
    /// Adds a backend, in place of the one of the same mode.
    #[must_use]
    pub fn with(mut self, backend: Arc<dyn Backend>) -> Self {
        self.0.retain(|known| known.mode() != backend.mode());
        self.0.push(backend);
        self
    }

    /// Returns the backend of a mode.
    pub(crate) fn of(&self, mode: IsolationMode) -> Result<&dyn Backend> {
        let found = self.0.iter().find(|backend| backend.mode() == mode);
        found.map(Arc::as_ref).ok_or_else(|| {
            cannot(format!("isolate tasks as `{}` does", mode.name()), "there is no such backend")
        })
    }

    /// Reads back what an engine that died froze, by whichever backend.
    pub(crate) fn reopen(&self, context: &RunContext) -> Result<Arc<dyn FrozenTree>> {
        for backend in &self.0 {
            if let Some(frozen) = backend.reopen(context)? {
                return Ok(frozen);
            }
        }
        let what = format!("tell what the workspaces in {} began as", context.folder.display());
        Err(cannot(what, "there is no frozen tree"))
    }
}
