//! Folders for the temporary files of tasks. Each is recorded in a file that its engine keeps locked, so
//! that the next start can tell and remove what a killed engine has left.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

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
    _lock: File,
}

impl TemporaryFolders {
    /// Returns what makes folders in `parent`, and records them in the folder `records`.
    #[must_use]
    pub fn new(parent: PathBuf, records: PathBuf) -> Self {
        Self { parent, records }
    }

    /// Makes a folder that only this user can read.
    pub(crate) fn make(&self) -> io::Result<TemporaryFolder> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.records)?;
        let private = Permissions::from_mode(0o700);
        let made = tempfile::Builder::new().prefix(PREFIX).permissions(private).to_owned();
        let made = made.tempdir_in(std::path::absolute(&self.parent)?)?;
        let record = self.records.join(made.path().file_name().unwrap_or_default());
        let mut lock = File::options().write(true).create_new(true).mode(0o600).open(&record)?;
        flock(&lock, FlockOperation::LockExclusive)?;
        lock.write_all(&text_of(made.path(), &fs::symlink_metadata(made.path())?))?;
        Ok(TemporaryFolder { path: made.keep(), record, _lock: lock })
    }

    /// Removes the folders that dead engines have left. What cannot be removed stays for the next
    /// start.
    pub fn remove_left(&self) {
        let Ok(records) = fs::read_dir(&self.records) else { return };
        for record in records.flatten() {
            if let Err(error) = remove_recorded(&record.path()) {
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
        remove_tree(&self.path)?;
        fs::remove_file(&self.record)
    }
}

/// Removes the folder of a record whose engine does not live any more.
fn remove_recorded(record: &Path) -> io::Result<()> {
    let mut file = File::open(record)?;
    if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Ok(());
    }
    let mut text = Vec::new();
    (&mut file).take(LARGEST).read_to_end(&mut text)?;
    // The record is being written.
    let Some(line) = text.iter().position(|byte| *byte == b'\n') else { return Ok(()) };
    let folder = Path::new(OsStr::from_bytes(&text[line + 1..]));
    let is_it = |meta: &fs::Metadata| meta.is_dir() && text == text_of(folder, meta);
    match fs::symlink_metadata(folder) {
        Ok(meta) if is_it(&meta) => remove_tree(folder)?,
        // Something else has the name now.
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    fs::remove_file(record)
}

/// Returns the content of the record of a folder.
fn text_of(folder: &Path, meta: &fs::Metadata) -> Vec<u8> {
    let identity = format!("{}:{}\n", meta.dev(), meta.ino());
    [identity.as_bytes(), folder.as_os_str().as_bytes()].concat()
}

/// Removes a folder, also if a program has made folders in it that cannot be changed.
fn remove_tree(folder: &Path) -> io::Result<()> {
    let removed = match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            make_writable(folder)?;
            fs::remove_dir_all(folder)
        }
        removed => removed,
    };
    removed.or_else(|error| if error.kind() == ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

fn make_writable(folder: &Path) -> io::Result<()> {
    fs::set_permissions(folder, Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            make_writable(&entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
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
        fs::write(place.folder.path().join("records/regatta-begun"), "").unwrap();
        // The locks go with an engine, however it ends.
        let gone = dead.path().to_owned();
        drop((dead, replaced));
        place.folders.remove_left();
        assert!(!gone.exists() && taken.exists() && alive.path().exists());
        assert_eq!(place.count("records"), 2, "that of the living engine, and one without a word");
        alive.remove().unwrap();
    }
}
