//! How much room a file system has.

use std::io;
use std::path::Path;

use rustix::fs::{FallocateFlags, fallocate, statvfs};
use rustix::io::Errno;

/// Room beyond the objects: the index of a pack, and what is written beside it.
const MARGIN: u64 = 256 << 10;

/// Whether there is room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// A pack can be written.
    Enough,
    /// Writing a pack may kill the process.
    Scarce,
}

/// Returns how many bytes are free for the user on the file system of `folder`.
///
/// # Errors
/// The file system cannot be examined.
pub(crate) fn free_bytes(folder: &Path) -> io::Result<u64> {
    let disk = statvfs(folder)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Returns whether a pack with objects of `bytes` bytes can be written to `folder`. Twice the size
/// must be free, because others write to the disk as well.
///
/// libgit2 writes packs through a memory map. It has only the last page of each piece allocated first,
/// and any other page that finds no room is not an error: it kills the process (SIGBUS).
///
/// # Errors
/// The file system cannot be examined.
pub(crate) fn room_for_pack(folder: &Path, bytes: u64) -> io::Result<Room> {
    let free = free_bytes(folder)?;
    if free < bytes.saturating_mul(2).saturating_add(MARGIN) {
        return Ok(Room::Scarce);
    }
    // Free space does not show the user's quota, but the quota counts what is reserved for a file.
    let Ok(probe) = tempfile::tempfile_in(folder) else { return Ok(Room::Scarce) };
    match fallocate(&probe, FallocateFlags::empty(), 0, bytes.saturating_add(MARGIN)) {
        Err(Errno::NOSPC | Errno::DQUOT) => Ok(Room::Scarce),
        // Not every file system can reserve space.
        Ok(()) | Err(_) => Ok(Room::Enough),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_a_small_pack_and_none_for_one_as_large_as_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(room_for_pack(folder.path(), 1).unwrap(), Room::Enough);
        let free = free_bytes(folder.path()).unwrap();
        assert_eq!(room_for_pack(folder.path(), free / 2 + 1).unwrap(), Room::Scarce);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "the probe is gone");
    }
}
