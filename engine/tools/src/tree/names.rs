//! What was perhaps meant by a path that leads nowhere: a like name where it ends, or a file of its
//! name elsewhere.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, openat};
use similar::get_close_matches;

use super::folder::{Listing, list};
use super::walk::HELD;
use crate::shown;

/// How many names are suggested, and how much they have to be alike.
const SUGGESTED: usize = 3;
const ALIKE: f32 = 0.6;

/// How many names of a folder are compared.
const COMPARED: usize = 2000;

/// How many names are looked at, in how many folders below each other, for a file elsewhere.
const SEARCHED: usize = 5000;
const DEEP: usize = 8;

/// Folders in which nobody means anything.
const SKIPPED: &[&str] = &[".git", "target", "node_modules"];

/// Returns the rest of a sentence about what is not there: `rest` below the folder at `above`, in
/// the tree at `root`. The paths in it are as seen from `seen_from`.
pub(super) fn hint(
    root: &OwnedFd,
    (folder, above, rest): (&OwnedFd, &Path, &[OsString]),
    seen_from: impl Fn(&Path) -> PathBuf,
) -> String {
    let (Some(wanted), Some(last)) = (rest.first(), rest.last()) else { return String::new() };
    let Ok(listing) = list(folder, COMPARED) else { return String::new() };
    let mut found: Vec<_> =
        alike(&listing, wanted).into_iter().map(|name| above.join(name)).collect();
    if found.is_empty() || rest.len() > 1 {
        found.extend(elsewhere(root, last));
    }
    let told: Vec<_> = found.iter().map(|path| shown::path(&seen_from(path))).collect();
    match told.as_slice() {
        [] if listing.names.is_empty() => "; the folder it would be in is empty".to_owned(),
        [] => format!("; read `{}` to see what is there", shown::path(&seen_from(above))),
        told => format!("; did you mean {}?", told.join(" or ")),
    }
}

/// The names of a folder that are most like `wanted`, without regard to case.
fn alike(listing: &Listing, wanted: &OsStr) -> Vec<OsString> {
    let lower = |name: &OsStr| name.to_string_lossy().to_lowercase();
    let names: Vec<String> = listing.names.iter().map(|(name, _)| lower(name)).collect();
    let candidates: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut found = Vec::new();
    for close in get_close_matches(lower(wanted).as_str(), &candidates, SUGGESTED, ALIKE) {
        for (_, (name, _)) in names.iter().zip(&listing.names).filter(|(lower, _)| *lower == close)
        {
            if found.len() < SUGGESTED && !found.contains(name) {
                found.push(name.clone());
            }
        }
    }
    found
}

/// Where in the tree files of this name are, the nearest to the root first.
fn elsewhere(root: &OwnedFd, wanted: &OsStr) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left = SEARCHED;
    let mut folders = VecDeque::from([PathBuf::new()]);
    while let Some(path) = folders.pop_front() {
        let Some(listing) = folder(root, &path).and_then(|folder| list(&folder, left).ok()) else {
            continue;
        };
        left -= listing.names.len();
        for (name, kind) in listing.names {
            let skipped = SKIPPED.iter().any(|skipped| name == *skipped);
            if kind == FileType::Directory && !skipped && path.components().count() < DEEP {
                folders.push_back(path.join(name));
            } else if kind == FileType::RegularFile && name == wanted {
                found.push(path.join(name));
            }
        }
        if found.len() >= SUGGESTED || left == 0 {
            break;
        }
    }
    found.truncate(SUGGESTED);
    found
}

/// Opens a folder without following a symlink.
fn folder(root: &OwnedFd, path: &Path) -> Option<OwnedFd> {
    let mut here = openat(root, c".", HELD, Mode::empty()).ok()?;
    for part in path.components() {
        here = openat(&here, part.as_os_str(), HELD, Mode::empty()).ok()?;
    }
    Some(here)
}
