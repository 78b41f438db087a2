//! Verifies merged work: owns the workspace in which it is merged, and runs the commands there.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use engine::ports::{
    Artifact, CancelLevel, CancelToken, CommandEnd, CommandOwner, CommandRequest, CommandTerminal,
    EndCause, IsolationError, LandingTask, MergedWorkspace, OwnerEnd, ShortOutput, VariableChoice,
};
use engine::verification::{FailedVerification, Merged, VerificationError, Verifier};
use protocol::{EventKind, FailingStart, RepoPath, RunName, SetupFolder, VerifySpec, error_chain};
use ractor::ActorRef;
use tokio::time::{Instant, sleep_until};

use crate::deps::Deps;
use crate::isolation::RepositoryMessage;
use crate::messaging::{Notifier, answer};
use crate::worker::quoted;

/// How much of the end of a failed command's output is reported, in bytes.
const END: u64 = 2000;

/// The longest limit that is waited for: a ledger may have any.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 86_400);

/// What a verifier needs.
pub(super) struct VerifierArguments {
    pub(super) spec: VerifySpec,
    /// The set-up commands of the workspaces of the run.
    pub(super) setup: Vec<String>,
    /// The folder in which these run.
    pub(super) setup_folder: SetupFolder,
    pub(super) run: RunName,
    pub(super) repo: PathBuf,
    /// The folder in which the commands work, relative to the root.
    pub(super) subfolder: PathBuf,
    /// Which variables of the engine the commands get.
    pub(super) variables: VariableChoice,
    /// The folder for the output of the commands.
    pub(super) output: PathBuf,
    /// The maximum number of bytes of output to keep of each command.
    pub(super) keep: u64,
    pub(super) repository: ActorRef<RepositoryMessage>,
    pub(super) deps: Arc<Deps>,
    pub(super) cancel: CancelToken,
    pub(super) events: Notifier<EventKind>,
}

/// Verifies the work of one run, from one landing to the next.
pub(crate) struct WorkVerifier {
    arguments: VerifierArguments,
    /// Owns the processes of all commands; dropping it kills them.
    owner: Arc<dyn CommandOwner>,
    /// The workspace, once it is set up.
    workspace: Option<Arc<dyn MergedWorkspace>>,
    verifications: usize,
}

/// How a command ended.
enum Ended {
    Succeeded,
    Failed(FailedVerification),
}

impl WorkVerifier {
    /// Returns a verifier that has no workspace yet.
    pub(super) fn new(arguments: VerifierArguments) -> Self {
        let commands = Arc::clone(&arguments.deps.commands);
        let owner = commands.workspace_owner(&arguments.variables);
        Self { arguments, owner, workspace: None, verifications: 0 }
    }

    /// Returns how many verifications there were.
    pub(super) fn verifications(&self) -> usize {
        self.verifications
    }

    /// Removes the temporary files of the commands, after the verifications before a landing: the set-up
    /// may have left some for all of them.
    pub(super) async fn remove_temporary(&self) {
        self.owner.remove_temporary().await;
    }

    pub(super) fn failing_start(&self) -> FailingStart {
        self.arguments.spec.failing_start
    }

    pub(super) fn announce(&self, event: EventKind) {
        self.arguments.events.notify(event);
    }

    /// Returns the paths of the last merge that the user has edited since the run began.
    pub(super) async fn edited(&self, landed: Vec<LandingTask>) -> Vec<RepoPath> {
        let Some(workspace) = &self.workspace else { return Vec::new() };
        workspace.edited(landed).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot tell what was edited during the run");
            Vec::new()
        })
    }

    async fn merge_and_run(
        &mut self,
        tasks: Vec<LandingTask>,
    ) -> Result<Merged, VerificationError> {
        let workspace = match &self.workspace {
            Some(workspace) => Arc::clone(workspace),
            None => self.set_up().await?,
        };
        let landings = workspace.merge(tasks).await.map_err(|error| impossible(&error))?;
        let (number, scripts) = (self.verifications, self.arguments.spec.commands.clone());
        let file = |at| format!("{number}-{at}.log");
        let root = workspace.root();
        let failed = match self.run_all(&scripts, (root, &self.folder(root)), file).await? {
            Ended::Succeeded => None,
            Ended::Failed(failed) => Some(failed),
        };
        Ok(Merged { landings, failed })
    }

    /// Makes the workspace and sets it up.
    async fn set_up(&mut self) -> Result<Arc<dyn MergedWorkspace>, VerificationError> {
        let run = self.arguments.run.clone();
        let question = |reply| RepositoryMessage::Baseline(run, reply);
        let baseline = answer(&self.arguments.repository, question).await;
        let Some(baseline) = baseline else {
            let gone = "the snapshot of the run is gone".to_owned();
            return Err(VerificationError::Impossible(gone));
        };
        let workspace = baseline.merged_workspace().await.map_err(|error| impossible(&error))?;
        let scripts = self.arguments.setup.clone();
        if !scripts.is_empty() {
            let file = |at| format!("setup-{at}.log");
            let root = workspace.root();
            let folder = match self.arguments.setup_folder {
                SetupFolder::WorkingFolder => self.folder(root),
                SetupFolder::Root => root.to_owned(),
            };
            let ended = self.run_all(&scripts, (root, &folder), file).await?;
            if let Ended::Failed(failed) = ended {
                let message = format!("set-up {}", failed.message);
                return Err(VerificationError::Impossible(message));
            }
            workspace.accept_setup().await.map_err(|error| impossible(&error))?;
        }
        self.workspace = Some(Arc::clone(&workspace));
        Ok(workspace)
    }

    /// Runs scripts one after the other, until one fails or the time is over. Afterwards nothing of
    /// what they started is left.
    async fn run_all(
        &self,
        scripts: &[String],
        places: (&Path, &Path),
        file: impl Fn(usize) -> String,
    ) -> Result<Ended, VerificationError> {
        let deadline = Instant::now() + self.arguments.spec.limit.min(LONGEST);
        let mut ended = Ok(Ended::Succeeded);
        for (at, script) in (1..).zip(scripts) {
            ended = self.run(script, places, &file(at), deadline).await;
            if !matches!(ended, Ok(Ended::Succeeded)) {
                break;
            }
        }
        let end = self.owner.end().await;
        if end != OwnerEnd::Childless && ended.is_ok() {
            let left = "processes of its commands could not be stopped".to_owned();
            return Err(VerificationError::Impossible(left));
        }
        ended
    }

    async fn run(
        &self,
        script: &str,
        (root, folder): (&Path, &Path),
        file: &str,
        deadline: Instant,
    ) -> Result<Ended, VerificationError> {
        let VerifierArguments { output, keep, cancel, .. } = &self.arguments;
        if cancel.is_cancelled() {
            return Err(VerificationError::Cancelled);
        }
        let stop = cancel.child();
        let request = CommandRequest {
            script: script.to_owned(),
            arguments: Vec::new(),
            folder: folder.to_owned(),
            environment: self.environment(root),
            output: output.join(file),
            keep: *keep,
            short: ShortOutput::File,
            terminal: CommandTerminal::None,
        };
        let mut running = self.owner.run(request, Arc::new(|_line| {}), stop.clone());
        let ended = tokio::select! {
            ended = &mut running => Some(ended),
            () = sleep_until(deadline) => None,
        };
        let is_late = ended.is_none();
        let ended = match ended {
            Some(ended) => ended,
            None => {
                stop.cancel(CancelLevel::Gently);
                running.await
            }
        };
        if cancel.is_cancelled() {
            return Err(VerificationError::Cancelled);
        }
        let end = ended.map_err(|error| VerificationError::Impossible(error_chain(&error)))?;
        let how = match end.cause {
            _ if is_late => format!("did not end within {}", duration(self.arguments.spec.limit)),
            EndCause::Exited(0) => return Ok(Ended::Succeeded),
            EndCause::Exited(code) => format!("ended with code {code}"),
            EndCause::Signalled(signal) => format!("ended with signal {signal}"),
            EndCause::Stopped => "was stopped".to_owned(),
        };
        Ok(Ended::Failed(self.failed(script, &how, file, &end).await))
    }

    async fn failed(
        &self,
        script: &str,
        how: &str,
        file: &str,
        end: &CommandEnd,
    ) -> FailedVerification {
        let line = end.failure_line.as_ref().map(|line| format!(": {line}"));
        let path = self.arguments.output.join(file);
        FailedVerification {
            message: format!("`{}` {how}{}", quoted(script), line.unwrap_or_default()),
            output: Some(path.display().to_string()),
            end: self.end_of(file, &path).await,
        }
    }

    /// Returns the last lines of a file of output.
    async fn end_of(&self, file: &str, path: &Path) -> String {
        let artifacts = self.arguments.deps.artifacts.open(&self.arguments.output);
        let artifact = Artifact { name: file.to_owned(), path: path.to_owned() };
        let size = artifacts.size(&artifact).await.unwrap_or(0);
        let from = size.saturating_sub(END);
        let bytes = artifacts.read(&artifact, from, END).await.unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        match (from, text.split_once('\n')) {
            // The first line is not a whole one.
            (1.., Some((_, whole))) => whole.to_owned(),
            (_, _) => text,
        }
    }

    fn folder(&self, root: &Path) -> PathBuf {
        let subfolder = &self.arguments.subfolder;
        // Joining an empty path would add a trailing slash.
        if subfolder.as_os_str().is_empty() { root.to_owned() } else { root.join(subfolder) }
    }

    fn environment(&self, root: &Path) -> BTreeMap<String, OsString> {
        let VerifierArguments { run, repo, .. } = &self.arguments;
        let variables: [(&str, OsString); 3] = [
            ("REGATTA_RUN", run.as_str().into()),
            ("REGATTA_REPO", repo.into()),
            ("REGATTA_WORKSPACE", root.into()),
        ];
        variables.map(|(name, value)| (name.to_owned(), value)).into()
    }
}

#[async_trait]
impl Verifier for WorkVerifier {
    async fn verify(&mut self, tasks: Vec<LandingTask>) -> Result<Merged, VerificationError> {
        if self.arguments.cancel.is_cancelled() {
            return Err(VerificationError::Cancelled);
        }
        self.verifications += 1;
        let (number, began) = (self.verifications, Instant::now());
        let names = tasks.iter().map(|task| task.task.clone()).collect();
        self.announce(EventKind::VerificationStarted { number, tasks: names });
        let ended = self.merge_and_run(tasks).await;
        let (why, output) = match &ended {
            Ok(Merged { failed: None, .. }) => (None, None),
            Ok(Merged { failed: Some(failed), .. }) => {
                (Some(failed.message.clone()), failed.output.clone())
            }
            Err(error) => (Some(error.to_string()), None),
        };
        let ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let passed = why.is_none();
        self.announce(EventKind::VerificationFinished { number, passed, ms, why, output });
        ended
    }
}

fn impossible(error: &IsolationError) -> VerificationError {
    VerificationError::Impossible(error.to_failure().message)
}

/// Formats a limit: `90s`, `30m`, `1h30m`.
fn duration(limit: Duration) -> String {
    let seconds = limit.as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, _) if seconds == 0 => format!("{}ms", limit.as_millis()),
        (0, minutes, 0) => format!("{minutes}m"),
        (0, _, _) => format!("{seconds}s"),
        (hours, 0, _) => format!("{hours}h"),
        (hours, minutes, _) => format!("{hours}h{minutes}m"),
    }
}
