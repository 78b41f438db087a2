//! Walks once over the user's tree. Certainly clean files go into the table. Files that must be
//! read are listed as candidates. Files that the snapshot leaves out are listed by kind.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use git2::{Oid, Repository};
use protocol::{RepoPath, is_temporary_name};

use crate::baseline::conversion::ConversionCheck;
use crate::baseline::index::Index;
use crate::baseline::scan_nested::below;
use crate::baseline::{ContentLocation, Folder, FolderKind, FrozenEntry, Table};
use crate::error::{Result, is_denied};
use crate::file_entry::Mode;
use crate::ignore::{PathKind, Rules};
use crate::tree::{FolderListing, ListedEntry, RepositoryRoot, Stat, Tree, join};

/// The coarsest timestamp granularity that is expected of a file system. A file that changed more
/// recently than this may change again without a new timestamp.
pub(super) const YOUNG_NS: i64 = 20_000_000;

/// The result of a walk.
#[derive(Default)]
pub(super) struct Scan {
    /// Every folder, and every file that is certainly clean.
    pub(super) table: Table,
    /// Files and symlinks that must be read.
    pub(super) dirty_candidates: Vec<DirtyCandidate>,
    /// Folders with a `.git`, which were not entered.
    pub(super) repositories: Vec<FoundRepository>,
    /// Repositories that are left out, each with the reason.
    pub(super) nested: Vec<String>,
    /// Files and folders that git ignores, without the contents of the folders.
    pub(super) ignored: Vec<IgnoredEntry>,
    /// Sockets, pipes and devices.
    pub(super) special: Vec<String>,
    /// Untracked files and folders that cannot be read.
    pub(super) unreadable: Vec<String>,
    /// Paths with names that no repository can contain.
    pub(super) invalid_names: Vec<String>,
}

/// A folder with a `.git`.
#[derive(Debug)]
pub(super) struct FoundRepository {
    /// Its path.
    pub(super) path: Vec<u8>,
    /// Its permissions.
    pub(super) permissions: u32,
    /// What it is for the repository around it.
    pub(super) placement: Placement,
}

/// What a folder with a `.git` is for the repository around it.
#[derive(Debug)]
pub(super) enum Placement {
    /// A submodule.
    Submodule,
    /// An untracked folder.
    Untracked,
    /// A folder that git ignores.
    Ignored(IgnoredEntry),
}

impl FoundRepository {
    /// Returns the folder with its path as in the repository around `root`.
    pub(super) fn below(mut self, root: &[u8]) -> Self {
        self.path = below(root, &self.path);
        if let Placement::Ignored(entry) = &mut self.placement {
            entry.path.clone_from(&self.path);
        }
        self
    }
}

/// A file or a folder that git ignores.
#[derive(Debug)]
pub(crate) struct IgnoredEntry {
    /// Its path.
    pub(crate) path: Vec<u8>,
    /// Whether it is a folder.
    pub(crate) kind: PathKind,
    /// Its stat.
    pub(crate) stat: Stat,
}

/// A file or symlink that must be read, because its stat does not show that it is clean.
pub(super) struct DirtyCandidate {
    /// Its path.
    pub(super) path: RepoPath,
    /// Its size in bytes.
    pub(super) size: u64,
    /// The blob in the index, if it is tracked.
    pub(super) tracked: Option<Oid>,
}

/// Walks over the whole tree, except for the folders in `ours`, which hold data of this program.
/// The walk starts at `started_ns`, in nanoseconds since 1970.
pub(super) fn scan(
    git: &Repository,
    tree: &Tree,
    ours: &[PathBuf],
    started_ns: i64,
) -> Result<Scan> {
    let index = Index::read(git)?;
    let rules = Rules::of(git, tree);
    let conversion_check = ConversionCheck::of(git)?;
    let scan = Scan::default();
    let mut walk = Walk { rules, conversion_check, tree, ours, index, scan, started_ns };
    let mut waiting = vec![(Vec::new(), 0)];
    while let Some((folder, permissions)) = waiting.pop() {
        walk.visit_folder(folder, permissions, &mut waiting)?;
    }
    walk.scan.dirty_candidates.sort_by(|left, right| left.path.cmp(&right.path));
    Ok(walk.scan)
}

/// Returns the time of day in nanoseconds since 1970.
pub(crate) fn now_ns() -> i64 {
    let since = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

struct Walk<'a> {
    rules: Rules<'a>,
    conversion_check: ConversionCheck<'a>,
    tree: &'a Tree,
    ours: &'a [PathBuf],
    index: Index,
    scan: Scan,
    started_ns: i64,
}

impl Walk<'_> {
    fn visit_folder(
        &mut self,
        path: Vec<u8>,
        permissions: u32,
        waiting: &mut Vec<(Vec<u8>, u32)>,
    ) -> Result<()> {
        let Some(listing) = self.list(&path)? else { return Ok(()) };
        let FolderListing { entries, invalid_names, repository, .. } = listing;
        let owner = if path.is_empty() { RepositoryRoot::No } else { repository };
        if owner == RepositoryRoot::Yes && !self.index.has_below(&path) {
            let placement = Placement::Untracked;
            self.scan.repositories.push(FoundRepository { path, permissions, placement });
            return Ok(());
        }
        self.conversion_check.enter(&path, &entries, self.tree, &self.index);
        self.scan
            .invalid_names
            .extend(invalid_names.iter().map(|name| printable(&join(&path, name))));
        let mut found = Folder { permissions, ..Folder::default() };
        for entry in entries {
            let below = join(&path, &entry.name);
            if entry.is_folder() {
                if let Some(permissions) = self.descends(&below, &entry, owner)? {
                    waiting.push((below, permissions));
                }
            } else if let Some((name, frozen)) = self.visit_file(below, entry, owner)? {
                found.files.insert(name, frozen);
            }
        }
        self.scan.table.folders.insert(path, found);
        Ok(())
    }

    /// Lists a folder. Returns `None` if the folder cannot be read and contains no tracked file.
    fn list(&mut self, path: &[u8]) -> Result<Option<FolderListing>> {
        match self.tree.list(path) {
            Err(error) if is_denied(&error) && !self.index.has_below(path) => {
                self.scan.unreadable.push(printable(path));
                Ok(None)
            }
            listed => listed,
        }
    }

    /// Returns the permissions of a folder if the walk enters it. In a nested repository, the walk
    /// enters only folders with files that the outer repository tracks.
    fn descends(
        &mut self,
        path: &[u8],
        entry: &ListedEntry,
        inside: RepositoryRoot,
    ) -> Result<Option<u32>> {
        let permissions = entry.stat.mode & 0o777;
        if self.index.is_submodule(path) {
            let kind = FolderKind::Submodule;
            let empty = Folder { kind, permissions, ..Folder::default() };
            self.scan.table.folders.insert(path.to_vec(), empty);
            if self.is_repository(path) {
                let (path, placement) = (path.to_vec(), Placement::Submodule);
                self.scan.repositories.push(FoundRepository { path, permissions, placement });
            }
            return Ok(None);
        }
        if self.index.has_below(path) {
            return Ok(Some(permissions));
        }
        if inside == RepositoryRoot::Yes || self.is_ours(path) {
            return Ok(None);
        }
        if self.rules.ignores(path, PathKind::Folder)? {
            let is_repository = self.is_repository(path);
            let (path, kind) = (path.to_vec(), PathKind::Folder);
            let entry = IgnoredEntry { path: path.clone(), kind, stat: entry.stat };
            if is_repository {
                let placement = Placement::Ignored(entry);
                self.scan.repositories.push(FoundRepository { path, permissions, placement });
            } else {
                self.scan.ignored.push(entry);
            }
            return Ok(None);
        }
        Ok(Some(permissions))
    }

    /// Returns whether a folder has a `.git`. One that cannot be looked into has none.
    fn is_repository(&self, path: &[u8]) -> bool {
        matches!(self.tree.stat_below(path, OsStr::new(".git")), Ok(Some(_)))
    }

    fn is_ours(&self, path: &[u8]) -> bool {
        let place = self.tree.root().join(OsStr::from_bytes(path));
        self.ours.contains(&place)
    }

    /// Returns the table entry of a certainly clean file. Adds any other file to the matching list
    /// of the scan, and returns `None`.
    fn visit_file(
        &mut self,
        path: Vec<u8>,
        entry: ListedEntry,
        inside: RepositoryRoot,
    ) -> Result<Option<(OsString, FrozenEntry)>> {
        let tracked = self.index.get(&path);
        let young = entry.stat.ctime_ns >= self.started_ns - YOUNG_NS;
        if let (Some(tracked), Some(mode @ (Mode::File | Mode::Executable)), false) =
            (tracked, entry.stat.kind(), young)
            && self.index.is_clean(tracked, &entry.stat)
            && !self.conversion_check.may_differ_from_blob(&path, tracked.id, entry.stat.size)
        {
            let source = ContentLocation::Blob(tracked.id);
            return Ok(Some((entry.name, FrozenEntry { stat: entry.stat, mode, source })));
        }
        let tracked = tracked.map(|tracked| tracked.id);
        if tracked.is_none() && is_temporary_name(entry.name.as_bytes()) {
            tracing::warn!(path = %printable(&path), "what is left of an interrupted write is left out");
        } else if tracked.is_none()
            && (inside == RepositoryRoot::Yes || self.rules.ignores(&path, PathKind::File)?)
        {
            if inside == RepositoryRoot::No {
                let (kind, stat) = (PathKind::File, entry.stat);
                self.scan.ignored.push(IgnoredEntry { path, kind, stat });
            }
        } else if entry.stat.kind().is_none() {
            self.scan.special.push(printable(&path));
        } else if let Some(path) = RepoPath::new(path) {
            self.scan.dirty_candidates.push(DirtyCandidate {
                path,
                size: entry.stat.size,
                tracked,
            });
        }
        Ok(None)
    }
}

/// Formats a path for display, quoted as git does.
pub(crate) fn printable(path: &[u8]) -> String {
    match RepoPath::new(path) {
        Some(path) => path.to_string(),
        None => String::from_utf8_lossy(path).escape_default().to_string(),
    }
}
