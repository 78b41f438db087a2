//! The root of the command line.

use clap::{Args, Parser, Subcommand};

use super::examples;
use super::{
    ApplyArgs, ConflictsArgs, DemoArgs, DiffArgs, DiscardArgs, Globals, LogsArgs, RunArgs, RunsArgs,
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
    after_help = examples::ROOT
)]
pub struct Arguments {
    /// What every command can be told.
    #[command(flatten)]
    pub globals: Globals,

    /// What to do.
    #[command(subcommand)]
    pub command: Command,

    /// Print the version
    #[arg(short = 'V', long, action = clap::ArgAction::Version)]
    version: Option<bool>,
}

/// Everything that can be done.
#[derive(Subcommand, Clone, Debug)]
pub enum Command {
    /// Show what this is: eight tasks on a small sample repository, merged; offline
    #[command(after_help = examples::DEMO)]
    Demo(DemoArgs),
    /// Fan out tasks over this repository and land their work
    #[command(after_help = examples::RUN)]
    Run(Box<RunArgs>),
    /// List runs, or show one
    #[command(after_help = examples::RUNS, args_conflicts_with_subcommands = true)]
    Runs(RunsArgs),
    /// Show what was said and done
    #[command(after_help = examples::LOGS)]
    Logs(LogsArgs),
    /// Show captured work as a patch
    #[command(after_help = examples::DIFF)]
    Diff(DiffArgs),
    /// List what could not land and why
    #[command(after_help = examples::CONFLICTS)]
    Conflicts(ConflictsArgs),
    /// Land captured work that is kept
    #[command(after_help = examples::APPLY)]
    Apply(ApplyArgs),
    /// Throw captured work away
    #[command(after_help = examples::DISCARD)]
    Discard(DiscardArgs),
    /// Print a published JSON Schema
    #[command(after_help = examples::SCHEMA)]
    Schema(SchemaArgs),
    /// Explain a command or a topic
    #[command(after_help = examples::HELP)]
    Help(HelpArgs),
    /// Watch over process groups for an engine at the other end of standard input
    #[command(name = "__watch", hide = true)]
    Watch,
}

/// Which schema.
#[derive(Args, Clone, Debug)]
pub struct SchemaArgs {
    /// Its name: `plan` or `events`
    #[arg(value_name = "NAME")]
    pub name: String,
}

/// What to explain.
#[derive(Args, Clone, Debug)]
pub struct HelpArgs {
    /// A command, or `exit-codes`
    #[arg(value_name = "TOPIC")]
    pub topic: Vec<String>,
}
