//! The setup of libgit2 for the whole process.

use std::sync::Once;

use git2::ConfigLevel;

use crate::user_git_config::{GivenConfig, GivenSystem};

/// A folder that cannot exist.
const NOWHERE: &str = "/dev/null/nowhere";

/// Sets libgit2 up. `main` calls this function once at its beginning, before other threads exist.
pub fn initialise() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        allow_partial_clones();
        leave_out_replaced_files(GivenConfig::of_this_process());
        // Trees may name only existing objects, and objects are verified when read.
        git2::opts::strict_object_creation(true);
        git2::opts::strict_hash_verification(true);
    });
}

/// Keeps libgit2 from reading the files of configuration in whose place the environment names others.
#[expect(unsafe_code, reason = "libgit2's search paths are globals without a lock")]
fn leave_out_replaced_files(given: &GivenConfig) {
    let mut levels = Vec::new();
    if given.global.is_some() {
        levels.extend([ConfigLevel::Global, ConfigLevel::XDG]);
    }
    if given.system != GivenSystem::Usual {
        levels.push(ConfigLevel::System);
    }
    for level in levels {
        // SAFETY: `initialise` runs before any other thread exists, and once.
        let set = unsafe { git2::opts::set_search_path(level, NOWHERE) };
        if let Err(error) = set {
            tracing::debug!(%error, "a replaced file of git's configuration is read all the same");
        }
    }
}

/// Makes libgit2 open partial clones that an older git has made. Their settings name an extension
/// that libgit2 does not know. libgit2 can ignore it: reading a missing object is an error.
#[expect(unsafe_code, reason = "libgit2's list of extensions is a global without a lock")]
fn allow_partial_clones() {
    // SAFETY: `initialise` runs before any other thread exists, and once.
    let set = unsafe { git2::opts::set_extensions(&["partialclone"]) };
    if let Err(error) = set {
        tracing::debug!(%error, "partial clones by an older git cannot be opened");
    }
}
