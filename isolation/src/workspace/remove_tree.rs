//! Removes a workspace whatever it contains: read-only folders, deep nesting, symlinks to
//! elsewhere.

use std::ffi::{CString, OsStr, OsString};
use std::fs;
use std::io::ErrorKind;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use engine::failpoint;
use engine::fault::Faults;
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, IFlags, Mode, OFlags, RenameFlags, Statx, StatxFlags, chmodat,
    fchmod, ioctl_getflags, ioctl_setflags, openat, renameat_with, statat, statx, unlinkat,
};
use rustix::io::Errno;
use rustix::mount::{UnmountFlags, unmount};

use crate::error::{OrCannot, Result};
use crate::workspace::Removals;
use crate::workspace::manifest::Manifest;

/// The prefix of workspaces that are being removed, and of the folders of runs.
pub(super) const GONE: &str = ".gone-";

/// The depth to which nested folders are opened. Deeper ones are moved up to the top first, so that
/// no depth exhausts descriptors or the stack.
const DEEP: usize = 64;

/// Returns whether an entry of a run's folder is a workspace that is being removed.
pub(crate) fn is_being_removed(entry: &fs::DirEntry) -> bool {
    entry.file_name().as_bytes().starts_with(GONE.as_bytes())
}

/// Removes a workspace and its manifest. Succeeds if it is already gone.
pub(crate) fn discard(folder: &Path, faults: &Faults, removals: &Removals) -> Result<()> {
    remove(folder, faults, removals, || match (folder.parent(), folder.file_name()) {
        (Some(run), Some(name)) => Manifest::remove(run, &name.to_string_lossy()),
        _ => Ok(()),
    })
}

/// Removes a workspace. Renames it first, so that a recovery does not capture a partly removed
/// workspace. Calls `forget` after the rename. What was renamed is removed in the background.
pub(crate) fn remove(
    folder: &Path,
    faults: &Faults,
    removals: &Removals,
    forget: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let what = || format!("remove the workspace {}", folder.display());
    failpoint!(faults, "capture.discard").or_cannot(what)?;
    let (Some(run), Some(name)) = (folder.parent(), folder.file_name()) else {
        return Err("it is not a workspace").or_cannot(what);
    };
    let named = |number| match number {
        0 => [OsStr::new(GONE), name].into_iter().collect(),
        number => [OsStr::new(GONE), name, OsStr::new(&format!("-{number}"))].into_iter().collect(),
    };
    let aside = match set_aside(folder, run, named) {
        // On a full disk, the workspace is removed without a rename.
        Err(error) if crate::error::is_exhausted(&error) => {
            forget()?;
            return remove_tree(folder);
        }
        aside => aside.or_cannot(what)?,
    };
    failpoint!(faults, "capture.discarded").or_cannot(what)?;
    forget()?;
    if let Some(aside) = aside {
        removals.begin(aside, faults);
    }
    Ok(())
}

/// Renames a workspace in the run's folder to the first free one of the names that `named` returns,
/// which no task can have. Returns the new path, or `None` if the workspace is gone.
pub(crate) fn set_aside(
    folder: &Path,
    run: &Path,
    named: impl Fn(u32) -> OsString,
) -> std::io::Result<Option<PathBuf>> {
    for number in 0_u32.. {
        let aside = run.join(named(number));
        match rename_new(folder, &aside) {
            Ok(()) => return Ok(Some(aside)),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

/// Renames a folder to a path that does not exist.
pub(super) fn rename_new(from: &Path, to: &Path) -> std::io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // The file system does not support `NOREPLACE`.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => match to.symlink_metadata() {
            Ok(_) => Err(ErrorKind::AlreadyExists.into()),
            Err(error) if error.kind() == ErrorKind::NotFound => fs::rename(from, to),
            Err(error) => Err(error),
        },
        end => end.map_err(std::io::Error::from),
    }
}

/// Removes a folder with everything in it. Succeeds if it is already gone.
pub(crate) fn remove_tree(folder: &Path) -> Result<()> {
    remove_tree_counting(folder, &AtomicUsize::new(0))
}

/// Removes a folder like [`remove_tree`], and adds to `removed` how many entries are gone so far.
pub(super) fn remove_tree_counting(folder: &Path, removed: &AtomicUsize) -> Result<()> {
    let what = || format!("remove {}", folder.display());
    let (Some(parent), Some(name)) = (folder.parent(), folder.file_name()) else {
        return Err("it has no parent folder").or_cannot(what);
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let parent = match openat(CWD, parent, flags, Mode::empty()) {
        Ok(parent) => parent,
        Err(Errno::NOENT) => return Ok(()),
        Err(error) => return Err(error).or_cannot(what),
    };
    remove_entry_counting(&parent, name, removed).or_cannot(what)
}

/// Removes the entry `name` of a folder with everything in it. Succeeds if it is already gone.
pub(crate) fn remove_entry(parent: &OwnedFd, name: &OsStr) -> SysResult<()> {
    remove_entry_counting(parent, name, &AtomicUsize::new(0))
}

fn remove_entry_counting(parent: &OwnedFd, name: &OsStr, removed: &AtomicUsize) -> SysResult<()> {
    match kind_of(parent, name, FileType::Unknown)? {
        None => return Ok(()),
        Some(FileType::Directory) => {}
        Some(_) => return remove_file(parent, name),
    }
    let mount = Mount::of(&statx(parent, "", AtFlags::EMPTY_PATH, Mount::MASK)?);
    let top = match open_writable(parent, name, mount) {
        Ok(top) => top,
        Err(Errno::NOENT) => return Ok(()),
        Err(error) => return Err(error),
    };
    let mut removal = Removal { top, mount, raised: 0, removed };
    while removal.empty_top()? == Remaining::More {}
    remove_folder(parent, name)
}

type SysResult<T> = std::result::Result<T, Errno>;

/// A removal in progress: its topmost folder, and how many folders were moved up to it.
struct Removal<'a> {
    top: OwnedFd,
    /// The mount that everything in it belongs to.
    mount: Mount,
    raised: u64,
    /// How many entries are gone.
    removed: &'a AtomicUsize,
}

#[derive(PartialEq, Eq)]
enum Remaining {
    More,
    Empty,
}

impl Removal<'_> {
    /// Removes the contents of the topmost folder. Folders that nest too deep are moved up to it.
    fn empty_top(&mut self) -> SysResult<Remaining> {
        let top = self.top.try_clone().map_err(|_| Errno::MFILE)?;
        let before = self.raised;
        self.empty(&top, 0)?;
        Ok(if self.raised == before { Remaining::Empty } else { Remaining::More })
    }

    fn empty(&mut self, folder: &OwnedFd, depth: usize) -> SysResult<()> {
        for (name, kind) in names(folder)? {
            let name = OsStr::from_bytes(name.as_bytes());
            self.removed.fetch_add(1, Ordering::Relaxed);
            if kind_of(folder, name, kind)? != Some(FileType::Directory) {
                remove_file(folder, name)?;
                continue;
            }
            let below = match open_writable(folder, name, self.mount) {
                Err(Errno::NOENT) => continue,
                opened => opened?,
            };
            if depth >= DEEP {
                self.raise(folder, name)?;
                continue;
            }
            self.empty(&below, depth + 1)?;
            drop(below);
            remove_folder(folder, name)?;
        }
        Ok(())
    }

    /// Moves a folder up to the topmost one, under a new name.
    fn raise(&mut self, folder: &OwnedFd, name: &OsStr) -> SysResult<()> {
        loop {
            self.raised += 1;
            let raised = format!("{GONE}{}", self.raised);
            match renameat_with(folder, name, &self.top, &raised, RenameFlags::NOREPLACE) {
                Err(Errno::EXIST) => {}
                end => return end,
            }
        }
    }
}

/// Returns the type of the entry `name`: `listed`, or the type in its stat on file systems that do
/// not list types. Returns `None` if the entry does not exist any more.
fn kind_of(folder: &OwnedFd, name: &OsStr, listed: FileType) -> SysResult<Option<FileType>> {
    if listed != FileType::Unknown {
        return Ok(Some(listed));
    }
    match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(FileType::from_raw_mode(stat.st_mode))),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Removes a file. What a task did to keep it is undone: flags that forbid its removal, and a mount
/// over it.
fn remove_file(folder: &OwnedFd, name: &OsStr) -> SysResult<()> {
    match gone(unlinkat(folder, name, AtFlags::empty())) {
        Err(Errno::PERM) => {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            if let Ok(file) = openat(folder, name, flags, Mode::empty()) {
                unlock(&file);
            }
            unlock(folder);
            gone(unlinkat(folder, name, AtFlags::empty()))
        }
        Err(Errno::BUSY) => {
            unmount_at(folder, name)?;
            gone(unlinkat(folder, name, AtFlags::empty()))
        }
        end => end,
    }
}

/// Removes an empty folder.
fn remove_folder(parent: &OwnedFd, name: &OsStr) -> SysResult<()> {
    match gone(unlinkat(parent, name, AtFlags::REMOVEDIR)) {
        Err(Errno::PERM) => {
            unlock(parent);
            gone(unlinkat(parent, name, AtFlags::REMOVEDIR))
        }
        end => end,
    }
}

/// Clears the flags of a file or folder that forbid to change or remove it (`chattr(1)`). Whether
/// that helped shows at the next attempt to remove something.
fn unlock(file: &OwnedFd) {
    if let Ok(flags) = ioctl_getflags(file) {
        let _still_locked = ioctl_setflags(file, flags - (IFlags::IMMUTABLE | IFlags::APPEND));
    }
}

/// Detaches what is mounted over the entry `name`. Its contents are not a workspace's.
fn unmount_at(folder: &OwnedFd, name: &OsStr) -> SysResult<()> {
    let mut path = OsString::from(format!("/proc/self/fd/{}/", folder.as_raw_fd()));
    path.push(name);
    unmount(path, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW)
}

/// Opens a folder whose entries are to be removed, and makes it writable. What is mounted over it is
/// detached, and neither changed nor entered.
fn open_writable(parent: &OwnedFd, name: &OsStr, mount: Mount) -> SysResult<OwnedFd> {
    let mut seen = statx(parent, name, AtFlags::SYMLINK_NOFOLLOW, Mount::MASK)?;
    for _ in 0..MOUNTS {
        if Mount::of(&seen) == mount {
            break;
        }
        unmount_at(parent, name).map_err(|_| Errno::BUSY)?;
        seen = statx(parent, name, AtFlags::SYMLINK_NOFOLLOW, Mount::MASK)?;
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let ours = Mode::RWXU;
    let folder = match openat(parent, name, flags, Mode::empty()) {
        Err(Errno::ACCESS) => {
            chmodat(parent, name, ours, AtFlags::empty())?;
            openat(parent, name, flags, Mode::empty())?
        }
        opened => opened?,
    };
    let mode = Mode::from_raw_mode(seen.stx_mode.into());
    if !mode.contains(ours) && fchmod(&folder, ours) == Err(Errno::PERM) {
        unlock(&folder);
        fchmod(&folder, ours)?;
    }
    Ok(folder)
}

/// How many mounts over one folder are detached.
const MOUNTS: usize = 64;

/// The mount that a folder belongs to: its number, where the kernel has such numbers, and its
/// device.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Mount(u64, u32, u32);

impl Mount {
    const MASK: StatxFlags = StatxFlags::BASIC_STATS.union(StatxFlags::MNT_ID);

    fn of(seen: &Statx) -> Self {
        let numbered = seen.stx_mask & StatxFlags::MNT_ID.bits() != 0;
        let number = if numbered { seen.stx_mnt_id } else { 0 };
        Self(number, seen.stx_dev_major, seen.stx_dev_minor)
    }
}

fn names(folder: &OwnedFd) -> SysResult<Vec<(CString, FileType)>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
            names.push((entry.file_name().to_owned(), entry.file_type()));
        }
    }
    Ok(names)
}

fn gone(removed: SysResult<()>) -> SysResult<()> {
    match removed {
        Err(Errno::NOENT) => Ok(()),
        end => end,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn a_tree_is_removed_whatever_is_in_it_and_what_links_lead_to_stays() {
        let home = tempfile::tempdir().unwrap();
        let precious = home.path().join("precious");
        fs::create_dir(&precious).unwrap();
        fs::write(precious.join("file"), "x").unwrap();
        let mut deep = home.path().join("run/tree");
        for _ in 0..300 {
            deep = deep.join("d");
        }
        fs::create_dir_all(&deep).unwrap();
        symlink(&precious, deep.join("link")).unwrap();
        fs::write(deep.join("file"), "x").unwrap();
        fs::set_permissions(&deep, fs::Permissions::from_mode(0o000)).unwrap();
        let removals = Removals::default();
        let discard = |path| discard(&home.path().join(path), &Faults::default(), &removals);
        discard("run/tree").unwrap();
        removals.wait();
        assert_eq!(fs::read_dir(home.path().join("run")).unwrap().count(), 0);
        assert_eq!(fs::read(precious.join("file")).unwrap(), b"x");
        discard("run/tree").unwrap();
        discard("nowhere/tree").unwrap();
    }
}
