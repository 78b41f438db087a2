//! The workspace of an isolated session: that of the only task of a run, which waits for the end of the
//! conversation. So the work is captured, kept, landed and recovered as that of any other task.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use actors::{Engine, RunHandle, Submission, SubmitError};
use engine::ports::{
    IsolationError, LandingNotice, Repository, RepositoryFacts, TaskOrigin, ToolEnv,
};
use isolation::DirectoryView;
use protocol::{
    Captured, ChangeDemand, Conversation, EventKind, Failure, FailureClass, IsolationMode, Outcome,
    Phase, RunName, RunSpec, TaskId, TaskName, TaskNeeds, TaskReport, TaskSpec, Work,
};

use crate::app_context::AppContext;
use crate::error::Error;
use crate::workspace_needs::{carry_glob, invalid_setting};

/// The name of the only task of the run.
pub const ISOLATED_TASK: &str = "session";

/// The workspace of an isolated session.
pub struct IsolatedWorkspace {
    run: RunHandle,
    place: IsolatedPlace,
}

/// Where an isolated session works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IsolatedPlace {
    /// The run.
    pub run: RunName,
    /// Its only task.
    pub task: TaskOrigin,
    /// The root of the copy of the repository.
    pub root: PathBuf,
    /// The folder in which the session works, relative to the root.
    pub subfolder: PathBuf,
    /// The root of the user's working tree.
    pub repo: PathBuf,
}

/// Why there is no workspace.
#[derive(Debug, thiserror::Error)]
pub enum NotIsolated {
    /// The run was not started.
    #[error(transparent)]
    Submit(#[from] SubmitError),
    /// The workspace could not be prepared.
    #[error("{}", .0.message)]
    Failed(Failure),
}

/// What is left of a workspace.
#[derive(Clone, Debug, PartialEq)]
pub struct EndedWorkspace {
    /// The run.
    pub run: RunName,
    /// The report of its task; `None` if the engine has failed.
    pub report: Option<Box<TaskReport>>,
}

impl EndedWorkspace {
    /// Returns the captured work, if something was changed.
    #[must_use]
    pub fn work(&self) -> Option<&Captured> {
        let captured = self.report.as_ref()?.captured.as_ref()?;
        (captured.changes.files > 0).then_some(captured)
    }

    /// Returns whether all of the work was captured.
    #[must_use]
    pub fn is_captured(&self) -> bool {
        self.report.is_some() && self.failure().is_none()
    }

    /// Returns why the work was not captured, or not as a whole.
    #[must_use]
    pub fn failure(&self) -> Option<&Failure> {
        match &self.report.as_ref()?.outcome {
            Outcome::Failed { failure } => Some(failure),
            Outcome::Done { .. } | Outcome::Cancelled => None,
        }
    }
}

impl AppContext {
    /// Returns the run in whose workspace a session works, with this title and log.
    ///
    /// # Errors
    /// The mode makes no workspaces, or a setting is invalid.
    pub fn isolated_run(
        &self,
        facts: &RepositoryFacts,
        isolation: Option<IsolationMode>,
        (title, log): (String, PathBuf),
    ) -> Result<RunSpec, Error> {
        let settings = &self.settings;
        let isolation = isolation.unwrap_or(settings.isolation_mode.value);
        if !isolation.capabilities().can_capture {
            let mode = isolation.name();
            return Err(Error::usage(format!(
                "`--isolated` needs a workspace, and `{mode}` has none"
            ))
            .hint("--isolated --isolation worktree")
            .hint("leave `--isolated` out (works in place)"));
        }
        for glob in &settings.isolation_union.value {
            carry_glob(glob).map_err(|fault| invalid_setting(&settings.isolation_union, &fault))?;
        }
        let task = TaskSpec {
            id: TaskId::generate(),
            name: TaskName::nearest(ISOLATED_TASK),
            title: title.clone(),
            items: Vec::new(),
            work: Work::Conversation(Conversation { log }),
            depends_on: Vec::new(),
            priority: 0,
            change: ChangeDemand::Optional,
            schema: None,
            limits: settings.task_limits(),
            needs: TaskNeeds::default(),
        };
        let spec = self.run_in(facts, &facts.subfolder, isolation, vec![task])?;
        Ok(RunSpec { label: Some(title), ..spec })
    }
}

impl IsolatedWorkspace {
    /// Starts the run of [`AppContext::isolated_run`], and waits until its workspace is ready. Dropping the
    /// future cancels nothing: closing the engine does. What the user should know is passed to `notify`.
    ///
    /// # Errors
    /// The run could not be started, or the workspace not be prepared. Nothing of it is left.
    pub async fn open(
        engine: &Engine,
        repository: Arc<dyn Repository>,
        spec: RunSpec,
        notify: Arc<dyn Fn(LandingNotice) + Send + Sync>,
        degraded: &mut (dyn FnMut(&EventKind) + Send),
    ) -> Result<Self, NotIsolated> {
        let task = spec.tasks.first().map_or_else(TaskId::generate, |task| task.id);
        let task = TaskOrigin { run: spec.id, task };
        let (repo, subfolder) = (spec.repo.clone(), spec.subfolder.clone());
        let submission = Submission { notify, ..Submission::new(spec, repository) };
        let mut run = engine.run(submission).await?;
        let mut root = PathBuf::new();
        while let Some(event) = run.recv().await {
            match &event.kind {
                EventKind::Degraded { .. } => degraded(&event.kind),
                EventKind::WorkspaceReady { path, .. } => root = path.into(),
                EventKind::TaskProgress { phase: Phase::Working, .. } => {
                    let name = run.name.clone();
                    let place = IsolatedPlace { run: name, task, root, subfolder, repo };
                    return Ok(Self { run, place });
                }
                EventKind::TaskFinished { report, .. } => {
                    let failure = match &report.outcome {
                        Outcome::Failed { failure } => failure.clone(),
                        Outcome::Done { .. } | Outcome::Cancelled => {
                            Failure::new(FailureClass::Workspace, "it was cancelled")
                        }
                    };
                    while run.recv().await.is_some() {} // its lock is free then
                    return Err(NotIsolated::Failed(failure));
                }
                _other => {}
            }
        }
        Err(SubmitError::Closing.into())
    }

    /// Returns where the session works.
    #[must_use]
    pub fn place(&self) -> &IsolatedPlace {
        &self.place
    }

    /// Captures the changes so far. The session must not be working.
    ///
    /// # Errors
    /// The workspace cannot be captured.
    pub async fn checkpoint(&self) -> Result<Option<Captured>, IsolationError> {
        let captured = self.run.controls().checkpoint(self.place.task.task).await?;
        Ok(captured.filter(|captured| captured.changes.files > 0))
    }

    /// Captures the work, and ends the run. The session must be closed.
    pub async fn end(mut self) -> EndedWorkspace {
        self.run.controls().end_conversation(self.place.task.task);
        let mut report = None;
        // They end when the run has given back its lock.
        while let Some(event) = self.run.recv().await {
            if let EventKind::TaskFinished { report: of_task, .. } = &event.kind {
                report = Some(of_task.clone());
            }
        }
        EndedWorkspace { run: self.run.name, report }
    }
}

impl IsolatedPlace {
    /// Returns the folder in which the session works.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        // Joining an empty path would add a slash.
        match self.subfolder.as_os_str().is_empty() {
            true => self.root.clone(),
            false => self.root.join(&self.subfolder),
        }
    }

    /// Returns the repository of which the session has a copy.
    #[must_use]
    pub fn repository(&self) -> &Path {
        &self.repo
    }

    /// Has the tools of a session work here.
    pub fn equip(&self, tools: &mut actors::ToolSetup) {
        let variables = [
            ("REGATTA_RUN", self.run.as_str().into()),
            ("REGATTA_TASK", ISOLATED_TASK.into()),
            ("REGATTA_ATTEMPT", "1".into()),
            ("REGATTA_REPO", self.repo.clone().into()),
            ("REGATTA_WORKSPACE", self.root.clone().into()),
        ];
        // A plain view of the folder, of which nothing is recorded: captures look at every file, since a
        // command may have written any.
        tools.view = Arc::new(DirectoryView::new(self.root.clone()));
        tools.folder = self.folder();
        tools.task = Some(self.task);
        tools.env = ToolEnv {
            subfolder: self.subfolder.clone(),
            repo: self.repo.clone(),
            environment: variables.map(|(name, value)| (name.to_owned(), value)).into(),
            ..tools.env.clone()
        };
    }
}
