//! The last lines of a run: what landed, what is kept, and the commands to type next.

use std::path::{Path, PathBuf};

use protocol::{FailureClass, Landed, MergeMode, Outcome, RunName, TaskName, Usage};

use regatta::runs::KeptReason;
use regatta::text::shell_word;

use super::numbers::count;
use super::printable::{self, fit, width};
use super::task_outcome::hinted;

/// The maximum number of tasks that are named for each reason to keep work.
const NAMED: usize = 5;

/// A task that failed after its model or command had started. Only then does its log contain more
/// than the failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedWork {
    task: TaskName,
    /// The message of the failure, printable and short.
    why: String,
}

/// The longest message of a failure in the closing lines, in columns.
const LONGEST_MESSAGE: usize = 100;

impl FailedWork {
    /// Returns the failure of a task, if it failed after its model or command had started.
    #[must_use]
    pub fn of(task: &TaskName, outcome: &Outcome, usage: Option<Usage>) -> Option<Self> {
        let Outcome::Failed { failure } = outcome else { return None };
        let of_a_command = [FailureClass::Command, FailureClass::Timeout];
        let has_worked = usage.is_some() || of_a_command.contains(&failure.class);
        let why = || printable::cut(&printable::one_line(&failure.message), LONGEST_MESSAGE);
        has_worked.then(|| Self { task: task.clone(), why: why() })
    }

    /// Returns the failure with a hint, which must be printable, behind its message.
    #[must_use]
    pub fn with_hint(self, hint: Option<&str>) -> Self {
        let why = match hint {
            Some(hint) => hinted(&self.why, hint),
            None => self.why,
        };
        Self { why, ..self }
    }
}

/// Returns the closing lines of a run, without line breaks. `loose` are the tasks with kept work,
/// `failed` the tasks whose model or command failed.
#[must_use]
pub fn closing_lines(
    run: &RunName,
    merge: MergeMode,
    landed: &LandedTasks<'_>,
    loose: &[(TaskName, KeptReason)],
    failed: &[FailedWork],
    hints: &CommandHints,
) -> Vec<String> {
    let mut lines: Vec<String> = landed.line(merge).into_iter().collect();
    let groups = [
        ("merge ", landed.merge_command(merge).into_iter().collect()),
        ("kept  ", kept_commands(run, merge, loose, hints)),
        ("failed", log_commands(run, failed, hints)),
        ("undo  ", landed.undo_command(run, hints).into_iter().collect()),
    ];
    let commands = groups.iter().flat_map(|(_, group): &(_, Vec<_>)| group);
    let widest = commands.map(|(command, _)| width(command)).max().unwrap_or(0);
    for (label, group) in groups {
        for (at, (command, why)) in group.into_iter().enumerate() {
            let label = if at == 0 { label } else { "      " };
            lines.push(format!("{label}  {}  {why}", fit(&command, widest)).trim_end().to_owned());
        }
    }
    lines
}

/// The tasks of a run whose work has landed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LandedTasks<'a> {
    /// How many they are.
    pub count: usize,
    /// The branch on which the work of one of them is.
    pub branch: Option<String>,
    /// The branch of the user that the work was committed to, if there is one.
    pub onto: Option<&'a str>,
}

/// Returns the branch on which landed work is.
#[must_use]
pub fn branch_of(landing: Option<&Landed>) -> Option<String> {
    match landing {
        Some(Landed::Landed { branch, .. }) => branch.clone(),
        _ => None,
    }
}

impl LandedTasks<'_> {
    fn line(&self, merge: MergeMode) -> Option<String> {
        let tasks = count(self.count, "task");
        let place = match merge {
            _ if self.count == 0 => return None,
            MergeMode::Patch | MergeMode::None => "in the working tree, not committed".to_owned(),
            MergeMode::Branch => "each on its own branch".to_owned(),
            MergeMode::Stack => match (self.onto, &self.branch) {
                (Some(branch), _) => format!("committed to {}", printable::one_line(branch)),
                (None, Some(branch)) => format!("on the branch {}", printable::one_line(branch)),
                (None, None) => "on one branch".to_owned(),
            },
        };
        Some(format!("landed  the work of {tasks}, {place}"))
    }

    /// Returns the command that merges the branch of the run, with its purpose.
    fn merge_command(&self, merge: MergeMode) -> Option<(String, String)> {
        let branch = self.branch.as_ref().filter(|_| self.onto.is_none())?;
        let command = || format!("git merge {}", shell_word(&printable::one_line(branch)));
        (merge == MergeMode::Stack)
            .then(|| (command(), "merges it into the branch that is checked out".to_owned()))
    }

    /// Returns the command that takes the landing back.
    fn undo_command(&self, run: &RunName, hints: &CommandHints) -> Option<(String, String)> {
        let purpose = "takes back what has landed".to_owned();
        (self.count > 0).then(|| (hints.command(&format!("undo {run}")), purpose))
    }
}

/// Returns the commands that show what failed tasks have said, each with the failure.
fn log_commands(
    run: &RunName,
    failed: &[FailedWork],
    hints: &CommandHints,
) -> Vec<(String, String)> {
    let log = |FailedWork { task, why }: &FailedWork| {
        (hints.command(&format!("logs {run}/{task}")), why.clone())
    };
    let mut lines: Vec<_> = failed.iter().take(NAMED).map(log).collect();
    if failed.len() > NAMED {
        lines.push((hints.command(&format!("runs show {run} --all")), "all of them".to_owned()));
    }
    lines
}

/// The numbers of tasks of a run that `regatta runs retry` tries again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TasksToRetry {
    /// Tasks that failed.
    pub failed: usize,
    /// Tasks that were cancelled.
    pub cancelled: usize,
    /// Tasks whose engine died.
    pub interrupted: usize,
}

impl TasksToRetry {
    /// Returns the line with the command that goes on with the conversation of this log, if its task was cut
    /// short.
    #[must_use]
    pub fn line_of_conversation(self, log: &Path, hints: &CommandHints) -> Option<String> {
        let log = shell_word(&log.to_string_lossy());
        let command = hints.command(&format!("--isolated --resume {log}"));
        (self != Self::default())
            .then(|| format!("go on   {command}  continues the conversation in another copy"))
    }

    /// Returns the line with the command that retries these tasks, if there are any.
    #[must_use]
    pub fn line(self, run: &RunName, hints: &CommandHints) -> Option<String> {
        let Self { failed, cancelled, interrupted } = self;
        let outcomes = [(failed, "failed"), (cancelled, "cancelled"), (interrupted, "interrupted")];
        let counted = outcomes.into_iter().filter(|(tasks, _)| *tasks > 0);
        let counted: Vec<_> =
            counted.map(|(tasks, outcome)| format!("{tasks} {outcome}")).collect();
        let (last, before) = counted.split_last()?;
        let before = if before.is_empty() { String::new() } else { before.join(", ") + " and " };
        let noun = if failed + cancelled + interrupted == 1 { "task" } else { "tasks" };
        // Without an option, the command retries failed tasks, too.
        let which = if failed == 0 { " --cancelled" } else { "" };
        let command = hints.command(&format!("runs retry {run}{which}"));
        Some(format!("retry   {command}  starts a new run of {before}{last} {noun}"))
    }
}

/// Returns the commands for kept work, each with its purpose.
fn kept_commands(
    run: &RunName,
    merge: MergeMode,
    loose: &[(TaskName, KeptReason)],
    hints: &CommandHints,
) -> Vec<(String, String)> {
    // A command about a task, and its purpose.
    let of = |words: &str, task: &TaskName, purpose: &str| {
        (hints.command(&format!("{words} {run}/{task}")), purpose.to_owned())
    };
    let all = |words: &str, purpose: &str| (hints.command(words), purpose.to_owned());
    let with = |wanted| {
        loose
            .iter()
            .filter(move |(_, why)| *why == wanted)
            .map(|(task, _)| task)
            .collect::<Vec<_>>()
    };
    let (settled, ours_only) = (with(KeptReason::Conflict), with(KeptReason::OursOnly));
    let conflicts: Vec<_> = settled.iter().chain(&ours_only).copied().collect();
    let (whole, unfinished) = (with(KeptReason::Whole), with(KeptReason::Unfinished));
    let mut lines = Vec::new();
    for task in conflicts.iter().take(NAMED) {
        lines.push(of("diff", task, "its changes"));
    }
    if !conflicts.is_empty() {
        lines.push(all(&format!("conflicts {run}"), "the lines that conflict"));
    }
    if let Some(task) = settled.first() {
        let (how, why) = match merge {
            MergeMode::Patch | MergeMode::None => {
                ("--markers", "settles it; or --ours, --theirs, --union, --tool")
            }
            // Markers are never committed.
            MergeMode::Branch | MergeMode::Stack => {
                ("--theirs", "settles it; or --ours, --union, --tool, --branch NAME")
            }
        };
        lines.push(all(&format!("apply {run}/{task} {how}"), why));
    } else if let Some(task) = ours_only.first() {
        let settle = format!("apply {run}/{task} --ours");
        lines.push(all(&settle, "settles it: the current version stays"));
    }
    if !whole.is_empty() {
        lines.push(all(&format!("diff {run}"), "the work of all tasks"));
        lines.push(all(&format!("apply {run}"), "lands the work that is ready"));
    }
    let unverified = with(KeptReason::Unverified);
    for task in unverified.iter().take(NAMED) {
        lines.push(of("logs", task, "how its verification failed"));
    }
    if let Some(task) = unverified.first() {
        lines.push(of("diff", task, "the work that failed it"));
        lines.push(all(&format!("apply {run}/{task}"), "lands it anyway"));
    }
    for task in unfinished.iter().take(NAMED) {
        lines.push(of("diff", task, "its unfinished work"));
    }
    if let Some(task) = unfinished.first() {
        lines.push(all(&format!("apply {run}/{task}"), "lands it anyway"));
    }
    if loose.iter().any(|(_, why)| *why == KeptReason::TakenBack) {
        lines.push(all(&format!("apply {run} --again"), "lands the work taken back"));
    }
    let groups = [&conflicts, &unverified, &unfinished];
    if groups.iter().any(|group| group.len() > NAMED) {
        lines.push(all(&format!("runs show {run} --all"), "all of them"));
    }
    lines
}

/// Formats commands that are suggested to the user so that they reach the same ledger and repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandHints {
    /// The value of `REGATTA_HOME` to set, if the ledger is not in the usual place.
    pub home: Option<PathBuf>,
    /// The value of `--repo`, if the repository is not in the current folder.
    pub repo: Option<PathBuf>,
}

impl CommandHints {
    /// Returns the command line for `words`, which follow the name of the program.
    #[must_use]
    pub fn command(&self, words: &str) -> String {
        let mut line = String::new();
        if let Some(home) = &self.home {
            line.push_str(&format!("REGATTA_HOME={} ", shell_word(&home.to_string_lossy())));
        }
        line.push_str(&format!("regatta {words}"));
        if let Some(repo) = &self.repo {
            line.push_str(&format!(" --repo {}", shell_word(&repo.to_string_lossy())));
        }
        printable::one_line(&line)
    }
}

#[cfg(test)]
mod tests;
