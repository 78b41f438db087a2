//! The options of `regatta runs retry`.

use std::num::NonZeroUsize;

use clap::builder::NonEmptyStringValueParser;
use clap::{ArgAction, Args};

use protocol::ApprovalMode;

use super::approval_mode::approval_mode;
use super::{LimitSetting, RunArgs};
use regatta::model::{BaseUrl, ModelChoice};

/// The arguments of `regatta runs retry`.
#[derive(Args, Clone, Debug, Default)]
pub struct RetryArgs {
    /// The run, or one of its tasks as RUN/TASK [default: the latest run]
    #[arg(value_name = "RUN[/TASK]")]
    pub target: Option<String>,

    /// Tasks of the run; an option such as --failed chooses among them
    #[arg(value_name = "TASK")]
    pub tasks: Vec<String>,

    /// How the tasks have ended.
    #[command(flatten)]
    ended: EndingArgs,

    /// Retry all tasks, however they ended
    #[arg(long, action = ArgAction::SetTrue, conflicts_with_all = ["failed", "cancelled", "conflicted"])]
    all: bool,

    /// Replace the command of tasks; {{item}} has the same value as before
    #[arg(long, value_name = "CMD")]
    exec: Option<String>,

    /// Replace the model of tasks: sonnet, PROVIDER/ID, ID:high
    #[arg(long, value_name = "MODEL")]
    model: Option<ModelChoice>,

    /// The URL of that model's provider, if it is not the usual one
    #[arg(long, value_name = "URL")]
    base_url: Option<BaseUrl>,

    /// Replace a limit of each task: wall=20m, output=10MB, turns=40, tokens=400k, cost=2.00USD
    #[arg(long = "limit", value_name = "NAME=VALUE")]
    limits: Vec<LimitSetting>,

    /// Replace which tool calls of tasks need your approval: ask, write, yolo
    #[arg(long, value_name = "MODE", value_parser = approval_mode())]
    approval_mode: Option<ApprovalMode>,

    /// How many tasks run at the same time [default: as many as in the run]
    #[arg(short, long, value_name = "N")]
    jobs: Option<NonZeroUsize>,

    /// Run a command at each question and at the end of the run
    ///
    /// It gets a JSON object on its standard input: docs/notifications.md. The setting `notify` has commands for
    /// every run.
    #[arg(long, value_name = "CMD", value_parser = NonEmptyStringValueParser::new())]
    pub notify: Option<String>,

    /// Print the tasks in their order, and start nothing
    #[arg(long, action = ArgAction::SetTrue)]
    dry_run: bool,
}

/// The options that say how the tasks to retry have ended.
#[derive(Args, Clone, Debug, Default)]
struct EndingArgs {
    /// Retry the tasks that failed
    #[arg(long, action = ArgAction::SetTrue)]
    failed: bool,

    /// Retry the tasks that were cancelled or interrupted
    #[arg(long, action = ArgAction::SetTrue)]
    cancelled: bool,

    /// Retry the tasks whose work conflicts or failed its verification, and those that build on them
    #[arg(long, action = ArgAction::SetTrue)]
    conflicted: bool,
}

/// The ends of tasks that a retry chooses by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskEnding {
    /// The task failed.
    Failed,
    /// The task was cancelled, or its engine died before it ended.
    Cancelled,
    /// The work of the task conflicts, or waits for work that does.
    Conflicted,
    /// The task is done.
    Done,
}

impl RetryArgs {
    /// Returns whether an option says which tasks are retried.
    #[must_use]
    pub fn says_which(&self) -> bool {
        self.ended.failed || self.ended.cancelled || self.ended.conflicted || self.all
    }

    /// Returns whether tasks with this end are retried.
    #[must_use]
    pub fn wants(&self, ending: TaskEnding) -> bool {
        match ending {
            TaskEnding::Failed => self.all || self.ended.failed,
            TaskEnding::Cancelled => self.all || self.ended.cancelled,
            TaskEnding::Conflicted => self.all || self.ended.conflicted,
            TaskEnding::Done => self.all,
        }
    }

    /// Returns the options that differ from the retried run, as options of a run.
    #[must_use]
    pub fn overrides(&self) -> RunArgs {
        RunArgs {
            exec: self.exec.clone(),
            model: self.model.clone(),
            base_url: self.base_url.clone(),
            limits: self.limits.clone(),
            approval_mode: self.approval_mode,
            jobs: self.jobs,
            dry_run: self.dry_run,
            ..RunArgs::default()
        }
    }
}
