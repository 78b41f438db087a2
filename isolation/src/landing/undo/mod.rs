//! Takes landings back. What a landing has replaced is in its journal and in the task store. An undo
//! merges that back as a landing merges work, and is carried out as a landing: with a journal, an
//! exchange of files, and recovery after a crash.

mod branches;
mod chain;
mod files;
mod history;
mod in_force;
mod moved_on;
mod nested;
mod record;
mod refusals;
mod report;
mod reversal;
mod stack;
mod take_back;
#[cfg(test)]
mod tests;
mod timeline;

pub(super) use branches::{finish_branches, has_returned};
pub(super) use in_force::WorkInForce;
pub(super) use record::{MadeBranch, NestedBranch, UndoRecord};
pub(crate) use take_back::{dry_run_undo, undo};
