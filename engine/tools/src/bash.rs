//! The tool `bash`: runs a shell command and returns its output, or both ends of long output.

mod output;
pub(crate) mod user_command;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use engine::ports::{
    Access, AccessClass, Artifact, CancelLevel, CommandEnd, CommandError, CommandRequest,
    Concurrency, EndCause, Found, ShortOutput, ToolContext, ToolOutcome, ToolOutput, WorkspaceView,
};
use protocol::quote;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::time::sleep;

use self::output::{Output, output};
use crate::builtin::{Builtin, Session, ShownPart, rename, text};
use crate::display;
use crate::error::{PathError, ToolError};
use crate::paths::Paths;

/// The tool `bash`.
pub(crate) struct Bash(Arc<Session>);

/// The default timeout in seconds.
const TIMEOUT: u64 = 300;

/// Variables that keep programs from waiting for input at a terminal.
const NON_INTERACTIVE: &[(&str, &str)] =
    &[("PAGER", "cat"), ("GIT_PAGER", "cat"), ("TERM", "dumb")];

/// What to run.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BashArguments {
    /// The command, for /bin/sh.
    command: String,
    /// After how many seconds it is stopped; 300 if left out.
    #[schemars(range(min = 1, max = 3600))]
    timeout: Option<u64>,
    /// The folder to run it in, relative to the folder you are in.
    cwd: Option<String>,
}

impl Builtin for Bash {
    const NAME: &'static str = "bash";
    const DESCRIPTION: &'static str = "Runs a shell command (sh -c) in the folder you are in and \
        returns what it prints, standard output and error together. It gets no input, and \
        what it leaves in the background is ended with it. Of long output the beginning and the \
        end are returned; the rest is in a file that is named. Commands of one answer run side by \
        side: put what depends on each other into one command.";
    const EXAMPLE: &'static str = r#"{"command":"cargo test --quiet","timeout":600}"#;

    const SHOWN_PART: ShownPart = ShownPart::End;

    type Arguments = BashArguments;

    fn reshape(arguments: &mut Map<String, Value>) {
        rename(arguments, "command", &["cmd", "script"]);
        rename(arguments, "cwd", &["workdir", "dir", "directory"]);
    }

    fn new(session: &Arc<Session>) -> Self {
        Self(Arc::clone(session))
    }

    // The engine cannot know what a command changes. Commands run concurrently all the same: the
    // description of the tool tells models so. Tools that change files are exclusive.
    fn classify(arguments: &Map<String, Value>) -> Access {
        let (command, folder) = (text(arguments, "command"), text(arguments, "cwd"));
        let class = AccessClass::Exec { command, folder };
        Access { class, concurrency: Concurrency::Shared }
    }

    async fn run(
        &self,
        arguments: BashArguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        if arguments.command.contains('\0') {
            return Err(ToolError::Arguments("the command has a NUL in it".to_owned()));
        }
        let env = &self.0.env;
        let cwd = arguments.cwd.as_deref().unwrap_or(".");
        let folder = folder(context.view.as_ref(), &self.0.paths, cwd).await?;
        let artifact = context.artifacts.reserve(Self::NAME).await;
        let request = CommandRequest {
            short: ShortOutput::Memory,
            // Standard output and standard error share one pipe, which keeps their order.
            script: format!("exec 2>&1; {}", arguments.command),
            arguments: Vec::new(),
            folder,
            environment: environment(&env.environment),
            output: artifact.path.clone(),
            keep: env.keep,
        };
        let seconds = arguments.timeout.unwrap_or(TIMEOUT).clamp(1, 3600);
        let ran = run(context, request, Duration::from_secs(seconds)).await?;
        let shown = output(context.artifacts.as_ref(), &artifact, &ran.end).await;
        Ok(outcome(&ran, seconds, shown, artifact))
    }
}

/// Returns the absolute path of the folder in which the command runs, as processes see it.
async fn folder(view: &dyn WorkspaceView, paths: &Paths, cwd: &str) -> Result<PathBuf, PathError> {
    match paths.find(view, cwd).await? {
        // Joining an empty path would leave a slash at the end.
        Found::Folder(path) if path.split().is_none() => Ok(view.process_root().to_owned()),
        Found::Folder(path) => Ok(view.process_root().join(path.as_path())),
        found @ Found::Missing { .. } => Err(paths.missing(view, cwd, &found).await),
        Found::File { path: blocked, .. } => Err(PathError::NotFolder {
            path: quote(cwd),
            blocked: display::path(blocked.as_path()),
        }),
    }
}

fn environment(added: &BTreeMap<String, OsString>) -> BTreeMap<String, OsString> {
    let defaults =
        NON_INTERACTIVE.iter().map(|(name, value)| ((*name).to_owned(), OsString::from(value)));
    let mut environment: BTreeMap<_, _> = defaults.collect();
    environment.extend(added.clone());
    environment
}

/// A command that has ended, and whether its timeout or its session stopped it.
struct FinishedCommand {
    end: CommandEnd,
    stopped_by: StoppedBy,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum StoppedBy {
    Nobody,
    Time,
    Session,
}

async fn run(
    context: &ToolContext,
    request: CommandRequest,
    time: Duration,
) -> Result<FinishedCommand, CommandError> {
    let cancel = context.cancel.child();
    let mut running =
        pin!(context.commands.run(request, Arc::clone(&context.progress), cancel.clone()));
    let (end, is_late) = tokio::select! {
        biased;
        end = &mut running => (end?, false),
        () = sleep(time) => {
            cancel.cancel(CancelLevel::Gently);
            (running.await?, true)
        }
    };
    let asked = context.cancel.is_cancelled();
    let stopped_by = match end.cause {
        EndCause::Stopped if asked => StoppedBy::Session,
        EndCause::Stopped if is_late => StoppedBy::Time,
        EndCause::Stopped | EndCause::Exited(_) | EndCause::Signalled(_) => StoppedBy::Nobody,
    };
    Ok(FinishedCommand { end, stopped_by })
}

fn outcome(ran: &FinishedCommand, seconds: u64, output: Output, artifact: Artifact) -> ToolOutcome {
    let mut text = output.text;
    if let Some(notice) = output.notice {
        let _infallible = write!(text, "\n\n[{notice}]");
    }
    let problem = match (ran.stopped_by, ran.end.cause) {
        (StoppedBy::Time, _) => Some(format!("Command timed out after {seconds} seconds")),
        (StoppedBy::Session, _) | (StoppedBy::Nobody, EndCause::Stopped) => {
            Some(ToolError::Aborted.message())
        }
        (StoppedBy::Nobody, EndCause::Exited(0)) => None,
        (StoppedBy::Nobody, EndCause::Exited(code)) => {
            Some(format!("Command exited with code {code}"))
        }
        (StoppedBy::Nobody, EndCause::Signalled(signal)) => {
            Some(format!("Command was ended by signal {signal}"))
        }
    };
    let code = match ran.end.cause {
        EndCause::Exited(code) => Some(code),
        EndCause::Signalled(_) | EndCause::Stopped => None,
    };
    let mut details =
        json!({ "exitCode": code, "bytes": ran.end.written, "truncated": output.is_cut });
    if ran.end.output.is_none() {
        details["artifact"] = artifact.name.into();
    }
    match problem {
        None => ToolOutcome::Output(ToolOutput::text(text).with_details(details)),
        Some(problem) => {
            let text = format!("{text}\n\n{problem}");
            ToolOutcome::Failed(ToolOutput::text(text).with_details(details))
        }
    }
}
