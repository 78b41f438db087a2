//! The isolation backends: their trait, the backends there are, and what all of them share.

mod backend;
mod capture_writer;
mod in_place;
mod run_context;
mod run_snapshot;
mod worktree;

pub use backend::{Backend, Backends, FrozenTree, RecoveredWorkspace};
pub use capture_writer::{CaptureWriter, FileVersion};
pub use run_context::RunContext;

pub(crate) use capture_writer::ChangeList;
pub(crate) use run_snapshot::{FrozenRun, LandingWait};
