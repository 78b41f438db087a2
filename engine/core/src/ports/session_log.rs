//! The port for session logs, the durable record of conversations.

use std::path::Path;

use async_trait::async_trait;
use protocol::{EntryId, Failure, FailureClass, SessionEntry, SessionId, Timestamp, error_chain};

use crate::session::{MovePreview, Moved, SessionContext, SessionMove};

/// Opens session logs.
#[async_trait]
pub trait SessionLogs: Send + Sync {
    /// Opens the log at `path` for appending. If there is none, a new one begins with `header`;
    /// nothing of it is stored before its first message. An incomplete last line is removed.
    ///
    /// A log has one writer. While it is open, a file is refused to everybody else; in memory, whoever
    /// opens it takes the place of the writer before, whose entries are refused from then on.
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
    /// The session that this one was made from: its id, or the path of its log.
    pub parent: Option<String>,
}

/// An open session log and its content.
pub struct OpenedLog {
    /// The session for which the log was created.
    pub session: SessionId,
    /// The conversation up to the last entry, and the state of the session there.
    pub context: SessionContext,
    /// The lines that cannot be read, and the parts of messages that are missing.
    pub damage: Vec<LogDamage>,
    /// Appends entries to the log.
    pub log: Box<dyn SessionLog>,
}

/// A line of a log that cannot be read, or lacks something. It stays as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogDamage {
    /// The number of the line, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub what: String,
}

/// An open session log.
#[async_trait]
pub trait SessionLog: Send {
    /// Appends an entry to the last one. If the entry is a message, it and all entries before it are
    /// durable when the future completes.
    async fn append(
        &mut self,
        at: Timestamp,
        entry: SessionEntry,
    ) -> Result<EntryId, SessionLogError>;

    /// Returns what a move to an entry would do, or before all entries without one. Nothing changes.
    async fn preview(&mut self, target: Option<EntryId>) -> Result<MovePreview, SessionLogError>;

    /// Moves to another entry, to which the next one is appended. The move is durable when the future
    /// completes; if there is no such entry, the session stays where it is.
    async fn go_to(&mut self, at: Timestamp, to: SessionMove) -> Result<Moved, SessionLogError>;
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
        Failure::new(self.class, error_chain(self))
    }
}
