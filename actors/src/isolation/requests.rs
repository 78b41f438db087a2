//! The requests to a repository actor that have several parts, and their answers.

use std::sync::Arc;

use engine::ports::{
    CancelToken, FreezeRequest, IsolationError, LandingNotice, LandingRequest, RunLock,
};
use protocol::{Captured, LandingId, LandingReport, TaskName};
use ractor::RpcReplyPort;

pub(super) type LandingReply = RpcReplyPort<Result<LandingReport, IsolationError>>;

/// A request to freeze the working tree.
pub(crate) struct Freezing {
    pub(crate) request: FreezeRequest,
    pub(crate) lock: RunLock,
    pub(crate) cancel: CancelToken,
    pub(crate) notify: Arc<dyn Fn(LandingNotice) + Send + Sync>,
}

/// A request to land captured work.
pub(crate) struct Landing {
    pub(crate) landing: LandingId,
    pub(crate) request: LandingRequest,
    pub(crate) cancel: CancelToken,
    pub(crate) notify: Arc<dyn Fn(LandingNotice) + Send + Sync>,
    pub(crate) reply: LandingReply,
}

/// Captures made after the tasks of a run had ended.
#[derive(Debug, Default)]
pub(crate) struct SettledRun {
    /// The captures of tasks whose actors died.
    pub(crate) late: Vec<(TaskName, Captured)>,
}
