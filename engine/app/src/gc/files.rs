//! The files of runs beside the task stores: outputs and session logs of tasks, and logs of runs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use config::DataPaths;
use protocol::{RunName, TaskName};

/// The files of all runs.
#[derive(Clone, Debug, Default)]
pub(super) struct RunFiles {
    /// The sizes of the folders of tasks, in bytes.
    pub(super) outputs: BTreeMap<RunName, BTreeMap<TaskName, u64>>,
    /// The sizes of the logs of runs, in bytes.
    pub(super) logs: BTreeMap<RunName, u64>,
}

impl RunFiles {
    /// Finds the files of all runs.
    pub(super) fn find(places: &DataPaths) -> io::Result<Self> {
        let mut found = Self::default();
        for (name, path) in entries(&places.all_artifacts())? {
            let Ok(run) = name.parse::<RunName>() else { continue };
            let outputs = found.outputs.entry(run).or_default();
            for (task, folder) in entries(&path)? {
                // What has the name of no task was not made by a run, and stays.
                if let Ok(task) = task.parse::<TaskName>() {
                    outputs.insert(task, size_of(&folder)?);
                }
            }
        }
        for (name, path) in entries(&places.logs())? {
            if let Some(Ok(run)) = name.strip_suffix(".log").map(str::parse::<RunName>) {
                found.logs.insert(run, size_of(&path)?);
            }
        }
        Ok(found)
    }

    /// Returns the names of all runs with files.
    pub(super) fn runs(&self) -> BTreeSet<&RunName> {
        self.outputs.keys().chain(self.logs.keys()).collect()
    }

    /// Returns the size of all files together, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        let outputs = self.outputs.values().flat_map(BTreeMap::values);
        outputs.chain(self.logs.values()).sum()
    }
}

/// Removes the folders of tasks of a run.
pub(super) fn remove_outputs<'a>(
    places: &DataPaths,
    run: &RunName,
    tasks: impl Iterator<Item = &'a TaskName>,
) -> io::Result<()> {
    for task in tasks {
        if_there(fs::remove_dir_all(places.artifacts(run, task)))?;
    }
    let of_run = places.all_artifacts().join(run.as_str());
    // Fails if another task has a folder, as it should.
    let _still_used = fs::remove_dir(of_run);
    Ok(())
}

/// Removes the log of a run.
pub(super) fn remove_log(places: &DataPaths, run: &RunName) -> io::Result<()> {
    if_there(fs::remove_file(places.log(run)))
}

/// Returns the names and paths of the entries of a folder, sorted; none if there is no such folder.
/// Names that are not UTF-8 are left out: no run or task has one.
fn entries(folder: &Path) -> io::Result<Vec<(String, std::path::PathBuf)>> {
    let read = match fs::read_dir(folder) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        read => read?,
    };
    let mut found = Vec::new();
    for entry in read {
        let entry = entry?;
        found.extend(entry.file_name().to_str().map(|name| (name.to_owned(), entry.path())));
    }
    found.sort();
    Ok(found)
}

/// Returns the size of a file, or of all files below a folder. Symlinks are not followed.
fn size_of(path: &Path) -> io::Result<u64> {
    let mut open = vec![path.to_path_buf()];
    let mut size = 0;
    while let Some(path) = open.pop() {
        let found = match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            found => found?,
        };
        if found.is_dir() {
            for entry in fs::read_dir(&path)? {
                open.push(entry?.path());
            }
        } else {
            size += found.len();
        }
    }
    Ok(size)
}

fn if_there(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
