//! Collects the files and folders of a workspace that no capture can contain.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

use protocol::{LeftOut, LeftOutEntry, LeftOutKind, quote_path};
use rustix::fs::FileType;

use crate::tree::{RepositoryRoot, Stat, Tree, join};

/// The most entries that are counted in a folder that is left out.
const COUNTED: u64 = 100_000;

/// Collects the entries that are left out. All are counted, but only the first paths are stored.
pub(super) struct LeftOutCollector<'a> {
    tree: &'a Tree,
    entries: BTreeMap<Vec<u8>, LeftOutKind>,
    total: u64,
    files: u64,
}

impl<'a> LeftOutCollector<'a> {
    /// Returns a collector for the workspace at `tree`.
    pub(super) fn new(tree: &'a Tree) -> Self {
        Self { tree, entries: BTreeMap::new(), total: 0, files: 0 }
    }

    /// Adds a FIFO, a socket or a device.
    pub(super) fn special(&mut self, path: Vec<u8>, stat: &Stat) {
        let kind = match FileType::from_raw_mode(stat.mode) {
            FileType::Fifo => LeftOutKind::Fifo,
            FileType::Socket => LeftOutKind::Socket,
            _ => LeftOutKind::Device,
        };
        self.add(path, kind);
    }

    /// Adds an entry with a name, such as `.GIT`, that some file systems treat as `.git`.
    pub(super) fn git_lookalike(&mut self, path: Vec<u8>, stat: &Stat) {
        let files = match FileType::from_raw_mode(stat.mode) {
            FileType::Directory => self.contents(&path).files,
            FileType::RegularFile | FileType::Symlink => 1,
            _ => 0,
        };
        self.add(path, LeftOutKind::GitTwin { files });
    }

    /// Adds the folder of a submodule if the task put something into it.
    pub(super) fn submodule(&mut self, path: Vec<u8>) {
        let contents = self.contents(&path);
        if contents.files + contents.special > 0 {
            self.add(path, LeftOutKind::Submodule { files: contents.files });
        }
    }

    /// Adds the `.git` of a repository that the task made in `folder`.
    pub(super) fn repository(&mut self, folder: &[u8]) {
        self.add(join(folder, OsStr::new(".git")), LeftOutKind::Repository);
    }

    /// Returns the report, for a workspace whose tree is at `root`.
    pub(super) fn finish(self, root: &Path) -> LeftOut {
        let entry = |(path, kind): (Vec<u8>, _)| LeftOutEntry { path: quote_path(&path), kind };
        LeftOut {
            entries: self.entries.into_iter().map(entry).collect(),
            total: self.total,
            files: self.files,
            workspace: (self.files > 0).then(|| root.display().to_string()),
        }
    }

    fn add(&mut self, path: Vec<u8>, kind: LeftOutKind) {
        tracing::warn!(path = %quote_path(&path), ?kind, "left out");
        self.total += 1;
        self.files += kind.files();
        self.entries.insert(path, kind);
        if self.entries.len() > LeftOut::MAX_ENTRIES {
            self.entries.pop_last();
        }
    }

    /// Counts the contents of a folder at any depth. An entry that cannot be read counts as a file.
    /// If there are more entries than the limit, at least one file is counted.
    fn contents(&self, folder: &[u8]) -> Contents {
        let mut found = Contents::default();
        let mut seen = 0;
        let mut waiting = vec![folder.to_vec()];
        while let Some(folder) = waiting.pop() {
            let listing = match self.tree.list_readable(&folder) {
                Ok(Some(listing)) => listing,
                Ok(None) => continue,
                Err(_) => {
                    found.files += 1;
                    continue;
                }
            };
            let own_git = (listing.repository == RepositoryRoot::Yes).then(|| ".git".into());
            for name in listing.invalid_names.iter().chain(&own_git) {
                match listing.stat(name) {
                    Ok(Some(stat)) => found.count(join(&folder, name), &stat, &mut waiting),
                    Ok(None) => {}
                    Err(_) => found.files += 1,
                }
            }
            for entry in &listing.entries {
                found.count(join(&folder, &entry.name), &entry.stat, &mut waiting);
            }
            seen += (listing.entries.len() + listing.invalid_names.len()) as u64;
            if seen > COUNTED {
                found.files = found.files.max(1);
                break;
            }
        }
        found
    }
}

/// The number of entries in a folder and its subfolders.
#[derive(Default)]
struct Contents {
    /// Regular files and symlinks.
    files: u64,
    /// FIFOs, sockets and devices.
    special: u64,
}

impl Contents {
    fn count(&mut self, path: Vec<u8>, stat: &Stat, waiting: &mut Vec<Vec<u8>>) {
        match FileType::from_raw_mode(stat.mode) {
            FileType::Directory => waiting.push(path),
            FileType::RegularFile | FileType::Symlink => self.files += 1,
            _ => self.special += 1,
        }
    }
}
