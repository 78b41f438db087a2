//! The tool `bash`: runs a command, keeps its output, and says both ends of it.

mod output;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use engine::ports::{
    CancelLevel, CommandEnd, CommandError, CommandRequest, EndCause, ToolAnswer, ToolConcurrency,
    ToolText,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::time::sleep;

use self::output::{Output, output};
use crate::arguments::rename;
use crate::builtin::{Builtin, Errand};
use crate::desk::Desk;
use crate::shown;
use crate::tree::{Found, PathError};
use crate::trouble::Trouble;

/// Runs commands.
pub(crate) struct Bash;

/// How many seconds a command has if nothing else is said.
const TIMEOUT: u64 = 300;

/// What keeps programs from waiting for somebody at a terminal.
const NOBODY: &[(&str, &str)] =
    &[("PAGER", "cat"), ("GIT_PAGER", "cat"), ("GIT_TERMINAL_PROMPT", "0"), ("TERM", "dumb")];

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
    const CAPABILITY: &'static str = "F097";
    const DESCRIPTION: &'static str = "Runs a shell command (sh -c) in the folder you are in and \
        returns what it prints, standard output and error together. Nobody can answer it, and \
        what it leaves in the background is ended with it. Of long output the beginning and the \
        end are returned; the rest is in a file that is named. Commands of one answer run side by \
        side: put what depends on each other into one command.";
    // What a command sees and changes is not known, but models are told that calls of one answer
    // run side by side. Those that are known to change something still wait, and are waited for.
    const CONCURRENCY: ToolConcurrency = ToolConcurrency::Shared;
    const EXAMPLE: &'static str = r#"{"command":"cargo test --quiet","timeout":600}"#;

    type Arguments = BashArguments;

    fn reshape(arguments: &mut Map<String, Value>) {
        rename(arguments, "command", &["cmd", "script"]);
        rename(arguments, "cwd", &["workdir", "dir", "directory"]);
    }

    async fn call(
        arguments: BashArguments,
        desk: Arc<Desk>,
        errand: Errand,
    ) -> Result<ToolAnswer, Trouble> {
        if arguments.command.contains('\0') {
            return Err(Trouble::Arguments("the command has a NUL in it".to_owned()));
        }
        let (folder, file) = place(&desk, arguments.cwd.clone()).await?;
        let request = CommandRequest {
            // Through one pipe, or what went wrong may come before what came before it.
            script: format!("exec 2>&1; {}", arguments.command),
            arguments: Vec::new(),
            folder,
            environment: environment(&desk),
            output: file.clone(),
            keep: desk.keep,
        };
        let seconds = arguments.timeout.unwrap_or(TIMEOUT).clamp(1, 3600);
        let ran = run(&desk, request, errand, Duration::from_secs(seconds)).await?;
        let (kept, end) = (file.clone(), ran.end.clone());
        let said = desk.aside(move || Ok(output(&kept, &end))).await?;
        Ok(answer(&ran, seconds, said, &file))
    }
}

/// Finds the folder to run in, and a file for the output.
async fn place(desk: &Desk, cwd: Option<String>) -> Result<(PathBuf, PathBuf), Trouble> {
    let (tree, artifacts) = (Arc::clone(&desk.tree), Arc::clone(&desk.artifacts));
    desk.aside(move || {
        let path = cwd.as_deref().unwrap_or(".");
        let folder = match tree.find(path)? {
            Found::Folder { path, .. } => tree.absolute(&path),
            found @ Found::Missing { .. } => return Err(tree.missing(path, &found).into()),
            Found::File { path: blocked, .. } => {
                let (path, blocked) = (shown::quote(path), shown::path(&blocked));
                return Err(PathError::NotFolder { path, blocked }.into());
            }
        };
        Ok((folder, artifacts.take(Bash::NAME)))
    })
    .await
}

fn environment(desk: &Desk) -> BTreeMap<String, OsString> {
    let nobody = NOBODY.iter().map(|(name, value)| ((*name).to_owned(), OsString::from(value)));
    let mut environment: BTreeMap<_, _> = nobody.collect();
    environment.extend(desk.environment.clone());
    environment
}

/// A command that has ended.
struct Ran {
    end: CommandEnd,
    /// What stopped it.
    stopped_by: StoppedBy,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum StoppedBy {
    Nobody,
    Time,
    Session,
}

async fn run(
    desk: &Desk,
    request: CommandRequest,
    errand: Errand,
    time: Duration,
) -> Result<Ran, CommandError> {
    let stop = errand.stop.child();
    let mut running = pin!(desk.commands.run(request, errand.line, stop.clone()));
    let (end, is_late) = tokio::select! {
        biased;
        end = &mut running => (end?, false),
        () = sleep(time) => {
            stop.cancel(CancelLevel::Gently);
            (running.await?, true)
        }
    };
    let asked = errand.stop.is_cancelled();
    let stopped_by = match end.cause {
        EndCause::Stopped if asked => StoppedBy::Session,
        EndCause::Stopped if is_late => StoppedBy::Time,
        EndCause::Stopped | EndCause::Exited(_) | EndCause::Signalled(_) => StoppedBy::Nobody,
    };
    Ok(Ran { end, stopped_by })
}

fn answer(ran: &Ran, seconds: u64, output: Output, file: &Path) -> ToolAnswer {
    let mut text = output.text;
    if let Some(notice) = output.notice {
        let _infallible = write!(text, "\n\n[{notice}]");
    }
    let trouble = match (ran.stopped_by, ran.end.cause) {
        (StoppedBy::Time, _) => Some(format!("Command timed out after {seconds} seconds")),
        (StoppedBy::Session, _) | (StoppedBy::Nobody, EndCause::Stopped) => {
            Some(Trouble::Aborted.told())
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
    let details = Some(json!({
        "exitCode": code, "bytes": ran.end.written, "truncated": output.is_cut,
        "artifact": file.file_name().map(|name| name.to_string_lossy()),
    }));
    match trouble {
        None => ToolAnswer::Said(ToolText { text, details }),
        Some(trouble) => {
            let _infallible = write!(text, "\n\n{trouble}");
            ToolAnswer::Failed(ToolText { text, details })
        }
    }
}

#[cfg(test)]
mod tests;
