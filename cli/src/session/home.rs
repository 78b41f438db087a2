//! The folder in which a session works. A session that begins in the user's home works elsewhere: a
//! model should not look through, or change, everything a user has.

use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind};

/// The folder of a session, and a note if it is not the one in which the program was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WorkingFolder {
    pub(crate) path: PathBuf,
    pub(crate) note: Option<String>,
}

/// Whether a session that begins in the user's home works there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HomeWork {
    /// It works there.
    Allowed,
    /// It works in another folder.
    Elsewhere,
}

/// Returns the folder in which a session works: `given`, or a temporary folder if that is the user's
/// home and the user has not allowed it.
///
/// # Errors
/// The folder does not exist, or is none.
pub(crate) fn working_folder(
    given: &Path,
    home: Option<&Path>,
    work: HomeWork,
) -> Result<WorkingFolder, Error> {
    let failed = |error: &std::io::Error| {
        Error::new(ErrorKind::Machine, format!("cannot work in `{}`", given.display()))
            .caused_by(error)
    };
    let path = given.canonicalize().map_err(|error| failed(&error))?;
    if !path.is_dir() {
        return Err(failed(&std::io::Error::other("it is not a directory")));
    }
    let home = home.and_then(|home| home.canonicalize().ok());
    let Some(home) = home.filter(|home| *home == path && work == HomeWork::Elsewhere) else {
        return Ok(WorkingFolder { path, note: None });
    };
    let others = [home.join("tmp"), "/tmp".into(), "/var/tmp".into(), std::env::temp_dir()];
    let other = others.into_iter().find(|other| other.is_dir() && *other != home);
    let Some(other) = other else { return Ok(WorkingFolder { path, note: None }) };
    let note = format!(
        "the session works in {}, in place, not in your home folder (--allow-home: in the home \
         folder)",
        other.display()
    );
    Ok(WorkingFolder { path: other, note: Some(note) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_that_begins_at_home_works_elsewhere_unless_that_is_allowed() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let below = home.join("project");
        std::fs::create_dir(&below).unwrap();
        let folder = |at: &Path, work| working_folder(at, Some(&home), work).unwrap();
        assert_eq!(
            folder(&home, HomeWork::Allowed),
            WorkingFolder { path: home.clone(), note: None }
        );
        assert_eq!(
            folder(&below, HomeWork::Elsewhere),
            WorkingFolder { path: below.clone(), note: None }
        );
        let moved = folder(&home, HomeWork::Elsewhere);
        assert_eq!(moved.path, Path::new("/tmp"));
        assert!(moved.note.is_some());
        std::fs::create_dir(home.join("tmp")).unwrap();
        assert_eq!(folder(&home, HomeWork::Elsewhere).path, home.join("tmp"));
        assert!(working_folder(&home.join("gone"), None, HomeWork::Elsewhere).is_err());
    }
}
