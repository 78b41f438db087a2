//! The options of `regatta apply` that settle conflicts, and the arguments of `regatta show`.

use std::ffi::OsString;
use std::time::Duration;

use clap::{ArgAction, Args};

use regatta::model::ModelChoice;
use regatta::runs::SettleOption;

/// The options of `regatta apply` that settle conflicts. Each is for the paths that follow it, or
/// without any for all conflicts that no other option names.
#[derive(Args, Clone, Debug, Default)]
pub struct SettleArgs {
    /// Keep the version in your tree, at these paths or at all that conflict
    #[arg(long, value_name = "PATH", num_args = 0..)]
    ours: Option<Vec<OsString>>,

    /// Take the version of the task
    #[arg(long, value_name = "PATH", num_args = 0..)]
    theirs: Option<Vec<OsString>>,

    /// Keep both versions of lines that both sides changed
    #[arg(long, value_name = "PATH", num_args = 0..)]
    union: Option<Vec<OsString>>,

    /// Write git's conflict markers into the files
    #[arg(long, value_name = "PATH", num_args = 0..)]
    markers: Option<Vec<OsString>>,

    /// Let the merge.tool of your git configuration write the files
    #[arg(long, value_name = "PATH", num_args = 0.., conflicts_with = "resolve")]
    tool: Option<Vec<OsString>>,

    /// What resolves conflicts.
    #[command(flatten)]
    resolve: ResolveArgs,

    /// How long a tool or a command may take for one file [default: 1h]
    #[arg(long, value_name = "DURATION", value_parser = config::parse_duration)]
    timeout: Option<Duration>,

    /// Land what does not conflict, and keep the rest
    #[arg(long, action = ArgAction::SetTrue)]
    clean: bool,

    /// Stage the work too, and leave paths with markers unmerged, as git merge does
    #[arg(long, requires = "markers", conflicts_with_all = ["clean", "dry_run"], action = ArgAction::SetTrue)]
    index: bool,

    /// Create a branch with the work instead, to merge with git
    #[arg(long, value_name = "NAME", conflicts_with_all = [
        "ours", "theirs", "union", "markers", "tool", "resolve", "clean", "again", "dry_run", "index",
    ])]
    branch: Option<String>,
}

/// The options of a command that settles conflicts.
#[derive(Args, Clone, Debug, Default)]
pub struct ResolveArgs {
    /// Let a command or a model resolve conflicts
    ///
    /// A command writes the file REGATTA_RESULT from REGATTA_BASE, REGATTA_OURS and REGATTA_THEIRS. A
    /// model is `agent`, or `agent:MODEL`. A result without anything of one side is refused.
    #[arg(long, value_name = "CMD|agent[:MODEL]", value_parser = resolver_kind)]
    resolve: Option<ResolverKind>,

    /// Accept a result of --resolve without anything of one side
    #[arg(long, requires = "resolve", action = ArgAction::SetTrue)]
    allow_loss: bool,
}

impl ResolveArgs {
    /// Returns the resolver, if there is one, which may take `timeout`.
    #[must_use]
    pub fn resolver(&self, timeout: Duration) -> Option<Resolver> {
        let loss = if self.allow_loss { AllowLoss::Yes } else { AllowLoss::No };
        self.resolve.clone().map(|kind| Resolver { kind, loss, timeout })
    }
}

/// How long a program may take for one file, if nothing else is said.
pub const LONGEST_PROGRAM: Duration = Duration::from_secs(3_600);

/// What resolves conflicts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolver {
    /// The command or the agent.
    pub kind: ResolverKind,
    /// Whether a side may be lost.
    pub loss: AllowLoss,
    /// How long a command may take for one file, and an agent for all of a task.
    pub timeout: Duration,
}

/// The value of `--resolve`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResolverKind {
    /// A script for a shell.
    Command(String),
    /// An agent with this model; without one, with that of the task whose work conflicts.
    Agent(Option<Box<ModelChoice>>),
}

fn resolver_kind(text: &str) -> Result<ResolverKind, String> {
    match text.split_once(':') {
        None if text == "agent" => Ok(ResolverKind::Agent(None)),
        Some(("agent", model)) => {
            model.parse().map(|model| ResolverKind::Agent(Some(Box::new(model))))
        }
        _ if text.trim().is_empty() => Err("it names no command".to_owned()),
        _ => Ok(ResolverKind::Command(text.to_owned())),
    }
}

/// Whether a resolver may leave nothing of a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllowLoss {
    /// It may not.
    No,
    /// `--allow-loss`: it may.
    Yes,
}

/// Returns an option as it is typed.
#[must_use]
pub fn option_text(option: SettleOption) -> &'static str {
    match option {
        SettleOption::Ours => "--ours",
        SettleOption::Theirs => "--theirs",
        SettleOption::Union => "--union",
        SettleOption::Markers => "--markers",
        SettleOption::Tool => "--tool",
        SettleOption::Resolve => "--resolve",
    }
}

/// Whether what does not conflict lands although other paths do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LandClean {
    /// The work lands whole or not at all.
    No,
    /// `--clean`: it lands.
    Yes,
}

/// Whether the user's index is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Staging {
    /// It is not.
    No,
    /// `--index`: it becomes what `git merge` would make of it.
    AsGitMerge,
}

impl SettleArgs {
    /// Returns whether any conflict is to be settled, or left behind.
    #[must_use]
    pub fn is_given(&self) -> bool {
        self.clean || !self.options().is_empty()
    }

    /// Returns whether what does not conflict is to land.
    #[must_use]
    pub fn land_clean(&self) -> LandClean {
        if self.clean { LandClean::Yes } else { LandClean::No }
    }

    /// Returns each given option with its paths; without any, it is for all conflicts.
    #[must_use]
    pub fn options(&self) -> Vec<(SettleOption, &[OsString])> {
        let all = [
            (SettleOption::Ours, &self.ours),
            (SettleOption::Theirs, &self.theirs),
            (SettleOption::Union, &self.union),
            (SettleOption::Markers, &self.markers),
            (SettleOption::Tool, &self.tool),
        ];
        let given = all.into_iter().filter_map(|(option, paths)| Some((option, paths.as_deref()?)));
        let resolve = self.resolve.resolve.iter().map(|_| (SettleOption::Resolve, [].as_slice()));
        given.chain(resolve).collect()
    }

    /// Returns the options that let a resolver settle every conflict.
    #[must_use]
    pub fn resolving(resolver: &Resolver) -> Self {
        Self {
            resolve: ResolveArgs {
                resolve: Some(resolver.kind.clone()),
                allow_loss: resolver.loss == AllowLoss::Yes,
            },
            timeout: Some(resolver.timeout),
            ..Self::default()
        }
    }

    /// Returns what resolves conflicts, if there is anything.
    #[must_use]
    pub fn resolver(&self) -> Option<Resolver> {
        self.resolve.resolver(self.timeout())
    }

    /// Returns how long a program may take for one file.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        self.timeout.unwrap_or(LONGEST_PROGRAM)
    }

    /// Returns whether the index is written.
    #[must_use]
    pub fn staging(&self) -> Staging {
        if self.index { Staging::AsGitMerge } else { Staging::No }
    }

    /// Returns the name of the branch to make.
    #[must_use]
    pub fn branch(&self) -> Option<&str> {
        self.branch.as_deref()
    }
}

/// The arguments of `regatta show`.
#[derive(Args, Clone, Debug)]
pub struct ShowArgs {
    /// A task and one of its paths; TASK:PATH for a task of the latest run
    #[arg(value_name = "RUN/TASK:PATH")]
    pub target: OsString,

    /// The version with which the task started
    #[arg(long, action = ArgAction::SetTrue, group = "side")]
    base: bool,

    /// The version that was in your tree when the work could not land
    #[arg(long, action = ArgAction::SetTrue, group = "side")]
    ours: bool,

    /// The version of the task
    #[arg(long, action = ArgAction::SetTrue, group = "side")]
    theirs: bool,
}

/// One of the versions of a conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SideChoice {
    /// The version with which the task started.
    Base,
    /// The version in the tree.
    Ours,
    /// The version of the task.
    Theirs,
}

impl ShowArgs {
    /// Returns the version to print; `None` if none is named.
    #[must_use]
    pub fn side(&self) -> Option<SideChoice> {
        match (self.base, self.ours, self.theirs) {
            (true, _, _) => Some(SideChoice::Base),
            (_, true, _) => Some(SideChoice::Ours),
            (_, _, true) => Some(SideChoice::Theirs),
            _ => None,
        }
    }
}
