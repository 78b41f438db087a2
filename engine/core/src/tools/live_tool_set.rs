//! The tools of a session at this moment: those that are built in, and those that come and go while it lives.

use std::sync::{Arc, Mutex, PoisonError};

use super::ToolSet;
use crate::ports::{LiveTools, Schemas};

/// A tool set of which a part changes.
pub struct LiveToolSet {
    fixed: Arc<ToolSet>,
    /// The part that changes; `None` if there is none.
    live: Option<Arc<dyn LiveTools>>,
    schemas: Arc<dyn Schemas>,
    newest: Mutex<(u64, Arc<ToolSet>)>,
}

impl LiveToolSet {
    /// Returns `fixed` with the tools of `live` behind it.
    #[must_use]
    pub fn new(
        fixed: ToolSet,
        live: Option<Arc<dyn LiveTools>>,
        schemas: Arc<dyn Schemas>,
    ) -> Self {
        let fixed = Arc::new(fixed);
        // No version is zero: the first set is made when it is asked for.
        let newest = Mutex::new((0, Arc::clone(&fixed)));
        Self { fixed, live, schemas, newest }
    }

    /// Returns the tools that do not change.
    #[must_use]
    pub fn fixed(&self) -> &ToolSet {
        &self.fixed
    }

    /// Returns the tools at this moment. A call that has begun keeps the set with which it began.
    #[must_use]
    pub fn newest(&self) -> Arc<ToolSet> {
        let Some(live) = &self.live else { return Arc::clone(&self.fixed) };
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        let version = live.version() + 1;
        if newest.0 != version {
            let tools = Arc::clone(live).tools(&self.fixed.names());
            *newest = (version, Arc::new(self.fixed.with(tools, self.schemas.as_ref())));
        }
        Arc::clone(&newest.1)
    }
}
