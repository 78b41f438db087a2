//! Read leases, by which a landing detects that a program has a file open for writing.
//!
//! The kernel grants a read lease only while no program has the file open or mapped for writing.
//! While the lease is held, a program that opens the file for writing waits for its release.
#![expect(unsafe_code, reason = "neither the standard library nor rustix can take a lease")]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;

use rustix::fs::fstatfs;
use rustix::io::Errno;

/// `F_SETSIG`, which libc does not define: chooses the signal that is sent when a lease is broken.
const F_SETSIG: libc::c_int = 10;

/// The type numbers of file systems whose servers grant leases. On these, `EAGAIN` does not mean
/// that a program has the file open for writing.
const DECIDED_BY_A_SERVER: [u32; 4] = [
    0x6969,      // NFS
    0xff53_4d42, // CIFS
    0xfe53_4d42, // SMB2
    0x517b,      // SMB
];

/// A read lease, released when dropped.
#[derive(Debug)]
pub(super) struct Lease {
    file: File,
}

/// Why a lease was denied.
#[derive(Debug)]
pub(super) enum Denied {
    /// A program has the file open for writing.
    Writer,
    /// It is a folder, a pipe or the like, on which there are no leases.
    NoFile,
    /// The file system does not grant leases on this file.
    Unavailable(io::Error),
}

impl Lease {
    /// Takes a read lease on `file`, which is open for reading only.
    pub(super) fn take(file: File) -> Result<Self, Denied> {
        // When a program wants to write, the kernel sends a signal. The default, SIGIO, would end
        // the process; SIGURG is ignored by default.
        control(&file, F_SETSIG, libc::SIGURG).map_err(Denied::Unavailable)?;
        match lease(&file) {
            Ok(()) => Ok(Self { file }),
            Err(Denied::Unavailable(error)) => Err(match file.metadata() {
                Ok(found) if !found.is_file() => Denied::NoFile,
                Ok(_) | Err(_) => Denied::Unavailable(error),
            }),
            Err(denied) => Err(denied),
        }
    }

    /// Returns whether no program has tried to open the file for writing since the lease was taken.
    /// A program that tries waits until the lease is released.
    pub(super) fn is_unbroken(&self) -> bool {
        matches!(control(&self.file, libc::F_GETLEASE, 0), Ok(held) if held == libc::F_RDLCK)
    }

    /// Releases the lease, so that waiting programs go on, and takes it again.
    ///
    /// # Errors
    /// Fails if a program has the file open for writing, or if no lease can be taken. After a
    /// failure, the lease is not held until another call succeeds.
    pub(super) fn renew(&self) -> Result<(), Denied> {
        let _was_not_held = control(&self.file, libc::F_SETLEASE, libc::F_UNLCK);
        lease(&self.file)
    }

    /// Returns the file that the lease is on.
    pub(super) fn file(&self) -> &File {
        &self.file
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // Closing the file would not release the lease: a child that another thread is starting has
        // the descriptor, too, until it executes its program.
        let _closed_anyway = control(&self.file, libc::F_SETLEASE, libc::F_UNLCK);
    }
}

fn lease(file: &File) -> Result<(), Denied> {
    match control(file, libc::F_SETLEASE, libc::F_RDLCK) {
        Ok(_) => Ok(()),
        Err(error)
            if Errno::from_io_error(&error) == Some(Errno::AGAIN)
                && !is_decided_by_a_server(file) =>
        {
            Err(Denied::Writer)
        }
        Err(error) => Err(Denied::Unavailable(error)),
    }
}

fn is_decided_by_a_server(file: &File) -> bool {
    let kind = fstatfs(file).map(|system| system.f_type);
    // The number is signed on some machines and unsigned on others. Its lower half is the same.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "as said above")]
    kind.is_ok_and(|kind| DECIDED_BY_A_SERVER.contains(&(kind as u32)))
}

fn control(file: &File, command: libc::c_int, argument: libc::c_int) -> io::Result<libc::c_int> {
    // SAFETY: the descriptor is open as long as `file` is borrowed, and none of these commands
    // takes a pointer.
    let answer = unsafe { libc::fcntl(file.as_raw_fd(), command, argument) };
    if answer == -1 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, OpenOptions};
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    use std::path::Path;
    use std::thread;
    use std::time::Duration;

    use rustix::fs::OFlags;

    use super::*;

    fn take(path: &Path) -> Result<Lease, Denied> {
        Lease::take(File::open(path).unwrap())
    }

    /// Takes the lease of a file that nobody writes any more. A process that another test is starting has
    /// the file open, too, until it executes its program.
    fn take_closed(path: &Path) -> Lease {
        let mut lease = None;
        test_limit::eventually(Duration::from_secs(60), "nobody writes", || {
            lease = take(path).ok();
            lease.is_some()
        });
        lease.unwrap()
    }

    #[test]
    fn a_writer_is_seen_and_readers_do_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "1\n").unwrap();
        let reader = File::open(&path).unwrap();
        assert!(take_closed(&path).is_unbroken());
        let writer = OpenOptions::new().append(true).open(&path).unwrap();
        assert!(matches!(take(&path), Err(Denied::Writer)));
        drop(writer);
        assert!(take_closed(&path).is_unbroken());
        drop(reader);
    }

    #[test]
    fn where_there_are_no_leases_nobody_is_taken_for_a_writer() {
        assert!(matches!(take(Path::new("/dev/null")), Err(Denied::NoFile)));
        assert!(matches!(take(Path::new("/dev")), Err(Denied::NoFile)));
        let of_the_kernel = take(Path::new("/proc/self/status"));
        assert!(matches!(of_the_kernel, Err(Denied::Unavailable(_)) | Ok(_)));
    }

    #[test]
    fn who_opens_a_leased_file_for_writing_waits_and_the_lease_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "1\n").unwrap();
        let lease = take_closed(&path);
        let nonblocking = i32::try_from(OFlags::NONBLOCK.bits()).unwrap();
        let refused = OpenOptions::new().write(true).custom_flags(nonblocking).open(&path);
        assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::WouldBlock);
        assert!(!lease.is_unbroken());
        let writer = {
            let path = path.clone();
            thread::spawn(move || {
                OpenOptions::new().append(true).open(path).unwrap().write_all(b"2\n").unwrap();
            })
        };
        drop(lease);
        writer.join().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "1\n2\n");
        assert!(take_closed(&path).is_unbroken());
    }
}
