//! The files that commits removed and added since a run began, from which a merge finds what those
//! commits renamed: of the user, or of tasks whose work has landed before.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use git2::{ObjectType, Oid, Repository, TreeWalkMode, TreeWalkResult};
use protocol::{RepoPath, TaskName};

use crate::baseline::{ContentLocation, RunFiles, Table};
use crate::branch::commit_authors::{CommitAuthors, commit_authors};
use crate::error::{OrCannot, Result};
use crate::file_entry::{Entry, Mode};
use crate::merge::OutsideChanges;

/// The largest number of removed and added files among which renames are looked for.
const MOST: usize = 10_000;

/// The flag of an entry of the index whose file is left out of the working tree.
const LEFT_OUT: u16 = 1 << 14;

/// What commits have removed and added. Nothing is compared until a merge needs it.
pub(super) struct CommittedMoves<'a> {
    git: &'a Repository,
    /// The files with which the run began; `None` if nothing is followed.
    began: Option<&'a RunFiles<'a>>,
    /// The commit into which the work is merged.
    now: Option<Oid>,
    found: OnceCell<BTreeMap<RepoPath, Option<Entry>>>,
    authors: OnceCell<CommitAuthors>,
}

impl<'a> CommittedMoves<'a> {
    /// Returns what changed until `now`.
    pub(super) fn of(
        git: &'a Repository,
        began: Option<&'a RunFiles<'a>>,
        now: Option<Oid>,
    ) -> Self {
        Self { git, began, now, found: OnceCell::new(), authors: OnceCell::new() }
    }

    fn authors(&self) -> &CommitAuthors {
        let read = || {
            let run = self.began?.run();
            commit_authors(self.git, self.now, run).ok()
        };
        // Without them, no file is that of a task.
        self.authors.get_or_init(|| read().unwrap_or_default())
    }

    fn find(&self, table: &Table) -> std::result::Result<Moves, git2::Error> {
        let now = self.files_now()?;
        let objects = self.git.odb()?;
        let nested: Vec<RepoPath> = table.nested().into_iter().filter_map(RepoPath::new).collect();
        let mut found = Moves::new();
        for path in table.files().filter_map(RepoPath::new) {
            if now.contains(&path) || nested.iter().any(|root| path.is_below(root)) {
                continue;
            }
            // What was not committed is in no commit, so that none has renamed it.
            let Some(frozen) = table.get(&path) else { continue };
            let (ContentLocation::Blob(oid) | ContentLocation::Crlf(oid)) = frozen.source else {
                continue;
            };
            if objects.exists(oid) {
                found.insert(path, Some(Entry { mode: frozen.mode, oid }));
            }
        }
        let index = self.git.index()?;
        for path in now.into_iter().filter(|path| table.get(path).is_none()) {
            let entry = index.get_path(path.as_path(), 0);
            if entry.is_none_or(|entry| entry.flags_extended & LEFT_OUT == 0) {
                found.insert(path, None);
            }
        }
        Ok(if found.len() > MOST { Moves::new() } else { found })
    }

    /// Returns the path of every file and symlink of the commit.
    fn files_now(&self) -> std::result::Result<BTreeSet<RepoPath>, git2::Error> {
        let mut files = BTreeSet::new();
        let Some(now) = self.now else { return Ok(files) };
        let tree = self.git.find_commit(now)?.tree()?;
        tree.walk(TreeWalkMode::PreOrder, |folder, entry| {
            let is_file = entry.kind() == Some(ObjectType::Blob);
            if is_file && Mode::from_git(entry.filemode().cast_unsigned()).is_some() {
                files.extend(RepoPath::new([folder.as_bytes(), entry.name_bytes()].concat()));
            }
            TreeWalkResult::Ok
        })?;
        Ok(files)
    }
}

/// The removed files with their entries, and the added ones.
type Moves = BTreeMap<RepoPath, Option<Entry>>;

impl OutsideChanges for CommittedMoves<'_> {
    fn had_folder(&self, folder: &RepoPath) -> bool {
        let table = self.began.and_then(RunFiles::table);
        table.is_some_and(|table| table.folders.contains_key(folder.as_bytes()))
    }

    fn bases(&self) -> Result<&BTreeMap<RepoPath, Option<Entry>>> {
        if let Some(found) = self.found.get() {
            return Ok(found);
        }
        let found = match self.began.and_then(RunFiles::table) {
            Some(table) => {
                self.find(table).or_cannot(|| "compare a commit with the files of a run")?
            }
            None => Moves::new(),
        };
        Ok(self.found.get_or_init(|| found))
    }

    fn old_path(&self, path: &RepoPath, _: Option<Entry>) -> Option<RepoPath> {
        self.began?.old_path(path)
    }

    fn has_landed_in(&self, folder: &RepoPath) -> bool {
        self.authors().have_added_below(folder)
    }

    fn author(&self, path: &RepoPath, _: Option<Entry>) -> Option<TaskName> {
        self.authors().author_of(path).cloned()
    }
}
