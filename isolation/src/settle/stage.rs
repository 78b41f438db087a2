//! Leaves the user's index as `git merge` would leave it.

use std::collections::BTreeMap;
use std::fs;

use engine::ports::IsolationError;
use git2::{Index, IndexEntry, IndexTime, ObjectType, Oid, Repository};
use protocol::{CaptureRef, Conflict, RepoPath};

use super::conflict_paths::{concerned_paths, entry_of};
use super::unmerged::{Staged, unmerged};
use crate::baseline::{Conversion, conversion, encoding_fault};
use crate::branch::committed_bytes;
use crate::error::{OrCannot, Result};
use crate::file_entry::{Change, Entry, Mode};
use crate::repository::{Repo, change_index};
use crate::store::TaskStore;

/// The bits of an entry's flags that hold its stage.
const STAGE_SHIFT: u16 = 12;

/// Adds the paths that a task changed to the user's index, as they are in the tree. The versions of a
/// conflict of `conflicts` become unmerged entries instead, at the paths at which git leaves them.
pub(crate) fn stage_merge(
    repo: &Repo,
    store: &TaskStore,
    capture: &CaptureRef,
    conflicts: &[Conflict],
) -> Result<()> {
    let git = repo.git()?;
    let paths = staged_paths(&store.changes(capture)?, conflicts);
    // The work may have brought the attribute.
    check_filters(&git, store, &paths)?;
    let own: Vec<_> = paths.into_keys().collect();
    change_index(repo, &git, |index| {
        let what = || "write the index";
        for path in &own {
            add(index, (repo, &git), path)?;
        }
        let entries = unmerged_entries((repo, &git), store, index, conflicts)?;
        for (path, _) in entries.keys() {
            index.remove_path(path.as_path()).or_cannot(what)?;
        }
        entries.values().try_for_each(|entry| index.add(entry).or_cannot(what))
    })
}

/// Returns the unmerged entries of these conflicts, by their paths and stages.
fn unmerged_entries(
    (repo, git): (&Repo, &Repository),
    store: &TaskStore,
    index: &mut Index,
    conflicts: &[Conflict],
) -> Result<BTreeMap<(RepoPath, u16), IndexEntry>> {
    let mut entries = BTreeMap::new();
    for conflict in conflicts {
        for (stage, path, staged) in unmerged(repo, store, conflict)? {
            let entry = match staged {
                Staged::Version(entry) => {
                    Some(index_entry(&path, entry.mode, blob(git, store, &path, entry)?, stage))
                }
                Staged::AsInTheTree => {
                    add(index, (repo, git), &path)?;
                    let entry = index.get_path(path.as_path(), 0);
                    entry.map(|entry| IndexEntry { flags: stage << STAGE_SHIFT, ..entry })
                }
            };
            if let Some(entry) = entry {
                entries.insert((path, stage), entry);
            }
        }
    }
    Ok(entries)
}

/// Refuses to stage a merge over changes that the user has staged at the same paths, and one of files
/// that git would let a program filter, or convert from an encoding that is not converted here: what is
/// staged would not be what git stages.
pub(crate) fn check_can_stage(
    repo: &Repo,
    store: &TaskStore,
    changes: &[Change],
    conflicts: &[Conflict],
) -> Result<()> {
    let what = || "read the index";
    let git = repo.git()?;
    let mut index = git.index().or_cannot(what)?;
    index.read(true).or_cannot(what)?;
    let hint = "commit what is staged, or leave --index out";
    if index.has_conflicts() {
        return Err(refused("a merge is going on in it already".to_owned(), hint));
    }
    let paths = staged_paths(changes, conflicts);
    let head = git.head().and_then(|head| head.peel_to_tree()).ok();
    for path in paths.keys() {
        let staged = index.get_path(path.as_path(), 0).map(|entry| (entry.id, entry.mode));
        let committed = head.as_ref().and_then(|tree| tree.get_path(path.as_path()).ok());
        // The files of a folder are entries of the index, and the folder is none.
        let committed = committed.filter(|entry| entry.kind() != Some(ObjectType::Tree));
        let committed = committed.map(|entry| (entry.id(), entry.filemode().cast_unsigned()));
        if staged != committed {
            return Err(refused(format!("{path} has staged changes"), hint));
        }
    }
    check_filters(&git, store, &paths)
}

/// Returns every path whose entries change, each with the versions of files that it may get.
fn staged_paths(changes: &[Change], conflicts: &[Conflict]) -> BTreeMap<RepoPath, Vec<Entry>> {
    let file = |entry: Option<Entry>| entry.filter(|entry| entry.mode != Mode::Link);
    let own = changes.iter().map(|change| (change.path.clone(), Vec::from_iter(file(change.task))));
    let mut paths: BTreeMap<RepoPath, Vec<Entry>> = own.collect();
    for conflict in conflicts {
        let sides = [&conflict.base, &conflict.ours, &conflict.theirs];
        let files = sides.map(|side| file(entry_of(side.as_ref())));
        for path in concerned_paths(conflict) {
            paths.entry(path).or_default().extend(files.iter().flatten().copied());
        }
    }
    paths
}

/// Refuses to stage files whose blobs only git or a program could make.
fn check_filters(
    git: &Repository,
    store: &TaskStore,
    paths: &BTreeMap<RepoPath, Vec<Entry>>,
) -> Result<()> {
    for (path, versions) in paths.iter().filter(|(_, versions)| !versions.is_empty()) {
        let found = conversion(git, path);
        let found = found.or_cannot(|| format!("read the attributes of {path}"))?;
        let hint = "leave --index out, and stage with git add";
        let (why, hint) = match found {
            Conversion::None | Conversion::BuiltIn => continue,
            Conversion::Encoding(encoding) => {
                let mut are_in_it = true;
                for version in versions {
                    are_in_it &= encoding.decode(&store.read(version.oid)?).is_some();
                }
                match encoding_fault(git, path).filter(|_| !are_in_it) {
                    None => continue,
                    Some(fault) => {
                        (format!("{path} cannot be staged: {fault}"), "leave --index out")
                    }
                }
            }
            Conversion::OtherEncoding(name) => {
                (format!("git would convert {path} from {name} to stage it"), hint)
            }
            Conversion::Program(attribute) => {
                let why =
                    format!("git would stage {path} through a program, which {attribute} names");
                (why, hint)
            }
        };
        return Err(refused(why, hint));
    }
    Ok(())
}

fn refused(because: String, hint: &str) -> IsolationError {
    IsolationError::Refused {
        what: "cannot leave the index as git merge would".to_owned(),
        because,
        hint: hint.to_owned(),
    }
}

/// Makes the index entry of a path that of the file in the tree.
fn add(index: &mut Index, (repo, git): (&Repo, &Repository), path: &RepoPath) -> Result<()> {
    let what = || "write the index";
    let file = repo.root.join(path.as_path());
    let Some(meta) = file.symlink_metadata().ok().filter(|meta| !meta.is_dir()) else {
        return index.remove_path(path.as_path()).or_cannot(what);
    };
    index.add_path(path.as_path()).or_cannot(what)?;
    if meta.is_file()
        && let Conversion::Encoding(_) = conversion(git, path).or_cannot(what)?
        && let Some(entry) = index.get_path(path.as_path(), 0)
    {
        // libgit2 does not convert encodings.
        let bytes = fs::read(&file).or_cannot(|| format!("read {path}"))?;
        let id = committed_bytes(git, path, Mode::File, &bytes)?;
        index.add(&IndexEntry { id, ..entry }).or_cannot(what)?;
    }
    Ok(())
}

/// Writes a version to the user's repository as git would commit it.
fn blob(git: &Repository, store: &TaskStore, path: &RepoPath, entry: Entry) -> Result<Oid> {
    committed_bytes(git, path, entry.mode, &store.read(entry.oid)?)
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
