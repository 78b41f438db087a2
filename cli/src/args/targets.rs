//! The arguments that name several tasks of a run: by their names, or by what became of them.

use clap::{ArgAction, Args};
use regatta::runs::KeptWork;

use super::{Command, RunsCommand};

impl Command {
    /// Returns what the command is about, if it is about a run or its tasks: `@`, the latest run, if it was not
    /// said.
    #[must_use]
    pub fn target(&self) -> Option<&str> {
        let said = match self {
            Self::Results(args) => &args.target.target,
            Self::Logs(args) => &args.target.target,
            Self::Why(args) => &args.target.target,
            Self::Diff(args) => &args.target.target,
            Self::Conflicts(args) => &args.target.target,
            Self::Apply(args) => &args.target.target,
            Self::Undo(args) => &args.target,
            Self::Discard(args) => return Some(&args.target),
            Self::Runs(args) => match args.command.as_ref()? {
                RunsCommand::List(_) => return None,
                RunsCommand::Show { target, .. } => &target.target,
                RunsCommand::Retry(args) => &args.target,
            },
            _ => return None,
        };
        Some(said.as_deref().unwrap_or("@"))
    }

    /// Returns whether the command prints an object per line for programs.
    pub(crate) fn is_jsonl(&self) -> bool {
        matches!(self, Self::Results(args) if args.jsonl)
    }

    /// Returns the same command about another run.
    #[must_use]
    pub fn with_target(&self, run: &str) -> Self {
        let mut command = self.clone();
        let some = Some(run.to_owned());
        match &mut command {
            Self::Results(args) => args.target.target = some,
            Self::Logs(args) => args.target.target = some,
            Self::Why(args) => args.target.target = some,
            Self::Diff(args) => args.target.target = some,
            Self::Conflicts(args) => args.target.target = some,
            Self::Apply(args) => args.target.target = some,
            Self::Undo(args) => args.target = some,
            Self::Discard(args) => run.clone_into(&mut args.target),
            Self::Runs(args) => match &mut args.command {
                Some(RunsCommand::Show { target, .. }) => target.target = some,
                Some(RunsCommand::Retry(args)) => args.target = some,
                Some(RunsCommand::List(_)) | None => {}
            },
            _ => {}
        }
        command
    }
}

/// A run, or some of its tasks.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetsArgs {
    /// A run, a task as RUN/TASK, or a task of the latest run [default: the latest run]
    #[arg(value_name = "RUN[/TASK]")]
    pub target: Option<String>,

    /// More tasks of the same run, by their names or items, or as RUN/TASK
    #[arg(value_name = "TASK")]
    pub tasks: Vec<String>,
}

impl From<Option<String>> for TargetsArgs {
    fn from(target: Option<String>) -> Self {
        Self { target, tasks: Vec::new() }
    }
}

/// Which tasks of a run are meant, by what became of them.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct KeptArgs {
    /// Land the work of failed tasks
    #[arg(long, action = ArgAction::SetTrue)]
    failed: bool,

    /// Land the work that conflicted
    #[arg(long, action = ArgAction::SetTrue)]
    conflicted: bool,

    /// Land all kept work, also unfinished and unverified
    #[arg(long, action = ArgAction::SetTrue)]
    kept: bool,
}

impl KeptArgs {
    /// Returns which work is asked for; nothing if no option says.
    pub(crate) fn chosen(self) -> impl Iterator<Item = KeptWork> {
        let options = [
            (self.failed, KeptWork::Failed),
            (self.conflicted, KeptWork::Conflicted),
            (self.kept, KeptWork::Any),
        ];
        options.into_iter().filter_map(|(is_given, which)| is_given.then_some(which))
    }
}
