//! The commands, and the options of all of them but `regatta run`.

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};

use regatta::gc::Execution;
use regatta::runs::{LandAgain, TargetWords};

use super::targets::KeptArgs;
use super::{
    AgentsArgs, ConfigArgs, Form, GcArgs, Globals, LaunchArgs, LoginArgs, LogoutArgs, McpArgs,
    ModelsArgs, RunArgs, RunsArgs, SettleArgs, ShowArgs, TargetsArgs, TrustArgs, WhyArgs,
    help_text, run_help,
};

/// Fans out many tasks over one git repository, each in its own isolated copy, and lands their
/// work.
#[derive(Parser, Clone, Debug)]
#[command(
    name = "regatta",
    bin_name = "regatta",
    version,
    disable_help_subcommand = true,
    disable_version_flag = true,
    max_term_width = 100,
    override_usage = "regatta [OPTIONS] [PROMPT]…\n       regatta [OPTIONS] <COMMAND>",
    about = "Fans out many tasks over one git repository, and lands their work",
    long_about = help_text::ROOT
)]
pub struct Arguments {
    /// The options of every command.
    #[command(flatten)]
    pub globals: Globals,

    /// What to do.
    #[command(subcommand)]
    pub command: Command,

    /// Print the version
    #[arg(short = 'V', long, action = clap::ArgAction::Version)]
    version: Option<bool>,
}

/// The commands.
#[derive(Subcommand, Clone, Debug)]
pub enum Command {
    /// Answer prompts in a session that works in this folder
    #[command(
        hide = true,
        long_about = help_text::LAUNCH,
        override_usage = "regatta [OPTIONS] [PROMPT]…"
    )]
    Launch(Box<LaunchArgs>),
    /// Run eight tasks on a small sample repository, offline
    #[command(long_about = help_text::DEMO)]
    Demo(DemoArgs),
    /// Run tasks over this repository and land their work
    #[command(long_about = run_help::RUN, after_long_help = run_help::RUN_DETAILS)]
    Run(Box<RunArgs>),
    /// List runs, or show one
    #[command(long_about = help_text::RUNS, args_conflicts_with_subcommands = true)]
    Runs(RunsArgs),
    /// Print what tasks yielded
    #[command(long_about = help_text::RESULTS, after_long_help = help_text::RESULTS_DETAILS)]
    Results(ResultsArgs),
    /// Show the session or the output of tasks
    #[command(long_about = help_text::LOGS, after_long_help = help_text::TARGET_DETAILS)]
    Logs(LogsArgs),
    /// Explain why a task waits, what it does, or how it ended
    #[command(long_about = super::why::HELP, after_long_help = super::why::DETAILS)]
    Why(WhyArgs),
    /// Show captured work as a patch
    #[command(long_about = help_text::DIFF, after_long_help = help_text::TARGET_DETAILS)]
    Diff(DiffArgs),
    /// List work that could not land, and why
    #[command(long_about = help_text::CONFLICTS, after_long_help = help_text::TARGET_DETAILS)]
    Conflicts(ConflictsArgs),
    /// Print one side of a conflict
    #[command(long_about = help_text::SHOW_SIDE)]
    Show(ShowArgs),
    /// Land kept work
    #[command(long_about = help_text::APPLY, after_long_help = help_text::APPLY_DETAILS)]
    Apply(ApplyArgs),
    /// Take landed work back
    #[command(long_about = help_text::UNDO, after_long_help = help_text::UNDO_DETAILS)]
    Undo(UndoArgs),
    /// Remove captured work
    #[command(long_about = help_text::DISCARD, after_long_help = help_text::DISCARD_DETAILS)]
    Discard(DiscardArgs),
    /// Remove old captures, logs and outputs
    #[command(long_about = help_text::GC, after_long_help = help_text::GC_DETAILS)]
    Gc(GcArgs),
    /// List the models that can be used
    #[command(long_about = help_text::MODELS, args_conflicts_with_subcommands = true)]
    Models(ModelsArgs),
    /// List the agents to which sessions can give tasks, or show one
    #[command(long_about = super::agents::HELP)]
    Agents(AgentsArgs),
    /// List the MCP servers that sessions use, or change them
    #[command(long_about = super::mcp::HELP, args_conflicts_with_subcommands = true)]
    Mcp(McpArgs),
    /// Show the provider accounts in use, and what requests wait for
    #[command(long_about = help_text::GATES)]
    Gates,
    /// Trust settings of a project that run commands or allow more
    #[command(long_about = help_text::TRUST)]
    Trust(TrustArgs),
    /// List the settings, and where each was set
    #[command(long_about = help_text::CONFIG)]
    Config(ConfigArgs),
    /// Store the API key of a provider
    #[command(long_about = help_text::LOGIN)]
    Login(LoginArgs),
    /// Remove stored API keys of a provider
    #[command(long_about = help_text::LOGOUT)]
    Logout(LogoutArgs),
    /// Print a published JSON Schema
    #[command(long_about = help_text::SCHEMA)]
    Schema(SchemaArgs),
    /// Print a script that completes command lines in a shell
    #[command(long_about = help_text::COMPLETIONS)]
    Completions(CompletionsArgs),
    /// Print the manual page, or that of a command
    #[command(long_about = help_text::MAN)]
    Man(ManArgs),
    /// Explain a command or a topic
    #[command(long_about = help_text::HELP)]
    Help(HelpArgs),
}

/// The arguments of `regatta schema`.
#[derive(Args, Clone, Debug)]
pub struct SchemaArgs {
    /// Its name: `plan`, `events` or `settings`
    #[arg(value_name = "NAME")]
    pub name: String,
}

/// The arguments of `regatta completions`.
#[derive(Args, Clone, Debug)]
pub struct CompletionsArgs {
    /// The shell: bash, elvish, fish, powershell or zsh
    #[arg(value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

/// The arguments of `regatta man`.
#[derive(Args, Clone, Debug)]
pub struct ManArgs {
    /// A command [default: the program]
    #[arg(value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// The arguments of `regatta help`.
#[derive(Args, Clone, Debug)]
pub struct HelpArgs {
    /// A command, or `exit-codes`
    #[arg(value_name = "TOPIC")]
    pub topic: Vec<String>,
}

/// The arguments of `regatta demo`.
#[derive(Args, Clone, Debug, Default)]
pub struct DemoArgs {
    /// Create the sample repository in this folder, and keep it
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
}

/// A run, or one of its tasks.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetArgs {
    /// A run, a task as RUN/TASK, or a task of the latest run [default: the latest run]
    #[arg(value_name = "RUN[/TASK]")]
    pub target: Option<String>,

    /// The task, by its name or its item, after a run
    #[arg(value_name = "TASK")]
    pub task: Option<String>,
}

/// The arguments of `regatta results`.
#[derive(Args, Clone, Debug, Default)]
pub struct ResultsArgs {
    /// What to print.
    #[command(flatten)]
    pub target: TargetArgs,

    /// Print one JSON object per line and task
    #[arg(long, conflicts_with = "json", action = ArgAction::SetTrue)]
    pub(crate) jsonl: bool,

    /// Print only tasks that are done, or only those that failed
    #[arg(long, value_name = "OUTCOME", value_enum)]
    pub only: Option<OnlyOutcome>,
}

/// The value of `--only`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnlyOutcome {
    /// Tasks that are done.
    Done,
    /// Tasks that failed.
    Failed,
}

/// The arguments of `regatta logs`.
#[derive(Args, Clone, Debug)]
pub struct LogsArgs {
    /// What to look at.
    #[command(flatten)]
    pub target: TargetArgs,

    /// Keep printing new lines until all tasks have ended or the session is closed
    #[arg(short, long, action = ArgAction::SetTrue)]
    pub(crate) follow: bool,
}

/// The arguments of `regatta diff`.
#[derive(Args, Clone, Debug)]
pub struct DiffArgs {
    /// What to look at.
    #[command(flatten)]
    pub target: TargetsArgs,

    /// List the changed files and their numbers of lines instead of the patch
    #[arg(long)]
    pub(crate) stat: bool,

    /// With --stat, list every file instead of counting some
    #[arg(long, requires = "stat")]
    pub(crate) all: bool,
}

/// The arguments of `regatta conflicts`.
#[derive(Args, Clone, Debug)]
pub struct ConflictsArgs {
    /// What to look at.
    #[command(flatten)]
    pub target: TargetArgs,
}

/// The arguments of `regatta apply`.
#[derive(Args, Clone, Debug, Default)]
pub struct ApplyArgs {
    /// What to land.
    #[command(flatten)]
    pub target: TargetsArgs,

    /// Which tasks of it.
    #[command(flatten)]
    pub(crate) which: KeptArgs,

    /// Land work again that was lost or taken back, as by git reset
    #[arg(long, action = ArgAction::SetTrue)]
    again: bool,

    /// Print what would land and conflict, and change nothing
    ///
    /// The exit code is that of the real command.
    #[arg(long, action = ArgAction::SetTrue)]
    dry_run: bool,

    /// How conflicts are settled.
    #[command(flatten)]
    pub settle: SettleArgs,
}

/// The arguments of `regatta discard`.
#[derive(Args, Clone, Debug)]
pub struct DiscardArgs {
    /// A run, a task as RUN/TASK, or a task of the latest run; `@` is the latest run
    #[arg(value_name = "RUN[/TASK]")]
    pub target: String,

    /// More tasks of the same run, by their names or items, or as RUN/TASK
    #[arg(value_name = "TASK")]
    pub tasks: Vec<String>,

    /// Print what would be removed, and change nothing
    #[arg(long, action = ArgAction::SetTrue)]
    dry_run: bool,
}

/// The arguments of `regatta undo`.
#[derive(Args, Clone, Debug)]
pub struct UndoArgs {
    /// A run, a task as RUN/TASK, or a task of the latest run [default: the latest run]
    #[arg(value_name = "RUN[/TASK]")]
    pub target: Option<String>,

    /// More tasks of the same run, by their names or items, or as RUN/TASK
    #[arg(value_name = "TASK")]
    pub tasks: Vec<String>,

    /// Print what would be taken back and left, and change nothing
    #[arg(long, action = ArgAction::SetTrue)]
    dry_run: bool,

    /// Name every file instead of counting some
    #[arg(long)]
    pub(crate) all: bool,
}

impl UndoArgs {
    /// Returns whether the command does its work, or only prints what it would do.
    #[must_use]
    pub fn execution(&self) -> Execution {
        if self.dry_run { Execution::DryRun } else { Execution::Real }
    }
}

impl DiscardArgs {
    /// Returns the arguments that discard what `target` names.
    #[cfg(feature = "tui")]
    pub(crate) fn of(target: String) -> Self {
        Self { target, tasks: Vec::new(), dry_run: false }
    }
}

/// How results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultsForm {
    /// Text for a person.
    Text,
    /// One JSON document.
    Json,
    /// One JSON object per line.
    JsonLines,
}

impl ResultsArgs {
    /// Returns how the results are printed; `form` is the format that the options of every command
    /// ask for.
    #[must_use]
    pub fn form(&self, form: Form) -> ResultsForm {
        match (self.jsonl, form) {
            (true, _) => ResultsForm::JsonLines,
            (false, Form::Json) => ResultsForm::Json,
            (false, Form::Text) => ResultsForm::Text,
        }
    }
}

impl TargetArgs {
    /// Returns the words that name the run or the task.
    #[must_use]
    pub fn given(&self) -> TargetWords {
        TargetWords { target: self.target.clone(), task: self.task.clone() }
    }
}

impl From<Option<String>> for TargetArgs {
    fn from(target: Option<String>) -> Self {
        Self { target, task: None }
    }
}

impl ApplyArgs {
    /// Returns the arguments that land the kept work of `target`, with its conflicts settled as
    /// `settle` says.
    #[must_use]
    pub fn of(target: String, settle: SettleArgs) -> Self {
        Self { target: TargetsArgs::from(Some(target)), settle, ..Self::default() }
    }

    /// Returns whether work that was thrown away is landed again.
    #[must_use]
    pub fn land_again(&self) -> LandAgain {
        if self.again { LandAgain::Yes } else { LandAgain::No }
    }

    /// Returns whether the command does its work, or only prints what it would do.
    #[must_use]
    pub fn execution(&self) -> Execution {
        if self.dry_run { Execution::DryRun } else { Execution::Real }
    }
}

impl DiscardArgs {
    /// Returns whether the command does its work, or only prints what it would do.
    #[must_use]
    pub fn execution(&self) -> Execution {
        if self.dry_run { Execution::DryRun } else { Execution::Real }
    }
}
