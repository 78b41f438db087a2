//! `regatta runs retry`: chooses tasks of an earlier run, and builds a new run of them.

use engine::ports::Schemas;
use engine::run::RunRecord;
use isolation::WorkInTree;
use protocol::{DoneTask, Landed, Outcome, Retry, RunSpec, TaskName, TaskSpec, TaskState};
use store::TaskRow;

use super::context::CommandContext;
use super::landed_work::LandedWork;
use super::target::{Target, TargetKind};
use crate::args::{RetryArgs, TaskEnding};
use crate::error::{Error, ErrorKind};
use crate::render::one_line;
use crate::resolve::{Defaults, retried};

/// Returns the specification of a run of the chosen tasks: with the words, limits and models of the
/// earlier run, on the tree as it is now.
///
/// # Errors
/// There is no such run or task, the run has not ended, no task is chosen, or a chosen task depends
/// on work that is not in the tree.
pub fn spec(
    context: &CommandContext,
    args: &RetryArgs,
    defaults: &Defaults,
    schemas: &dyn Schemas,
) -> Result<RunSpec, Error> {
    let target = Target::find_several(context, args.target.as_deref(), &args.tasks)?;
    target.check_has_ended("retry")?;
    let chosen = chosen(context, args, &target)?;
    let name = &target.run.name;
    let record = context.reader.record(name)?;
    let gone = || Error::new(ErrorKind::Bug, format!("the ledger has lost run {name}"));
    let record = record.ok_or_else(gone)?;
    let folder = context.root.join(&record.spec.subfolder);
    if !folder.is_dir() {
        return Err(Error::usage(format!("cannot retry run {name}"))
            .because(format!("its tasks worked in {}, which is not there", folder.display())));
    }
    let rows = context.reader.tasks(target.run.id)?;
    let landed = LandedWork::compare(context, name)?;
    let finder =
        Predecessors { context, record: &record, rows: &rows, chosen: &chosen, landed: &landed };
    let done = finder.find()?;
    let tasks: Vec<TaskSpec> = chosen.iter().map(|row| row.spec.clone()).collect();
    let retry = Retry { run: name.clone(), done };
    retried(&record.spec, tasks, retry, &args.overrides(), defaults, schemas)
}

/// Returns the tasks of `target` to retry, at least one. Without an option, these are the tasks that
/// are named, or else those that failed or were cancelled.
fn chosen<'a>(
    context: &CommandContext,
    args: &RetryArgs,
    target: &'a Target,
) -> Result<Vec<&'a TaskRow>, Error> {
    let is_wanted = |row: &&TaskRow| match (args.says_which(), target.kind) {
        (true, _) => args.wants(ending(row)),
        (false, TargetKind::Task) => true,
        (false, TargetKind::Run) => {
            matches!(ending(row), TaskEnding::Failed | TaskEnding::Cancelled)
        }
    };
    let chosen: Vec<_> = target.tasks.iter().filter(is_wanted).collect();
    if !chosen.is_empty() {
        return Ok(chosen);
    }
    let name = &target.run.name;
    let all = context.hints.command(&format!("runs retry {name} --all"));
    let why = match args.says_which() {
        true => "none of its tasks ended that way",
        false => "none of its tasks failed or was cancelled",
    };
    Err(Error::usage(format!("there is nothing of run {name} to retry")).because(why).hint(all))
}

/// Returns how a task of a run that is over has ended.
fn ending(row: &TaskRow) -> TaskEnding {
    match (row.state, &row.landing) {
        (TaskState::Failed, _) => TaskEnding::Failed,
        (
            TaskState::Cancelled | TaskState::Interrupted | TaskState::Queued | TaskState::Running,
            _,
        ) => TaskEnding::Cancelled,
        (
            TaskState::Done,
            Some(Landed::Conflicted { .. } | Landed::Unwritten { .. } | Landed::Waiting { .. }),
        ) => TaskEnding::Conflicted,
        (TaskState::Done, Some(Landed::Landed { .. } | Landed::Unchanged) | None) => {
            TaskEnding::Done
        }
    }
}

/// Finds the tasks on which chosen tasks depend, and which are not chosen themselves.
struct Predecessors<'a> {
    context: &'a CommandContext,
    record: &'a RunRecord,
    /// All tasks of the run.
    rows: &'a [TaskRow],
    chosen: &'a [&'a TaskRow],
    landed: &'a LandedWork,
}

impl Predecessors<'_> {
    /// Returns the predecessors, each once, in the order in which they are named.
    ///
    /// # Errors
    /// One of them is not done, or its work is not in the tree.
    fn find(&self) -> Result<Vec<DoneTask>, Error> {
        let mut done: Vec<DoneTask> = Vec::new();
        for task in self.chosen {
            for on in &task.spec.depends_on {
                let is = |name: &TaskName| name.folded() == on.folded();
                let known = self.chosen.iter().any(|row| is(&row.name))
                    || done.iter().any(|done| is(&done.name));
                if !known {
                    done.push(self.done(task, on)?);
                }
            }
        }
        Ok(done)
    }

    /// Returns the predecessor `on` of `task`.
    fn done(&self, task: &TaskRow, on: &TaskName) -> Result<DoneTask, Error> {
        let Some(row) = self.rows.iter().find(|row| row.name.folded() == on.folded()) else {
            let earlier = self.record.spec.retry.iter().flat_map(|retry| &retry.done);
            let mut earlier = earlier.filter(|done| done.name.folded() == on.folded());
            let lost = || Error::new(ErrorKind::Bug, format!("the ledger has lost task {on}"));
            return earlier.next().cloned().ok_or_else(lost);
        };
        let Some(Outcome::Done { value }) = row.report.as_ref().map(|report| &report.outcome)
        else {
            let both = format!("runs retry {} {} {}", self.record.name, row.name, task.name);
            return Err(self.refused(task, row, "is not done", &both));
        };
        self.check_is_in_tree(task, row)?;
        Ok(DoneTask { name: row.name.clone(), value: value.clone() })
    }

    /// Checks that the work of `on` is in the tree, where the new run finds it.
    fn check_is_in_tree(&self, task: &TaskRow, on: &TaskRow) -> Result<(), Error> {
        let run = &self.record.name;
        let Some(captured) = on.captured.as_ref().filter(|captured| captured.changes.files > 0)
        else {
            return Ok(());
        };
        let in_tree = matches!(on.landing, Some(Landed::Landed { branch: None }));
        if in_tree {
            return match self.landed.thrown_away(on) {
                None => Ok(()),
                Some(gone) => {
                    let again = format!("apply {run}/{} --again", on.name);
                    Err(self.refused(task, on, &format!("has landed, and {}", gone.text()), &again))
                }
            };
        }
        if on.discarded.is_some() {
            let both = format!("runs retry {run} {} {}", on.name, task.name);
            return Err(self.refused(task, on, "was discarded", &both));
        }
        // Work on a branch may have been merged, and kept work applied in another way.
        let captures = std::slice::from_ref(&captured.capture);
        let found = self.context.captured.in_tree(&self.context.root, captures)?;
        if found.iter().all(|found| *found == WorkInTree::Whole) {
            return Ok(());
        }
        match &on.landing {
            Some(Landed::Landed { branch: Some(branch) }) => {
                let branch = one_line(branch);
                let why = format!("is on the branch {branch}, and not in the working tree");
                let error = self.error(task, on, &why);
                Err(error.hint(format!("git merge {}", crate::render::shell_word(&branch))))
            }
            _ => {
                let apply = format!("apply {run}/{}", on.name);
                Err(self.refused(task, on, "has not landed", &apply))
            }
        }
    }

    fn refused(&self, task: &TaskRow, on: &TaskRow, why: &str, command: &str) -> Error {
        self.error(task, on, why).hint(self.context.hints.command(command))
    }

    fn error(&self, task: &TaskRow, on: &TaskRow, why: &str) -> Error {
        let run = &self.record.name;
        Error::usage(format!("cannot retry task {run}/{}", task.name))
            .because(format!("it builds on {}, which {why}", on.name))
    }
}
