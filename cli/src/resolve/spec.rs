//! A whole run, asked for in full.

use std::io::Read;
use std::num::NonZeroUsize;
use std::path::Path;

use engine::ports::Schemas;
use protocol::{
    ChangeDemand, Command, IsolationMode, MergeMode, RunId, RunSpec, TaskId, TaskLimits, TaskSpec,
    Work,
};
use serde_json::Value;

use super::Defaults;
use super::request::{Origin, Request};
use crate::args::{MergeChoice, RunArgs};
use crate::each::{Draft, Fanout, Input, Naming, Tracked, drafts, one_line};
use crate::error::{Error, ErrorKind};
use crate::plan::{self, Plan};

/// How many bytes a script may have: what Linux takes as one argument of a process.
const LONGEST_SCRIPT: usize = (128 << 10) - 1;

/// What a run is to stand on.
pub struct Ground<'a> {
    /// The root of the repository's working tree.
    pub root: &'a Path,
    /// The folder below the root in which tasks work; empty for the root.
    pub subfolder: &'a Path,
    /// Lists the repository's tracked files, from its root on.
    pub tracked: Tracked<'a>,
    /// Standard input.
    pub standard: &'a mut dyn Read,
    /// Compiles the schemas of yields.
    pub schemas: &'a dyn Schemas,
    /// How many cores the machine has.
    pub cores: NonZeroUsize,
}

/// Returns what the run is asked in full. The command line goes before the plan, and that before
/// the settings.
///
/// # Errors
/// A plan, a list, a schema or a limit that makes no sense.
pub fn resolve(
    request: &Request,
    args: &RunArgs,
    defaults: &Defaults,
    ground: Ground<'_>,
) -> Result<RunSpec, Error> {
    let Ground { root, subfolder, tracked, standard, schemas, cores } = ground;
    let input = Input { standard, tracked, subfolder, end: args.item_end() };
    let tasks = Tasks::of(request, args, input)?;
    let (isolation, merge) = modes(args, tasks.plan.as_ref(), defaults)?;
    let planned = tasks.plan.as_ref();
    let limits = limits(args, planned, defaults.limits)?;
    let schema = args.schema.as_deref().map(plan::schema_of).transpose()?;
    let asked = args.jobs.or(planned.and_then(|plan| plan.jobs));
    let jobs = asked.unwrap_or(match isolation {
        IsolationMode::None => NonZeroUsize::MIN,
        IsolationMode::Worktree => defaults.jobs.unwrap_or(cores),
    });
    let label = planned.and_then(|plan| plan.name.clone());
    let tasks = tasks.specs(limits, schema.as_ref());
    let spec = RunSpec {
        id: RunId::generate(),
        label,
        repo: root.to_owned(),
        subfolder: subfolder.to_owned(),
        tasks,
        jobs,
        isolation,
        merge,
        on_failure: args.on_failure(),
        branch_prefix: defaults.branch_prefix.clone(),
        untracked_limit: defaults.untracked_limit,
    };
    check(&spec, schemas)?;
    Ok(spec)
}

/// The tasks of a run, wherever they come from.
struct Tasks {
    plan: Option<Plan>,
    drafts: Vec<Draft>,
}

impl Tasks {
    fn of(request: &Request, args: &RunArgs, input: Input<'_>) -> Result<Self, Error> {
        let (script, items, naming, chunk) = match &request.0 {
            Origin::Plan(source) => {
                let plan = Some(plan::read(source, input.standard)?);
                return Ok(Self { plan, drafts: Vec::new() });
            }
            Origin::Command(script) => {
                let command = Command { script: script.clone(), item: None, arguments: Vec::new() };
                let name = protocol::TaskName::nearest("t1");
                let drafts = vec![Draft { name, title: one_line(script), command }];
                return Ok(Self { plan: None, drafts });
            }
            Origin::Words { script, words } => (script, words.clone(), Naming::Word, None),
            Origin::Each { script, source } => {
                (script, source.items(input)?, Naming::Path, args.chunk)
            }
        };
        let drafts = drafts(Fanout { script, items, naming, chunk })?;
        Ok(Self { plan: None, drafts })
    }

    fn specs(self, limits: TaskLimits, schema: Option<&Value>) -> Vec<TaskSpec> {
        let drafted = self.drafts.into_iter().map(|draft| TaskSpec {
            id: TaskId::generate(),
            name: draft.name,
            title: draft.title,
            work: Work::Command(draft.command),
            depends_on: Vec::new(),
            priority: 0,
            change: ChangeDemand::Optional,
            schema: schema.cloned(),
            limits,
        });
        let planned = self.plan.into_iter().flat_map(|plan| plan.tasks).map(|task| TaskSpec {
            id: TaskId::generate(),
            name: task.name,
            title: one_line(&task.script),
            work: Work::Command(Command { script: task.script, item: None, arguments: Vec::new() }),
            depends_on: task.depends_on,
            priority: task.priority,
            change: task.change,
            schema: task.schema.or_else(|| schema.cloned()),
            limits,
        });
        drafted.chain(planned).collect()
    }
}

/// Chooses how tasks are kept apart and where their work goes.
fn modes(
    args: &RunArgs,
    plan: Option<&Plan>,
    defaults: &Defaults,
) -> Result<(IsolationMode, MergeMode), Error> {
    let isolation = args.isolation.map_or(defaults.isolation, |choice| choice.mode());
    let asked = args.merge.map(|MergeChoice(mode)| mode).or(plan.and_then(|plan| plan.merge));
    match (isolation, asked) {
        // In place there is nothing to land: the work is where it was done.
        (IsolationMode::None, None | Some(MergeMode::None | MergeMode::Patch)) => {
            Ok((isolation, MergeMode::None))
        }
        (IsolationMode::None, Some(MergeMode::Branch)) => {
            Err(Error::usage("isolation `none` and merge `branch` do not go together")
                .because("tasks that work in place are not captured, so there is nothing to commit")
                .hint("--isolation worktree"))
        }
        (IsolationMode::Worktree, asked) => Ok((isolation, asked.unwrap_or(defaults.merge))),
    }
}

fn limits(args: &RunArgs, plan: Option<&Plan>, defaults: TaskLimits) -> Result<TaskLimits, Error> {
    let mut limits = TaskLimits {
        wall: plan.and_then(|plan| plan.wall).unwrap_or(defaults.wall),
        output: plan.and_then(|plan| plan.output).unwrap_or(defaults.output),
        ..defaults
    };
    for limit in &args.limits {
        let refused = |error: config::QuantityError| {
            Error::usage(format!("`{}` is no value of --limit {}", limit.value, limit.name))
                .because(error.to_string())
        };
        match limit.name.as_str() {
            "wall" => limits.wall = config::parse_duration(&limit.value).map_err(refused)?,
            _ => limits.output = config::parse_size(&limit.value).map_err(refused)?,
        }
    }
    if limits.wall.is_zero() {
        return Err(Error::usage("a task cannot be done in no time").hint("--limit wall=20m"));
    }
    Ok(limits)
}

/// Checks what only the whole run can tell.
fn check(spec: &RunSpec, schemas: &dyn Schemas) -> Result<(), Error> {
    let mut compiled: Option<&Value> = None;
    for task in &spec.tasks {
        let Work::Command(command) = &task.work else { continue };
        let unfit = if command.script.len() > LONGEST_SCRIPT {
            Some("is longer than 128 KiB, and no shell is given more")
        } else if command.script.contains('\0') {
            Some("contains a NUL byte, and no shell is given one")
        } else {
            None
        };
        if let Some(unfit) = unfit {
            return Err(Error::usage(format!("the command of task `{}` {unfit}", task.name))
                .hint("put it into a file, and let the command be that file"));
        }
        if task.change == ChangeDemand::Required && spec.isolation == IsolationMode::None {
            return Err(Error::usage(format!("task `{}` must change something", task.name))
                .because("tasks that work in place are not captured, so nobody can tell")
                .hint("--isolation worktree"));
        }
        // Many tasks share one schema; it is compiled once.
        let Some(schema) = task.schema.as_ref().filter(|schema| compiled != Some(*schema)) else {
            continue;
        };
        schemas.compile(schema).map_err(|fault| {
            let what = format!("the schema of task `{}` is none", task.name);
            Error::new(ErrorKind::Plan, what).because(fault)
        })?;
        compiled = Some(schema);
    }
    Ok(())
}

#[cfg(test)]
pub(super) use tests::sample;

#[cfg(test)]
mod tests;
