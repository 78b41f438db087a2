//! Moves files within the working tree, by names relative to open folders. A move does not
//! overwrite a file: it exchanges two files, or does nothing if the target exists.

use std::cell::{Cell, RefCell};
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use engine::failpoint;
use engine::fault::Faults;
use protocol::RepoPath;
use rustix::fs::{
    AtFlags, Mode as Permissions, RenameFlags, linkat, mkdirat, renameat, renameat_with, statat,
    unlinkat,
};
use rustix::io::Errno;

use crate::error::{OrCannot, Result};
use crate::file_entry::Mode;
use crate::tree::{Parent, Stat, Tree, TreeEntry, read_entry_in, read_open, split};

/// Moves files within one tree.
pub(super) struct FileMover<'a> {
    pub(super) tree: &'a Tree,
    swap: Cell<Swap>,
    faults: &'a Faults,
    /// The folder that the current change opened last, with its path.
    last: RefCell<Option<(Vec<u8>, Rc<OwnedFd>)>>,
}

/// How two files are exchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Swap {
    /// The two files change places in one atomic step.
    Exchange,
    /// The old file is moved aside first, on file systems without an atomic exchange.
    MoveAside,
}

/// Whether a move was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moved {
    /// The move was made.
    Yes,
    /// The move was not made: the target existed, or the source was missing.
    No,
}

/// An open folder, and a name in it.
pub(super) struct ParentDir {
    pub(super) folder: Rc<OwnedFd>,
    pub(super) name: OsString,
}

impl<'a> FileMover<'a> {
    /// Returns a mover for `tree`. It uses `swap` until the file system does not support it.
    pub(super) fn within(tree: &'a Tree, swap: Swap, faults: &'a Faults) -> Self {
        Self { tree, swap: Cell::new(swap), faults, last: RefCell::default() }
    }

    /// Returns how files are exchanged here, as far as it is known.
    pub(super) fn swap(&self) -> Swap {
        self.swap.get()
    }

    /// Returns the faults that are planned here.
    pub(super) fn faults(&self) -> &Faults {
        self.faults
    }

    /// Runs the failpoint that precedes each single change of the tree.
    pub(super) fn failpoint(&self) -> Result<()> {
        failpoint!(self.faults, "landing.move").or_cannot(|| "change the working tree")
    }

    /// Opens the folder that contains `path`, if it exists.
    pub(super) fn parent_dir(&self, path: &RepoPath) -> Result<Option<ParentDir>> {
        match self.tree.parent(path)? {
            Parent::Folder { fd, name } => {
                let folder = Rc::new(fd);
                *self.last.borrow_mut() = Some((split(path).0.to_vec(), Rc::clone(&folder)));
                Ok(Some(ParentDir { folder, name }))
            }
            Parent::Missing | Parent::Blocked(_) => Ok(None),
        }
    }

    /// Returns the folder that contains `path`, for reading in it. The paths of a change are mostly in
    /// one folder, which is opened once for what is read, and again for each move.
    pub(super) fn parent_to_read(&self, path: &RepoPath) -> Result<Option<ParentDir>> {
        let (folder, name) = split(path);
        if let Some((last, fd)) = &*self.last.borrow()
            && last == folder
        {
            return Ok(Some(ParentDir { folder: Rc::clone(fd), name: name.to_owned() }));
        }
        self.parent_dir(path)
    }

    /// Opens the folders of two paths, which may be the same.
    fn two_parents(
        &self,
        from: &RepoPath,
        to: &RepoPath,
    ) -> Result<Option<(ParentDir, ParentDir)>> {
        let Some(old) = self.parent_dir(from)? else { return Ok(None) };
        Ok(self.parent_to_read(to)?.map(|new| (old, new)))
    }

    /// Begins the next change: its folder is opened anew.
    pub(super) fn begin_change(&self) {
        self.last.take();
    }

    /// Returns what is at `path`, with its whole content. An entry whose name differs in case is not.
    pub(super) fn read_entry(&self, path: &RepoPath) -> Result<TreeEntry> {
        if self.tree.twin(path)?.is_some() {
            return Ok(TreeEntry::Missing);
        }
        let Some(ParentDir { folder, name }) = self.parent_to_read(path)? else {
            return Ok(TreeEntry::Missing);
        };
        read_entry_in(&folder, &name).or_cannot(|| format!("read {path}"))
    }

    /// Returns the permissions and the content of an open file, if it is the one at `path`.
    pub(super) fn read_open(
        &self,
        path: &RepoPath,
        file: &File,
    ) -> Result<Option<(Mode, Vec<u8>)>> {
        let what = || format!("read {path}");
        let Some(ParentDir { folder, name }) = self.parent_to_read(path)? else { return Ok(None) };
        read_open(&folder, &name, file).or_cannot(what)
    }

    /// Returns the stat of what is at `path`, if anything is.
    pub(super) fn stat(&self, path: &RepoPath) -> Result<Option<Stat>> {
        let Some(ParentDir { folder, name }) = self.parent_to_read(path)? else { return Ok(None) };
        match statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(Stat::of(&stat))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error).or_cannot(|| format!("look at {path}")),
        }
    }

    /// Exchanges two files.
    pub(super) fn exchange(&self, temp: &RepoPath, path: &RepoPath) -> Result<Moved> {
        let Some((from, to)) = self.two_parents(temp, path)? else { return Ok(Moved::No) };
        if self.swap.get() == Swap::Exchange {
            self.failpoint()?;
            match rename(&from, &to, RenameFlags::EXCHANGE) {
                Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => self.swap.set(Swap::MoveAside),
                end => return moved(end, || format!("exchange {temp} and {path}")),
            }
        }
        let aside = aside(temp);
        if self.shift(path, &aside)? == Moved::No {
            return Ok(Moved::No);
        }
        if self.shift(temp, path)? == Moved::No {
            // Another program has made a file at `path` in the meantime. That file is the newer
            // version, and the move back does not overwrite it.
            self.shift(&aside, path)?;
            return Ok(Moved::No);
        }
        self.shift(&aside, temp)
    }

    /// Moves a file to a path that does not exist.
    pub(super) fn shift(&self, from: &RepoPath, to: &RepoPath) -> Result<Moved> {
        let what = || format!("move {from} to {to}");
        let Some((old, new)) = self.two_parents(from, to)? else { return Ok(Moved::No) };
        self.failpoint()?;
        match rename(&old, &new, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            end => return moved(end, what),
        }
        // Like the rename, a hard link fails if the target exists.
        match linkat(&old.folder, &old.name, &new.folder, &new.name, AtFlags::empty()) {
            Ok(()) => self.remove(from).map(|()| Moved::Yes),
            Err(Errno::PERM | Errno::NOTSUP | Errno::NOSYS | Errno::MLINK) => {
                match statat(&new.folder, &new.name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(_) => Ok(Moved::No),
                    Err(Errno::NOENT) => {
                        moved(renameat(&old.folder, &old.name, &new.folder, &new.name), what)
                    }
                    Err(error) => Err(error).or_cannot(what),
                }
            }
            end => moved(end, what),
        }
    }

    /// Removes a file or symlink. Succeeds if it is not there.
    pub(super) fn remove(&self, path: &RepoPath) -> Result<()> {
        let Some(parent) = self.parent_dir(path)? else { return Ok(()) };
        self.failpoint()?;
        match unlinkat(&parent.folder, &parent.name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error).or_cannot(|| format!("remove {path}")),
        }
    }

    /// Removes a folder if it is empty.
    pub(super) fn remove_folder(&self, path: &RepoPath) -> Result<Moved> {
        let Some(parent) = self.parent_dir(path)? else { return Ok(Moved::Yes) };
        self.failpoint()?;
        match unlinkat(&parent.folder, &parent.name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => Ok(Moved::Yes),
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR | Errno::BUSY) => Ok(Moved::No),
            Err(error) => Err(error).or_cannot(|| format!("remove the folder {path}")),
        }
    }

    /// Removes a folder and all folders below it, if it contains nothing but folders.
    pub(super) fn remove_folders(&self, path: &RepoPath) -> Result<Moved> {
        let mut found = vec![path.clone()];
        let mut next = 0;
        while let Some(folder) = found.get(next).cloned() {
            let listing = self.tree.list(folder.as_bytes())?;
            for listed in listing.iter().flat_map(|listing| &listing.entries) {
                let below = crate::tree::join(folder.as_bytes(), &listed.name);
                match RepoPath::new(below) {
                    Some(below) if listed.is_folder() => found.push(below),
                    _ => return Ok(Moved::No),
                }
            }
            next += 1;
        }
        for folder in found.iter().rev() {
            if self.remove_folder(folder)? == Moved::No {
                return Ok(Moved::No);
            }
        }
        Ok(Moved::Yes)
    }

    /// Makes the folders above `path`.
    pub(super) fn make_folders(&self, path: &RepoPath) -> Result<()> {
        let mut folders: Vec<RepoPath> = path.folders().collect();
        folders.reverse();
        for folder in folders {
            let Some(parent) = self.parent_dir(&folder)? else { return Ok(()) };
            self.failpoint()?;
            match mkdirat(&parent.folder, &parent.name, Permissions::from_raw_mode(0o777)) {
                // If the existing entry is not a folder, moving a file into it fails.
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error).or_cannot(|| format!("make the folder {folder}")),
            }
        }
        Ok(())
    }
}

/// Returns the path at which the old version of a file lies while the new one takes its place.
pub(super) fn aside(temp: &RepoPath) -> RepoPath {
    RepoPath::new([temp.as_bytes(), b".old"].concat()).expect("a longer last name stays a name")
}

fn rename(from: &ParentDir, to: &ParentDir, flags: RenameFlags) -> std::result::Result<(), Errno> {
    renameat_with(&from.folder, &from.name, &to.folder, &to.name, flags)
}

fn moved(end: std::result::Result<(), Errno>, what: impl FnOnce() -> String) -> Result<Moved> {
    match end {
        Ok(()) => Ok(Moved::Yes),
        Err(Errno::NOENT | Errno::EXIST | Errno::NOTDIR | Errno::ISDIR | Errno::NOTEMPTY) => {
            Ok(Moved::No)
        }
        Err(error) => Err(error).or_cannot(what),
    }
}
