//! Three-way merging of tasks' work in memory: of one path, of all paths of a task, and of the
//! tasks of a run one after the other. Nothing here touches a working tree.

mod merge_tasks;
mod merger;
#[cfg(test)]
mod random;
mod rules;
mod target;
#[cfg(test)]
mod tests;
mod text;
mod three_way;

pub(crate) use merge_tasks::{
    mark_setup_conflicts, merge_captures, merge_tasks, missing_predecessors,
};
pub(crate) use merger::{MergedPath, Merger};
pub(crate) use rules::MergeRules;
pub(crate) use target::{Blobs, EntryState, MergeTarget};
pub(crate) use three_way::{Joined, MergeRule, MergedEntry, three_way};
