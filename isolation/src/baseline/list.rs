//! The frozen list of a run: every path of the tree that it began with, with mode and blob. It is
//! kept as long as work of the run is, so that a later landing can tell what the user has renamed
//! since.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use protocol::RunName;

use crate::baseline::freeze::{TABLE, read_whole};
use crate::baseline::{Table, codec};
use crate::error::{OrCannot, Result};
use crate::paths::RepoPaths;

/// Keeps the list that lies in the run's folder, which is about to go. Succeeds if there is none.
pub(crate) fn keep(folder: &Path, paths: &RepoPaths, run: &RunName) -> Result<()> {
    let (list, kept) = (folder.join(TABLE), path(paths, run));
    let what = || format!("keep the list of the files that run {run} began with");
    let parent = kept.parent().ok_or("it has no folder").or_cannot(what)?;
    fs::create_dir_all(parent).or_cannot(what)?;
    match fs::hard_link(&list, &kept) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()), // nothing was frozen
        // Another file system.
        Err(_) => fs::copy(&list, &kept).map(drop).or_cannot(what),
    }
}

/// Reads the list of a run. Nothing comes back if it is not kept.
pub(crate) fn read(paths: &RepoPaths, run: &RunName) -> Result<Option<Table>> {
    let path = path(paths, run);
    let what = || format!("read {}", path.display());
    match read_whole(&path) {
        Ok(written) => codec::decode(&written).ok_or("it is damaged").or_cannot(what).map(Some),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).or_cannot(what),
    }
}

/// Removes the list of a run. Succeeds if it is already gone.
pub(crate) fn remove(paths: &RepoPaths, run: &RunName) -> Result<()> {
    let path = path(paths, run);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).or_cannot(|| format!("remove {}", path.display()))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

fn path(paths: &RepoPaths, run: &RunName) -> PathBuf {
    paths.landings.join("lists").join(run.as_str())
}
