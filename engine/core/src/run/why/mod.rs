//! Why a task waits, what it does or how it ended, in one sentence.

mod observe;
mod run_sentence;
mod situation;

pub use observe::{Observed, Subagents, situation};
pub use run_sentence::run_sentence;
pub use situation::{AccountHold, EngineProcess, TaskEnding, TaskSituation};
