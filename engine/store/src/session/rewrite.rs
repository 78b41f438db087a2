//! Replaces a session file as a whole: readers see the old file or the new one, also after a crash.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use engine::failpoint;
use engine::fault::Faults;
use group_log::LockedFile;
use protocol::SessionId;

/// Replaces the file at `path`, whose lock the caller holds. Returns the new file, which is locked.
///
/// # Errors
/// The new file cannot be written; the old one is still there.
pub(super) fn replace(path: &Path, content: &[u8], faults: &Faults) -> io::Result<LockedFile> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = path.with_file_name(format!(".{name}.{}.tmp", SessionId::generate()));
    let replaced = write_locked(&temporary, content, faults).and_then(|file| {
        failpoint!(faults, "session.rewrite.rename")?;
        fs::rename(&temporary, path)?;
        Ok(file)
    });
    match replaced {
        Ok(file) => {
            sync_folder(path)?;
            Ok(file)
        }
        Err(error) => {
            let _gone = fs::remove_file(&temporary); // it may never have been there
            Err(error)
        }
    }
}

/// Creates a session file that must not exist yet.
///
/// # Errors
/// It exists, or cannot be written.
pub(super) fn create(path: &Path, content: &[u8]) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = path.with_file_name(format!(".{name}.{}.tmp", SessionId::generate()));
    let linked = write_locked(&temporary, content, &Faults::default())
        .and_then(|_file| fs::hard_link(&temporary, path));
    let _gone = fs::remove_file(&temporary); // it may never have been there
    linked?;
    sync_folder(path)
}

fn write_locked(path: &Path, content: &[u8], faults: &Faults) -> io::Result<LockedFile> {
    let mut options = OpenOptions::new();
    let file = options.read(true).append(true).create_new(true).mode(0o600).open(path)?;
    let mut file = LockedFile::try_lock(file)?;
    let (first, rest) = content.split_at(content.len() / 2);
    file.write_all(first)?;
    failpoint!(faults, "session.rewrite.write")?;
    file.write_all(rest)?;
    file.sync_all()?;
    Ok(file)
}

fn sync_folder(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

/// Gives the file at `path` a second name, the first free one that ends in `.bak`.
pub(super) fn back_up(path: &Path) -> io::Result<PathBuf> {
    let mut last = None;
    for number in 1..=100 {
        let mut name = path.as_os_str().to_owned();
        name.push(if number == 1 { ".bak".to_owned() } else { format!(".bak{number}") });
        match fs::hard_link(path, &name) {
            Ok(()) => return Ok(name.into()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = Some(error),
            Err(error) => return Err(error),
        }
    }
    Err(last.unwrap_or_else(|| io::ErrorKind::AlreadyExists.into()))
}
