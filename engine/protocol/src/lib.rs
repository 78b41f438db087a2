//! The words every part of the house shares: ids, specifications, outcomes, changes, events and
//! ledger entries. Data only — nothing here reads a file, opens a socket or starts a task.

mod change;
mod event;
mod exit;
mod id;
mod landing;
mod ledger;
mod name;
mod outcome;
mod path;
mod run;
mod task;
mod time;

pub use change::{CaptureRef, Captured, ChangeSummary};
pub use event::{Event, EventKind, Phase, Totals};
pub use exit::ExitCode;
pub use id::{RunId, TaskId};
pub use landing::{Conflict, ConflictReason, Landed, LandingReport, Side, TaskLanding};
pub use ledger::{LedgerEntry, RunState, TaskState};
pub use name::{NameError, RunName, TaskName};
pub use outcome::{Failure, FailureClass, FailureDetail, Outcome, TaskReport};
pub use path::RepoPath;
pub use run::{IsolationMode, MergeMode, OnFailure, RunSpec};
pub use task::{ChangeDemand, Command, Item, TaskLimits, TaskSpec, Work};
pub use time::Timestamp;
