//! The settings of a run and their precedence: the command line overrides the plan, and the plan
//! overrides the settings files.

use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::Path;

use config::{Setting, Settings};
use exec::EnvironmentRules;
use protocol::{
    Approvals, CommitStyle, IsolationMode, MergeMode, ServerChoice, TaskLimits, TaskNeeds,
    WorkspaceNeeds,
};

use crate::args::{LimitSetting, RunArgs};
use regatta::error::{Error, ErrorKind};
use regatta::model::Roles;
use regatta::plan::{Plan, PlannedLimits, PlannedTask};
use regatta::workspace_needs::{
    GivenNeeds, NeedsSettings, below, carry_glob, invalid_setting, own_needs, workspace_needs,
};

/// The settings of runs from the settings files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defaults {
    /// How many tasks run at the same time. `None` stands for 32 if a model works on any task, and
    /// for the number of cores otherwise.
    pub jobs: Option<NonZeroUsize>,
    /// How tasks are isolated.
    pub isolation: IsolationMode,
    /// How the work of tasks is merged.
    pub merge: MergeMode,
    /// The limits of each task.
    pub limits: TaskLimits,
    /// The prefix of branch names.
    pub branch_prefix: String,
    /// How many bytes of untracked files may be copied into each workspace.
    pub untracked_limit: u64,
    /// The models of the roles.
    pub roles: Roles,
    /// The environment variables that are passed on to tasks.
    pub pass_env: Setting<Vec<String>>,
    /// What each workspace needs besides the files of the repository.
    pub needs: NeedsSettings,
    /// The globs of files in which the lines of both sides are kept.
    pub union: Setting<Vec<String>>,
    /// Who writes the subjects of commits.
    pub commits: CommitStyle,
    /// Which calls of tools are allowed.
    pub approvals: Approvals,
}

impl From<&Settings> for Defaults {
    fn from(settings: &Settings) -> Self {
        Self {
            jobs: settings.max_concurrency.value,
            isolation: settings.isolation_mode.value,
            merge: settings.merge_mode.value,
            limits: settings.task_limits(),
            branch_prefix: settings.branch_prefix.value.clone(),
            untracked_limit: settings.untracked_limit.value,
            roles: Roles::from(settings),
            pass_env: settings.env_pass.clone(),
            needs: NeedsSettings {
                setup: settings.isolation_setup.clone(),
                carry: settings.isolation_carry.clone(),
                carry_limit: settings.carry_limit.value,
            },
            union: settings.isolation_union.clone(),
            commits: settings.commit_style.value,
            approvals: settings.approvals(None),
        }
    }
}

/// Returns the limits of a task, of which a plan says `planned`.
///
/// # Errors
/// A value is invalid.
pub(super) fn limits(
    args: &RunArgs,
    planned: PlannedLimits,
    defaults: TaskLimits,
) -> Result<TaskLimits, Error> {
    let mut limits = TaskLimits {
        wall: planned.wall.unwrap_or(defaults.wall),
        output: planned.output.unwrap_or(defaults.output),
        turns: planned.turns.unwrap_or(defaults.turns),
        tokens: planned.tokens.map(NonZeroU64::get).or(defaults.tokens),
        cost: planned.cost.or(defaults.cost),
    };
    for limit in &args.limits {
        match limit.name.as_str() {
            "wall" => limits.wall = read(limit, config::parse_duration)?,
            "turns" => {
                let turns = read(limit, config::parse_count)?;
                limits.turns = NonZeroU32::try_from(turns).unwrap_or(NonZeroU32::MAX);
            }
            "cost" => limits.cost = Some(read(limit, config::parse_cost)?),
            "tokens" => limits.tokens = Some(read(limit, config::parse_count)?.get()),
            _ => limits.output = read(limit, config::parse_size)?,
        }
    }
    if limits.wall.is_zero() {
        return Err(Error::usage("`--limit wall` must be longer than 0").hint("--limit wall=20m"));
    }
    Ok(limits)
}

/// Returns the MCP servers of the tasks.
pub(super) fn servers(args: &RunArgs, plan: Option<&Plan>) -> ServerChoice {
    match args.servers.is_empty() {
        true => plan.and_then(|plan| plan.servers.clone()).unwrap_or_default(),
        false => args.servers.as_slice().into(),
    }
}

/// Returns what each workspace needs besides the files of the repository.
///
/// # Errors
/// A command or a glob is invalid, or there are no workspaces.
pub(super) fn needs(
    args: &RunArgs,
    plan: Option<&Plan>,
    defaults: &Defaults,
    subfolder: &Path,
    isolation: IsolationMode,
) -> Result<WorkspaceNeeds, Error> {
    fn given(needs: &[String]) -> Option<&[String]> {
        (!needs.is_empty()).then_some(needs)
    }
    let carry = if args.no_carry { Some(&[][..]) } else { given(&args.carry) };
    let typed = GivenNeeds { setup: given(&args.setup), carry };
    let planned = plan.map_or_else(GivenNeeds::default, |plan| GivenNeeds {
        setup: plan.setup.as_deref(),
        carry: plan.carry.as_deref(),
    });
    workspace_needs(typed, planned, &defaults.needs, subfolder, isolation)
}

/// Returns what the workspace of a planned task needs in place of what the others need.
///
/// # Errors
/// There are no workspaces.
pub(super) fn task_needs(
    args: &RunArgs,
    task: &PlannedTask,
    subfolder: &Path,
    isolation: IsolationMode,
) -> Result<TaskNeeds, Error> {
    let setup = task.setup.as_deref().filter(|_| args.setup.is_empty());
    let carry = task.carry.as_deref().filter(|_| args.carry.is_empty() && !args.no_carry);
    own_needs(GivenNeeds { setup, carry }, subfolder, isolation)
}

/// Returns the globs of files in which the lines of both sides are kept, from the root of the
/// repository on.
///
/// # Errors
/// A glob is invalid.
pub(super) fn union(
    args: &RunArgs,
    plan: Option<&Plan>,
    defaults: &Defaults,
    subfolder: &Path,
) -> Result<Vec<String>, Error> {
    for glob in &args.union {
        carry_glob(glob).map_err(|fault| Error::usage(format!("--union: {fault}")))?;
    }
    for glob in &defaults.union.value {
        carry_glob(glob).map_err(|fault| invalid_setting(&defaults.union, &fault))?;
    }
    let planned = plan.and_then(|plan| plan.union.as_deref());
    let given = if args.union.is_empty() { planned } else { Some(args.union.as_slice()) };
    Ok(match given {
        Some(globs) => globs.iter().map(|glob| below(subfolder, glob)).collect(),
        None => defaults.union.value.clone(),
    })
}

fn read<T>(
    limit: &LimitSetting,
    parse: impl Fn(&str) -> Result<T, config::QuantityError>,
) -> Result<T, Error> {
    parse(&limit.value).map_err(|error| {
        let refused = format!("invalid value `{}` for `--limit {}`", limit.value, limit.name);
        let instead = LimitSetting::instead_of(&format!("{}={}", limit.name, limit.value));
        let refused = Error::usage(refused).because(error.to_string());
        instead.into_iter().fold(refused, Error::hint)
    })
}

/// Returns the environment variables to pass on, each once: those of the command line, or else those
/// of the settings.
///
/// # Errors
/// A variable can never be passed on.
pub(super) fn pass_env(args: &RunArgs, defaults: &Defaults) -> Result<Vec<String>, Error> {
    let (names, origin, kind) = if args.pass_env.is_empty() {
        let Setting { value, origin } = &defaults.pass_env;
        (value.clone(), origin.to_string(), ErrorKind::Settings)
    } else {
        let names = args.pass_env.iter().map(|name| name.as_str().to_owned()).collect();
        (names, "the option --pass-env".to_owned(), ErrorKind::Usage)
    };
    let mut passed: Vec<String> = Vec::new();
    for name in names {
        if EnvironmentRules::is_never_passed(&name) {
            return Err(Error::new(kind, format!("`{name}` cannot be passed on to tasks"))
                .because("it would make them work at another repository, or is meant for regatta")
                .because(format!("{origin} names it")));
        }
        if !passed.contains(&name) {
            passed.push(name);
        }
    }
    Ok(passed)
}
