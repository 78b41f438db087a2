//! The durable record of what was said in a session.

use std::path::Path;

use async_trait::async_trait;
use protocol::{Failure, FailureClass, InputId, Message, SessionEntry, SessionId, Timestamp};

/// Opens session logs.
#[async_trait]
pub trait SessionLogs: Send + Sync {
    /// Opens the log at `path` to go on with it, or begins it with `header`. A last line that was
    /// not written whole is removed.
    async fn open(&self, path: &Path, header: SessionHeader) -> Result<OpenedLog, SessionLogError>;
}

/// How a session log begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionHeader {
    /// The session.
    pub id: SessionId,
    /// Where it works.
    pub cwd: std::path::PathBuf,
    /// When it began.
    pub at: Timestamp,
}

/// A log that can be written.
pub struct OpenedLog {
    /// The session it is of: the one it was begun for.
    pub session: SessionId,
    /// The messages it holds, in their order.
    pub messages: Vec<LoggedMessage>,
    /// The model that answered last, as `PROVIDER/ID`.
    pub model: Option<String>,
    /// Takes more.
    pub log: Box<dyn SessionLog>,
}

/// A message of a log.
#[derive(Clone, Debug, PartialEq)]
pub struct LoggedMessage {
    /// The message.
    pub message: Message,
    /// The input that it says, where it is the message of a user.
    pub input_id: Option<InputId>,
}

/// A session log that is open.
#[async_trait]
pub trait SessionLog: Send {
    /// Adds an entry. A message is durable when it returns, with every entry before it.
    async fn append(&mut self, at: Timestamp, entry: SessionEntry) -> Result<(), SessionLogError>;
}

/// Why a session log could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what}")]
pub struct SessionLogError {
    /// What was attempted, with the log's path.
    pub what: String,
    /// What the failure is of a session that this happens to: resources, or a crash.
    pub class: FailureClass,
    /// What the system said.
    #[source]
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

impl SessionLogError {
    /// Returns the failure of a session that this happened to.
    #[must_use]
    pub fn to_failure(&self) -> Failure {
        Failure::new(self.class, format!("{self}: {}", self.source))
    }
}
