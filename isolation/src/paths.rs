//! The paths of everything that isolation keeps on disk.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use protocol::RunName;
use sha2::{Digest, Sha256};

use crate::run_lock;
use crate::store::Journal;

/// The maximum number of bytes of a repository's folder name that the name of its data on disk
/// contains.
const LONGEST: usize = 100;

/// The folders in which isolation keeps its data for all repositories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IsolationPaths {
    /// Workspaces: `REPO/RUN/TASK/`.
    pub workspaces: PathBuf,
    /// Task stores: `REPO.git`.
    pub stores: PathBuf,
    /// Journals of landings: `REPO/ID.STATE`, or `REPO/done/ID.json` once done; and the file lists
    /// of snapshots: `REPO/lists/RUN`.
    pub landings: PathBuf,
}

impl IsolationPaths {
    /// Returns the folder of the workspaces of a run in the repository at the canonical path
    /// `root`.
    #[must_use]
    pub fn of_run(&self, root: &Path, run: &RunName) -> PathBuf {
        self.of(root).workspaces.join(run.as_str())
    }

    /// Returns the id of the process whose engine does a run in the repository at the canonical path `root`;
    /// `None` if the run is over, or if the kernel does not show it.
    #[must_use]
    pub fn engine_of(&self, root: &Path, run: &RunName) -> Option<u32> {
        run_lock::holder(&self.of_run(root, run))
    }

    /// Returns the paths for the repository at the canonical path `root`.
    pub(crate) fn of(&self, root: &Path) -> RepoPaths {
        let name = name(root);
        let mut bare = name.clone();
        bare.push(".git");
        let store = self.stores.join(bare);
        RepoPaths {
            workspaces: self.workspaces.join(&name),
            journal: Journal::of(&store),
            store,
            landings: self.landings.join(&name),
        }
    }
}

/// The paths of one repository's data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RepoPaths {
    /// Workspaces: `RUN/TASK/`.
    pub(crate) workspaces: PathBuf,
    /// The task store.
    pub(crate) store: PathBuf,
    /// The journal of the task store.
    pub(crate) journal: Journal,
    /// Journals of landings: `ID.STATE`, or `done/ID.json` once done; and the file lists of
    /// snapshots: `lists/RUN`.
    pub(crate) landings: PathBuf,
}

impl RepoPaths {
    /// Returns the paths for another repository, at the canonical path `root`, in the same folders.
    pub(crate) fn beside(&self, root: &Path) -> Self {
        let folder = |place: &Path| place.parent().unwrap_or(place).to_path_buf();
        let all = IsolationPaths {
            workspaces: folder(&self.workspaces),
            stores: folder(&self.store),
            landings: folder(&self.landings),
        };
        all.of(root)
    }

    /// Returns the canonical paths of the folders that hold the data of all repositories.
    pub(crate) fn folders(&self) -> Vec<PathBuf> {
        let inside = [&self.workspaces, &self.store, &self.landings];
        inside.into_iter().filter_map(|place| place.parent()?.canonicalize().ok()).collect()
    }
}

/// Returns the name of a repository's data on disk: the name of its folder and the beginning of the
/// SHA-256 of its canonical path.
fn name(root: &Path) -> OsString {
    let own = root.file_name().unwrap_or(OsStr::new("root")).as_bytes();
    let own = &own[..own.len().min(LONGEST)];
    let mut digits = String::new();
    for byte in Sha256::digest(root.as_os_str().as_bytes()).iter().take(6) {
        let _infallible = write!(digits, "{byte:02x}");
    }
    OsString::from_vec([own, b"-", digits.as_bytes()].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_has_its_own_name_and_twelve_digits_of_its_path() {
        let base =
            IsolationPaths { workspaces: "/w".into(), stores: "/s".into(), landings: "/l".into() };
        let here = base.of(Path::new("/home/ada/app"));
        let there = base.of(Path::new("/home/eve/app"));
        assert!(here.store.to_str().unwrap().starts_with("/s/app-"));
        assert_eq!(here.store.to_str().unwrap().len(), "/s/app-0123456789ab.git".len());
        assert_ne!(here, there);
        assert_eq!(here.beside(Path::new("/home/eve/app")), there);
    }
}
