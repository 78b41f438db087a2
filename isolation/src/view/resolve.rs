//! Resolves a path below the root of a workspace, component by component. Each folder is opened by
//! its name in its parent and never through a symlink, so that the path cannot lead out of the
//! workspace, whatever is changed meanwhile. Symlinks are read, and their targets resolved in the
//! same way.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use engine::ports::{Found, MAX_PATH_DEPTH, MAX_SYMLINKS, ViewError, ViewPath};
use rustix::fs::{AtFlags, FileType, Mode, openat, readlinkat, statat};
use rustix::io::Errno;

use super::file_operations::FOLDER_HANDLE;
use super::file_operations::file_stat;
use super::file_operations::system_error;

/// The components of a path: names, and `..` for the parent folder.
type Components = VecDeque<OsString>;

/// Resolves `path` below `root`. `inside` returns the part of an absolute path below the root.
pub(super) fn resolve(
    root: OwnedFd,
    path: &Path,
    inside: &dyn Fn(&Path) -> Option<PathBuf>,
) -> Result<Found, ViewError> {
    if path.is_absolute() {
        return Err(ViewError::Outside { link: None });
    }
    let remaining = components_of(path);
    Resolver { inside, root, folders: Vec::new(), remaining, lookups: 0, link: None }.run()
}

fn components_of(path: &Path) -> Components {
    let component = |part: Component<'_>| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    };
    path.components().filter_map(component).collect()
}

struct Resolver<'a> {
    inside: &'a dyn Fn(&Path) -> Option<PathBuf>,
    root: OwnedFd,
    /// The open folders from the root to the current one.
    folders: Vec<(OsString, OwnedFd)>,
    remaining: Components,
    lookups: u32,
    /// The last symlink that was followed.
    link: Option<ViewPath>,
}

impl Resolver<'_> {
    fn run(mut self) -> Result<Found, ViewError> {
        while let Some(component) = self.remaining.pop_front() {
            if component == ".." {
                if self.folders.pop().is_none() {
                    return Err(self.outside());
                }
                continue;
            }
            let stat = match statat(self.current(), &component, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                Err(Errno::NOENT) => return self.missing(component),
                Err(error) => return Err(system_error(error)),
            };
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory => self.enter(component)?,
                FileType::Symlink => self.follow(component)?,
                _ if self.remaining.is_empty() => {
                    return Ok(Found::File {
                        path: self.entry(&component)?,
                        stat: file_stat(&stat),
                    });
                }
                _ => return Err(ViewError::NotFolder { blocked: self.entry(&component)? }),
            }
        }
        Ok(Found::Folder(self.path()))
    }

    fn enter(&mut self, name: OsString) -> Result<(), ViewError> {
        if self.folders.len() == MAX_PATH_DEPTH {
            return Err(ViewError::TooDeep);
        }
        match openat(self.current(), &name, FOLDER_HANDLE, Mode::empty()) {
            Ok(fd) => self.folders.push((name, fd)),
            // The entry was replaced in the meantime: look it up again.
            Err(Errno::LOOP | Errno::NOTDIR) => {
                self.count_lookup()?;
                self.remaining.push_front(name);
            }
            Err(error) => return Err(system_error(error)),
        }
        Ok(())
    }

    fn follow(&mut self, name: OsString) -> Result<(), ViewError> {
        self.count_lookup()?;
        let bytes = match readlinkat(self.current(), &name, Vec::new()) {
            Ok(bytes) => bytes,
            // The entry is not a symlink any more: look it up again.
            Err(Errno::INVAL) => {
                self.remaining.push_front(name);
                return Ok(());
            }
            Err(error) => return Err(system_error(error)),
        };
        self.link = Some(self.entry(&name)?);
        let target = Path::new(OsStr::from_bytes(bytes.as_bytes()));
        let mut components_of = match (self.inside)(target) {
            Some(below) => {
                self.folders.clear();
                components_of(&below)
            }
            None if target.is_absolute() => return Err(self.outside()),
            None => components_of(target),
        };
        components_of.append(&mut self.remaining);
        self.remaining = components_of;
        Ok(())
    }

    fn missing(mut self, component: OsString) -> Result<Found, ViewError> {
        // `..` cannot be resolved below an entry that does not exist.
        if self.remaining.iter().any(|component| component == "..") {
            return Err(ViewError::Missing);
        }
        let rest: Vec<_> = std::iter::once(component).chain(self.remaining.drain(..)).collect();
        // The last component is the file, which does not count for the depth of folders.
        if self.folders.len() + rest.len() > MAX_PATH_DEPTH + 1 {
            return Err(ViewError::TooDeep);
        }
        Ok(Found::Missing { above: self.path(), rest })
    }

    fn count_lookup(&mut self) -> Result<(), ViewError> {
        self.lookups += 1;
        if self.lookups > MAX_SYMLINKS { Err(ViewError::Circle) } else { Ok(()) }
    }

    fn current(&self) -> &OwnedFd {
        self.folders.last().map_or(&self.root, |(_, fd)| fd)
    }

    fn path(&self) -> ViewPath {
        let path: PathBuf = self.folders.iter().map(|(name, _)| OsStr::new(name)).collect();
        ViewPath::new(&path).unwrap_or_default() // every folder was opened by its name
    }

    /// Returns the path of an entry of the current folder.
    fn entry(&self, name: &OsStr) -> Result<ViewPath, ViewError> {
        self.path().join(name).ok_or(ViewError::Missing) // a component is `..` or a name
    }

    fn outside(&self) -> ViewError {
        ViewError::Outside { link: self.link.clone() }
    }
}
