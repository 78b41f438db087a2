//! The report of a removal: what went, what stays and why, as text and as JSON.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use engine::retention::KeptWork;
use isolation::StoreContents;
use protocol::{CaptureRef, RunName, TaskName};
use serde::Serialize;

use super::collect::{Execution, Retention};
use super::plan::{Kept, RepositoryPlan};
use crate::error::Error;
use crate::text::{count, one_line, size_text};

/// How many tasks a line names.
const NAMED: usize = 3;

/// The report of a removal.
#[derive(Debug, Serialize)]
pub struct GcReport {
    dry_run: bool,
    older_than_seconds: u64,
    keep_size: Option<u64>,
    /// The sizes of stores, logs and outputs together.
    pub(super) bytes_before: u64,
    pub(super) bytes_after: Option<u64>,
    repositories: Vec<RepositoryReport>,
    /// The runs with files that the ledger does not know; they stay.
    pub(super) unknown_runs: BTreeSet<RunName>,
    #[serde(skip)]
    errors: Vec<Error>,
}

/// The report about one repository.
#[derive(Debug, Serialize)]
pub(super) struct RepositoryReport {
    repo: String,
    removed: Removed,
    kept: Vec<KeptGroup>,
    store_bytes_before: u64,
    pub(super) store_bytes_after: Option<u64>,
    /// In a dry run, an estimate of the bytes that the store would lose.
    pub(super) store_bytes_freed: u64,
    /// Why nothing, or not everything, could be done now.
    left: Option<String>,
    tasks: Vec<TaskReport>,
}

/// What went.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Removed {
    captures: usize,
    outputs: usize,
    output_bytes: u64,
    logs: usize,
}

impl Removed {
    fn is_nothing(&self) -> bool {
        let Self { captures, outputs, output_bytes: _, logs } = self;
        captures + outputs + logs == 0
    }
}

/// Tasks that stay for the same reason.
#[derive(Debug, Serialize)]
struct KeptGroup {
    reason: &'static str,
    tasks: usize,
    examples: Vec<String>,
}

/// What became of one task's work.
#[derive(Debug, Serialize)]
struct TaskReport {
    run: RunName,
    task: TaskName,
    captures: Vec<CaptureRef>,
    decision: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    /// What became of the task, or how the attempt ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<String>,
}

impl GcReport {
    pub(super) fn new(execution: Execution, retention: Retention) -> Self {
        Self {
            dry_run: execution == Execution::DryRun,
            older_than_seconds: retention.older_than.as_secs(),
            keep_size: retention.keep_size,
            bytes_before: 0,
            bytes_after: None,
            repositories: Vec::new(),
            unknown_runs: BTreeSet::new(),
            errors: Vec::new(),
        }
    }

    /// Adds the report about a repository. A later one about the same says what stays now, and adds
    /// what went.
    pub(super) fn add(&mut self, mut one: RepositoryReport) {
        let Some(at) = self.repositories.iter().position(|known| known.repo == one.repo) else {
            self.repositories.push(one);
            return;
        };
        let known = self.repositories.remove(at);
        if !self.dry_run {
            one.removed.captures += known.removed.captures;
            one.removed.outputs += known.removed.outputs;
            one.removed.output_bytes += known.removed.output_bytes;
            one.removed.logs += known.removed.logs;
            one.store_bytes_before = known.store_bytes_before;
            let gone = known.tasks.into_iter().filter(|task| task.reason.is_none());
            one.tasks.splice(0..0, gone);
        }
        self.repositories.insert(at, one);
    }

    pub(super) fn fail(&mut self, root: &Path, error: Error) {
        if self.errors.iter().any(|known| known.what == error.what) {
            return;
        }
        self.add(RepositoryReport::in_use(root, &error.what));
        self.errors.push(error);
    }

    /// Returns an estimate of the bytes that a dry run would free.
    pub(super) fn freed_bytes(&self) -> u64 {
        let freed = |one: &RepositoryReport| one.removed.output_bytes + one.store_bytes_freed;
        self.repositories.iter().map(freed).sum()
    }

    /// Returns the first error, if a repository could not be inspected or cleared.
    #[must_use]
    pub fn error(&self) -> Option<&Error> {
        self.errors.first()
    }
}

impl RepositoryReport {
    pub(super) fn of(plan: &RepositoryPlan, contents: &StoreContents) -> Self {
        let mut removed = Removed::default();
        let mut kept: BTreeMap<&'static str, BTreeSet<String>> = BTreeMap::new();
        let mut tasks = Vec::new();
        for run in &plan.runs {
            for task in &run.tasks {
                let reason = task.decision.as_ref().err().map(reason);
                match reason {
                    Some(reason) => {
                        let named = kept.entry(reason).or_default();
                        let outcome = task.outcome.as_ref();
                        let outcome = outcome.map(|outcome| format!(" ({outcome})"));
                        let outcome = outcome.unwrap_or_default();
                        named.insert(format!("{}/{}{outcome}", run.name, task.name));
                    }
                    None => {
                        removed.captures += task.captures.len();
                        removed.outputs += usize::from(task.output.is_some());
                        removed.output_bytes += task.output.unwrap_or(0);
                    }
                }
                tasks.push(TaskReport {
                    run: run.name.clone(),
                    task: task.name.clone(),
                    captures: task.captures.clone(),
                    decision: if reason.is_some() { "kept" } else { "removed" },
                    reason,
                    outcome: task.outcome.clone(),
                });
            }
            if let (true, Some(log)) = (run.is_whole, run.log) {
                removed.logs += 1;
                removed.output_bytes += log;
            }
        }
        if !plan.unknown.is_empty() {
            let names = plan.unknown.iter().map(ToString::to_string).collect();
            kept.insert("unknown", names);
        }
        let kept = kept.into_iter().map(|(reason, named)| KeptGroup {
            reason,
            tasks: named.len(),
            examples: named.into_iter().take(NAMED).collect(),
        });
        let left = contents.in_use.as_ref();
        Self {
            repo: plan.root.to_string_lossy().into_owned(),
            removed,
            kept: kept.collect(),
            store_bytes_before: contents.bytes,
            store_bytes_after: None,
            store_bytes_freed: 0,
            left: left.map(|why| format!("the task store is not made smaller now: {why}")),
            tasks,
        }
    }

    /// Returns the report about a repository that nothing was done in.
    pub(super) fn in_use(root: &Path, why: &str) -> Self {
        Self {
            repo: root.to_string_lossy().into_owned(),
            removed: Removed::default(),
            kept: Vec::new(),
            store_bytes_before: 0,
            store_bytes_after: None,
            store_bytes_freed: 0,
            left: Some(format!("everything stays: {why}")),
            tasks: Vec::new(),
        }
    }
}

/// Returns the word for a reason in JSON.
fn reason(kept: &Kept) -> &'static str {
    match kept {
        Kept::Work(KeptWork::Unfinished) => "unfinished",
        Kept::Work(KeptWork::HasFolder) => "workspace",
        Kept::Work(KeptWork::Unlanded) => "unlanded",
        Kept::Work(KeptWork::Needed { .. }) => "needed",
        Kept::Work(KeptWork::Young) => "young",
        Kept::OtherCapture => "other_attempt",
    }
}

/// Returns what a reason means, after a number of tasks.
fn reason_text(reason: &str) -> &'static str {
    match reason {
        "unfinished" => "of runs that still run, or were interrupted and not recovered yet",
        "workspace" => "of runs that have a workspace on the disk, or are in use",
        "unlanded" => "with work that has neither landed nor been discarded",
        "needed" => "on which such work builds",
        "young" => "younger than the limit",
        "other_attempt" => "with other captures than the one that landed",
        _ => "of runs that the ledger does not know",
    }
}

/// Returns the report as text, in lines.
#[must_use]
pub fn report_text(report: &GcReport) -> String {
    let mut text = String::new();
    let verb = if report.dry_run { "would remove" } else { "removed" };
    let is_idle = |one: &&RepositoryReport| one.removed.is_nothing() && one.left.is_none();
    let (idle, others): (Vec<_>, Vec<_>) = report.repositories.iter().partition(is_idle);
    let is_folded = report.repositories.len() > 1;
    let listed = if is_folded { others } else { report.repositories.iter().collect() };
    for one in listed {
        write_repository(&mut text, one, verb);
    }
    if is_folded && !idle.is_empty() {
        let idle = idle.len();
        let repositories = if idle == 1 { "repository" } else { "repositories" };
        let _written = writeln!(text, "nothing to remove in {idle} {repositories}");
    }
    if !report.unknown_runs.is_empty() {
        let runs = count(report.unknown_runs.len(), "run");
        let _written = writeln!(text, "keeps the files of {runs} that the ledger does not know");
    }
    let before = size_text(report.bytes_before);
    let _written = match (report.bytes_after, report.keep_size) {
        (Some(after), Some(limit)) if after > limit => writeln!(
            text,
            "{before} before, {} now: the rest must stay, though it is more than {}",
            size_text(after),
            size_text(limit)
        ),
        (Some(after), _) => writeln!(text, "{before} before, {} now", size_text(after)),
        (None, _) => writeln!(text, "{before} in all"),
    };
    text
}

/// Adds the lines about one repository. `verb` says what becomes of what is removed.
fn write_repository(text: &mut String, one: &RepositoryReport, verb: &str) {
    // Writing to a string cannot fail.
    let _written = writeln!(text, "{}", one_line(&one.repo));
    let Removed { captures, outputs, logs, .. } = one.removed;
    let captures = count(captures, "capture");
    let (outputs, logs) = (count(outputs, "output"), count(logs, "log"));
    let _written = writeln!(text, "  {verb}  {captures}, {outputs} of tasks, {logs} of runs");
    for KeptGroup { reason, tasks, examples } in &one.kept {
        let mut named = examples.join(", ");
        if let Some(more @ 1..) = tasks.checked_sub(examples.len()) {
            let _written = write!(named, " and {more} more");
        }
        let noun = if *reason == "unknown" { "run" } else { "task" };
        let (what, why) = (count(*tasks, noun), reason_text(reason));
        let _written = writeln!(text, "  keeps    {what} {why}: {}", one_line(&named));
    }
    let before = size_text(one.store_bytes_before);
    match one.store_bytes_after {
        Some(after) => {
            let after = size_text(after);
            let _written = writeln!(text, "  store    {before} before, {after} now");
        }
        None if one.store_bytes_before > 0 => {
            let freed = size_text(one.store_bytes_freed);
            let _written = writeln!(text, "  store    {before}, about {freed} less then");
        }
        None => {}
    }
    if let Some(left) = &one.left {
        let _written = writeln!(text, "  note     {}", one_line(left));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository(repo: &str, captures: usize) -> RepositoryReport {
        let removed = Removed { captures, ..Removed::default() };
        RepositoryReport { removed, left: None, ..RepositoryReport::in_use(Path::new(repo), "") }
    }

    #[test]
    fn of_several_repositories_those_without_anything_to_remove_are_counted() {
        let older_than = std::time::Duration::from_secs(60);
        let retention = Retention { older_than, keep_size: None };
        let mut report = GcReport::new(Execution::DryRun, retention);
        report.add(repository("/a", 0));
        assert!(report_text(&report).starts_with("/a\n  would remove  0 captures"));
        report.add(repository("/b", 2));
        report.add(repository("/c", 0));
        let text = report_text(&report);
        let expected = "/b\n  would remove  2 captures, 0 outputs of tasks, 0 logs of runs\n\
                        nothing to remove in 2 repositories\n";
        assert!(text.starts_with(expected), "{text}");
    }
}
