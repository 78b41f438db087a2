//! Which task removed or added the file at a path. A file stays that of the task that added it, and what its
//! old path is known to be, however often others move it.

use std::collections::{BTreeMap, BTreeSet};

use protocol::{RepoPath, TaskName};

use crate::error::Result;
use crate::file_entry::{Change, Entry};
use crate::merge::merger::{Merger, Wanted};
use crate::merge::side_renames::{Remover, renames_of};
use crate::merge::tree_merge::{Pathwise, SideName};

/// The tasks that removed and added the file at a path.
#[derive(Clone, Debug, Default)]
pub(super) struct PathAuthors {
    /// The task whose file is not there any more: that removed the file with which the tasks began, or that
    /// had added another one.
    removed: Option<TaskName>,
    /// The task that removed that file. Another task may have added it.
    remover: Option<TaskName>,
    /// The task that added the file that is there now.
    added: Option<TaskName>,
}

impl PathAuthors {
    /// Returns the task that removed the path, or added the file that is there.
    fn author(&self, entry: Option<Entry>) -> Option<&TaskName> {
        if entry.is_none() { self.removed.as_ref() } else { self.added.as_ref() }
    }

    /// Records a change of the path by a task. `base` is the entry with which the tasks began.
    pub(super) fn change(
        &mut self,
        task: &TaskName,
        base: Option<Entry>,
        [before, after]: [Option<Entry>; 2],
        moved: Moved<'_>,
    ) {
        match (before, after) {
            (None, Some(_)) => {
                if after == base {
                    // The file with which the tasks began is back: it is not removed any more. To
                    // tasks that began without it, it is new.
                    *self = Self::default();
                }
                let author = moved.here.and_then(|origin| origin.author.clone());
                self.added = author.or_else(|| Some(task.clone()));
            }
            (Some(_), None) => {
                let added = self.added.take();
                // The file with which the tasks began may have gone before.
                if base.is_none() || self.remover.is_none() {
                    self.removed = added.filter(|_| moved.away).or_else(|| Some(task.clone()));
                    self.remover = Some(task.clone());
                }
            }
            (Some(_), Some(_)) | (None, None) => {}
        }
    }
}

/// How a merge moves the file of a path.
#[derive(Clone, Copy)]
pub(super) struct Moved<'a> {
    /// Where the new file comes from.
    pub(super) here: Option<&'a Origin>,
    /// Whether the old file goes to another path.
    pub(super) away: bool,
}

/// Where a file comes from that a merge puts at a new path.
#[derive(Clone, Debug, Default)]
pub(super) struct Origin {
    /// The path that the file had.
    path: Option<RepoPath>,
    /// The task that added it.
    author: Option<TaskName>,
    /// The tasks that have changed it, in their order.
    pub(super) by: Vec<TaskName>,
    /// The path with which the tasks began, if it is known that the file was renamed.
    pub(super) from: Option<RepoPath>,
}

/// The files that a merge moves, by their new paths.
#[derive(Debug, Default)]
pub(super) struct Origins {
    origins: BTreeMap<RepoPath, Origin>,
    /// The paths that they had.
    left: BTreeSet<RepoPath>,
}

impl Origins {
    fn add(&mut self, to: &RepoPath, origin: Origin) {
        self.left.extend(origin.path.clone());
        self.origins.insert(to.clone(), origin);
    }

    /// Returns how the file of a path moves.
    pub(super) fn at(&self, path: &RepoPath) -> Moved<'_> {
        Moved { here: self.origins.get(path), away: self.left.contains(path) }
    }
}

impl Merger<'_> {
    /// Returns the task that removed or added a path; `None` if no task did. To an undo, all that has
    /// changed since is what stands.
    pub(super) fn author(&self, path: &RepoPath) -> Option<TaskName> {
        if self.is_undo {
            return None;
        }
        if let Some(changed) = self.changed.get(path) {
            return changed.authors.author(changed.entry).cloned();
        }
        if let Some(task) = self.moved_away.get(path) {
            return Some(task.clone());
        }
        self.outside?.author(path, self.entry(path).ok()?)
    }

    /// Returns who removed a path.
    pub(super) fn remover(&self, path: &RepoPath) -> Remover {
        let task = match self.changed.get(path) {
            _ if self.is_undo => None,
            Some(changed) => changed.authors.remover.clone(),
            None if self.moved_away.contains_key(path) => return Remover::Nobody,
            None => {
                let outside = self.outside.zip(self.entry(path).ok());
                outside.and_then(|(outside, now)| outside.remover(path, now))
            }
        };
        task.map_or(Remover::User, Remover::Task)
    }

    /// Returns where the files come from that the work of a task, with these `changes`, moves: those that
    /// follow a renamed folder, and those of earlier tasks that it has renamed itself.
    pub(super) fn origins(&self, changes: &[Change], pathwise: &Pathwise) -> Result<Origins> {
        let mut origins = Origins::default();
        // The paths at which the task's own files are in the end.
        let mut ends: BTreeMap<&RepoPath, &RepoPath> = BTreeMap::new();
        for (to, (side, path)) in &pathwise.followed {
            match side {
                SideName::Ours => origins.add(to, self.origin(path)),
                SideName::Theirs => {
                    ends.insert(path, to);
                }
            }
        }
        for change in changes.iter().filter(|change| change.from.is_some()) {
            if let Some(to) = ends.get(&change.path) {
                origins.add(to, Origin { from: change.from.clone(), ..Origin::default() });
            }
        }
        let is_new = |change: &Change| change.base.is_none();
        let is_of_earlier = |change: &Change| {
            change.task.is_none() && change.base.is_some() && self.author(&change.path).is_some()
        };
        if changes.iter().any(is_new) && changes.iter().any(is_of_earlier) {
            for rename in renames_of(self.blobs, changes)? {
                let origin = self.origin(&rename.from);
                if origin.author.is_some() && self.entry(&rename.from)?.is_some() {
                    let to: &RepoPath = ends.get(&rename.to).copied().unwrap_or(&rename.to);
                    origins.add(to, origin);
                }
            }
        }
        Ok(origins)
    }

    fn origin(&self, path: &RepoPath) -> Origin {
        let (author, old) = (self.author(path), Some(path.clone()));
        match self.changed.get(path) {
            Some(changed) => {
                Origin { path: old, author, by: changed.by.clone(), from: changed.from.clone() }
            }
            None => {
                let now = self.entry(path).ok().flatten();
                let from = self.outside.and_then(|outside| outside.old_path(path, now));
                Origin { path: old, by: author.iter().cloned().collect(), author, from }
            }
        }
    }

    /// Keeps what a task itself left, for the tasks that build on it. A file that followed a renamed folder
    /// is the one at its final path, even if another one added that first.
    pub(super) fn keep_work(&mut self, task: &TaskName, changes: &[Change], pathwise: &Pathwise) {
        for (to, (side, path)) in &pathwise.followed {
            if *side == SideName::Theirs {
                let author = self.author(to).unwrap_or_else(|| task.clone());
                self.moved_away.insert(path.clone(), author);
            }
        }
        let work = changes.iter().map(|change| (change.path.clone(), change.task)).collect();
        self.works.push((task.clone(), work));
    }

    /// Returns what the predecessors of a task themselves left, with which it began.
    pub(super) fn work_of(&self, predecessors: &BTreeSet<TaskName>) -> Wanted {
        let works = self.works.iter().filter(|(task, _)| predecessors.contains(task));
        works.flat_map(|(_, work)| work.clone()).collect()
    }
}
