//! Running a command and everything it starts.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use super::CancelToken;
use async_trait::async_trait;

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
        line: Arc<dyn Fn(String) + Send + Sync>,
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
