//! Removes a folder that programs have filled: no depth exhausts descriptors or the stack, and no mode
//! keeps anything.

use std::ffi::{CStr, CString};
use std::fs;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, chmodat, fchmod, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;
use rustix::path::Arg;

type SysResult<T> = Result<T, Errno>;

/// Removes a folder with everything in it, and adds to `removed` how many files and folders in it are
/// gone so far. Succeeds if it is already gone.
pub(crate) fn remove_tree(folder: &Path, removed: &AtomicUsize) -> io::Result<()> {
    let gone = |error: io::Error| match error.kind() {
        ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    };
    let top = match open_writable(CWD, folder) {
        Ok(top) => top,
        // A program has put something else there.
        Err(Errno::NOTDIR | Errno::LOOP) => return fs::remove_file(folder).or_else(gone),
        Err(error) => return gone(error.into()),
    };
    let mut removal = Removal { top: &top, raised: 0, removed };
    loop {
        let before = removal.raised;
        removal.empty(&top, 0)?;
        if removal.raised == before {
            break;
        }
    }
    fs::remove_dir(folder).or_else(gone)
}

/// The depth to which folders are opened. Deeper ones are moved up to the topmost one first.
const DEEP: usize = 64;

/// A removal in progress.
struct Removal<'a> {
    top: &'a OwnedFd,
    /// How many folders were moved up to the topmost one.
    raised: u64,
    /// How many files and folders are gone.
    removed: &'a AtomicUsize,
}

impl Removal<'_> {
    /// Removes what is in a folder, which is this deep, but for what is moved up.
    fn empty(&mut self, folder: &OwnedFd, depth: usize) -> SysResult<()> {
        for (name, kind) in entries(folder)? {
            if kind != FileType::Directory {
                self.remove(folder, &name, AtFlags::empty())?;
                continue;
            }
            // A folder that cannot be written can be neither emptied nor moved.
            let below = open_writable(folder, &name)?;
            if depth >= DEEP {
                self.raise(folder, &name)?;
                continue;
            }
            self.empty(&below, depth + 1)?;
            drop(below);
            self.remove(folder, &name, AtFlags::REMOVEDIR)?;
        }
        Ok(())
    }

    fn remove(&self, folder: &OwnedFd, name: &CStr, flags: AtFlags) -> SysResult<()> {
        match unlinkat(folder, name, flags) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error),
        }
        self.removed.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Moves a folder up to the topmost one, under a new name.
    fn raise(&mut self, folder: &OwnedFd, name: &CStr) -> SysResult<()> {
        loop {
            self.raised += 1;
            match renameat(folder, name, self.top, format!(".gone-{}", self.raised)) {
                // Something has the name. An empty folder would be replaced, and is to go too.
                Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => {}
                end => return end,
            }
        }
    }
}

/// Opens a folder, and makes it writable.
fn open_writable(parent: impl AsFd, name: impl Arg + Copy) -> SysResult<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = match openat(&parent, name, flags, Mode::empty()) {
        Err(Errno::ACCESS) => {
            chmodat(&parent, name, Mode::RWXU, AtFlags::empty())?;
            openat(&parent, name, flags, Mode::empty())?
        }
        opened => opened?,
    };
    // What it cannot change shows where something cannot be removed.
    let _of_another_user = fchmod(&folder, Mode::RWXU);
    Ok(folder)
}

/// Returns the names and types of what is in a folder.
fn entries(folder: &OwnedFd) -> SysResult<Vec<(CString, FileType)>> {
    let mut entries = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let kind = match entry.file_type() {
            // The file system lists no types.
            FileType::Unknown => {
                FileType::from_raw_mode(statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode)
            }
            kind => kind,
        };
        entries.push((name.to_owned(), kind));
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use rustix::fs::mkdirat;

    use super::*;

    #[test]
    fn a_folder_goes_however_deep_it_is_and_what_links_lead_to_stays() {
        let home = tempfile::tempdir().unwrap();
        let path = |name: &str| home.path().join(name);
        fs::create_dir_all(path("kept")).unwrap();
        fs::write(path("kept/file"), "x").unwrap();
        // Names that the removal would give, a folder, a file and an empty one.
        fs::create_dir_all(path("top/.gone-1/below/empty")).unwrap();
        fs::write(path("top/.gone-2"), "x").unwrap();
        fs::create_dir_all(path("top/.gone-3")).unwrap();
        symlink(path("kept"), path("top/link")).unwrap();
        fs::set_permissions(path("top/.gone-1/below"), fs::Permissions::from_mode(0o0)).unwrap();
        let mut folder = open_writable(CWD, path("top").as_path()).unwrap();
        for _ in 0..1_100 {
            mkdirat(&folder, "d", Mode::RWXU).unwrap();
            folder = open_writable(&folder, "d").unwrap();
        }
        drop(folder);
        let removed = AtomicUsize::new(0);
        remove_tree(&path("top"), &removed).unwrap();
        assert!(!path("top").exists() && path("kept/file").exists());
        assert!(removed.into_inner() > 1_100);
        remove_tree(&path("top"), &AtomicUsize::new(0)).unwrap();
    }
}
