//! Walks once over a workspace, and lists every path that may have changed. Reads no file contents,
//! only metadata.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use protocol::{LeftOut, RepoPath, is_temporary_name, quote_path};
use rustix::fs::FileType;

use crate::baseline::{Folder, FrozenEntry, Snapshot};
use crate::capture::capture_workspace::ForceAdded;
use crate::capture::left_out::LeftOutCollector;
use crate::capture::work_rules::WorkRules;
use crate::error::{OrCannot, Result};
use crate::file_entry::Entry;
use crate::ignore::PathKind;
use crate::pool::{Differences, SameEntries};
use crate::tree::{FolderListing, ListedEntry, RepositoryRoot, Stat, Tree, join};
use crate::workspace::{LeftFile, Manifest, SetupFile};

mod rules;
mod written;

pub(super) use written::written;

/// A path that may differ from its original.
pub(super) struct Candidate<'a> {
    /// The path.
    pub(super) path: RepoPath,
    /// The original; `None` if the path did not exist.
    pub(super) original: Option<Original<'a>>,
    /// The original before the set-up, which is another one if the set-up has changed the path.
    pub(super) before_setup: Option<Original<'a>>,
    /// The stat of the file or symlink at the path; `None` if there is none now.
    pub(super) now: Option<Stat>,
}

/// The state of a path when the workspace was made.
#[derive(Clone, Copy)]
pub(super) enum Original<'a> {
    /// The path comes from the snapshot.
    Snapshot(&'a FrozenEntry),
    /// The path comes from the work of the predecessors.
    Predecessor(Entry),
    /// The set-up made or changed the file at the path.
    Setup(&'a LeftFile),
}

/// The result of a walk.
pub(super) struct Walked<'a> {
    /// Every candidate, sorted by path.
    pub(super) candidates: Vec<Candidate<'a>>,
    /// The report of the task's files that no capture can contain.
    pub(super) left_out: LeftOut,
    /// The fingerprints of everything that no capture can contain, by printed path.
    pub(super) fingerprints: BTreeMap<String, String>,
    /// The ignored files, and the ignored folders, which the walk did not enter.
    pub(super) ignored: BTreeSet<RepoPath>,
}

/// Walks over the workspace at `tree`.
///
/// `rules` decide which paths git ignores. `force_added` contains ignored paths that the workspace
/// tracks nevertheless. With `differences`, a folder that has the same entries as a new copy is not
/// listed again, and of another one, the stats of the files that are as they were are not read again.
pub(super) fn candidates<'a>(
    snapshot: &'a Snapshot,
    manifest: &'a Manifest,
    tree: &Tree,
    rules: &WorkRules<'_>,
    force_added: &ForceAdded<'_>,
    differences: Option<&Differences>,
) -> Result<Walked<'a>> {
    let same = differences.map(|differences| differences.same_entries(snapshot));
    let same = same.unwrap_or_default();
    let changed = differences.map(|differences| differences.changed_files(snapshot));
    let changed = changed.unwrap_or_default();
    let visits = differences.map_or(Visits::Everything, |_| Visits::Differing);
    let mut walk = Walk::new(snapshot, manifest, tree, rules, force_added, visits);
    let mut visited = BTreeSet::new();
    let mut waiting = vec![Vec::new()];
    while let Some(path) = waiting.pop() {
        if let Some(entries) = same.get(path.as_slice()) {
            walk.visit_same(&path, entries, &same, tree, &mut waiting)?;
            visited.insert(path);
            continue;
        }
        let folder = snapshot.table.folders.get(path.as_slice());
        let is_same = |name: &OsStr| {
            let differs = changed.get(path.as_slice());
            folder.zip(differs).is_some_and(|(folder, differs)| {
                folder.files.contains_key(name) && !differs.contains(name)
            })
        };
        let Some(listing) = tree.list_readable(&path, &is_same)? else { continue };
        walk.visit_folder(&path, &listing, &is_same, &mut waiting)?;
        visited.insert(path);
    }
    for (path, folder) in &snapshot.table.folders {
        if !visited.contains(path) {
            walk.note_absent(path, folder, &|_| false);
        }
    }
    walk.note_absent_predecessors();
    Ok(walk.finish(tree))
}

/// The files of the snapshot that a walk visits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Visits {
    /// All of them. Their times show which have certainly not changed.
    Everything,
    /// Those that are not as they were copied.
    Differing,
}

struct Walk<'a, 'g> {
    snapshot: &'a Snapshot,
    manifest: &'a Manifest,
    rules: &'g WorkRules<'g>,
    force_added: &'g ForceAdded<'g>,
    visits: Visits,
    found: Vec<Candidate<'a>>,
    left_out: LeftOutCollector<'g>,
    /// The paths of the predecessors' changes that were seen.
    seen_predecessors: BTreeSet<RepoPath>,
    /// The ignored paths that were found, without what is below them.
    ignored: BTreeSet<RepoPath>,
}

impl<'a, 'g> Walk<'a, 'g> {
    fn new(
        snapshot: &'a Snapshot,
        manifest: &'a Manifest,
        tree: &'g Tree,
        rules: &'g WorkRules<'g>,
        force_added: &'g ForceAdded<'g>,
        visits: Visits,
    ) -> Self
    where
        'a: 'g,
    {
        Self {
            snapshot,
            manifest,
            rules,
            force_added,
            visits,
            found: Vec::new(),
            left_out: LeftOutCollector::new(tree, &manifest.setup),
            seen_predecessors: BTreeSet::new(),
            ignored: BTreeSet::new(),
        }
    }

    fn finish(mut self, tree: &Tree) -> Walked<'a> {
        self.found.sort_by(|left, right| left.path.cmp(&right.path));
        let (left_out, fingerprints) = self.left_out.finish(tree.root());
        Walked { candidates: self.found, left_out, fingerprints, ignored: self.ignored }
    }

    /// Visits a folder. Of its files, those that are the same are not in the listing.
    fn visit_folder(
        &mut self,
        path: &[u8],
        listing: &FolderListing,
        is_same: &dyn Fn(&OsStr) -> bool,
        waiting: &mut Vec<Vec<u8>>,
    ) -> Result<()> {
        self.note_git_names(path, listing)?;
        let folder = self.snapshot.table.folders.get(path);
        let mut present = BTreeSet::new();
        for entry in &listing.entries {
            if entry.is_folder() {
                let below = join(path, &entry.name);
                if self.is_submodule(&below) {
                    self.left_out.submodule(below);
                } else if self.descends(&below)? {
                    waiting.push(below);
                } else {
                    self.ignored.extend(RepoPath::new(below));
                }
            } else if entry.stat.kind().is_none() {
                let below = join(path, &entry.name);
                if !self.is_left_ignored(&below, &entry.stat)
                    && self.is_work(&below, PathKind::File)?
                {
                    self.left_out.special(below, &entry.stat);
                }
            } else {
                present.insert(entry.name.as_os_str());
                let frozen = folder.and_then(|folder| folder.files.get(&entry.name));
                self.visit_file(path, entry, frozen)?;
            }
        }
        if let Some(folder) = folder {
            self.note_absent(path, folder, &|name| present.contains(name) || is_same(name));
        }
        Ok(())
    }

    /// Visits a folder with the same entries as in a new copy. Of its files, only those that were
    /// written to may be candidates.
    fn visit_same(
        &mut self,
        path: &[u8],
        entries: &SameEntries<'_>,
        same: &BTreeMap<&[u8], SameEntries<'_>>,
        tree: &Tree,
        waiting: &mut Vec<Vec<u8>>,
    ) -> Result<()> {
        for below in &entries.folders {
            let is_submodule = self.is_submodule(below);
            if is_submodule && !same.contains_key(below) {
                self.left_out.submodule(below.to_vec());
            } else if !is_submodule && self.descends(below)? {
                waiting.push(below.to_vec());
            } else if !is_submodule {
                self.ignored.extend(RepoPath::new(*below));
            }
        }
        let folder = self.snapshot.table.folders.get(path);
        for name in &entries.written {
            let what = || format!("look at {}", quote_path(&join(path, name)));
            let Some(stat) = tree.stat_below(path, name).or_cannot(what)? else { continue };
            let frozen = folder.and_then(|folder| folder.files.get(*name));
            self.visit_file(path, &ListedEntry { name: name.into(), stat }, frozen)?;
        }
        Ok(())
    }

    fn visit_file(
        &mut self,
        folder: &[u8],
        entry: &ListedEntry,
        frozen: Option<&'a FrozenEntry>,
    ) -> Result<()> {
        let Manifest { predecessor_changes, setup, marker_ns, .. } = self.manifest;
        let untouched = frozen.is_some_and(|frozen| self.is_untouched(frozen, &entry.stat));
        if untouched && predecessor_changes.is_empty() && setup.has_no_files() {
            return Ok(());
        }
        let Some(path) = RepoPath::new(join(folder, &entry.name)) else { return Ok(()) };
        let predecessors = predecessor_changes.get(&path);
        let before_setup = match predecessors {
            Some(change) => {
                self.seen_predecessors.insert(path.clone());
                change.map(Original::Predecessor)
            }
            None => frozen.map(Original::Snapshot),
        };
        if before_setup.is_none() && self.snapshot.carried.contains(path.as_bytes()) {
            return Ok(());
        }
        let original = match setup.file(&path) {
            Some(SetupFile::Left(left)) if left.is_untouched(&entry.stat, *marker_ns) => {
                return Ok(());
            }
            Some(SetupFile::Left(left)) => Some(Original::Setup(left)),
            Some(SetupFile::Removed) => before_setup,
            None if untouched && predecessors.is_none() => return Ok(()),
            None => before_setup,
        };
        if original.is_none() && is_temporary_name(entry.name.as_bytes()) {
            tracing::warn!(%path, "what is left of an interrupted write is left out");
            return Ok(());
        }
        if original.is_none() && self.is_left_ignored(path.as_bytes(), &entry.stat) {
            return Ok(());
        }
        // Ignore rules do not apply to a path of the snapshot, even if a predecessor removed it.
        let known = before_setup.is_some() || frozen.is_some();
        let counts = known
            || !self.rules.ignores(path.as_bytes(), PathKind::File)?
            || self.force_added.has(path.as_bytes());
        if counts {
            let now = Some(entry.stat);
            self.found.push(Candidate { path, original, before_setup, now });
        } else {
            self.ignored.insert(path);
        }
        Ok(())
    }

    /// Returns whether a file certainly has not changed since the workspace was made. The change
    /// time (ctime) reveals a file that was written and then given its old modification time, unless
    /// the clock was set back meanwhile: a file that is known to differ counts as changed.
    fn is_untouched(&self, frozen: &FrozenEntry, stat: &Stat) -> bool {
        let kind = |mode: u32| mode & !0o7000;
        self.visits == Visits::Everything
            && stat.size == frozen.stat.size
            && stat.mtime_ns == frozen.stat.mtime_ns
            && kind(stat.mode) == kind(frozen.stat.mode)
            && stat.ctime_ns < self.manifest.marker_ns
    }

    /// Reports as left out a `.git` in the folder and names that some file systems treat as one.
    fn note_git_names(&mut self, folder: &[u8], listing: &FolderListing) -> Result<()> {
        // The `.git` in the root belongs to the workspace, so it is not reported.
        let is_of_the_task = !self.was_ignored(folder);
        let is_root = folder.is_empty() || self.is_nested_as_it_was(folder, listing);
        if listing.repository == RepositoryRoot::Yes && !is_root && is_of_the_task {
            self.left_out.repository(folder);
        }
        for name in &listing.invalid_names {
            let path = join(folder, name);
            let what = || format!("look at {}", quote_path(&path));
            let Some(stat) = listing.stat(name).or_cannot(what)? else { continue };
            let kind = match FileType::from_raw_mode(stat.mode) {
                FileType::Directory => PathKind::Folder,
                _ => PathKind::File,
            };
            if !self.is_left_ignored(&path, &stat) && self.is_work(&path, kind)? {
                self.left_out.git_lookalike(path, &stat);
            }
        }
        Ok(())
    }

    /// Adds the files of the snapshot that are missing in a folder to the candidates.
    fn note_absent(
        &mut self,
        path: &[u8],
        folder: &'a Folder,
        is_present: &dyn Fn(&OsStr) -> bool,
    ) {
        for (name, frozen) in &folder.files {
            if is_present(name) {
                continue;
            }
            if let Some(path) = RepoPath::new(join(path, name))
                && !self.manifest.predecessor_changes.contains_key(&path)
            {
                self.note_absent_path(path, Original::Snapshot(frozen));
            }
        }
    }

    /// Adds the files of the predecessors that the task removed to the candidates.
    fn note_absent_predecessors(&mut self) {
        for (path, change) in &self.manifest.predecessor_changes {
            if let Some(entry) = change
                && !self.seen_predecessors.contains(path)
            {
                self.note_absent_path(path.clone(), Original::Predecessor(*entry));
            }
        }
    }

    /// Adds a missing path to the candidates, unless the set-up has removed it.
    fn note_absent_path(&mut self, path: RepoPath, before_setup: Original<'a>) {
        let original = match self.manifest.setup.file(&path) {
            Some(SetupFile::Removed) => return,
            Some(SetupFile::Left(left)) => Original::Setup(left),
            None => before_setup,
        };
        let (original, before_setup) = (Some(original), Some(before_setup));
        self.found.push(Candidate { path, original, before_setup, now: None });
    }
}
