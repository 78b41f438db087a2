//! A task's workspace: a copy of the snapshot, and a git directory of its own.

mod copy_carried;
mod copy_file;
mod copy_threads;
mod copy_tree;
mod git_dir;
mod manifest;
mod merged_copy;
mod predecessors;
mod prepare;
mod removals;
mod remove_tree;
mod setup_state;
#[cfg(test)]
mod tests;

pub use prepare::NewWorkspace;

pub(crate) use copy_carried::keep_carried;
pub(crate) use copy_file::FileCopier;
pub(crate) use copy_threads::{COPY_THREADS, FileWork, cores, in_threads};
pub(crate) use copy_tree::{FrozenFiles, copy_tree};
pub(crate) use git_dir::{GIT_TEMPLATE, GitTemplate};
pub(crate) use manifest::{MANIFESTS, Manifest, is_workspace, task_of, tree_of};
pub(crate) use merged_copy::{is_merged_copy, make_merged_copy};
pub(crate) use predecessors::{SnapshotTarget, apply_predecessors, remove_file, write_file};
pub(crate) use prepare::{
    GIT, is_unfinished, make, make_unfinished, mark, must_be_there, must_be_there_beside, prepare,
};
pub(crate) use removals::{Removals, folders_set_aside, remove_set_aside, set_aside_run};
pub(crate) use remove_tree::{
    discard, is_being_removed, remove, remove_entry, remove_tree, set_aside,
};
pub(crate) use setup_state::{LeftFile, LeftOrigin, SetupChanges, SetupFile, SetupState};
