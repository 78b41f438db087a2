//! Builds the built-in tools for each session.

use std::sync::Arc;

use async_trait::async_trait;
use engine::fault::Faults;
use engine::ports::{Tool, ToolBuildError, ToolEnv, ToolFactory, ToolSpec};

use crate::session::Session;
use crate::table::{Entry, REHEARSAL, TABLE};

/// The built-in tools: `read`, `write`, `edit`, `bash` and `yield`.
pub struct Builtins {
    faults: Faults,
    tools: Vec<(&'static Entry, Arc<ToolSpec>)>,
}

impl Builtins {
    /// Returns the tools whose capability is not switched off.
    #[must_use]
    pub fn new(faults: Faults) -> Self {
        Self { faults, tools: Vec::new() }.with(TABLE)
    }

    /// Returns the tools with those that only a scripted model knows: `panic`, which panics.
    #[must_use]
    pub fn with_rehearsal(self) -> Self {
        self.with(REHEARSAL)
    }

    fn with(mut self, entries: &'static [Entry]) -> Self {
        let faults = &self.faults;
        let entries = entries.iter().filter(|entry| !faults.is_off(entry.capability));
        self.tools.extend(entries.map(|entry| (entry, Arc::new((entry.spec)()))));
        self
    }
}

#[async_trait]
impl ToolFactory for Builtins {
    fn name(&self) -> &str {
        "built-in tools"
    }

    async fn build(&self, env: &ToolEnv) -> Vec<Result<Arc<dyn Tool>, ToolBuildError>> {
        let session = Arc::new(Session::new(env.clone()));
        self.tools.iter().map(|(entry, spec)| Ok((entry.build)(spec, &session))).collect()
    }
}
