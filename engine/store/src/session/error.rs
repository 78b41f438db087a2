//! The causes of session log errors, and the failure class that each cause gives the session.

use std::io;
use std::path::Path;
use std::sync::Arc;

use engine::ports::SessionLogError;
use engine::session::UnknownEntry;
use protocol::FailureClass;

use crate::error::is_exhausted;

/// The cause of a [`SessionLogError`]. The type is `Clone` because a failed log returns the
/// same error for every later write.
#[derive(Clone, Debug, thiserror::Error)]
pub(super) enum LogCause {
    #[error(transparent)]
    System(Arc<io::Error>),
    #[error("an entry cannot be written as JSON")]
    Json(#[source] Arc<serde_json::Error>),
    #[error("another session has it open; with `--fork` a copy of it goes on")]
    Locked,
    #[error("it is a symbolic link; name the file that it leads to")]
    Linked,
    #[error(transparent)]
    NoEntry(UnknownEntry),
    #[error(
        "a newer version of this program wrote it (its version is {0}, this program knows 3); \
         update this program"
    )]
    Newer(u32),
    #[error("its place keeps changing")]
    Replaced,
    #[error("this program is ending")]
    Ending,
}

impl LogCause {
    /// Returns the error that callers see.
    pub(super) fn to_error(&self, action: &str, path: &Path) -> SessionLogError {
        SessionLogError {
            what: format!("{action} the session log at {}", path.display()),
            class: self.class(),
            source: Box::new(self.clone()),
        }
    }

    fn class(&self) -> FailureClass {
        match self {
            Self::System(error) if is_exhausted(error) => FailureClass::Resources,
            Self::System(_)
            | Self::Json(_)
            | Self::Locked
            | Self::Linked
            | Self::NoEntry(_)
            | Self::Newer(_)
            | Self::Replaced
            | Self::Ending => FailureClass::Crashed,
        }
    }
}

impl From<UnknownEntry> for LogCause {
    fn from(error: UnknownEntry) -> Self {
        Self::NoEntry(error)
    }
}

impl From<io::Error> for LogCause {
    fn from(error: io::Error) -> Self {
        Self::System(Arc::new(error))
    }
}

impl From<serde_json::Error> for LogCause {
    fn from(error: serde_json::Error) -> Self {
        Self::Json(Arc::new(error))
    }
}

#[cfg(test)]
mod tests {
    use rustix::io::Errno;

    use super::*;
    use crate::error::EXHAUSTED;

    #[test]
    fn what_is_too_little_is_a_matter_of_resources_and_the_rest_a_crash() {
        let class = |error: io::Error| LogCause::from(error).class();
        for shortage in EXHAUSTED {
            assert_eq!(class(shortage.into()), FailureClass::Resources, "{shortage}");
        }
        assert_eq!(class(io::ErrorKind::StorageFull.into()), FailureClass::Resources);
        assert_eq!(class(Errno::IO.into()), FailureClass::Crashed);
        assert_eq!(LogCause::Locked.class(), FailureClass::Crashed);
    }
}
