//! The command line: its grammar, its help, and how it is parsed.

mod agents;
mod approval_mode;
mod commands;
mod displayed_grammar;
mod elsewhere;
mod globals;
mod help_text;
mod launch;
mod limit_setting;
mod mcp;
mod models;
mod option_groups;
mod parse;
mod retention;
mod retry;
mod run;
mod run_help;
mod runs;
mod settle;
mod targets;
mod trust;
mod verify;
mod why;

pub use agents::AgentsArgs;
pub use commands::{ApplyArgs, ConflictsArgs, DemoArgs, DiffArgs, DiscardArgs, LogsArgs, UndoArgs};
pub use commands::{Arguments, Command, CompletionsArgs, HelpArgs, ManArgs, SchemaArgs};
pub use commands::{OnlyOutcome, ResultsArgs, ResultsForm, TargetArgs};
pub use displayed_grammar::{completion_grammar, displayed_grammar};
#[cfg(feature = "tui")]
pub(crate) use elsewhere::is_shell_command;
pub(crate) use elsewhere::{CommandKind, option as instead_of_option};
pub use globals::{ColorWhen, Form, Globals, ProgressStyle, Verbosity};
pub(crate) use help_text::no_task;
pub use launch::{LaunchArgs, OutputMode};
pub use limit_setting::LimitSetting;
pub use mcp::{McpAddArgs, McpArgs, McpCommand, McpRemoveArgs, TransportChoice};
pub use models::{
    GivenKey, ListedModels, LoginArgs, LoginMethod, LogoutArgs, ModelsArgs, ModelsCommand,
};
#[cfg(feature = "tui")]
pub(crate) use parse::meant_as_command;
pub use parse::{Parsed, command_names, has_help, help_of, parse, public_grammar};
pub(crate) use parse::{glob_of, instead_of_path};
pub use regatta::gc::Execution;
pub use retention::GcArgs;
pub use retry::{RetryArgs, TaskEnding};
pub use run::{AgentChoice, IsolationChoice, LandChoice, MergeChoice, RunArgs, VariableName};
pub use runs::{ListArgs, RunsArgs, RunsCommand};
pub use settle::{
    AllowLoss, LONGEST_PROGRAM, LandClean, ResolveArgs, Resolver, ResolverKind, SettleArgs,
    ShowArgs, SideChoice, Staging, option_text,
};
pub use targets::TargetsArgs;
pub use trust::{ConfigArgs, TrustAction, TrustArgs};
pub use verify::{VerifyArgs, VerifyTimeout};
pub use why::WhyArgs;
