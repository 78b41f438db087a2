//! The port for session logs, the durable record of conversations.

use std::path::Path;

use async_trait::async_trait;
use protocol::{Failure, FailureClass, InputId, Message, SessionEntry, SessionId, Timestamp};

/// Opens session logs.
#[async_trait]
pub trait SessionLogs: Send + Sync {
    /// Opens the log at `path` for appending, or creates it with `header`. An incomplete last line
    /// is removed.
    async fn open(&self, path: &Path, header: SessionHeader) -> Result<OpenedLog, SessionLogError>;
}

/// The header of a session log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionHeader {
    /// The session.
    pub id: SessionId,
    /// The folder in which the session works.
    pub cwd: std::path::PathBuf,
    /// The start of the session.
    pub at: Timestamp,
}

/// An open session log and its content.
pub struct OpenedLog {
    /// The session for which the log was created.
    pub session: SessionId,
    /// The messages in their order.
    pub messages: Vec<LoggedMessage>,
    /// The last model that the log names, as `PROVIDER/ID`.
    pub model: Option<String>,
    /// Appends entries to the log.
    pub log: Box<dyn SessionLog>,
}

/// A message read from a log.
#[derive(Clone, Debug, PartialEq)]
pub struct LoggedMessage {
    /// The message.
    pub message: Message,
    /// The id of the input, if this is a user message.
    pub input_id: Option<InputId>,
}

/// An open session log.
#[async_trait]
pub trait SessionLog: Send {
    /// Appends an entry. If the entry is a message, it and all entries before it are durable when
    /// the future completes.
    async fn append(&mut self, at: Timestamp, entry: SessionEntry) -> Result<(), SessionLogError>;
}

/// Why a session log could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what}")]
pub struct SessionLogError {
    /// What was attempted, including the path of the log.
    pub what: String,
    /// The failure class of a session that has this error: resources or crash.
    pub class: FailureClass,
    /// The error of the system.
    #[source]
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

impl SessionLogError {
    /// Returns the failure of a session that has this error.
    #[must_use]
    pub fn to_failure(&self) -> Failure {
        Failure::new(self.class, format!("{self}: {}", self.source))
    }
}
