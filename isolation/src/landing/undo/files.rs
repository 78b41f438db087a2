//! Takes back the files of landings: merges what was there before into the working tree, and
//! exchanges the files as a landing does.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::time::SystemTime;

use engine::ports::{ConflictingRest, IsolationError, SettleRequest, UndoReport, UndoRequest};
use protocol::{LandingId, RepoPath, TaskName};

use super::history::History;
use super::refusals::damaged_store;
use super::report::MergedBack;
use super::reversal::reversals;
use super::timeline::Rewind;
use crate::error::Result;
use crate::landing::apply::Applier;
use crate::landing::attempt::{LandingRules, exchange, prepare};
use crate::landing::finish::LandingContext;
use crate::landing::journal::State;
use crate::landing::journal_content::Journal;
use crate::landing::plan::Plan;
use crate::landing::working_tree::WorkingTree;
use crate::merge::{Beginning, Merger};
use crate::store::TaskStore;
use crate::tree::Tree;

/// After how many attempts the paths at which another program interfered are left.
const MAX_ATTEMPTS: u32 = 3;

/// How many files that cannot be written are left before the undo is given up.
const MOST_UNWRITABLE: usize = 100;

/// The undo of the files of a run's landings.
pub(super) struct FileUndo<'a> {
    pub(super) request: &'a UndoRequest,
    pub(super) history: &'a History,
    pub(super) rules: &'a LandingRules<'a>,
    /// Returns whether the work of a capture is in the tree.
    pub(super) is_there: &'a dyn Fn(&protocol::CaptureRef) -> Result<bool>,
}

/// The paths that an attempt leaves.
#[derive(Default)]
struct Excluded {
    /// Another program keeps writing them.
    contested: BTreeSet<RepoPath>,
    /// They cannot be written.
    unwritable: BTreeSet<RepoPath>,
}

/// The result of an attempt.
enum Attempt {
    Finished(UndoReport),
    /// Another program saved these paths at the same moment. The tree is as before.
    Interrupted(Vec<RepoPath>),
    /// This path cannot be written, for this reason. The tree is as before.
    Unwritable(RepoPath, IsolationError),
}

impl FileUndo<'_> {
    /// Takes the files back.
    pub(super) fn carry_out(
        &self,
        context: &LandingContext<'_>,
        landing: LandingId,
    ) -> Result<UndoReport> {
        let (mut excluded, mut interrupted) = (Excluded::default(), BTreeSet::new());
        let mut tried = 0;
        loop {
            match self.attempt(context, landing, &excluded)? {
                Attempt::Finished(report) => return Ok(report),
                Attempt::Interrupted(paths) => {
                    interrupted.extend(paths);
                    tried += 1;
                    if tried >= MAX_ATTEMPTS {
                        excluded.contested.clone_from(&interrupted);
                    }
                }
                Attempt::Unwritable(path, why) => {
                    if excluded.unwritable.len() >= MOST_UNWRITABLE
                        || !excluded.unwritable.insert(path)
                    {
                        return Err(why);
                    }
                }
            }
        }
    }

    /// Reports what [`Self::carry_out`] would do now.
    pub(super) fn preview(&self, places: (&Tree, &TaskStore)) -> Result<UndoReport> {
        self.report(&self.merge(places, &Excluded::default())?)
    }

    fn attempt(
        &self,
        context: &LandingContext<'_>,
        landing: LandingId,
        excluded: &Excluded,
    ) -> Result<Attempt> {
        let read_since = SystemTime::now();
        let mut back = self.merge((context.tree, context.store), excluded)?;
        let report = self.report(&back)?;
        if report.report.tasks.is_empty() {
            return Ok(Attempt::Finished(report));
        }
        let run = &self.request.run;
        let id = context.journals.free_id(run)?;
        let plan = Plan::of(context.tree, &id, &back.merged, Some(read_since))?;
        let written = Applier::first_pass(context, run).targets_being_written(&plan.changes)?;
        if !written.is_empty() {
            return Ok(Attempt::Interrupted(written));
        }
        let record = std::mem::take(&mut back.record);
        let owner = (run.clone(), landing);
        let journal = Journal::new(id, owner, plan.folders, plan.changes, report.report.clone());
        let journal = journal.taking_back(record).in_nested(std::mem::take(&mut back.nested));
        if journal.changes.is_empty() {
            // The tree is as before the landing already.
            context.journals.write(&journal, State::Unreported)?;
            return Ok(Attempt::Finished(report));
        }
        let ended = match prepare(context, &journal) {
            Ok(()) => exchange(context, &journal),
            Err(failure) => {
                context.drop_intent(&journal)?;
                Err(failure)
            }
        };
        match ended {
            Ok(interrupted) if interrupted.is_empty() => Ok(Attempt::Finished(report)),
            Ok(interrupted) => Ok(Attempt::Interrupted(interrupted)),
            Err(failure) => match failure.path().cloned() {
                Some(path) => Ok(Attempt::Unwritable(path, failure.into_error())),
                None => Err(failure.into_error()),
            },
        }
    }

    /// Merges what was there before into the tree, the last landing first.
    fn merge(&self, (tree, store): (&Tree, &TaskStore), excluded: &Excluded) -> Result<MergedBack> {
        let mut back = MergedBack::default();
        let captures = self.request.tasks.iter().filter_map(|task| task.capture.as_ref());
        // Journals of older versions do not say it, and captures may be gone.
        let roots = captures.filter_map(|capture| store.nested_roots(capture).ok()).flatten();
        let roots = roots.chain(self.history.nested());
        let target = WorkingTree::of(tree, store).with_nested(roots);
        let target = target.tracked_by(self.rules.moves.repo());
        back.nested = target.nested();
        let left = excluded.contested.union(&excluded.unwritable).cloned().collect();
        let mut merger = Merger::over(&target, store)
            .under(&self.rules.files)
            .beside(&self.rules.moves)
            .taking_back()
            .without(&left);
        let settle = SettleRequest { rest: ConflictingRest::LandClean, ..SettleRequest::default() };
        let rewind = RefCell::new(Rewind::of(&self.history.timeline));
        for (number, reversal) in reversals(self.history, self.request).into_iter().enumerate() {
            let name: TaskName = format!("undo-{number}").parse().expect("such a word is a name");
            let began = || rewind.borrow_mut().after(reversal.moment, store);
            let begun = (&name, Beginning::Known(&began));
            let made = merger.task_changes().len();
            let added = merger.add_since(begun, &reversal.changes, &settle)?;
            // To the landings before, this is what has changed since.
            let made = merger.task_changes()[made..].iter().map(|own| own.change.clone());
            rewind.borrow_mut().push(made.collect());
            back.add(reversal, added.conflicts, &excluded.unwritable);
        }
        back.finish(merger.finish());
        back.record.folders = self.history.folders();
        self.check_versions(store, &back)?;
        Ok(back)
    }

    /// Checks that the task store has every version before any file changes.
    fn check_versions(&self, store: &TaskStore, back: &MergedBack) -> Result<()> {
        for (path, merged) in &back.merged {
            if let Some(entry) = merged.after
                && let Err(error) = store.read(entry.oid)
            {
                return Err(match error {
                    error @ IsolationError::Resources { .. } => error,
                    error => damaged_store(&self.request.run, path, &error),
                });
            }
        }
        Ok(())
    }

    fn report(&self, back: &MergedBack) -> Result<UndoReport> {
        let wrote = |task: &TaskName| self.history.has_writer(task);
        back.report(self.request, &wrote, self.is_there)
    }
}
