//! Finishes the landings that dead engines have left open, one after the other. One that cannot move
//! its branch stays open, and does not keep others from landing.

use std::collections::BTreeSet;

use engine::ports::{Completion, IsolationError, LandingNotice, Notice, RecoveredLanding};
use protocol::{LandingReport, RunName};

use crate::error::{Result, error_text};
use crate::landing::finish::LandingContext;
use crate::landing::index_lock::IndexLock;
use crate::landing::journal::State;
use crate::landing::journal_content::Journal;
use crate::landing::on_branch::finish_move;
use crate::landing::undo::finish_branches;
use crate::repository::Repo;

/// What became of the open landings.
#[derive(Default)]
pub(super) struct FinishedLandings {
    /// Those that are complete.
    pub(super) landings: Vec<RecoveredLanding>,
    /// The runs of those that stay open, with the reasons.
    stuck: Vec<(RunName, IsolationError)>,
}

impl FinishedLandings {
    /// Checks that none of them is of `run`, whose work would land twice.
    pub(super) fn check_none_of(self, run: &RunName) -> Result<()> {
        if let Some((_, error)) = self.stuck.into_iter().find(|(stuck, _)| stuck == run) {
            return Err(error);
        }
        if self.landings.iter().any(|landing| landing.run == *run) {
            return Err(landed_before(run));
        }
        Ok(())
    }
}

/// Returns the refusal to land work that an earlier, unrecorded landing may have put into the tree.
fn landed_before(run: &RunName) -> IsolationError {
    IsolationError::Refused {
        what: format!("the work of run {run} was not landed"),
        because: "an earlier landing of it was cut short; it is complete now, and not recorded yet"
            .to_owned(),
        hint: format!("regatta runs show {run}"),
    }
}

/// Finishes the open landings of this repository, except those of the runs in `alive`. Notifies of
/// each that stays open.
///
/// # Errors
/// A journal cannot be read, or the files of a landing cannot be written.
pub(super) fn finish_open(
    context: &LandingContext<'_>,
    repo: &Repo,
    alive: &BTreeSet<RunName>,
) -> Result<FinishedLandings> {
    context.journals.drop_unfinished()?;
    // All journals are read before the first landing is finished: if one is unreadable, no report
    // of another is lost.
    let mut open = Vec::new();
    for (id, state) in context.journals.open()? {
        // If the journal is missing, the process that recorded its report has moved it to the
        // folder of finished journals.
        if let Some(journal) = context.journals.read(&id, state)?
            && !alive.contains(&journal.run)
        {
            open.push((journal, state));
        }
    }
    let mut finished = FinishedLandings::default();
    for (journal, state) in open {
        let (id, run, landing) = (journal.id.clone(), journal.run.clone(), journal.landing);
        let moves_branch = journal.branch.is_some()
            || journal.undo.as_ref().is_some_and(|undo| !undo.branches.is_empty());
        match finish_one(context, repo, journal, state) {
            Ok(Some((report, completion))) => {
                let landing = RecoveredLanding { run, landing, report, completion };
                finished.landings.push(landing);
            }
            Ok(None) => {}
            Err(error) if moves_branch => {
                (context.notify)(LandingNotice::Degraded(stuck_notice(&id, &error)));
                finished.stuck.push((run, error));
            }
            // Parts of it are in the tree, so nothing else lands before.
            Err(error) => return Err(of_landing(&run, error)),
        }
    }
    Ok(finished)
}

/// Says in an error that it is of an earlier landing.
fn of_landing(run: &RunName, error: IsolationError) -> IsolationError {
    let of_it = |what: String| {
        format!("complete the landing of run {run}, which was cut short: cannot {what}")
    };
    match error {
        IsolationError::Resources { what, source } => {
            IsolationError::Resources { what: of_it(what), source }
        }
        IsolationError::Failed { what, source } => {
            IsolationError::Failed { what: of_it(what), source }
        }
        IsolationError::Refused { .. }
        | IsolationError::Predecessors { .. }
        | IsolationError::Vanished { .. }
        | IsolationError::Withdrawn => error,
    }
}

/// Finishes one landing. Returns `None` if everything is as before it.
fn finish_one(
    context: &LandingContext<'_>,
    repo: &Repo,
    journal: Journal,
    state: State,
) -> Result<Option<(LandingReport, Completion)>> {
    Ok(match state {
        State::Intent => {
            IndexLock::release(repo, &journal.id)?;
            context.drop_intent(&journal)?;
            None
        }
        State::Undoing => {
            IndexLock::release(repo, &journal.id)?;
            context.roll_back(&journal)?;
            None
        }
        State::Committed => match journal.branch.clone() {
            Some(branch) => finish_move(context, repo, journal, &branch)?,
            None if journal.undo.as_ref().is_some_and(|undo| !undo.branches.is_empty()) => {
                let (journal, _left) = finish_branches(context, repo, journal)?;
                let report = journal.report.clone();
                context.end_move(journal)?;
                Some((report, Completion::Now))
            }
            None => Some((context.roll_forward(journal)?, Completion::Now)),
        },
        State::Landed => Some((context.end(journal)?, Completion::Earlier)),
        State::Unreported => Some((journal.report, Completion::Earlier)),
        State::Done => None,
    })
}

fn stuck_notice(id: &str, error: &IsolationError) -> Notice {
    Notice {
        from: format!("the landing {id} was cut short and cannot be completed"),
        to: "it stays open, and the next command of regatta tries again".to_owned(),
        why: error_text(error),
    }
}
