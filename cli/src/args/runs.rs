//! The arguments of `regatta runs`.

use clap::{Args, Subcommand};

use super::{RetryArgs, TargetArgs, help_text};

/// The arguments of `regatta runs`.
#[derive(Args, Clone, Debug, Default)]
pub struct RunsArgs {
    /// The subcommand; without one, runs are listed.
    #[command(subcommand)]
    pub command: Option<RunsCommand>,
}

/// The subcommands of `regatta runs`.
#[derive(Subcommand, Clone, Debug)]
pub enum RunsCommand {
    /// List the runs over this repository, the latest first
    List {
        /// At most this many
        #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
        limit: usize,
    },
    /// Show one run and its tasks
    #[command(long_about = help_text::SHOW)]
    Show {
        /// What to show.
        #[command(flatten)]
        target: TargetArgs,

        /// Show how long the phases of the tasks took
        #[arg(long)]
        timing: bool,

        /// List every task, also those that are otherwise only counted
        #[arg(long, conflicts_with = "timing")]
        all: bool,
    },
    /// Start a new run of tasks that failed or were cancelled
    #[command(long_about = help_text::RETRY, after_long_help = help_text::RETRY_DETAILS)]
    Retry(Box<RetryArgs>),
}
