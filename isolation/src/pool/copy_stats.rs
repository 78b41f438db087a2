//! What a copy looks like to the file system when it is new. A file or folder that still looks like
//! that was not touched: each change gives it another change time (ctime).

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, StatxFlags, StatxTimestamp, fchmod, fgetxattr,
    flistxattr, ioctl_getflags, openat, statx,
};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use super::run_table::{TableFolder, folders};
use crate::baseline::Snapshot;
use crate::error::{OrCannot, Result};
use crate::tree::{Stat, Tree};

type SysResult<T> = std::result::Result<T, Errno>;

/// The stats of a copy when it was new, in the order of the run's table.
#[derive(Debug)]
pub(crate) struct CopyStats {
    /// The mount that holds the whole copy.
    pub(super) mount: MountId,
    /// The folder that contains the copy and its git folder.
    top: (FolderStat, Attributes),
    pub(super) folders: Vec<FolderStats>,
}

/// The stats of one folder.
#[derive(Debug)]
pub(super) struct FolderStats {
    pub(super) stat: FolderStat,
    /// Its attributes beyond its stat.
    pub(super) attributes: Attributes,
    /// Its files and symlinks, sorted by name; `None` for one that was not copied because it was
    /// gone.
    pub(super) files: Vec<Option<FileStamp>>,
}

/// The part of a folder's stat that shows whether anything in it was added, removed or renamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FolderStat {
    pub(super) ino: u64,
    pub(super) ctime_ns: i64,
    pub(super) mtime_ns: i64,
    pub(super) mode: u32,
    pub(super) owner: (u32, u32),
}

/// The part of a file's stat that no other file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileStamp {
    pub(super) ino: u64,
    pub(super) ctime_ns: i64,
}

/// The attributes of a folder that new entries inherit: its extended attributes and its flags
/// (`chattr(1)`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Attributes {
    xattrs: Option<[u8; 32]>,
    flags: u32,
}

/// A mount. Not every kernel has numbers for mounts; the device is always there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MountId {
    device: (u32, u32),
    mount: u64,
}

/// What `statx` says about an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) stat: Stat,
    pub(super) links: u32,
    pub(super) owner: (u32, u32),
    pub(super) mount: MountId,
}

impl Seen {
    /// Looks at the entry `name` of the folder `fd`, without following a symlink. Returns `None` if
    /// there is none.
    pub(super) fn at(fd: impl AsFd, name: &OsStr) -> SysResult<Option<Self>> {
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
        match statx(fd, name, flags, StatxFlags::BASIC_STATS | StatxFlags::MNT_ID) {
            Ok(seen) => Ok(Some(Self::of(&seen))),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Looks at an open file or folder.
    pub(super) fn open(fd: impl AsFd) -> SysResult<Self> {
        let mask = StatxFlags::BASIC_STATS | StatxFlags::MNT_ID;
        statx(fd, "", AtFlags::EMPTY_PATH, mask).map(|seen| Self::of(&seen))
    }

    fn of(seen: &rustix::fs::Statx) -> Self {
        let ns = |time: StatxTimestamp| {
            time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec.into())
        };
        let numbered = seen.stx_mask & StatxFlags::MNT_ID.bits() != 0;
        Self {
            stat: Stat {
                size: seen.stx_size,
                mtime_ns: ns(seen.stx_mtime),
                ctime_ns: ns(seen.stx_ctime),
                ino: seen.stx_ino,
                mode: seen.stx_mode.into(),
            },
            links: seen.stx_nlink,
            owner: (seen.stx_uid, seen.stx_gid),
            mount: MountId {
                device: (seen.stx_dev_major, seen.stx_dev_minor),
                mount: if numbered { seen.stx_mnt_id } else { 0 },
            },
        }
    }

    pub(super) fn is_folder(&self) -> bool {
        FileType::from_raw_mode(self.stat.mode) == FileType::Directory
    }

    pub(super) fn folder_stat(&self) -> FolderStat {
        let Stat { mtime_ns, ctime_ns, ino, mode, .. } = self.stat;
        FolderStat { ino, ctime_ns, mtime_ns, mode, owner: self.owner }
    }

    pub(super) fn stamp(&self) -> FileStamp {
        FileStamp { ino: self.stat.ino, ctime_ns: self.stat.ctime_ns }
    }
}

impl Attributes {
    /// Reads the attributes of an open folder.
    pub(super) fn of(folder: &OwnedFd) -> SysResult<Self> {
        let flags = match ioctl_getflags(folder) {
            // File systems change some flags on their own, as when a folder grows.
            Ok(flags) => flags.bits() & SETTABLE,
            Err(Errno::NOTTY | Errno::OPNOTSUPP | Errno::INVAL | Errno::NOSYS) => 0,
            Err(error) => return Err(error),
        };
        Ok(Self { xattrs: xattrs(folder)?, flags })
    }
}

/// The flags that a user can set with `chattr(1)`. The others are the file system's own.
const SETTABLE: u32 = 0x6283_c4ff;

/// Returns the hash of the extended attributes; `None` if there are none.
fn xattrs(folder: &OwnedFd) -> SysResult<Option<[u8; 32]>> {
    let mut names = vec![0; 1 << 16];
    let length = match flistxattr(folder, &mut names[..]) {
        Ok(length) => length,
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => 0,
        Err(error) => return Err(error),
    };
    if length == 0 {
        return Ok(None);
    }
    let mut all = Sha256::new();
    let mut value = vec![0; 1 << 16];
    for name in names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let length = fgetxattr(folder, OsStr::from_bytes(name), &mut value[..])?;
        all.update((name.len() as u64).to_le_bytes());
        all.update(name);
        all.update((length as u64).to_le_bytes());
        all.update(&value[..length]);
    }
    Ok(Some(all.finalize().into()))
}

impl CopyStats {
    /// Records a new copy in the folder `top`, which is not in use yet. Returns `None` if the system
    /// does not say enough: then the copy cannot be used again.
    pub(crate) fn record(snapshot: &Snapshot, top: &Path, tree: &Tree) -> Option<Self> {
        match Self::try_record(snapshot, top, tree) {
            Ok(stats) => Some(stats),
            Err(error) => {
                tracing::info!(%error, "a copy can be used once only");
                None
            }
        }
    }

    fn try_record(snapshot: &Snapshot, top: &Path, tree: &Tree) -> SysResult<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let top = openat(CWD, top, flags, Mode::empty())?;
        let top = (Seen::open(&top)?.folder_stat(), Attributes::of(&top)?);
        let mount = Seen::open(tree.fd())?.mount;
        let folders = folders(snapshot);
        let recorded = folders.iter().map(|folder| FolderStats::record(tree, folder));
        Ok(Self { mount, top, folders: recorded.collect::<SysResult<_>>()? })
    }

    /// Fails if the folder with the copy is on another mount or has other attributes than before.
    /// Restores its permissions.
    pub(super) fn check_top(&self, top: &OwnedFd) -> Result<()> {
        let what = || "use a copy again";
        let (was, attributes) = self.top;
        let seen = Seen::open(top).or_cannot(what)?;
        let same = seen.mount == self.mount
            && seen.owner == was.owner
            && Attributes::of(top).or_cannot(what)? == attributes;
        if !same {
            return Err("a task has changed its owner or its attributes").or_cannot(what);
        }
        if seen.stat.mode != was.mode {
            fchmod(top, Mode::from_raw_mode(was.mode & 0o7777)).or_cannot(what)?;
        }
        Ok(())
    }
}

impl FolderStats {
    /// Records a folder and its files.
    pub(super) fn record(tree: &Tree, folder: &TableFolder<'_>) -> SysResult<Self> {
        let fd = tree.open(folder.path)?;
        let files = folder
            .files()
            .into_iter()
            .map(|file| Ok(Seen::at(&fd, file.name)?.map(|seen| seen.stamp())));
        let files = files.collect::<SysResult<_>>()?;
        Ok(Self { stat: Seen::open(&fd)?.folder_stat(), attributes: Attributes::of(&fd)?, files })
    }
}
