//! Finds out whether a process uses the files of a workspace: one that has left its process group may
//! still run. After its workspace got another name, such a process reaches the files only by what it
//! has open.

use std::fs;
use std::io::{Error, ErrorKind};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Returns whether certainly no process that is younger than this one uses anything in `folder`: as
/// its working directory or root, as an open file, as its program, or mapped into memory. Older
/// processes were not started by a task.
pub(crate) fn is_unused(folder: &Path) -> bool {
    let Ok(folder) = folder.canonicalize() else { return false };
    // The kernel writes some bytes in another way.
    if folder.as_os_str().as_bytes().iter().any(|byte| matches!(byte, b'\n' | b'\\')) {
        return false;
    }
    all_unused(&folder).unwrap_or(false)
}

fn all_unused(folder: &Path) -> std::io::Result<bool> {
    let Some(own) = Process::read(Path::new("/proc/self"))? else { return Ok(false) };
    for entry in fs::read_dir("/proc")? {
        let entry = entry?;
        let name = entry.file_name();
        if !name.as_bytes().iter().all(u8::is_ascii_digit) {
            continue;
        }
        let path = entry.path();
        let Some(process) = Process::read(&path)? else { continue };
        if process.is_dead || process.started < own.started || process.id == own.id {
            continue;
        }
        match uses(&path, folder) {
            Ok(false) => {}
            Ok(true) => return Ok(false),
            Err(error) if has_ended(&error) => {}
            // A program of another user, who has no business in a workspace.
            Err(error)
                if error.kind() == ErrorKind::PermissionDenied && !is_of_this_user(&path) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

fn is_of_this_user(process: &Path) -> bool {
    let own = rustix::process::geteuid().as_raw();
    fs::metadata(process).is_ok_and(|meta| meta.uid() == own)
}

/// What the kernel tells about every process.
struct Process {
    id: u32,
    is_dead: bool,
    /// When it was started, in ticks since the system was.
    started: u64,
}

impl Process {
    /// Returns `None` if the process has ended.
    fn read(path: &Path) -> std::io::Result<Option<Self>> {
        let stat = match fs::read(path.join("stat")) {
            Ok(stat) => stat,
            Err(error) if has_ended(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        let parsed = Self::parse(&String::from_utf8_lossy(&stat));
        parsed.map(Some).ok_or_else(|| ErrorKind::InvalidData.into())
    }

    fn parse(stat: &str) -> Option<Self> {
        // The name of the program, in parentheses, may contain anything.
        let id = stat.split(' ').next()?.parse().ok()?;
        let mut rest = stat.get(stat.rfind(')')? + 2..)?.split(' ');
        let is_dead = matches!(rest.next()?, "Z" | "X" | "x");
        Some(Self { id, is_dead, started: rest.nth(18)?.parse().ok()? })
    }
}

fn uses(process: &Path, folder: &Path) -> std::io::Result<bool> {
    let inside = |link: &Path| Ok::<_, Error>(fs::read_link(link)?.starts_with(folder));
    for link in ["cwd", "root", "exe"] {
        if inside(&process.join(link))? {
            return Ok(true);
        }
    }
    for file in fs::read_dir(process.join("fd"))? {
        match inside(&file?.path()) {
            Ok(true) => return Ok(true),
            Ok(false) => {}
            Err(error) if has_ended(&error) => {}
            Err(error) => return Err(error),
        }
    }
    let mapped = fs::read(process.join("maps"))?;
    let folder = folder.as_os_str().as_bytes();
    Ok(mapped.windows(folder.len()).any(|bytes| bytes == folder))
}

/// Returns whether the process, or its file, is gone.
fn has_ended(error: &Error) -> bool {
    error.kind() == ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_folder_is_in_use_as_long_as_a_process_works_in_it() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("a");
        fs::create_dir(&folder).unwrap();
        assert!(is_unused(&folder));
        let cat = Command::new("cat").current_dir(&folder).stdin(Stdio::piped()).spawn();
        let mut cat = cat.unwrap();
        assert!(!is_unused(&folder));
        fs::rename(&folder, home.path().join("b")).unwrap();
        assert!(!is_unused(&home.path().join("b")));
        drop(cat.stdin.take());
        cat.wait().unwrap();
        assert!(is_unused(&home.path().join("b")));
    }

    #[test]
    fn a_folder_is_in_use_as_long_as_a_process_has_a_file_in_it_open() {
        let home = tempfile::tempdir().unwrap();
        let file = fs::File::create(home.path().join("log")).unwrap();
        let cat = Command::new("cat").stdin(Stdio::piped()).stdout(file).spawn();
        let mut cat = cat.unwrap();
        assert!(!is_unused(home.path()));
        drop(cat.stdin.take());
        cat.wait().unwrap();
        assert!(is_unused(home.path()));
    }
}
