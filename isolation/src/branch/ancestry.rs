//! The ancestry of each task's branch: the tasks it builds on.

use std::collections::{BTreeMap, BTreeSet};

use git2::Oid;
use protocol::TaskName;

use crate::file_entry::Change;

/// The commits that contain a landed task's work and that of its predecessors.
#[derive(Clone, Debug, Default)]
pub(super) struct Ancestry {
    /// The tips of the branches that together contain this work, by folded task name: the tip of
    /// the task's own branch or, if the task changed nothing, those of its predecessors.
    pub(super) tips: BTreeMap<String, Oid>,
    /// The folded names of the tasks whose work the commits contain, including the task itself.
    pub(super) members: BTreeSet<String>,
}

/// The tasks that have been landed so far.
#[derive(Default)]
pub(super) struct Lineage {
    ancestries: BTreeMap<String, Ancestry>,
    /// The committed changes of each task, in the order of landing.
    works: Vec<(TaskName, Vec<Change>)>,
}

impl Lineage {
    /// Returns the joint ancestry of the tasks in `on`. Tasks that have not landed are skipped.
    pub(super) fn joint_ancestry(&self, on: &[TaskName]) -> Ancestry {
        let mut together = Ancestry::default();
        for ancestry in on.iter().filter_map(|on| self.ancestries.get(&on.folded())) {
            together.tips.extend(ancestry.tips.clone());
            together.members.extend(ancestry.members.iter().cloned());
        }
        together
    }

    /// Returns the changes of the tasks of an ancestry, in the order of landing.
    pub(super) fn works<'l>(
        &'l self,
        of: &'l Ancestry,
    ) -> impl Iterator<Item = &'l (TaskName, Vec<Change>)> {
        self.works.iter().filter(|(task, _)| of.members.contains(&task.folded()))
    }

    /// Returns whether a task has landed.
    pub(super) fn knows(&self, task: &TaskName) -> bool {
        self.ancestries.contains_key(&task.folded())
    }

    /// Adds a task that changed nothing.
    pub(super) fn add_empty(&mut self, task: &TaskName, ancestry: Ancestry) {
        self.ancestries.insert(task.folded(), ancestry);
    }

    /// Adds a task whose work is on a branch.
    pub(super) fn add(
        &mut self,
        task: &TaskName,
        ancestry: Ancestry,
        tip: Oid,
        changes: Vec<Change>,
    ) {
        let mut members = ancestry.members;
        members.insert(task.folded());
        let tips = [(task.folded(), tip)].into();
        self.ancestries.insert(task.folded(), Ancestry { tips, members });
        self.works.push((task.clone(), changes));
    }
}
