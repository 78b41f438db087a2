//! Whether captured work is in the working tree now.

use std::path::Path;

use protocol::{CaptureRef, RepoPath, TaskName};

use crate::error::Result;
use crate::landing::WorkingTree;
use crate::merge::Merger;
use crate::store::TaskStore;
use crate::tree::Tree;

/// Whether captured work is in the working tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkInTree {
    /// All of it is there. Landing it would change nothing.
    Whole,
    /// It is not there, or only a part of it. Landing it would change these paths, sorted.
    Missing(Vec<RepoPath>),
    /// The tree has something else at these paths, for instance later edits of the same lines.
    /// Landing it would conflict there.
    Edited(Vec<RepoPath>),
}

/// Compares a capture with the working tree at `root`. Changes nothing there.
pub(crate) fn work_in_tree(
    root: &Path,
    store: &TaskStore,
    capture: &CaptureRef,
) -> Result<WorkInTree> {
    let changes = store.changes(capture)?;
    let tree = Tree::open_at(root)?;
    let target = WorkingTree { tree: &tree, store };
    let mut merger = Merger::over(&target, store);
    Ok(match merger.add(&TaskName::nearest("task"), &changes)? {
        Ok(()) => match merger.finish() {
            merged if merged.is_empty() => WorkInTree::Whole,
            merged => WorkInTree::Missing(merged.into_keys().collect()),
        },
        Err(conflicts) => {
            WorkInTree::Edited(conflicts.into_iter().map(|conflict| conflict.path).collect())
        }
    })
}
