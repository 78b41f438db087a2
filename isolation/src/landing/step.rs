//! One path of a landing: what is expected there, what it becomes, and where the new bytes wait.

use git2::Oid;
use protocol::{RepoPath, Side, TaskName};
use serde::{Deserialize, Serialize};

use crate::entry::{Entry, Mode};

/// One path of a landing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "StoredChange", into = "StoredChange")]
pub(super) struct FileChange {
    pub(super) path: RepoPath,
    /// What the landing began with; whatever else is there is somebody's edit.
    pub(super) expected: Option<Entry>,
    /// What it becomes.
    pub(super) new: Option<Entry>,
    /// Where the new version waits before, and the old one after.
    pub(super) temp: RepoPath,
    pub(super) method: WriteMethod,
    /// The tasks that want it.
    pub(super) by: Vec<TaskName>,
}

/// How a new version gets to its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum WriteMethod {
    /// It changes places with the old one, at once.
    Exchange,
    /// It is written over the old one, because the file has other names that must show it too.
    InPlace,
}

impl FileChange {
    /// Returns the step that takes this one back.
    pub(super) fn reversed(&self) -> Self {
        Self { expected: self.new, new: self.expected, ..self.clone() }
    }
}

/// A step as it is in a journal.
#[derive(Serialize, Deserialize)]
struct StoredChange {
    path: RepoPath,
    expected: Option<Side>,
    new: Option<Side>,
    temp: RepoPath,
    #[serde(rename = "way")]
    method: WriteMethod,
    by: Vec<TaskName>,
}

impl From<FileChange> for StoredChange {
    fn from(change: FileChange) -> Self {
        Self {
            path: change.path,
            expected: change.expected.map(Entry::to_side),
            new: change.new.map(Entry::to_side),
            temp: change.temp,
            method: change.method,
            by: change.by,
        }
    }
}

impl TryFrom<StoredChange> for FileChange {
    type Error = String;

    fn try_from(written: StoredChange) -> Result<Self, String> {
        let entry = |side: Side| {
            let mode = Mode::from_git(side.mode).ok_or(format!("{:o} is no mode", side.mode))?;
            let oid = Oid::from_str(&side.oid).map_err(|error| error.message().to_owned())?;
            Ok::<_, String>(Entry { mode, oid })
        };
        Ok(Self {
            path: written.path,
            expected: written.expected.map(entry).transpose()?,
            new: written.new.map(entry).transpose()?,
            temp: written.temp,
            method: written.method,
            by: written.by,
        })
    }
}
