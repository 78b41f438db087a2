//! What a task did in nested repositories, as a part of its capture: a line of the capture's message
//! for each of them and, below `nested/NUMBER/`, the files of the commits that the task made there.

use git2::Commit;
use protocol::{CaptureRef, RepoPath};

use crate::error::{OrCannot, Result};
use crate::file_entry::Entry;
use crate::nested::{NestedWork, StoredNested};
use crate::store::{TaskStore, own_series};

/// The prefix of each line, before the JSON.
const KEY: &str = "Capture-Nested: ";

/// The folder of the files, by the numbers of the lines.
pub(super) const FOLDER: &str = "nested/";

/// Returns the entries for the tree of a capture.
pub(super) fn entries(works: &[NestedWork]) -> impl Iterator<Item = (Vec<u8>, Entry)> {
    works.iter().enumerate().flat_map(|(number, nested)| {
        let below = format!("{FOLDER}{number}/");
        let entries = nested.series.entries();
        entries.map(move |(path, entry)| ([below.as_bytes(), &path].concat(), entry))
    })
}

/// Returns the lines for the message of a capture.
pub(super) fn lines(works: &[NestedWork]) -> serde_json::Result<String> {
    let mut lines = String::new();
    for nested in works {
        let stored = serde_json::to_string(&nested.to_stored()?)?;
        lines.push_str(&format!("{KEY}{stored}\n"));
    }
    Ok(lines)
}

/// Reads the work from the message of a capture. `files` are its entries below [`FOLDER`].
pub(super) fn read(
    commit: &Commit<'_>,
    files: &[(Vec<u8>, Entry)],
) -> std::result::Result<Vec<NestedWork>, String> {
    let message = String::from_utf8_lossy(commit.message_bytes());
    let lines = message.lines().filter_map(|line| line.strip_prefix(KEY));
    let read = |(number, line): (usize, &str)| {
        let stored: StoredNested = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let below = format!("{number}/{}", own_series::FOLDER);
        let own = files.iter().filter_map(|(path, entry)| {
            Some((path.strip_prefix(below.as_bytes())?.to_vec(), *entry))
        });
        stored.read(own.collect()).map_err(|error| error.message().to_owned())
    };
    lines.enumerate().map(read).collect()
}

impl TaskStore {
    /// Returns the folders of the nested repositories in which the task of a capture changed
    /// something, without reading its files.
    pub(crate) fn nested_roots(&self, capture: &CaptureRef) -> Result<Vec<RepoPath>> {
        let what = || format!("read {capture} from the task store {}", self.path.display());
        self.make_readable()?;
        let commit = self.commit_of(capture.as_str()).or_cannot(what)?;
        let works = read(&commit, &[]).or_cannot(what)?;
        Ok(works.into_iter().map(|nested| nested.path).collect())
    }
}
