//! `regatta runs retry`: chooses tasks of an earlier run, and builds a new run of them.

use std::collections::{BTreeMap, BTreeSet};

use engine::landing;
use engine::ports::Schemas;
use engine::run::RunRecord;
use isolation::WorkInTree;
use protocol::{DoneTask, Landed, Outcome, Retry, RunName, RunSpec, TaskName, TaskSpec, TaskState};
use serde_json::Value;
use store::{RunRow, TaskRow};

use super::context::CommandContext;
use super::landable_text::thrown_away_text;
use super::target;
use crate::args::{RetryArgs, TaskEnding};
use crate::render::{one_line, shell_word};
use crate::resolve::{Defaults, ResolvedRun, retried};
use regatta::error::{Error, ErrorKind};
use regatta::runs::{LandedWork, Target, TargetKind};

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
) -> Result<ResolvedRun, Error> {
    let target = target::find_several(context, args.target.as_ref(), &args.tasks)?;
    target::check_has_ended(&target, "retry")?;
    let chosen = chosen(context, args, &target)?;
    let name = &target.run.name;
    let record = context.runs.reader.record(name)?;
    let gone = || Error::new(ErrorKind::Bug, format!("the ledger has lost run {name}"));
    let record = record.ok_or_else(gone)?;
    let folder = context.runs.root.join(&record.spec.subfolder);
    if !folder.is_dir() {
        return Err(Error::usage(format!("cannot retry run {name}"))
            .because(format!("its tasks worked in {}, which does not exist", folder.display())));
    }
    let done = Predecessors::of(context, &record, &chosen)?.find()?;
    let tasks: Vec<TaskSpec> = chosen.iter().map(|row| row.spec.clone()).collect();
    let retry = Retry { run: name.clone(), done };
    let earlier = record.tasks().iter().map(|task| task.spec.clone()).collect();
    let earlier = RunSpec { tasks: earlier, ..record.spec.clone() };
    retried(&earlier, tasks, retry, &args.overrides(), defaults, schemas)
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
    let why = match args.says_which() {
        true => "none of its tasks ended that way",
        false => "none of its tasks failed or was cancelled",
    };
    // What is not done comes first.
    let ended = [
        (TaskEnding::Failed, "--failed"),
        (TaskEnding::Cancelled, "--cancelled"),
        (TaskEnding::Conflicted, "--conflicted"),
    ];
    let is_there = |wanted: TaskEnding| target.tasks.iter().any(|row| ending(row) == wanted);
    let options = ended.into_iter().filter(|(ending, _)| is_there(*ending));
    let options = options.map(|(_, option)| option).chain(["--all"]);
    let what = format!("there is nothing of run {} to retry", target.run.name);
    Err(options.fold(Error::usage(what).because(why), |error, option| {
        let command = format!("runs retry {} {option}", target.arguments());
        error.hint(context.hints.command(&command))
    }))
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
            Some(
                Landed::Conflicted { .. }
                | Landed::Unwritten { .. }
                | Landed::Waiting { .. }
                | Landed::Unverified(_),
            ),
        ) => TaskEnding::Conflicted,
        (TaskState::Done, Some(Landed::TakenBack { .. })) => TaskEnding::Done,
        (TaskState::Done, Some(Landed::Landed { .. } | Landed::Unchanged) | None) => {
            TaskEnding::Done
        }
    }
}

/// Finds the tasks on which chosen tasks depend, and which are not chosen themselves.
struct Predecessors<'a> {
    context: &'a CommandContext,
    record: &'a RunRecord,
    /// The names of all tasks of the run, in lower case.
    names: BTreeSet<String>,
    chosen: &'a [&'a TaskRow],
    /// The run, those that it retries, and those that retry one of them, latest last.
    runs: Vec<RunRow>,
    /// The landed work of these runs, as far as it was compared with the tree.
    landed: BTreeMap<RunName, LandedWork>,
}

/// A predecessor, and the run in which it was done.
struct Predecessor {
    run: RunName,
    row: TaskRow,
}

impl<'a> Predecessors<'a> {
    fn of(
        context: &'a CommandContext,
        record: &'a RunRecord,
        chosen: &'a [&'a TaskRow],
    ) -> Result<Self, Error> {
        let names = record.tasks().iter().map(|task| task.spec.name.folded()).collect();
        let all = context.runs.reader.runs(Some(&context.runs.root), usize::MAX)?;
        let mut family = BTreeSet::from([record.name.clone()]);
        let mut earlier = record.spec.retry.as_ref().map(|retry| retry.run.clone());
        while let Some(name) = earlier {
            let of = all.iter().find(|run| run.name == name);
            earlier = of.and_then(|run| run.spec.retry_of.clone());
            if !family.insert(name) {
                break;
            }
        }
        let mut runs: Vec<RunRow> = Vec::new();
        for run in all.into_iter().rev() {
            let retries = run.spec.retry_of.as_ref().is_some_and(|of| family.contains(of));
            if retries || family.contains(&run.name) {
                family.insert(run.name.clone());
                runs.push(run);
            }
        }
        Ok(Self { context, record, names, chosen, runs, landed: BTreeMap::new() })
    }

    /// Returns the predecessors, each once, in the order in which they are named.
    ///
    /// # Errors
    /// One of them is not done, or its work is not in the tree.
    fn find(mut self) -> Result<Vec<DoneTask>, Error> {
        let mut known: BTreeSet<_> = self.chosen.iter().map(|row| row.name.folded()).collect();
        let mut done = Vec::new();
        for task in self.chosen {
            for on in &task.spec.depends_on {
                if known.insert(on.folded()) {
                    done.push(self.done(task, on)?);
                }
            }
        }
        // Of a predecessor that changed nothing, the work of those before it is in the tree as well.
        for row in self.chosen {
            let task = self.record.task(row.id);
            let on = task.map(|task| landing::changed_predecessors(self.record, task));
            for on in on.into_iter().flatten() {
                if known.insert(on.spec.name.folded()) {
                    self.done(row, &on.spec.name)?;
                }
            }
        }
        Ok(done)
    }

    /// Returns the predecessor `on` of `task`.
    fn done(&mut self, task: &TaskRow, on: &TaskName) -> Result<DoneTask, Error> {
        // What a later retry has done counts.
        for at in (0..self.runs.len()).rev() {
            let run = &self.runs[at];
            let Some(row) = self.context.runs.reader.task_by_name(run.id, on)? else { continue };
            let Some(value) = yielded(&row) else { continue };
            let predecessor = Predecessor { run: run.name.clone(), row };
            self.check_is_in_tree(task, &predecessor)?;
            return Ok(DoneTask { name: predecessor.row.name, value });
        }
        if !self.names.contains(&on.folded()) {
            // It was done in a run that the ledger does not have any more.
            let earlier = self.record.spec.retry.iter().flat_map(|retry| &retry.done);
            let mut earlier =
                earlier.filter(|done| done.name.as_str().eq_ignore_ascii_case(on.as_str()));
            let lost = || Error::new(ErrorKind::Bug, format!("the ledger has lost task {on}"));
            return earlier.next().cloned().ok_or_else(lost);
        }
        let run = &self.record.name;
        let both = format!("runs retry {run} {on} {}", task.name);
        Err(self.refused(task, on, "is not done", &both))
    }

    /// Checks that the work of a predecessor is in the tree, where the new run finds it.
    fn check_is_in_tree(&mut self, task: &TaskRow, on: &Predecessor) -> Result<(), Error> {
        let Predecessor { run, row } = on;
        let Some(captured) = row.captured.as_ref().filter(|captured| captured.changes.files > 0)
        else {
            return Ok(());
        };
        if let Some(Landed::Landed { branch: None, .. }) = row.landing {
            if !self.landed.contains_key(run) {
                let landed = LandedWork::compare(&self.context.runs, run)?;
                self.landed.insert(run.clone(), landed);
            }
            let landed = &self.landed[run];
            let Some(gone) = landed.thrown_away(row) else { return Ok(()) };
            let again = format!("apply {run}/{} --again", row.name);
            let why = format!("has landed, and {}", thrown_away_text(gone));
            return Err(self.refused(task, &row.name, &why, &again));
        }
        if row.discarded.is_some() {
            let both = format!("runs retry {} {} {}", self.record.name, row.name, task.name);
            return Err(self.refused(task, &row.name, "was discarded", &both));
        }
        // Work on a branch may have been merged, and kept work applied in another way.
        let captures = std::slice::from_ref(&captured.capture);
        let found = self.context.runs.captured.in_tree(&self.context.runs.root, captures)?;
        if found.iter().all(|found| *found == WorkInTree::Whole) {
            return Ok(());
        }
        if let Some(Landed::Landed { branch: Some(branch), .. }) = &row.landing {
            let branch = one_line(branch);
            let why = format!("is on the branch {branch}, and not in the working tree");
            let merge = format!("git merge {}", shell_word(&branch));
            return Err(self.error(task, &row.name, &why).hint(merge));
        }
        let apply = format!("apply {run}/{}", row.name);
        Err(self.refused(task, &row.name, "has not landed", &apply))
    }

    fn refused(&self, task: &TaskRow, on: &TaskName, why: &str, command: &str) -> Error {
        self.error(task, on, why).hint(self.context.hints.command(command))
    }

    fn error(&self, task: &TaskRow, on: &TaskName, why: &str) -> Error {
        Error::usage(format!("cannot retry task {}/{}", self.record.name, task.name))
            .because(format!("it builds on {on}, which {why}"))
    }
}

/// Returns what a task yielded, if it is done.
fn yielded(row: &TaskRow) -> Option<Value> {
    match &row.report.as_ref()?.outcome {
        Outcome::Done { value } => Some(value.clone()),
        Outcome::Failed { .. } | Outcome::Cancelled => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::fake_repository::{Bench, End, conflicting, in_tree};
    use super::*;

    #[test]
    async fn where_nothing_is_retried_the_options_that_choose_something_are_named() {
        let bench = Bench::new();
        let landed = ("auth", &[][..], End::Done(1, in_tree()));
        let run =
            bench.record(vec![landed, ("base", &[], End::Done(1, conflicting("auth")))]).await;
        let refused = |given: &str| {
            let target = target::find(&bench.context, &Some(given.to_owned()).into()).unwrap();
            let args = if given == "@" { RetryArgs::default() } else { failed() };
            chosen(&bench.context, &args, &target).unwrap_err().hints
        };
        let retry = |rest: &str| format!("regatta runs retry {run}{rest}");
        assert_eq!(refused("@"), [retry(" --conflicted"), retry(" --all")]);
        assert_eq!(refused("base"), [retry("/base --conflicted"), retry("/base --all")]);
        assert_eq!(refused("auth"), [retry("/auth --all")]);
    }

    fn failed() -> RetryArgs {
        use clap::Parser as _;
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            args: RetryArgs,
        }
        Line::parse_from(["retry", "--failed"]).args
    }
}
