//! The causes of errors of the ledger.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use engine::ports::{IsolationError, LedgerError};
use protocol::{FailureClass, RunId, TaskId, TaskName};
use rusqlite::{ErrorCode, ffi};
use rustix::fs::statvfs;
use rustix::io::Errno;

/// The cause of a [`LedgerError`]. It is `Clone`, because each request of a batch whose sync failed
/// gets it.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum LedgerCause {
    // What is behind an error of SQLite says the same again, with a number.
    #[error("{0}")]
    Database(Arc<rusqlite::Error>),
    #[error("the folder or the file cannot be made")]
    File(#[source] Arc<std::io::Error>),
    #[error("it was not written")]
    Fault(#[source] Arc<std::io::Error>),
    #[error("a value cannot be written as JSON")]
    Json(#[source] Arc<serde_json::Error>),
    #[error("{0} is not in the ledger")]
    UnknownRun(RunId),
    #[error("{0} is not in the ledger")]
    UnknownTask(TaskId),
    #[error("{run} has no task {name}")]
    UnknownName { run: RunId, name: TaskName },
    #[error("every name that {0} could have is taken")]
    NoName(RunId),
    #[error(
        "a newer version of this program wrote it (its version is {found}, this program knows \
         {known}); update this program"
    )]
    Newer { found: i64, known: i64 },
    #[error("it is a database, but not a ledger")]
    Foreign,
    #[error("its writer has ended")]
    Ended,
    #[error(transparent)]
    Lock(Arc<IsolationError>),
}

impl LedgerCause {
    /// Returns the error of the port: `action` on the ledger at `path` failed for this cause.
    pub(crate) fn to_error(&self, action: &str, path: &Path) -> LedgerError {
        let what = match self {
            Self::Lock(_) => "lock the run's folder of workspaces".to_owned(),
            _ => format!("{action} the ledger at {}", path.display()),
        };
        LedgerError { what, class: self.class(path), source: Box::new(self.clone()) }
    }

    fn class(&self, path: &Path) -> FailureClass {
        let is_shortage = match self {
            Self::Database(error) => {
                error.sqlite_error().is_some_and(|error| is_short(error, path))
            }
            Self::File(error) | Self::Fault(error) => is_exhausted(error),
            Self::Lock(error) => return error.to_failure().class,
            Self::Json(_)
            | Self::UnknownRun(_)
            | Self::UnknownTask(_)
            | Self::UnknownName { .. }
            | Self::NoName(_)
            | Self::Newer { .. }
            | Self::Foreign
            | Self::Ended => false,
        };
        if is_shortage { FailureClass::Resources } else { FailureClass::Crashed }
    }
}

/// Returns whether SQLite lacked room, memory or a file descriptor. Where it is not the ledger itself that
/// has to grow, it tells that as any other error of opening, reading or writing.
fn is_short(error: &ffi::Error, path: &Path) -> bool {
    match error.code {
        ErrorCode::DiskFull | ErrorCode::OutOfMemory => true,
        ErrorCode::SystemIoFailure | ErrorCode::CannotOpen => {
            matches!(error.extended_code, ffi::SQLITE_IOERR_NOMEM | ffi::SQLITE_IOERR_SHMSIZE)
                || File::open(path).is_err_and(|error| is_exhausted(&error))
                || path.parent().is_some_and(is_full)
        }
        _ => false,
    }
}

/// Less room than this is none: SQLite makes files of 32 KiB.
const LITTLE_ROOM: u64 = 64 << 10;

/// Returns whether the file system of a folder has no room for a file.
fn is_full(folder: &Path) -> bool {
    statvfs(folder).is_ok_and(|room| {
        let no_room = room.f_bavail.saturating_mul(room.f_frsize) < LITTLE_ROOM;
        // Some file systems do not count files.
        no_room || (room.f_files > 0 && room.f_favail == 0)
    })
}

/// The error numbers of exhausted resources.
pub(crate) const EXHAUSTED: [Errno; 6] =
    [Errno::NOSPC, Errno::DQUOT, Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::FBIG];

/// Returns whether room, memory or file descriptors ran out.
pub(crate) fn is_exhausted(error: &io::Error) -> bool {
    let number = error.raw_os_error();
    let short = EXHAUSTED.iter().any(|shortage| number == Some(shortage.raw_os_error()));
    // An error injected by a test has an `ErrorKind` but no OS error number.
    short || matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

impl From<rusqlite::Error> for LedgerCause {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(Arc::new(error))
    }
}

impl From<serde_json::Error> for LedgerCause {
    fn from(error: serde_json::Error) -> Self {
        Self::Json(Arc::new(error))
    }
}

#[cfg(test)]
mod tests {
    use protocol::error_chain;

    use super::*;

    #[test]
    fn a_full_disk_is_a_matter_of_resources_and_is_told_once() {
        let database = |code| {
            let said = "database or disk is full".to_owned();
            let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), Some(said));
            LedgerCause::from(error).to_error("write", Path::new("/home/ada/ledger.db"))
        };
        let full = database(ffi::SQLITE_FULL);
        let line = "cannot write the ledger at /home/ada/ledger.db: database or disk is full";
        assert_eq!(error_chain(&full), line);
        assert_eq!(full.class, FailureClass::Resources);
        for code in [ffi::SQLITE_NOMEM, ffi::SQLITE_IOERR_NOMEM, ffi::SQLITE_IOERR_SHMSIZE] {
            assert_eq!(database(code).class, FailureClass::Resources, "{code}");
        }
        for code in [
            ffi::SQLITE_CONSTRAINT,
            ffi::SQLITE_CORRUPT,
            ffi::SQLITE_CANTOPEN,
            ffi::SQLITE_IOERR_READ,
        ] {
            assert_eq!(database(code).class, FailureClass::Crashed, "{code}");
        }
    }
}
