//! The implementation of the engine's isolation port, on threads that may block.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use engine::fault::Faults;
use engine::ports::{
    AttemptEnd, Baseline, CancelToken, FreezeRequest, Isolation, IsolationError, LandingNotice,
    LandingRequest, MergedWorkspace, Notice, OpenRun, Recovered, Recovery, Repository,
    RepositoryFacts, Reuse, RunLock, UndoReport, UndoRequest, Workspace, WorkspaceRequest,
    WorkspaceView,
};
use protocol::{
    Capabilities, CaptureRef, Captured, LandingId, LandingReport, RepoPath, RunName, WorkspaceKind,
};

use crate::backends::{Backends, FrozenRun, FrozenTree, LandingWait, RunContext};
use crate::branch::commit_notices;
use crate::error::{Result, cannot};
use crate::landing;
use crate::paths::{IsolationPaths, RepoPaths};
use crate::recovery::{self, Cleanup, Findings};
use crate::repository::Repo;
use crate::run_lock::NewRunLock;
use crate::view::DiskThreads;

use ahead::Ahead;
use merged::MergedInRun;
use turns::Turns;

/// Isolates tasks in git repositories, with the backend that a run asks for.
pub struct Repositories {
    paths: IsolationPaths,
    faults: Faults,
    backends: Backends,
    disk: DiskThreads,
}

impl Repositories {
    /// Returns repositories with data below `paths` and with the backends of this crate.
    #[must_use]
    pub fn new(paths: IsolationPaths, faults: Faults) -> Self {
        Self::with_backends(paths, faults, Backends::default())
    }

    /// Returns repositories with data below `paths` and with `backends`.
    #[must_use]
    pub fn with_backends(paths: IsolationPaths, faults: Faults, backends: Backends) -> Self {
        Self { paths, faults, backends, disk: DiskThreads::default() }
    }
}

#[async_trait]
impl Isolation for Repositories {
    async fn open(&self, at: &Path) -> Result<Arc<dyn Repository>> {
        let at: PathBuf = at.to_path_buf();
        let repo = blocking(move || {
            Repo::open(&at).inspect_err(|_refused| landing::release_left_locks(&at))
        });
        let repo = repo.await?;
        let facts = RepositoryFacts {
            root: repo.root.clone(),
            subfolder: repo.subfolder.clone(),
            git: repo.git_state(),
            notices: repo.notices.clone(),
        };
        let paths = self.paths.of(&repo.root);
        let (faults, backends) = (self.faults.clone(), self.backends.clone());
        let opened = Opened { repo, paths, faults, backends, disk: self.disk.clone() };
        Ok(Arc::new(OpenedRepository { facts, opened: Arc::new(opened) }))
    }

    async fn locate(&self, at: &Path) -> Result<PathBuf> {
        let at: PathBuf = at.to_path_buf();
        blocking(move || Repo::locate(&at)).await
    }
}

/// The state that every request to a repository needs.
struct Opened {
    repo: Repo,
    paths: RepoPaths,
    faults: Faults,
    backends: Backends,
    disk: DiskThreads,
}

struct OpenedRepository {
    facts: RepositoryFacts,
    opened: Arc<Opened>,
}

#[async_trait]
impl Repository for OpenedRepository {
    fn facts(&self) -> &RepositoryFacts {
        &self.facts
    }

    async fn recover(&self, open: Vec<OpenRun>) -> Result<Box<dyn Recovery>> {
        let opened = Arc::clone(&self.opened);
        let found = blocking(move || {
            let Opened { repo, paths, faults, backends, .. } = opened.as_ref();
            recovery::recover(repo, paths, faults, backends, &open)
        })
        .await?;
        Ok(Box::new(match found {
            Some(Findings { recovered, cleanup }) => {
                FoundRecovery { recovered, cleanup: Some(cleanup) }
            }
            None => FoundRecovery::default(),
        }))
    }

    fn lock_run(&self, run: &RunName) -> Result<RunLock> {
        let folder = self.opened.paths.workspaces.join(run.as_str());
        NewRunLock::acquire(&folder).map(RunLock::new)
    }

    async fn freeze(
        &self,
        request: FreezeRequest,
        lock: RunLock,
        cancel: CancelToken,
        notify: Arc<dyn Fn(LandingNotice) + Send + Sync>,
    ) -> Result<Arc<dyn Baseline>> {
        let (opened, disk) = (Arc::clone(&self.opened), self.opened.disk.clone());
        let capabilities = request.mode.capabilities();
        let run = blocking(move || {
            let Opened { repo, paths, faults, backends, .. } = opened.as_ref();
            let backend = backends.of(request.mode)?;
            let lock = lock
                .into_held::<NewRunLock>()
                .ok_or_else(|| cannot("begin the run", "its folder is not locked"))?;
            let landings = LandingWait { cancel: &cancel, notify: notify.as_ref() };
            let context = RunContext::of(repo, paths, faults, &request.run).joining(&request.union);
            let freeze = |context: &RunContext| backend.freeze(context, &request);
            let run = FrozenRun::freeze(context, &request, lock, landings, freeze)?;
            let mut notices = run.tree.notices().to_vec();
            if request.branches.is_some() {
                notices.extend(commit_notices(repo)?);
            }
            Ok((run, notices))
        })
        .await?;
        let (run, notices) = run;
        Ok(Arc::new(FrozenBaseline {
            run: Arc::new(run),
            notices,
            capabilities,
            disk,
            turns: Turns::default(),
            ahead: Arc::default(),
        }))
    }

    async fn land(
        &self,
        landing: LandingId,
        request: LandingRequest,
        cancel: CancelToken,
        notify: Arc<dyn Fn(LandingNotice) + Send + Sync>,
    ) -> Result<LandingReport> {
        let opened = Arc::clone(&self.opened);
        blocking(move || {
            let Opened { repo, paths, faults, .. } = opened.as_ref();
            landing::land(repo, paths, faults, landing, request, &cancel, notify.as_ref())
        })
        .await
    }

    async fn dry_run(&self, request: LandingRequest) -> Result<LandingReport> {
        let opened = Arc::clone(&self.opened);
        blocking(move || {
            let Opened { repo, paths, faults, .. } = opened.as_ref();
            landing::dry_run(repo, paths, faults, &request)
        })
        .await
    }

    async fn undo(
        &self,
        landing: LandingId,
        request: UndoRequest,
        cancel: CancelToken,
        notify: Arc<dyn Fn(LandingNotice) + Send + Sync>,
    ) -> Result<UndoReport> {
        let opened = Arc::clone(&self.opened);
        blocking(move || {
            let Opened { repo, paths, faults, .. } = opened.as_ref();
            let told = (&cancel, notify.as_ref() as &dyn Fn(LandingNotice));
            landing::undo(repo, paths, faults, (landing, &request), told)
        })
        .await
    }

    async fn dry_run_undo(&self, request: UndoRequest) -> Result<UndoReport> {
        let opened = Arc::clone(&self.opened);
        blocking(move || {
            let Opened { repo, paths, faults, .. } = opened.as_ref();
            landing::dry_run_undo(repo, paths, faults, &request)
        })
        .await
    }

    async fn acknowledge(&self, run: &RunName) -> Result<()> {
        let (opened, run) = (Arc::clone(&self.opened), run.clone());
        blocking(move || landing::acknowledge(&opened.paths, &opened.faults, &run)).await
    }
}

/// The findings of a recovery, and the cleanup that is left to do.
#[derive(Default)]
struct FoundRecovery {
    recovered: Recovered,
    cleanup: Option<Cleanup>,
}

#[async_trait]
impl Recovery for FoundRecovery {
    fn found(&self) -> &Recovered {
        &self.recovered
    }

    async fn finish(self: Box<Self>, unrecorded: BTreeSet<RunName>) -> Result<()> {
        match self.cleanup {
            Some(cleanup) => blocking(move || cleanup.finish(&unrecorded)).await,
            None => Ok(()),
        }
    }
}

struct FrozenBaseline {
    run: Arc<FrozenRun<Arc<dyn FrozenTree>>>,
    notices: Vec<Notice>,
    /// The capabilities of the run's backend.
    capabilities: Capabilities,
    disk: DiskThreads,
    turns: Turns,
    ahead: Arc<Ahead>,
}

impl FrozenBaseline {
    /// Runs a step that uses one workspace, when no other step uses it any more. A step goes on when
    /// its caller is gone.
    async fn step<T: Send + 'static>(
        &self,
        workspace: &Workspace,
        step: impl FnOnce(&dyn FrozenTree, &Workspace) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (run, turns) = (Arc::clone(&self.run), self.turns.clone());
        let workspace = workspace.clone();
        blocking(move || turns.take(&workspace.task, || step(run.tree.as_ref(), &workspace))).await
    }
}

#[async_trait]
impl Baseline for FrozenBaseline {
    fn notices(&self) -> &[Notice] {
        &self.notices
    }

    async fn read_file(&self, path: &RepoPath) -> Result<Option<Vec<u8>>> {
        let (run, path) = (Arc::clone(&self.run), path.clone());
        blocking(move || files::read_file(run.tree.as_ref(), &path)).await
    }

    fn make_ahead(&self, at_once: usize) {
        self.ahead.begin(&self.run, at_once);
    }

    async fn prepare(&self, request: WorkspaceRequest) -> Result<Workspace> {
        let run = Arc::clone(&self.run);
        blocking(move || run.tree.prepare(&request)).await
    }

    fn view(&self, workspace: &Workspace) -> Arc<dyn WorkspaceView> {
        self.run.tree.view(workspace, &self.disk)
    }

    async fn accept_setup(&self, workspace: &Workspace) -> Result<()> {
        self.step(workspace, |tree, workspace| tree.accept_setup(workspace)).await
    }

    async fn capture(&self, workspace: &Workspace, end: &AttemptEnd) -> Result<Option<Captured>> {
        if !self.capabilities.can_capture {
            return Ok(None);
        }
        let end = *end;
        self.step(workspace, move |tree, workspace| tree.capture(workspace, &end).map(Some)).await
    }

    async fn recapture(&self, workspace: &Workspace) -> Result<Option<Captured>> {
        if !self.capabilities.can_capture {
            return Ok(None);
        }
        let recapture = |tree: &dyn FrozenTree, workspace: &Workspace| {
            tree.recover(&workspace.task).captured.map(Some)
        };
        self.step(workspace, recapture).await
    }

    async fn checkpoint(&self, workspace: &Workspace) -> Result<Option<Captured>> {
        if !self.capabilities.can_checkpoint {
            return Ok(None);
        }
        self.step(workspace, |tree, workspace| tree.checkpoint(workspace).map(Some)).await
    }

    async fn discard(&self, workspace: &Workspace, reuse: Reuse) -> Result<()> {
        match self.capabilities.workspace {
            WorkspaceKind::Shared => return Ok(()),
            WorkspaceKind::Private => {}
        }
        self.step(workspace, move |tree, workspace| tree.discard(workspace, reuse)).await
    }

    async fn change_text(&self, capture: &CaptureRef, limit: usize) -> Result<Option<String>> {
        let (run, capture) = (Arc::clone(&self.run), capture.clone());
        let text = move || {
            let context = &run.context;
            crate::captures::change_text((context.root(), &context.paths), &capture, limit)
        };
        blocking(text).await
    }

    async fn merged_workspace(&self) -> Result<Arc<dyn MergedWorkspace>> {
        let run = Arc::clone(&self.run);
        blocking(move || MergedInRun::make(run).map(|made| Arc::new(made) as _)).await
    }

    async fn close(&self) -> Result<()> {
        let (run, ahead) = (Arc::clone(&self.run), Arc::clone(&self.ahead));
        blocking(move || {
            ahead.end();
            run.close()
        })
        .await
    }
}

/// Runs `step` on a thread that may block. A panic there is an error of one task, not of the
/// engine.
async fn blocking<T: Send + 'static>(
    step: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    match tokio::task::spawn_blocking(step).await {
        Ok(end) => end,
        Err(error) => Err(IsolationError::Failed {
            what: "finish a step of isolation".to_owned(),
            source: Box::new(error),
        }),
    }
}

mod ahead;
mod files;
mod merged;
mod turns;

#[cfg(test)]
mod tests;
