//! What each task's branch grows from.

use std::collections::{BTreeMap, BTreeSet};

use git2::Oid;
use protocol::TaskName;

use crate::entry::Change;

/// Where a task stands that has been landed, for those that build on it.
#[derive(Clone, Debug, Default)]
pub(super) struct Ancestry {
    /// The ends of the branches that have everything of it: its own, or, where it changed nothing,
    /// those it builds on.
    pub(super) tips: BTreeMap<String, Oid>,
    /// Everybody whose work is in it, itself included, by folded name.
    pub(super) members: BTreeSet<String>,
}

/// The tasks that have been landed so far.
#[derive(Default)]
pub(super) struct Lineage {
    ancestries: BTreeMap<String, Ancestry>,
    /// What they changed, as it was committed, in the order in which they landed.
    works: Vec<(TaskName, Vec<Change>)>,
}

impl Lineage {
    /// Returns what stands behind the tasks of `on` that are known.
    pub(super) fn behind(&self, on: &[TaskName]) -> Ancestry {
        let mut together = Ancestry::default();
        for ancestry in on.iter().filter_map(|on| self.ancestries.get(&on.folded())) {
            together.tips.extend(ancestry.tips.clone());
            together.members.extend(ancestry.members.iter().cloned());
        }
        together
    }

    /// Returns what the members of an ancestry changed, in the order in which they landed.
    pub(super) fn works<'l>(
        &'l self,
        of: &'l Ancestry,
    ) -> impl Iterator<Item = &'l (TaskName, Vec<Change>)> {
        self.works.iter().filter(|(task, _)| of.members.contains(&task.folded()))
    }

    /// Returns whether a task has been landed.
    pub(super) fn knows(&self, task: &TaskName) -> bool {
        self.ancestries.contains_key(&task.folded())
    }

    /// Adds a task that changed nothing.
    pub(super) fn add_empty(&mut self, task: &TaskName, behind: Ancestry) {
        self.ancestries.insert(task.folded(), behind);
    }

    /// Adds a task whose work is on a branch now.
    pub(super) fn add(
        &mut self,
        task: &TaskName,
        behind: Ancestry,
        tip: Oid,
        changes: Vec<Change>,
    ) {
        let mut members = behind.members;
        members.insert(task.folded());
        let tips = [(task.folded(), tip)].into();
        self.ancestries.insert(task.folded(), Ancestry { tips, members });
        self.works.push((task.clone(), changes));
    }
}
