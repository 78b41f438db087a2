//! The files that were removed and added by commits since the repository was opened, from which a
//! merge finds what those commits renamed.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use git2::{Delta, DiffDelta, ObjectType, Oid, Repository, Tree};
use protocol::RepoPath;

use crate::error::{OrCannot, Result};
use crate::file_entry::{Entry, Mode};
use crate::merge::OutsideChanges;
use crate::repository::Repo;

/// The largest number of removed and added files among which renames are looked for.
const MOST: usize = 10_000;

/// What commits have removed and added. Nothing is compared until a merge needs it.
pub(super) struct CommittedMoves<'a> {
    git: &'a Repository,
    /// The commit that was checked out when the repository was opened.
    was: Option<Oid>,
    /// The commit that is checked out now.
    now: Option<Oid>,
    found: OnceCell<BTreeMap<RepoPath, Option<Entry>>>,
}

impl<'a> CommittedMoves<'a> {
    /// Returns what changed until `now`.
    pub(super) fn of(repo: &Repo, git: &'a Repository, now: Option<Oid>) -> Self {
        Self { git, was: repo.opened_at(), now, found: OnceCell::new() }
    }

    fn tree(&self, commit: Option<Oid>) -> std::result::Result<Option<Tree<'a>>, git2::Error> {
        commit.map(|commit| self.git.find_commit(commit)?.tree()).transpose()
    }

    fn find(&self) -> std::result::Result<BTreeMap<RepoPath, Option<Entry>>, git2::Error> {
        let mut found = BTreeMap::new();
        if self.was == self.now {
            return Ok(found);
        }
        let (was, now) = (self.tree(self.was)?, self.tree(self.now)?);
        let diff = self.git.diff_tree_to_tree(was.as_ref(), now.as_ref(), None)?;
        for delta in diff.deltas() {
            match moved(&delta) {
                Some(_) if found.len() == MOST => return Ok(BTreeMap::new()),
                Some((path, base)) => drop(found.insert(path, base)),
                None => {}
            }
        }
        Ok(found)
    }
}

/// Returns the path of a removed file with its entry, or that of an added file.
fn moved(delta: &DiffDelta<'_>) -> Option<(RepoPath, Option<Entry>)> {
    match delta.status() {
        Delta::Deleted => {
            let old = delta.old_file();
            let mode = Mode::from_git(u32::from(old.mode()))?;
            Some((RepoPath::new(old.path_bytes()?)?, Some(Entry { mode, oid: old.id() })))
        }
        Delta::Added => {
            let new = delta.new_file();
            Mode::from_git(u32::from(new.mode()))?;
            Some((RepoPath::new(new.path_bytes()?)?, None))
        }
        _ => None,
    }
}

impl OutsideChanges for CommittedMoves<'_> {
    fn had_folder(&self, folder: &RepoPath) -> bool {
        let Ok(Some(tree)) = self.tree(self.was) else { return false };
        let entry = tree.get_path(folder.as_path());
        entry.is_ok_and(|entry| entry.kind() == Some(ObjectType::Tree))
    }

    fn bases(&self) -> Result<&BTreeMap<RepoPath, Option<Entry>>> {
        if let Some(found) = self.found.get() {
            return Ok(found);
        }
        let found = self.find().or_cannot(|| "compare HEAD with the commit that a run began at")?;
        Ok(self.found.get_or_init(|| found))
    }
}
