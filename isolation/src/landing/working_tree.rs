//! The user's working tree as the target of a merge.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;

use engine::fault::Faults;
use protocol::{CaptureRef, RepoPath};
use rustix::fs::{AtFlags, Mode as Permissions, OFlags, openat, statat};
use rustix::io::Errno;

use crate::error::{OrCannot, Result};
use crate::file_entry::{Change, Entry, Mode};
use crate::landing::file_mover::{FileMover, Swap};
use crate::landing::many::{are_many, for_each};
use crate::landing::skipped_files::SkippedFiles;
use crate::merge::{EntryState, MergeTarget};
use crate::repository::Repo;
use crate::store::TaskStore;
use crate::tree::{Parent, RepositoryRoot, Tree, TreeEntry, join};

/// The user's working tree. Each read returns the current state of a path, and writes the content
/// to the task store.
pub(crate) struct WorkingTree<'a> {
    tree: &'a Tree,
    store: &'a TaskStore,
    /// The folders of nested repositories whose files may be changed.
    nested: RefCell<BTreeSet<RepoPath>>,
    /// The files that git tracks and that are not checked out; `None` if they are not needed.
    skipped: Option<SkippedFiles<'a>>,
    /// The states of paths that are about to be asked for; `None` if each is read when it is.
    ahead: Option<RefCell<BTreeMap<RepoPath, EntryState>>>,
}

impl MergeTarget for WorkingTree<'_> {
    fn state_of(&self, path: &RepoPath) -> Result<EntryState> {
        let ahead = self.ahead.as_ref().and_then(|ahead| ahead.borrow_mut().remove(path));
        let state = match ahead {
            Some(state) => state,
            None => match state(self.store, self.tree.read_entry(path)?)? {
                EntryState::Folder => self.folder(path)?,
                state => state,
            },
        };
        Ok(match &self.skipped {
            Some(skipped) if state == EntryState::Missing => {
                skipped.state_of(path, &self.nested.borrow(), self.store)?
            }
            _ => state,
        })
    }

    fn obstacle(
        &self,
        folder: &RepoPath,
        goes: &dyn Fn(&RepoPath) -> bool,
    ) -> Result<Option<RepoPath>> {
        if let Some(skipped) = &self.skipped
            && let Some(path) = skipped.obstacle(folder, &self.nested.borrow(), goes)?
        {
            return Ok(Some(path));
        }
        let mut folders = vec![folder.clone()];
        while let Some(next) = folders.pop() {
            let Some(listing) = self.tree.list(next.as_bytes())? else { continue };
            if listing.repository == RepositoryRoot::Yes || !listing.invalid_names.is_empty() {
                return Ok(Some(next));
            }
            for listed in &listing.entries {
                let Some(path) = RepoPath::new(join(next.as_bytes(), &listed.name)) else {
                    return Ok(Some(next));
                };
                if listed.is_folder() {
                    folders.push(path);
                } else if !goes(&path) {
                    return Ok(Some(path));
                }
            }
        }
        Ok(None)
    }

    fn folds_case(&self, path: &RepoPath) -> Result<bool> {
        self.tree.folds_case(path)
    }

    fn twin(&self, path: &RepoPath) -> Result<Option<RepoPath>> {
        self.tree.twin(path)
    }
}

impl<'a> WorkingTree<'a> {
    /// Returns the tree, in which every nested repository is left alone.
    pub(crate) fn of(tree: &'a Tree, store: &'a TaskStore) -> Self {
        Self { tree, store, nested: RefCell::default(), skipped: None, ahead: None }
    }

    /// Returns the tree of `repo`, in which the files that git tracks and that are not checked out have
    /// a state of their own.
    pub(crate) fn tracked_by(self, repo: &'a Repo) -> Self {
        Self { skipped: Some(SkippedFiles::of(repo)), ..self }
    }

    /// Returns the tree, of which many paths are read at once, in several threads, before they are
    /// asked for.
    pub(crate) fn reading_ahead(self) -> Self {
        Self { ahead: Some(RefCell::default()), ..self }
    }

    /// Returns the tree, in which the nested repositories in `roots` are folders like others.
    pub(crate) fn with_nested(self, roots: impl Iterator<Item = RepoPath>) -> Self {
        self.open_nested(roots);
        self
    }

    /// Makes the nested repositories in `roots` folders like others from now on.
    pub(super) fn open_nested(&self, roots: impl IntoIterator<Item = RepoPath>) {
        self.nested.borrow_mut().extend(roots);
    }

    /// Returns the changes of a capture. From now on, the nested repositories in which its task
    /// worked are folders like others.
    pub(crate) fn changes_of(&self, capture: &CaptureRef) -> Result<Vec<Change>> {
        let contents = self.store.contents(capture)?;
        self.nested.borrow_mut().extend(contents.nested.into_iter().map(|nested| nested.path));
        self.read_ahead(&contents.changes);
        Ok(contents.changes)
    }

    /// Reads the paths of many changes. What cannot be read is read again when it is asked for.
    fn read_ahead(&self, changes: &[Change]) {
        let Some(ahead) = self.ahead.as_ref().filter(|_| are_many(changes.len())) else { return };
        let (tree, path) = (self.tree, self.store.path());
        let faults = Faults::default();
        // Nothing is changed here, so each folder is opened once for the files in it.
        let own = || {
            let mover = FileMover::within(tree, Swap::Exchange, &faults);
            Ok((TaskStore::open(path)?, mover))
        };
        let read = |(store, mover): &(TaskStore, FileMover<'_>), change: &Change| {
            let found = mover.read_entry(&change.path);
            let state = found.and_then(|found| state(store, found)).ok();
            Ok(state.filter(|state| *state != EntryState::Folder))
        };
        let states = for_each(changes, own, read).unwrap_or_default();
        let states = changes.iter().zip(states);
        let known = states.filter_map(|(change, state)| Some((change.path.clone(), state?)));
        ahead.borrow_mut().extend(known);
    }

    /// Returns the folders of the nested repositories in which tasks worked.
    pub(crate) fn nested(&self) -> BTreeSet<RepoPath> {
        self.nested.borrow().clone()
    }

    /// Returns whether a folder is that of a nested repository in which tasks worked, or has one in it.
    fn is_nested(&self, path: &RepoPath) -> bool {
        let nested = self.nested.borrow();
        nested.contains(path) || nested.iter().any(|root| root.is_below(path))
    }

    /// Distinguishes a folder of this repository from the root of another one.
    fn folder(&self, path: &RepoPath) -> Result<EntryState> {
        let Parent::Folder { fd, name } = self.tree.parent(path)? else {
            return Ok(EntryState::Missing);
        };
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let git = openat(fd, name, flags, Permissions::empty())
            .and_then(|folder| statat(folder, OsStr::new(".git"), AtFlags::SYMLINK_NOFOLLOW));
        match git {
            Ok(_) if self.is_nested(path) => Ok(EntryState::Folder),
            Ok(_) => Ok(EntryState::Foreign),
            Err(Errno::NOENT) => Ok(EntryState::Folder),
            Err(error) => Err(error).or_cannot(|| format!("look into {path}")),
        }
    }
}

/// Returns the state of a path at which this was found, and writes its content to the store if it is
/// not there. Every folder is taken for one of this repository.
fn state(store: &TaskStore, found: TreeEntry) -> Result<EntryState> {
    let entry = |mode, bytes: &[u8]| {
        Ok(EntryState::Entry(Entry { mode, oid: store.write_if_missing(bytes)? }))
    };
    match found {
        TreeEntry::Missing | TreeEntry::Blocked(_) => Ok(EntryState::Missing),
        TreeEntry::File { mode, bytes, .. } => entry(mode, &bytes),
        TreeEntry::Link { target, .. } => entry(Mode::Link, &target),
        TreeEntry::Folder => Ok(EntryState::Folder),
        TreeEntry::Special => Ok(EntryState::Foreign),
    }
}
