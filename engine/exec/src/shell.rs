//! Runs commands with `/bin/sh`: one command, from its request to its end.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use engine::ports::{
    CancelToken, CommandEnd, CommandError, CommandOwner, CommandRequest, CommandTerminal, Commands,
    EndCause, Namespaces, OwnerEnd, ProcessRequest, ProcessSession, ProcessStdio,
    SHORT_OUTPUT_BYTES, ShortOutput, VariableChoice,
};
use rustix::fs::{Mode, OFlags, open};
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use crate::command_error::command_error;
use crate::environment::BaseEnvironment;
use crate::lines::RESULT_LIMIT;
use crate::output::{CollectedOutput, OutputStreams, collect_output};
use crate::output_file::OutputFile;
use crate::owner::Owner;
use crate::owner_environment::OwnerEnvironment;
use crate::processes::Processes;
use crate::running::{until_given_up, wait_or_stop};
use crate::slots::Slots;
use crate::start_message::AfterExit;
use crate::temporary_folders::TemporaryFolders;
use crate::terminal::{InputEnd, Terminal, terminal};

/// The default time between SIGTERM and SIGKILL when a command is stopped.
pub const GRACE: Duration = Duration::from_millis(700);

/// Runs commands with `/bin/sh`.
#[derive(Debug)]
pub struct Shell {
    environment: Arc<BaseEnvironment>,
    grace: Duration,
    processes: Processes,
    slots: Arc<Slots>,
    temporary: Option<TemporaryFolders>,
}

impl Shell {
    /// Returns a shell whose commands start with `environment`. When a command is stopped, `grace` is
    /// the time between SIGTERM and SIGKILL.
    #[must_use]
    pub fn new(environment: BaseEnvironment, grace: Duration, processes: Processes) -> Self {
        let environment = Arc::new(environment);
        Self { environment, grace, processes, slots: Arc::default(), temporary: None }
    }

    /// Returns the shell, which gives each owner of a workspace's commands a temporary folder of its
    /// own.
    #[must_use]
    pub fn with_temporary(self, folders: TemporaryFolders) -> Self {
        Self { temporary: Some(folders), ..self }
    }

    /// Returns the process to start for a command, and the reading ends of its output.
    fn process(
        environment: &BaseEnvironment,
        request: &CommandRequest,
    ) -> io::Result<(ProcessRequest, Output)> {
        let words = ["/bin/sh", "-c", &request.script, "sh"].into_iter();
        let words = words.chain(request.arguments.iter().map(String::as_str));
        let (stdio, session, output) = match request.terminal {
            CommandTerminal::None => {
                let (output, output_end) = io::pipe()?;
                let (error, error_end) = io::pipe()?;
                let stdio = ProcessStdio {
                    input: File::open("/dev/null")?.into(),
                    output: output_end.into(),
                    error: error_end.into(),
                };
                let output = Output::Pipes { output: output.into(), error: error.into() };
                (stdio, ProcessSession::Detached, output)
            }
            CommandTerminal::Own => {
                let Terminal { other_end, end } = terminal()?;
                let input_end = InputEnd::of(end.try_clone()?);
                let (output, error) = (end.try_clone()?, end.try_clone()?);
                let stdio = ProcessStdio { input: end, output, error };
                (stdio, ProcessSession::Terminal, Output::Terminal { other_end, input_end })
            }
        };
        let process = ProcessRequest {
            argv: words.map(OsString::from).collect(),
            environment: environment.with(&request.environment),
            folder: folder(&request.folder)?,
            stdio,
            session,
            limits: BTreeMap::new(),
            namespaces: Namespaces::Shared,
        };
        Ok((process, output))
    }
}

/// What a command's output is read from.
enum Output {
    Pipes { output: OwnedFd, error: OwnedFd },
    Terminal { other_end: OwnedFd, input_end: InputEnd },
}

fn folder(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(open(path, flags, Mode::empty())?)
}

impl Commands for Shell {
    fn owner(self: Arc<Self>, variables: &VariableChoice) -> Arc<dyn CommandOwner> {
        Arc::new(self.owner_with(variables, None))
    }

    fn workspace_owner(self: Arc<Self>, variables: &VariableChoice) -> Arc<dyn CommandOwner> {
        let own = OwnerEnvironment::new(Arc::clone(&self.slots), self.temporary.clone());
        Arc::new(self.owner_with(variables, Some(own)))
    }
}

impl Shell {
    fn owner_with(&self, variables: &VariableChoice, own: Option<OwnerEnvironment>) -> ShellOwner {
        let environment = match *variables == VariableChoice::default() {
            true => Arc::clone(&self.environment),
            false => Arc::new(self.environment.of_owner(variables)),
        };
        ShellOwner { environment, grace: self.grace, owner: self.processes.owner(), own }
    }
}

/// The owner of commands of a shell.
struct ShellOwner {
    environment: Arc<BaseEnvironment>,
    grace: Duration,
    owner: Owner,
    /// What its commands have of their own; `None` for those of a session or of the user.
    own: Option<OwnerEnvironment>,
}

#[async_trait]
impl CommandOwner for ShellOwner {
    async fn run(
        &self,
        mut request: CommandRequest,
        line: Arc<dyn Fn(String) + Send + Sync>,
        stop: CancelToken,
    ) -> Result<CommandEnd, CommandError> {
        let keep_output = format!("keep the output of the command in {:?}", request.output);
        let file = create(&request).await.map_err(|error| command_error(&keep_output, error))?;
        if stop.is_cancelled() {
            return Ok(not_started());
        }
        let mut starting = None;
        if let Some(own) = &self.own {
            let (variables, begun) = own.begin().await;
            request.environment.extend(variables);
            starting = Some(begun);
        }

        let start = format!("start the command in {:?}", request.folder);
        let process = Shell::process(&self.environment, &request)
            .map_err(|error| command_error(&start, error));
        let (process, output) = process?;
        let asked = Instant::now();
        let started = tokio::select! {
            biased;
            started = self.owner.start_command(process, AfterExit::KillGroup, &start) => started,
            () = until_given_up(&stop, self.grace) => return Ok(not_started()),
        };
        let mut running = started?;
        drop(starting);
        let launch = asked.elapsed();
        let streams = match output {
            Output::Pipes { output, error } => OutputStreams::new(output, error),
            Output::Terminal { other_end, input_end } => {
                OutputStreams::of_terminal(other_end, input_end)
            }
        };
        let streams =
            streams.map_err(|error| command_error("read what the command writes", error))?;

        let gone = CancellationToken::new();
        let controlled = async {
            let cause = wait_or_stop(&mut running, &stop, self.grace).await;
            gone.cancel();
            cause
        };
        // What is short enough for memory is not a result of a task.
        let limit = match request.short {
            ShortOutput::Memory => SHORT_OUTPUT_BYTES,
            ShortOutput::File | ShortOutput::FileUnlessEmpty => RESULT_LIMIT,
        };
        let collected = collect_output(streams, (file, limit), line, &gone);
        let (cause, pumped) = tokio::join!(controlled, collected);
        let what = || "run the command to its end".to_owned();
        let cause = cause.map_err(|source| CommandError::Launcher { what: what(), source })?;
        let CollectedOutput { last_line, failure_line, written: output, held } =
            pumped.map_err(|error| command_error(&keep_output, error))?;
        if let Some(error) = output.error {
            // Lost output does not change the outcome of a command that was stopped on request.
            if cause != EndCause::Stopped {
                return Err(command_error(&keep_output, error));
            }
            tracing::warn!(%error, "the output of a stopped command was not kept whole");
        }
        let (written, dropped) = (output.bytes, output.dropped);
        let failure_line = failure_line.filter(|_| cause != EndCause::Exited(0));
        Ok(CommandEnd { cause, last_line, failure_line, written, dropped, output: held, launch })
    }

    async fn end(&self) -> OwnerEnd {
        match &self.own {
            Some(own) => own.end(self.owner.end()).await,
            None => self.owner.end().await,
        }
    }

    async fn end_for_good(&self) -> OwnerEnd {
        let end = self.end().await;
        if let Some(own) = &self.own {
            own.release_slot().await;
        }
        end
    }

    async fn remove_temporary(&self) {
        if let Some(own) = &self.own {
            own.remove_folder().await;
        }
    }
}

/// Returns the end of a command that was stopped before it had started.
fn not_started() -> CommandEnd {
    CommandEnd {
        cause: EndCause::Stopped,
        last_line: None,
        failure_line: None,
        written: 0,
        dropped: 0,
        output: Some(Vec::new()),
        launch: Duration::ZERO,
    }
}

async fn create(request: &CommandRequest) -> io::Result<OutputFile> {
    let (path, keep) = (request.output.clone(), request.keep);
    match request.short {
        ShortOutput::Memory => Ok(OutputFile::in_memory_while_short(&path, keep)),
        ShortOutput::File => spawn_blocking(move || OutputFile::create(&path, keep)).await?,
        ShortOutput::FileUnlessEmpty => match OutputFile::absent(&path, keep) {
            Some(file) => Ok(file),
            None => spawn_blocking(move || OutputFile::create_when_written(&path, keep)).await?,
        },
    }
}
