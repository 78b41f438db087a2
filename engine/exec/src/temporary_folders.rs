//! Folders for the temporary files of tasks. Each is recorded in a file that its engine keeps locked, so
//! that the next start can tell and remove what a killed engine has left.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;

use rustix::fs::{FlockOperation, flock};

use crate::remove_tree::remove_tree;

/// The beginning of the name of each folder. Six characters follow: the path of a socket in it has at
/// most 108 bytes.
const PREFIX: &str = "regatta-";

/// The most bytes of a record that are read.
const LARGEST: u64 = 1 << 14;

/// Makes folders for temporary files.
#[derive(Clone, Debug)]
pub struct TemporaryFolders {
    /// The folder that has them: that of the system.
    parent: PathBuf,
    /// The folder of the records, one for each folder that exists.
    records: PathBuf,
}

/// A folder for temporary files. Dropping it leaves it to the next start.
#[derive(Debug)]
pub(crate) struct TemporaryFolder {
    path: PathBuf,
    record: PathBuf,
    /// The record, locked.
    lock: File,
}

impl TemporaryFolders {
    /// Returns what makes folders in `parent`, and records them in the folder `records`.
    #[must_use]
    pub fn new(parent: PathBuf, records: PathBuf) -> Self {
        Self { parent, records }
    }

    /// Makes a folder that only this user can read. The record is there before the folder, so that the
    /// next start finds it wherever this process is killed.
    pub(crate) fn make(&self) -> io::Result<TemporaryFolder> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.records)?;
        let parent = std::path::absolute(&self.parent)?;
        let mut builder = tempfile::Builder::new();
        // With another name it is tried again where this says that there is one.
        let made = builder.prefix(PREFIX).disable_cleanup(true).make_in(parent, |path| {
            let record = self.records.join(path.file_name().unwrap_or_default());
            let mut lock =
                File::options().write(true).create_new(true).mode(0o600).open(&record)?;
            flock(&lock, FlockOperation::LockExclusive)?;
            if lock.metadata()?.nlink() == 0 {
                // Another start has taken it for one that was left.
                return Err(ErrorKind::AlreadyExists.into());
            }
            lock.write_all(&[path.as_os_str().as_bytes(), b"\0"].concat())?;
            if let Err(error) = DirBuilder::new().mode(0o700).create(path) {
                fs::remove_file(&record)?;
                return Err(error);
            }
            lock.write_all(identity_of(&fs::symlink_metadata(path)?).as_bytes())?;
            Ok((record, lock))
        })?;
        let ((record, lock), path) = made.into_parts();
        let path = path.keep().map_err(|kept| kept.error)?;
        Ok(TemporaryFolder { path, record, lock })
    }

    /// Removes the folders that dead engines have left, and adds to `removed` how many files and folders
    /// are gone so far. What cannot be removed stays for the next start.
    pub fn remove_left(&self, removed: &AtomicUsize) {
        let Ok(records) = fs::read_dir(&self.records) else { return };
        for record in records.flatten() {
            if let Err(error) = remove_recorded(&record.path(), removed) {
                let record = record.path();
                tracing::warn!(record = %record.display(), %error, "a temporary folder stays");
            }
        }
    }
}

impl TemporaryFolder {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the folder with everything in it.
    pub(crate) fn remove(self) -> io::Result<()> {
        remove_tree(&self.path, &AtomicUsize::new(0))?;
        fs::remove_file(&self.record)
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // Closing the file would not release the lock: a child that another thread is starting has
        // the descriptor, too, until it executes its program.
        let _closed_anyway = flock(&self.lock, FlockOperation::Unlock);
    }
}

/// Removes the folder of a record whose engine does not live any more.
fn remove_recorded(record: &Path, removed: &AtomicUsize) -> io::Result<()> {
    let mut file = File::open(record)?;
    if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Ok(());
    }
    let mut text = Vec::new();
    (&mut file).take(LARGEST).read_to_end(&mut text)?;
    // A record without a whole path is older than its folder.
    if let Some(end) = text.iter().position(|byte| *byte == 0) {
        let (folder, identity) = (Path::new(OsStr::from_bytes(&text[..end])), &text[end + 1..]);
        match fs::symlink_metadata(folder) {
            Ok(meta) if meta.is_dir() && identity == identity_of(&meta).as_bytes() => {
                remove_tree(folder, removed)?;
            }
            // The engine died before it had given the folder to a task. Only an empty one goes.
            Ok(_) if !identity.ends_with(b"\n") => {
                let _used_by_another_program = fs::remove_dir(folder);
            }
            // Something else has the name now.
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    fs::remove_file(record)
}

/// Returns what tells a folder from every other one.
fn identity_of(meta: &fs::Metadata) -> String {
    format!("{}:{}\n", meta.dev(), meta.ino())
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    struct Place {
        folder: tempfile::TempDir,
        folders: TemporaryFolders,
    }

    fn place() -> Place {
        let folder = tempfile::tempdir().unwrap();
        let folders =
            TemporaryFolders::new(folder.path().join("tmp"), folder.path().join("records"));
        fs::create_dir(folder.path().join("tmp")).unwrap();
        Place { folder, folders }
    }

    impl Place {
        fn count(&self, name: &str) -> usize {
            fs::read_dir(self.folder.path().join(name)).unwrap().count()
        }
    }

    #[test]
    fn a_folder_is_private_short_and_goes_with_everything_in_it() {
        let place = place();
        let made = place.folders.make().unwrap();
        let name = made.path().file_name().unwrap();
        assert_eq!(name.len(), "regatta-XXXXXX".len());
        assert!(Path::new("/tmp").join(name).as_os_str().len() <= 40);
        assert_eq!(fs::metadata(made.path()).unwrap().mode() & 0o777, 0o700);
        let closed = made.path().join("closed/to/all");
        fs::create_dir_all(&closed).unwrap();
        fs::write(closed.join("file"), "x").unwrap();
        for folder in [closed.as_path(), closed.parent().unwrap()] {
            fs::set_permissions(folder, Permissions::from_mode(0o000)).unwrap();
        }
        made.remove().unwrap();
        assert_eq!([place.count("tmp"), place.count("records")], [0, 0]);
        // A task may have removed it.
        let gone = place.folders.make().unwrap();
        fs::remove_dir(gone.path()).unwrap();
        gone.remove().unwrap();
        assert_eq!(place.count("records"), 0);
    }

    #[test]
    fn the_next_start_removes_what_a_dead_engine_left_and_nothing_else() {
        let place = place();
        let [dead, replaced, alive] = [0; 3].map(|_| place.folders.make().unwrap());
        fs::write(dead.path().join("file"), "x").unwrap();
        let taken = replaced.path().to_owned();
        fs::rename(&taken, place.folder.path().join("tmp/moved")).unwrap();
        fs::create_dir(&taken).unwrap();
        // Killed before there was a folder, and before it was known which one it was.
        let path = |name: &str| place.folder.path().join(name);
        fs::write(path("records/regatta-begun"), "").unwrap();
        for (name, file) in [("empty", None), ("used", Some("file"))] {
            let made = path("tmp").join(name);
            fs::create_dir(&made).unwrap();
            file.iter().for_each(|file| fs::write(made.join(file), "x").unwrap());
            let record = [made.as_os_str().as_bytes(), b"\0"].concat();
            fs::write(path("records").join(name), record).unwrap();
        }
        // The locks go with an engine, however it ends.
        let gone = dead.path().to_owned();
        drop((dead, replaced));
        let removed = AtomicUsize::new(0);
        place.folders.remove_left(&removed);
        assert_eq!(removed.into_inner(), 1, "the file");
        assert!(!gone.exists() && taken.exists() && alive.path().exists());
        assert!(!path("tmp/empty").exists() && path("tmp/used").exists());
        assert_eq!(place.count("records"), 1, "that of the living engine");
        alive.remove().unwrap();
    }
}
