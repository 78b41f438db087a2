//! Names branches, and writes new commits and branches to the repository.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use engine::failpoint;
use engine::fault::Faults;
use engine::ports::{IsolationError, LandingTarget};
use git2::{Commit, ErrorCode, Mempack, ObjectType, Odb, Oid, Reference, Repository};
use protocol::{RunName, TaskName};
use rustix::io::Errno;

use crate::branch::commits::identity;
use crate::branch::stack_branch::{Checkout, StackTarget, checkout};
use crate::disk_room::{Room, room_for_pack};
use crate::error::{OrCannot, Result, cannot};
use crate::repository::{RefUpdate, RefUpdated, Repo, is_partial, new_pack_folder};

/// The branches of one run.
pub(super) struct Branches<'a> {
    pub(super) repo: &'a Repo,
    /// The repository, opened such that new objects are written to memory only.
    pub(super) git: &'a Repository,
    pub(super) faults: &'a Faults,
    pub(super) prefix: &'a str,
    pub(super) run: &'a RunName,
}

/// Checks that the work of `run` can become commits at `target`.
pub(crate) fn must_be_possible(
    repo: &Repo,
    faults: &Faults,
    target: &LandingTarget,
    run: &RunName,
) -> Result<()> {
    let git = repo.git()?;
    match target {
        LandingTarget::Tree => return Ok(()),
        LandingTarget::Branches { prefix } => {
            Branches { repo, git: &git, faults, prefix, run }.check()?;
        }
        LandingTarget::Stack { prefix, branch } => {
            StackTarget::find(repo, &git, (prefix, run), branch.as_ref())?.check()?;
        }
    }
    identity(&git).map(drop)
}

impl Branches<'_> {
    /// Checks that branches can have names that start with the prefix.
    pub(super) fn check(&self) -> Result<()> {
        check_folder(self.git, &self.folder())
    }

    /// Returns the name of a task's branch.
    pub(super) fn name(&self, task: &TaskName) -> String {
        format!("{}/{task}", self.folder())
    }

    /// Returns the commit of a branch, if there is one.
    pub(super) fn find(&self, branch: &str) -> Result<Option<Commit<'_>>> {
        find_branch(self.git, branch)
    }

    /// Makes a branch that does not exist yet, or moves one on that is at `from`.
    pub(super) fn publish(&self, branch: &str, from: Option<Oid>, commit: Oid) -> Result<()> {
        if from.is_some() && checkout(self.repo, branch)? != Checkout::Nowhere {
            let why = "it is checked out; git switch - first";
            return Err(cannot(format!("add a commit to the branch {branch}"), why));
        }
        self.failpoint()?;
        write_pack(self.git, self.repo, commit)?;
        self.failpoint()?;
        let real = self.repo.git()?;
        let reference = format!("refs/heads/{branch}");
        let why = format!("branch: made by regatta run {}", self.run);
        let update = RefUpdate { reference: &reference, from, to: Some(commit), why: &why };
        match update.carry_out(&real)? {
            RefUpdated::Yes => Ok(()),
            RefUpdated::Contested if from.is_some() => {
                Err(cannot(format!("move the branch {branch}"), "another program has moved it"))
            }
            RefUpdated::Contested => {
                Err(cannot(format!("make the branch {branch}"), "it is there already"))
            }
        }
    }

    fn failpoint(&self) -> Result<()> {
        failpoint!(self.faults, "landing.ref").or_cannot(|| "make a branch")
    }

    fn folder(&self) -> String {
        format!("{}/{}", self.prefix, self.run)
    }
}

/// Returns the commit of a branch, if there is one.
pub(crate) fn find_branch<'g>(git: &'g Repository, branch: &str) -> Result<Option<Commit<'g>>> {
    match git.find_reference(&format!("refs/heads/{branch}")) {
        Ok(found) => {
            let commit = found.peel_to_commit();
            commit.map(Some).or_cannot(|| format!("read the branch {branch}"))
        }
        // A name that no branch can have is the name of none.
        Err(error) if matches!(error.code(), ErrorCode::NotFound | ErrorCode::InvalidSpec) => {
            Ok(None)
        }
        Err(error) => Err(error).or_cannot(|| format!("look for the branch {branch}")),
    }
}

/// Checks that branches can have names below `folder`.
pub(super) fn check_folder(git: &Repository, folder: &str) -> Result<()> {
    let refused = |what: String, because: &str, hint: String| {
        Err(IsolationError::Refused { what, because: because.to_owned(), hint })
    };
    let setting = "set branch.prefix to something else".to_owned();
    if !Reference::is_valid_name(&format!("refs/heads/{folder}/x")) {
        let what = format!("no branch can be named `{folder}/…`");
        return refused(what, "git does not accept such a name", setting);
    }
    let ends = folder.match_indices('/').map(|(slash, _)| slash).chain([folder.len()]);
    for end in ends {
        let name = &folder[..end];
        if find_branch(git, name)?.is_some() {
            let what = format!("the branch `{name}` is in the way");
            let because = "git cannot have it and branches below it at once";
            let hint = format!("git branch -m {name} {name}-old, or {setting}");
            return refused(what, because, hint);
        }
    }
    Ok(())
}

/// The priority of libgit2's object backend in memory, higher than that of the one on disk.
const FIRST: i32 = 1_000;

/// Makes the repository write new objects to memory from now on.
pub(crate) fn keep_in_memory<'odb>(odb: &'odb Odb<'_>) -> Result<Mempack<'odb>> {
    odb.add_new_mempack_backend(FIRST).or_cannot(|| "keep objects in memory")
}

/// Writes `commit`, and every object of it that is missing in `repo`, to `repo` as one pack.
pub(crate) fn write_pack(git: &Repository, repo: &Repo, commit: Oid) -> Result<()> {
    let what = || format!("write commit {commit} to {}", repo.common_dir.display());
    let real = repo.git()?;
    let there = real.odb().or_cannot(what)?;
    let mut new = BTreeSet::new();
    let mut next = vec![commit];
    while let Some(id) = next.pop() {
        if there.exists(id) || !new.insert(id) {
            continue;
        }
        let object = match git.find_object(id, None) {
            // A partial clone lacks it, and what the commit does not change is not written.
            Err(error)
                if error.code() == ErrorCode::NotFound && id != commit && is_partial(&real) =>
            {
                new.remove(&id);
                continue;
            }
            found => found.or_cannot(what)?,
        };
        match object.kind() {
            Some(ObjectType::Commit) => {
                let commit = object.peel_to_commit().or_cannot(what)?;
                next.push(commit.tree_id());
                next.extend(Commit::parent_ids(&commit));
            }
            Some(ObjectType::Tree) => {
                let tree = object.peel_to_tree().or_cannot(what)?;
                let below = tree.iter().filter(|entry| entry.kind() != Some(ObjectType::Commit));
                next.extend(below.map(|entry| entry.id()));
            }
            _ => {}
        }
    }
    if new.is_empty() {
        return Ok(());
    }
    let mut pack = git.packbuilder().or_cannot(what)?;
    let (objects, mut bytes) = (git.odb().or_cannot(what)?, 0_u64);
    for id in new {
        pack.insert_object(id, None).or_cannot(what)?;
        bytes = bytes.saturating_add(objects.read_header(id).or_cannot(what)?.0 as u64);
    }
    let folder = repo.common_dir.join("objects/pack");
    if room_for_pack(&folder, bytes).or_cannot(what)? == Room::Scarce {
        return Err(cannot(what(), Errno::NOSPC));
    }
    // A process that dies leaves the parts of a pack in a folder that the next landing removes.
    let beside = new_pack_folder(&repo.common_dir)?;
    let written = pack.write(&beside, 0).or_cannot(what);
    let moved = written.and_then(|()| move_pack(&beside, &folder).or_cannot(what));
    fs::remove_dir_all(&beside).or_cannot(what).and(moved)
}

/// Moves the files of a new pack to the folder of the others, durably.
fn move_pack(from: &Path, to: &Path) -> io::Result<()> {
    let files: io::Result<Vec<PathBuf>> =
        fs::read_dir(from)?.map(|entry| Ok(entry?.path())).collect();
    let mut files = files?;
    // A pack without an index is not read, so the index gets its name last.
    files.sort_by_key(|path| path.extension() == Some(OsStr::new("idx")));
    for file in &files {
        File::open(file)?.sync_all()?;
        fs::rename(file, to.join(file.file_name().unwrap_or_default()))?;
    }
    File::open(to)?.sync_all()
}
