//! The three versions of each path that a work has changed, or others since it began.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use protocol::{RepoPath, TaskName};

use crate::error::Result;
use crate::file_entry::{Change, Entry};
use crate::merge::Merger;
use crate::merge::tree_merge::Versions;

/// What stood when a work was made, where it is known that others have changed something before or since.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Began {
    pub(crate) entries: BTreeMap<RepoPath, Option<Entry>>,
    /// The paths that files had then, by the paths that they have now.
    pub(crate) old_paths: BTreeMap<RepoPath, RepoPath>,
}

/// With what a work began.
#[derive(Clone, Copy)]
pub(crate) enum Beginning<'a> {
    /// With the work of these tasks.
    Works(&'a BTreeSet<TaskName>),
    /// With what this returns. It is asked only if a file of the work is gone.
    Known(&'a dyn Fn() -> Result<Rc<Began>>),
}

impl Merger<'_> {
    /// Returns the three versions of each path that the task changed, or that others changed since
    /// the task began.
    pub(super) fn versions(
        &self,
        changes: &[Change],
        beginning: Beginning<'_>,
    ) -> Result<BTreeMap<RepoPath, Versions>> {
        let began = match beginning {
            Beginning::Works(predecessors) => {
                let entries = self.work_of(predecessors);
                Some(Rc::new(Began { entries, ..Began::default() }))
            }
            Beginning::Known(began) if self.is_any_gone(changes)? => Some(began()?),
            Beginning::Known(_) => None,
        };
        let mut paths = BTreeMap::new();
        for change in changes {
            let sides = [self.entry(&change.path)?, change.task];
            let from = [self.old_path(&change.path, began.as_deref()), change.from.clone()];
            paths.insert(change.path.clone(), Versions { base: change.base, sides, from });
        }
        let Some(began) = began else { return Ok(paths) };
        for (path, changed) in &self.changed {
            let base = began.entries.get(path).copied().unwrap_or(changed.base);
            if changed.entry != base && !paths.contains_key(path) {
                let from = [self.old_path(path, Some(&began)), None];
                let sides = [changed.entry, base];
                paths.insert(path.clone(), Versions { base, sides, from });
            }
        }
        for (path, base) in &began.entries {
            let now = self.entry(path)?;
            if now != *base && !paths.contains_key(path) {
                let from = [self.old_path(path, Some(&began)), None];
                paths.insert(path.clone(), Versions { base: *base, sides: [now, *base], from });
            }
        }
        if let Some(outside) = self.outside
            && self.concerns_outside(changes, outside)?
        {
            for (path, base) in outside.bases()? {
                let is_known = paths.contains_key(path) || began.entries.contains_key(path);
                if !is_known && !self.changed.contains_key(path) {
                    let now = self.entry(path)?;
                    let sides = [now, *base];
                    let from = if base.is_none() { outside.old_path(path, now) } else { None };
                    let from = [from, None];
                    paths.insert(path.clone(), Versions { base: *base, sides, from });
                }
            }
        }
        Ok(paths)
    }

    /// Returns the path that the file of a path is known to have had when a work began.
    fn old_path(&self, path: &RepoPath, began: Option<&Began>) -> Option<RepoPath> {
        let known = began.and_then(|began| began.old_paths.get(path)).cloned();
        let here = || self.changed.get(path).and_then(|changed| changed.from.clone());
        if self.is_undo { known } else { here() }
    }

    fn is_any_gone(&self, changes: &[Change]) -> Result<bool> {
        for change in changes.iter().filter(|change| change.base.is_some()) {
            if self.entry(&change.path)?.is_none() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
