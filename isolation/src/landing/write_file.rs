//! Writes a new version of a file, beside its target or over it, with the owner, permissions and
//! extended attributes of the old version.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};

use protocol::RepoPath;
use rustix::fs::{
    AtFlags, Gid, Mode as Permissions, OFlags, Uid, XattrFlags, fchmod, fchown, fgetxattr,
    flistxattr, flistxattr_query, fsetxattr, fstat, openat, statat, symlinkat, syncfs,
};
use rustix::io::Errno;

use crate::error::{OrCannot, Result};
use crate::file_entry::{Entry, Mode};
use crate::landing::file_mover::{FileMover, Moved, ParentDir};
use crate::landing::plan::FileChange;
use crate::tree::Stat;

/// The number of files above which syncing the whole file system is faster.
const MANY: usize = 64;

/// What was synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Synced {
    /// The files, and not their names in their folders.
    Files,
    /// Everything in the file systems of the files.
    FileSystems,
}

impl FileMover<'_> {
    /// Writes the new version to its staging path, and returns its stat; `None` if something is there.
    /// It is durable after [`Self::sync`].
    pub(super) fn write_fresh(
        &self,
        change: &FileChange,
        new: Entry,
        bytes: &[u8],
    ) -> Result<Option<Stat>> {
        let what = || format!("write {} beside {}", change.temp, change.path);
        let parent = self.parent_dir(&change.temp)?.ok_or("its folder is gone").or_cannot(what)?;
        let old = match change.expected.map(|expected| expected.mode) {
            Some(Mode::File | Mode::Executable) => self.open(&change.path, OFlags::RDONLY)?,
            Some(Mode::Link) | None => None,
        };
        self.failpoint()?;
        match fresh(&parent, new.mode, bytes, old.as_ref()) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
            written => written.or_cannot(what).map(Some),
        }
    }

    /// Syncs files: one by one, or, if there are many, their whole file systems with all folders,
    /// which is several times faster then.
    pub(super) fn sync_all(&self, paths: &[&RepoPath]) -> Result<Synced> {
        if paths.len() <= MANY {
            paths.iter().try_for_each(|path| self.sync(path))?;
            return Ok(Synced::Files);
        }
        let mut synced = BTreeSet::new();
        for path in paths {
            let what = || format!("sync {path}");
            let Some(parent) = self.parent_dir(path)? else { continue };
            if synced.insert(fstat(&parent.folder).or_cannot(what)?.st_dev) {
                syncfs(&parent.folder).or_cannot(what)?;
            }
        }
        Ok(Synced::FileSystems)
    }

    /// Syncs a file. Does nothing for other kinds of paths.
    pub(super) fn sync(&self, path: &RepoPath) -> Result<()> {
        self.begin_change();
        let Some(file) = self.open(path, OFlags::RDONLY)? else { return Ok(()) };
        file.sync_all().or_cannot(|| format!("sync {path}"))
    }

    /// Overwrites a file from its beginning to its end, so that after a crash the content starts as
    /// the new version and continues as the old one.
    ///
    /// Writes nothing if the content is no longer `seen`, because another program has saved the
    /// file in the meantime.
    pub(super) fn write_over(
        &self,
        path: &RepoPath,
        new: Entry,
        seen: &[u8],
        bytes: &[u8],
    ) -> Result<Moved> {
        let what = || format!("write {path}");
        let mut file = self.open(path, OFlags::RDWR)?.ok_or("it is gone").or_cannot(what)?;
        self.failpoint()?;
        let mut now = Vec::new();
        file.read_to_end(&mut now).or_cannot(what)?;
        if now != seen {
            return Ok(Moved::No);
        }
        over(&file, new.mode, bytes).or_cannot(what)?;
        Ok(Moved::Yes)
    }

    /// Opens a file, if one is there.
    fn open(&self, path: &RepoPath, access: OFlags) -> Result<Option<File>> {
        let Some(parent) = self.parent_to_read(path)? else { return Ok(None) };
        let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        match openat(&parent.folder, &parent.name, flags, Permissions::empty()) {
            Ok(fd) => Ok(Some(File::from(fd))),
            Err(Errno::NOENT | Errno::LOOP | Errno::NXIO | Errno::ISDIR) => Ok(None),
            Err(error) => Err(error).or_cannot(|| format!("open {path}")),
        }
    }
}

fn fresh(parent: &ParentDir, mode: Mode, bytes: &[u8], old: Option<&File>) -> io::Result<Stat> {
    let permissions = match mode {
        Mode::Link => {
            symlinkat(bytes, &parent.folder, &parent.name)?;
            let stat = statat(&parent.folder, &parent.name, AtFlags::SYMLINK_NOFOLLOW)?;
            return Ok(Stat::of(&stat));
        }
        // Nobody who cannot read the old version may read the new one, not even before its
        // permissions are copied.
        Mode::File | Mode::Executable if old.is_some() => 0o600,
        Mode::File => 0o666,
        Mode::Executable => 0o777,
    };
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let permissions = Permissions::from_raw_mode(permissions);
    let fd: OwnedFd = openat(&parent.folder, &parent.name, flags, permissions)?;
    let mut file = File::from(fd);
    file.write_all(bytes)?;
    if let Some(old) = old {
        copy_metadata(&file, old, mode)?;
    }
    Ok(Stat::of(&fstat(&file)?))
}

fn over(file: &File, mode: Mode, bytes: &[u8]) -> io::Result<()> {
    let before = file.metadata()?;
    file.write_all_at(bytes, 0)?;
    file.set_len(u64::try_from(bytes.len()).unwrap_or(u64::MAX))?;
    let permissions = permissions(before.mode(), mode);
    if permissions != before.mode() & 0o777 {
        fchmod(file, Permissions::from_raw_mode(permissions))?;
    }
    file.sync_all()
}

/// Copies owner, extended attributes and permissions of the old file to the new one.
fn copy_metadata(file: &File, old: &File, mode: Mode) -> io::Result<()> {
    let (had, has) = (old.metadata()?, file.metadata()?);
    if !had.is_file() {
        return Ok(());
    }
    if (had.uid(), had.gid()) != (has.uid(), has.gid()) {
        // Only root may change the owner. A user may change the group to one of their own groups.
        let owner = (had.uid() != has.uid()).then(|| Uid::from_raw(had.uid()));
        let _refused = fchown(file, owner, Some(Gid::from_raw(had.gid())));
    }
    // The call fails on a file system without extended attributes. Most files have none; the buffer
    // for those that do is as large as the kernel's limit for a list.
    let any = flistxattr_query(old).unwrap_or(0) > 0;
    let mut names = if any { vec![0; 64 << 10] } else { Vec::new() };
    let length = if any { flistxattr(old, names.as_mut_slice()).unwrap_or(0) } else { 0 };
    for name in names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let mut value = vec![0; 64 << 10];
        let Ok(length) = fgetxattr(old, name, value.as_mut_slice()) else { continue };
        // Some attributes belong to the system and cannot be set by every user.
        let _refused = fsetxattr(file, name, &value[..length], XattrFlags::empty());
    }
    fchmod(file, Permissions::from_raw_mode(permissions(had.mode(), mode)))?;
    Ok(())
}

/// Returns the permissions with the executable bits set or cleared. The set-user-id and
/// set-group-id bits are not copied to new content.
fn permissions(had: u32, mode: Mode) -> u32 {
    let had = had & 0o777;
    match (Mode::of_file(had), mode) {
        (Mode::File, Mode::Executable) => had | ((had & 0o444) >> 2) | 0o100,
        (Mode::Executable, Mode::File) => had & !0o111,
        _ => had,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_may_read_a_file_may_run_it_when_it_becomes_executable() {
        assert_eq!(permissions(0o100_640, Mode::Executable), 0o750);
        assert_eq!(permissions(0o100_755, Mode::File), 0o644);
        assert_eq!(permissions(0o104_600, Mode::File), 0o600);
    }
}
