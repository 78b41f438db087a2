//! Users other than the one who runs the tests: their permissions and their limits are their own.

use std::os::unix::fs::{PermissionsExt, lchown};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::process::geteuid;

/// Tells the users of one test process apart.
static USERS: AtomicU32 = AtomicU32::new(0);

/// A user that is not root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User(u32);

impl User {
    /// Returns a user without a process; nothing unless root asks, who
    /// alone can become another.
    #[must_use]
    pub fn fresh() -> Option<Self> {
        geteuid().is_root().then(|| {
            let number = USERS.fetch_add(1, Ordering::Relaxed);
            // Beyond the ids that systems give to people and services.
            Self(1_000_000 + std::process::id() * 256 + number % 256)
        })
    }

    /// Returns a user that is not root: a fresh one, else the one who runs the tests.
    #[must_use]
    pub fn ordinary() -> Self {
        Self::fresh().unwrap_or(Self(geteuid().as_raw()))
    }

    /// Returns its number, for a process that is to run as this user.
    #[must_use]
    pub fn id(self) -> u32 {
        self.0
    }

    /// Returns whether this is the user who runs the tests.
    #[must_use]
    pub fn is_me(self) -> bool {
        geteuid().as_raw() == self.0
    }

    /// Gives everything below `path` to this user.
    ///
    /// # Panics
    /// When that is not allowed.
    pub fn own(self, path: &Path) {
        if self.is_me() {
            return;
        }
        lchown(path, Some(self.0), Some(self.0)).expect("root can give files away");
        if path.is_dir() && !path.is_symlink() {
            for entry in std::fs::read_dir(path).expect("root can read it").flatten() {
                self.own(&entry.path());
            }
        }
    }
}

/// Copies a program to where every user who can reach `target` can run it.
///
/// Another program does it: if this one had `target` open for writing while another test starts a
/// process, that process would have it open as well, and nobody could run it.
pub(super) fn publish(program: &Path, target: &Path) {
    let status = Command::new("cp").arg(program).arg(target).status();
    assert!(status.is_ok_and(|status| status.success()), "the program can be copied");
    make_executable(target);
}

/// Writes a script that can be run at once. Another program does it: if this one had it open for writing
/// while another test starts a process, that process would have it open as well.
///
/// # Panics
/// When it cannot be written.
pub fn write_program(target: &Path, script: &str) {
    let mut shell = Command::new("/bin/sh");
    let status = shell.args(["-c", "printf %s \"$1\" > \"$0\""]).arg(target).arg(script).status();
    assert!(status.is_ok_and(|status| status.success()), "the program can be written");
    make_executable(target);
}

fn make_executable(target: &Path) {
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(target, mode).expect("a mode can be set");
}
