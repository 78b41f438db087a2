//! Lists what has changed in a workspace since it was complete, without writing it to the task store.

use std::path::Path;

use git2::{ObjectType, Oid};
use protocol::RepoPath;

use crate::baseline::{ContentReader, Snapshot};
use crate::capture::capture_workspace::ForceAdded;
use crate::capture::compare::read_with_stat;
use crate::capture::walk;
use crate::capture::work_rules::WorkRules;
use crate::error::{OrCannot, Result};
use crate::file_entry::Entry;
use crate::tree::Tree;
use crate::workspace::{Manifest, must_be_there, tree_of};

/// A path that may have changed.
pub(crate) struct ChangedPath {
    pub(crate) path: RepoPath,
    /// What is there; `None` if nothing is.
    pub(crate) now: Option<Entry>,
}

/// Returns every path of the workspace at `folder` that is not ignored and may have changed since
/// `manifest`, sorted. No process may be writing to it.
pub(crate) fn changed_paths(
    snapshot: &Snapshot,
    folder: &Path,
    manifest: &Manifest,
    bytes: &ContentReader,
) -> Result<Vec<ChangedPath>> {
    must_be_there(folder)?;
    let tree = Tree::open_at(&tree_of(folder))?;
    let rules = WorkRules::of_the_work(snapshot, manifest, &tree, bytes)?;
    let force_added = ForceAdded::of(snapshot, folder);
    let walk::Walked { candidates, .. } =
        walk::candidates(snapshot, manifest, &tree, &rules, &force_added, None)?;
    let mut changed = Vec::with_capacity(candidates.len());
    for candidate in candidates {
        let path = candidate.path;
        let now = match candidate.now {
            Some(_) => read_with_stat(&tree, &path)?,
            None => None,
        };
        let entry = |(mode, bytes, _): (_, Vec<u8>, _)| {
            let oid = Oid::hash_object(ObjectType::Blob, &bytes);
            oid.map(|oid| Entry { mode, oid }).or_cannot(|| format!("hash {path}"))
        };
        let now = now.map(entry).transpose()?;
        changed.push(ChangedPath { path, now });
    }
    Ok(changed)
}
