//! One walk over a workspace: everything that may have changed, told by stat alone.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use protocol::{LeftOut, RepoPath, is_temporary_name, quote_path};
use rustix::fs::FileType;

use crate::baseline::{Folder, FolderKind, Frozen, Start};
use crate::capture::forced::Forced;
use crate::capture::left_out::Collector;
use crate::entry::Entry;
use crate::error::{OrCannot, Result};
use crate::ignore::{Kind, Rules};
use crate::tree::{Listed, Listing, RepositoryRoot, Stat, Tree, join};
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

/// What a walk found.
pub(super) struct Walked<'a> {
    /// Every candidate, sorted by path.
    pub(super) candidates: Vec<Candidate<'a>>,
    /// What the task made and no capture can hold.
    pub(super) left_out: LeftOut,
}

/// Walks over the workspace at `tree`.
///
/// `rules` tell what is ignored there, and `forced` what is tracked all the same.
pub(super) fn candidates<'a>(
    frozen: &'a Frozen,
    manifest: &'a Manifest,
    tree: &Tree,
    rules: &Rules<'_>,
    forced: &Forced<'_>,
) -> Result<Walked<'a>> {
    let mut walk = Walk {
        frozen,
        manifest,
        rules,
        forced,
        found: Vec::new(),
        left_out: Collector::new(tree),
        sown: BTreeSet::new(),
    };
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
    Ok(Walked { candidates: walk.found, left_out: walk.left_out.finish(tree.root()) })
}

struct Walk<'a, 'g> {
    frozen: &'a Frozen,
    manifest: &'a Manifest,
    rules: &'g Rules<'g>,
    forced: &'g Forced<'g>,
    found: Vec<Candidate<'a>>,
    left_out: Collector<'g>,
    /// The seeds that were seen.
    sown: BTreeSet<RepoPath>,
}

impl<'a> Walk<'a, '_> {
    fn folder(&mut self, path: &[u8], listing: &Listing, waiting: &mut Vec<Vec<u8>>) -> Result<()> {
        self.git_like(path, listing)?;
        let folder = self.frozen.table.folders.get(path);
        let mut present = BTreeSet::new();
        for entry in &listing.entries {
            if entry.is_folder() {
                let below = join(path, &entry.name);
                if self.is_submodule(&below) {
                    self.left_out.submodule(below);
                } else if self.descends(&below)? {
                    waiting.push(below);
                }
            } else if entry.stat.kind().is_none() {
                let below = join(path, &entry.name);
                if self.is_work(&below, Kind::Leaf)? {
                    self.left_out.special(below, &entry.stat);
                }
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
        // What was frozen is tracked, or not ignored, also where a predecessor has removed it.
        let known = began.is_some() || start.is_some();
        let counts = known
            || !self.rules.ignores(path.as_bytes(), Kind::Leaf)?
            || self.forced.has(path.as_bytes());
        if counts {
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

    /// Notes what a folder has of git's own, and of names that are taken for it.
    fn git_like(&mut self, folder: &[u8], listing: &Listing) -> Result<()> {
        // The one in the root is the workspace's.
        if listing.repository == RepositoryRoot::Yes && !folder.is_empty() {
            self.left_out.repository(folder);
        }
        for name in &listing.odd {
            let path = join(folder, name);
            let what = || format!("look at {}", quote_path(&path));
            let Some(stat) = listing.stat(name).or_cannot(what)? else { continue };
            let kind = match FileType::from_raw_mode(stat.mode) {
                FileType::Directory => Kind::Folder,
                _ => Kind::Leaf,
            };
            if self.is_work(&path, kind)? {
                self.left_out.git_twin(path, &stat);
            }
        }
        Ok(())
    }

    /// Whether what is at a path is the task's work: what was there and what is tracked is, what is
    /// ignored is not.
    fn is_work(&self, path: &[u8], kind: Kind) -> Result<bool> {
        let began = RepoPath::new(path).is_some_and(|path| {
            self.frozen.table.get(&path).is_some() || self.manifest.seeds.contains_key(&path)
        });
        Ok(began || self.forced.has(path) || !self.rules.ignores(path, kind)?)
    }

    fn is_submodule(&self, path: &[u8]) -> bool {
        let folder = self.frozen.table.folders.get(path);
        folder.is_some_and(|folder| folder.kind == FolderKind::Submodule)
    }

    /// Whether the walk goes on into a folder: what is tracked always counts, what an ignored folder
    /// has of its own never. A repository inside is the task's own making, for no other is ever
    /// copied: its files are the task's work like all others, without its `.git`.
    fn descends(&self, path: &[u8]) -> Result<bool> {
        if self.frozen.table.has_below(path) || self.has_seed_below(path) {
            return Ok(true);
        }
        Ok(!self.rules.ignores(path, Kind::Folder)? || self.forced.has_below(path))
    }

    fn has_seed_below(&self, path: &[u8]) -> bool {
        self.manifest.seeds.keys().any(|seed| {
            seed.as_bytes().strip_prefix(path).is_some_and(|rest| rest.starts_with(b"/"))
        })
    }

    /// Notes the frozen files of a folder that are not there any more.
    fn absent(&mut self, path: &[u8], folder: &'a Folder, present: &BTreeSet<&OsStr>) {
        for (name, start) in &folder.files {
            if present.contains(name.as_os_str()) || self.frozen.context.faults.is_off("F156") {
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
