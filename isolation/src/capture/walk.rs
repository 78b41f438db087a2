//! One walk over a workspace: everything that may have changed, told by stat alone.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use protocol::{RepoPath, is_temporary_name};

use crate::baseline::{Folder, FolderKind, Frozen, Start};
use crate::capture::forced::Forced;
use crate::entry::Entry;
use crate::error::Result;
use crate::ignore::{Kind, Rules};
use crate::tree::{Listed, Listing, Stat, Tree, join};
use crate::workspace::Manifest;

/// A path that may differ from what it began as.
pub(super) struct Candidate<'a> {
    /// The path.
    pub(super) path: RepoPath,
    /// What it began as; none if it was not there.
    pub(super) began: Option<Began<'a>>,
    /// Whether something of git's stands there now.
    pub(super) now: Now,
}

/// What a path began as.
#[derive(Clone, Copy)]
pub(super) enum Began<'a> {
    /// As it was frozen.
    Frozen(&'a Start),
    /// As the predecessors left it.
    Seed(Entry),
}

/// Whether a file or a symlink is at a path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Now {
    /// One is.
    Present,
    /// None is.
    Absent,
}

/// Walks over the workspace at `tree` and returns every candidate, sorted by path.
///
/// `rules` tell what is ignored there, and `forced` what is tracked all the same.
pub(super) fn candidates<'a>(
    frozen: &'a Frozen,
    manifest: &'a Manifest,
    tree: &Tree,
    rules: &Rules<'_>,
    forced: &Forced,
) -> Result<Vec<Candidate<'a>>> {
    let mut walk =
        Walk { frozen, manifest, rules, forced, found: Vec::new(), sown: BTreeSet::new() };
    let mut visited = BTreeSet::new();
    let mut waiting = vec![Vec::new()];
    while let Some(path) = waiting.pop() {
        let Some(listing) = tree.list_ours(&path)? else { continue };
        walk.folder(&path, &listing, &mut waiting)?;
        visited.insert(path);
    }
    for (path, folder) in &frozen.table.folders {
        if !visited.contains(path) {
            walk.absent(path, folder, &BTreeSet::new());
        }
    }
    walk.absent_seeds();
    walk.found.sort_by(|left, right| left.path.cmp(&right.path));
    Ok(walk.found)
}

struct Walk<'a, 'g> {
    frozen: &'a Frozen,
    manifest: &'a Manifest,
    rules: &'g Rules<'g>,
    forced: &'g Forced,
    found: Vec<Candidate<'a>>,
    /// The seeds that were seen.
    sown: BTreeSet<RepoPath>,
}

impl<'a> Walk<'a, '_> {
    fn folder(&mut self, path: &[u8], listing: &Listing, waiting: &mut Vec<Vec<u8>>) -> Result<()> {
        for name in &listing.odd {
            tracing::warn!(path = %shown(&join(path, name)), "a name like .git is left out");
        }
        let folder = self.frozen.table.folders.get(path);
        let mut present = BTreeSet::new();
        for entry in &listing.entries {
            if entry.is_folder() {
                let below = join(path, &entry.name);
                if self.descends(&below)? {
                    waiting.push(below);
                }
            } else if entry.stat.kind().is_none() {
                let path = shown(&join(path, &entry.name));
                tracing::warn!(%path, "a socket, pipe or device is left out");
            } else {
                present.insert(entry.name.as_os_str());
                let start = folder.and_then(|folder| folder.files.get(&entry.name));
                self.leaf(path, entry, start)?;
            }
        }
        if let Some(folder) = folder {
            self.absent(path, folder, &present);
        }
        Ok(())
    }

    fn leaf(&mut self, folder: &[u8], entry: &Listed, start: Option<&'a Start>) -> Result<()> {
        let untouched = start.is_some_and(|start| self.is_untouched(start, &entry.stat));
        if untouched && self.manifest.seeds.is_empty() {
            return Ok(());
        }
        let Some(path) = RepoPath::new(join(folder, &entry.name)) else { return Ok(()) };
        let began = match self.manifest.seeds.get(&path) {
            Some(seed) => {
                self.sown.insert(path.clone());
                seed.map(Began::Seed)
            }
            None if untouched => return Ok(()),
            None => start.map(Began::Frozen),
        };
        if began.is_none() && is_temporary_name(entry.name.as_bytes()) {
            tracing::warn!(%path, "what is left of an interrupted write is left out");
            return Ok(());
        }
        let known = began.is_some() || self.forced.has(path.as_bytes());
        if known || !self.rules.ignores(path.as_bytes(), Kind::Leaf)? {
            self.found.push(Candidate { path, began, now: Now::Present });
        }
        Ok(())
    }

    /// Whether nothing says that a file was touched since the workspace was ready. A file that was
    /// written and got its old time back has a younger change time.
    fn is_untouched(&self, start: &Start, stat: &Stat) -> bool {
        let kind = |mode: u32| mode & !0o7000;
        stat.size == start.stat.size
            && stat.mtime_ns == start.stat.mtime_ns
            && kind(stat.mode) == kind(start.stat.mode)
            && stat.ctime_ns < self.manifest.marker_ns
    }

    /// Whether the walk goes on into a folder: what is tracked always counts, what an ignored folder
    /// has of its own never. A repository inside is the task's own making, for no other is ever
    /// copied: its files are the task's work like all others, without its `.git`.
    fn descends(&self, path: &[u8]) -> Result<bool> {
        let folder = self.frozen.table.folders.get(path);
        if folder.is_some_and(|folder| folder.kind == FolderKind::Submodule) {
            return Ok(false);
        }
        let known = self.frozen.table.has_below(path)
            || self.has_seed_below(path)
            || self.forced.has_below(path);
        if known {
            return Ok(true);
        }
        Ok(!self.rules.ignores(path, Kind::Folder)?)
    }

    fn has_seed_below(&self, path: &[u8]) -> bool {
        self.manifest.seeds.keys().any(|seed| {
            seed.as_bytes().strip_prefix(path).is_some_and(|rest| rest.starts_with(b"/"))
        })
    }

    /// Notes the frozen files of a folder that are not there any more.
    fn absent(&mut self, path: &[u8], folder: &'a Folder, present: &BTreeSet<&OsStr>) {
        for (name, start) in &folder.files {
            if present.contains(name.as_os_str()) || self.frozen.faults.is_off("F156") {
                continue;
            }
            if let Some(path) = RepoPath::new(join(path, name))
                && !self.manifest.seeds.contains_key(&path)
            {
                let began = Some(Began::Frozen(start));
                self.found.push(Candidate { path, began, now: Now::Absent });
            }
        }
    }

    /// Notes what predecessors left and the task removed.
    fn absent_seeds(&mut self) {
        for (path, seed) in &self.manifest.seeds {
            if let Some(entry) = seed
                && !self.sown.contains(path)
            {
                let began = Some(Began::Seed(*entry));
                self.found.push(Candidate { path: path.clone(), began, now: Now::Absent });
            }
        }
    }
}

fn shown(path: &[u8]) -> String {
    Path::new(OsStr::from_bytes(path)).display().to_string()
}
