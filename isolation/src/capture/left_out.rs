//! Collects the files and folders of a workspace that no capture can contain.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

use protocol::{LeftOut, LeftOutEntry, LeftOutKind, quote_path};
use rustix::fs::FileType;
use sha2::{Digest as _, Sha256};

use crate::tree::{RepositoryRoot, Stat, Tree, join};
use crate::workspace::SetupState;

/// The most entries that are counted in a folder that is left out.
const COUNTED: u64 = 100_000;

/// Collects the entries that are left out. All are counted, but only the first paths are stored.
pub(super) struct LeftOutCollector<'a> {
    tree: &'a Tree,
    entries: BTreeMap<Vec<u8>, LeftOutKind>,
    total: u64,
    files: u64,
    /// The state of the set-up. What it has left is not work of the task.
    setup: &'a SetupState,
    /// The fingerprints of all entries, by printed path.
    fingerprints: BTreeMap<String, String>,
}

impl<'a> LeftOutCollector<'a> {
    /// Returns a collector for the workspace at `tree`, which was set up like this.
    pub(super) fn new(tree: &'a Tree, setup: &'a SetupState) -> Self {
        let (entries, fingerprints) = (BTreeMap::new(), BTreeMap::new());
        Self { tree, entries, total: 0, files: 0, setup, fingerprints }
    }

    /// Adds a FIFO, a socket or a device.
    pub(super) fn special(&mut self, path: Vec<u8>, stat: &Stat) {
        let kind = match FileType::from_raw_mode(stat.mode) {
            FileType::Fifo => LeftOutKind::Fifo,
            FileType::Socket => LeftOutKind::Socket,
            _ => LeftOutKind::Device,
        };
        self.add(path, kind, Some(stat.ino.to_string()));
    }

    /// Adds an entry with a name, such as `.GIT`, that some file systems treat as `.git`.
    pub(super) fn git_lookalike(&mut self, path: Vec<u8>, stat: &Stat) {
        let (files, fingerprint) = match FileType::from_raw_mode(stat.mode) {
            FileType::Directory => {
                let contents = self.contents(&path);
                (contents.files, contents.fingerprint())
            }
            FileType::RegularFile | FileType::Symlink => (1, Some(format!("{stat:?}"))),
            _ => (0, Some(stat.ino.to_string())),
        };
        self.add(path, LeftOutKind::GitTwin { files }, fingerprint);
    }

    /// Adds the folder of a submodule if the task put something into it.
    pub(super) fn submodule(&mut self, path: Vec<u8>) {
        let contents = self.contents(&path);
        if contents.files + contents.special > 0 {
            let kind = LeftOutKind::Submodule { files: contents.files };
            self.add(path, kind, contents.fingerprint());
        }
    }

    /// Adds the `.git` of a repository that the task made in `folder`.
    pub(super) fn repository(&mut self, folder: &[u8]) {
        self.add(join(folder, OsStr::new(".git")), LeftOutKind::Repository, Some(String::new()));
    }

    /// Returns the report, for a workspace whose tree is at `root`, and the fingerprints of
    /// everything that was found.
    pub(super) fn finish(self, root: &Path) -> (LeftOut, BTreeMap<String, String>) {
        let entry = |(path, kind): (Vec<u8>, _)| LeftOutEntry { path: quote_path(&path), kind };
        let left_out = LeftOut {
            entries: self.entries.into_iter().map(entry).collect(),
            total: self.total,
            files: self.files,
            workspace: (self.files > 0).then(|| root.display().to_string()),
        };
        (left_out, self.fingerprints)
    }

    /// Adds an entry unless the set-up has left one with the same fingerprint.
    fn add(&mut self, path: Vec<u8>, kind: LeftOutKind, fingerprint: Option<String>) {
        let printed = quote_path(&path);
        if let (SetupState::Done(changes), Some(fingerprint)) = (self.setup, &fingerprint)
            && changes.left_out.get(&printed) == Some(fingerprint)
        {
            return;
        }
        self.fingerprints.extend(fingerprint.map(|fingerprint| (printed, fingerprint)));
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
        let mut found = Contents { files: 0, special: 0, stats: Sha256::new(), is_whole: true };
        let mut seen = 0;
        let mut waiting = vec![folder.to_vec()];
        while let Some(folder) = waiting.pop() {
            let listing = match self.tree.list_readable(&folder, &|_| false) {
                Ok(Some(listing)) => listing,
                Ok(None) => continue,
                Err(_) => {
                    found.files += 1;
                    found.is_whole = false;
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
                found.is_whole = false;
                break;
            }
        }
        found
    }
}

/// The entries in a folder and its subfolders.
struct Contents {
    /// The number of regular files and symlinks.
    files: u64,
    /// The number of FIFOs, sockets and devices.
    special: u64,
    /// The hash of all paths and stats, except for those of git's own data.
    stats: Sha256,
    /// Whether every entry is in it.
    is_whole: bool,
}

impl Contents {
    fn count(&mut self, path: Vec<u8>, stat: &Stat, waiting: &mut Vec<Vec<u8>>) {
        let is_folder = FileType::from_raw_mode(stat.mode) == FileType::Directory;
        if !is_folder && !path.split(|byte| *byte == b'/').any(|name| name == b".git") {
            self.stats.update(&path);
            self.stats.update(format!("\0{stat:?}\0"));
        }
        match FileType::from_raw_mode(stat.mode) {
            FileType::Directory => waiting.push(path),
            FileType::RegularFile | FileType::Symlink => self.files += 1,
            _ => self.special += 1,
        }
    }

    /// Returns a text that changes when an entry changes, or `None` if there are too many entries.
    fn fingerprint(self) -> Option<String> {
        let hash = self.stats.finalize();
        self.is_whole.then(|| hash.iter().map(|byte| format!("{byte:02x}")).collect())
    }
}
