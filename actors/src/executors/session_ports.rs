//! What the calls of a session can use of those who own it.

use std::sync::Arc;
use std::time::Duration;

use engine::ports::{Ask, Pause};
use protocol::{ModelRoute, SessionId};

/// How long a question waits for its answer, where no person is known to read it.
pub(crate) const ANSWER_DEADLINE: Duration = Duration::from_secs(600);

/// What the session of an executor can do beside its calls.
#[derive(Clone, Default)]
pub(crate) struct SessionPorts {
    /// Asks a person; `None` where the session has no one who could answer.
    pub(crate) ask: Option<Arc<dyn Ask>>,
    /// Lets calls wait; `None` if the session works for no task.
    pub(crate) pause: Option<Arc<dyn Pause>>,
}

/// Who makes a call.
#[derive(Clone, Debug)]
pub(crate) struct CallFrom {
    pub(crate) session: SessionId,
    pub(crate) model: ModelRoute,
}
