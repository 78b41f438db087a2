//! The user's working tree as the target of a merge.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::OsStr;

use protocol::{CaptureRef, RepoPath};
use rustix::fs::{AtFlags, Mode as Permissions, OFlags, openat, statat};
use rustix::io::Errno;

use crate::error::{OrCannot, Result};
use crate::file_entry::{Change, Entry, Mode};
use crate::merge::{EntryState, MergeTarget};
use crate::store::TaskStore;
use crate::tree::{Parent, RepositoryRoot, Tree, TreeEntry, join};

/// The user's working tree. Each read returns the current state of a path, and writes the content
/// to the task store.
pub(crate) struct WorkingTree<'a> {
    tree: &'a Tree,
    store: &'a TaskStore,
    /// The folders of nested repositories whose files may be changed.
    nested: RefCell<BTreeSet<RepoPath>>,
}

impl MergeTarget for WorkingTree<'_> {
    fn state_of(&self, path: &RepoPath) -> Result<EntryState> {
        let entry = |mode, bytes: &[u8]| {
            Ok(EntryState::Entry(Entry { mode, oid: self.store.write(bytes)? }))
        };
        match self.tree.read_entry(path)? {
            TreeEntry::Missing | TreeEntry::Blocked(_) => Ok(EntryState::Missing),
            TreeEntry::File { mode, bytes, .. } => entry(mode, &bytes),
            TreeEntry::Link { target, .. } => entry(Mode::Link, &target),
            TreeEntry::Folder => self.folder(path),
            TreeEntry::Special => Ok(EntryState::Foreign),
        }
    }

    fn obstacle(
        &self,
        folder: &RepoPath,
        goes: &dyn Fn(&RepoPath) -> bool,
    ) -> Result<Option<RepoPath>> {
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
        Self { tree, store, nested: RefCell::default() }
    }

    /// Returns the tree, in which the nested repositories in `roots` are folders like others.
    pub(crate) fn with_nested(self, roots: impl Iterator<Item = RepoPath>) -> Self {
        self.nested.borrow_mut().extend(roots);
        self
    }

    /// Returns the changes of a capture. From now on, the nested repositories in which its task
    /// worked are folders like others.
    pub(crate) fn changes_of(&self, capture: &CaptureRef) -> Result<Vec<Change>> {
        let contents = self.store.contents(capture)?;
        self.nested.borrow_mut().extend(contents.nested.into_iter().map(|nested| nested.path));
        Ok(contents.changes)
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
