//! A repository that is not there: it counts what is asked of it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use async_trait::async_trait;
use engine::ports::{
    AttemptEnd, Baseline, CancelToken, FreezeRequest, IsolationError, LandingNotice,
    LandingRequest, Notice, OpenRun, Recovery, Repository, RepositoryFacts, Reuse, RunLock,
    UndoReport, UndoRequest, Workspace, WorkspaceRequest, WorkspaceView,
};
use engine::prompt::GitState;
use protocol::{
    CaptureRef, Captured, ChangeSummary, Landed, LandingId, LandingReport, LeftOut, RunName,
    TaskLanding, TaskName,
};

use super::{Failpoints, FakeTools, Step, Trace};
use crate::view_memory::MemoryView;

/// Counts workspaces, remembers captures, lands everything.
pub struct FakeRepository {
    facts: RepositoryFacts,
    counts: Arc<Counts>,
    /// The steps `freeze`, `land`, `prepare`, `capture`, `discard` and `close`.
    pub failpoints: Failpoints,
    pub(super) trace: Trace,
}

#[derive(Default)]
struct Counts {
    made: AtomicUsize,
    gone: AtomicUsize,
    closed: AtomicUsize,
    captured: Mutex<BTreeSet<CaptureRef>>,
    landings: Mutex<Vec<LandingRequest>>,
    predecessors: Mutex<Vec<(TaskName, Vec<TaskName>)>>,
    /// Tasks whose capture fails.
    uncapturable: Mutex<BTreeSet<TaskName>>,
    /// Tasks that change nothing.
    idle: Mutex<BTreeSet<TaskName>>,
    /// Tasks with files that no capture can hold.
    partial: Mutex<BTreeSet<TaskName>>,
    /// What may be writing into a workspace, and how much of it ran at most during a capture.
    tools: OnceLock<FakeTools>,
    busiest: AtomicUsize,
    /// How landings end that wait until they are not wanted any more.
    held: Mutex<Option<fn() -> IsolationError>>,
}

impl Default for FakeRepository {
    fn default() -> Self {
        let facts = RepositoryFacts {
            root: PathBuf::from("/repo"),
            subfolder: PathBuf::new(),
            git: GitState::default(),
            notices: Vec::new(),
        };
        let (counts, failpoints, trace) = (Arc::default(), Failpoints::default(), Trace::default());
        Self { facts, counts, failpoints, trace }
    }
}

impl FakeRepository {
    /// Returns how many workspaces were made.
    pub fn made(&self) -> usize {
        self.counts.made.load(Ordering::SeqCst)
    }

    /// Returns how many workspaces were made and are not gone.
    pub fn leaked(&self) -> usize {
        self.made() - self.counts.gone.load(Ordering::SeqCst)
    }

    /// Returns how many runs ended their use of the repository.
    pub fn closed(&self) -> usize {
        self.counts.closed.load(Ordering::SeqCst)
    }

    /// Returns what was captured.
    pub fn captured(&self) -> BTreeSet<CaptureRef> {
        self.counts.captured.lock().expect("no test panics with it").clone()
    }

    /// Returns what was asked to land.
    pub fn landings(&self) -> Vec<LandingRequest> {
        self.counts.landings.lock().expect("no test panics with it").clone()
    }

    /// Returns which predecessors' captures the workspace of `task` was built on.
    pub fn predecessors(&self, task: &str) -> Option<Vec<String>> {
        let asked = self.counts.predecessors.lock().expect("no test panics with it");
        let found = asked.iter().find(|(name, _)| name.as_str() == task);
        found.map(|(_, on)| on.iter().map(TaskName::to_string).collect())
    }

    /// Lets every capture of `task` fail from now on.
    pub fn refuse_to_capture(&self, task: &str) {
        let task = TaskName::nearest(task);
        self.counts.uncapturable.lock().expect("no test panics with it").insert(task);
    }

    /// Lets `task` have changed nothing when it is captured.
    pub fn find_nothing_of(&self, task: &str) {
        let task = TaskName::nearest(task);
        self.counts.idle.lock().expect("no test panics with it").insert(task);
    }

    /// Lets `task` have files that no capture can hold.
    pub fn leave_files_out_of(&self, task: &str) {
        let task = TaskName::nearest(task);
        self.counts.partial.lock().expect("no test panics with it").insert(task);
    }

    /// Counts how many of `tools` run during a capture.
    ///
    /// # Panics
    /// When others are watched already.
    pub fn watch(&self, tools: &FakeTools) {
        assert!(self.counts.tools.set(tools.clone()).is_ok(), "others are watched already");
    }

    /// Returns how many tools ran during a capture, at most.
    pub fn busiest(&self) -> usize {
        self.counts.busiest.load(Ordering::SeqCst)
    }

    /// Lets every landing wait from now on until it is withdrawn, and then end with `error`.
    pub fn hold_landings(&self, error: fn() -> IsolationError) {
        *self.counts.held.lock().expect("no test panics with it") = Some(error);
    }
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
        Ok(RunLock::new(()))
    }

    async fn freeze(
        &self,
        request: FreezeRequest,
        _lock: RunLock,
        _cancel: CancelToken,
        _news: Arc<dyn Fn(LandingNotice) + Send + Sync>,
    ) -> Result<Arc<dyn Baseline>, IsolationError> {
        self.failpoints.reach("freeze").await;
        let (counts, failpoints) = (Arc::clone(&self.counts), self.failpoints.clone());
        let (run, trace) = (request.run, self.trace.clone());
        Ok(Arc::new(FakeBaseline { run, counts, failpoints, trace }))
    }

    async fn land(
        &self,
        _landing: LandingId,
        request: LandingRequest,
        cancel: CancelToken,
        notify: Arc<dyn Fn(LandingNotice) + Send + Sync>,
    ) -> Result<LandingReport, IsolationError> {
        self.failpoints.reach("land").await;
        self.trace.note(Step::Landed);
        let held = *self.counts.held.lock().expect("no test panics with it");
        if let Some(error) = held {
            notify(LandingNotice::Waiting);
            while !cancel.is_cancelled() {
                tokio::task::yield_now().await;
            }
            return Err(error());
        }
        let landed = |task: &TaskName| {
            TaskLanding::of(task.clone(), Landed::Landed { branch: None, joined: Vec::new() })
        };
        let tasks = request.tasks.iter().map(|task| landed(&task.task)).collect();
        self.counts.landings.lock().expect("no test panics with it").push(request);
        Ok(LandingReport { tasks })
    }

    async fn dry_run(&self, _request: LandingRequest) -> Result<LandingReport, IsolationError> {
        unreachable!("a run lands what it lands")
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

struct FakeBaseline {
    run: RunName,
    counts: Arc<Counts>,
    failpoints: Failpoints,
    trace: Trace,
}

#[async_trait]
impl Baseline for FakeBaseline {
    fn notices(&self) -> &[Notice] {
        &[]
    }

    async fn prepare(&self, request: WorkspaceRequest) -> Result<Workspace, IsolationError> {
        self.failpoints.reach("prepare").await;
        self.trace.note(Step::Prepared(request.task.clone()));
        self.counts.made.fetch_add(1, Ordering::SeqCst);
        let on = request.predecessors.into_iter().map(|(name, _)| name).collect();
        let mut asked = self.counts.predecessors.lock().expect("no test panics with it");
        asked.push((request.task.clone(), on));
        let folder = PathBuf::from("/workspaces").join(request.task.as_str());
        let root = folder.join("tree");
        Ok(Workspace { task: request.task, attempt: request.attempt, folder, root })
    }

    fn view(&self, workspace: &Workspace) -> Arc<dyn WorkspaceView> {
        Arc::new(MemoryView::new(workspace.root.clone()))
    }

    async fn accept_setup(&self, workspace: &Workspace) -> Result<(), IsolationError> {
        self.failpoints.reach("accept_setup").await;
        self.trace.note(Step::SetUp(workspace.task.clone()));
        Ok(())
    }

    async fn capture(
        &self,
        workspace: &Workspace,
        _: &AttemptEnd,
    ) -> Result<Option<Captured>, IsolationError> {
        self.failpoints.reach("capture").await;
        let running = self.counts.tools.get().map_or(0, FakeTools::running);
        self.counts.busiest.fetch_max(running, Ordering::SeqCst);
        let refused = self.counts.uncapturable.lock().expect("no test panics with it");
        if refused.contains(&workspace.task) {
            let source = "it was told not to".into();
            return Err(IsolationError::Failed { what: "capture".to_owned(), source });
        }
        let capture = CaptureRef::of(&self.run, &workspace.task, workspace.attempt);
        self.counts.captured.lock().expect("no test panics with it").insert(capture.clone());
        let idle = self.counts.idle.lock().expect("no test panics with it");
        let changes = match idle.contains(&workspace.task) {
            true => ChangeSummary::default(),
            false => ChangeSummary { files: 1, added: 1, removed: 0 },
        };
        let partial = self.counts.partial.lock().expect("no test panics with it");
        let files = u64::from(partial.contains(&workspace.task));
        let left_out = LeftOut { total: files, files, ..LeftOut::default() };
        Ok(Some(Captured { left_out, ..Captured::whole(capture, changes) }))
    }

    async fn recapture(&self, workspace: &Workspace) -> Result<Option<Captured>, IsolationError> {
        self.capture(workspace, &AttemptEnd::default()).await
    }

    async fn checkpoint(&self, workspace: &Workspace) -> Result<Option<Captured>, IsolationError> {
        let changes = ChangeSummary { files: 1, added: 1, removed: 0 };
        let capture = CaptureRef::checkpoint_of(&self.run, &workspace.task, workspace.attempt);
        Ok(Some(Captured::whole(capture, changes)))
    }

    async fn discard(&self, workspace: &Workspace, _reuse: Reuse) -> Result<(), IsolationError> {
        self.failpoints.reach("discard").await;
        self.trace.note(Step::Discarded(workspace.task.clone()));
        self.counts.gone.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    async fn close(&self) -> Result<(), IsolationError> {
        self.failpoints.reach("close").await;
        self.trace.note(Step::Closed);
        self.counts.closed.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}
