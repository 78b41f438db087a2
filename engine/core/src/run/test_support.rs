//! Runs for the tests of this module.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use protocol::{
    CaptureRef, Captured, ChangeDemand, ChangeSummary, Command, IsolationMode, LedgerEntry,
    MergeMode, OnFailure, Outcome, RunId, RunName, RunSpec, TaskId, TaskLimits, TaskName,
    TaskReport, TaskSpec, VerifySpec, Work, WorkspaceNeeds,
};
use serde_json::Value;

use super::RunRecord;

pub(super) fn spec(name: &str, depends_on: &[&str]) -> TaskSpec {
    let command = Command { script: "true".to_owned(), item: None, arguments: Vec::new() };
    TaskSpec {
        id: TaskId::generate(),
        name: name.parse().unwrap(),
        title: format!("about {name}"),
        items: Vec::new(),
        work: Work::Command(command),
        depends_on: depends_on.iter().map(|name| name.parse().unwrap()).collect(),
        priority: 0,
        change: ChangeDemand::Optional,
        schema: None,
        limits: TaskLimits::default(),
        needs: protocol::TaskNeeds::default(),
    }
}

pub(super) fn run_of(tasks: Vec<TaskSpec>) -> RunRecord {
    let id = RunId::generate();
    let spec = RunSpec {
        id,
        label: None,
        repo: PathBuf::from("/repo"),
        subfolder: PathBuf::new(),
        tasks,
        jobs: NonZeroUsize::MIN,
        isolation: IsolationMode::Worktree,
        merge: MergeMode::Patch,
        stack: None,
        land: protocol::LandTime::End,
        on_failure: OnFailure::Continue,
        union: Vec::new(),
        branch_prefix: "regatta".to_owned(),
        untracked_limit: 0,
        pass_env: Vec::new(),
        needs: WorkspaceNeeds::default(),
        verify: VerifySpec::default(),
        commits: protocol::CommitSubjects::default(),
        group: None,
        retry: None,
        caller: None,
    };
    RunRecord::opened(RunName::of(id, RunName::SHORTEST), spec)
}

pub(super) fn run(tasks: &[&str]) -> RunRecord {
    run_of(tasks.iter().map(|name| spec(name, &[])).collect())
}

pub(super) fn id(run: &RunRecord, at: usize) -> TaskId {
    run.tasks()[at].spec.id
}

pub(super) fn started(run: &RunRecord, at: usize) -> LedgerEntry {
    LedgerEntry::TaskStarted { run: run.spec.id, task: id(run, at), attempt: 1 }
}

pub(super) fn captured(task: &str, files: u64) -> Captured {
    let task: TaskName = task.parse().unwrap();
    let changes = ChangeSummary { files, added: 1, removed: 0 };
    Captured::whole(CaptureRef::of(&"r0000".parse().unwrap(), &task, 1), changes)
}

pub(super) fn done(captured: Option<Captured>) -> TaskReport {
    let outcome = Outcome::Done { value: Value::Null };
    TaskReport {
        outcome,
        captured,
        ms: 1,
        setup_ms: None,
        usage: None,
        fallbacks: Vec::new(),
        turns: None,
        reached_limit: None,
        refused_calls: 0,
        timings: None,
    }
}
