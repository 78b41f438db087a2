//! Goes a path step by step from the root of the tree, so that no step leads out of it, whatever is
//! put in its way meanwhile: each folder is opened by its name in the one before, never through a
//! symlink. Symlinks are read and their steps gone in the same way.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, openat, readlinkat, statat};
use rustix::io::Errno;

use super::error::PathError;
use super::words::{Places, Steps, Target, target};
use crate::shown;

/// How many folders a path may have below each other. Each is held open while it is gone.
const DEEPEST: usize = 128;

/// How many symlinks, and how many surprises, a path may have.
const TURNS: u32 = 40;

/// A folder that is held to look for things in it.
pub(super) const HELD: OFlags =
    OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// What a path leads to. The paths in it are relative to the root and have no symlinks in them.
pub(crate) enum Found {
    /// A folder.
    Folder {
        /// The folder.
        fd: OwnedFd,
        /// Its path.
        path: PathBuf,
    },
    /// Something that is neither folder nor symlink.
    File {
        /// The folder it is in.
        folder: OwnedFd,
        /// Its name there.
        name: OsString,
        /// What it is.
        stat: Stat,
        /// Its path.
        path: PathBuf,
    },
    /// Nothing.
    Missing {
        /// The nearest folder that is there.
        folder: OwnedFd,
        /// The path of that folder.
        above: PathBuf,
        /// The names from there on that are not.
        rest: Vec<OsString>,
    },
}

struct Walk<'a> {
    shown: &'a str,
    places: &'a Places,
    root: OwnedFd,
    /// The folders below the root that lead to where we are.
    folders: Vec<(OsString, OwnedFd)>,
    left: Steps,
    turns: u32,
    /// The last symlink that was followed.
    link: Option<String>,
}

/// Goes `steps` from `root`. Errors call the path `shown`.
pub(super) fn walk(
    root: OwnedFd,
    places: &Places,
    steps: Steps,
    shown: &str,
) -> Result<Found, PathError> {
    Walk { shown, places, root, folders: Vec::new(), left: steps, turns: 0, link: None }.go()
}

impl Walk<'_> {
    fn go(mut self) -> Result<Found, PathError> {
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
                Err(error) => return Err(self.cannot(error)),
            };
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory => self.enter(step)?,
                FileType::Symlink => self.follow(step)?,
                _ if self.left.is_empty() => {
                    let path = self.path().join(&step);
                    return Ok(Found::File { folder: self.end(), name: step, stat, path });
                }
                _ => {
                    let blocked = shown::path(&self.path().join(&step));
                    return Err(PathError::NotFolder { path: self.shown.to_owned(), blocked });
                }
            }
        }
        let path = self.path();
        Ok(Found::Folder { fd: self.end(), path })
    }

    fn enter(&mut self, name: OsString) -> Result<(), PathError> {
        if self.folders.len() == DEEPEST {
            return Err(PathError::TooDeep(DEEPEST));
        }
        match openat(self.here(), &name, HELD, Mode::empty()) {
            Ok(fd) => self.folders.push((name, fd)),
            // It has become something else since it was looked at: look again.
            Err(Errno::LOOP | Errno::NOTDIR) => {
                self.turn()?;
                self.left.push_front(name);
            }
            Err(error) => return Err(self.cannot(error)),
        }
        Ok(())
    }

    fn follow(&mut self, name: OsString) -> Result<(), PathError> {
        self.turn()?;
        let bytes = match readlinkat(self.here(), &name, Vec::new()) {
            Ok(bytes) => bytes,
            // It is no symlink any more: look again.
            Err(Errno::INVAL) => {
                self.left.push_front(name);
                return Ok(());
            }
            Err(error) => return Err(self.cannot(error)),
        };
        self.link = Some(shown::path(&self.path().join(&name)));
        let mut steps = match target(bytes.as_bytes(), self.places) {
            Target::FromHere(steps) => steps,
            Target::FromRoot(steps) => {
                self.folders.clear();
                steps
            }
            Target::Outside => return Err(self.outside()),
        };
        steps.append(&mut self.left);
        self.left = steps;
        Ok(())
    }

    fn missing(mut self, step: OsString) -> Result<Found, PathError> {
        // What is not there has no folder above it.
        if self.left.iter().any(|step| step == "..") {
            return Err(PathError::Missing { path: self.shown.to_owned(), hint: String::new() });
        }
        let rest: Vec<_> = std::iter::once(step).chain(self.left.drain(..)).collect();
        // The last is the file.
        if self.folders.len() + rest.len() > DEEPEST + 1 {
            return Err(PathError::TooDeep(DEEPEST));
        }
        let above = self.path();
        Ok(Found::Missing { folder: self.end(), above, rest })
    }

    fn turn(&mut self) -> Result<(), PathError> {
        self.turns += 1;
        if self.turns > TURNS { Err(PathError::Circle(self.shown.to_owned())) } else { Ok(()) }
    }

    fn here(&self) -> &OwnedFd {
        self.folders.last().map_or(&self.root, |(_, fd)| fd)
    }

    fn end(self) -> OwnedFd {
        self.folders.into_iter().last().map_or(self.root, |(_, fd)| fd)
    }

    fn path(&self) -> PathBuf {
        self.folders.iter().map(|(name, _)| OsStr::new(name)).collect()
    }

    fn outside(&self) -> PathError {
        let path = self.shown.to_owned();
        match self.link.clone() {
            Some(link) => PathError::LinkOutside { path, link },
            None => PathError::Outside(path),
        }
    }

    fn cannot(&self, source: Errno) -> PathError {
        PathError::Cannot { path: self.shown.to_owned(), source }
    }
}
