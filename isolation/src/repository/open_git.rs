//! Opens repositories with libgit2, and with the git configuration that the environment gives.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::{PoisonError, RwLock};

use git2::{Error, ErrorCode, Repository, RepositoryOpenFlags};

use crate::repository::refusals::nearest_root;
use crate::user_git_config::GivenConfig;

/// Held for writing while libgit2 does not check to whom repositories belong: that is a setting of
/// the whole process.
static OWNERS: RwLock<()> = RwLock::new(());

/// Opens the repository at `at`, or around it unless the flags forbid to search.
pub(crate) fn open_git(at: &Path, flags: RepositoryOpenFlags) -> Result<Repository, Error> {
    let given = GivenConfig::of_this_process();
    let none: [&OsStr; 0] = [];
    let open = || Repository::open_ext(at, flags, none);
    let checked = {
        let _checked = OWNERS.read().unwrap_or_else(PoisonError::into_inner);
        open()
    };
    let git = match checked {
        Err(error) if error.code() == ErrorCode::Owner && given.allows(&nearest_root(at)) => {
            unchecked(open)??
        }
        opened => opened?,
    };
    given.add_to(&mut git.config()?)?;
    Ok(git)
}

/// Calls `open` while libgit2 does not check to whom repositories belong.
#[expect(unsafe_code, reason = "libgit2's setting is a global without a lock")]
fn unchecked<T>(open: impl FnOnce() -> T) -> Result<T, Error> {
    let _unchecked = OWNERS.write().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: every repository that is checked is opened by `open_git`, whose lock is held.
    unsafe { git2::opts::set_verify_owner_validation(false) }?;
    let opened = open();
    // SAFETY: as above.
    unsafe { git2::opts::set_verify_owner_validation(true) }?;
    Ok(opened)
}
