//! Tells the machine running short of something apart from every other trouble.

use std::io;

use engine::ports::CommandError;

/// Returns what failed while `what` was attempted, by what the system said.
pub(crate) fn trouble(what: impl Into<String>, source: io::Error) -> CommandError {
    let what = what.into();
    if is_shortage(&source) {
        CommandError::Resources { what, source }
    } else {
        CommandError::Failed { what, source }
    }
}

/// Returns whether the machine, or what we may use of it, has no more of something.
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
        );
    }
    matches!(
        error.kind(),
        io::ErrorKind::OutOfMemory | io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_machine_has_no_more_of_is_a_matter_of_resources() {
        for code in [libc::EAGAIN, libc::ENOMEM, libc::EMFILE, libc::ENFILE, libc::ENOSPC] {
            let error = trouble("start", io::Error::from_raw_os_error(code));
            assert!(matches!(error, CommandError::Resources { .. }), "{error:?}");
        }
        let full = trouble("write", io::ErrorKind::StorageFull.into());
        assert!(matches!(full, CommandError::Resources { .. }), "{full:?}");
    }

    #[test]
    fn anything_else_is_not() {
        for code in [libc::ENOENT, libc::EACCES, libc::E2BIG, libc::EIO] {
            let error = trouble("start", io::Error::from_raw_os_error(code));
            assert!(matches!(error, CommandError::Failed { .. }), "{error:?}");
        }
    }
}
