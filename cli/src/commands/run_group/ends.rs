//! How the runs of a group go on and end.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use engine::exit_code::Interruption;
use engine::ports::{CancelLevel, Repository};
use protocol::{ExitCode, RunName};
use regatta::RunControls;
use regatta::app_context::AppContext;
use regatta::error::{Error, ErrorKind, without_os_code};

/// How it has ended in one repository.
pub(super) struct MemberEnd {
    /// The exit code; `None` if no run could start.
    pub(super) code: Option<ExitCode>,
    /// The run, if it has begun.
    pub(super) run: Option<FinishedRun>,
}

/// A run that has ended.
pub(super) struct FinishedRun {
    pub(super) app: AppContext,
    pub(super) repository: Arc<dyn Repository>,
    pub(super) name: RunName,
    /// The number of its last event.
    pub(super) events: u64,
}

impl MemberEnd {
    pub(super) fn without_run(code: Option<ExitCode>) -> Self {
        Self { code, run: None }
    }
}

/// The runs of a group that have been submitted, and why the group is cancelled, if it is.
#[derive(Debug, Default)]
pub(super) struct GroupState {
    runs: Mutex<Vec<RunControls>>,
    /// The repositories in which no run could start.
    refusals: Mutex<Vec<Refusal>>,
    pub(super) why: OnceLock<Interruption>,
}

impl GroupState {
    /// Cancels all runs, and lets no further one start. The first reason stands.
    pub(super) fn cancel(&self, how: CancelLevel, why: Interruption) {
        let _first = self.why.set(why);
        self.runs().iter().for_each(|run| run.cancel(how, why));
    }

    pub(super) fn runs(&self) -> MutexGuard<'_, Vec<RunControls>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn refusals(&self) -> MutexGuard<'_, Vec<Refusal>> {
        self.refusals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A repository in which no run could start.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) root: PathBuf,
    pub(super) why: String,
    /// What it counts as in the exit code of the group; `None` for a failed task.
    pub(super) code: Option<ExitCode>,
}

impl Refusal {
    pub(super) fn of(root: &Path, error: &Error) -> Self {
        let why = without_os_code(&error.what_and_why());
        let code = (error.kind == ErrorKind::NoItems).then_some(ExitCode::Success);
        Self { root: root.to_owned(), why, code }
    }

    pub(super) fn line(&self) -> String {
        format!("no run in {}: {}", self.root.display(), self.why)
    }
}
