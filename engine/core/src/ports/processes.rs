//! The ports for shell commands and for processes.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;

use super::CancelToken;

/// Runs commands, each in a process group of its own that does not outlive the call.
#[async_trait]
pub trait Commands: Send + Sync {
    /// Runs one command to its end, or to ours: when this returns, or its future is dropped,
    /// nothing of the command's process group is left.
    ///
    /// `line` is told each line of output, at most a few per second. Cancelled gently, it gets TERM,
    /// and KILL after the grace period; cancelled at once, KILL.
    async fn run(
        &self,
        request: CommandRequest,
        line: LineSink,
        stop: CancelToken,
    ) -> Result<CommandEnd, CommandError>;
}

/// Is given a line of output.
pub type LineSink = Arc<dyn Fn(String) + Send + Sync>;

/// One command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandRequest {
    /// What `/bin/sh -c` is given.
    pub script: String,
    /// Its `"$@"`.
    pub arguments: Vec<String>,
    /// Where it runs.
    pub folder: PathBuf,
    /// What is added to its environment.
    pub environment: BTreeMap<String, OsString>,
    /// Where its output goes: standard output and error as they come, whole up to `keep` bytes.
    pub output: PathBuf,
    /// How many bytes of output are kept. Of more, the first half of them and the last half are,
    /// with a line between them that says how many bytes were left out.
    pub keep: u64,
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandEnd {
    /// By itself or not.
    pub cause: EndCause,
    /// The last line of its standard output that is not blank, without its line break.
    pub last_line: Option<String>,
    /// How many bytes it wrote in all.
    pub written: u64,
    /// How many of them were left out of the middle because all were more than what is kept.
    pub dropped: u64,
}

/// What ended a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndCause {
    /// It ended with this code.
    Exited(i32),
    /// This signal ended it.
    Signalled(i32),
    /// It ended, or was ended, after it was asked to stop.
    Stopped,
}

/// Why a command could not be run.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The machine has no more of something: memory, processes, descriptors, disk.
    #[error("cannot {what}")]
    Resources {
        /// What was attempted.
        what: String,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// Anything else.
    #[error("cannot {what}")]
    Failed {
        /// What was attempted.
        what: String,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
}

/// Starts processes. Each leads a session and a process group of its own, of which nothing outlives
/// the engine.
#[async_trait]
pub trait Processes: Send + Sync {
    /// Starts a process. If the future is dropped before it ends, nothing is started, or what was
    /// is killed.
    ///
    /// # Errors
    /// The program cannot be started, or the machine is short of what that needs.
    async fn start(&self, request: ProcessRequest) -> Result<Box<dyn Process>, CommandError>;
}

/// A process that was started. Dropping it kills everything in its group.
#[async_trait]
pub trait Process: Send + Sync {
    /// Returns its number, which is that of its group as well.
    fn id(&self) -> u32;

    /// Signals everything in its group. That nothing is left to be signalled is no error.
    fn signal(&self, signal: ProcessSignal);

    /// Waits until it has ended. What else is in its group may still run.
    ///
    /// # Errors
    /// The system does not say.
    async fn wait(&mut self) -> Result<ProcessEnd, CommandError>;
}

/// Everything a process is started with. Nothing else is passed on: no variable, no descriptor.
#[derive(Debug)]
pub struct ProcessRequest {
    /// The program and its arguments. A program without a slash is looked up in the `PATH` of
    /// `environment`.
    pub argv: Vec<OsString>,
    /// Its whole environment.
    pub environment: BTreeMap<OsString, OsString>,
    /// The folder in which it starts.
    pub folder: OwnedFd,
    /// Its standard streams.
    pub stdio: ProcessStdio,
    /// Whether it has a terminal.
    pub session: ProcessSession,
    /// How much it may use; it inherits the limits of the engine that are not named.
    pub limits: BTreeMap<ResourceLimit, u64>,
    /// Its namespaces.
    pub namespaces: Namespaces,
}

/// The standard streams of a process.
#[derive(Debug)]
pub struct ProcessStdio {
    /// Standard input.
    pub input: OwnedFd,
    /// Standard output.
    pub output: OwnedFd,
    /// Standard error.
    pub error: OwnedFd,
}

/// What the session of a process is connected with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessSession {
    /// No terminal: what wants to ask for a password fails at once.
    Detached,
    /// The terminal that its standard input is.
    Terminal,
}

/// A limit of the kernel for one process (`setrlimit(2)`), soft and hard alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ResourceLimit {
    /// How many bytes of address space it may have.
    AddressSpace,
    /// How many seconds of processor time it may use.
    CpuSeconds,
    /// How many bytes a file that it writes may have.
    FileSize,
    /// The highest descriptor it may open, plus one.
    OpenFiles,
    /// How many processes its user may have.
    Processes,
}

/// The namespaces of a process (`namespaces(7)`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Namespaces {
    /// Those of the engine.
    Shared,
    /// Its own user, mount and network namespaces: its mounts are seen by nobody else, and it
    /// reaches no network. Its user and group are those of the engine, with all capabilities inside.
    Private,
}

/// A signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessSignal {
    /// `SIGINT`.
    Interrupt,
    /// `SIGTERM`.
    Terminate,
    /// `SIGKILL`.
    Kill,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessEnd {
    /// It ended with this code.
    Exited(i32),
    /// This signal ended it.
    Signalled(i32),
}
