//! The files that git tracks and does not expect in the working tree: those outside of a sparse
//! checkout. A path of one of them looks like a free one, but what is written there replaces it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use git2::Repository;
use protocol::RepoPath;

use crate::baseline::{Conversion, conversion};
use crate::branch::working_bytes;
use crate::file_entry::{Entry, Mode};
use crate::index_file;
use crate::merge::{EntryState, entries_below};
use crate::nested::open_in;
use crate::repository::Repo;
use crate::store::TaskStore;

/// The files with the flag `skip-worktree` in the indexes of a repository and of those in it. An index
/// is read when a merge first asks for a path of its repository that does not exist.
pub(super) struct SkippedFiles<'a> {
    repo: &'a Repo,
    /// What was read, by the folder of the nested repository; `None` for the user's repository.
    read: RefCell<BTreeMap<Option<RepoPath>, Rc<OfRepository>>>,
}

/// The files of one repository.
#[derive(Default)]
struct OfRepository {
    git: Option<Repository>,
    /// The entries of the index, by their paths in this repository.
    files: BTreeMap<RepoPath, Entry>,
}

impl<'a> SkippedFiles<'a> {
    pub(super) fn of(repo: &'a Repo) -> Self {
        Self { repo, read: RefCell::default() }
    }

    /// Returns the state of a path at which nothing exists. `nested` are the folders of nested
    /// repositories.
    pub(super) fn state_of(
        &self,
        path: &RepoPath,
        nested: &BTreeSet<RepoPath>,
        store: &TaskStore,
    ) -> EntryState {
        let (of_repository, path) = self.around(path, nested);
        if let Some(entry) = of_repository.files.get(&path) {
            return EntryState::NotCheckedOut(of_repository.content(&path, *entry, store));
        }
        match entries_below(&of_repository.files, &path).next() {
            Some(_) => EntryState::Folder,
            None => EntryState::Missing,
        }
    }

    /// Returns a file below `folder` for which `goes` is false.
    pub(super) fn obstacle(
        &self,
        folder: &RepoPath,
        nested: &BTreeSet<RepoPath>,
        goes: &dyn Fn(&RepoPath) -> bool,
    ) -> Option<RepoPath> {
        let (of_repository, below) = self.around(folder, nested);
        let prefix = &folder.as_bytes()[..folder.as_bytes().len() - below.as_bytes().len()];
        let whole = |path: &RepoPath| RepoPath::new([prefix, path.as_bytes()].concat());
        entries_below(&of_repository.files, &below)
            .filter_map(|(path, _)| whole(path))
            .find(|path| !goes(path))
    }

    /// Returns the files of the repository in which `path` is, and the path in that repository.
    fn around(&self, path: &RepoPath, nested: &BTreeSet<RepoPath>) -> (Rc<OfRepository>, RepoPath) {
        let root = path.folders().find(|folder| nested.contains(folder));
        let skip = root.as_ref().map_or(0, |root| root.as_bytes().len() + 1);
        let below = RepoPath::new(&path.as_bytes()[skip..]).expect("a path ends with a path");
        let mut read = self.read.borrow_mut();
        let files = read.entry(root).or_insert_with_key(|root| {
            let roots: Vec<_> = nested.iter().map(|root| root.as_bytes().to_vec()).collect();
            // Without a readable index nothing is known to be left out.
            Rc::new(OfRepository::read(self.repo, &roots, root.as_ref()).unwrap_or_default())
        });
        (Rc::clone(files), below)
    }
}

impl OfRepository {
    fn read(repo: &Repo, roots: &[Vec<u8>], root: Option<&RepoPath>) -> Option<Self> {
        let git = match root {
            None => repo.git().ok()?,
            Some(root) => open_in(repo, roots, root.as_bytes()).ok()?.git,
        };
        let bytes = index_file::read(&git.path().join("index"))?;
        let mut files = BTreeMap::new();
        if index_file::may_skip(&bytes) {
            let mut add = |path, mode, oid| Some(files.insert(path?, Entry { mode: mode?, oid }));
            index_file::entries(&bytes, |entry| {
                if entry.is_skipped && !entry.is_conflict {
                    // A submodule has no mode of a file.
                    add(RepoPath::new(entry.path), Mode::from_git(entry.mode), entry.id);
                }
            })
            .ok()?;
        }
        Some(Self { git: Some(git), files })
    }

    /// Returns the entry with the bytes that the file would have in the working tree; `None` if only a
    /// program could make them, or if a partial clone has no copy of them.
    fn content(&self, path: &RepoPath, entry: Entry, store: &TaskStore) -> Option<Entry> {
        let git = self.git.as_ref()?;
        let conversion = conversion(git, path).ok()?;
        if matches!(conversion, Conversion::Program(_)) && entry.mode != Mode::Link {
            return None;
        }
        let bytes = working_bytes(git, path, entry, &conversion).ok()?;
        let oid = store.write_if_missing(&bytes).ok()?;
        Some(Entry { oid, ..entry })
    }
}
