//! The situation of a task, and its sentence.

use std::fmt;

use protocol::{Conflict, Landed, Outcome, TaskName, TaskReport};

use crate::texts::{counted, duration_text};

/// How many names a sentence lists.
const NAMED: usize = 3;

/// Why a task waits, what it does, or how it ended. Its text is the rest of a sentence that begins with the
/// name of the task.
#[derive(Clone, Debug, PartialEq)]
pub enum TaskSituation {
    /// These tasks, on which it depends, are not done.
    Predecessors(Vec<TaskName>),
    /// Its run has as many working tasks as it may have, this many.
    RunLimit(usize),
    /// The tasks of its engine have all places.
    Capacity {
        /// How many other tasks work.
        others: usize,
        /// The engine.
        engine: EngineProcess,
    },
    /// Its workspace is being made.
    Workspace,
    /// Its set-up commands run.
    SettingUp,
    /// The account of its model admits no request.
    Account(AccountHold),
    /// It has asked a person this.
    Approval(String),
    /// The subagents of its calls have not all ended.
    Subagents {
        /// How many have ended.
        ended: usize,
        /// How many there are.
        all: usize,
    },
    /// It works.
    Works {
        /// For how many milliseconds.
        ms: u64,
        /// The tool that it uses.
        tool: Option<String>,
    },
    /// It works, and its engine is another process.
    WorksElsewhere {
        /// For how many milliseconds.
        ms: u64,
        /// The engine.
        engine: EngineProcess,
    },
    /// It was asked to stop.
    Stopping,
    /// Its work is being captured.
    Capturing,
    /// It is done, and its work lands when so many other tasks of its run have ended.
    LandsLater(usize),
    /// It is done, and its work is verified or lands next.
    LandsNext(EngineProcess),
    /// It is done, and its work is being landed.
    Landing,
    /// It has ended, and nothing more happens to its work.
    Ended(Box<TaskEnding>),
    /// Its engine ended before it.
    Interrupted,
}

/// The process of an engine, by its id, if that is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EngineProcess(pub Option<u32>);

/// What holds up the requests of a provider account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountHold {
    /// The account.
    pub account: String,
    /// Until when, as people read it; `None` if that is not known.
    pub until: Option<String>,
    /// Why.
    pub reason: String,
}

/// How a task ended.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskEnding {
    /// Its outcome.
    pub outcome: Outcome,
    /// How many files its captured work changes.
    pub files: u64,
    /// What became of that work.
    pub landed: Option<Landed>,
    /// Whether the user has discarded it.
    pub is_discarded: bool,
}

impl TaskEnding {
    /// Returns how a task ended with this report.
    #[must_use]
    pub fn of(report: &TaskReport, landed: Option<&Landed>) -> Self {
        let files = report.captured.as_ref().map_or(0, |captured| captured.changes.files);
        let (outcome, landed) = (report.outcome.clone(), landed.cloned());
        Self { outcome, files, landed, is_discarded: false }
    }
}

impl TaskSituation {
    /// Returns its name for programs.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Predecessors(_) => "predecessors",
            Self::RunLimit(_) => "limit",
            Self::Capacity { .. } => "capacity",
            Self::Workspace => "workspace",
            Self::SettingUp => "setup",
            Self::Account(_) => "account",
            Self::Approval(_) => "approval",
            Self::Subagents { .. } => "subagents",
            Self::Works { .. } | Self::WorksElsewhere { .. } => "working",
            Self::Stopping => "stopping",
            Self::Capturing => "capturing",
            Self::LandsLater(_) | Self::LandsNext(_) => "lands_later",
            Self::Landing => "landing",
            Self::Ended(_) => "ended",
            Self::Interrupted => "interrupted",
        }
    }
}

impl fmt::Display for TaskSituation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Predecessors(tasks) => {
                let verb = if tasks.len() == 1 { "is" } else { "are" };
                write!(f, "waits until {} {verb} done", names(tasks))
            }
            Self::RunLimit(limit) => write!(
                f,
                "waits for a place: {} of its run {} at once (`--jobs`)",
                counted(*limit, "task"),
                if *limit == 1 { "works" } else { "work" },
            ),
            Self::Capacity { others: 0, engine } => {
                write!(f, "waits for a place, which {engine} gives out")
            }
            Self::Capacity { others, engine } => write!(
                f,
                "waits for a place: {} of {engine} {}",
                counted(*others, "other task"),
                if *others == 1 { "works" } else { "work" },
            ),
            Self::Workspace => f.write_str("waits for its workspace, which is being made"),
            Self::SettingUp => f.write_str("waits for the set-up of its workspace"),
            Self::Account(AccountHold { account, until: Some(until), reason }) => {
                write!(f, "sends no request to {account} until {until}: {reason}")
            }
            Self::Account(AccountHold { account, until: None, reason }) => {
                write!(f, "sends no request to {account}: {reason}")
            }
            Self::Approval(question) => write!(f, "waits for an answer: {question}"),
            Self::Subagents { ended, all } => {
                write!(f, "waits for its subagents: {ended} of {all} have ended")
            }
            Self::Works { ms, tool: None } => write!(f, "has worked for {}", duration_text(*ms)),
            Self::Works { ms, tool: Some(tool) } => {
                write!(f, "has worked for {}, now with {tool}", duration_text(*ms))
            }
            Self::WorksElsewhere { ms, engine } => write!(
                f,
                "has worked for {}; what it does at the moment, {engine} knows",
                duration_text(*ms)
            ),
            Self::Stopping => f.write_str("was asked to stop"),
            Self::Capturing => f.write_str("has ended, and its work is being captured"),
            Self::LandsLater(others) => write!(
                f,
                "is done, and its work lands when {} of the run {} ended",
                counted(*others, "other task"),
                if *others == 1 { "has" } else { "have" },
            ),
            Self::LandsNext(engine) => {
                write!(f, "is done, and its work lands next, as {engine} decides")
            }
            Self::Landing => f.write_str("is done, and its work is being landed"),
            Self::Ended(ending) => ending.fmt(f),
            Self::Interrupted => f.write_str("was interrupted, because its engine ended before it"),
        }
    }
}

impl fmt::Display for EngineProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(id) => write!(f, "its engine (pid {id})"),
            None => f.write_str("its engine"),
        }
    }
}

impl fmt::Display for TaskEnding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.outcome {
            Outcome::Done { .. } if self.files == 0 => {
                return f.write_str("is done, and has changed nothing");
            }
            Outcome::Done { .. } => f.write_str("is done")?,
            Outcome::Cancelled => f.write_str("was cancelled")?,
            Outcome::Failed { failure } => {
                write!(f, "has failed ({}): {}", failure.class, failure.message)?;
            }
        }
        match self.work() {
            Some(work) => write!(f, "; its work {work}"),
            None => Ok(()),
        }
    }
}

impl TaskEnding {
    /// Returns what became of its work; `None` if it has changed nothing.
    fn work(&self) -> Option<String> {
        if self.files == 0 {
            return None;
        }
        Some(match &self.landed {
            Some(Landed::Landed { branch: None, .. }) => "has landed".to_owned(),
            Some(Landed::Landed { branch: Some(branch), .. }) => {
                format!("has landed on the branch {branch}")
            }
            Some(Landed::Unchanged) => "was in the tree already".to_owned(),
            _ if self.is_discarded => "was discarded".to_owned(),
            Some(Landed::Conflicted { conflicts }) => {
                format!("is kept, because it conflicts in {}", paths(conflicts))
            }
            Some(Landed::Unwritten { message }) => {
                format!("is kept, because it could not be written: {message}")
            }
            Some(Landed::Waiting { on }) => {
                format!("is kept, because it builds on that of {}, which did not land", names(on))
            }
            Some(Landed::Unverified(unverified)) => {
                format!("is kept, because it is not verified: {}", unverified.text())
            }
            Some(Landed::TakenBack { .. }) => "had landed, and was taken back".to_owned(),
            None => "is kept".to_owned(),
        })
    }
}

/// Lists the first names, and counts the others.
fn names(tasks: &[TaskName]) -> String {
    listed(tasks.iter().map(|task| format!("`{task}`")), tasks.len())
}

fn paths(conflicts: &[Conflict]) -> String {
    listed(conflicts.iter().map(|conflict| conflict.path.to_string()), conflicts.len())
}

fn listed(texts: impl Iterator<Item = String>, all: usize) -> String {
    let mut texts: Vec<_> = texts.take(NAMED).collect();
    if all > texts.len() {
        texts.push(counted(all - texts.len(), "other"));
    }
    match texts.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => texts.concat(),
    }
}

#[cfg(test)]
mod tests;
