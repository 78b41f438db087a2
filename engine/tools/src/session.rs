//! The state that the built-in tools of one session share.

use std::panic::resume_unwind;
use std::sync::Arc;

use engine::failpoint;
use engine::fault::Faults;
use engine::ports::{CancelToken, Replace, Syntax, ToolEnv, ViewError, ViewPath, WorkspaceView};
use tokio::sync::{Mutex, MutexGuard};
use tokio::task::spawn_blocking;

use crate::background::BackgroundCommands;
use crate::bash::folders::Folders;
use crate::bash::user_shell::UserShells;
use crate::change::change_since;
use crate::error::{FileError, ToolError};
use crate::images::ImageSizes;
use crate::paths::Paths;
use crate::seen_files::SeenFiles;

/// The state that the built-in tools of one session share.
pub(crate) struct Session {
    /// The environment the tools were built for.
    pub(crate) env: ToolEnv,
    /// Resolves the paths of the model.
    pub(crate) paths: Paths,
    /// The user's shell.
    pub(crate) shells: Arc<UserShells>,
    /// The folders of named sessions of commands.
    pub(crate) folders: Folders,
    /// The commands in the background.
    pub(crate) background: BackgroundCommands,
    /// Whether images for the model are made smaller.
    pub(crate) images: ImageSizes,
    /// Knows the syntax of languages, if the program does.
    pub(crate) syntax: Option<Arc<dyn Syntax>>,
    /// The files that the session has seen.
    pub(crate) seen: SeenFiles,
    /// The lock that a call holds while it changes a file. One file may have several paths, so all
    /// files share one lock. Waiting calls get the lock in the order in which they asked for it.
    changes: Mutex<()>,
    faults: Faults,
}

impl Session {
    /// Returns the state for tools built for `env`.
    pub(crate) fn new(
        env: ToolEnv,
        shells: Arc<UserShells>,
        images: ImageSizes,
        faults: Faults,
    ) -> Self {
        let paths = Paths::new(env.subfolder.clone(), env.repo.clone());
        let (folders, background) = (Folders::default(), BackgroundCommands::default());
        Self {
            env,
            paths,
            shells,
            folders,
            background,
            images,
            syntax: None,
            seen: SeenFiles::default(),
            changes: Mutex::default(),
            faults,
        }
    }

    /// Returns the state with what knows the syntax of languages.
    pub(crate) fn with_syntax(self, syntax: Option<Arc<dyn Syntax>>) -> Self {
        Self { syntax, ..self }
    }

    /// Refuses to overwrite a file, with this content, that has changed since the session has seen it. The
    /// error says how, and the file counts as seen then.
    pub(crate) async fn refuse_unseen(
        &self,
        path: &ViewPath,
        shown: &str,
        content: &[u8],
    ) -> Result<(), ToolError> {
        let Some(before) = self.seen.change(path, content) else { return Ok(()) };
        let content = content.to_vec();
        let change = run_blocking(move || change_since(before, content)).await?;
        Err(FileError::ChangedSince { path: shown.to_owned(), change }.into())
    }

    /// Writes a file, which the session has seen then.
    pub(crate) async fn write(
        &self,
        view: &dyn WorkspaceView,
        path: &ViewPath,
        shown: &str,
        bytes: Vec<u8>,
        replace: Replace,
    ) -> Result<(), ToolError> {
        let mut glance = self.seen.glance();
        glance.push(&bytes);
        let written = match failpoint!(self.faults, "tool.file") {
            Ok(()) => view.write(path, bytes, replace).await,
            Err(error) => Err(ViewError::Failed(error)),
        };
        written.map_err(|error| FileError::of("write", shown, error))?;
        self.seen.saw(path, glance);
        Ok(())
    }

    /// Waits until no other call changes a file, and returns the guard that allows it.
    pub(crate) async fn lock_changes(
        &self,
        cancel: &CancelToken,
    ) -> Result<MutexGuard<'_, ()>, ToolError> {
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(ToolError::Aborted),
            guard = self.changes.lock() => Ok(guard),
        }
    }
}

/// Runs a long computation on a thread for blocking work.
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ToolError> {
    match spawn_blocking(work).await {
        Ok(done) => Ok(done),
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // The runtime is shutting down.
            Err(_) => Err(ToolError::Aborted),
        },
    }
}
