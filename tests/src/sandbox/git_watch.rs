//! Watches `.git` of a repository: nothing but the test's own git may change it.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::Fingerprint;

/// What `.git` is like after the last change that the test itself has made.
#[derive(Debug)]
pub(super) struct GitWatch {
    folder: PathBuf,
    known: Mutex<Fingerprint>,
}

impl GitWatch {
    /// Begins to watch this `.git`.
    pub(super) fn of(folder: &Path) -> Self {
        let known = Mutex::new(Fingerprint::of(folder));
        Self { folder: folder.to_path_buf(), known }
    }

    /// Does what may change `.git`. No other program may have changed it since the last time.
    pub(super) fn around<T>(&self, change: impl FnOnce() -> T) -> T {
        let mut known = self.known.lock().expect("a test that panicked is over");
        expect_same(&known, &Fingerprint::of(&self.folder));
        let made = change();
        *known = Fingerprint::of(&self.folder);
        made
    }
}

impl Drop for GitWatch {
    fn drop(&mut self) {
        let Ok(known) = self.known.get_mut() else { return };
        // The sandbox may be gone already.
        if !std::thread::panicking() && self.folder.exists() {
            expect_same(known, &Fingerprint::of(&self.folder));
        }
    }
}

fn expect_same(known: &Fingerprint, now: &Fingerprint) {
    let differences = known.differences(now);
    assert!(differences.is_empty(), "the user's .git has changed: {differences:?}");
}
