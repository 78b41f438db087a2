//! What the set-up of a workspace has changed, as the manifest stores it.

use std::collections::{BTreeMap, BTreeSet};

use git2::Oid;
use protocol::RepoPath;
use serde::{Deserialize, Serialize};

use crate::file_entry::{Entry, Mode};
use crate::tree::Stat;

/// How far the set-up of a workspace has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum SetupState {
    /// The workspace is not set up.
    #[default]
    None,
    /// The set-up has not ended. There is no work of the task yet.
    Pending,
    /// The set-up has ended and has changed this.
    Done(SetupChanges),
}

/// What a set-up has changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SetupChanges {
    /// The files and symlinks that it has made, changed or removed, except for ignored ones.
    pub(crate) files: BTreeMap<RepoPath, SetupFile>,
    /// The ignored files and folders that there were when it had ended.
    pub(crate) ignored: BTreeSet<RepoPath>,
    /// The fingerprints of what no capture can contain, by printed path.
    pub(crate) left_out: BTreeMap<String, String>,
    /// The commit that the HEAD of the workspace named then; `None` if it had none.
    pub(crate) head: Option<Oid>,
    /// The same for each nested repository in which it is not the user's, by folder.
    pub(crate) nested_heads: Vec<(RepoPath, Option<Oid>)>,
}

/// What a set-up has done to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SetupFile {
    /// It has removed the file.
    Removed,
    /// It has made or changed the file.
    Left(LeftFile),
}

/// A file as a set-up has left it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LeftFile {
    /// Its stat.
    pub(crate) stat: Stat,
    /// Its content; `None` for a large new file, which is compared by its stat only.
    pub(crate) content: Option<Entry>,
    /// Whether the path existed before.
    pub(crate) origin: LeftOrigin,
}

/// Whether a file that a set-up has left existed before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LeftOrigin {
    /// The set-up has changed it. Its content is in the task store.
    Changed,
    /// The set-up has made it. If the task changes it, all of it is the task's work.
    Made,
}

impl SetupState {
    /// Returns what the set-up did to `path`, if anything.
    pub(crate) fn file(&self, path: &RepoPath) -> Option<&SetupFile> {
        match self {
            Self::None | Self::Pending => None,
            Self::Done(changes) => changes.files.get(path),
        }
    }

    /// Returns whether `path` or a folder above it was ignored when the set-up had ended.
    pub(crate) fn was_ignored(&self, path: &RepoPath) -> bool {
        match self {
            Self::None | Self::Pending => false,
            Self::Done(SetupChanges { ignored, .. }) => {
                !ignored.is_empty()
                    && (ignored.contains(path)
                        || path.folders().any(|folder| ignored.contains(&folder)))
            }
        }
    }

    /// Returns whether the set-up has changed no file.
    pub(crate) fn has_no_files(&self) -> bool {
        match self {
            Self::None | Self::Pending => true,
            Self::Done(changes) => changes.files.is_empty(),
        }
    }
}

impl LeftFile {
    /// Returns whether a file with `stat` certainly has not changed since the set-up ended at
    /// `marker_ns`.
    pub(crate) fn is_untouched(&self, stat: &Stat, marker_ns: i64) -> bool {
        self.stat == *stat && stat.ctime_ns < marker_ns
    }

    /// Returns the entry with which the work of the task is compared and merged.
    pub(crate) fn base(&self) -> Option<Entry> {
        match self.origin {
            LeftOrigin::Changed => self.content,
            LeftOrigin::Made => None,
        }
    }
}

/// The form of [`SetupState`] in the manifest.
#[derive(Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub(super) enum StoredSetup {
    Pending,
    Done {
        files: Vec<StoredFile>,
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        ignored: BTreeSet<RepoPath>,
        left_out: BTreeMap<String, String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        head: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        nested_heads: Vec<(RepoPath, Option<String>)>,
    },
}

#[derive(Serialize, Deserialize)]
pub(super) struct StoredFile {
    path: RepoPath,
    /// Size, modification time, status change, inode and mode; absent if the file was removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stat: Option<(u64, i64, i64, u64, u32)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content: Option<(u32, String)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    origin: Option<LeftOrigin>,
}

impl SetupState {
    pub(super) fn to_stored(&self) -> Option<StoredSetup> {
        match self {
            Self::None => None,
            Self::Pending => Some(StoredSetup::Pending),
            Self::Done(SetupChanges { files, ignored, left_out, head, nested_heads }) => {
                let text = |head: &Option<Oid>| head.map(|head| head.to_string());
                let nested_heads =
                    nested_heads.iter().map(|(root, head)| (root.clone(), text(head))).collect();
                let head = text(head);
                let files = files.iter().map(|(path, file)| StoredFile::of(path, file)).collect();
                let (ignored, left_out) = (ignored.clone(), left_out.clone());
                Some(StoredSetup::Done { files, ignored, left_out, head, nested_heads })
            }
        }
    }

    pub(super) fn from_stored(stored: Option<StoredSetup>) -> Result<Self, git2::Error> {
        Ok(match stored {
            None => Self::None,
            Some(StoredSetup::Pending) => Self::Pending,
            Some(StoredSetup::Done { files, ignored, left_out, head, nested_heads }) => {
                let oid = |head: Option<String>| head.as_deref().map(Oid::from_str).transpose();
                let head = oid(head)?;
                let nested_heads = nested_heads.into_iter();
                let nested_heads = nested_heads.map(|(root, head)| Ok((root, oid(head)?)));
                let nested_heads = nested_heads.collect::<Result<_, git2::Error>>()?;
                let files = files.into_iter().map(StoredFile::read).collect::<Result<_, _>>()?;
                Self::Done(SetupChanges { files, ignored, left_out, head, nested_heads })
            }
        })
    }
}

impl StoredFile {
    fn of(path: &RepoPath, file: &SetupFile) -> Self {
        let path = path.clone();
        let SetupFile::Left(LeftFile { stat, content, origin }) = file else {
            return Self { path, stat: None, content: None, origin: None };
        };
        let Stat { size, mtime_ns, ctime_ns, ino, mode } = *stat;
        let content = content.map(|entry| (entry.mode.to_git(), entry.oid.to_string()));
        let stat = Some((size, mtime_ns, ctime_ns, ino, mode));
        Self { path, stat, content, origin: Some(*origin) }
    }

    fn read(self) -> Result<(RepoPath, SetupFile), git2::Error> {
        let (Some(stat), Some(origin)) = (self.stat, self.origin) else {
            return Ok((self.path, SetupFile::Removed));
        };
        let (size, mtime_ns, ctime_ns, ino, mode) = stat;
        let stat = Stat { size, mtime_ns, ctime_ns, ino, mode };
        let content = match self.content {
            None => None,
            Some((mode, oid)) => {
                let mode = Mode::from_git(mode).ok_or_else(|| git2::Error::from_str("no mode"))?;
                Some(Entry { mode, oid: Oid::from_str(&oid)? })
            }
        };
        Ok((self.path, SetupFile::Left(LeftFile { stat, content, origin })))
    }
}
