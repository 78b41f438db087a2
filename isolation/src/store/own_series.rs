//! The commits that a task made itself, as a part of its capture: each as a line of the capture's
//! message and, below `series/NUMBER/`, the files that it changed.

use std::collections::BTreeMap;

use git2::Commit;
use protocol::RepoPath;
use serde::{Deserialize, Serialize};

use crate::file_entry::Entry;

/// The prefix of each line with a commit, in JSON.
const COMMIT_KEY: &str = "Capture-Commit: ";

/// The prefix of the line about commits that could not be kept.
const LOST_KEY: &str = "Capture-Commits-Lost: ";

/// The prefix of the line about merges among the commits.
const MERGES_KEY: &str = "Capture-Commits-Merged: yes";

/// The folder of the files.
pub(super) const FOLDER: &str = "series/";

/// The commits that a task made itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Series {
    /// The commits, oldest first.
    pub(crate) commits: Vec<OwnCommit>,
    /// Whether merges are among them. A merge has the changes to its first parent.
    pub(crate) has_merges: bool,
    /// Why commits that the task made are not here.
    pub(crate) lost: Option<String>,
}

/// A commit that a task made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnCommit {
    /// The name of its author.
    pub(crate) author: String,
    /// The mail address of its author.
    pub(crate) email: String,
    /// When it was made, in seconds since 1970.
    pub(crate) time: i64,
    /// The offset of its time zone, in minutes.
    pub(crate) offset: i32,
    /// Its message.
    pub(crate) message: String,
    /// The paths that it changed, of those that the task changed in all or that were new, with their
    /// new entries as git has them.
    pub(crate) paths: BTreeMap<RepoPath, Option<Entry>>,
}

/// The form of a commit in the message of a capture.
#[derive(Serialize, Deserialize)]
struct StoredCommit {
    author: String,
    email: String,
    time: i64,
    offset: i32,
    message: String,
    removed: Vec<RepoPath>,
}

impl Series {
    /// Returns the series of a task whose commits cannot be kept.
    pub(crate) fn lost(why: &str) -> Self {
        Self { lost: Some(why.to_owned()), ..Self::default() }
    }

    /// Returns whether the task made no commit.
    pub(crate) fn is_empty(&self) -> bool {
        self.commits.is_empty() && self.lost.is_none()
    }

    /// Returns the entries for the tree of a capture.
    pub(super) fn entries(&self) -> impl Iterator<Item = (Vec<u8>, Entry)> {
        self.commits.iter().enumerate().flat_map(|(number, commit)| {
            let below = format!("{FOLDER}{number}/");
            commit.paths.iter().filter_map(move |(path, entry)| {
                Some(([below.as_bytes(), path.as_bytes()].concat(), (*entry)?))
            })
        })
    }

    /// Returns the lines for the message of a capture.
    pub(crate) fn lines(&self) -> serde_json::Result<String> {
        let mut lines = String::new();
        for commit in &self.commits {
            let removed = commit.paths.iter().filter(|(_, entry)| entry.is_none());
            let stored = StoredCommit {
                author: commit.author.clone(),
                email: commit.email.clone(),
                time: commit.time,
                offset: commit.offset,
                message: commit.message.clone(),
                removed: removed.map(|(path, _)| path.clone()).collect(),
            };
            lines.push_str(&format!("{COMMIT_KEY}{}\n", serde_json::to_string(&stored)?));
        }
        if self.has_merges {
            lines.push_str(&format!("{MERGES_KEY}\n"));
        }
        if let Some(why) = &self.lost {
            lines.push_str(&format!("{LOST_KEY}{}\n", serde_json::to_string(why)?));
        }
        Ok(lines)
    }

    /// Reads the series of a capture. `files` are its entries below [`FOLDER`]. The commits that
    /// cannot be read make the series a lost one: the work of the task does not depend on them.
    pub(super) fn read(commit: &Commit<'_>, files: Vec<(Vec<u8>, Entry)>) -> Self {
        Self::read_lines(&String::from_utf8_lossy(commit.message_bytes()), files)
    }

    /// Reads a series from its lines and its files, as [`Self::read`] does.
    pub(crate) fn read_lines(lines: &str, files: Vec<(Vec<u8>, Entry)>) -> Self {
        Self::try_read(lines, files).unwrap_or_else(|| Self::lost("they cannot be read"))
    }

    fn try_read(message: &str, files: Vec<(Vec<u8>, Entry)>) -> Option<Self> {
        let mut series = Self::default();
        for line in message.lines() {
            if let Some(stored) = line.strip_prefix(COMMIT_KEY) {
                let stored: StoredCommit = serde_json::from_str(stored).ok()?;
                series.commits.push(OwnCommit {
                    author: stored.author,
                    email: stored.email,
                    time: stored.time,
                    offset: stored.offset,
                    message: stored.message,
                    paths: stored.removed.into_iter().map(|path| (path, None)).collect(),
                });
            } else if let Some(why) = line.strip_prefix(LOST_KEY) {
                series.lost = Some(serde_json::from_str(why).ok()?);
            } else if line == MERGES_KEY {
                series.has_merges = true;
            }
        }
        for (path, entry) in files {
            let slash = path.iter().position(|byte| *byte == b'/')?;
            let number: usize = std::str::from_utf8(&path[..slash]).ok()?.parse().ok()?;
            let path = RepoPath::new(&path[slash + 1..])?;
            series.commits.get_mut(number)?.paths.insert(path, Some(entry));
        }
        Some(series)
    }
}
