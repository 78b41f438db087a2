//! Converts errors of the operating system, and recognises those about exhausted resources.

use std::io;

use engine::ports::CommandError;

/// Returns the error of the operation `what`, classified by the error of the operating system.
pub(crate) fn command_error(what: impl Into<String>, source: io::Error) -> CommandError {
    let what = what.into();
    if is_shortage(&source) {
        CommandError::Resources { what, source }
    } else {
        CommandError::Failed { what, source }
    }
}

/// Returns whether a resource of the machine, or a limit on it, is exhausted.
pub(crate) fn is_shortage(error: &io::Error) -> bool {
    if let Some(code) = error.raw_os_error() {
        return matches!(
            code,
            libc::EAGAIN
                | libc::ENOMEM
                | libc::EMFILE
                | libc::ENFILE
                | libc::ENOSPC
                | libc::EDQUOT
                | libc::EFBIG
                | libc::ENOBUFS
                | libc::ETOOMANYREFS
        );
    }
    matches!(
        error.kind(),
        io::ErrorKind::OutOfMemory | io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}

/// Returns whether a message was not sent because too many descriptors are on their way, or because
/// the kernel has no memory for it. Both pass when others have received theirs.
pub(crate) fn is_crowded(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOBUFS | libc::ETOOMANYREFS))
}

/// Returns whether a message was not sent because the process at the other end has died.
pub(crate) fn is_dead(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EPIPE | libc::ECONNRESET))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_machine_has_no_more_of_is_a_matter_of_resources() {
        for code in [
            libc::EAGAIN,
            libc::ENOMEM,
            libc::EMFILE,
            libc::ENFILE,
            libc::ENOSPC,
            libc::ENOBUFS,
            libc::ETOOMANYREFS,
        ] {
            let error = io::Error::from_raw_os_error(code);
            assert!(!is_dead(&error), "{error}");
            let error = command_error("start", error);
            assert!(matches!(error, CommandError::Resources { .. }), "{error:?}");
        }
        let full = command_error("write", io::ErrorKind::StorageFull.into());
        assert!(matches!(full, CommandError::Resources { .. }), "{full:?}");
    }

    #[test]
    fn anything_else_is_not() {
        for code in [libc::ENOENT, libc::EACCES, libc::E2BIG, libc::EIO] {
            let error = command_error("start", io::Error::from_raw_os_error(code));
            assert!(matches!(error, CommandError::Failed { .. }), "{error:?}");
        }
    }
}
