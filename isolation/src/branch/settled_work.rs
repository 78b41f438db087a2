//! Merges the work of one task into the tree of a commit, and settles its conflicts as its request
//! says. Nothing with a conflict is committed: what is not settled stays kept.

use std::collections::BTreeSet;

use engine::ports::{ConflictingRest, LandingTask, SettleChoice, SettleRequest, WrittenFile};
use protocol::{
    Conflict, ConflictReason, Landed, RepoPath, Settled, SettledBy, SettledConflict, TaskName,
};

use crate::branch::clean_filter::{Cleaned, Cleaner};
use crate::branch::commit_tree::RepoBlobs;
use crate::error::Result;
use crate::file_entry::Change;
use crate::merge::{Added, Blobs as _, Merger, mark_setup_conflicts};
use crate::settle::concerned_paths;
use crate::store::{Contents, Series};

/// Conflicts that are known before the work is merged.
#[derive(Clone, Debug, Default)]
pub(crate) struct InTheWay {
    pub(crate) conflicts: Vec<Conflict>,
    /// Whether no choice helps: the work comes to one of the paths nevertheless.
    pub(crate) is_final: bool,
}

impl InTheWay {
    /// Adds a conflict that was met while the work was merged without those that are known.
    pub(crate) fn add(&mut self, conflict: &Conflict) {
        if self.conflicts.iter().any(|known| known.path == conflict.path) {
            self.is_final = true;
        } else {
            self.conflicts.push(conflict.clone());
        }
    }
}

/// The merged work of a task.
pub(super) struct SettledWork {
    /// The changes that were merged, as git would commit them.
    pub(super) clean: Vec<Change>,
    /// The result, in which no conflict has markers.
    pub(super) added: Added,
}

/// What merging the work of a task gave.
pub(super) enum SettledMerge {
    /// It is merged, all of it or what does not conflict.
    Merged(SettledWork),
    /// It conflicts, and nothing of it is merged.
    Conflicted(Vec<Conflict>),
    /// A person has merged it already.
    ByHand,
}

/// Merges works into the tree of a commit.
pub(super) struct Settler<'s, 'a> {
    pub(super) cleaner: &'s Cleaner<'a>,
    pub(super) merger: &'s mut Merger<'a>,
}

impl Settler<'_, '_> {
    /// Merges the work of a task. `predecessors` are the tasks whose work it began with, and `by_hand`
    /// returns whether a person has merged it.
    pub(super) fn merge(
        &mut self,
        (task, predecessors): (&LandingTask, &BTreeSet<TaskName>),
        contents: &Contents,
        in_the_way: InTheWay,
        by_hand: &dyn Fn() -> Result<bool>,
    ) -> Result<SettledMerge> {
        let settle = &task.settle;
        let InTheWay { conflicts: mut known, is_final } = in_the_way;
        if is_final {
            return Ok(SettledMerge::Conflicted(known));
        }
        let Cleaned { changes: mut clean, conflicts: unclean } =
            self.cleaner.clean(&contents.changes)?;
        known.extend(unclean);
        known.retain(|conflict| !settle.landed.contains(&conflict.path));
        clean.retain(|change| known.iter().all(|conflict| conflict.path != change.path));
        let is_kept =
            |conflict: &Conflict| matches!(choice(settle, conflict), Some(SettleChoice::Ours));
        let (kept, left): (Vec<_>, Vec<_>) = known.into_iter().partition(is_kept);
        if !left.is_empty() && settle.rest == ConflictingRest::KeepAll {
            return Ok(SettledMerge::Conflicted(left));
        }
        let Some(mut added) = self.add((task, predecessors), &clean, by_hand)? else {
            return Ok(SettledMerge::ByHand);
        };
        mark_setup_conflicts(&mut added.conflicts, &contents.setup);
        if !added.conflicts.is_empty() && settle.rest == ConflictingRest::KeepAll {
            return Ok(SettledMerge::Conflicted(added.conflicts));
        }
        self.join(task, &clean, &mut added, (kept, left))?;
        Ok(SettledMerge::Merged(SettledWork { clean, added }))
    }

    /// Merges the changes of a task. Its conflicts are looked at before they are settled: what depends
    /// on changes that no commit has is not committed, whatever the choice.
    fn add(
        &mut self,
        (task, predecessors): (&LandingTask, &BTreeSet<TaskName>),
        clean: &[Change],
        by_hand: &dyn Fn() -> Result<bool>,
    ) -> Result<Option<Added>> {
        let settle = &task.settle;
        let landed = settle.landed.clone();
        let mut request = SettleRequest { landed, ..SettleRequest::default() };
        loop {
            let mut added = self.merger.add_settled((&task.task, predecessors), clean, &request)?;
            if added.conflicts.is_empty() {
                return Ok(Some(added));
            }
            if request.paths.is_empty() && by_hand()? {
                return Ok(None);
            }
            added.conflicts = self.cleaner.explain(added.conflicts, clean)?;
            if request.rest == ConflictingRest::LandClean {
                return Ok(Some(added));
            }
            let mut is_new = false;
            for conflict in &added.conflicts {
                let open = !request.paths.contains_key(&conflict.path);
                let chosen =
                    choice(settle, conflict).filter(|choice| open && suits(conflict, choice));
                if let Some(choice) = chosen
                    && let Some(choice) = self.committed(&conflict.path, choice)?
                {
                    request.paths.insert(conflict.path.clone(), choice);
                    is_new = true;
                }
            }
            if !is_new && settle.rest == ConflictingRest::KeepAll {
                return Ok(Some(added));
            }
            if !is_new {
                request.rest = ConflictingRest::LandClean;
            }
        }
    }

    /// Returns a choice with the content that git would commit; `None` if a filter program would have
    /// to make it.
    fn committed(&self, path: &RepoPath, choice: &SettleChoice) -> Result<Option<SettleChoice>> {
        let SettleChoice::Written(file) = choice else { return Ok(Some(choice.clone())) };
        let Some(bytes) = &file.bytes else { return Ok(Some(choice.clone())) };
        let Some(oid) = self.cleaner.clean_bytes(path, bytes)? else { return Ok(None) };
        let bytes = Some(RepoBlobs(self.cleaner.git).read(oid)?);
        Ok(Some(SettleChoice::Written(WrittenFile { bytes, ..file.clone() })))
    }

    /// Adds the conflicts that were known before to the result: those in which what stands was `kept`,
    /// and those that are `left`.
    fn join(
        &self,
        task: &LandingTask,
        clean: &[Change],
        added: &mut Added,
        (kept, left): (Vec<Conflict>, Vec<Conflict>),
    ) -> Result<()> {
        let Settled { conflicts: settled, landed } = &mut added.settled;
        if !left.is_empty() || !added.conflicts.is_empty() {
            let mut done: BTreeSet<RepoPath> = std::mem::take(landed).into_iter().collect();
            done.extend(kept.iter().map(|conflict| conflict.path.clone()));
            done.extend(task.settle.landed.iter().cloned());
            if added.conflicts.is_empty() {
                done.extend(clean.iter().map(|change| change.path.clone()));
                done.extend(self.merger.last_changes(&task.task)?.into_keys());
            }
            for path in left.iter().flat_map(concerned_paths) {
                done.remove(&path);
            }
            *landed = done.into_iter().collect();
        }
        settled.extend(kept.into_iter().map(|conflict| SettledConflict {
            path: conflict.path,
            by: SettledBy::Ours,
            resolver: None,
        }));
        settled.sort_by(|one, other| one.path.cmp(&other.path));
        added.conflicts.extend(left);
        added.conflicts.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(())
    }
}

/// Returns the choice for a conflict.
fn choice<'s>(settle: &'s SettleRequest, conflict: &Conflict) -> Option<&'s SettleChoice> {
    let concerned = concerned_paths(conflict);
    let named = concerned.iter().find_map(|path| settle.paths.get(path));
    named.or(settle.all.as_ref())
}

/// Returns whether a choice can settle a conflict of commits. Markers are for a person who goes on in
/// the file.
fn suits(conflict: &Conflict, choice: &SettleChoice) -> bool {
    match choice {
        SettleChoice::Ours => true,
        SettleChoice::Markers => false,
        SettleChoice::Theirs | SettleChoice::Union | SettleChoice::Written(_) => {
            conflict.reason != ConflictReason::Uncommitted
        }
    }
}

/// Makes the work of a task whose conflicts were settled, or a part of which has landed, one commit:
/// its own commits have what was not taken.
pub(super) fn as_one_commit(contents: &mut Contents, task: &LandingTask, added: &Added) {
    let is_whole =
        added.conflicts.is_empty() && added.settled.is_empty() && task.settle.landed.is_empty();
    if !is_whole && !contents.series.commits.is_empty() {
        contents.series = Series::lost("its conflicts were settled path by path");
    }
}

/// Returns that the work of a task is kept with these conflicts. What has landed of it earlier stays so.
pub(super) fn kept(task: &LandingTask, conflicts: Vec<Conflict>) -> (Landed, Settled) {
    (Landed::Conflicted { conflicts }, earlier(task))
}

/// Returns that the work of a task could not be written, for this reason.
pub(super) fn unwritten(task: &LandingTask, message: String) -> (Landed, Settled) {
    (Landed::Unwritten { message }, earlier(task))
}

/// Returns what has landed of the work of a task earlier.
fn earlier(task: &LandingTask) -> Settled {
    let landed = task.settle.landed.iter().cloned().collect();
    Settled { landed, ..Settled::default() }
}

/// Returns what became of work that was merged so far, where it is on `branch`.
pub(super) fn landed_on(branch: &str, added: Added) -> (Landed, Settled) {
    let Added { joined, conflicts, settled } = added;
    let landed = match conflicts.is_empty() {
        true => Landed::Landed { branch: Some(branch.to_owned()), joined },
        false => Landed::Conflicted { conflicts },
    };
    (landed, settled)
}
