//! What the git folder of a workspace looks like to the file system when it is new. One that no task
//! has touched is used again as it is: nothing in it names the workspace.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

use super::copy_stats::Seen;
use crate::tree::Tree;

type SysResult<T> = std::result::Result<T, Errno>;

/// The most entries that a new git folder has. A larger one is made anew for each task.
const MOST: usize = 256;

/// A new git folder: the folder itself, and everything in it, each after the folder that contains it.
#[derive(Debug)]
pub(crate) struct GitFolder {
    /// Its name in the folder of the workspace.
    name: OsString,
    entries: Vec<(PathBuf, Seen)>,
    /// The file in the tree that names it; `None` if it cannot be looked at.
    link: Option<Seen>,
}

impl GitFolder {
    /// Records the new git folder `name` in the folder of a workspace. Returns `None` if that is not
    /// possible: then it is made anew for the next task.
    pub(crate) fn record(top: &Path, name: &str) -> Option<Self> {
        let mut entries = Vec::new();
        let recorded = open(top).and_then(|fd| collect(&fd, top, Path::new(name), &mut entries));
        let is_recorded = recorded.is_ok() && entries.len() <= MOST;
        is_recorded.then(|| Self { name: name.into(), entries, link: None })
    }

    /// Records the link to it, the entry `.git` of `tree`, which was just written.
    pub(crate) fn record_link(&mut self, tree: &Tree) {
        self.link = link(tree);
    }

    /// Returns its name in the folder of the workspace.
    pub(super) fn name(&self) -> &OsString {
        &self.name
    }

    /// Returns whether the link to it was not touched. `marker_ns` is as in [`Self::is_untouched`].
    pub(super) fn has_untouched_link(&self, tree: &Tree, marker_ns: i64) -> bool {
        let is_same = |was: Seen| was.stat.ctime_ns < marker_ns && link(tree) == Some(was);
        self.link.is_some_and(is_same)
    }

    /// Returns whether it was not touched. `top` is the folder of the workspace, and the workspace was
    /// complete at `marker_ns`: each later change has a later time.
    pub(super) fn is_untouched(&self, top: &OwnedFd, marker_ns: i64) -> bool {
        // A folder is looked at before what is in it, so that no symlink is followed.
        self.entries.iter().all(|(path, was)| {
            was.stat.ctime_ns < marker_ns
                && matches!(Seen::at(top, path.as_os_str()), Ok(Some(seen)) if seen == *was)
        })
    }
}

fn link(tree: &Tree) -> Option<Seen> {
    Seen::at(tree.fd(), OsStr::new(".git")).ok().flatten()
}

fn open(folder: &Path) -> SysResult<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(CWD, folder, flags, Mode::empty())
}

/// Records the entry at `path` below `top`, and what is in it.
fn collect(
    fd: &OwnedFd,
    top: &Path,
    path: &Path,
    entries: &mut Vec<(PathBuf, Seen)>,
) -> SysResult<()> {
    let seen = Seen::at(fd, path.as_os_str())?.ok_or(Errno::NOENT)?;
    entries.push((path.to_path_buf(), seen));
    if !seen.is_folder() || entries.len() > MOST {
        return Ok(());
    }
    let listed = fs::read_dir(top.join(path)).map_err(errno)?;
    for entry in listed {
        collect(fd, top, &path.join(entry.map_err(errno)?.file_name()), entries)?;
    }
    Ok(())
}

fn errno(error: std::io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn folder() -> (tempfile::TempDir, GitFolder) {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir_all(top.path().join("git/refs/heads")).unwrap();
        fs::write(top.path().join("git/HEAD"), "ref: refs/heads/main\n").unwrap();
        let recorded = GitFolder::record(top.path(), "git").unwrap();
        (top, recorded)
    }

    fn is_untouched(top: &tempfile::TempDir, folder: &GitFolder) -> bool {
        folder.is_untouched(&open(top.path()).unwrap(), i64::MAX)
    }

    #[test]
    fn every_change_is_seen() {
        let changes: [fn(&Path); 8] = [
            |git| fs::write(git.join("HEAD"), "ref: refs/heads/next\n").unwrap(),
            |git| fs::write(git.join("config"), "").unwrap(),
            |git| fs::remove_file(git.join("HEAD")).unwrap(),
            |git| fs::write(git.join("refs/heads/new"), "").unwrap(),
            |git| fs::remove_dir(git.join("refs/heads")).unwrap(),
            |git| fs::set_permissions(git.join("refs"), PermissionsExt::from_mode(0o500)).unwrap(),
            |git| fs::hard_link(git.join("HEAD"), git.with_file_name("other")).unwrap(),
            |git| {
                fs::rename(git.join("refs"), git.with_file_name("refs")).unwrap();
                std::os::unix::fs::symlink("../refs", git.join("refs")).unwrap();
            },
        ];
        for (number, change) in changes.into_iter().enumerate() {
            let (top, recorded) = folder();
            assert!(is_untouched(&top, &recorded));
            change(&top.path().join("git"));
            assert!(!is_untouched(&top, &recorded), "change {number}");
        }
    }

    #[test]
    fn every_change_to_the_link_is_seen() {
        let changes: [fn(&Path); 4] = [
            |link| fs::write(link, "gitdir: /other\n").unwrap(),
            |link| fs::hard_link(link, link.with_file_name("other")).unwrap(),
            |link| {
                fs::rename(link, link.with_file_name("other")).unwrap();
                std::os::unix::fs::symlink("other", link).unwrap();
            },
            |link| fs::remove_file(link).unwrap(),
        ];
        for (number, change) in changes.into_iter().enumerate() {
            let (top, mut recorded) = folder();
            let tree = Tree::open_at(top.path()).unwrap();
            assert!(!recorded.has_untouched_link(&tree, i64::MAX), "it was not recorded");
            fs::write(top.path().join(".git"), "gitdir: /here\n").unwrap();
            recorded.record_link(&tree);
            assert!(recorded.has_untouched_link(&tree, i64::MAX));
            assert!(!recorded.has_untouched_link(&tree, 0), "it is not older");
            change(&top.path().join(".git"));
            assert!(!recorded.has_untouched_link(&tree, i64::MAX), "change {number}");
        }
    }

    #[test]
    fn a_folder_that_is_not_older_than_its_workspace_is_not_used_again() {
        let (top, recorded) = folder();
        assert!(!recorded.is_untouched(&open(top.path()).unwrap(), 0));
    }
}
