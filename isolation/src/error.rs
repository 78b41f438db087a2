//! Converts errors of the operating system and of libgit2 to errors of the isolation port, which
//! distinguish exhausted resources from other failures.

use std::io;

use engine::ports::IsolationError;
use rustix::io::Errno;

/// The result of the functions of this crate.
pub(crate) type Result<T> = std::result::Result<T, IsolationError>;

/// The cause of an error.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Cause {
    /// An error of the operating system.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// An error of libgit2.
    #[error("{}", .0.message())]
    Git(#[from] git2::Error),
    /// An error of this crate.
    #[error("{0}")]
    Message(String),
}

impl From<Errno> for Cause {
    fn from(errno: Errno) -> Self {
        Self::Io(errno.into())
    }
}

impl From<serde_json::Error> for Cause {
    fn from(error: serde_json::Error) -> Self {
        Self::Io(error.into())
    }
}

impl From<&str> for Cause {
    fn from(words: &str) -> Self {
        Self::Message(words.to_owned())
    }
}

impl From<String> for Cause {
    fn from(words: String) -> Self {
        Self::Message(words)
    }
}

impl Cause {
    /// Returns whether a resource of the machine is exhausted.
    fn is_exhaustion(&self) -> bool {
        match self {
            Self::Io(error) => is_exhausted(error),
            // libgit2 reports the message of the operating system's error, but not its number.
            Self::Git(error) => {
                let said = |number: Errno| {
                    let text = io::Error::from(number).to_string();
                    let text = text.split(" (os error").next().unwrap_or_default();
                    error.message().contains(text)
                };
                error.class() == git2::ErrorClass::NoMemory || EXHAUSTION.into_iter().any(said)
            }
            Self::Message(_) => false,
        }
    }
}

/// The system's errors for an exhausted resource.
const EXHAUSTION: [Errno; 5] =
    [Errno::NOSPC, Errno::DQUOT, Errno::MFILE, Errno::NFILE, Errno::NOMEM];

/// Returns whether the error means that a resource is exhausted.
pub(crate) fn is_exhausted(error: &io::Error) -> bool {
    let number = Errno::from_io_error(error);
    number.is_some_and(|number| EXHAUSTION.contains(&number))
        || matches!(
            error.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::OutOfMemory
        )
}

/// Returns whether permission was denied.
pub(crate) fn is_denied(error: &IsolationError) -> bool {
    let mut next: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = next {
        // `Cause` is transparent: `source` skips the wrapped error, so `Cause` itself is matched.
        if let Some(Cause::Io(error)) = error.downcast_ref::<Cause>() {
            return Errno::from_io_error(error) == Some(Errno::ACCESS);
        }
        next = error.source();
    }
    false
}

/// Returns the error that reads `cannot WHAT: CAUSE`.
pub(crate) fn cannot(what: impl Into<String>, cause: impl Into<Cause>) -> IsolationError {
    let (what, cause) = (what.into(), cause.into());
    if cause.is_exhaustion() {
        IsolationError::Resources { what, source: Box::new(cause) }
    } else {
        IsolationError::Failed { what, source: Box::new(cause) }
    }
}

/// Returns an error and its causes in one line.
pub(crate) fn error_text(error: &IsolationError) -> String {
    error.to_failure().message
}

/// Adds a description of the attempted operation to an error.
pub(crate) trait OrCannot<T> {
    /// Converts a failure to an error that reads `cannot WHAT: …`.
    fn or_cannot<W: Into<String>>(self, what: impl FnOnce() -> W) -> Result<T>;
}

impl<T, E: Into<Cause>> OrCannot<T> for std::result::Result<T, E> {
    fn or_cannot<W: Into<String>>(self, what: impl FnOnce() -> W) -> Result<T> {
        self.map_err(|error| cannot(what(), error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_from_any_other_failure_whoever_reports_it() {
        let full = git2::Error::new(
            git2::ErrorCode::GenericError,
            git2::ErrorClass::Os,
            "failed to write to 'x': No space left on device",
        );
        let broken = git2::Error::from_str("invalid data in index");
        let resources =
            |cause: Cause| matches!(cannot("write", cause), IsolationError::Resources { .. });
        assert!(resources(full.into()));
        assert!(resources(Errno::MFILE.into()));
        assert!(resources(io::Error::from(io::ErrorKind::StorageFull).into()));
        assert!(!resources(broken.into()));
        assert!(!resources(Errno::NOENT.into()));
    }

    #[test]
    fn a_denied_permission_is_told_from_any_other_failure() {
        assert!(is_denied(&cannot("read", Errno::ACCESS)));
        assert!(!is_denied(&cannot("read", Errno::IO)));
        assert!(!is_denied(&cannot("read", "permission denied")));
    }
}
