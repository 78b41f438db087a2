//! Runs, tasks and ledgers for the tests of this crate.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::fault::Faults;
use engine::ports::{LedgerError, LedgerStore, LockRun};
use protocol::{
    CaptureRef, Captured, ChangeDemand, ChangeSummary, Command, IsolationMode, LedgerEntry,
    MergeMode, OnFailure, Outcome, RunId, RunName, RunSpec, TaskId, TaskLimits, TaskReport,
    TaskSpec, Timestamp, VerifySpec, Work, WorkspaceNeeds,
};
use serde_json::json;

use crate::{Ledger, Reader};

/// A ledger in a folder of its own.
pub(crate) struct TestLedger {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) ledger: Arc<Ledger>,
}

impl TestLedger {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Arc::new(Ledger::open(file(folder.path()), Faults::default()).unwrap());
        Self { folder, ledger }
    }

    pub(crate) fn reader(&self) -> Reader {
        self.ledger.reader()
    }

    pub(crate) async fn open(&self, run: &RunSpec) -> RunName {
        self.ledger.open_run(run, at(0), LockRun::nothing()).await.unwrap().0
    }

    /// Records entries, the first at second 1, the next at second 2 and so on.
    pub(crate) async fn append(&self, entries: Vec<LedgerEntry>) -> Result<(), LedgerError> {
        let timed = (1..).map(at).zip(entries).collect();
        self.ledger.append(timed).await
    }
}

pub(crate) fn file(folder: &Path) -> PathBuf {
    folder.join("data/regatta/ledger.db")
}

/// The point in time this many seconds after the first.
pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_millisecond(1_767_323_045_678 + 1_000 * second)
}

pub(crate) fn run(tasks: &[&str]) -> RunSpec {
    RunSpec {
        id: RunId::generate(),
        label: Some("sample".to_owned()),
        repo: PathBuf::from("/home/ada/app"),
        subfolder: PathBuf::from("core"),
        tasks: tasks.iter().map(|name| task(name)).collect(),
        jobs: NonZeroUsize::new(4).unwrap(),
        isolation: IsolationMode::Worktree,
        merge: MergeMode::Patch,
        stack: None,
        land: protocol::LandTime::End,
        on_failure: OnFailure::Continue,
        union: Vec::new(),
        branch_prefix: "regatta".to_owned(),
        untracked_limit: 1 << 28,
        pass_env: Vec::new(),
        needs: WorkspaceNeeds::default(),
        verify: VerifySpec::default(),
        commits: protocol::CommitSubjects::default(),
        group: None,
        retry: None,
        caller: None,
    }
}

fn task(name: &str) -> TaskSpec {
    TaskSpec {
        id: TaskId::generate(),
        name: name.parse().unwrap(),
        title: format!("about {name}"),
        items: Vec::new(),
        work: Work::Command(Command { script: "true".to_owned(), item: None, arguments: vec![] }),
        depends_on: Vec::new(),
        priority: 0,
        change: ChangeDemand::Optional,
        schema: None,
        limits: TaskLimits::default(),
        needs: protocol::TaskNeeds::default(),
    }
}

pub(crate) fn captured(run: &RunName, task: &TaskSpec, attempt: u32) -> Captured {
    let changes = ChangeSummary { files: 3, added: 41, removed: 7 };
    Captured::whole(CaptureRef::of(run, &task.name, attempt), changes)
}

pub(crate) fn started(run: &RunSpec, task: usize) -> LedgerEntry {
    LedgerEntry::TaskStarted { run: run.id, task: run.tasks[task].id, attempt: 1 }
}

pub(crate) fn done(captured: Option<Captured>) -> TaskReport {
    TaskReport {
        outcome: Outcome::Done { value: json!({ "ok": [1, null] }) },
        captured,
        ms: 31_000,
        setup_ms: None,
        usage: None,
        fallbacks: Vec::new(),
        turns: None,
        reached_limit: None,
        refused_calls: 0,
        timings: None,
    }
}
