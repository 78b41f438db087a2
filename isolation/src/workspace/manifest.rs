//! What is written beside a workspace when it is ready, so that another process can capture it.

use std::collections::BTreeMap;
use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};

use git2::Oid;
use protocol::{RepoPath, RunName, TaskName};
use serde::{Deserialize, Serialize};

use crate::baseline::write_whole;
use crate::entry::{Entry, Mode};
use crate::error::{OrCannot, Result};

/// The name of the manifest in the workspace's folder.
pub(super) const FILE: &str = "workspace.json";

/// The version of its form.
const VERSION: u32 = 1;

/// What a ready workspace began as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Manifest {
    /// The run.
    pub(crate) run: RunName,
    /// The task.
    pub(crate) task: TaskName,
    /// Counts its attempts from 1.
    pub(crate) attempt: u32,
    /// The clock of the file system when everything was in place, in nanoseconds since 1970:
    /// nothing the task does is older.
    pub(crate) marker_ns: i64,
    /// What the predecessors' work made of the frozen tree.
    pub(crate) seeds: BTreeMap<RepoPath, Option<Entry>>,
}

#[derive(Serialize, Deserialize)]
struct Written {
    version: u32,
    run: RunName,
    task: TaskName,
    attempt: u32,
    marker_ns: i64,
    seeds: Vec<WrittenSeed>,
}

#[derive(Serialize, Deserialize)]
struct WrittenSeed {
    path: RepoPath,
    entry: Option<WrittenEntry>,
}

#[derive(Serialize, Deserialize)]
struct WrittenEntry {
    mode: u32,
    oid: String,
}

impl Manifest {
    /// Writes it into the workspace's folder.
    pub(crate) fn write(&self, folder: &Path) -> Result<()> {
        let entry =
            |entry: &Entry| WrittenEntry { mode: entry.mode.to_git(), oid: entry.oid.to_string() };
        let seeds = self.seeds.iter();
        let written = Written {
            version: VERSION,
            run: self.run.clone(),
            task: self.task.clone(),
            attempt: self.attempt,
            marker_ns: self.marker_ns,
            seeds: seeds
                .map(|(path, seed)| WrittenSeed {
                    path: path.clone(),
                    entry: seed.as_ref().map(entry),
                })
                .collect(),
        };
        let json = serde_json::to_vec(&written)
            .or_cannot(|| format!("write the manifest of {}", folder.display()))?;
        write_whole(&folder.join(FILE), &json)
    }

    /// Reads it. Nothing comes back if there is none: the workspace was never ready.
    pub(crate) fn read(folder: &Path) -> Result<Option<Self>> {
        let file = folder.join(FILE);
        let what = || format!("read {}", file.display());
        let json = match fs::read(&file) {
            Ok(json) => json,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).or_cannot(what),
        };
        let written: Written = serde_json::from_slice(&json).or_cannot(what)?;
        if written.version != VERSION {
            return Err("another version of regatta wrote it").or_cannot(what);
        }
        let mut seeds = BTreeMap::new();
        for seed in written.seeds {
            let entry = seed.entry.map(|entry| entry.read()).transpose().or_cannot(what)?;
            seeds.insert(seed.path, entry);
        }
        let Written { run, task, attempt, marker_ns, .. } = written;
        Ok(Some(Self { run, task, attempt, marker_ns, seeds }))
    }
}

impl WrittenEntry {
    fn read(&self) -> std::result::Result<Entry, git2::Error> {
        let mode = Mode::from_git(self.mode).ok_or_else(|| git2::Error::from_str("no such mode"));
        Ok(Entry { mode: mode?, oid: Oid::from_str(&self.oid)? })
    }
}

/// Returns whether an entry of a run's folder is a task's workspace. Everything else in it begins
/// with a full stop, which no task's name does, or is the lock.
pub(crate) fn is_workspace(entry: &DirEntry) -> bool {
    task_of(entry).is_some() && entry.file_type().is_ok_and(|kind| kind.is_dir())
}

/// Returns the task whose workspace an entry of a run's folder would be.
pub(crate) fn task_of(entry: &DirEntry) -> Option<TaskName> {
    entry.file_name().to_str()?.parse().ok()
}

/// Returns where the copy of the working tree is in a workspace's folder.
pub(crate) fn tree_of(folder: &Path) -> PathBuf {
    folder.join("tree")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_reads_back_as_it_was_written_and_its_absence_is_no_error() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(Manifest::read(home.path()).unwrap(), None);
        let oid = Oid::from_str(&"0a".repeat(20)).unwrap();
        let path = |name: &[u8]| RepoPath::new(name).unwrap();
        let entry = Entry { mode: Mode::Link, oid };
        let manifest = Manifest {
            run: "r7k3f".parse().unwrap(),
            task: "auth".parse().unwrap(),
            attempt: 2,
            marker_ns: 5,
            seeds: [(path(b"a\xff\n"), Some(entry)), (path(b"gone"), None)].into(),
        };
        manifest.write(home.path()).unwrap();
        assert_eq!(Manifest::read(home.path()).unwrap(), Some(manifest));
    }
}
