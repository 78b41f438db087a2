//! The tree as tools see it: from a path in a model's words to what it leads to.

use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use protocol::RepoPath;
use rustix::fs::{AtFlags, CWD, Mode, openat, statat};

use super::error::PathError;
use super::names::hint;
use super::walk::{Found, HELD, walk};
use super::words::{Places, Steps, relative, steps};
use crate::shown;

/// The working tree.
pub(crate) struct Tree {
    root: PathBuf,
    folder: PathBuf,
    repo: PathBuf,
    places: OnceLock<Places>,
}

impl Tree {
    /// Returns the tree at `root`, of which relative paths begin at `folder`, and of which `repo`
    /// is what the user has.
    pub(crate) fn new(root: PathBuf, folder: PathBuf, repo: PathBuf) -> Self {
        Self { root, folder, repo, places: OnceLock::new() }
    }

    /// Returns what `text` leads to.
    pub(crate) fn find(&self, text: &str) -> Result<Found, PathError> {
        let root = self.open(text)?;
        let steps = self.steps(text, &root)?;
        walk(root, self.places(), steps, &shown::quote(text))
    }

    /// Returns what `text` leads to if it may be changed.
    pub(crate) fn find_to_change(&self, text: &str) -> Result<Found, PathError> {
        let found = self.find(text)?;
        let path = match &found {
            Found::Folder { path, .. } | Found::File { path, .. } => path.clone(),
            Found::Missing { above, rest, .. } => above.join(rest.iter().collect::<PathBuf>()),
        };
        let bytes = path.as_os_str().as_bytes();
        if !bytes.is_empty() && RepoPath::new(bytes).is_none() {
            return Err(PathError::Guarded(shown::quote(text)));
        }
        Ok(found)
    }

    /// Returns the error that nothing is at `text`, with what was perhaps meant.
    pub(crate) fn missing(&self, text: &str, found: &Found) -> PathError {
        let hint = match (found, self.open(text)) {
            (Found::Missing { folder, above, rest }, Ok(root)) => {
                let seen_from = |path: &Path| relative(path, &self.places().folder);
                hint(&root, (folder, above, rest), seen_from)
            }
            _ => String::new(),
        };
        PathError::Missing { path: shown::quote(text), hint }
    }

    /// Returns where a folder of the tree is in the file system.
    pub(crate) fn absolute(&self, path: &Path) -> PathBuf {
        self.root.join(path)
    }

    fn places(&self) -> &Places {
        self.places.get_or_init(|| Places::new(&self.root, &self.folder, &self.repo))
    }

    fn open(&self, text: &str) -> Result<OwnedFd, PathError> {
        // A command of the task may have put a symlink in the root's place.
        openat(CWD, &self.root, HELD, Mode::empty())
            .map_err(|source| PathError::Cannot { path: shown::quote(text), source })
    }

    /// Reads a path. Models mark files with an `@`, and there are folders that begin with one.
    fn steps(&self, text: &str, root: &OwnedFd) -> Result<Steps, PathError> {
        let read = |text: &str| steps(text, self.places());
        let literal = read(text)?;
        let Some(marked) = text.strip_prefix('@').filter(|rest| !rest.is_empty()) else {
            return Ok(literal);
        };
        let folder = &self.places().folder;
        let first = |text: &str| text.split('/').next().map(|name| folder.join(name));
        let is_there = |path: Option<PathBuf>| {
            path.is_some_and(|path| statat(root, &path, AtFlags::SYMLINK_NOFOLLOW).is_ok())
        };
        if is_there(first(text)) { Ok(literal) } else { read(marked) }
    }
}
