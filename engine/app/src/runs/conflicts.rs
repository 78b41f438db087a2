//! What could not land: the conflicts of each task, and how each of them can be settled.

use protocol::{Conflict, ConflictHunk, ConflictReason, Landed, MergeMode, Side};
use store::TaskRow;

use super::kept_work::kept_reason;
use super::repository_runs::RepositoryRuns;
use super::target::Target;

/// How a conflict can be settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettleOption {
    /// The version in the tree stays.
    Ours,
    /// The version of the task is taken.
    Theirs,
    /// The lines of both are kept where both changed the same lines.
    Union,
    /// Git's conflict markers are written into the file.
    Markers,
    /// The merge tool of the user's git configuration writes the file.
    Tool,
    /// A command or an agent writes the file.
    Resolve,
}

/// The work of a target that is kept because it could not land.
#[derive(Debug, Default)]
pub struct UnlandedWork<'a> {
    /// Each conflict with the tree.
    pub conflicts: Vec<OpenConflict<'a>>,
    /// The tasks whose work is kept for another reason.
    pub kept: Vec<&'a TaskRow>,
}

/// A path on which the work of a task conflicts with the tree.
#[derive(Clone, Copy, Debug)]
pub struct OpenConflict<'a> {
    /// The task.
    pub row: &'a TaskRow,
    /// The conflict.
    pub conflict: &'a Conflict,
    /// Whether the task has changed files that do not conflict and have not landed.
    pub has_rest: bool,
}

/// Returns the work of a target that could not land.
#[must_use]
pub fn unlanded_work(target: &Target) -> UnlandedWork<'_> {
    let mut found = UnlandedWork::default();
    for row in target.tasks.iter().filter(|row| kept_reason(row).is_some()) {
        match &row.landing {
            Some(Landed::Conflicted { conflicts }) => {
                let has_rest = has_rest(row, conflicts.len());
                let each = conflicts.iter();
                let each = each.map(|conflict| OpenConflict { row, conflict, has_rest });
                found.conflicts.extend(each);
            }
            Some(Landed::Unwritten { .. } | Landed::Waiting { .. } | Landed::Unverified(_)) => {
                found.kept.push(row);
            }
            Some(Landed::Landed { .. } | Landed::Unchanged | Landed::TakenBack { .. }) | None => {}
        }
    }
    found
}

/// Returns whether a task with so many conflicts has changed more, which has not landed.
fn has_rest(row: &TaskRow, conflicts: usize) -> bool {
    let files = row.captured.as_ref().map_or(0, |captured| captured.changes.files);
    let settled = u64::try_from(row.settled.landed.len() + conflicts);
    settled.is_ok_and(|settled| settled < files)
}

/// Returns whether a conflict can be settled where its run lands: on branches not that of work in several
/// repositories.
#[must_use]
pub fn can_be_settled(runs: &RepositoryRuns, merge: MergeMode, open: &OpenConflict<'_>) -> bool {
    match (merge, &open.row.captured) {
        (MergeMode::Branch | MergeMode::Stack, Some(captured)) => {
            open.conflict.reason == ConflictReason::MissingCommit
                || runs.captured.check_in_one_repository(&captured.capture).is_ok()
        }
        (MergeMode::Branch | MergeMode::Stack | MergeMode::Patch | MergeMode::None, _) => true,
    }
}

/// Returns the options that settle a conflict, the first to be tried before the others. `hunks` are the
/// places at which both sides changed the same lines.
#[must_use]
pub fn settle_options(
    conflict: &Conflict,
    merge: MergeMode,
    hunks: &[ConflictHunk],
) -> Vec<SettleOption> {
    let is_tree = match merge {
        MergeMode::Patch | MergeMode::None => true,
        // Markers are never committed.
        MergeMode::Branch | MergeMode::Stack => false,
    };
    let (both, marked) = match conflict.reason {
        reason if reason.keeps_ours_only() => (false, false),
        // Of the user's folder, or repository, nothing is removed for a file.
        ConflictReason::InTheWay | ConflictReason::Submodule => (false, false),
        ConflictReason::SameName | ConflictReason::Case => (true, false),
        ConflictReason::NotCheckedOut => (true, sides_of(conflict).is_some()),
        _ => (true, true),
    };
    let all = [
        (SettleOption::Theirs, both),
        (SettleOption::Ours, true),
        (SettleOption::Union, both && !hunks.is_empty() && sides_of(conflict).is_some()),
        (SettleOption::Markers, marked && is_tree),
        (SettleOption::Tool, both && sides_of(conflict).is_some()),
    ];
    all.into_iter().filter(|(_, works)| *works).map(|(option, _)| option).collect()
}

/// Returns the two sides of a conflict of the content of a file; `None` if it is another one.
#[must_use]
pub fn sides_of(conflict: &Conflict) -> Option<(&Side, &Side)> {
    let is_of_content = matches!(
        conflict.reason,
        ConflictReason::Content
            | ConflictReason::Binary
            | ConflictReason::BothAdded
            | ConflictReason::Mode
            | ConflictReason::Setup
            | ConflictReason::TooLarge
            | ConflictReason::Untracked
            | ConflictReason::NotCheckedOut
    );
    let is_file = |side: &Side| side.mode & 0o170_000 == 0o100_000;
    let sides = conflict.ours.as_ref().zip(conflict.theirs.as_ref());
    sides.filter(|(ours, theirs)| is_of_content && is_file(ours) && is_file(theirs))
}

#[cfg(test)]
mod tests {
    use protocol::RepoPath;

    use super::*;

    #[test]
    fn only_options_that_settle_a_conflict_are_offered() {
        use ConflictReason::{Binary, ChangedAndRemoved, Content, Encoding, Kind, SameName};
        use SettleOption::{Markers, Ours, Theirs, Tool, Union};
        let file = |mode| Some(Side { oid: "a".repeat(40), mode });
        let conflict = |reason, theirs| Conflict {
            path: RepoPath::new("a.txt").unwrap(),
            reason,
            base: file(0o100_644),
            ours: file(0o100_644),
            theirs,
            with: None,
            renamed: None,
        };
        let text = || file(0o100_644);
        for (conflict, has_lines, tree) in [
            (conflict(Content, text()), true, &[Theirs, Ours, Union, Markers, Tool][..]),
            (conflict(Binary, text()), false, &[Theirs, Ours, Markers, Tool]),
            (conflict(ChangedAndRemoved, None), false, &[Theirs, Ours, Markers]),
            (conflict(Kind, file(0o120_000)), false, &[Theirs, Ours, Markers]),
            (conflict(SameName, text()), false, &[Theirs, Ours]),
            (conflict(Encoding, text()), false, &[Ours]),
        ] {
            let branch: Vec<_> = tree.iter().copied().filter(|it| *it != Markers).collect();
            for (merge, expected) in [(MergeMode::Patch, tree), (MergeMode::Branch, &branch)] {
                let hunks = vec![ConflictHunk::default(); usize::from(has_lines)];
                let offered = settle_options(&conflict, merge, &hunks);
                assert_eq!(offered, expected, "{:?} {merge:?}", conflict.reason);
            }
        }
    }
}
