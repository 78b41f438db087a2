//! The files that git tracks and does not expect in the working tree: those outside of a sparse
//! checkout. A path of one of them looks like a free one, but what is written there replaces it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use git2::Repository;
use protocol::RepoPath;

use crate::baseline::conversion;
use crate::branch::working_bytes;
use crate::error::{OrCannot, Result, error_text};
use crate::file_entry::{Entry, Mode};
use crate::index_file::{self, Unreadable};
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
    ) -> Result<EntryState> {
        let (of_repository, path) = self.around(path, nested)?;
        if let Some(entry) = of_repository.files.get(&path) {
            return Ok(EntryState::NotCheckedOut(of_repository.content(&path, *entry, store)));
        }
        Ok(match entries_below(&of_repository.files, &path).next() {
            Some(_) => EntryState::Folder,
            None => EntryState::Missing,
        })
    }

    /// Returns a file below `folder` for which `goes` is false.
    pub(super) fn obstacle(
        &self,
        folder: &RepoPath,
        nested: &BTreeSet<RepoPath>,
        goes: &dyn Fn(&RepoPath) -> bool,
    ) -> Result<Option<RepoPath>> {
        let (of_repository, below) = self.around(folder, nested)?;
        let prefix = &folder.as_bytes()[..folder.as_bytes().len() - below.as_bytes().len()];
        let whole = |path: &RepoPath| RepoPath::new([prefix, path.as_bytes()].concat());
        let mut paths =
            entries_below(&of_repository.files, &below).filter_map(|(path, _)| whole(path));
        Ok(paths.find(|path| !goes(path)))
    }

    /// Returns the files of the repository in which `path` is, and the path in that repository.
    fn around(
        &self,
        path: &RepoPath,
        nested: &BTreeSet<RepoPath>,
    ) -> Result<(Rc<OfRepository>, RepoPath)> {
        let root = path.folders().find(|folder| nested.contains(folder));
        let skip = root.as_ref().map_or(0, |root| root.as_bytes().len() + 1);
        let below = RepoPath::new(&path.as_bytes()[skip..]).expect("a path ends with a path");
        let mut read = self.read.borrow_mut();
        if let Some(files) = read.get(&root) {
            return Ok((Rc::clone(files), below));
        }
        let roots: Vec<_> = nested.iter().map(|root| root.as_bytes().to_vec()).collect();
        let files = OfRepository::read(self.repo, &roots, root.as_ref());
        let files = Rc::new(files.or_cannot(|| {
            let within = root.iter().map(|root| root.as_path());
            let place: PathBuf = std::iter::once(self.repo.root.as_path()).chain(within).collect();
            format!("look which files of {} are not checked out", place.display())
        })?);
        read.insert(root, Rc::clone(&files));
        Ok((files, below))
    }
}

impl OfRepository {
    fn read(
        repo: &Repo,
        roots: &[Vec<u8>],
        root: Option<&RepoPath>,
    ) -> std::result::Result<Self, String> {
        let git = match root {
            None => repo.git().map_err(|error| error_text(&error))?,
            // The user may have removed it, and one that a task has made is not here yet.
            Some(root) if is_missing(&repo.root.join(root.as_path()).join(".git"))? => {
                return Ok(Self::default());
            }
            Some(root) => open_in(repo, roots, root.as_bytes())?.git,
        };
        let file = git.path().join("index");
        if is_missing(&file)? {
            return Ok(Self::default());
        }
        let bytes = index_file::read(&file).ok_or("its index is too large or cannot be read")?;
        let mut files = BTreeMap::new();
        let mut add = |path, mode, oid| Some(files.insert(path?, Entry { mode: mode?, oid }));
        let read = index_file::entries(&bytes, |entry| {
            if entry.is_skipped && !entry.is_conflict {
                // A submodule has no mode of a file.
                add(RepoPath::new(entry.path), Mode::from_git(entry.mode), entry.id);
            }
        });
        read.map_err(|why| match why {
            Unreadable::Damaged => "its index is damaged",
            Unreadable::Partial => "its index is split or sparse",
        })?;
        Ok(Self { git: Some(git), files })
    }

    /// Returns the entry with the bytes that the file would have in the working tree; `None` if only a
    /// program could make them, or if a partial clone has no copy of them.
    fn content(&self, path: &RepoPath, entry: Entry, store: &TaskStore) -> Option<Entry> {
        let git = self.git.as_ref()?;
        let conversion = conversion(git, path).ok()?;
        if conversion.obstacle().is_some() && entry.mode != Mode::Link {
            return None;
        }
        let bytes = working_bytes(git, path, entry, &conversion).ok()?;
        let oid = store.write_if_missing(&bytes).ok()?;
        Some(Entry { oid, ..entry })
    }
}

/// Returns whether there is nothing at `path`.
fn is_missing(path: &Path) -> std::result::Result<bool, String> {
    match path.symlink_metadata() {
        Ok(_) => Ok(false),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(true)
        }
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}
