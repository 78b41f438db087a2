//! The folder in which a session works. A session that begins in the user's home or in `/` works in a
//! folder of its own: a model should not look through, or change, everything a user has.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind, TEMPORARY_HINT};

/// The folder of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkingFolder {
    /// Its path.
    pub path: PathBuf,
    /// The folder in which the program was started, if the session works in another one.
    pub not_in: Option<&'static str>,
}

/// Whether a session that begins in the user's home works there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HomeWork {
    /// It works there.
    Allowed,
    /// It works in another folder.
    Elsewhere,
}

/// Returns the folder in which a session works: `given`, or a private folder below `temporary` if that is
/// the user's home or `/` and the user has not allowed it. That folder stays, so that its sessions can be
/// continued.
///
/// # Errors
/// The folder does not exist or is not a folder, or the private one cannot be made.
pub fn working_folder(
    given: &Path,
    home: Option<&Path>,
    temporary: &Path,
    work: HomeWork,
) -> Result<WorkingFolder, Error> {
    let failed = |folder: &Path, error: &io::Error| {
        Error::new(ErrorKind::Machine, format!("cannot work in `{}`", folder.display()))
            .caused_by(error)
    };
    let path = given.canonicalize().map_err(|error| failed(given, &error))?;
    if !path.is_dir() {
        return Err(failed(given, &io::Error::other("it is not a directory")));
    }
    let home = home.and_then(|home| home.canonicalize().ok());
    let (name, not_in) = match work {
        HomeWork::Elsewhere if home.is_some_and(|home| home == path) => {
            ("home", "your home folder")
        }
        HomeWork::Elsewhere if path == Path::new("/") => ("root", "/"),
        HomeWork::Elsewhere | HomeWork::Allowed => return Ok(WorkingFolder { path, not_in: None }),
    };
    let user = rustix::process::getuid().as_raw();
    let own = temporary.join(format!("regatta-{user}-{name}"));
    let path = private_folder(&own, user).map_err(|error| {
        let hint = format!("--allow-home, to work in {not_in}");
        failed(&own, &error).hint(hint).hint(TEMPORARY_HINT)
    })?;
    Ok(WorkingFolder { path, not_in: Some(not_in) })
}

/// Makes a folder that only its user can enter, if it is not there.
fn private_folder(path: &Path, user: u32) -> io::Result<PathBuf> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let found = fs::symlink_metadata(path)?;
    if !found.is_dir() {
        return Err(io::Error::other("it is not a directory"));
    }
    if found.uid() != user {
        return Err(io::Error::other("it belongs to another user"));
    }
    if found.mode() & 0o777 != 0o700 {
        fs::set_permissions(path, Permissions::from_mode(0o700))?;
    }
    path.canonicalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_that_begins_at_home_or_in_the_root_works_in_a_private_folder_unless_that_is_allowed()
     {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let (home, temporary) = (folder.join("home"), folder.join("tmp"));
        let below = home.join("project");
        fs::create_dir_all(&below).unwrap();
        fs::create_dir(&temporary).unwrap();
        let work = |at: &Path, work| working_folder(at, Some(&home), &temporary, work);
        let found = |at: &Path, how| work(at, how).unwrap();
        let root = Path::new("/");
        for (at, how) in [
            (&*home, HomeWork::Allowed),
            (root, HomeWork::Allowed),
            (&*below, HomeWork::Elsewhere),
            (&*temporary, HomeWork::Elsewhere),
        ] {
            assert_eq!(found(at, how), WorkingFolder { path: at.to_owned(), not_in: None });
        }
        for (at, not_in) in [(&*home, "your home folder"), (root, "/")] {
            let own = found(at, HomeWork::Elsewhere);
            assert_eq!((own.path.parent(), own.not_in), (Some(&*temporary), Some(not_in)));
            fs::write(own.path.join("kept"), "").unwrap();
            fs::set_permissions(&own.path, Permissions::from_mode(0o755)).unwrap();
            assert_eq!(found(at, HomeWork::Elsewhere), own);
            assert_eq!(fs::metadata(&own.path).unwrap().mode() & 0o777, 0o700);
            assert!(own.path.join("kept").exists());
            fs::remove_dir_all(&own.path).unwrap();
            std::os::unix::fs::symlink(&below, &own.path).unwrap();
            let refused = work(at, HomeWork::Elsewhere).unwrap_err().to_string();
            assert!(refused.contains("not a directory") && refused.contains("--allow-home"));
        }
        assert!(work(&home.join("gone"), HomeWork::Elsewhere).is_err());
    }
}
