//! Keeps the sides of conflicts that the task store lacks.

use git2::{ObjectType, Oid};
use protocol::Conflict;

use super::conflict_paths::entry_of;
use crate::error::{OrCannot, Result};
use crate::repository::Repo;
use crate::store::TaskStore;
use crate::tree::{Tree, TreeEntry};

/// Writes the sides of conflicts that the store lacks to it, from the user's repository, or from the
/// working tree where our version is there. What is in neither stays missing, which whoever reads it says.
pub(crate) fn keep_sides(store: &TaskStore, repo: &Repo, conflicts: &[Conflict]) -> Result<()> {
    let git = repo.git()?;
    let known = store.odb()?;
    let tree = Tree::open_at(&repo.root)?;
    for conflict in conflicts {
        for side in [&conflict.base, &conflict.ours, &conflict.theirs] {
            let Some(entry) = entry_of(side.as_ref()).filter(|entry| !known.exists(entry.oid))
            else {
                continue;
            };
            if let Ok(blob) = git.find_blob(entry.oid) {
                store.write(blob.content())?;
                continue;
            }
            let renamed = conflict.renamed.as_ref().and_then(|names| names.ours.as_ref());
            let path = renamed.unwrap_or(&conflict.path);
            let (TreeEntry::File { bytes, .. } | TreeEntry::Link { target: bytes, .. }) =
                tree.read_entry(path)?
            else {
                continue;
            };
            let oid = Oid::hash_object(ObjectType::Blob, &bytes);
            if oid.or_cannot(|| format!("read {path}"))? == entry.oid {
                store.write(&bytes)?;
            }
        }
    }
    Ok(())
}
