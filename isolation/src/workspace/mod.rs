//! A task's workspace: a copy of the frozen tree, and a git directory of its own.

mod copy;
mod file;
mod git_dir;
mod manifest;
mod predecessors;
mod prepare;
mod remove;
#[cfg(test)]
mod tests;
mod vanished;

pub(crate) use git_dir::{GIT_TEMPLATE, GitTemplate};
pub(crate) use manifest::{MANIFESTS, Manifest, is_workspace, task_of, tree_of};
pub(crate) use predecessors::apply_predecessors;
pub use prepare::NewWorkspace;
pub(crate) use prepare::{is_unfinished, make, prepare};
pub(crate) use remove::{discard, is_being_removed, remove, remove_tree};
pub(crate) use vanished::{must_be_there, must_be_there_beside};
