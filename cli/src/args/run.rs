//! The options of `regatta run`.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::NonEmptyStringValueParser;
use clap::{ArgAction, Args};
use protocol::{ApprovalMode, IsolationMode, LandTime, MergeMode, TaskName};

use super::approval_mode::approval_mode;
use super::{
    Execution, GivenKey, LONGEST_PROGRAM, LimitSetting, ResolveArgs, Resolver, VerifyArgs,
};
use crate::not_implemented::refused_value;
use regatta::model::{BaseUrl, ModelChoice};
use regatta::plan::{agent_name, land_time, merge_mode};

/// The arguments of `regatta run`.
#[derive(Args, Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub struct RunArgs {
    /// The prompt of a task, in quotes
    ///
    /// With --each, the prompt of every task. With --exec, the command runs once for each TASK; {{item}}
    /// stands for it.
    #[arg(value_name = "TASK")]
    pub tasks: Vec<String>,

    /// The name of the only task
    ///
    /// NAME='the prompt' names one of several, with lower-case letters, digits and `-`. [default: the first
    /// words of the prompt]
    #[arg(long, value_name = "NAME", value_parser = regatta::each::chosen_name)]
    pub name: Option<TaskName>,

    /// A label of the run, shown in lists
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    pub label: Option<String>,

    /// Run a command at each question and at the end of the run
    ///
    /// It gets a JSON object on its standard input: docs/notifications.md. The setting `notify` has commands for
    /// every run.
    #[arg(long, value_name = "CMD", value_parser = NonEmptyStringValueParser::new())]
    pub notify: Option<String>,

    /// A shell command that does the work of each task
    ///
    /// It is run by /bin/sh -c in the task's own copy.
    #[arg(long, value_name = "CMD")]
    pub exec: Option<String>,

    /// The model of each task: sonnet, PROVIDER/ID, ID:high
    ///
    /// PROVIDER/ID, an id, a family such as sonnet (its newest model with a key), a part of a name, or one
    /// of the roles default, smol, slow and plan. A thinking level may follow, as in ID:high.
    #[arg(long, value_name = "MODEL")]
    pub model: Option<ModelChoice>,

    /// The API key of the model's provider, for this run
    ///
    /// Other users can see it in the list of processes. `regatta login` stores it instead.
    #[arg(long, value_name = "KEY", requires = "model")]
    pub api_key: Option<GivenKey>,

    /// The URL of the model's provider, if it is not the usual one
    #[arg(long, value_name = "URL")]
    pub base_url: Option<BaseUrl>,

    /// The kind of agent of each TASK: task
    #[arg(long, value_name = "NAME")]
    pub agent: Option<AgentChoice>,

    /// Which tool calls need your approval: ask, write, yolo [default: yolo; ask in place]
    ///
    /// ask: changes of files, and commands. write: commands. yolo: none. Without a terminal, these calls are
    /// refused. The settings can have rules: docs/approvals.md.
    #[arg(long, value_name = "MODE", value_parser = approval_mode())]
    pub approval_mode: Option<ApprovalMode>,

    /// Give each TASK the tools of an MCP server; all: of every enabled one
    ///
    /// Can be given several times. `regatta mcp list` lists the servers. Without it, tasks have none.
    #[arg(long = "mcp", value_name = "NAME|all")]
    pub servers: Vec<String>,

    /// One task per item of a glob, of @FILE, or of standard input: -
    ///
    /// A glob is over tracked files. A file and standard input have an item on each line.
    #[arg(long, value_name = "SPEC")]
    pub each: Option<String>,

    /// Give each task N items, as {{items}}
    #[arg(long, value_name = "N", requires = "each")]
    pub chunk: Option<NonZeroUsize>,

    /// Items of --each end with NUL instead of a line break
    #[arg(long, requires = "each", action = ArgAction::SetTrue)]
    pub(crate) null: bool,

    /// Read more repositories from a file, one folder a line
    ///
    /// Lines that begin with # are skipped. Paths are relative to the current folder.
    #[arg(long = "repos", value_name = "FILE")]
    pub repo_list: Option<PathBuf>,

    /// Read the tasks from a plan, - for standard input
    ///
    /// `regatta schema plan` prints its schema.
    #[arg(long, value_name = "FILE")]
    pub plan: Option<PathBuf>,

    /// How many tasks run at the same time
    ///
    /// [default: 32 with a model, else the number of cores]
    #[arg(short, long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,

    /// How tasks are isolated: auto, worktree, none
    #[arg(long, value_name = "MODE")]
    pub isolation: Option<IsolationChoice>,

    /// Where work lands: patch, branch, stack, none
    ///
    /// patch: the working tree. branch: one branch per task. stack: one branch, a commit per task. none:
    /// nowhere; the work is kept for `regatta apply`.
    #[arg(short, long, value_name = "MODE")]
    pub merge: Option<MergeChoice>,

    /// Commit the work to this branch, a commit per task
    ///
    /// If it is checked out, the files and the index are updated, too.
    #[arg(long, value_name = "BRANCH")]
    pub onto: Option<String>,

    /// When work lands: at the end, or eager
    ///
    /// end: after the last task. eager: after each task.
    #[arg(long, value_name = "WHEN")]
    pub land: Option<LandChoice>,

    /// Run a command in each workspace first, such as 'npm ci'
    ///
    /// It is not confined: files that it writes elsewhere stay there. Can be used more than once.
    #[arg(long, value_name = "CMD")]
    pub setup: Vec<String>,

    /// Copy ignored files into each workspace, such as .env
    ///
    /// Can be used more than once.
    #[arg(long, value_name = "GLOB")]
    pub carry: Vec<String>,

    /// Copy no ignored files, not even those that .worktreeinclude selects
    #[arg(long, conflicts_with = "carry")]
    pub no_carry: bool,

    /// Keep the lines of both sides of a conflict in files of this glob
    ///
    /// Such as 'src/mod.rs'. Can be used more than once.
    #[arg(long, value_name = "GLOB")]
    pub union: Vec<String>,

    /// How the work is verified before it lands.
    #[command(flatten)]
    pub verify: VerifyArgs,

    /// What settles conflicts at the end of the run.
    #[command(flatten)]
    pub(crate) resolve: ResolveArgs,

    /// Cancel the other tasks when one fails
    #[arg(long, action = ArgAction::SetTrue)]
    pub(crate) fail_fast: bool,

    /// The JSON Schema of what each task yields
    ///
    /// A command yields its last line of output.
    #[arg(long, value_name = "FILE")]
    pub schema: Option<PathBuf>,

    /// A limit of each task, such as wall=20m or turns=40
    ///
    /// wall=20m, output=10MB, turns=40, tokens=400k, cost=2.00USD. Can be used more than once.
    #[arg(long = "limit", value_name = "NAME=VALUE")]
    pub limits: Vec<LimitSetting>,

    /// Pass an environment variable to tasks
    ///
    /// Also the key of a model provider. Can be used more than once.
    #[arg(long, value_name = "NAME")]
    pub pass_env: Vec<VariableName>,

    /// Print the tasks in their order, and start nothing
    #[arg(long, action = ArgAction::SetTrue)]
    pub(crate) dry_run: bool,
}

impl RunArgs {
    /// Returns the byte that ends an item of a list.
    #[must_use]
    pub fn item_end(&self) -> u8 {
        if self.null { 0 } else { b'\n' }
    }

    /// Returns what settles the conflicts of the run, if there is anything.
    #[must_use]
    pub fn resolver(&self) -> Option<Resolver> {
        self.resolve.resolver(LONGEST_PROGRAM)
    }

    /// Returns whether the first failure cancels the other tasks.
    #[must_use]
    pub fn on_failure(&self) -> protocol::OnFailure {
        if self.fail_fast {
            protocol::OnFailure::CancelTheRest
        } else {
            protocol::OnFailure::Continue
        }
    }

    /// Returns whether the run is started, or only its tasks are printed.
    #[must_use]
    pub fn execution(&self) -> Execution {
        if self.dry_run { Execution::DryRun } else { Execution::Real }
    }
}

/// The value of `--isolation`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IsolationChoice {
    /// The best mode that this machine supports.
    Auto,
    /// The given mode.
    Mode(IsolationMode),
}

impl IsolationChoice {
    /// Returns the mode.
    #[must_use]
    pub fn mode(self) -> IsolationMode {
        match self {
            Self::Auto => IsolationMode::AUTO,
            Self::Mode(mode) => mode,
        }
    }
}

/// The value of `--agent`. There is one kind of agent for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentChoice {
    /// The agent `task`: it has every tool, and yields a value that fits the schema of its task.
    Task,
}

impl FromStr for AgentChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = agent_name(text).map(|()| Self::Task);
        named.map_err(|error| refused_value("agent", text).unwrap_or(error))
    }
}

impl FromStr for IsolationChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        IsolationMode::named(text).map(Self::Mode).ok_or_else(|| {
            if IsolationMode::is_planned(text) {
                format!("isolation `{text}` is not implemented yet; use `worktree`")
            } else {
                "the modes are auto, worktree and none".to_owned()
            }
        })
    }
}

/// The value of `--merge`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MergeChoice(pub MergeMode);

impl FromStr for MergeChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        merge_mode(text).map(Self)
    }
}

/// The value of `--land`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LandChoice(pub LandTime);

impl FromStr for LandChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        land_time(text).map(Self)
    }
}

/// The value of `--pass-env`: the name of an environment variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariableName(String);

impl VariableName {
    /// Returns the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for VariableName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.is_empty() || text.contains(['=', '\0']) {
            return Err("the name of a variable is not empty and has no `=` in it; its value is \
                        taken from the environment"
                .to_owned());
        }
        Ok(Self(text.to_owned()))
    }
}
