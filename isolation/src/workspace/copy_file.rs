//! Copies one file of the snapshot, completely or not at all.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{
    AtFlags, Mode, OFlags, Timespec, Timestamps, copy_file_range, fchmod, fstat, ftruncate,
    futimens, ioctl_ficlone, openat, readlinkat, statat, symlinkat, utimensat,
};
use rustix::io::{Errno, read, write};

use crate::baseline::FrozenEntry;
use crate::tree::Stat;

/// The size up to which a file is copied through memory: one read and one write are faster than
/// asking the kernel to copy.
const SMALL: u64 = 128 << 10;

/// How often a file that changes while it is copied is copied again.
const ATTEMPTS: u32 = 3;

/// Copies files to a workspace, in the way that its file system supports.
#[derive(Debug)]
pub(crate) struct FileCopier {
    /// Whether the file system can share blocks between files. False once it has refused a clone.
    clones: AtomicBool,
    /// The permissions that the umask of the process removes from a new file.
    mask: u32,
}

/// The result of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Copied {
    /// The copy is complete.
    Whole,
    /// The user's file has changed since the snapshot. No copy was made.
    Stale,
}

impl FileCopier {
    /// Returns a copier for the folder `probe`. Makes a temporary file in `probe` to find the umask
    /// of the process.
    pub(crate) fn find(probe: &OwnedFd) -> std::result::Result<Self, Errno> {
        let name = ".mask";
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = openat(probe, name, flags, Mode::from_raw_mode(0o777))?;
        let mask = !fstat(&file)?.st_mode & 0o777;
        rustix::fs::unlinkat(probe, name, AtFlags::empty())?;
        Ok(Self { clones: AtomicBool::new(true), mask })
    }

    /// Copies the file `name` of the user's folder if it is unchanged since the snapshot.
    pub(super) fn copy(
        &self,
        from: &OwnedFd,
        to: &OwnedFd,
        name: &OsStr,
        frozen: &FrozenEntry,
        buffer: &mut Vec<u8>,
    ) -> std::io::Result<Copied> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        // If the user's file cannot be opened, the caller restores its content from elsewhere.
        let Ok(source) = openat(from, name, flags, Mode::empty()) else {
            return Ok(Copied::Stale);
        };
        if frozen.stat.size <= SMALL && !self.clones.load(Ordering::Relaxed) {
            return self.copy_small(&source, (to, name), &frozen.stat, buffer);
        }
        if Stat::of(&fstat(&source)?) != frozen.stat {
            return Ok(Copied::Stale);
        }
        let target = self.create(to, name, &frozen.stat)?;
        let mut source = File::from(source);
        let whole = match self.fill(&mut source, &target, frozen.stat.size, buffer) {
            Ok(whole) => whole,
            Err(error) if is_of_source(&error) => false,
            Err(error) => return Err(error),
        };
        if whole && Stat::of(&fstat(&source)?) == frozen.stat {
            self.finish(&target, &frozen.stat)?;
            return Ok(Copied::Whole);
        }
        rustix::fs::unlinkat(to, name, AtFlags::empty())?;
        Ok(Copied::Stale)
    }

    /// Copies a small file through memory. Its stat is compared once, when its bytes are read: if it
    /// is that of the snapshot, so were the bytes.
    fn copy_small(
        &self,
        source: &OwnedFd,
        (to, name): (&OwnedFd, &OsStr),
        stat: &Stat,
        buffer: &mut Vec<u8>,
    ) -> std::io::Result<Copied> {
        buffer.resize(usize::try_from(stat.size).unwrap_or_default(), 0);
        let mut filled = 0;
        while filled < buffer.len() {
            match read(source, &mut buffer[filled..]) {
                Ok(0) => return Ok(Copied::Stale),
                Ok(length) => filled += length,
                Err(Errno::INTR) => {}
                // It is not the file of the snapshot, or its bytes are restored from elsewhere.
                Err(_) => return Ok(Copied::Stale),
            }
        }
        if Stat::of(&fstat(source)?) != *stat {
            return Ok(Copied::Stale);
        }
        let target = self.create(to, name, stat)?;
        write_whole(&target, buffer)?;
        self.finish(&target, stat)?;
        Ok(Copied::Whole)
    }

    /// Copies the file or symlink `name` as it is now. Returns the number of bytes, or `None` if
    /// there is no such file any more. A file that keeps changing is copied as it is read last.
    pub(crate) fn copy_present(
        &self,
        from: &OwnedFd,
        to: &OwnedFd,
        name: &OsStr,
        buffer: &mut Vec<u8>,
    ) -> std::io::Result<Option<u64>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        for attempt in 1.. {
            let before = match statat(from, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => Stat::of(&stat),
                Err(Errno::NOENT) => return Ok(None),
                Err(error) => return Err(error.into()),
            };
            match before.kind() {
                None => return Ok(None),
                Some(crate::file_entry::Mode::Link) => {
                    let target = readlinkat(from, name, Vec::new())?;
                    symlinkat(&target, to, name)?;
                    utimensat(to, name, &times(&before), AtFlags::SYMLINK_NOFOLLOW)?;
                    return Ok(Some(before.size));
                }
                Some(crate::file_entry::Mode::File | crate::file_entry::Mode::Executable) => {}
            }
            let mut source = match openat(from, name, flags, Mode::empty()) {
                Ok(source) => File::from(source),
                Err(Errno::NOENT | Errno::LOOP | Errno::NXIO) => continue,
                Err(error) => return Err(error.into()),
            };
            let target = self.create(to, name, &before)?;
            let whole = self.fill(&mut source, &target, before.size, buffer)?;
            let settled = whole && Stat::of(&fstat(&source)?) == before;
            if settled || attempt >= ATTEMPTS {
                self.finish(&target, &before)?;
                return Ok(Some(before.size));
            }
            rustix::fs::unlinkat(to, name, AtFlags::empty())?;
        }
        Ok(None)
    }

    /// Writes a file or a symlink with these bytes.
    pub(super) fn write(
        &self,
        to: &OwnedFd,
        name: &OsStr,
        frozen: &FrozenEntry,
        bytes: &[u8],
    ) -> std::io::Result<()> {
        if frozen.mode == crate::file_entry::Mode::Link {
            symlinkat(OsStr::from_bytes(bytes), to, name)?;
            return Ok(utimensat(to, name, &times(&frozen.stat), AtFlags::SYMLINK_NOFOLLOW)?);
        }
        let mut file = File::from(self.create(to, name, &frozen.stat)?);
        file.write_all(bytes)?;
        Ok(self.finish(&file, &frozen.stat)?)
    }

    fn create(&self, to: &OwnedFd, name: &OsStr, stat: &Stat) -> std::io::Result<OwnedFd> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        Ok(openat(to, name, flags, Mode::from_raw_mode(permissions(stat)))?)
    }

    /// Gives a new file the permissions and the modification time of its original.
    fn finish(&self, file: impl AsFd, stat: &Stat) -> std::result::Result<(), Errno> {
        if permissions(stat) & self.mask != 0 {
            fchmod(&file, Mode::from_raw_mode(permissions(stat)))?;
        }
        futimens(&file, &times(stat))
    }

    /// Copies `size` bytes. Returns whether `source` has at least `size` bytes.
    fn fill(
        &self,
        source: &mut File,
        target: &OwnedFd,
        size: u64,
        buffer: &mut Vec<u8>,
    ) -> std::io::Result<bool> {
        if size == 0 {
            return Ok(true);
        }
        if self.clones.load(Ordering::Relaxed) {
            match ioctl_ficlone(target, &*source) {
                Ok(()) => return Ok(true),
                // This file cannot be cloned, such as one whose blocks are written in place.
                Err(Errno::INVAL | Errno::PERM | Errno::TXTBSY) => {}
                Err(_) => self.clones.store(false, Ordering::Relaxed),
            }
        }
        if size > SMALL {
            match through_kernel(source, target, size) {
                Err(Errno::XDEV | Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP | Errno::PERM) => {
                    ftruncate(target, 0)?;
                    std::io::Seek::rewind(source)?;
                    rustix::fs::seek(target, rustix::fs::SeekFrom::Start(0))?;
                }
                end => return Ok(end?),
            }
        }
        through_memory(source, target, size, buffer)
    }
}

fn through_kernel(source: &File, target: &OwnedFd, size: u64) -> std::result::Result<bool, Errno> {
    let mut left = size;
    while left > 0 {
        let step = usize::try_from(left).unwrap_or(usize::MAX).min(1 << 30);
        match copy_file_range(source, None, target, None, step) {
            Ok(0) => return Ok(false),
            Ok(copied) => left = left.saturating_sub(copied as u64),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

fn through_memory(
    source: &mut File,
    target: &OwnedFd,
    size: u64,
    buffer: &mut Vec<u8>,
) -> std::io::Result<bool> {
    buffer.resize(usize::try_from(size.min(SMALL)).unwrap_or_default(), 0);
    let mut left = size;
    while left > 0 {
        let read = match source.read(buffer) {
            Ok(0) => return Ok(false),
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        write_whole(target, &buffer[..read])?;
        left = left.saturating_sub(read as u64);
    }
    Ok(true)
}

fn write_whole(target: &OwnedFd, mut bytes: &[u8]) -> std::io::Result<()> {
    while !bytes.is_empty() {
        match write(target, bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Returns whether an error is about reading the user's file, not about writing the copy.
fn is_of_source(error: &std::io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::IO | Errno::STALE | Errno::ACCESS))
}

fn permissions(stat: &Stat) -> u32 {
    stat.mode & 0o777
}

/// Returns the modification time of the original; the access time is left alone.
fn times(stat: &Stat) -> Timestamps {
    const OMIT: i64 = rustix::fs::UTIME_OMIT;
    Timestamps {
        last_access: Timespec { tv_sec: 0, tv_nsec: OMIT },
        last_modification: Timespec {
            tv_sec: stat.mtime_ns.div_euclid(1_000_000_000),
            tv_nsec: stat.mtime_ns.rem_euclid(1_000_000_000),
        },
    }
}
