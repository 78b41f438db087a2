//! What has changed the files of a run, one change of the tree after the other: the works of its tasks, and
//! undos. From it an undo knows what stood when a work had just landed, and where files have gone since.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use protocol::RepoPath;

use crate::error::Result;
use crate::file_entry::Change;
use crate::merge::{Began, Blobs, Rename, renames_of};

/// The changes of the tree by the landings of a run, in their order.
#[derive(Clone, Default)]
pub(super) struct Timeline(Vec<Moment>);

/// What changed at once.
#[derive(Clone)]
struct Moment {
    changes: Vec<Change>,
    renames: OnceCell<Vec<Rename>>,
}

impl Timeline {
    /// Adds what has changed next. Returns the number of the moment.
    pub(super) fn push(&mut self, changes: Vec<Change>) -> usize {
        self.0.push(Moment { changes, renames: OnceCell::new() });
        self.0.len() - 1
    }

    /// Returns the number of the latest moment.
    pub(super) fn latest(&self) -> usize {
        self.0.len().saturating_sub(1)
    }

    /// Returns what stood just after a moment at each path that changed before or later, and the paths
    /// that the files of today had then. As in git, a file stays the same one wherever it is moved.
    pub(super) fn after(&self, moment: usize, blobs: &dyn Blobs) -> Result<Began> {
        let (earlier, later) = self.0.split_at(self.0.len().min(moment + 1));
        let mut began = Began::default();
        for change in later.iter().rev().flat_map(|moment| &moment.changes) {
            began.entries.insert(change.path.clone(), change.base);
        }
        for change in earlier.iter().flat_map(|moment| &moment.changes) {
            began.entries.insert(change.path.clone(), change.task);
        }
        // None for a file that was not there then.
        let mut old_paths: BTreeMap<RepoPath, Option<RepoPath>> = BTreeMap::new();
        for Moment { changes, renames } in later {
            let renames = match renames.get() {
                Some(found) => found,
                None => {
                    let found = renames_of(blobs, changes)?;
                    renames.get_or_init(|| found)
                }
            };
            let moved = renames.iter().map(|Rename { from, to, .. }| {
                let old = old_paths.get(from).cloned();
                (to.clone(), old.unwrap_or_else(|| Some(from.clone())))
            });
            let moved: Vec<_> = moved.collect();
            for change in changes {
                match (change.base, change.task) {
                    (None, _) => drop(old_paths.insert(change.path.clone(), None)),
                    (_, None) => drop(old_paths.remove(&change.path)),
                    (Some(_), Some(_)) => {}
                }
            }
            old_paths.extend(moved);
        }
        let known = old_paths.into_iter().filter_map(|(path, old)| Some((path, old?)));
        began.old_paths = known.filter(|(path, old)| path != old).collect();
        Ok(began)
    }
}
