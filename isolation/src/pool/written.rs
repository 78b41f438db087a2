//! The differences that follow from what views have written to a copy.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use super::look::{Differences, FolderDifference, FolderState};
use super::run_table::{TableFolder, folders};
use crate::baseline::{Snapshot, split_path};

impl Differences {
    /// Returns how a new copy can differ after its files and folders at `paths` were written. No path
    /// leads over a folder that was a file.
    pub(super) fn of_written(snapshot: &Snapshot, paths: &BTreeSet<Vec<u8>>) -> Self {
        let table = folders(snapshot);
        let mut differing: BTreeMap<usize, FolderDifference> = BTreeMap::new();
        for path in paths {
            let Some((place, name)) = first_unknown(&table, path) else { continue };
            let difference = differing.entry(place).or_insert_with(|| FolderDifference {
                state: FolderState::Changed,
                files: Vec::new(),
                extra: Vec::new(),
            });
            let files = table[place].files();
            match files.binary_search_by(|file| file.name.cmp(name)) {
                Ok(at) if !difference.files.contains(&at) => difference.files.push(at),
                Err(_) if !difference.extra.iter().any(|known| known == name) => {
                    difference.extra.push(name.to_owned());
                }
                Ok(_) | Err(_) => {}
            }
        }
        Self { folders: differing, seen: Vec::new() }
    }

    /// Returns whether restoring a copy by these differences restores everything that `other` says.
    pub(super) fn covers(&self, other: &Self) -> bool {
        other.folders.iter().all(|(place, theirs)| {
            self.folders.get(place).is_some_and(|ours| {
                theirs.state != FolderState::Missing
                    && theirs.files.iter().all(|at| ours.files.contains(at))
                    && theirs.extra.iter().all(|name| ours.extra.contains(name))
            })
        })
    }
}

/// Returns the lowest folder of the table above `path`, or its place in the table, and the name of the
/// entry in it that leads to the path; `None` if the path itself is a folder of the table.
fn first_unknown<'p>(table: &[TableFolder<'_>], path: &'p [u8]) -> Option<(usize, &'p OsStr)> {
    let place = |path: &[u8]| table.binary_search_by(|folder| folder.path.cmp(path)).ok();
    if place(path).is_some() {
        return None;
    }
    let mut below = path;
    while !below.is_empty() {
        let (above, name) = split_path(below);
        if let Some(place) = place(above) {
            return Some((place, OsStr::from_bytes(name)));
        }
        below = above;
    }
    None
}
