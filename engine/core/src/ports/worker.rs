//! The port for workers, which do the work of tasks.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use protocol::{AgentEnd, RunName, SessionEvent, TaskId, TaskLimits};
use serde_json::Value;

use super::CancelLevel;
use crate::task::Reminder;

/// A worker, which does the work of one task in its workspace.
#[async_trait]
pub trait Worker: Send + Sync {
    /// Works until the worker ends by itself. Without a reminder, the worker starts its work, or
    /// continues it after a crash. With a reminder, it continues after an end that the task did not
    /// accept. A worker that is restarted after a crash gets the last reminder again.
    ///
    /// A panic crashes only this worker. Dropping the future ends the work.
    async fn work(&self, reminder: Option<Reminder>) -> AgentEnd;

    /// Asks the worker to stop, with the grace period if the level allows it. A worker that does
    /// not stop is dropped.
    fn stop(&self, level: CancelLevel);
}

/// The arguments to start a worker.
#[derive(Clone)]
pub struct WorkerStart {
    /// The run of the task.
    pub run: RunName,
    /// The task.
    pub task: TaskId,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// The root of the workspace.
    pub root: PathBuf,
    /// The folder in the workspace in which the worker works.
    pub folder: PathBuf,
    /// The user's working tree.
    pub repo: PathBuf,
    /// Variables that are added to the environment of processes.
    pub environment: BTreeMap<String, OsString>,
    /// The folder for artifacts.
    pub artifacts: PathBuf,
    /// The limits of the task. The task itself enforces the wall-clock limit.
    pub limits: TaskLimits,
    /// The JSON Schema of the value to yield; without one, every value is accepted. The task itself
    /// checks the value and sends reminders.
    pub schema: Option<Value>,
    /// Receives the reports of the worker.
    pub reports: ReportSink,
}

/// Receives the reports of a worker. It never blocks.
pub type ReportSink = Arc<dyn Fn(WorkerReport) + Send + Sync>;

/// A report of a running worker.
#[derive(Clone, Debug, PartialEq)]
pub enum WorkerReport {
    /// What the worker is doing, in one line. There are at most a few per second.
    Line(String),
    /// An event of the worker's session.
    Session(SessionEvent),
}
