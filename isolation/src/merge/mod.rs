//! Three-way merging of tasks' work in memory: of one path, of all paths of a task, and of the
//! tasks of a run one after the other. Nothing here touches a working tree.

mod added_files;
mod authors;
mod case_twins;
#[cfg(test)]
pub(crate) mod chain_samples;
#[cfg(test)]
mod chain_tests;
mod conflict_data;
mod folder_changes;
mod merge_tasks;
mod merger;
mod obstacles;
mod old_places;
mod opponents;
mod outside;
mod path_texts;
#[cfg(test)]
pub(crate) mod random;
mod renames;
mod rules;
mod settling;
mod side_renames;
mod so_far;
mod target;
mod task_changes;
#[cfg(test)]
mod tests;
mod text;
mod three_way;
#[cfg(test)]
pub(crate) mod tree_judge_tests;
#[cfg(test)]
mod tree_lost_tests;
mod tree_merge;
#[cfg(test)]
pub(crate) mod tree_samples;
#[cfg(test)]
pub(crate) mod tree_tests;
mod versions;

pub(crate) use merge_tasks::{
    begin_with, mark_setup_conflicts, merge_captures, merge_tasks, missing_predecessors,
    predecessors,
};
pub(crate) use merger::{MergedPath, Merger};
pub(crate) use obstacles::entries_below;
pub(crate) use opponents::clash;
pub(crate) use renames::Rename;
pub(crate) use rules::{MarkerForm, MergeRules};
pub(crate) use settling::Added;
pub(crate) use side_renames::{renames_of, same_files};
pub(crate) use target::{BlobForm, Blobs, EntryState, MergeTarget, OutsideChanges};
pub(crate) use task_changes::TaskChange;
pub(crate) use text::{
    Budget, Favor, Labels, MARKER_LENGTH, MarkerStyle, Refinement, TextMerge, merge_text,
};
pub(crate) use three_way::{Joined, LARGEST_TEXT, MergeRule, MergedEntry, three_way};
pub(crate) use versions::{Began, Beginning};
