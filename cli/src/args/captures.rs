//! The options of the commands that look at runs and captured work, and of the demo.

use std::path::PathBuf;

use clap::{ArgAction, Args, Subcommand};

/// How to show what this is.
#[derive(Args, Clone, Debug, Default)]
pub struct DemoArgs {
    /// Make the sample repository in this folder and leave it there
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
}

/// Which runs to look at.
#[derive(Args, Clone, Debug, Default)]
pub struct RunsArgs {
    /// What to do with them; without it they are listed.
    #[command(subcommand)]
    pub command: Option<RunsCommand>,
}

/// What can be done with runs.
#[derive(Subcommand, Clone, Debug)]
pub enum RunsCommand {
    /// List the runs over this repository, the latest first
    List {
        /// At most this many
        #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
        limit: usize,
    },
    /// Show one run and its tasks
    Show {
        /// The run, or the beginning of its name [default: the latest]
        #[arg(value_name = "RUN")]
        run: Option<String>,
    },
}

/// Whose words and deeds to show.
#[derive(Args, Clone, Debug)]
pub struct LogsArgs {
    /// A run, a task as RUN/TASK, or a task of the latest run [default: the latest run]
    #[arg(value_name = "RUN[/TASK]")]
    pub target: Option<String>,
}

/// Whose work to show.
#[derive(Args, Clone, Debug)]
pub struct DiffArgs {
    /// A run, a task as RUN/TASK, or a task of the latest run [default: the latest run]
    #[arg(value_name = "RUN[/TASK]")]
    pub target: Option<String>,
}

/// Whose conflicts to list.
#[derive(Args, Clone, Debug)]
pub struct ConflictsArgs {
    /// A run, a task as RUN/TASK, or a task of the latest run [default: the latest run]
    #[arg(value_name = "RUN[/TASK]")]
    pub target: Option<String>,
}

/// Whose work to land.
#[derive(Args, Clone, Debug)]
pub struct ApplyArgs {
    /// A run, a task as RUN/TASK, or a task of the latest run [default: the latest run]
    #[arg(value_name = "RUN[/TASK]")]
    pub target: Option<String>,

    /// Say what would land and what would conflict, with the exit code of it, and do nothing
    #[arg(long, action = ArgAction::SetTrue)]
    dry_run: bool,
}

/// Whose work to throw away.
#[derive(Args, Clone, Debug)]
pub struct DiscardArgs {
    /// A run, a task as RUN/TASK, or a task of the latest run; `@` is the latest run
    #[arg(value_name = "RUN[/TASK]")]
    pub target: String,

    /// Say what would be done, and do nothing
    #[arg(long, action = ArgAction::SetTrue)]
    dry_run: bool,
}

impl ApplyArgs {
    /// Returns whether it is to be done or only said.
    #[must_use]
    pub fn step(&self) -> Step {
        if self.dry_run { Step::Say } else { Step::Do }
    }
}

impl DiscardArgs {
    /// Returns whether it is to be done or only said.
    #[must_use]
    pub fn step(&self) -> Step {
        if self.dry_run { Step::Say } else { Step::Do }
    }
}

/// Whether something is done or only said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Done.
    Do,
    /// Said.
    Say,
}
