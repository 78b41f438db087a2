//! The user's working tree as what tasks are merged into.

use std::ffi::OsStr;

use protocol::RepoPath;
use rustix::fs::{AtFlags, Mode as Permissions, OFlags, openat, statat};
use rustix::io::Errno;

use crate::entry::{Entry, Mode};
use crate::error::{OrCannot, Result};
use crate::merge::{Source, Standing};
use crate::store::TaskStore;
use crate::tree::{Found, Parent, RepositoryRoot, Tree, join};

/// The working tree as it is at the moment of each look. What was read is in the task store.
pub(crate) struct WorkingTree<'a> {
    pub(crate) tree: &'a Tree,
    pub(crate) store: &'a TaskStore,
}

impl Source for WorkingTree<'_> {
    fn look(&self, path: &RepoPath) -> Result<Standing> {
        let entry =
            |mode, bytes: &[u8]| Ok(Standing::Entry(Entry { mode, oid: self.store.write(bytes)? }));
        match self.tree.look(path)? {
            Found::Missing | Found::Blocked(_) => Ok(Standing::Missing),
            Found::File { mode, bytes, .. } => entry(mode, &bytes),
            Found::Link { target, .. } => entry(Mode::Link, &target),
            Found::Folder => self.folder(path),
            Found::Special => Ok(Standing::Foreign),
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
            if listing.repository == RepositoryRoot::Yes || !listing.odd.is_empty() {
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
}

impl WorkingTree<'_> {
    /// Tells a folder of this repository from the root of another one.
    fn folder(&self, path: &RepoPath) -> Result<Standing> {
        let Parent::Folder { fd, name } = self.tree.parent(path)? else {
            return Ok(Standing::Missing);
        };
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let git = openat(fd, name, flags, Permissions::empty())
            .and_then(|folder| statat(folder, OsStr::new(".git"), AtFlags::SYMLINK_NOFOLLOW));
        match git {
            Ok(_) => Ok(Standing::Foreign),
            Err(Errno::NOENT) => Ok(Standing::Folder),
            Err(error) => Err(error).or_cannot(|| format!("look into {path}")),
        }
    }
}
