//! The port for recovery: what dead engines left in a repository.

use std::collections::BTreeSet;

use async_trait::async_trait;
use protocol::{CaptureRef, Captured, LandingId, LandingReport, Rescue, RunName, TaskName};

use super::IsolationError;

/// The findings of a recovery, with the locks of the runs concerned. If it is dropped, the next
/// start of an engine repeats the recovery.
#[async_trait]
pub trait Recovery: Send + Sync {
    /// Returns the findings.
    fn found(&self) -> &Recovered;

    /// Removes what is not needed after the findings are in the ledger: captured workspaces,
    /// folders of finished runs and open journals. Workspaces of the runs in `unrecorded`, which no
    /// known ledger contains, are kept.
    async fn finish(self: Box<Self>, unrecorded: BTreeSet<RunName>) -> Result<(), IsolationError>;
}

/// A run that is not over according to the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenRun {
    /// The run.
    pub run: RunName,
    /// The captures of the run that the ledger contains.
    pub captures: BTreeSet<CaptureRef>,
}

/// What a recovery found of dead engines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Landings that are complete in the tree.
    pub landings: Vec<RecoveredLanding>,
    /// Tasks with a workspace, or with a capture that is not in the ledger.
    pub tasks: Vec<RecoveredTask>,
    /// Runs whose lock is free: those with a folder, and those that are not over according to the
    /// ledger.
    pub dead: Vec<RunName>,
    /// Paths that are kept because they may belong to somebody, described for the user.
    pub kept: Vec<String>,
    /// Kept versions of files that landings had replaced.
    pub rescued: Vec<Rescue>,
}

/// A landing whose engine died before the ledger contained its report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoveredLanding {
    /// The run.
    pub run: RunName,
    /// The id of the landing; absent in journals that were written before landings had ids.
    pub landing: Option<LandingId>,
    /// The result for each task.
    pub report: LandingReport,
    /// Which engine completed the landing.
    pub completion: Completion,
}

/// Which engine completed a landing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// The engine that started it.
    Earlier,
    /// The engine that runs this recovery.
    Now,
}

/// A workspace that a dead engine left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoveredTask {
    /// The run.
    pub run: RunName,
    /// The task.
    pub task: TaskName,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// The capture of the workspace, or why there is none.
    pub captured: Result<Captured, Uncaptured>,
}

/// Why the workspace of a dead engine was not captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Uncaptured {
    /// The workspace could not be read, and is kept.
    Kept(String),
    /// The workspace does not exist any more. This is reported once.
    Gone(String),
}
