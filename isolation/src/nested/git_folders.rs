//! The private git folders of nested repositories. They are in that of the workspace, as git has
//! those of submodules: in `modules`, under a number. The `.git` of each nested folder is a file
//! that names its git folder by a relative path, so that it is the same in every workspace.

use std::ffi::OsStr;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, fstat, openat};
use rustix::io::Errno;

use crate::error::{OrCannot, Result};
use crate::nested::NestedRepo;
use crate::workspace::{GIT, GitTemplate};

/// The folder in a git folder for those of nested repositories.
const MODULES: &str = "modules";

/// Returns the git folder of the nested repository with this number in the git folder `around`.
pub(crate) fn git_folder_of(around: &Path, number: usize) -> PathBuf {
    around.join(MODULES).join(number.to_string())
}

/// Writes the templates of the git folders of nested repositories, in their order, beside that of
/// the run in `folder`.
pub(crate) fn write_templates<'a>(
    folder: &Path,
    nested: impl Iterator<Item = &'a NestedRepo>,
) -> Result<()> {
    for (number, NestedRepo { repo, git }) in nested.enumerate() {
        GitTemplate::of_nested(folder, number).write(repo, git)?;
    }
    Ok(())
}

/// Returns the content of the `.git` of the nested folder `path`, whose repository has this number.
pub(crate) fn link_text(path: &[u8], number: usize) -> Vec<u8> {
    let up = path.split(|byte| *byte == b'/').count() + 1;
    let text = format!("gitdir: {}{GIT}/{MODULES}/{number}\n", "../".repeat(up));
    text.into_bytes()
}

/// Writes the `.git` of each nested folder to a new copy of the tree.
pub(crate) fn write_links(root: &OwnedFd, nested: &[Vec<u8>]) -> Result<()> {
    for (number, path) in nested.iter().enumerate() {
        let what =
            || format!("link {} to its git folder", Path::new(OsStr::from_bytes(path)).display());
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = openat(root, OsStr::from_bytes(path), flags, Mode::empty()).or_cannot(what)?;
        write_link(&folder, &link_text(path, number)).or_cannot(what)?;
    }
    Ok(())
}

/// Writes the `.git` of a nested folder, where there is none.
pub(crate) fn write_link(folder: &OwnedFd, text: &[u8]) -> std::io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let file = openat(folder, ".git", flags, Mode::from_raw_mode(0o644))?;
    std::fs::File::from(file).write_all(text)
}

/// Returns whether the `.git` of a nested folder is as it was written.
pub(crate) fn has_whole_link(folder: impl AsFd, text: &[u8]) -> bool {
    is_whole(folder, text).unwrap_or(false)
}

fn is_whole(folder: impl AsFd, text: &[u8]) -> std::io::Result<bool> {
    // Something else in its place must not block, and no symlink is followed.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match openat(folder, ".git", flags, Mode::empty()) {
        Err(Errno::NOENT | Errno::LOOP) => return Ok(false),
        file => file?,
    };
    let stat = fstat(&file)?;
    let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    if !is_file || stat.st_nlink != 1 || u64::try_from(stat.st_size) != Ok(text.len() as u64) {
        return Ok(false);
    }
    let mut found = Vec::new();
    std::fs::File::from(file).take(text.len() as u64 + 1).read_to_end(&mut found)?;
    Ok(found == text)
}
