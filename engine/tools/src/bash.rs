//! The tool `bash`: runs a shell command and returns its output, or both ends of long output.

mod arguments;
pub(crate) mod folders;
mod output;
pub(crate) mod running;
pub(crate) mod user_command;
pub(crate) mod user_shell;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use engine::ports::{
    Access, AccessClass, Artifact, Background, CommandOwner, CommandRequest, CommandShell,
    CommandTerminal, Concurrency, Found, ShortOutput, ToolContext, ToolOutcome, ToolOutput,
    WorkspaceView,
};
use protocol::quote;
use serde_json::{Map, Value, json};

use self::arguments::BashArguments;
use self::folders::REPORT;
use self::output::{Output, output};
use self::running::{FinishedCommand, StoppedBy, run};
use self::user_shell::Shell;
use crate::builtin::{Builtin, Session, ShownPart, text};
use crate::display;
use crate::error::{PathError, ToolError};
use crate::paths::Paths;

/// The tool `bash`.
pub(crate) struct Bash(Arc<Session>);

/// The default timeout in seconds, and the longest.
const TIMEOUT: u64 = 300;
const LONGEST_TIMEOUT: u64 = 3600;

/// What programs take their own terminal for.
const TERM: &str = "xterm-256color";

/// Variables that keep programs from waiting for input at a terminal.
const NON_INTERACTIVE: &[(&str, &str)] =
    &[("PAGER", "cat"), ("GIT_PAGER", "cat"), ("TERM", "dumb")];

impl Builtin for Bash {
    const NAME: &'static str = "bash";
    const DESCRIPTION: &'static str = "Runs a command in the user's shell (sh, unless that is bash \
        or zsh), in the folder you are in, and returns what it prints, standard output and error \
        together. It gets no input, and what it leaves in the background is ended with it; with \
        background true it runs on itself, for instance a server, and job reads, awaits or ends \
        it. Of long output the first 10 KB and last 40 KB are returned; the result names the \
        rest. Commands of one answer run side by side: put what depends on each other into one \
        command.";
    const EXAMPLE: &'static str = r#"{"command":"cargo test --quiet","timeout":600}"#;

    const SHOWN_PART: ShownPart = ShownPart::End;

    type Arguments = BashArguments;

    fn reshape(arguments: &mut Map<String, Value>) {
        BashArguments::reshape(arguments);
    }

    fn new(session: &Arc<Session>) -> Self {
        Self(Arc::clone(session))
    }

    // The engine cannot know what a command changes. Commands run concurrently all the same: the
    // description of the tool tells models so. Tools that change files wait for them. Commands of a named
    // session run one after the other, because each begins where the one before has ended.
    fn classify(arguments: &Map<String, Value>) -> Access {
        let command = arguments::judged_command(arguments);
        let class = AccessClass::Exec { command, folder: text(arguments, "cwd") };
        let concurrency = match text(arguments, "session").is_empty() {
            true => Concurrency::Shared,
            false => Concurrency::Exclusive,
        };
        Access { class, concurrency }
    }

    fn access(&self, arguments: &Map<String, Value>) -> Access {
        let mut access = Self::classify(arguments);
        if let AccessClass::Exec { folder, .. } = &mut access.class
            && folder.is_empty()
            && let Some(carried) = self.0.folders.get(&text(arguments, "session"))
        {
            *folder = carried;
        }
        access
    }

    fn prepare(
        &self,
        shell: CommandShell,
        commands: &Arc<dyn CommandOwner>,
        background: &dyn Background,
    ) {
        match shell {
            CommandShell::User => self.0.shells.prepare(commands, background),
            CommandShell::Plain => {}
        }
    }

    async fn check(
        &self,
        arguments: BashArguments,
        view: &dyn WorkspaceView,
    ) -> Result<(), ToolError> {
        arguments.check()?;
        if let Some(cwd) = &arguments.cwd {
            folder(view, &self.0.paths, cwd).await?;
        }
        Ok(())
    }

    async fn run(
        &self,
        arguments: BashArguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        arguments.check()?;
        if let Some(name) = &arguments.session {
            self.0.folders.check(name)?;
        }
        let folder = self.folder(&arguments, context).await?;
        let artifact = context.artifacts.reserve(Self::NAME).await;
        let request = self.request(&arguments, context, (folder, &artifact)).await;
        let time = arguments.timeout.map(|seconds| seconds.clamp(1, LONGEST_TIMEOUT));
        if arguments.background == Some(true) {
            return self.start(arguments.command, context, (request, artifact), time);
        }
        let time = Duration::from_secs(time.unwrap_or(TIMEOUT));
        let sinks = (Arc::clone(&context.progress), &context.cancel);
        let ran = run(context.commands.as_ref(), request, sinks, Some(time)).await?;
        let mut shown = output(context.artifacts.as_ref(), &artifact, &ran.end).await;
        if let Some(name) = &arguments.session {
            let (last, tree) =
                (ran.end.last_line.as_deref(), (context.view.as_ref(), &self.0.paths));
            let said = self.0.folders.note(name, last, tree).await;
            shown.notices.extend(said);
        }
        Ok(outcome(&ran, time, shown, artifact))
    }
}

impl Bash {
    /// Returns the absolute path of the folder in which the command runs, as processes see it.
    async fn folder(
        &self,
        arguments: &BashArguments,
        context: &ToolContext,
    ) -> Result<PathBuf, ToolError> {
        let (view, paths) = (context.view.as_ref(), &self.0.paths);
        if let (None, Some(name)) = (&arguments.cwd, &arguments.session)
            && let Some(carried) = self.0.folders.get(name)
        {
            // The call was judged in that folder. If it was removed since, the next one starts elsewhere.
            let found = folder(view, paths, &carried).await;
            return Ok(found.inspect_err(|_| self.0.folders.forget(name))?);
        }
        Ok(folder(view, paths, arguments.cwd.as_deref().unwrap_or(".")).await?)
    }

    async fn request(
        &self,
        arguments: &BashArguments,
        context: &ToolContext,
        (folder, artifact): (PathBuf, &Artifact),
    ) -> CommandRequest {
        let Session { env, shells, .. } = self.0.as_ref();
        let shell = match context.shell {
            CommandShell::User => shells.get(context.commands.as_ref(), &context.cancel).await,
            CommandShell::Plain => Shell::Plain,
        };
        let terminal = match arguments.pty {
            Some(true) => CommandTerminal::Own,
            Some(false) | None => CommandTerminal::None,
        };
        let mut added = env.environment.clone();
        if terminal == CommandTerminal::Own {
            added.insert("TERM".to_owned(), TERM.into());
        }
        let own = arguments.env.iter().flatten();
        added.extend(own.map(|(name, value)| (name.clone(), value.into())));
        let is_background = arguments.background == Some(true);
        let first = arguments.session.as_ref().filter(|_| !is_background).map(|_| REPORT);
        let path = added.get("PATH").map(OsString::as_os_str);
        let (script, parameters) = shell.script((first, &arguments.command), path);
        CommandRequest {
            // What runs in the background can be read meanwhile.
            short: if is_background { ShortOutput::File } else { ShortOutput::Memory },
            terminal,
            script,
            arguments: parameters,
            folder,
            environment: environment(&added),
            output: artifact.path.clone(),
            keep: env.keep,
        }
    }

    /// Starts the command in the background.
    fn start(
        &self,
        command: String,
        context: &ToolContext,
        (request, artifact): (CommandRequest, Artifact),
        seconds: Option<u64>,
    ) -> Result<ToolOutcome, ToolError> {
        let time = seconds.map(Duration::from_secs);
        let (name, uri) = (artifact.name.clone(), artifact.uri());
        let started = self.0.background.start(context, (command, artifact), request, time)?;
        let number = started.number;
        let text = format!(
            "Background command {number} is running; its output is {uri}. Its end reaches you as a \
             message; use job to read, await or end it."
        );
        let details = json!({ "id": number, "running": true, "artifact": name });
        Ok(ToolOutcome::Output(ToolOutput::text(text).with_details(details)))
    }
}

/// Returns the absolute path of the folder `cwd`, as processes see it.
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

fn outcome(
    ran: &FinishedCommand,
    time: Duration,
    output: Output,
    artifact: Artifact,
) -> ToolOutcome {
    let mut text = output.text;
    if !output.notices.is_empty() {
        let _infallible = write!(text, "\n\n[{}]", output.notices.join(". "));
    }
    let problem = ran.problem(Some(time)).map(|problem| match ran.stopped_by {
        StoppedBy::Request => ToolError::Aborted.message(),
        StoppedBy::Nobody | StoppedBy::Time => format!("Command {problem}"),
    });
    let mut details =
        json!({ "exitCode": ran.code(), "bytes": ran.end.written, "truncated": output.is_cut });
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
