//! The arguments of `regatta runs`.

use std::num::NonZeroUsize;

use clap::{Args, Subcommand};

use super::{RetryArgs, TargetArgs, help_text};

/// The arguments of `regatta runs`.
#[derive(Args, Clone, Debug, Default)]
#[command(args_conflicts_with_subcommands = true)]
pub struct RunsArgs {
    /// The subcommand; without one, runs are listed.
    #[command(subcommand)]
    pub command: Option<RunsCommand>,

    /// How many runs are listed without a subcommand.
    #[command(flatten)]
    pub list: ListArgs,
}

/// How many runs are listed.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct ListArgs {
    /// List at most N runs, the latest first [default: 20; all with `--json`]
    #[arg(long, short = 'n', value_name = "N", conflicts_with = "all")]
    pub limit: Option<NonZeroUsize>,

    /// List all runs
    #[arg(long)]
    pub all: bool,
}

/// The subcommands of `regatta runs`.
#[derive(Subcommand, Clone, Debug)]
pub enum RunsCommand {
    /// List the runs over this repository, the latest first
    List(ListArgs),
    /// Show one run and its tasks
    #[command(long_about = help_text::SHOW)]
    Show {
        /// What to show.
        #[command(flatten)]
        target: TargetArgs,

        /// Show how long the phases of the tasks took
        #[arg(long)]
        timing: bool,

        /// List every task instead of counting some
        #[arg(long, conflicts_with = "timing")]
        all: bool,
    },
    /// Start a new run of tasks that failed or were cancelled
    #[command(long_about = help_text::RETRY, after_long_help = help_text::RETRY_DETAILS)]
    Retry(Box<RetryArgs>),
}
