//! What a test asks of the machine: a small disk, a free port, and a word when it cannot
//! have it.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::net::{AddressFamily, SocketType, bind, getsockname, socket};

/// Returns the folder in which rustup keeps toolchains, for a shell with another home that is to run
/// `rustfmt`. Without rustup, nothing is there.
#[must_use]
pub fn rustup_home() -> PathBuf {
    let home = || std::env::home_dir().unwrap_or_default().join(".rustup");
    std::env::var_os("RUSTUP_HOME").map_or_else(home, PathBuf::from)
}

/// A port of the loopback without a listener, on which no other program can listen meanwhile.
#[derive(Debug)]
pub struct ClosedPort {
    _bound: OwnedFd,
    address: SocketAddr,
}

impl ClosedPort {
    /// Takes one.
    ///
    /// # Panics
    /// When there is none.
    #[must_use]
    pub fn take() -> Self {
        let bound = socket(AddressFamily::INET, SocketType::STREAM, None);
        let bound = bound.expect("a socket can be had");
        bind(&bound, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).expect("a port can be had");
        let address = getsockname(&bound).expect("a bound socket has an address");
        let address = address.try_into().expect("it is one of the loopback");
        Self { _bound: bound, address }
    }

    /// Returns its address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// A file system of a kind in a file, unmounted when dropped.
#[derive(Debug)]
pub struct LoopDisk {
    folder: PathBuf,
}

impl LoopDisk {
    /// Makes one of `mebibytes` and mounts it at `folder`, which is made, as is the file beside it.
    ///
    /// # Errors
    /// Why this machine does not allow it.
    pub fn mount(folder: &Path, kind: &str, mebibytes: u64) -> Result<Self, String> {
        std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
        let image = folder.with_extension("image");
        let file = std::fs::File::create(&image).map_err(|error| error.to_string())?;
        file.set_len(mebibytes << 20).map_err(|error| error.to_string())?;
        let quiet: &[&str] = if kind == "exfat" { &[] } else { &["-q"] };
        succeed(Command::new(format!("mkfs.{kind}")).args(quiet).arg(&image))?;
        let mount = |kind: &str| {
            succeed(Command::new("mount").args(["-t", kind, "-o", "loop"]).arg(&image).arg(folder))
        };
        // A program mounts what the kernel does not know.
        mount(kind).or_else(|why| mount(&format!("{kind}-fuse")).map_err(|_| why))?;
        Ok(Self { folder: folder.to_owned() })
    }

    /// Returns the folder where it is mounted.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for LoopDisk {
    fn drop(&mut self) {
        let _gone = Command::new("umount").arg("-l").arg(&self.folder).status();
    }
}

/// Runs a program of the system to its end.
fn succeed(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().display().to_string();
    let output = command.output().map_err(|error| format!("cannot run {program}: {error}"))?;
    if output.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
    }
}

/// A file system of a few megabytes, unmounted when dropped.
#[derive(Debug)]
pub struct SmallDisk {
    folder: PathBuf,
}

impl SmallDisk {
    /// Mounts one of `kibibytes` at `folder`, which is made.
    ///
    /// # Errors
    /// Why this machine does not allow it.
    pub fn mount(folder: &Path, kibibytes: u64) -> Result<Self, String> {
        std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
        let size = format!("size={kibibytes}k,mode=0700");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(folder);
        succeed(&mut mount)?;
        Ok(Self { folder: folder.to_owned() })
    }

    /// Gives it another size while it is mounted.
    pub fn resize(&self, kibibytes: u64) {
        let size = format!("remount,size={kibibytes}k");
        let status = Command::new("mount").args(["-o", &size]).arg(&self.folder).status();
        assert!(status.is_ok_and(|status| status.success()), "a mounted disk can be resized");
    }

    /// Fills it until `kibibytes` are free, with one file.
    pub fn fill(&self, kibibytes: u64) {
        let ballast = self.folder.join("ballast");
        let free = || {
            let stat = rustix::fs::statvfs(&self.folder).expect("a mounted disk has a size");
            stat.f_bavail * stat.f_frsize / 1024
        };
        let mut file = std::fs::File::create(ballast).expect("there is room for a name");
        while free() > kibibytes {
            if file.write_all(&[0; 1024]).is_err() {
                break;
            }
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: a process that a failed test left behind may still stand in it.
        let _gone = Command::new("umount").arg("-l").arg(&self.folder).status();
    }
}
