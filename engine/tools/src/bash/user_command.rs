//! The commands that the user of a session runs, with the means of the tool `bash`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use engine::ports::{
    Artifacts, CancelToken, CommandError, CommandOwner, CommandRequest, CommandTerminal, EndCause,
    LineSink, ShortOutput,
};

use super::output::output;
use super::user_shell::UserShells;
use super::{Bash, environment};
use crate::builtin::Builtin as _;

/// What shells add to the number of a signal that has ended a command.
const SIGNALLED: i32 = 128;

/// Runs commands of the user of a session.
#[derive(Clone)]
pub struct UserShell {
    /// Owns the commands: what they leave in the background ends with it.
    pub commands: Arc<dyn CommandOwner>,
    /// The user's shell.
    pub shells: Arc<UserShells>,
    /// Where their whole output is kept.
    pub artifacts: Arc<dyn Artifacts>,
    /// The folder of the session.
    pub folder: PathBuf,
    /// The maximum number of bytes of output to keep.
    pub keep: u64,
}

/// A command of the user that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserCommandEnd {
    /// Its output, or the beginning and the end of it.
    pub output: String,
    /// The exit code; for a command that a signal has ended, 128 and its number. `None` if it was
    /// stopped.
    pub exit_code: Option<i32>,
    /// The file with the whole output, if only a part of it is in `output`.
    pub full_output: Option<PathBuf>,
}

impl UserShell {
    /// Runs a command until it ends or is stopped. It may take as long as it needs. `line` receives
    /// lines of its output.
    ///
    /// # Errors
    /// It cannot be started, or its output cannot be kept.
    pub async fn run(
        &self,
        command: &str,
        line: LineSink,
        stop: CancelToken,
    ) -> Result<UserCommandEnd, CommandError> {
        let artifact = self.artifacts.reserve(Bash::NAME).await;
        let shell = self.shells.get(self.commands.as_ref(), &stop).await;
        let (script, arguments) = shell.script((None, command), None);
        let request = CommandRequest {
            script,
            arguments,
            folder: self.folder.clone(),
            environment: environment(&BTreeMap::new()),
            output: artifact.path.clone(),
            keep: self.keep,
            short: ShortOutput::Memory,
            terminal: CommandTerminal::None,
        };
        let end = self.commands.run(request, line, stop).await?;
        let exit_code = match end.cause {
            EndCause::Exited(code) => Some(code),
            EndCause::Signalled(signal) => Some(SIGNALLED + signal),
            EndCause::Stopped => None,
        };
        let shown = match end.written {
            0 => None,
            _ => Some(output(self.artifacts.as_ref(), &artifact, &end).await),
        };
        let is_cut = shown.as_ref().is_some_and(|shown| shown.is_cut);
        let full_output = is_cut.then_some(artifact.path);
        let output = shown.map(|shown| shown.text).unwrap_or_default();
        Ok(UserCommandEnd { output, exit_code, full_output })
    }
}
