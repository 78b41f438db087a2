//! Merges the work of tasks into a tree in memory, one task after the other. Either all changes of
//! a task are merged or none.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use engine::ports::SettleRequest;
use protocol::{Conflict, ConflictReason, RepoPath, TaskName};

use crate::error::Result;
use crate::file_entry::{Change, Entry};
use crate::merge::added_files::AddedFiles;
use crate::merge::authors::{Origins, PathAuthors};
use crate::merge::obstacles::entries_below;
use crate::merge::path_texts::PathTexts;
use crate::merge::settling::{Added, Met, Settling};
use crate::merge::side_renames::Authors;
use crate::merge::tree_merge::{Untouched, Versions, follow_renames};
use crate::merge::versions::Beginning;
use crate::merge::{
    Blobs, EntryState, Joined, MarkerForm, MergeRule, MergeRules, MergeTarget, MergedEntry,
    OutsideChanges, TaskChange, three_way,
};

/// A tree in memory: a [`MergeTarget`] and the work of the tasks that were added so far.
pub(crate) struct Merger<'a> {
    pub(super) target: &'a dyn MergeTarget,
    pub(super) blobs: &'a dyn Blobs,
    /// How each file is merged; without rules, line by line.
    pub(super) rules: Option<&'a MergeRules>,
    /// What changed in the target besides the work of tasks.
    pub(super) outside: Option<&'a dyn OutsideChanges>,
    /// Whether files get back the names that they had, wherever folders went, and also if others have changed
    /// something since.
    pub(super) is_undo: bool,
    /// Paths that must not change, because another program keeps writing them.
    contested: BTreeSet<RepoPath>,
    /// The paths that the tasks changed.
    pub(super) changed: BTreeMap<RepoPath, ChangedEntry>,
    /// What each of the tasks itself left, in their order.
    pub(super) works: Vec<(TaskName, Wanted)>,
    /// The paths at which tasks added files that were moved when their work was merged, each with the
    /// task whose file it is.
    pub(super) moved_away: BTreeMap<RepoPath, TaskName>,
    pub(super) task_changes: Vec<TaskChange>,
    /// The states that the target returned. Each path is read once: the version that a landing
    /// expects must be the one that its merge started from.
    seen: RefCell<BTreeMap<RepoPath, EntryState>>,
}

/// The result of the tasks' changes to one path.
pub(super) struct ChangedEntry {
    pub(super) entry: Option<Entry>,
    /// The entry with which the first of the tasks began.
    pub(super) base: Option<Entry>,
    /// The old path, if the file is known to have been renamed to this path.
    pub(super) from: Option<RepoPath>,
    /// The tasks that changed it, in their order.
    pub(super) by: Vec<TaskName>,
    /// The tasks that removed and added it.
    pub(super) authors: PathAuthors,
}

impl ChangedEntry {
    fn new(base: Option<Entry>) -> Self {
        let (from, by, authors) = (None, Vec::new(), PathAuthors::default());
        Self { entry: base, base, from, by, authors }
    }

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
            outside: None,
            is_undo: false,
            contested: BTreeSet::new(),
            changed: BTreeMap::new(),
            works: Vec::new(),
            moved_away: BTreeMap::new(),
            task_changes: Vec::new(),
            seen: RefCell::default(),
        }
    }

    /// Merges each file by its rule.
    pub(crate) fn under(mut self, rules: &'a MergeRules) -> Self {
        self.rules = Some(rules);
        self
    }

    /// Follows files that were renamed in the target since the tasks began.
    pub(crate) fn beside(mut self, outside: &'a dyn OutsideChanges) -> Self {
        self.outside = Some(outside);
        self
    }

    /// Takes work back: no file follows a renamed folder, and a file that cannot get its old name back
    /// stays where it is.
    pub(crate) fn taking_back(mut self) -> Self {
        self.is_undo = true;
        self
    }

    /// Makes every change of a contested path a conflict.
    pub(crate) fn without(mut self, contested: &BTreeSet<RepoPath>) -> Self {
        self.contested.clone_from(contested);
        self
    }

    /// Merges the work of one task into the tree. `predecessors` are the tasks whose work the task
    /// began with. On any conflict the tree stays as it was, and the conflicts are returned, sorted
    /// by path. Returns the files that were joined.
    pub(crate) fn add(
        &mut self,
        task: &TaskName,
        predecessors: &BTreeSet<TaskName>,
        changes: &[Change],
    ) -> Result<std::result::Result<Vec<RepoPath>, Vec<Conflict>>> {
        let added = self.add_settled((task, predecessors), changes, &SettleRequest::default())?;
        Ok(if added.conflicts.is_empty() { Ok(added.joined) } else { Err(added.conflicts) })
    }

    /// Merges the work of one task as [`Self::add`] does, and settles its conflicts as `request`
    /// says.
    pub(crate) fn add_settled(
        &mut self,
        (task, predecessors): (&TaskName, &BTreeSet<TaskName>),
        changes: &[Change],
        request: &SettleRequest,
    ) -> Result<Added> {
        self.add_since((task, Beginning::Works(predecessors)), changes, request)
    }

    /// Merges the work of one task that began with something else than the work of tasks.
    pub(crate) fn add_since(
        &mut self,
        (task, beginning): (&TaskName, Beginning<'_>),
        changes: &[Change],
        request: &SettleRequest,
    ) -> Result<Added> {
        let is_open = |change: &&Change| !request.landed.contains(&change.path);
        let changes: Vec<Change> = changes.iter().filter(is_open).cloned().collect();
        let changes = changes.as_slice();
        let paths = self.versions(changes, beginning)?;
        let touched: BTreeSet<RepoPath> = paths.keys().cloned().collect();
        let added = AddedFiles::of(&paths);
        let untouched = UntouchedPaths { merger: self, touched: &touched };
        let author = |path: &RepoPath| self.author(path);
        let remover = |path: &RepoPath| self.remover(path);
        let authors = Authors { author: &author, remover: &remover };
        let pathwise = follow_renames(self.blobs, paths, &untouched, authors)?;
        let mut wanted = Wanted::new();
        let (mut conflicts, mut joined, mut present) = (Vec::new(), Vec::new(), Vec::new());
        for conflict in &pathwise.conflicts {
            conflicts.push(self.rename_conflict(conflict, &pathwise));
        }
        let own: BTreeSet<&RepoPath> = changes.iter().map(|change| &change.path).collect();
        for (path, versions) in &pathwise.paths {
            let merged = self.merge(path, versions, &own)?;
            if merged.is_ok_and(|merged| merged.entry.is_some()) {
                present.push(versions);
            }
            match merged {
                Ok(merged) if !own.contains(path) && merged.entry == self.entry(path)? => {}
                Ok(merged) => {
                    wanted.insert(path.clone(), merged.entry);
                    if merged.joined == Joined::Union {
                        joined.push(path.clone());
                    }
                }
                Err(reason) => conflicts.push(self.conflict(path, versions, reason, &pathwise)),
            }
        }
        if conflicts.is_empty() {
            let lost = added.lost(present.into_iter());
            conflicts.extend(lost.iter().map(|conflict| self.rename_conflict(conflict, &pathwise)));
        }
        let mut settling = Settling::new(request, changes, (wanted, &pathwise.followed));
        for conflict in conflicts {
            let _either = settling.meet(self, self.blobs, conflict)?;
        }
        // Obstacles are checked once the new entries of all paths are known. Those beside another
        // conflict are reported with it, so that all can be settled at once.
        loop {
            settling.complete(self)?;
            let obstacles = self.obstacles(&settling.wanted, &pathwise)?;
            if obstacles.is_empty() {
                break;
            }
            // What stands below a file that was put beside its folder may not be in the way any more.
            let mut moved: Vec<RepoPath> = Vec::new();
            for obstacle in obstacles {
                let path = obstacle.path.clone();
                if !moved.iter().any(|file| path.is_below(file))
                    && settling.meet(self, self.blobs, obstacle)? == Met::Settled
                {
                    moved.push(path);
                }
            }
        }
        let (wanted, added) = settling.finish(joined);
        let own = changes.iter().map(|change| (&change.path, change)).collect();
        let origins = self.origins(changes, &pathwise)?;
        self.keep(task, wanted, (&own, &origins))?;
        if added.is_merged() {
            self.keep_work(task, changes, &pathwise);
        }
        Ok(added)
    }

    /// Keeps the merged entries of a task, whose `own` changes are these. `origins` says where files at
    /// new paths come from.
    fn keep(
        &mut self,
        task: &TaskName,
        wanted: Wanted,
        (own, origins): (&BTreeMap<&RepoPath, &Change>, &Origins),
    ) -> Result<()> {
        for (path, entry) in wanted {
            let before = self.entry(&path)?;
            if before == entry {
                continue;
            }
            let own = own.get(&path);
            let moved = origins.at(&path);
            let origin = moved.here.filter(|_| before.is_none());
            let base = own.map_or(before, |change| change.base);
            let from = own.and_then(|change| change.from.clone());
            let change = Change { path: path.clone(), base: before, task: entry, from };
            self.task_changes.push(TaskChange { task: task.clone(), change });
            let changed = self.changed.entry(path).or_insert_with(|| ChangedEntry::new(base));
            if before.is_none() {
                changed.from = origin.map_or_else(
                    || own.and_then(|change| change.from.clone()),
                    |origin| origin.from.clone(),
                );
            }
            changed.authors.change(task, changed.base, [before, entry], moved);
            changed.entry = entry;
            let by = origin.into_iter().flat_map(|origin| &origin.by).chain([task]);
            for task in by {
                changed.by.retain(|earlier| earlier != task);
                changed.by.push(task.clone());
            }
        }
        Ok(())
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

    /// Returns what the markers of conflicts in a file look like.
    pub(super) fn markers(&self, path: &RepoPath) -> Result<MarkerForm> {
        self.rules.map_or_else(|| Ok(MarkerForm::default()), |rules| rules.markers(path))
    }

    /// Returns the current entry at `path`.
    pub(super) fn entry(&self, path: &RepoPath) -> Result<Option<Entry>> {
        match self.changed.get(path) {
            Some(changed) => Ok(changed.entry),
            None => Ok(self.state_of(path)?.tracked()),
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

    /// Merges one path. `own` are the paths that the task itself changed.
    fn merge(
        &self,
        path: &RepoPath,
        versions: &Versions,
        own: &BTreeSet<&RepoPath>,
    ) -> Result<std::result::Result<MergedEntry, ConflictReason>> {
        let rule = || self.rules.map_or(Ok(MergeRule::Text), |rules| rules.of_path(path));
        let [ours, theirs] = versions.sides;
        let in_the_source = !self.changed.contains_key(path);
        if in_the_source && let EntryState::NotCheckedOut(tracked) = self.state_of(path)? {
            // Its content may not be there to merge with, and no task has seen it.
            let stays = theirs == versions.base || theirs.is_some() && theirs == tracked;
            let kept = MergedEntry { entry: tracked, joined: Joined::No };
            return Ok(if stays { Ok(kept) } else { Err(ConflictReason::NotCheckedOut) });
        }
        let all = [versions.base, ours, theirs];
        let texts = PathTexts::of(self.blobs, self.rules, path, all);
        let merged = three_way(&texts, &rule, versions.base, ours, theirs)?;
        let now = self.entry(path)?;
        let stays = merged.is_ok_and(|merged| merged.entry == now);
        if stays && !own.contains(path) {
            return Ok(merged);
        }
        if self.contested.contains(path) {
            return Ok(Err(ConflictReason::Contested));
        }
        if in_the_source && self.state_of(path)? == EntryState::Foreign {
            return Ok(Err(ConflictReason::InTheWay));
        }
        Ok(merged)
    }
}

/// The paths of the tree that neither a task nor an earlier one changed.
struct UntouchedPaths<'m, 'a> {
    merger: &'m Merger<'a>,
    touched: &'m BTreeSet<RepoPath>,
}

impl Untouched for UntouchedPaths<'_, '_> {
    fn is_below(&self, folder: &[u8]) -> Result<bool> {
        // The root is never removed, and to an undo no folder is, so that none counts as renamed.
        let folder = RepoPath::new(folder).filter(|_| !self.merger.is_undo);
        let Some(folder) = folder else { return Ok(true) };
        let Self { merger, touched } = self;
        let added = entries_below(&merger.changed, &folder)
            .any(|(path, changed)| changed.entry.is_some() && !touched.contains(path));
        if added || merger.state_of(&folder)? != EntryState::Folder {
            return Ok(added);
        }
        let goes = |path: &RepoPath| touched.contains(path) || merger.changed.contains_key(path);
        Ok(merger.target.obstacle(&folder, &goes)?.is_some())
    }

    fn is_at(&self, path: &RepoPath) -> Result<bool> {
        Ok(!self.touched.contains(path) && self.merger.entry(path)?.is_some())
    }
}
