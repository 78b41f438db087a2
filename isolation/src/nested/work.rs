//! What a task did in one nested repository, as a capture has it beside the changed files.

use git2::Oid;
use protocol::RepoPath;
use serde::{Deserialize, Serialize};

use crate::store::Series;

/// The work of a task in one nested repository, besides the changed files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NestedWork {
    /// The folder of the repository.
    pub(crate) path: RepoPath,
    /// The commit that was checked out when the task began; `None` before the first commit.
    pub(crate) from: Option<Oid>,
    /// The commit that the task left checked out; `None` if there is none, or it cannot be read.
    pub(crate) to: Option<Oid>,
    /// The message of the only commit that the task made there.
    pub(crate) message: Option<String>,
    /// The commits that the task made there.
    pub(crate) series: Series,
}

/// The form of [`NestedWork`] in the message of a capture, without its commits.
#[derive(Serialize, Deserialize)]
pub(crate) struct StoredNested {
    path: RepoPath,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// The lines of its commits.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    series: String,
}

impl NestedWork {
    /// Returns whether the task left another commit checked out.
    pub(crate) fn has_moved(&self) -> bool {
        self.from != self.to
    }

    /// Returns the form in the message of a capture.
    pub(crate) fn to_stored(&self) -> serde_json::Result<StoredNested> {
        let text = |oid: Option<Oid>| oid.map(|oid| oid.to_string());
        Ok(StoredNested {
            path: self.path.clone(),
            from: text(self.from),
            to: text(self.to),
            message: self.message.clone(),
            series: self.series.lines()?,
        })
    }
}

impl StoredNested {
    /// Reads the form in the message of a capture. `files` are the files of the commits.
    pub(crate) fn read(
        self,
        files: Vec<(Vec<u8>, crate::file_entry::Entry)>,
    ) -> Result<NestedWork, git2::Error> {
        let oid = |text: Option<String>| text.as_deref().map(Oid::from_str).transpose();
        let series = Series::read_lines(&self.series, files);
        let (from, to) = (oid(self.from)?, oid(self.to)?);
        Ok(NestedWork { path: self.path, from, to, message: self.message, series })
    }
}

/// Returns the innermost of the nested folders `roots`, which are sorted, that `path` is in.
pub(crate) fn root_of<'a>(
    roots: impl DoubleEndedIterator<Item = &'a RepoPath>,
    path: &RepoPath,
) -> Option<&'a RepoPath> {
    roots.rev().find(|root| path.is_below(root))
}
