//! A fake repository that records its calls, for the tests of the commands. The ledger is real.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use engine::fault::Faults;
use engine::ports::{
    Baseline, CancelToken, Clock, FreezeRequest, IsolationError, LandingNotice, LandingRequest,
    LockRun, OpenRun, Recovery, Repository, RepositoryFacts, RunLock, UndoReport, UndoRequest,
};
use engine::prompt::GitState;
use protocol::*;
use regatta::runs::RepositoryRuns;
use store::{GateFiles, Ledger, Reader};

use super::context::{CommandContext, Output};
use super::fake_captures::FakeCaptures;
use crate::args::Globals;
use crate::render::{
    ColorEnv, CommandHints, OutputOptions, OutputWidth, Size, TermCapability, Terminal, View,
};

/// A repository whose landings have the results that a test sets.
pub(super) struct FakeRepository {
    facts: RepositoryFacts,
    /// The result of the next landing for each task; a task that is missing lands.
    pub(super) fates: Mutex<BTreeMap<String, Landed>>,
    /// The requests so far.
    pub(super) landings: Mutex<Vec<LandingRequest>>,
    /// Runs when the lock of a run is taken, before it is granted.
    pub(super) meanwhile: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

#[async_trait]
impl Repository for FakeRepository {
    fn facts(&self) -> &RepositoryFacts {
        &self.facts
    }

    async fn recover(&self, _open: Vec<OpenRun>) -> Result<Box<dyn Recovery>, IsolationError> {
        unreachable!("nothing recovers here")
    }

    fn lock_run(&self, _run: &RunName) -> Result<RunLock, IsolationError> {
        if let Some(meanwhile) = self.meanwhile.lock().unwrap().take() {
            meanwhile();
        }
        Ok(RunLock::new(()))
    }

    async fn freeze(
        &self,
        _request: FreezeRequest,
        _lock: RunLock,
        _cancel: CancelToken,
        _news: Arc<dyn Fn(LandingNotice) + Send + Sync>,
    ) -> Result<Arc<dyn Baseline>, IsolationError> {
        unreachable!("commands over captures freeze nothing")
    }

    async fn land(
        &self,
        _landing: LandingId,
        request: LandingRequest,
        _cancel: CancelToken,
        _news: Arc<dyn Fn(LandingNotice) + Send + Sync>,
    ) -> Result<LandingReport, IsolationError> {
        let report = self.dry_run(request.clone()).await;
        self.landings.lock().unwrap().push(request);
        report
    }

    async fn dry_run(&self, request: LandingRequest) -> Result<LandingReport, IsolationError> {
        let fates = self.fates.lock().unwrap();
        let fate = |task: &TaskName| {
            fates
                .get(task.as_str())
                .cloned()
                .unwrap_or(Landed::Landed { branch: None, joined: Vec::new() })
        };
        let landed = |task: &TaskName| TaskLanding::of(task.clone(), fate(task));
        Ok(LandingReport { tasks: request.tasks.iter().map(|t| landed(&t.task)).collect() })
    }

    async fn undo(
        &self,
        _landing: LandingId,
        request: UndoRequest,
        _cancel: CancelToken,
        _notify: Arc<dyn Fn(LandingNotice) + Send + Sync>,
    ) -> Result<UndoReport, IsolationError> {
        self.dry_run_undo(request).await
    }

    async fn dry_run_undo(&self, _request: UndoRequest) -> Result<UndoReport, IsolationError> {
        unreachable!("nothing is taken back here")
    }

    async fn acknowledge(&self, _run: &RunName) -> Result<(), IsolationError> {
        Ok(())
    }
}

/// A terminal of 80 columns.
#[derive(Default)]
pub(super) struct Screen(Vec<u8>);

impl Screen {
    pub(super) fn text(&self) -> String {
        String::from_utf8(self.0.clone()).unwrap()
    }
}

impl Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Output for Screen {
    fn room(&self) -> OutputWidth {
        OutputWidth::Columns(80)
    }
}

struct Noon;

impl Clock for Noon {
    fn now(&self) -> Timestamp {
        Timestamp::from_millisecond(1_767_268_800_000)
    }
}

/// A fake repository, fake captures and a real ledger, ready for commands.
pub(super) struct Bench {
    folder: tempfile::TempDir,
    pub(super) context: CommandContext,
    pub(super) repository: Arc<FakeRepository>,
    pub(super) captures: Arc<FakeCaptures>,
}

/// The end of a task of a recorded run.
pub(super) enum End {
    /// Done, with this many changed files and this landing.
    Done(u64, Option<Landed>),
    /// Failed after it had changed a file.
    Failed,
    /// The task of a model, with its outcome and usage.
    Agent(Outcome, Usage),
    /// It has not ended.
    Open,
}

impl Bench {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("repo");
        let facts = RepositoryFacts {
            root,
            subfolder: PathBuf::new(),
            git: GitState::default(),
            notices: Vec::new(),
        };
        let repository = FakeRepository {
            facts,
            fates: Mutex::default(),
            landings: Mutex::default(),
            meanwhile: Mutex::default(),
        };
        let repository = Arc::new(repository);
        let captures = Arc::new(FakeCaptures::default());
        let path = folder.path().join("ledger.db");
        let view = view(None);
        let context = CommandContext {
            runs: RepositoryRuns {
                root: repository.facts.root.clone(),
                ledger: Arc::new(Ledger::open(&path, Faults::default()).unwrap()),
                reader: Arc::new(Reader::open(&path)),
                captured: captures.clone(),
                gates: GateFiles::new(folder.path().join("gates")),
                engine_of: Arc::new(|_, _| None),
                artifacts: folder.path().join("artifacts"),
                clock: Arc::new(Noon),
            },
            view,
            hints: CommandHints::default(),
            resolvers: None,
        };
        Self { folder, context, repository, captures }
    }

    pub(super) fn root(&self) -> PathBuf {
        self.folder.path().join("repo")
    }

    /// Records a run with these tasks, each with the names of those it depends on.
    pub(super) async fn record(&self, tasks: Vec<(&str, &[&str], End)>) -> RunName {
        self.record_in(&self.root(), tasks).await
    }

    /// Records a run over another repository.
    pub(super) async fn record_in(&self, repo: &Path, tasks: Vec<(&str, &[&str], End)>) -> RunName {
        let specs = tasks.iter().map(|(name, on, end)| match end {
            End::Agent(..) => TaskSpec { work: Work::from(agent()), ..task(name, on) },
            End::Done(..) | End::Failed | End::Open => task(name, on),
        });
        let specs: Vec<TaskSpec> = specs.collect();
        let spec = run_of(repo, specs.clone());
        let opened = self.context.runs.ledger.open_run(&spec, Noon.now(), LockRun::nothing()).await;
        let name = opened.unwrap().0;
        let (mut entries, mut landings, mut open) = (Vec::new(), Vec::new(), false);
        let mut usages = Vec::new();
        for (spec_of_task, (_, _, end)) in specs.into_iter().zip(tasks) {
            let task = spec_of_task.id;
            entries.push(LedgerEntry::TaskStarted { run: spec.id, task, attempt: 1 });
            let capture = CaptureRef::of(&name, &spec_of_task.name, 1);
            let captured = |files| {
                let changes = ChangeSummary { files, added: files, removed: 0 };
                Captured::whole(capture.clone(), changes)
            };
            let mut usage = None;
            let (outcome, captured) = match end {
                End::Agent(outcome, used) => {
                    usage = Some(used);
                    (outcome, captured(1))
                }
                End::Open => {
                    open = true;
                    continue;
                }
                End::Done(files, landing) => {
                    let task = spec_of_task.name.clone();
                    landings.extend(landing.map(|landed| TaskLanding::of(task, landed)));
                    (Outcome::Done { value: serde_json::Value::Null }, captured(files))
                }
                End::Failed => {
                    let failure = Failure::new(FailureClass::Command, "it ended with code 3");
                    (Outcome::Failed { failure }, captured(1))
                }
            };
            let (attempt, work) = (1, captured.clone());
            entries.push(LedgerEntry::TaskCaptured { task, attempt, captured: work });
            usages.extend(usage);
            let (captured, ms) = (Some(captured), 1200);
            let (setup_ms, turns, reached_limit, timings) = (None, None, None, None);
            let report = TaskReport {
                outcome,
                captured,
                ms,
                setup_ms,
                usage,
                fallbacks: Vec::new(),
                turns,
                reached_limit,
                refused_calls: 0,
                timings,
            };
            entries.push(LedgerEntry::TaskFinished { task, report: Box::new(report) });
        }
        let run = spec.id;
        if !open {
            entries.push(LedgerEntry::LandingStarted { run, landing: None });
            let report = LandingReport { tasks: landings };
            entries.push(LedgerEntry::LandingFinished { run, landing: None, report });
            let usage = usages.into_iter().reduce(|one, other| one + other);
            let totals = Totals { ms: 2400, usage, ..Totals::default() };
            entries.push(LedgerEntry::RunFinished { run, totals, exit_code: ExitCode::Kept });
        }
        self.context.record(entries).await.unwrap();
        name
    }
}

/// Returns the view on a terminal of this size, or into a pipe.
pub(super) fn view(stdout: Option<fn() -> Size>) -> View {
    let (stderr, capability, color_env) = (None, TermCapability::Able, ColorEnv::Refused);
    let around = Terminal { stdout, stderr, capability, color_env };
    let mut view = View::of(OutputOptions::from(&Globals::default()), around);
    view.zone = jiff::tz::TimeZone::UTC;
    view
}

fn agent() -> Agent {
    let model = "offline/demo.toml".parse().unwrap();
    Agent {
        model,
        prompt: "Move it.".to_owned(),
        fallback: Vec::new(),
        yields: Vec::new(),
        context: None,
        approvals: Default::default(),
        subagent: None,
        servers: Default::default(),
    }
}

fn task(name: &str, on: &[&str]) -> TaskSpec {
    TaskSpec {
        id: TaskId::generate(),
        name: name.parse().unwrap(),
        title: format!("does {name}"),
        items: Vec::new(),
        work: Work::Command(Command {
            script: format!("make {name}"),
            item: None,
            arguments: Vec::new(),
        }),
        depends_on: on.iter().map(|on| on.parse().unwrap()).collect(),
        priority: 0,
        change: ChangeDemand::Optional,
        schema: None,
        limits: TaskLimits::default(),
        needs: protocol::TaskNeeds::default(),
    }
}

/// Returns a landing in the tree.
pub(super) fn in_tree() -> Option<Landed> {
    Some(Landed::Landed { branch: None, joined: Vec::new() })
}

/// Returns a landing that conflicts with another task on one path.
pub(super) fn conflicting(with: &str) -> Option<Landed> {
    let side = |digit: &str| Some(Side { mode: 0o100_644, oid: digit.repeat(40) });
    let (base, ours, with) = (side("a"), side("b"), Some(with.parse().unwrap()));
    let conflict = Conflict { base, ours, with, ..conflict_at("src/\u{1b}config.rs") };
    Some(Landed::Conflicted { conflicts: vec![conflict] })
}

/// Returns a conflict of the content at a path, of which no side is there.
pub(super) fn conflict_at(path: &str) -> Conflict {
    Conflict {
        path: RepoPath::new(path).unwrap(),
        reason: ConflictReason::Content,
        base: None,
        ours: None,
        theirs: None,
        with: None,
        renamed: None,
    }
}

/// Returns a run of these tasks that lands patches.
fn run_of(repo: &Path, tasks: Vec<TaskSpec>) -> RunSpec {
    RunSpec {
        id: RunId::generate(),
        label: Some("bench".to_owned()),
        repo: repo.to_owned(),
        subfolder: PathBuf::new(),
        tasks,
        jobs: std::num::NonZeroUsize::MIN,
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
    }
}
