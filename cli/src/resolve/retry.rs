//! Builds the specification of a run that retries tasks of an earlier one.

use engine::ports::Schemas;
use protocol::{
    Agent, Approvals, BranchOwner, MergeMode, Retry, RunId, RunName, RunSpec, SetupFolder,
    StackBranch, TaskId, TaskSpec, Work, WorkspaceNeeds,
};

use super::Defaults;
use super::check::check;
use super::run_request::check_base_url;
use super::run_settings::limits;
use super::run_spec::{ResolvedRun, selection};
use crate::args::RunArgs;
use regatta::each::{title_of, with_script};
use regatta::error::Error;
use regatta::plan::PlannedLimits;

/// Returns the specification of a run with the words, limits and models of `tasks`, which are tasks
/// of the run `earlier`, except for what `args` names: a command, a model, limits, how many tasks run
/// at the same time.
///
/// # Errors
/// An option is invalid or has no effect, or a task cannot be done.
pub fn retried(
    earlier: &RunSpec,
    tasks: Vec<TaskSpec>,
    retry: Retry,
    args: &RunArgs,
    defaults: &Defaults,
    schemas: &dyn Schemas,
) -> Result<ResolvedRun, Error> {
    check_base_url(args)?;
    let selection = selection(args, None, defaults);
    let model = args.model.is_some().then(|| selection.route(None)).transpose()?;
    let meant = model.as_ref().and_then(|model| selection.meaning(None, model));
    let exec = exec(args, &tasks)?;
    check_approval_mode(args, &tasks)?;
    let again = |task: TaskSpec| {
        let limits = limits(args, PlannedLimits::default(), task.limits)?;
        let of_items = !task.items.is_empty();
        let (work, title) = match (task.work, &model, exec) {
            (Work::Agent(agent), model, _) => {
                let agent = *agent;
                let mode = args.approval_mode.or(agent.approvals.mode);
                let approvals = Approvals { mode, ..agent.approvals };
                let model = model.clone().unwrap_or(agent.model);
                (Work::from(Agent { model, approvals, ..agent }), task.title)
            }
            (Work::Command(command), _, Some(script)) => {
                let number = earlier.tasks.iter().position(|other| other.name == task.name);
                let command = with_script(&command, script, number.unwrap_or_default() + 1)?;
                let title = if of_items { task.title } else { title_of(script) };
                (Work::Command(command), title)
            }
            (work, _, _) => (work, task.title),
        };
        Ok(TaskSpec { id: TaskId::generate(), work, title, limits, ..task })
    };
    let spec = RunSpec {
        needs: needs(earlier, &tasks, (&retry.run, defaults))?,
        id: RunId::generate(),
        tasks: tasks.into_iter().map(again).collect::<Result<_, Error>>()?,
        jobs: args.jobs.unwrap_or(earlier.jobs),
        stack: earlier.stack.clone().or_else(|| own_stack(earlier, &retry)),
        retry: Some(retry),
        ..earlier.clone()
    };
    check(&spec, args, schemas)?;
    Ok(ResolvedRun { spec, meant: meant.into_iter().collect() })
}

/// Returns what the workspaces need. Set-up commands that the project's settings named run as in a new run: those
/// that count now, after what the user has trusted.
///
/// # Errors
/// The commands do not count any more.
fn needs(
    earlier: &RunSpec,
    tasks: &[TaskSpec],
    (run, defaults): (&RunName, &Defaults),
) -> Result<WorkspaceNeeds, Error> {
    let mut needs = earlier.needs.clone();
    if needs.carry.is_empty() && needs.carry_limit == 0 {
        // The ledger of an older version has no limit where no files were named.
        needs.carry_limit = defaults.needs.carry_limit;
    }
    let is_used = !needs.setup.is_empty() && tasks.iter().any(|task| task.needs.setup.is_none());
    match needs.setup_folder {
        SetupFolder::Root if is_used => {
            let now = &defaults.needs.setup;
            if now.origin.project_root().is_none() {
                return Err(Error::usage(format!("cannot retry run {run}"))
                    .because(
                        "its set-up commands are of the project's settings, and do not count now",
                    )
                    .hint("regatta trust"));
            }
            needs.setup.clone_from(&now.value);
        }
        SetupFolder::Root | SetupFolder::WorkingFolder => {}
    }
    Ok(needs)
}

/// Returns the command of `--exec`, which at least one of the tasks takes.
fn exec<'a>(args: &'a RunArgs, tasks: &[TaskSpec]) -> Result<Option<&'a str>, Error> {
    let Some(script) = args.exec.as_deref() else { return Ok(None) };
    if script.trim().is_empty() {
        return Err(Error::usage("the command of --exec is empty"));
    }
    if !tasks.iter().any(|task| matches!(task.work, Work::Command(_))) {
        return Err(Error::usage("--exec replaces the command of tasks, and no task has one")
            .because("models do all the work")
            .hint("--model MODEL for another model"));
    }
    Ok(Some(script))
}

fn check_approval_mode(args: &RunArgs, tasks: &[TaskSpec]) -> Result<(), Error> {
    let is_used = tasks.iter().any(|task| matches!(task.work, Work::Agent(_)));
    match args.approval_mode {
        Some(_) if !is_used => {
            Err(Error::usage("--approval-mode is about the calls of models, and no task has one")
                .because("commands do all the work")
                .hint("leave it out"))
        }
        _ => Ok(()),
    }
}

/// Returns the branch that the retried run has made for its work, if it is a stack.
fn own_stack(earlier: &RunSpec, retry: &Retry) -> Option<StackBranch> {
    (earlier.merge == MergeMode::Stack).then(|| StackBranch {
        name: format!("{}/{}", earlier.branch_prefix, retry.run),
        owner: BranchOwner::RetriedRun,
    })
}
