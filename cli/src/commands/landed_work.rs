//! Landed work that is not in the repository any more, because the user has thrown it away.

use std::collections::BTreeMap;

use isolation::WorkInTree;
use protocol::{Landed, RepoPath, RunName, TaskId};
use store::TaskRow;

use super::context::CommandContext;
use crate::render::one_line;
use regatta::error::{Error, ErrorKind};

/// The maximum number of paths that a message names.
const NAMED: usize = 5;

/// What is missing of landed work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ThrownAway {
    /// The working tree lacks the changes of these paths, all of them or some.
    Paths(Vec<RepoPath>),
    /// The branch was deleted.
    Branch(String),
    /// All of it, or what could be: `regatta undo` has taken it back.
    TakenBack,
}

/// The tasks of a run whose work has landed and was thrown away since.
#[derive(Clone, Debug, Default)]
pub(super) struct LandedWork(BTreeMap<TaskId, ThrownAway>);

impl LandedWork {
    /// Compares the landed work of a run with the repository. Work that was discarded, or whose lines
    /// the user has edited since, is not thrown away.
    ///
    /// # Errors
    /// The captures or the repository cannot be read.
    pub(super) fn compare(context: &CommandContext, run: &RunName) -> Result<Self, Error> {
        let lost = || Error::new(ErrorKind::Bug, format!("the ledger has lost run {run}"));
        let record = context.reader.record(run)?.ok_or_else(lost)?;
        let rows = context.reader.tasks_without_yields(record.spec.id)?;
        let rows: BTreeMap<_, _> = rows.iter().map(|row| (row.id, row)).collect();
        let (mut thrown_away, mut in_tree) = (BTreeMap::new(), Vec::new());
        for task in record.tasks_in_order() {
            // Work that was collected cannot be compared, nor land again.
            let is_there = |row: &&&TaskRow| row.discarded.is_none() && row.collected.is_none();
            let row = rows.get(&task.spec.id).filter(is_there);
            let Some(captured) = row.and_then(|row| row.captured.as_ref()) else { continue };
            match row.and_then(|row| row.landing.as_ref()) {
                Some(Landed::Landed { branch: Some(branch), .. }) => {
                    if !context.captured.has_branch(&context.root, branch)? {
                        // It may have been merged before it was deleted.
                        let one = std::slice::from_ref(&captured.capture);
                        let found = context.captured.in_tree(&context.root, one)?;
                        if found.iter().any(|found| matches!(found, WorkInTree::Missing(_))) {
                            let gone = ThrownAway::Branch(branch.clone());
                            thrown_away.insert(task.spec.id, gone);
                        }
                    }
                }
                Some(Landed::Landed { branch: None, .. }) => {
                    in_tree.push((task.spec.id, captured.capture.clone()));
                }
                Some(Landed::TakenBack { .. }) => {
                    thrown_away.insert(task.spec.id, ThrownAway::TakenBack);
                }
                Some(
                    Landed::Unchanged
                    | Landed::Conflicted { .. }
                    | Landed::Unwritten { .. }
                    | Landed::Waiting { .. }
                    | Landed::Unverified(_),
                )
                | None => {}
            }
        }
        let (tasks, captures): (Vec<_>, Vec<_>) = in_tree.into_iter().unzip();
        let compared = context.captured.in_tree(&context.root, &captures)?;
        for (task, found) in tasks.into_iter().zip(compared) {
            match found {
                WorkInTree::Missing(mut paths) => {
                    // Where the user kept what stood, the work of the task is not meant to be there.
                    let settled = rows.get(&task).map(|row| &row.settled.conflicts);
                    for conflict in settled.into_iter().flatten() {
                        paths.remove(&conflict.path);
                    }
                    if !paths.is_empty() {
                        thrown_away.insert(task, ThrownAway::Paths(paths.into_iter().collect()));
                    }
                }
                WorkInTree::Whole | WorkInTree::Edited(_) => {}
            }
        }
        Ok(Self(thrown_away))
    }

    /// Returns what is missing of the landed work of a task, if anything is.
    pub(super) fn thrown_away(&self, row: &TaskRow) -> Option<&ThrownAway> {
        self.0.get(&row.id)
    }
}

impl ThrownAway {
    /// Returns what is missing as the end of a sentence about the work.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Paths(paths) => {
                let mut named: Vec<_> =
                    paths.iter().take(NAMED).map(|path| one_line(&path.to_string())).collect();
                if let Some(more @ 1..) = paths.len().checked_sub(NAMED) {
                    named.push(format!("{more} more"));
                }
                let paths = named.join(", ");
                format!("is missing from the working tree, at least in part: {paths}")
            }
            Self::Branch(branch) => {
                format!("is missing: branch {} does not exist", one_line(branch))
            }
            Self::TakenBack => "was taken back".to_owned(),
        }
    }
}
