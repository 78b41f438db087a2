//! The unmerged entries that `git merge` leaves for a conflict.

use protocol::{Conflict, ConflictReason, RenamedFile, RepoPath};

use super::conflict_paths::entry_of;
use super::names_beside::names_beside;
use crate::error::Result;
use crate::file_entry::{Entry, Mode};
use crate::repository::Repo;
use crate::store::TaskStore;
use crate::tree::{Tree, TreeEntry};

/// The content of an unmerged entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Staged {
    /// A version of the conflict.
    Version(Entry),
    /// The file that the merge left at the path.
    AsInTheTree,
}

/// An unmerged entry: its stage, its path and its content.
pub(super) type Unmerged = (u16, RepoPath, Staged);

/// Returns the unmerged entries of a conflict that has landed with markers.
pub(super) fn unmerged(
    repo: &Repo,
    store: &TaskStore,
    conflict: &Conflict,
) -> Result<Vec<Unmerged>> {
    let versions = [&conflict.base, &conflict.ours, &conflict.theirs];
    let [base, ours, theirs] = versions.map(|side| entry_of(side.as_ref()));
    let path = &conflict.path;
    let at =
        |stage: u16, path: &RepoPath, entry: Entry| (stage, path.clone(), Staged::Version(entry));
    if let (ConflictReason::RenamedTwice, Some(names)) = (conflict.reason, &conflict.renamed) {
        let RenamedFile { from, ours, theirs } = names;
        let names = [(2, ours), (3, theirs)].into_iter();
        let names = names.filter_map(|(stage, name)| Some((stage, name.clone()?)));
        let merged = names.map(|(stage, name)| (stage, name, Staged::AsInTheTree));
        return Ok(base.map(|base| at(1, from, base)).into_iter().chain(merged).collect());
    }
    if let (ConflictReason::Kind, Some(names)) = (conflict.reason, &conflict.renamed) {
        // What replaced the file is there at the old name, and only the new one is unmerged.
        let renamed = [(2, &names.ours, ours), (3, &names.theirs, theirs)].into_iter();
        let renamed = renamed.filter(|(_, name, _)| name.as_ref() != Some(&names.from));
        let renamed =
            renamed.filter_map(|(stage, name, entry)| Some((stage, name.clone()?, entry?)));
        let entries = renamed.flat_map(|(stage, name, entry)| {
            let base = base.map(|base| at(1, &name, base));
            base.into_iter().chain([at(stage, &name, entry)]).collect::<Vec<_>>()
        });
        return Ok(entries.collect());
    }
    if conflict.reason == ConflictReason::InTheWay {
        return beside_a_folder(repo, store, conflict, theirs);
    }
    let mut places = [path.clone(), path.clone(), path.clone()];
    if let [Some(our), Some(their)] = [ours, theirs]
        && (our.mode == Mode::Link) != (their.mode == Mode::Link)
    {
        // The file stands beside the symlink, and the base is a version of what is of its kind.
        let (side, name, file) =
            if our.mode == Mode::Link { (2, "theirs", their) } else { (1, "ours", our) };
        let beside = place_beside(repo, store, (path, name), file)?;
        if base.is_some_and(|base| base.mode != Mode::Link) {
            places[0] = beside.clone();
        }
        places[side] = beside;
    } else if let [Some(left), None] | [None, Some(left)] = [ours, theirs]
        && is_folder(repo, path)
    {
        // The side that removed the file has made a folder of its name.
        let side = if ours.is_some() { "ours" } else { "theirs" };
        let beside = place_beside(repo, store, (path, side), left)?;
        places = [beside.clone(), beside.clone(), beside];
    }
    let stages = (1..).zip(places).zip([base, ours, theirs]);
    Ok(stages.filter_map(|((stage, path), entry)| Some(at(stage, &path, entry?))).collect())
}

/// Returns the entries of a file that was put beside the folder that has its name.
fn beside_a_folder(
    repo: &Repo,
    store: &TaskStore,
    conflict: &Conflict,
    theirs: Option<Entry>,
) -> Result<Vec<Unmerged>> {
    if let Some(theirs) = theirs
        && is_folder(repo, &conflict.path)
    {
        let beside = place_beside(repo, store, (&conflict.path, "theirs"), theirs)?;
        return Ok(vec![(3, beside, Staged::Version(theirs))]);
    }
    // A file of ours had the name of a folder of this path, and took the first free name.
    let tree = Tree::open_at(&repo.root)?;
    for folder in conflict.path.folders() {
        let mut beside = None;
        for name in names_beside(&folder, "ours") {
            match tree.read_entry(&name)? {
                TreeEntry::File { .. } | TreeEntry::Link { .. } => beside = Some(name),
                TreeEntry::Missing | TreeEntry::Blocked(_) => break,
                TreeEntry::Folder | TreeEntry::Special => {}
            }
        }
        if let Some(beside) = beside {
            return Ok(vec![(2, beside, Staged::AsInTheTree)]);
        }
    }
    Ok(Vec::new())
}

/// Returns whether a folder is at a path of the tree.
fn is_folder(repo: &Repo, path: &RepoPath) -> bool {
    repo.root.join(path.as_path()).symlink_metadata().is_ok_and(|meta| meta.is_dir())
}

/// Returns the path at which a version was put beside its own; the path itself if it is nowhere.
fn place_beside(
    repo: &Repo,
    store: &TaskStore,
    (path, side): (&RepoPath, &str),
    version: Entry,
) -> Result<RepoPath> {
    let tree = Tree::open_at(&repo.root)?;
    let bytes = store.read(version.oid)?;
    for name in names_beside(path, side) {
        match tree.read_entry(&name)? {
            TreeEntry::File { bytes: found, .. } | TreeEntry::Link { target: found, .. } => {
                if found == bytes {
                    return Ok(name);
                }
            }
            TreeEntry::Missing | TreeEntry::Blocked(_) => break,
            TreeEntry::Folder | TreeEntry::Special => {}
        }
    }
    Ok(path.clone())
}
