//! The last lines of a run: what landed, what is kept, and the commands to type next.

use std::path::PathBuf;

use protocol::{
    FailureClass, Landed, MergeMode, Outcome, RunName, TaskName, TaskReport, UnverifiedCause, Usage,
};

use super::numbers::count;
use super::printable::{self, fit, width};

/// The maximum number of tasks that are named for each reason to keep work.
const NAMED: usize = 5;

/// Why the work of a task is kept and not landed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptReason {
    /// The work conflicts with the tree.
    Conflict,
    /// The task is done, but its work was not landed.
    Whole,
    /// The work has failed its verification.
    Unverified,
    /// The task failed or was cancelled.
    Unfinished,
    /// The work had landed, and was taken back.
    TakenBack,
}

impl KeptReason {
    /// Returns why the work of a task is kept, or `None` if there is no work or it has landed.
    #[must_use]
    pub fn of(report: &TaskReport, landing: Option<&Landed>) -> Option<Self> {
        report.captured.as_ref().filter(|captured| captured.changes.files > 0)?;
        match (landing, &report.outcome) {
            (Some(Landed::Landed { .. } | Landed::Unchanged), _) => None,
            (Some(Landed::Conflicted { .. }), _) => Some(Self::Conflict),
            (Some(Landed::Unverified(unverified)), Outcome::Done { .. })
                if unverified.cause == UnverifiedCause::Work =>
            {
                Some(Self::Unverified)
            }
            (Some(Landed::TakenBack { .. }), _) => Some(Self::TakenBack),
            (_, Outcome::Done { .. }) => Some(Self::Whole),
            (_, Outcome::Failed { .. } | Outcome::Cancelled) => Some(Self::Unfinished),
        }
    }
}

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
    let kept = kept_commands(run, merge, loose, hints);
    let kept = kept.into_iter().map(|(command, why)| (command, why.to_owned())).collect();
    let groups = [
        ("merge ", landed.merge_command(merge).into_iter().collect()),
        ("kept  ", kept),
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
        lines.push((hints.command(&format!("runs show {run}")), "all of them".to_owned()));
    }
    lines
}

/// Returns the line with the command that retries tasks of a run, if any task was cancelled.
#[must_use]
pub fn retry_line(
    run: &RunName,
    failed: usize,
    cancelled: usize,
    hints: &CommandHints,
) -> Option<String> {
    let (which, tasks) = match (failed, cancelled) {
        (_, 0) => return None,
        (0, _) => (" --cancelled", count(cancelled, "cancelled task")),
        (_, _) => ("", format!("{failed} failed and {}", count(cancelled, "cancelled task"))),
    };
    let command = hints.command(&format!("runs retry {run}{which}"));
    Some(format!("again   {command}  starts a new run of {tasks}"))
}

/// Returns the commands for kept work, each with its purpose.
fn kept_commands(
    run: &RunName,
    merge: MergeMode,
    loose: &[(TaskName, KeptReason)],
    hints: &CommandHints,
) -> Vec<(String, &'static str)> {
    let with = |wanted| {
        loose
            .iter()
            .filter(move |(_, why)| *why == wanted)
            .map(|(task, _)| task)
            .collect::<Vec<_>>()
    };
    let (conflicts, whole, unfinished) =
        (with(KeptReason::Conflict), with(KeptReason::Whole), with(KeptReason::Unfinished));
    let mut lines = Vec::new();
    for task in conflicts.iter().take(NAMED) {
        lines.push((
            hints.command(&format!("diff {run}/{task}")),
            "what it wanted; before | git apply --3way: git add",
        ));
    }
    if !conflicts.is_empty() {
        lines.push((hints.command(&format!("conflicts {run}")), "where it disagrees"));
    }
    if let Some(task) = conflicts.first() {
        let (how, why) = match merge {
            MergeMode::Patch | MergeMode::None => {
                ("--markers", "settles it; or --ours, --theirs, --union, --tool")
            }
            // Markers are never committed.
            MergeMode::Branch | MergeMode::Stack => {
                ("--theirs", "settles it; or --ours, --union, --tool, --branch NAME")
            }
        };
        lines.push((hints.command(&format!("apply {run}/{task} {how}")), why));
    }
    if !whole.is_empty() {
        lines.push((hints.command(&format!("diff {run}")), "the work of all tasks"));
        lines.push((hints.command(&format!("apply {run}")), "lands what is ready"));
    }
    let unverified = with(KeptReason::Unverified);
    for task in unverified.iter().take(NAMED) {
        lines.push((hints.command(&format!("logs {run}/{task}")), "how its verification failed"));
    }
    if let Some(task) = unverified.first() {
        lines.push((hints.command(&format!("diff {run}/{task}")), "what failed the verification"));
        lines.push((hints.command(&format!("apply {run}/{task}")), "lands it all the same"));
    }
    for task in unfinished.iter().take(NAMED) {
        lines.push((hints.command(&format!("diff {run}/{task}")), "what it had done by then"));
    }
    if let Some(task) = unfinished.first() {
        lines.push((hints.command(&format!("apply {run}/{task}")), "lands it all the same"));
    }
    if loose.iter().any(|(_, why)| *why == KeptReason::TakenBack) {
        lines.push((hints.command(&format!("apply {run} --again")), "lands what was taken back"));
    }
    let groups = [&conflicts, &unverified, &unfinished];
    if groups.iter().any(|group| group.len() > NAMED) {
        lines.push((hints.command(&format!("runs show {run}")), "all of them"));
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

/// Returns `text` as one word of a POSIX shell.
#[must_use]
pub fn shell_word(text: &str) -> String {
    let plain = |letter: char| {
        letter.is_ascii_alphanumeric()
            || matches!(letter, '_' | '.' | '/' | ',' | ':' | '@' | '%' | '+' | '-')
    };
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use protocol::Failure;

    use super::*;

    fn landed(count: usize) -> LandedTasks<'static> {
        LandedTasks { count, ..LandedTasks::default() }
    }

    #[test]
    fn a_stack_is_named_with_the_command_that_merges_it() {
        let run: RunName = "r7k3f".parse().unwrap();
        let branch = Some("regatta/r7k3f".to_owned());
        let stack = LandedTasks { branch, ..landed(2) };
        let lines = |stack| {
            closing_lines(&run, MergeMode::Stack, stack, &[], &[], &CommandHints::default())
        };
        assert_eq!(
            lines(&stack),
            [
                "landed  the work of 2 tasks, on the branch regatta/r7k3f",
                "merge   git merge regatta/r7k3f  merges it into the branch that is checked out",
                "undo    regatta undo r7k3f       takes back what has landed",
            ]
        );
        let onto = LandedTasks { onto: Some("main"), ..stack.clone() };
        let undo = "undo    regatta undo r7k3f  takes back what has landed";
        assert_eq!(lines(&onto), ["landed  the work of 2 tasks, committed to main", undo]);
    }

    #[test]
    fn every_kept_piece_of_work_has_a_command_that_leads_to_it() {
        let run: RunName = "r7k3f".parse().unwrap();
        let task = |name: &str| name.parse::<TaskName>().unwrap();
        let failed = |name: &str, message: &str| {
            let failure = Failure::new(FailureClass::Command, message);
            FailedWork::of(&task(name), &Outcome::Failed { failure }, None).unwrap()
        };
        let loose = [
            (task("billing"), KeptReason::Conflict),
            (task("docs"), KeptReason::Whole),
            (task("search"), KeptReason::Unfinished),
        ];
        let lines = closing_lines(
            &run,
            MergeMode::Patch,
            &landed(14),
            &loose,
            &[failed("search", "not logged in\u{1b}[2J (code 1)")],
            &CommandHints::default(),
        );
        assert_eq!(
            lines,
            [
                "landed  the work of 14 tasks, in the working tree, not committed",
                "kept    regatta diff r7k3f/billing             what it wanted; before | git apply --3way: git add",
                "        regatta conflicts r7k3f                where it disagrees",
                "        regatta apply r7k3f/billing --markers  settles it; or --ours, --theirs, --union, --tool",
                "        regatta diff r7k3f                     the work of all tasks",
                "        regatta apply r7k3f                    lands what is ready",
                "        regatta diff r7k3f/search              what it had done by then",
                "        regatta apply r7k3f/search             lands it all the same",
                "failed  regatta logs r7k3f/search              not logged in (code 1)",
                "undo    regatta undo r7k3f                     takes back what has landed",
            ]
        );
    }

    #[test]
    fn a_run_that_leaves_nothing_behind_says_only_what_landed() {
        let run: RunName = "r7k3f".parse().unwrap();
        let lines =
            closing_lines(&run, MergeMode::Branch, &landed(1), &[], &[], &CommandHints::default());
        let undo = "undo    regatta undo r7k3f  takes back what has landed";
        assert_eq!(lines, ["landed  the work of 1 task, each on its own branch", undo]);
        assert!(
            closing_lines(&run, MergeMode::Patch, &landed(0), &[], &[], &CommandHints::default())
                .is_empty()
        );
    }

    #[test]
    fn cancelled_tasks_can_be_retried_with_one_command() {
        let run: RunName = "r7k3f".parse().unwrap();
        let line =
            |failed, cancelled| retry_line(&run, failed, cancelled, &CommandHints::default());
        assert_eq!(line(2, 0), None);
        let one =
            "again   regatta runs retry r7k3f --cancelled  starts a new run of 1 cancelled task";
        assert_eq!(line(0, 1).as_deref(), Some(one));
        let both =
            "again   regatta runs retry r7k3f  starts a new run of 1 failed and 3 cancelled tasks";
        assert_eq!(line(1, 3).as_deref(), Some(both));
    }

    #[test]
    fn many_kept_tasks_are_not_all_named() {
        let run: RunName = "r7k3f".parse().unwrap();
        let loose: Vec<_> =
            (0..40).map(|at| (format!("t{at}").parse().unwrap(), KeptReason::Conflict)).collect();
        let lines = closing_lines(
            &run,
            MergeMode::Patch,
            &landed(0),
            &loose,
            &[],
            &CommandHints::default(),
        );
        assert_eq!(lines.len(), NAMED + 3);
        assert!(lines[NAMED + 2].contains("regatta runs show r7k3f"), "{lines:?}");
    }

    #[test]
    fn a_command_can_be_typed_as_it_is_printed() {
        let hints = CommandHints { home: Some("/tmp/a b".into()), repo: Some("/tmp/it's".into()) };
        assert_eq!(
            hints.command("diff r7k3f/auth"),
            r"REGATTA_HOME='/tmp/a b' regatta diff r7k3f/auth --repo '/tmp/it'\''s'"
        );
        assert_eq!(CommandHints::default().command("runs"), "regatta runs");
    }
}
