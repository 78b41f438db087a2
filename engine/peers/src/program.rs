//! The process of a server, its streams, and its end.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use engine::ports::{
    McpTransport, Namespaces, Process, ProcessEnd, ProcessRequest, ProcessSession, ProcessSignal,
    ProcessStdio, Processes,
};
use tempfile::TempDir;
use tokio::net::unix::pipe;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::ending::Ending;
use crate::lines::Lines;
use crate::stderr_ring::StderrRing;

/// How long a server may take to end after the end of its standard input, then after SIGTERM, and then after SIGKILL.
const AFTER_INPUT: Duration = Duration::from_millis(300);
const AFTER_TERM: Duration = Duration::from_millis(400);
const AFTER_KILL: Duration = Duration::from_millis(200);

/// How long the output of a process that has ended is read on. Another process may hold it open.
const LAST_OUTPUT: Duration = Duration::from_millis(300);

/// The process of a server. Dropping it kills the process, and everything that it started.
#[derive(Debug)]
pub(crate) struct Program {
    end: watch::Receiver<Option<String>>,
    stderr: StderrRing,
    closing: CancellationToken,
    _keeper: AbortOnDropHandle<()>,
    /// Cancelled when all of standard error has been read.
    stderr_end: CancellationToken,
    _stderr_reader: AbortOnDropHandle<()>,
}

impl Program {
    /// Starts the program of a definition, and returns it with the lines that it reads and writes.
    ///
    /// # Errors
    /// The text of the error says what cannot be done.
    pub(crate) async fn start(
        processes: Arc<dyn Processes>,
        transport: &McpTransport,
        ending: Ending,
    ) -> Result<(Self, Lines), String> {
        let pipes = Pipes::new().map_err(|error| format!("cannot make pipes: {error}"))?;
        let (folder, request) = request(transport, pipes.theirs)?;
        let process = processes.start(request).await.map_err(|error| {
            match std::error::Error::source(&error) {
                Some(source) => format!("{error}: {source}"),
                None => error.to_string(),
            }
        })?;
        let (closing, gone) = (CancellationToken::new(), CancellationToken::new());
        let (ended, end) = watch::channel(None);
        let kept = Kept { process, _folder: folder, _processes: processes };
        let keeper = tokio::spawn(keep(kept, closing.clone(), ended, gone.clone()));
        let stderr = StderrRing::default();
        let stderr_end = CancellationToken::new();
        let (fill, end_guard) = (stderr.clone().fill(pipes.error), stderr_end.clone().drop_guard());
        let reader = tokio::spawn(async move {
            fill.await;
            drop(end_guard);
        });
        let program = Self {
            end,
            stderr,
            closing: closing.clone(),
            _keeper: AbortOnDropHandle::new(keeper),
            stderr_end,
            _stderr_reader: AbortOnDropHandle::new(reader),
        };
        Ok((program, Lines::new(pipes.input, pipes.output, closing, gone, ending)))
    }

    /// Waits until the process has ended, and returns how.
    pub(crate) async fn ended(&self) -> String {
        let mut end = self.end.clone();
        let how = end.wait_for(Option::is_some).await.map(|how| how.clone().unwrap_or_default());
        how.unwrap_or_else(|_gone| "was ended".to_owned())
    }

    /// Returns how the process has ended, if it has.
    pub(crate) fn end(&self) -> Option<String> {
        self.end.borrow().clone()
    }

    /// Waits until all of standard error has been read.
    pub(crate) async fn stderr_read(&self) {
        self.stderr_end.cancelled().await;
    }

    /// Returns the last lines of standard error.
    pub(crate) fn stderr_tail(&self) -> Vec<String> {
        self.stderr.tail()
    }

    /// Ends the process, in less than a second.
    pub(crate) async fn close(&self) {
        self.closing.cancel();
        self.ended().await;
    }
}

/// What lives as long as a process.
struct Kept {
    process: Box<dyn Process>,
    /// The folder of a server that has no other.
    _folder: Option<TempDir>,
    _processes: Arc<dyn Processes>,
}

/// Waits until the process has ended or is to be closed, and then ends everything that it started.
async fn keep(
    mut kept: Kept,
    closing: CancellationToken,
    ended: watch::Sender<Option<String>>,
    gone: CancellationToken,
) {
    let end = tokio::select! {
        end = kept.process.wait() => Some(end),
        () = closing.cancelled() => close(kept.process.as_mut()).await,
    };
    kept.process.signal(ProcessSignal::Kill);
    let how = match end {
        Some(Ok(ProcessEnd::Exited(code))) => format!("ended with exit code {code}"),
        Some(Ok(ProcessEnd::Signalled(signal))) => format!("was ended by signal {signal}"),
        Some(Err(_)) | None => "was killed".to_owned(),
    };
    // The owner kills what left the group of the process.
    drop(kept);
    ended.send_replace(Some(how));
    tokio::time::sleep(LAST_OUTPUT).await;
    gone.cancel();
}

/// Ends a process whose standard input is being closed.
async fn close(
    process: &mut dyn Process,
) -> Option<Result<ProcessEnd, engine::ports::CommandError>> {
    if let Ok(end) = timeout(AFTER_INPUT, process.wait()).await {
        return Some(end);
    }
    process.signal(ProcessSignal::Terminate);
    if let Ok(end) = timeout(AFTER_TERM, process.wait()).await {
        return Some(end);
    }
    process.signal(ProcessSignal::Kill);
    timeout(AFTER_KILL, process.wait()).await.ok()
}

/// The pipes between this side and a process.
struct Pipes {
    input: pipe::Sender,
    output: pipe::Receiver,
    error: pipe::Receiver,
    theirs: ProcessStdio,
}

impl Pipes {
    fn new() -> io::Result<Self> {
        let (their_input, input) = io::pipe()?;
        let (output, their_output) = io::pipe()?;
        let (error, their_error) = io::pipe()?;
        Ok(Self {
            input: pipe::Sender::from_owned_fd(input.into())?,
            output: pipe::Receiver::from_owned_fd(output.into())?,
            error: pipe::Receiver::from_owned_fd(error.into())?,
            theirs: ProcessStdio {
                input: their_input.into(),
                output: their_output.into(),
                error: their_error.into(),
            },
        })
    }
}

/// Returns the request to start the program of a definition, and its folder if it has one of its own.
fn request(
    transport: &McpTransport,
    stdio: ProcessStdio,
) -> Result<(Option<TempDir>, ProcessRequest), String> {
    let McpTransport::Stdio { command, arguments, environment, folder } = transport else {
        return Err("it has no program".to_owned());
    };
    let own =
        match folder {
            Some(_) => None,
            None => Some(tempfile::Builder::new().prefix("regatta-mcp-").tempdir().map_err(
                |error| format!("cannot make an empty folder for it to start in: {error}"),
            )?),
        };
    let path = own.as_ref().map(TempDir::path).or(folder.as_deref()).unwrap_or("/".as_ref());
    let folder = File::open(path)
        .map_err(|error| format!("cannot start in the folder {}: {error}", path.display()))?;
    let request = ProcessRequest {
        argv: std::iter::once(command).chain(arguments).cloned().collect(),
        environment: environment.clone(),
        folder: folder.into(),
        stdio,
        session: ProcessSession::Detached,
        limits: std::collections::BTreeMap::new(),
        namespaces: Namespaces::Shared,
    };
    Ok((own, request))
}
