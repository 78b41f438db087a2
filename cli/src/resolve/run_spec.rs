//! Builds the specification of a run from the request, the plan and the settings.

use std::io::Read;
use std::num::NonZeroUsize;
use std::path::Path;

use engine::ports::Schemas;
use protocol::{
    Agent, Approvals, BranchOwner, ChangeDemand, Command, CommitStyle, CommitSubjects,
    IsolationMode, LandTime, MergeMode, RunId, RunSpec, ServerChoice, StackBranch, TaskId,
    TaskLimits, TaskName, TaskNeeds, TaskSpec, Work, WorkspaceKind,
};
use serde_json::Value;

use super::Defaults;
use super::check::{check, has_model};
use super::run_request::{RunRequest, TaskSource};
use super::run_settings::{limits, needs, pass_env, servers, task_needs, union};
use super::verification::verify_spec;
use crate::args::{LandChoice, MergeChoice, RunArgs};
use regatta::each::{
    DraftWork, FanOut, ItemInput, ItemKind, NameAllocator, NamedPrompt, PlanPrompt, TaskDraft,
    TrackedFiles, drafts, first_line_title, numbered, title_of,
};
use regatta::error::Error;
use regatta::model::{ModelChoice, ModelOption, ModelSelection, PlannedModel, Role, routes};
use regatta::plan::{self, Plan, PlannedWork};

/// The default number of tasks that run at the same time if a model does any of them. It does not
/// depend on the number of cores, because such tasks mostly wait for answers.
const AT_ONCE: NonZeroUsize = NonZeroUsize::new(32).expect("thirty-two is not zero");

/// The inputs of [`resolve`] that come from the repository and the machine.
pub struct ResolveInputs<'a> {
    /// The root of the repository's working tree.
    pub root: &'a Path,
    /// The folder below the root in which tasks work; empty for the root.
    pub subfolder: &'a Path,
    /// Lists the repository's tracked files, by their paths relative to its root.
    pub tracked: TrackedFiles<'a>,
    /// Standard input.
    pub standard: &'a mut dyn Read,
    /// Compiles the schemas of yields.
    pub schemas: &'a dyn Schemas,
    /// How many cores the machine has.
    pub cores: NonZeroUsize,
}

/// A run as it was asked for.
#[derive(Debug)]
pub struct ResolvedRun {
    /// Its specification.
    pub spec: RunSpec,
    /// Which models the names mean that it was asked for with.
    pub meant: Vec<String>,
}

/// Returns the specification of a run. The command line overrides the plan, and the plan overrides
/// the settings.
///
/// # Errors
/// A plan, a list, a schema or a limit is invalid.
pub fn resolve(
    request: &RunRequest,
    args: &RunArgs,
    defaults: &Defaults,
    ground: ResolveInputs<'_>,
) -> Result<ResolvedRun, Error> {
    let ResolveInputs { root, subfolder, tracked, standard, schemas, cores } = ground;
    let input = ItemInput { standard, tracked, subfolder, end: args.item_end() };
    let tasks = Tasks::of(request, args, input)?;
    let planned = tasks.plan.as_ref();
    let onto = onto(args, planned);
    let (isolation, merge) = modes(args, planned, onto, defaults)?;
    let stack = onto.map(users_branch).transpose()?;
    let pass_env = pass_env(args, defaults)?;
    let needs = needs(args, planned, defaults, subfolder, isolation)?;
    let verify = verify_spec(args, planned, isolation, merge)?;
    let union = union(args, planned, defaults, subfolder)?;
    let schema = args.schema.as_deref().map(plan::schema_of).transpose()?;
    let label = args.label.clone().or_else(|| planned?.name.clone());
    let asked = args.jobs.or(planned.and_then(|plan| plan.jobs));
    let selection = selection(args, planned, defaults);
    let context = planned.and_then(|plan| plan.context.as_deref());
    let fallback = planned.and_then(|plan| plan.fallback.as_deref());
    let mode = args.approval_mode.or(defaults.approvals.mode);
    let approvals = Approvals { mode, ..defaults.approvals.clone() };
    let servers = servers(args, planned);
    let models = ModelDefaults { selection, context, fallback, approvals, servers };
    let place = (subfolder, isolation);
    let specs = tasks.specs(args, &models, defaults.limits, schema.as_ref(), place)?;
    let suits = if specs.iter().any(has_model) { AT_ONCE } else { cores };
    let jobs = asked.unwrap_or_else(|| match isolation.capabilities().workspace {
        WorkspaceKind::Shared => NonZeroUsize::MIN,
        WorkspaceKind::Private => defaults.jobs.unwrap_or(suits),
    });
    let spec = RunSpec {
        id: RunId::generate(),
        label,
        repo: root.to_owned(),
        subfolder: subfolder.to_owned(),
        tasks: specs,
        jobs,
        isolation,
        merge,
        stack,
        land: land_time(args, planned, merge)?,
        union,
        on_failure: args.on_failure(),
        branch_prefix: defaults.branch_prefix.clone(),
        untracked_limit: defaults.untracked_limit,
        pass_env,
        needs,
        verify,
        commits: commit_subjects(defaults.commits, merge, &models.selection),
        group: None,
        retry: None,
        caller: None,
    };
    check(&spec, args, schemas)?;
    let meant = tasks.meant(&models, &spec);
    Ok(ResolvedRun { spec, meant })
}

/// Returns who writes the subjects of commits, where work becomes commits.
fn commit_subjects(
    style: CommitStyle,
    merge: MergeMode,
    selection: &ModelSelection<'_>,
) -> CommitSubjects {
    match (style, merge) {
        (CommitStyle::Ai, MergeMode::Branch | MergeMode::Stack) => {
            CommitSubjects::Model { model: selection.small() }
        }
        (CommitStyle::Ai, MergeMode::Patch | MergeMode::None) | (CommitStyle::Generic, _) => {
            CommitSubjects::Title
        }
    }
}

/// Collects the models that are named by the command line, the plan and the settings.
pub(super) fn selection<'a>(
    args: &'a RunArgs,
    plan: Option<&'a Plan>,
    defaults: &'a Defaults,
) -> ModelSelection<'a> {
    let typed = ModelOption { model: args.model.as_ref(), base_url: args.base_url.as_ref() };
    let planned = plan.map_or_else(PlannedModel::default, |plan| PlannedModel {
        model: plan.model.as_ref(),
        base_url: plan.base_url.as_ref().map(|base| (base.provider.as_str(), &base.url)),
    });
    ModelSelection { typed, planned, roles: &defaults.roles }
}

/// The model of tasks that do not name one, its fallbacks, and the context of all tasks.
struct ModelDefaults<'a> {
    selection: ModelSelection<'a>,
    context: Option<&'a str>,
    /// The fallbacks that the plan names.
    fallback: Option<&'a [ModelChoice]>,
    approvals: Approvals,
    servers: ServerChoice,
}

impl ModelDefaults<'_> {
    fn agent(&self, prompt: PlanPrompt, own: Option<&ModelChoice>) -> Result<Work, Error> {
        let (model, context) = (self.selection.route(own)?, self.context.map(str::to_owned));
        let fallback = self.selection.fallbacks(&model, self.fallback)?;
        let PlanPrompt { text: prompt, yields } = prompt;
        let approvals = self.approvals.clone();
        Ok(Work::from(Agent {
            model,
            fallback,
            prompt,
            yields,
            context,
            approvals,
            subagent: None,
            servers: self.servers.clone(),
        }))
    }
}

/// The tasks of a run, from a plan or as drafts.
struct Tasks {
    plan: Option<Plan>,
    drafts: Vec<TaskDraft>,
}

impl Tasks {
    fn of(request: &RunRequest, args: &RunArgs, input: ItemInput<'_>) -> Result<Self, Error> {
        let drafted = |drafts| Ok(Self { plan: None, drafts });
        let (pattern, items, naming, chunk) = match &request.0 {
            TaskSource::Plan(source) => {
                let plan = Some(plan::read(source, input.standard)?);
                return Ok(Self { plan, drafts: Vec::new() });
            }
            TaskSource::Command(script) => {
                let command = Command { script: script.clone(), item: None, arguments: Vec::new() };
                let name = args.name.clone().unwrap_or_else(|| numbered(1));
                return drafted(vec![draft(name, title_of(script), DraftWork::Command(command))]);
            }
            TaskSource::Prompts(prompts) => return drafted(prompt_drafts(prompts, args)),
            TaskSource::Words { script, words } => (script, words.clone(), ItemKind::Word, None),
            TaskSource::Each { pattern, source } => {
                (pattern, source.items(input)?, ItemKind::Path, args.chunk)
            }
        };
        let mut drafts = drafts(FanOut { pattern, items, naming, chunk })?;
        if let (Some(name), [only]) = (&args.name, drafts.as_mut_slice()) {
            only.name = name.clone();
        }
        drafted(drafts)
    }

    /// Returns which models the names of the command line, the plan and the settings mean, each once.
    fn meant(&self, models: &ModelDefaults<'_>, spec: &RunSpec) -> Vec<String> {
        let selection = models.selection;
        let drafted = self.drafts.iter().map(|_| None);
        let planned = self.plan.iter().flat_map(|plan| &plan.tasks).map(|task| match &task.work {
            PlannedWork::Prompt { model, .. } => model.as_ref(),
            PlannedWork::Command(_) => None,
        });
        let of_tasks = drafted.chain(planned).zip(&spec.tasks);
        let of_tasks = of_tasks.filter_map(|(own, task)| match &task.work {
            Work::Agent(agent) => selection.meaning(own, &agent.model),
            Work::Command(_) | Work::Conversation(_) => None,
        });
        let untyped = ModelSelection { typed: ModelOption::default(), ..selection };
        let of_fallbacks = routes(spec).into_iter();
        let of_fallbacks = of_fallbacks
            .flat_map(|(model, _task)| selection.meant_fallbacks(model, models.fallback));
        let of_subjects = match &spec.commits {
            CommitSubjects::Model { model: Some(small) } => {
                untyped.meaning(Some(&ModelChoice::Role(Role::Smol)), small)
            }
            CommitSubjects::Model { model: None } | CommitSubjects::Title => None,
        };
        let mut meant: Vec<String> = Vec::new();
        for said in of_tasks.chain(of_fallbacks).chain(of_subjects) {
            if !meant.contains(&said) {
                meant.push(said);
            }
        }
        meant
    }

    fn specs(
        &self,
        args: &RunArgs,
        models: &ModelDefaults<'_>,
        defaults: TaskLimits,
        schema: Option<&Value>,
        (subfolder, isolation): (&Path, IsolationMode),
    ) -> Result<Vec<TaskSpec>, Error> {
        let of_plan = self.plan.as_ref().map(|plan| plan.limits).unwrap_or_default();
        let of_run = limits(args, of_plan, defaults)?;
        let drafted = self.drafts.iter().map(|draft| {
            Ok(TaskSpec {
                id: TaskId::generate(),
                name: draft.name.clone(),
                title: draft.title.clone(),
                items: draft.items.clone(),
                work: match &draft.work {
                    DraftWork::Command(command) => Work::Command(command.clone()),
                    DraftWork::Prompt(prompt) => {
                        let prompt = PlanPrompt { text: prompt.clone(), yields: Vec::new() };
                        models.agent(prompt, None)?
                    }
                },
                depends_on: Vec::new(),
                priority: 0,
                change: ChangeDemand::Optional,
                schema: schema.cloned().map(Box::new),
                limits: of_run,
                needs: TaskNeeds::default(),
            })
        });
        let planned = self.plan.iter().flat_map(|plan| &plan.tasks).map(|task| {
            let (title, work) = match &task.work {
                PlannedWork::Command(script) => (
                    title_of(script),
                    Work::Command(Command {
                        script: script.clone(),
                        item: None,
                        arguments: Vec::new(),
                    }),
                ),
                PlannedWork::Prompt { prompt, model } => {
                    (first_line_title(&prompt.text), models.agent(prompt.clone(), model.as_ref())?)
                }
            };
            Ok(TaskSpec {
                id: TaskId::generate(),
                name: task.name.clone(),
                title,
                items: Vec::new(),
                work,
                depends_on: task.depends_on.clone(),
                priority: task.priority,
                change: task.change,
                schema: task.schema.as_ref().or(schema).cloned().map(Box::new),
                limits: limits(args, task.limits.or(of_plan), defaults)?,
                needs: task_needs(args, task, subfolder, isolation)?,
            })
        });
        drafted.chain(planned).collect()
    }
}

/// Returns a draft of each prompt.
fn prompt_drafts(prompts: &[NamedPrompt], args: &RunArgs) -> Vec<TaskDraft> {
    let given = |prompt: &NamedPrompt| prompt.name.clone().or_else(|| args.name.clone());
    let given: Vec<_> = prompts.iter().map(given).collect();
    let mut names = NameAllocator::without(given.iter().flatten());
    let prompts = prompts.iter().zip(&given).map(|(NamedPrompt { prompt, .. }, given)| {
        let name = given.clone().unwrap_or_else(|| names.of_words(prompt));
        draft(name, first_line_title(prompt), DraftWork::Prompt(prompt.clone()))
    });
    prompts.collect()
}

fn draft(name: TaskName, title: String, work: DraftWork) -> TaskDraft {
    TaskDraft { name, title, items: Vec::new(), work }
}

/// Chooses the isolation mode and the merge mode of a run.
fn modes(
    args: &RunArgs,
    plan: Option<&Plan>,
    onto: Option<&str>,
    defaults: &Defaults,
) -> Result<(IsolationMode, MergeMode), Error> {
    let isolation = args.isolation.map_or(defaults.isolation, |choice| choice.mode());
    let asked = args.merge.map(|MergeChoice(mode)| mode).or(plan.and_then(|plan| plan.merge));
    let asked = match (asked, onto) {
        (asked, None) => asked,
        (None | Some(MergeMode::Stack), Some(_)) => Some(MergeMode::Stack),
        (Some(other), Some(_)) => {
            let given = if args.onto.is_some() { "--onto" } else { "`onto`" };
            let what = format!("{given} cannot be used with merge `{}`", other.name());
            return Err(Error::usage(what)
                .because("it makes a commit per task on one branch")
                .hint("--merge stack")
                .hint("leave it out"));
        }
    };
    if isolation.capabilities().can_capture {
        return Ok((isolation, asked.unwrap_or(defaults.merge)));
    }
    match asked {
        // There is nothing to land: the work is where it was done.
        None | Some(MergeMode::None | MergeMode::Patch) => Ok((isolation, MergeMode::None)),
        Some(merge @ (MergeMode::Branch | MergeMode::Stack)) => {
            let (isolation, merge) = (isolation.name(), merge.name());
            let what = format!("isolation `{isolation}` cannot be used with merge `{merge}`");
            Err(Error::usage(what)
                .because("tasks that work in place are not captured, so there is nothing to commit")
                .hint("--isolation worktree"))
        }
    }
}

/// Returns the name of the user's branch on which the work is committed: the one of `--onto`, or that
/// of the plan, unless `--merge` says that the work goes elsewhere.
fn onto<'a>(args: &'a RunArgs, plan: Option<&'a Plan>) -> Option<&'a str> {
    let elsewhere = matches!(args.merge, Some(MergeChoice(mode)) if mode != MergeMode::Stack);
    let planned = plan.filter(|_| !elsewhere).and_then(|plan| plan.onto.as_deref());
    args.onto.as_deref().or(planned)
}

/// Returns when work lands.
fn land_time(args: &RunArgs, plan: Option<&Plan>, merge: MergeMode) -> Result<LandTime, Error> {
    match args.land {
        Some(LandChoice(LandTime::Eager)) if merge == MergeMode::None => {
            Err(Error::usage("--land eager has no effect with merge `none`")
                .because("nothing lands")
                .hint("leave it out"))
        }
        Some(LandChoice(time)) => Ok(time),
        None => Ok(plan.and_then(|plan| plan.land).unwrap_or(LandTime::End)),
    }
}

/// Returns the branch of `--onto`.
fn users_branch(given: &str) -> Result<StackBranch, Error> {
    let name = given.strip_prefix("refs/heads/").unwrap_or(given);
    if name.is_empty() {
        return Err(Error::usage("--onto needs the name of a branch").hint("--onto main"));
    }
    Ok(StackBranch { name: name.to_owned(), owner: BranchOwner::User })
}

#[cfg(test)]
pub(crate) use tests::sample;

#[cfg(test)]
mod task_tests;
#[cfg(test)]
mod tests;
