//! The reasons of conflicts that only the user's index knows: submodules and untracked files.

use std::collections::BTreeSet;

use git2::Repository;
use protocol::{Conflict, ConflictReason, RepoPath, Side};

/// The mode of a submodule in the index.
const GITLINK: u32 = 0o160_000;

/// Gives conflicts with a submodule, or with a file that git does not track, their reason. Without a
/// readable index the conflicts stay as they are, and so do those in `nested`, the folders of
/// repositories of which this index knows nothing.
pub(crate) fn mark_by_index(
    git: &Repository,
    conflicts: &mut [Conflict],
    nested: &BTreeSet<RepoPath>,
) {
    let Ok(index) = git.index() else { return };
    let entry = |path: &RepoPath| index.get_path(path.as_path(), 0);
    let submodule = |path: &RepoPath| {
        let mut places = std::iter::once(path.clone()).chain(path.folders());
        places.find_map(|place| entry(&place).filter(|entry| entry.mode == GITLINK))
    };
    for conflict in conflicts.iter_mut().filter(|conflict| conflict.with.is_none()) {
        let by_path = matches!(conflict.reason, ConflictReason::BothAdded | ConflictReason::Mode);
        if conflict.path.folders().any(|folder| nested.contains(&folder)) {
            continue;
        }
        if !by_path && conflict.reason != ConflictReason::InTheWay {
            continue;
        }
        if let Some(found) = submodule(&conflict.path) {
            conflict.reason = ConflictReason::Submodule;
            conflict.ours = Some(Side { mode: GITLINK, oid: found.id.to_string() });
        } else if by_path && conflict.renamed.is_none() && entry(&conflict.path).is_none() {
            conflict.reason = ConflictReason::Untracked;
        }
    }
}
