//! Folders in which names that differ in case only are one name: found out by looking up a name that
//! is there in another case, which leaves no traces.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::{Mutex, PoisonError};

use protocol::RepoPath;
use rustix::fs::{AtFlags, Dir, statat};
use rustix::io::Errno;

use crate::error::{OrCannot, Result};
use crate::tree::Tree;

/// What is known about the folders of a tree.
#[derive(Debug, Default)]
pub(super) struct LetterCases {
    /// For each folder whether it folds the case of names. The root is empty.
    folders: Mutex<BTreeMap<Vec<u8>, Folding>>,
}

/// Whether a folder takes names that differ in case only for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Folding {
    /// It does not, and neither does a folder above it.
    Nowhere,
    /// It does not itself.
    Above,
    /// It does.
    Here,
}

impl Tree {
    /// Returns whether the folder in which `path` is, or would be, takes names that differ in case
    /// only for one. A folder that is not there yet will be like the one in which it is made.
    pub(crate) fn folds_case(&self, path: &RepoPath) -> Result<bool> {
        Ok(self.folding(parent(path.as_bytes()))? == Folding::Here)
    }

    /// Returns the path by which a folder knows `path`, or a folder above it, if that differs in
    /// case.
    pub(crate) fn twin(&self, path: &RepoPath) -> Result<Option<RepoPath>> {
        if self.folding(parent(path.as_bytes()))? == Folding::Nowhere {
            return Ok(None);
        }
        let mut prefixes: Vec<RepoPath> = path.folders().collect();
        prefixes.reverse();
        prefixes.push(path.clone());
        for prefix in prefixes {
            let folder = parent(prefix.as_bytes());
            if self.folding(folder)? != Folding::Here {
                continue;
            }
            let what = || format!("look for {prefix} in {}", self.root().display());
            let fd = match self.open(folder) {
                Ok(fd) => fd,
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
                Err(error) => return Err(error).or_cannot(what),
            };
            let name = name(prefix.as_bytes());
            if !exists(&fd, name).or_cannot(what)? {
                return Ok(None);
            }
            let names = names(&fd).or_cannot(what)?;
            if names.iter().any(|listed| listed == name) {
                continue;
            }
            // A name that is known by another one, but by none that is listed, is left alone too.
            let listed = names.into_iter().find(|listed| folded(listed) == folded(name));
            let listed = listed.unwrap_or_else(|| name.to_vec());
            let twin = if folder.is_empty() { listed } else { [folder, b"/", &listed].concat() };
            return Ok(Some(RepoPath::new(twin).unwrap_or(prefix)));
        }
        Ok(None)
    }

    fn folding(&self, folder: &[u8]) -> Result<Folding> {
        let known = &self.cases().folders;
        if let Some(known) = known.lock().unwrap_or_else(PoisonError::into_inner).get(folder) {
            return Ok(*known);
        }
        let above = match folder {
            b"" => Folding::Nowhere,
            _ => self.folding(parent(folder))?,
        };
        let what = || {
            let folder = self.root().join(OsStr::from_bytes(folder));
            format!("look for names in {}", folder.display())
        };
        let own = match self.open(folder) {
            Ok(fd) => probe(&fd).or_cannot(what)?,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(above),
            Err(error) => return Err(error).or_cannot(what),
        };
        let found = match (own, above) {
            (Some(true), _) | (None, Folding::Here) => Folding::Here,
            (_, Folding::Nowhere) => Folding::Nowhere,
            (_, Folding::Above | Folding::Here) => Folding::Above,
        };
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(folder.to_vec(), found);
        Ok(found)
    }
}

/// Returns the folder of a path; empty for the root.
fn parent(path: &[u8]) -> &[u8] {
    path.iter().rposition(|byte| *byte == b'/').map_or(b"", |slash| &path[..slash])
}

/// Returns the last name of a path.
fn name(path: &[u8]) -> &[u8] {
    path.iter().rposition(|byte| *byte == b'/').map_or(path, |slash| &path[slash + 1..])
}

/// Returns a path by which others that differ in case only are found.
pub(crate) fn folded(path: &[u8]) -> String {
    String::from_utf8_lossy(path).to_lowercase()
}

/// Returns whether a folder folds the case of names; `None` if it has no name that tells.
fn probe(folder: &OwnedFd) -> std::result::Result<Option<bool>, Errno> {
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let Some(other) = in_other_case(entry.file_name().to_bytes()) else { continue };
        // In a folder that tells names apart, both may be there.
        let is_folded = exists(folder, &other)? && !names(folder)?.contains(&other);
        return Ok(Some(is_folded));
    }
    Ok(None)
}

/// Returns a name with its letters in the other case, if it has any.
fn in_other_case(name: &[u8]) -> Option<Vec<u8>> {
    let is_swapped = |byte: &u8| match byte {
        b'a'..=b'z' => byte.to_ascii_uppercase(),
        _ => byte.to_ascii_lowercase(),
    };
    let swapped: Vec<u8> = name.iter().map(is_swapped).collect();
    if swapped != name {
        return Some(swapped);
    }
    let text = std::str::from_utf8(name).ok()?;
    let others = [text.to_uppercase(), text.to_lowercase()];
    others.into_iter().find(|other| other != text).map(String::into_bytes)
}

fn exists(folder: &OwnedFd, name: &[u8]) -> std::result::Result<bool, Errno> {
    match statat(folder, OsStr::from_bytes(name), AtFlags::SYMLINK_NOFOLLOW) {
        Ok(_) => Ok(true),
        // A file system may not accept every name.
        Err(Errno::NOENT | Errno::INVAL | Errno::ILSEQ | Errno::NAMETOOLONG) => Ok(false),
        Err(error) => Err(error),
    }
}

fn names(folder: &OwnedFd) -> std::result::Result<Vec<Vec<u8>>, Errno> {
    let entries = Dir::read_from(folder)?;
    entries.map(|entry| entry.map(|entry| entry.file_name().to_bytes().to_vec())).collect()
}
