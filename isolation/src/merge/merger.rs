//! Merges the work of tasks into a tree in memory, one task after the other. Either all changes of
//! a task are merged or none.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use protocol::{Conflict, ConflictReason, RepoPath, TaskName};

use crate::error::Result;
use crate::file_entry::{Change, Entry};
use crate::merge::{
    Blobs, EntryState, Joined, MergeRule, MergeRules, MergeTarget, MergedEntry, three_way,
};

/// A tree in memory: a [`MergeTarget`] and the work of the tasks that were added so far.
pub(crate) struct Merger<'a> {
    pub(super) target: &'a dyn MergeTarget,
    blobs: &'a dyn Blobs,
    /// How each file is merged; without rules, line by line.
    rules: Option<&'a MergeRules>,
    /// Paths that must not change, because another program keeps writing them.
    contested: BTreeSet<RepoPath>,
    /// The paths that the tasks changed.
    pub(super) changed: BTreeMap<RepoPath, ChangedEntry>,
    /// The states that the target returned. Each path is read once: the version that a landing
    /// expects must be the one that its merge started from.
    seen: RefCell<BTreeMap<RepoPath, EntryState>>,
}

/// The result of the tasks' changes to one path.
pub(super) struct ChangedEntry {
    pub(super) entry: Option<Entry>,
    /// The tasks that changed it, in their order.
    by: Vec<TaskName>,
}

impl ChangedEntry {
    /// Returns the task that changed it last.
    pub(super) fn last(&self) -> Option<TaskName> {
        self.by.last().cloned()
    }
}

/// The merged result of one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MergedPath {
    /// The entry in the target.
    pub(crate) before: Option<Entry>,
    /// The merged entry.
    pub(crate) after: Option<Entry>,
    /// The tasks that changed it.
    pub(crate) by: Vec<TaskName>,
}

/// The new entries of the paths that one task changes.
pub(super) type Wanted = BTreeMap<RepoPath, Option<Entry>>;

impl<'a> Merger<'a> {
    /// Returns a merger whose tree is that of `target`, without the work of any task.
    pub(crate) fn over(target: &'a dyn MergeTarget, blobs: &'a dyn Blobs) -> Self {
        Self {
            target,
            blobs,
            rules: None,
            contested: BTreeSet::new(),
            changed: BTreeMap::new(),
            seen: RefCell::default(),
        }
    }

    /// Merges each file by its rule.
    pub(crate) fn under(mut self, rules: &'a MergeRules) -> Self {
        self.rules = Some(rules);
        self
    }

    /// Makes every change of a contested path a conflict.
    pub(crate) fn without(mut self, contested: &BTreeSet<RepoPath>) -> Self {
        self.contested.clone_from(contested);
        self
    }

    /// Merges the work of one task into the tree. On any conflict the tree stays as it was, and the
    /// conflicts are returned, sorted by path. Returns the files that were joined.
    pub(crate) fn add(
        &mut self,
        task: &TaskName,
        changes: &[Change],
    ) -> Result<std::result::Result<Vec<RepoPath>, Vec<Conflict>>> {
        let mut wanted = Wanted::new();
        let (mut conflicts, mut joined) = (Vec::new(), Vec::new());
        for change in changes {
            match self.merge(change)? {
                Ok(merged) => {
                    wanted.insert(change.path.clone(), merged.entry);
                    if merged.joined == Joined::Union {
                        joined.push(change.path.clone());
                    }
                }
                Err(reason) => conflicts.push(self.conflict(change, reason)?),
            }
        }
        // Obstacles are checked once the new entries of all paths are known.
        if conflicts.is_empty() {
            for change in changes {
                if let Some(by) = in_the_way(self, &wanted, &change.path)? {
                    let conflict = self.conflict(change, ConflictReason::InTheWay)?;
                    conflicts.push(Conflict { with: by.or(conflict.with.clone()), ..conflict });
                }
            }
        }
        if !conflicts.is_empty() {
            return Ok(Err(conflicts));
        }
        for (path, entry) in wanted {
            if self.entry(&path)? == entry {
                continue;
            }
            let changed =
                self.changed.entry(path).or_insert(ChangedEntry { entry, by: Vec::new() });
            changed.entry = entry;
            changed.by.push(task.clone());
        }
        Ok(Ok(joined))
    }

    /// Returns every path that differs from the target, sorted.
    pub(crate) fn finish(self) -> BTreeMap<RepoPath, MergedPath> {
        let seen = self.seen.into_inner();
        let merged = self.changed.into_iter().map(|(path, changed)| {
            let before = seen.get(&path).copied().and_then(EntryState::entry);
            (path, MergedPath { before, after: changed.entry, by: changed.by })
        });
        merged.filter(|(_, path)| path.before != path.after).collect()
    }

    /// Returns the current entry at `path`.
    pub(super) fn entry(&self, path: &RepoPath) -> Result<Option<Entry>> {
        match self.changed.get(path) {
            Some(changed) => Ok(changed.entry),
            None => Ok(self.state_of(path)?.entry()),
        }
    }

    /// Returns the state of `path` in the target.
    pub(super) fn state_of(&self, path: &RepoPath) -> Result<EntryState> {
        if let Some(standing) = self.seen.borrow().get(path) {
            return Ok(*standing);
        }
        let standing = self.target.state_of(path)?;
        self.seen.borrow_mut().insert(path.clone(), standing);
        Ok(standing)
    }

    /// Merges one path.
    fn merge(&self, change: &Change) -> Result<std::result::Result<MergedEntry, ConflictReason>> {
        let ours = self.entry(&change.path)?;
        if self.contested.contains(&change.path) {
            return Ok(Err(ConflictReason::Contested));
        }
        let in_the_source = !self.changed.contains_key(&change.path);
        if in_the_source && self.state_of(&change.path)? == EntryState::Foreign {
            return Ok(Err(ConflictReason::InTheWay));
        }
        let rule = || self.rules.map_or(Ok(MergeRule::Text), |rules| rules.of_path(&change.path));
        three_way(self.blobs, &rule, change.base, ours, change.task)
    }

    fn conflict(&self, change: &Change, reason: ConflictReason) -> Result<Conflict> {
        Ok(Conflict {
            path: change.path.clone(),
            reason,
            base: change.base.map(Entry::to_side),
            ours: self.entry(&change.path)?.map(Entry::to_side),
            theirs: change.task.map(Entry::to_side),
            with: self.changed.get(&change.path).and_then(ChangedEntry::last),
        })
    }
}

/// Returns `Some` if `path` cannot get the entry in `wanted` because of an obstacle. The inner
/// value is the earlier task that made the obstacle, if there is one.
fn in_the_way(
    merger: &Merger<'_>,
    wanted: &Wanted,
    path: &RepoPath,
) -> Result<Option<Option<TaskName>>> {
    let after = wanted.get(path).copied().flatten();
    if after == merger.entry(path)? {
        return Ok(None);
    }
    let wants = if after.is_some() { Wants::Something } else { Wants::Nothing };
    if let Some(found) = above(merger, wanted, path, wants)? {
        return Ok(Some(found));
    }
    match wants {
        Wants::Something => below(merger, wanted, path),
        Wants::Nothing => Ok(None),
    }
}

/// Whether a task wants an entry at a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wants {
    Something,
    Nothing,
}

/// Finds an obstacle above the path: an entry where a folder is needed, or a foreign folder.
fn above(
    merger: &Merger<'_>,
    wanted: &Wanted,
    path: &RepoPath,
    wants: Wants,
) -> Result<Option<Option<TaskName>>> {
    for folder in path.folders() {
        // Nothing may be removed from a foreign folder either.
        if merger.state_of(&folder)? == EntryState::Foreign {
            return Ok(Some(None));
        }
        if wants == Wants::Something && entry_then(merger, wanted, &folder)? {
            return Ok(Some(merger.changed.get(&folder).and_then(ChangedEntry::last)));
        }
    }
    Ok(None)
}

/// Returns whether `path` will have a file or symlink.
fn entry_then(merger: &Merger<'_>, wanted: &Wanted, path: &RepoPath) -> Result<bool> {
    match wanted.get(path) {
        Some(entry) => Ok(entry.is_some()),
        None => Ok(merger.entry(path)?.is_some()),
    }
}

/// Finds an obstacle below the path: an entry that is not removed, so that `path` stays a folder.
fn below(
    merger: &Merger<'_>,
    wanted: &Wanted,
    path: &RepoPath,
) -> Result<Option<Option<TaskName>>> {
    let after = (Bound::Excluded(path), Bound::Unbounded);
    let ours = wanted.range(after).take_while(|(next, _)| begins(next, path));
    if ours.into_iter().any(|(next, entry)| next.is_below(path) && entry.is_some()) {
        return Ok(Some(None));
    }
    let theirs = merger.changed.range(after).take_while(|(next, _)| begins(next, path));
    for (next, changed) in theirs.filter(|(next, _)| next.is_below(path)) {
        if changed.entry.is_some() && !wanted.contains_key(next) {
            return Ok(Some(changed.last()));
        }
    }
    if merger.state_of(path)? != EntryState::Folder {
        return Ok(None);
    }
    let goes = |path: &RepoPath| match wanted.get(path) {
        Some(entry) => entry.is_none(),
        // The changes of earlier tasks were checked above.
        None => merger.changed.contains_key(path),
    };
    Ok(merger.target.obstacle(path, &goes)?.map(|_| None))
}

fn begins(path: &RepoPath, with: &RepoPath) -> bool {
    path.as_bytes().starts_with(with.as_bytes())
}
