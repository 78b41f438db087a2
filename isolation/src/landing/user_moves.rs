//! The files that the user removed and added since a run began, from which a merge finds what the
//! user renamed.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use protocol::{RepoPath, RunName, TaskName};

use crate::baseline::{ContentReader, RunFiles, list_whole_tree};
use crate::error::Result;
use crate::file_entry::Entry;
use crate::landing::earlier_work::EarlierWork;
use crate::merge::OutsideChanges;
use crate::paths::RepoPaths;
use crate::repository::Repo;
use crate::tree::Tree;

/// The largest number of removed and of added files among which renames are looked for.
const MOST: usize = 5_000;

/// What the user removed and added since a run began. Nothing is read until a merge needs it.
pub(super) struct UserMoves<'a> {
    began: RunFiles<'a>,
    /// What earlier landings of the run have left.
    earlier: EarlierWork<'a>,
    landed: LandedWork,
    found: OnceCell<BTreeMap<RepoPath, Option<Entry>>>,
}

/// Whose work is what earlier landings of the run have left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LandedWork {
    OfTasks,
    /// It counts as the user's.
    OfUser,
}

impl<'a> UserMoves<'a> {
    pub(super) fn of(repo: &'a Repo, paths: &'a RepoPaths, run: &'a RunName) -> Self {
        Self { landed: LandedWork::OfTasks, ..Self::of_all(repo, paths, run) }
    }

    /// The same for an undo, to which all that has landed is what stands in the tree.
    pub(super) fn of_all(repo: &'a Repo, paths: &'a RepoPaths, run: &'a RunName) -> Self {
        let (began, earlier) = (RunFiles::of(repo, paths, run), EarlierWork::of(paths, run));
        Self { began, earlier, landed: LandedWork::OfUser, found: OnceCell::new() }
    }

    /// Returns what earlier landings of the run have left.
    pub(super) fn earlier(&self) -> &EarlierWork<'a> {
        &self.earlier
    }

    /// Returns the same unless it counts as the user's.
    fn earlier_of_tasks(&self) -> Option<&EarlierWork<'a>> {
        (self.landed == LandedWork::OfTasks).then_some(&self.earlier)
    }

    /// Returns the user's repository.
    pub(super) fn repo(&self) -> &'a Repo {
        self.began.repo
    }

    fn find(&self) -> Result<BTreeMap<RepoPath, Option<Entry>>> {
        let mut found = BTreeMap::new();
        let Some(table) = self.began.table() else { return Ok(found) };
        let tree = Tree::open_at(&self.began.repo.root)?;
        let now: BTreeSet<RepoPath> =
            list_whole_tree(&self.began.context(), &tree)?.files.into_iter().collect();
        let before: BTreeSet<RepoPath> = table.files().filter_map(RepoPath::new).collect();
        let removed: Vec<&RepoPath> = before.difference(&now).collect();
        let added: Vec<&RepoPath> = now.difference(&before).collect();
        if removed.len() > MOST || added.len() > MOST {
            return Ok(found);
        }
        let reader = ContentReader::of_run(&self.began.context(), &table.nested())?;
        for path in removed {
            let Some(frozen) = table.get(path) else { continue };
            // A version that git has no copy of is not a candidate.
            if let Ok(entry) = reader.entry(path, frozen) {
                found.insert(path.clone(), Some(entry));
            }
        }
        found.extend(added.into_iter().map(|path| (path.clone(), None)));
        Ok(found)
    }
}

impl OutsideChanges for UserMoves<'_> {
    fn had_folder(&self, folder: &RepoPath) -> bool {
        self.began.table().is_some_and(|table| table.folders.contains_key(folder.as_bytes()))
    }

    fn bases(&self) -> Result<&BTreeMap<RepoPath, Option<Entry>>> {
        if let Some(found) = self.found.get() {
            return Ok(found);
        }
        let found = self.find()?;
        Ok(self.found.get_or_init(|| found))
    }

    fn old_path(&self, path: &RepoPath, now: Option<Entry>) -> Option<RepoPath> {
        let earlier = self.earlier_of_tasks();
        let is_edited = earlier.is_some_and(|earlier| earlier.is_edited(path, now));
        if is_edited { None } else { self.began.old_path(path) }
    }

    fn has_landed_in(&self, folder: &RepoPath) -> bool {
        self.earlier_of_tasks().is_some_and(|earlier| earlier.has_added_below(folder))
    }

    fn author(&self, path: &RepoPath, now: Option<Entry>) -> Option<TaskName> {
        self.earlier_of_tasks()?.author_of(path, now)
    }

    fn remover(&self, path: &RepoPath, now: Option<Entry>) -> Option<TaskName> {
        let earlier = self.earlier_of_tasks()?;
        if now.is_none() { earlier.remover_of(path) } else { earlier.author_of(path, now) }
    }
}
