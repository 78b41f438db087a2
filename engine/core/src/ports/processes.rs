//! The ports for shell commands and for processes.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::CancelToken;

/// Runs shell commands for owners.
pub trait Commands: Send + Sync {
    /// Returns a new owner of commands. Nothing is started before its first command.
    fn owner(self: Arc<Self>, variables: &VariableChoice) -> Arc<dyn CommandOwner>;

    /// Returns a new owner of the commands of a workspace. They get a folder for temporary files of
    /// their own, and the smallest number that no such owner with living processes has.
    fn workspace_owner(self: Arc<Self>, variables: &VariableChoice) -> Arc<dyn CommandOwner> {
        self.owner(variables)
    }
}

/// Which of the engine's environment variables the commands of one owner get, beside the rules for all
/// commands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VariableChoice {
    /// The names of variables that they get although a rule withholds them.
    pub pass: Vec<String>,
    /// The names of variables that they do not get, unless `pass` names them.
    pub withhold: Vec<String>,
}

/// The owner of the commands of one task or session: everything that they start belongs to it, also
/// what leaves its process group and loses its parent. Dropping it kills all of that.
#[async_trait]
pub trait CommandOwner: Send + Sync {
    /// Runs one command until it ends or is cancelled. When the future completes or is dropped, no
    /// process of its group is left; a process that left the group is ended with the owner.
    ///
    /// `line` receives the lines of output, at most a few per second. Cancelled gently, the group
    /// gets SIGTERM, and SIGKILL after the grace period; cancelled at once, it gets SIGKILL.
    async fn run(
        &self,
        request: CommandRequest,
        line: LineSink,
        stop: CancelToken,
    ) -> Result<CommandEnd, CommandError>;

    /// Kills everything that the commands of this owner have started, and waits, for a bounded time,
    /// until it has ended. The owner can run commands again afterwards.
    async fn end(&self) -> OwnerEnd;

    /// Does the same after the last command of the owner, so that others may have what told its commands
    /// apart.
    async fn end_for_good(&self) -> OwnerEnd;

    /// Removes the folder for temporary files of an owner that has ended.
    async fn remove_temporary(&self);
}

/// What is left of the processes of an owner after its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum OwnerEnd {
    /// Nothing: every process has ended.
    Childless,
    /// So many processes could not be killed in time, for instance because they changed their user
    /// or hang in the kernel.
    Left(u32),
    /// Nobody knows: the processes that watch over the owner's commands were killed.
    Unknown,
}

/// Receives lines of output.
pub type LineSink = Arc<dyn Fn(String) + Send + Sync>;

/// A request to run a shell command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandRequest {
    /// The script for `/bin/sh -c`.
    pub script: String,
    /// The positional parameters `"$@"` of the script.
    pub arguments: Vec<String>,
    /// The working directory.
    pub folder: PathBuf,
    /// Variables that are added to the environment.
    pub environment: BTreeMap<String, OsString>,
    /// The file for standard output and standard error, interleaved as they are written.
    pub output: PathBuf,
    /// The maximum number of bytes of output to keep. Of longer output, the first and last half of
    /// this number are kept, with a line in between that says how much is missing.
    pub keep: u64,
    /// Where the output is kept if it is short.
    pub short: ShortOutput,
    /// Whether it has a terminal.
    pub terminal: CommandTerminal,
}

/// Whether a command has a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandTerminal {
    /// It has none, and reads the end of its input at once.
    None,
    /// It has one of its own, in which nobody types.
    Own,
}

/// Where short output of a command is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShortOutput {
    /// In the file, which is there even if it is empty.
    File,
    /// In the file. If the command writes nothing, neither the file nor the folders above it are
    /// made, and an older file is removed.
    FileUnlessEmpty,
    /// In [`CommandEnd::output`], and in no file, if it has at most [`SHORT_OUTPUT_BYTES`] and
    /// [`SHORT_OUTPUT_LINES`]. There must be no file before.
    Memory,
}

/// The most bytes of output that can be kept in memory.
pub const SHORT_OUTPUT_BYTES: usize = 16 << 10;

/// The most line breaks of output that can be kept in memory.
pub const SHORT_OUTPUT_LINES: usize = 2_000;

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandEnd {
    /// What ended the command.
    pub cause: EndCause,
    /// The last line of standard output that is not blank, without its line break. Of a line of more
    /// than 500,000 bytes, only the beginning is there, and it ends with [`CUT_LINE`]. With
    /// [`ShortOutput::Memory`], that limit is [`SHORT_OUTPUT_BYTES`].
    pub last_line: Option<String>,
    /// The line of output that says best why the command failed, printable and short: the last
    /// meaningful line of standard error, or else of standard output. `None` if there is none, or
    /// the command did not fail.
    pub failure_line: Option<String>,
    /// The total number of bytes of output.
    pub written: u64,
    /// The number of bytes that were dropped from the middle of the output.
    pub dropped: u64,
    /// The whole output, if it is in no file: see [`ShortOutput::Memory`].
    pub output: Option<Vec<u8>>,
    /// The time from the request to start the command until it ran.
    pub launch: Duration,
}

/// The end of a last line that was too long to be kept whole.
pub const CUT_LINE: &str = "… (cut here: the line is longer than 500000 bytes; regatta logs prints all of it, from output.log)";

/// What ended a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndCause {
    /// It exited with this code.
    Exited(i32),
    /// It was ended by this signal.
    Signalled(i32),
    /// It was cancelled, and ended afterwards.
    Stopped,
}

/// Why a command or a process could not be run.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The system is out of a resource: memory, processes, file descriptors or disk space.
    #[error("cannot {what}")]
    Resources {
        /// What was attempted.
        what: String,
        /// The error of the system.
        #[source]
        source: std::io::Error,
    },
    /// The launcher, which starts the commands, has died, and every command was killed; or it cannot
    /// be started.
    #[error("cannot {what}")]
    Launcher {
        /// What was attempted.
        what: String,
        /// What happened to the launcher.
        #[source]
        source: std::io::Error,
    },
    /// Another error.
    #[error("cannot {what}")]
    Failed {
        /// What was attempted.
        what: String,
        /// The error of the system.
        #[source]
        source: std::io::Error,
    },
}

/// Starts processes for one owner. Each is the leader of its own session and process group. Nothing
/// that they start outlives the owner.
#[async_trait]
pub trait Processes: Send + Sync {
    /// Starts a process. If the future is dropped early, the process is not started or is killed.
    ///
    /// # Errors
    /// The program cannot be started, or the system is out of a resource.
    async fn start(&self, request: ProcessRequest) -> Result<Box<dyn Process>, CommandError>;
}

/// A running process. Dropping it kills its process group.
#[async_trait]
pub trait Process: Send + Sync {
    /// Returns the process id, which is also the id of the process group.
    fn id(&self) -> u32;

    /// Sends a signal to the process group. It is not an error if no process is left.
    fn signal(&self, signal: ProcessSignal);

    /// Waits until the process has ended. Other processes of its group may still be running.
    ///
    /// # Errors
    /// The system cannot report the end of the process.
    async fn wait(&mut self) -> Result<ProcessEnd, CommandError>;
}

/// A request to start a process. It inherits nothing else: no environment variables and no file
/// descriptors.
#[derive(Debug)]
pub struct ProcessRequest {
    /// The program and its arguments. A program without a slash is searched in the `PATH` of
    /// `environment`.
    pub argv: Vec<OsString>,
    /// The complete environment.
    pub environment: BTreeMap<OsString, OsString>,
    /// The working directory.
    pub folder: OwnedFd,
    /// The standard streams.
    pub stdio: ProcessStdio,
    /// Whether the process has a controlling terminal.
    pub session: ProcessSession,
    /// The resource limits. Other limits are those of the engine.
    pub limits: BTreeMap<ResourceLimit, u64>,
    /// The namespaces of the process.
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

/// Whether a process has a controlling terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessSession {
    /// It has none, so that a prompt for a password fails at once.
    Detached,
    /// Its standard input is its controlling terminal.
    Terminal,
}

/// A resource limit of one process (`setrlimit(2)`), for both the soft and the hard limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ResourceLimit {
    /// The maximum size of the address space, in bytes.
    AddressSpace,
    /// The maximum processor time, in seconds.
    CpuSeconds,
    /// The maximum size of a written file, in bytes.
    FileSize,
    /// The highest file descriptor, plus one.
    OpenFiles,
    /// The maximum number of processes of the user.
    Processes,
}

/// The namespaces of a process (`namespaces(7)`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Namespaces {
    /// The namespaces of the engine.
    Shared,
    /// New user, mount and network namespaces: the process has no network, and no other process
    /// sees its mounts. User and group ids are those of the engine, with all capabilities inside
    /// the namespace.
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
    /// It exited with this code.
    Exited(i32),
    /// It was ended by this signal.
    Signalled(i32),
}
