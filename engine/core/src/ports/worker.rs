//! Doing the work of a task.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use protocol::{
    AgentEnd, External, Failure, FailureClass, SessionEvent, TaskId, TaskLimits, Usage,
};
use serde_json::Value;

use super::CancelLevel;
use crate::restarts::RestartBudget;
use crate::task::Reminder;

/// Does the work of one task in its workspace.
#[async_trait]
pub trait Worker: Send + Sync {
    /// Works until it ends by itself: from the beginning, or with a reminder of what was wrong with
    /// its last end. A worker that crashed may have missed the reminder, and is given it again.
    ///
    /// A panic is a crash of this worker and of nothing else. Dropping the future ends the work.
    async fn work(&self, reminder: Option<Reminder>) -> AgentEnd;

    /// Asks the work to stop; it may take the grace period where the level allows for one. What
    /// does not stop is dropped.
    fn stop(&self, level: CancelLevel);
}

/// What a worker is started with.
#[derive(Clone)]
pub struct WorkerStart {
    /// The task.
    pub task: TaskId,
    /// Counts the attempts at the task from 1.
    pub attempt: u32,
    /// The root of the workspace.
    pub root: PathBuf,
    /// The folder inside it in which the work is done.
    pub folder: PathBuf,
    /// The user's own working tree.
    pub repo: PathBuf,
    /// What is added to the environment of processes.
    pub environment: BTreeMap<String, OsString>,
    /// Where output goes.
    pub artifacts: PathBuf,
    /// How much may be used. The task watches the wall clock.
    pub limits: TaskLimits,
    /// The JSON Schema of what is to be yielded; anything will do without one. The task judges the
    /// value and reminds.
    pub schema: Option<Value>,
    /// Takes what the worker reports.
    pub reports: ReportSink,
}

/// Takes what a worker reports. Never waits.
pub type ReportSink = Arc<dyn Fn(WorkerReport) + Send + Sync>;

/// What a worker reports while it works.
#[derive(Clone, Debug, PartialEq)]
pub enum WorkerReport {
    /// What it is doing, in one line; a few per second at most.
    Line(String),
    /// It has used this, in addition to what it reported before.
    Used(Usage),
    /// Something happened in the session that does the work.
    Session(SessionEvent),
}

/// Finds the agents of other programs.
///
/// Their requests to models pass no gate of the engine, so that no rate limit and no budget of it
/// holds for them; the run says so.
pub trait ExternalWorkers: Send + Sync {
    /// Returns a worker that has done nothing yet.
    ///
    /// # Errors
    /// The program is not known, or cannot be run.
    fn open(&self, external: &External, start: WorkerStart) -> Result<Arc<dyn Worker>, Failure>;

    /// Returns how often a crashed worker is started again. A program that cannot go on where it
    /// was is never run twice.
    fn restarts(&self, _external: &External) -> RestartBudget {
        RestartBudget::NONE
    }
}

/// Knows no program.
#[derive(Clone, Copy, Debug)]
pub struct NoExternalWorkers;

impl ExternalWorkers for NoExternalWorkers {
    fn open(&self, external: &External, _start: WorkerStart) -> Result<Arc<dyn Worker>, Failure> {
        let message = format!("the external worker `{}` is not available", external.program);
        Err(Failure::new(FailureClass::Invalid, message))
    }
}
