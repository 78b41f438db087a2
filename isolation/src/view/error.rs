//! What a refusal of the system means for a view.

use engine::ports::ViewError;
use rustix::io::Errno;

/// What the machine can run out of: processes, memory, descriptors, disk, quota.
const EXHAUSTED: [Errno; 6] =
    [Errno::AGAIN, Errno::NOMEM, Errno::NFILE, Errno::MFILE, Errno::NOSPC, Errno::DQUOT];

/// Returns the error that the system refused something.
pub(super) fn system_error(error: impl Into<std::io::Error>) -> ViewError {
    let error = error.into();
    match Errno::from_io_error(&error) {
        Some(errno) if EXHAUSTED.contains(&errno) => ViewError::Resources(error),
        Some(_) | None => ViewError::Failed(error),
    }
}

/// Returns the error about a path without symlinks that cannot be gone.
pub(super) fn path_error(error: Errno) -> ViewError {
    match error {
        Errno::NOENT => ViewError::Missing,
        // What was a folder is a file or a symlink now.
        Errno::LOOP | Errno::NOTDIR => ViewError::Changed,
        other => system_error(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_machine_has_run_out_of_is_told_from_what_is_wrong_with_a_file() {
        for errno in EXHAUSTED {
            assert!(matches!(system_error(errno), ViewError::Resources(_)), "{errno}");
        }
        assert!(matches!(system_error(Errno::ACCESS), ViewError::Failed(_)));
        assert!(matches!(path_error(Errno::NOTDIR), ViewError::Changed));
        assert!(matches!(path_error(Errno::NOSPC), ViewError::Resources(_)));
    }
}
