//! The manifest of a workspace: the data that another process needs to capture the workspace. The
//! manifest lies in the run's folder, so that a task that empties its own folder does not lose it.

use std::collections::BTreeMap;
use std::fs::{self, DirEntry};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use git2::Oid;
use protocol::{RepoPath, RunName, TaskName};
use serde::{Deserialize, Serialize};

use crate::baseline::{read_whole, write_whole};
use crate::error::{OrCannot, Result};
use crate::file_entry::{Entry, Mode};
use crate::workspace::setup_state::{SetupState, StoredSetup};

/// The folder of the manifests in a run's folder.
pub(crate) const MANIFESTS: &str = ".manifests";

/// The version of the format, and that of a manifest with a set-up, which older programs ignored.
const VERSION: u32 = 1;
const VERSION_WITH_SETUP: u32 = 2;

/// The origin of a complete workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Manifest {
    /// The run.
    pub(crate) run: RunName,
    /// The task.
    pub(crate) task: TaskName,
    /// The attempt, counted from 1.
    pub(crate) attempt: u32,
    /// The clock of the file system when the workspace was complete, in nanoseconds since 1970.
    /// Every file that the task changes has a later time.
    pub(crate) marker_ns: i64,
    /// The changes of the predecessors to the snapshot.
    pub(crate) predecessor_changes: BTreeMap<RepoPath, Option<Entry>>,
    /// What the set-up of the workspace has changed after that.
    pub(crate) setup: SetupState,
}

#[derive(Serialize, Deserialize)]
struct StoredManifest {
    version: u32,
    run: RunName,
    task: TaskName,
    attempt: u32,
    marker_ns: i64,
    #[serde(rename = "seeds")]
    predecessor_changes: Vec<StoredChange>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    setup: Option<StoredSetup>,
}

#[derive(Serialize, Deserialize)]
struct StoredChange {
    path: RepoPath,
    entry: Option<StoredEntry>,
}

#[derive(Serialize, Deserialize)]
struct StoredEntry {
    mode: u32,
    oid: String,
}

impl Manifest {
    /// Writes the manifest to the run's folder.
    pub(crate) fn write(&self, run_folder: &Path) -> Result<()> {
        let entry =
            |entry: &Entry| StoredEntry { mode: entry.mode.to_git(), oid: entry.oid.to_string() };
        let predecessor_changes = self.predecessor_changes.iter();
        let setup = self.setup.to_stored();
        let written = StoredManifest {
            version: if setup.is_some() { VERSION_WITH_SETUP } else { VERSION },
            run: self.run.clone(),
            task: self.task.clone(),
            attempt: self.attempt,
            marker_ns: self.marker_ns,
            predecessor_changes: predecessor_changes
                .map(|(path, change)| StoredChange {
                    path: path.clone(),
                    entry: change.as_ref().map(entry),
                })
                .collect(),
            setup,
        };
        let json = serde_json::to_vec(&written)
            .or_cannot(|| format!("write the manifest of {}/{}", self.run, self.task))?;
        let file = file(run_folder, self.task.as_str());
        match fs::create_dir(run_folder.join(MANIFESTS)) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                Err(error).or_cannot(|| format!("write {}", file.display()))
            }
            Ok(()) | Err(_) => write_whole(&file, &json),
        }
    }

    /// Reads the manifest of a task. Without it, the workspace cannot be captured.
    pub(crate) fn read(run_folder: &Path, task: &TaskName) -> Result<Self> {
        let file = file(run_folder, task.as_str());
        let what = || format!("read {}", file.display());
        let json = read_whole(&file).or_cannot(what)?;
        let written: StoredManifest = serde_json::from_slice(&json).or_cannot(what)?;
        if ![VERSION, VERSION_WITH_SETUP].contains(&written.version) {
            return Err("another version of regatta wrote it").or_cannot(what);
        }
        let mut predecessor_changes = BTreeMap::new();
        for change in written.predecessor_changes {
            let entry = change.entry.map(|entry| entry.read()).transpose().or_cannot(what)?;
            predecessor_changes.insert(change.path, entry);
        }
        let StoredManifest { run, task, attempt, marker_ns, setup, .. } = written;
        let setup = SetupState::from_stored(setup).or_cannot(what)?;
        Ok(Self { run, task, attempt, marker_ns, predecessor_changes, setup })
    }

    /// Removes the manifest of the workspace called `task`. Succeeds if there is none.
    pub(crate) fn remove(run_folder: &Path, task: &str) -> Result<()> {
        let file = file(run_folder, task);
        match fs::remove_file(&file) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(error).or_cannot(|| format!("remove {}", file.display()))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

fn file(run_folder: &Path, task: &str) -> PathBuf {
    run_folder.join(MANIFESTS).join(format!("{task}.json"))
}

impl StoredEntry {
    fn read(&self) -> std::result::Result<Entry, git2::Error> {
        let mode = Mode::from_git(self.mode).ok_or_else(|| git2::Error::from_str("no such mode"));
        Ok(Entry { mode: mode?, oid: Oid::from_str(&self.oid)? })
    }
}

/// Returns whether an entry of a run's folder is a task's workspace. The name of every other entry
/// starts with a full stop, which no task's name does, or is that of the lock.
pub(crate) fn is_workspace(entry: &DirEntry) -> bool {
    task_of(entry).is_some() && entry.file_type().is_ok_and(|kind| kind.is_dir())
}

/// Returns the task with the name of an entry of a run's folder.
pub(crate) fn task_of(entry: &DirEntry) -> Option<TaskName> {
    entry.file_name().to_str()?.parse().ok()
}

/// Returns the path of the working tree in a workspace's folder.
pub(crate) fn tree_of(folder: &Path) -> PathBuf {
    folder.join("tree")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Stat;
    use crate::workspace::setup_state::{LeftFile, LeftOrigin, SetupChanges, SetupFile};

    #[test]
    fn a_manifest_reads_back_as_it_was_written() {
        let home = tempfile::tempdir().unwrap();
        let oid = Oid::from_str(&"0a".repeat(20)).unwrap();
        let path = |name: &[u8]| RepoPath::new(name).unwrap();
        let entry = Entry { mode: Mode::Link, oid };
        let manifest = Manifest {
            run: "r7k3f".parse().unwrap(),
            task: "auth".parse().unwrap(),
            attempt: 2,
            marker_ns: 5,
            predecessor_changes: [(path(b"a\xff\n"), Some(entry)), (path(b"gone"), None)].into(),
            setup: SetupState::None,
        };
        assert!(Manifest::read(home.path(), &manifest.task).is_err());
        let stat = Stat { size: 1, mtime_ns: -2, ctime_ns: 3, ino: 4, mode: 0o100_644 };
        let left = |content, origin| SetupFile::Left(LeftFile { stat, content, origin });
        let changes = SetupChanges {
            files: [
                (path(b"b"), left(Some(entry), LeftOrigin::Changed)),
                (path(b"c"), left(None, LeftOrigin::Made)),
                (path(b"d"), SetupFile::Removed),
            ]
            .into(),
            ignored: [path(b"target")].into(),
            left_out: [("pipe".to_owned(), "1".to_owned())].into(),
            head: Some(entry.oid),
            nested_heads: vec![(path(b"lib"), Some(entry.oid)), (path(b"new"), None)],
        };
        for setup in [SetupState::None, SetupState::Pending, SetupState::Done(changes)] {
            let manifest = Manifest { setup, ..manifest.clone() };
            manifest.write(home.path()).unwrap();
            assert_eq!(Manifest::read(home.path(), &manifest.task).unwrap(), manifest);
        }
        Manifest::remove(home.path(), "auth").unwrap();
        Manifest::remove(home.path(), "auth").unwrap();
        assert!(Manifest::read(home.path(), &manifest.task).is_err());
    }
}
