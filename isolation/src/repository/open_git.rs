//! Opens and makes repositories with libgit2: those of the user with the git configuration that the
//! environment gives.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::{PoisonError, RwLock};

use git2::{Error, ErrorCode, Repository, RepositoryInitOptions, RepositoryOpenFlags};

use crate::repository::refusals::nearest_root;
use crate::user_git_config::GivenConfig;

/// Held for writing while libgit2 does not check to whom repositories belong: that is a setting of
/// the whole process. Opening or creating a repository holds it for reading.
static OWNERS: RwLock<()> = RwLock::new(());

/// Opens the repository at `at`, or around it unless the flags forbid to search.
pub(crate) fn open_git(at: &Path, flags: RepositoryOpenFlags) -> Result<Repository, Error> {
    let given = GivenConfig::of_this_process();
    let none: [&OsStr; 0] = [];
    let open = || Repository::open_ext(at, flags, none);
    let git = match checked(open) {
        Err(error) if error.code() == ErrorCode::Owner && given.allows(&nearest_root(at)) => {
            unchecked(open)??
        }
        opened => opened?,
    };
    given.add_to(&mut git.config()?)?;
    Ok(git)
}

/// Opens the bare repository at `at`, which is one of this program, with its own configuration.
pub(crate) fn open_bare(at: &Path) -> Result<Repository, Error> {
    checked(|| Repository::open_bare(at))
}

/// Makes a repository at `at`.
pub(crate) fn init_git(at: &Path, options: &RepositoryInitOptions) -> Result<Repository, Error> {
    checked(|| Repository::init_opts(at, options))
}

/// Calls `open` while libgit2 checks to whom repositories belong.
fn checked<T>(open: impl FnOnce() -> T) -> T {
    let _checked = OWNERS.read().unwrap_or_else(PoisonError::into_inner);
    open()
}

/// Calls `open` while libgit2 does not check to whom repositories belong.
#[expect(unsafe_code, reason = "libgit2's setting is a global without a lock")]
fn unchecked<T>(open: impl FnOnce() -> T) -> Result<T, Error> {
    let _unchecked = OWNERS.write().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: libgit2 reads the setting only where it opens a repository, also one that it has just made.
    // The functions of this file do so for the whole program, and none of them is at it while the lock
    // is held for writing.
    unsafe { git2::opts::set_verify_owner_validation(false) }?;
    let opened = open();
    // SAFETY: as above.
    unsafe { git2::opts::set_verify_owner_validation(true) }?;
    Ok(opened)
}
