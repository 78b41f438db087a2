//! Changes the user's index under git's lock of it, which the next landing removes if the process dies
//! meanwhile.

use std::fs::{self, File};
use std::io::ErrorKind;

use git2::{Index, Repository};

use super::open::Repo;
use super::ref_lock::RefLock;
use crate::error::{OrCannot, Result};

/// Replaces the index by what `change` makes of it. The caller holds the landing lock of the repository.
///
/// # Errors
/// Another process keeps the index locked, it cannot be written, or `change` fails.
pub(crate) fn change_index(
    repo: &Repo,
    git: &Repository,
    change: impl FnOnce(&mut Index) -> Result<()>,
) -> Result<()> {
    let path = repo.git_dir.join("index");
    let what = || format!("write {}", path.display());
    let below = path.strip_prefix(&repo.common_dir).ok().and_then(|path| path.to_str());
    let name = below.ok_or("it is not in the git folder").or_cannot(what)?;
    let lock = RefLock::acquire(&repo.common_dir, name, b"regatta\n")?;
    // libgit2 would take the lock itself, so it gets a copy.
    let copy = lock.folder().join("index");
    match fs::copy(&path, &copy) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error).or_cannot(what),
        _copied_or_missing => {}
    }
    let mut index = Index::open(&copy).or_cannot(what)?;
    git.set_index(&mut index).or_cannot(what)?;
    change(&mut index)?;
    index.write().or_cannot(what)?;
    if let Ok(meta) = fs::metadata(&path) {
        fs::set_permissions(&copy, meta.permissions()).or_cannot(what)?;
    }
    File::open(&copy).and_then(|file| file.sync_all()).or_cannot(what)?;
    fs::rename(&copy, &path).or_cannot(what)
}
