//! Goes a path step by step from the root of a folder that is a workspace, so that no step leads
//! out of it, whatever is put in its way meanwhile: each folder is opened by its name in the one
//! before, never through a symlink. Symlinks are read and their steps gone in the same way.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use engine::ports::{Found, MAX_PATH_DEPTH, MAX_SYMLINKS, ViewError, ViewPath};
use rustix::fs::{AtFlags, FileType, Mode, openat, readlinkat, statat};
use rustix::io::Errno;

use super::error::refused;
use super::file::file_stat;
use super::folder::HELD;

/// The steps of a path: names, and `..` for the folder above.
type Steps = VecDeque<OsString>;

/// Goes `path` from `root`. `inside` says which rest of an absolute path lies below the root.
pub(super) fn walk(
    root: OwnedFd,
    path: &Path,
    inside: &dyn Fn(&Path) -> Option<PathBuf>,
) -> Result<Found, ViewError> {
    if path.is_absolute() {
        return Err(ViewError::Outside { link: None });
    }
    let left = steps(path);
    Walk { inside, root, folders: Vec::new(), left, turns: 0, link: None }.go()
}

fn steps(path: &Path) -> Steps {
    let step = |part: Component<'_>| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    };
    path.components().filter_map(step).collect()
}

struct Walk<'a> {
    inside: &'a dyn Fn(&Path) -> Option<PathBuf>,
    root: OwnedFd,
    /// The folders below the root that lead to where we are. Each is held open.
    folders: Vec<(OsString, OwnedFd)>,
    left: Steps,
    turns: u32,
    /// The last symlink that was followed.
    link: Option<ViewPath>,
}

impl Walk<'_> {
    fn go(mut self) -> Result<Found, ViewError> {
        while let Some(step) = self.left.pop_front() {
            if step == ".." {
                if self.folders.pop().is_none() {
                    return Err(self.outside());
                }
                continue;
            }
            let stat = match statat(self.here(), &step, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                Err(Errno::NOENT) => return self.missing(step),
                Err(error) => return Err(refused(error)),
            };
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory => self.enter(step)?,
                FileType::Symlink => self.follow(step)?,
                _ if self.left.is_empty() => {
                    return Ok(Found::File { path: self.entry(&step)?, stat: file_stat(&stat) });
                }
                _ => return Err(ViewError::NotFolder { blocked: self.entry(&step)? }),
            }
        }
        Ok(Found::Folder(self.path()))
    }

    fn enter(&mut self, name: OsString) -> Result<(), ViewError> {
        if self.folders.len() == MAX_PATH_DEPTH {
            return Err(ViewError::TooDeep);
        }
        match openat(self.here(), &name, HELD, Mode::empty()) {
            Ok(fd) => self.folders.push((name, fd)),
            // It has become something else since it was looked at: look again.
            Err(Errno::LOOP | Errno::NOTDIR) => {
                self.turn()?;
                self.left.push_front(name);
            }
            Err(error) => return Err(refused(error)),
        }
        Ok(())
    }

    fn follow(&mut self, name: OsString) -> Result<(), ViewError> {
        self.turn()?;
        let bytes = match readlinkat(self.here(), &name, Vec::new()) {
            Ok(bytes) => bytes,
            // It is no symlink any more: look again.
            Err(Errno::INVAL) => {
                self.left.push_front(name);
                return Ok(());
            }
            Err(error) => return Err(refused(error)),
        };
        self.link = Some(self.entry(&name)?);
        let target = Path::new(OsStr::from_bytes(bytes.as_bytes()));
        let mut steps = match (self.inside)(target) {
            Some(below) => {
                self.folders.clear();
                steps(&below)
            }
            None if target.is_absolute() => return Err(self.outside()),
            None => steps(target),
        };
        steps.append(&mut self.left);
        self.left = steps;
        Ok(())
    }

    fn missing(mut self, step: OsString) -> Result<Found, ViewError> {
        // What is not there has no folder above it.
        if self.left.iter().any(|step| step == "..") {
            return Err(ViewError::Missing);
        }
        let rest: Vec<_> = std::iter::once(step).chain(self.left.drain(..)).collect();
        // The last is the file.
        if self.folders.len() + rest.len() > MAX_PATH_DEPTH + 1 {
            return Err(ViewError::TooDeep);
        }
        Ok(Found::Missing { above: self.path(), rest })
    }

    fn turn(&mut self) -> Result<(), ViewError> {
        self.turns += 1;
        if self.turns > MAX_SYMLINKS { Err(ViewError::Circle) } else { Ok(()) }
    }

    fn here(&self) -> &OwnedFd {
        self.folders.last().map_or(&self.root, |(_, fd)| fd)
    }

    fn path(&self) -> ViewPath {
        let path: PathBuf = self.folders.iter().map(|(name, _)| OsStr::new(name)).collect();
        ViewPath::new(&path).unwrap_or_default() // every folder was opened by its name
    }

    /// The path of an entry of where we are.
    fn entry(&self, name: &OsStr) -> Result<ViewPath, ViewError> {
        self.path().join(name).ok_or(ViewError::Missing) // a step is `..` or a name
    }

    fn outside(&self) -> ViewError {
        ViewError::Outside { link: self.link.clone() }
    }
}
