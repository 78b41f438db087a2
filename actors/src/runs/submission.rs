//! A run that is to be started, and what comes of it.

use std::sync::Arc;

use engine::exit_code::Interruption;
use engine::ports::{IsolationError, LandingNews, LedgerError, Repository};
use protocol::{RunId, RunName, RunSpec, TaskName};
use ractor::RpcReplyPort;

use crate::jobs::Panicked;

/// A run that is to be started.
pub struct Submission {
    /// What it is to do.
    pub spec: RunSpec,
    /// The repository it works on.
    pub repository: Arc<dyn Repository>,
    /// Told what its beginning has to wait for.
    pub news: Arc<dyn Fn(LandingNews) + Send + Sync>,
}

/// A run that was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submitted {
    /// Its identity.
    pub id: RunId,
    /// The name it got.
    pub name: RunName,
}

/// Why a run was not started. Nothing of it stays.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    /// Its working tree cannot be worked on.
    #[error(transparent)]
    Isolation(IsolationError),
    /// The ledger cannot be written.
    #[error(transparent)]
    Ledger(LedgerError),
    /// A task's schema is none.
    #[error("the schema of task `{task}` cannot be used: {fault}")]
    Schema {
        /// The task.
        task: TaskName,
        /// What is wrong with the schema.
        fault: String,
    },
    /// It was cancelled before it had begun.
    #[error("it was cancelled before it began")]
    Cancelled(Interruption),
    /// Opening it crashed.
    #[error("opening the run crashed")]
    Crashed(#[source] Panicked),
    /// The engine is closing.
    #[error("the engine is closing")]
    Closing,
}

/// The answer to a submission.
pub(crate) type Answer = RpcReplyPort<Result<Submitted, SubmitError>>;
