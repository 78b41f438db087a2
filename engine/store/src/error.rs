//! The causes of errors of the ledger.

use std::path::Path;
use std::sync::Arc;

use engine::ports::{IsolationError, LedgerError};
use protocol::{RunId, TaskId, TaskName};

/// The cause of a [`LedgerError`]. It is `Clone`, because each request of a batch whose sync failed
/// gets it.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum LedgerCause {
    #[error(transparent)]
    Database(Arc<rusqlite::Error>),
    #[error("the folder or the file cannot be made")]
    File(#[source] Arc<std::io::Error>),
    #[error("it was not written")]
    Fault(#[source] Arc<std::io::Error>),
    #[error("a value cannot be written as JSON")]
    Json(#[source] Arc<serde_json::Error>),
    #[error("{0} is not in the ledger")]
    UnknownRun(RunId),
    #[error("{0} is not in the ledger")]
    UnknownTask(TaskId),
    #[error("{run} has no task {name}")]
    UnknownName { run: RunId, name: TaskName },
    #[error("every name that {0} could have is taken")]
    NoName(RunId),
    #[error(
        "a newer version of this program wrote it (its version is {found}, this program knows \
         {known}); update this program, or set another REGATTA_HOME"
    )]
    Newer { found: i64, known: i64 },
    #[error("it is a database, but not a ledger")]
    Foreign,
    #[error("its writer has ended")]
    Ended,
    #[error(transparent)]
    Lock(Arc<IsolationError>),
}

impl LedgerCause {
    /// Returns the error of the port: `action` on the ledger at `path` failed for this cause.
    pub(crate) fn to_error(&self, action: &str, path: &Path) -> LedgerError {
        let what = match self {
            Self::Lock(_) => "lock the run's folder of workspaces".to_owned(),
            _ => format!("{action} the ledger at {}", path.display()),
        };
        LedgerError { what, source: Box::new(self.clone()) }
    }
}

impl From<rusqlite::Error> for LedgerCause {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(Arc::new(error))
    }
}

impl From<serde_json::Error> for LedgerCause {
    fn from(error: serde_json::Error) -> Self {
        Self::Json(Arc::new(error))
    }
}
