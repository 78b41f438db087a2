//! The record of what the views of a workspace have written to it. As long as it is complete, nothing
//! else has to be looked at to know what the workspace contains.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use engine::ports::ViewPath;

/// The record of one workspace, shared by its views and its owner.
#[derive(Debug, Default)]
pub(crate) struct WriteRecord(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Every path that may have changed.
    paths: BTreeSet<Vec<u8>>,
    /// Whether something else may have changed, too.
    is_incomplete: bool,
    /// Whether the workspace was captured.
    is_closed: bool,
    /// How many changes have begun and not ended.
    under_way: usize,
}

/// A change that has begun. Unless it ends well, the record is incomplete.
#[derive(Debug)]
pub(super) struct Writing<'a> {
    record: &'a WriteRecord,
    is_done: bool,
}

impl WriteRecord {
    /// Records that a change of `path`, a file or a folder, begins.
    pub(super) fn begin(&self, path: &ViewPath) -> Writing<'_> {
        let mut state = self.state();
        state.under_way += 1;
        state.is_incomplete |= state.is_closed;
        state.paths.insert(path.as_path().as_os_str().as_bytes().to_vec());
        Writing { record: self, is_done: false }
    }

    /// Records that something may change that is not recorded.
    pub(super) fn give_up(&self) {
        self.state().is_incomplete = true;
    }

    /// Returns every path that may have changed, or `None` if the record is incomplete. A later
    /// change makes it incomplete.
    pub(crate) fn close(&self) -> Option<BTreeSet<Vec<u8>>> {
        let mut state = self.state();
        state.is_closed = true;
        state.is_incomplete |= state.under_way > 0;
        (!state.is_incomplete).then(|| state.paths.clone())
    }

    /// Returns whether nothing was changed but what is recorded.
    pub(crate) fn is_complete(&self) -> bool {
        !self.state().is_incomplete
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Writing<'_> {
    /// Ends the change, which has done nothing but what was recorded.
    pub(super) fn done(mut self) {
        self.is_done = true;
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        let mut state = self.record.state();
        state.under_way -= 1;
        state.is_incomplete |= !self.is_done;
    }
}

/// Runs `change`, and records it if there is a record.
pub(super) fn recorded<T, E>(
    record: Option<&Arc<WriteRecord>>,
    path: &ViewPath,
    change: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    let writing = record.map(|record| record.begin(path));
    let end = change();
    if let (Some(writing), Ok(_)) = (writing, &end) {
        writing.done();
    }
    end
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn path(text: &str) -> ViewPath {
        ViewPath::new(Path::new(text)).unwrap()
    }

    #[test]
    fn a_record_has_what_was_written_until_something_is_not_recorded() {
        let record = WriteRecord::default();
        record.begin(&path("a/b")).done();
        record.begin(&path("c")).done();
        assert_eq!(record.close(), Some([b"a/b".to_vec(), b"c".to_vec()].into()));
        assert!(record.is_complete());
        let late = record.begin(&path("d"));
        assert_eq!((record.is_complete(), record.close()), (false, None));
        late.done();
        assert_eq!(record.close(), None, "it was written after the capture");
    }

    #[test]
    fn what_fails_or_has_not_ended_makes_a_record_incomplete() {
        let failing = WriteRecord::default();
        drop(failing.begin(&path("a")));
        let unended = WriteRecord::default();
        let writing = unended.begin(&path("a"));
        let given_up = WriteRecord::default();
        given_up.give_up();
        for record in [&failing, &unended, &given_up] {
            assert_eq!(record.close(), None);
        }
        writing.done();
        assert_eq!(unended.close(), None);
    }
}
