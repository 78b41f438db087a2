//! The paths and versions that a conflict is about.

use std::collections::BTreeSet;

use git2::Oid;
use protocol::{Conflict, RenamedFile, RepoPath, Side};

use crate::file_entry::{Entry, Mode};

/// Returns every path that a conflict is about: its own, and all names of a renamed file.
pub(crate) fn concerned_paths(conflict: &Conflict) -> BTreeSet<RepoPath> {
    let mut paths = BTreeSet::from([conflict.path.clone()]);
    if let Some(RenamedFile { from, ours, theirs }) = &conflict.renamed {
        paths.insert(from.clone());
        paths.extend(ours.clone());
        paths.extend(theirs.clone());
    }
    paths
}

/// Returns the base, ours and theirs of a conflict.
pub(super) fn versions_of(conflict: &Conflict) -> [Option<Entry>; 3] {
    [&conflict.base, &conflict.ours, &conflict.theirs].map(|side| entry_of(side.as_ref()))
}

/// Returns one side of a conflict as an entry; `None` if it is missing or not a file.
pub(crate) fn entry_of(side: Option<&Side>) -> Option<Entry> {
    let side = side?;
    Some(Entry { mode: Mode::from_git(side.mode)?, oid: Oid::from_str(&side.oid).ok()? })
}
