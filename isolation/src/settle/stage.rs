//! Leaves the user's index as `git merge` would leave it.

use std::io::Write as _;

use engine::ports::IsolationError;
use git2::{Index, IndexEntry, IndexTime, Oid, Repository};
use protocol::{CaptureRef, Conflict, RepoPath};

use super::conflict_paths::{concerned_paths, entry_of};
use crate::error::{OrCannot, Result};
use crate::file_entry::{Entry, Mode};
use crate::repository::Repo;
use crate::store::TaskStore;

/// The bits of an entry's flags that hold its stage.
const STAGE_SHIFT: u16 = 12;

/// Adds the paths that a task changed to the user's index, as they are in the tree. A path of
/// `conflicts` gets an entry for each of its versions instead, so that git knows it as unmerged.
pub(crate) fn stage_merge(
    repo: &Repo,
    store: &TaskStore,
    capture: &CaptureRef,
    conflicts: &[Conflict],
) -> Result<()> {
    let what = || "write the index";
    let git = repo.git()?;
    let mut index = git.index().or_cannot(what)?;
    index.read(true).or_cannot(what)?;
    for change in store.changes(capture)? {
        add(&mut index, repo, &change.path).or_cannot(what)?;
    }
    for conflict in conflicts {
        for path in concerned_paths(conflict) {
            add(&mut index, repo, &path).or_cannot(what)?;
        }
        let sides = [&conflict.base, &conflict.ours, &conflict.theirs];
        index.remove_path(conflict.path.as_path()).or_cannot(what)?;
        for (stage, side) in (1..).zip(sides) {
            let Some(entry) = entry_of(side.as_ref()) else { continue };
            let oid = blob(&git, store, &conflict.path, entry)?;
            let entry = index_entry(&conflict.path, entry.mode, oid, stage);
            index.add(&entry).or_cannot(what)?;
        }
    }
    index.write().or_cannot(what)
}

/// Refuses to stage a merge over changes that the user has staged at the same paths.
pub(crate) fn check_can_stage(repo: &Repo, paths: &[RepoPath]) -> Result<()> {
    let what = || "read the index";
    let git = repo.git()?;
    let mut index = git.index().or_cannot(what)?;
    index.read(true).or_cannot(what)?;
    let refused = |because: String| IsolationError::Refused {
        what: "cannot leave the index as git merge would".to_owned(),
        because,
        hint: "commit what is staged, or leave --index out".to_owned(),
    };
    if index.has_conflicts() {
        return Err(refused("a merge is going on in it already".to_owned()));
    }
    let head = git.head().and_then(|head| head.peel_to_tree()).ok();
    for path in paths {
        let staged = index.get_path(path.as_path(), 0).map(|entry| (entry.id, entry.mode));
        let committed = head.as_ref().and_then(|tree| tree.get_path(path.as_path()).ok());
        let committed = committed.map(|entry| (entry.id(), entry.filemode().cast_unsigned()));
        if staged != committed {
            return Err(refused(format!("{path} has staged changes")));
        }
    }
    Ok(())
}

/// Makes the index entry of a path that of the file in the tree.
fn add(index: &mut Index, repo: &Repo, path: &RepoPath) -> std::result::Result<(), git2::Error> {
    let is_there =
        repo.root.join(path.as_path()).symlink_metadata().is_ok_and(|meta| !meta.is_dir());
    if is_there { index.add_path(path.as_path()) } else { index.remove_path(path.as_path()) }
}

/// Writes a version to the user's repository as git would commit it.
fn blob(git: &Repository, store: &TaskStore, path: &RepoPath, entry: Entry) -> Result<Oid> {
    let what = || format!("make a blob of {path}");
    let bytes = store.read(entry.oid)?;
    if entry.mode == Mode::Link {
        return git.blob(&bytes).or_cannot(what);
    }
    let mut writer = git.blob_writer(Some(path.as_path())).or_cannot(what)?;
    writer.write_all(&bytes).or_cannot(what)?;
    writer.commit().or_cannot(what)
}

fn index_entry(path: &RepoPath, mode: Mode, id: Oid, stage: u16) -> IndexEntry {
    let never = IndexTime::new(0, 0);
    IndexEntry {
        ctime: never,
        mtime: never,
        dev: 0,
        ino: 0,
        mode: mode.to_git(),
        uid: 0,
        gid: 0,
        file_size: 0,
        id,
        flags: stage << STAGE_SHIFT,
        flags_extended: 0,
        path: path.as_bytes().to_vec(),
    }
}
