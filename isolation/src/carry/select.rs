//! Selects the carried files of a run among the ignored files of the user's tree, before anything is
//! copied.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use engine::ports::{CarryRequest, IsolationError, Notice};
use engine::texts::counted;
use rustix::fs::{Access, AtFlags, accessat};
use rustix::io::Errno;

use super::big_folders;
use super::carried::Carried;
use super::include_notices;
use super::left_behind::LeftBehind;
use super::room::check_room;
use super::wanted::Wanted;
use crate::baseline::{IgnoredEntry, printable, size_text, split_path};
use crate::error::{OrCannot, Result, is_denied};
use crate::file_entry::Mode;
use crate::ignore::PathKind;
use crate::tree::{ListedEntry, Tree, join};

/// The ignored files of a tree.
pub(crate) struct IgnoredFiles<'a> {
    /// The tree.
    pub(crate) tree: &'a Tree,
    /// The ignored files and folders, without the contents of the folders.
    pub(crate) entries: &'a [IgnoredEntry],
    /// Returns the files that each workspace contains anyway.
    pub(crate) others: &'a dyn Fn() -> Vec<Vec<u8>>,
    /// The folders with data of this program.
    pub(crate) ours: &'a [PathBuf],
}

/// The selected files of a run.
#[derive(Debug, Default)]
pub(crate) struct Selection {
    /// The files.
    pub(crate) carried: Carried,
    /// Those of the workspaces whose tasks name none of their own; `None` if all are the same.
    pub(crate) of_run: Option<Carried>,
    /// The notices about them, and about large folders that are not carried.
    pub(crate) notices: Vec<Notice>,
    /// The ignored files and folders that are not carried, or only in part.
    pub(crate) rest: Vec<String>,
}

/// Selects the files that `request` asks for. Nothing is copied to `run_folder` yet.
///
/// # Errors
/// The files are larger than the limit, or than the free space.
pub(crate) fn select(
    ignored: &IgnoredFiles<'_>,
    request: &CarryRequest,
    run_folder: &Path,
) -> Result<Selection> {
    let of_tasks = Wanted::of_tasks(request)?;
    let tasks = Walk::over(ignored, &of_tasks)?;
    let room = |walk: &Walk<'_>, beside: u64| {
        let bytes = (walk.total, beside);
        check_room(ignored.tree, &walk.carried, bytes, request.workspaces, run_folder)
    };
    tasks.check_limit(request.limit)?;
    room(&tasks, 0)?;
    let of_run = Wanted::of_run(request, ignored.tree)?;
    let mut run = Walk::over(ignored, &of_run)?;
    match of_run {
        // Exactly these files were not asked for.
        Wanted::Patterns(_) => {
            run.leave_out_beyond(request.limit, Why::Limit(request.limit));
            if room(&run, tasks.total).is_err() {
                run.leave_out_beyond(0, Why::Disk);
            }
        }
        Wanted::Globs(_) | Wanted::Nothing | Wanted::Unusable(_) => {
            run.check_limit(request.limit)?;
            room(&run, tasks.total)?;
        }
    }
    Ok(together(ignored, run, tasks, request))
}

/// Returns what is carried into the workspaces of the run, and into those of tasks with globs of their
/// own.
fn together(
    ignored: &IgnoredFiles<'_>,
    run: Walk<'_>,
    tasks: Walk<'_>,
    request: &CarryRequest,
) -> Selection {
    let mut unused = run.wanted.unused(ignored.others);
    unused.extend(tasks.wanted.unused(ignored.others));
    let whose = match request.of_tasks.is_empty() {
        true => "each workspace",
        false => "the workspaces of the tasks without carried files of their own",
    };
    let mut notices = include_notices::of(&run, whose);
    let mut left_behind = run.left_behind;
    left_behind.add(tasks.left_behind);
    notices.extend(left_behind.notices(&unused));
    let of_neither: BTreeSet<&[u8]> = tasks.rest.iter().map(|entry| &entry.path[..]).collect();
    let mut rest = run.rest;
    rest.retain(|entry| of_neither.contains(&entry.path[..]));
    let big = big_folders::find(ignored, &rest);
    rest.retain(|entry| !big.paths.contains(&&entry.path));
    notices.extend(big.notice);
    let rest = rest.iter().map(|entry| printable(&entry.path)).collect();
    let [of_run, of_tasks] =
        [run.carried, tasks.carried].map(|carried| Carried { limit: request.limit, ..carried });
    match request.of_tasks.is_empty() {
        true => Selection { carried: of_run, of_run: None, notices, rest },
        false => Selection { carried: of_run.and(&of_tasks), of_run: Some(of_run), notices, rest },
    }
}

/// How many of the largest files and folders are named.
const NAMED: usize = 5;

pub(super) struct Walk<'a> {
    ignored: &'a IgnoredFiles<'a>,
    pub(super) wanted: &'a Wanted,
    pub(super) carried: Carried,
    /// The total size of the files in bytes.
    pub(super) total: u64,
    files: u64,
    /// The size of what is carried of each ignored file or folder.
    pub(super) sizes: BTreeMap<Vec<u8>, u64>,
    /// The ignored files and folders of which something is not carried.
    rest: Vec<&'a IgnoredEntry>,
    pub(super) left_behind: LeftBehind,
    /// The ignored files and folders that are left out because they are too large, with their sizes.
    pub(super) too_large: Vec<String>,
    /// Why they are too large.
    pub(super) why: Vec<Why>,
}

/// Why something is too large.
#[derive(Clone, Copy)]
pub(super) enum Why {
    /// More than so many bytes are never carried.
    Limit(u64),
    /// The disk has no room for copies.
    Disk,
}

/// A folder to walk over.
struct Waiting {
    path: Vec<u8>,
    permissions: u32,
    /// Whether a glob matches the folder itself.
    covered: Covered,
}

/// Whether everything in a folder is carried.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Covered {
    Yes,
    No,
}

impl Why {
    pub(super) fn text(&self) -> String {
        match self {
            Self::Limit(bytes) => {
                format!("the limit is {} (isolation.carryLimit)", size_text(*bytes))
            }
            Self::Disk => "the disk has too little room for the copies".to_owned(),
        }
    }
}

impl<'a> Walk<'a> {
    /// Selects what `wanted` selects among the ignored files.
    fn over(ignored: &'a IgnoredFiles<'a>, wanted: &'a Wanted) -> Result<Self> {
        let mut walk = Self {
            ignored,
            wanted,
            carried: Carried::default(),
            total: 0,
            files: 0,
            sizes: BTreeMap::new(),
            rest: Vec::new(),
            left_behind: LeftBehind::default(),
            too_large: Vec::new(),
            why: Vec::new(),
        };
        for entry in ignored.entries {
            walk.select_entry(entry)?;
        }
        Ok(walk)
    }

    /// Selects what is carried of one ignored file or folder.
    fn select_entry(&mut self, entry: &'a IgnoredEntry) -> Result<()> {
        let path = &entry.path;
        let is_covered = self.wanted.matches_from_root(path, entry.kind);
        let covered = if is_covered { Covered::Yes } else { Covered::No };
        let complete = match (entry.kind, covered) {
            (PathKind::File, Covered::No) => false,
            (PathKind::File, Covered::Yes) => {
                let (folder, name) = split_path(path);
                let listed =
                    ListedEntry { name: OsStr::from_bytes(name).to_owned(), stat: entry.stat };
                match self.ignored.tree.open(folder) {
                    Ok(fd) => self.file(&fd, folder, &listed, path),
                    // Its folder has gone since the scan.
                    Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => false,
                    Err(error) => {
                        return Err(error).or_cannot(|| format!("look at {}", printable(path)));
                    }
                }
            }
            (PathKind::Folder, Covered::No) if !self.wanted.may_match_below(path) => false,
            (PathKind::Folder, covered) => self.folder(entry, covered)?,
        };
        if !complete {
            self.rest.push(entry);
        }
        Ok(())
    }

    /// Walks over an ignored folder. Returns whether everything in it is carried.
    fn folder(&mut self, top: &'a IgnoredEntry, covered: Covered) -> Result<bool> {
        let first = Waiting { path: top.path.clone(), permissions: top.stat.mode & 0o777, covered };
        let mut permissions = BTreeMap::new();
        let mut waiting = vec![first];
        let mut complete = true;
        while let Some(folder) = waiting.pop() {
            let listing = match self.ignored.tree.list(&folder.path) {
                Err(error) if is_denied(&error) => {
                    self.left_behind.unreadable.push(printable(&folder.path));
                    complete = false;
                    continue;
                }
                listing => listing?,
            };
            let Some(listing) = listing else { continue };
            permissions.insert(folder.path.clone(), folder.permissions);
            if folder.covered == Covered::Yes {
                self.add_folders(&folder.path, &permissions);
                let names = listing.invalid_names.iter();
                self.left_behind
                    .invalid_names
                    .extend(names.map(|name| printable(&join(&folder.path, name))));
            }
            for entry in &listing.entries {
                let path = join(&folder.path, &entry.name);
                let kind = if entry.is_folder() { PathKind::Folder } else { PathKind::File };
                let matched = match folder.covered {
                    Covered::Yes => {
                        self.wanted.note(&path);
                        Covered::Yes
                    }
                    Covered::No if self.wanted.matches(&path, kind) => Covered::Yes,
                    Covered::No => Covered::No,
                };
                if entry.is_folder() {
                    if self.is_ours(&path) {
                        complete = false;
                    } else if matched == Covered::Yes || self.wanted.may_match_below(&path) {
                        let permissions = entry.stat.mode & 0o777;
                        waiting.push(Waiting { path, permissions, covered: matched });
                    } else {
                        complete = false;
                    }
                } else if matched == Covered::Yes {
                    self.add_folders(&folder.path, &permissions);
                    complete &= self.file(&listing.fd, &folder.path, entry, &top.path);
                } else {
                    complete = false;
                }
            }
        }
        Ok(complete)
    }

    /// Adds a folder and those above it that the snapshot does not contain.
    fn add_folders(&mut self, folder: &[u8], permissions: &BTreeMap<Vec<u8>, u32>) {
        let mut at = folder;
        while let Some(mode) = permissions.get(at) {
            let known = self.carried.folders.get(at);
            if known.is_some_and(|known| known.permissions.is_some()) {
                break;
            }
            self.carried.add_folder(at, *mode);
            at = split_path(at).0;
        }
    }

    /// Adds a file of the ignored entry `top`. Returns whether it is carried.
    fn file(&mut self, fd: impl AsFd, folder: &[u8], entry: &ListedEntry, top: &[u8]) -> bool {
        let path = || printable(&join(folder, &entry.name));
        let Some(mode) = entry.stat.kind() else {
            self.left_behind.special.push(path());
            return false;
        };
        let readable = || accessat(fd, &entry.name, Access::READ_OK, AtFlags::empty()).is_ok();
        if mode != Mode::Link && !readable() {
            self.left_behind.unreadable.push(path());
            return false;
        }
        self.total = self.total.saturating_add(entry.stat.size);
        self.files += 1;
        *self.sizes.entry(top.to_vec()).or_default() += entry.stat.size;
        self.carried.add(folder, entry.name.clone());
        true
    }

    fn is_ours(&self, path: &[u8]) -> bool {
        let place = self.ignored.tree.root().join(OsStr::from_bytes(path));
        self.ignored.ours.contains(&place)
    }

    /// Refuses more than `limit` bytes.
    fn check_limit(&self, limit: u64) -> Result<()> {
        if self.total <= limit {
            return Ok(());
        }
        let mut largest: Vec<_> = self.sizes.iter().collect();
        largest.sort_by_key(|(path, bytes)| (Reverse(**bytes), *path));
        let largest = largest.iter().take(NAMED);
        let largest: Vec<_> = largest
            .map(|(path, bytes)| format!("{} ({})", printable(path), size_text(**bytes)))
            .collect();
        Err(IsolationError::Refused {
            what: format!(
                "cannot carry ignored files of {} into each workspace",
                self.ignored.tree.root().display()
            ),
            because: format!(
                "they are {} in {}, and the limit is {}: {}",
                size_text(self.total),
                counted(self.files, "file"),
                size_text(limit),
                largest.join(", ")
            ),
            hint: "carry less, raise the setting isolation.carryLimit, or make them with --setup"
                .to_owned(),
        })
    }

    /// Leaves out the largest files and folders until the rest has at most `limit` bytes.
    fn leave_out_beyond(&mut self, limit: u64, why: Why) {
        if self.total <= limit {
            return;
        }
        let mut by_size: Vec<(u64, Vec<u8>)> =
            self.sizes.iter().map(|(top, bytes)| (*bytes, top.clone())).collect();
        by_size.sort_unstable();
        let mut left_out = BTreeSet::new();
        while self.total > limit
            && let Some((bytes, top)) = by_size.pop()
        {
            self.total -= bytes;
            self.sizes.remove(&top);
            self.too_large.push(format!("{} ({})", printable(&top), size_text(bytes)));
            left_out.insert(top);
        }
        self.carried.remove(&left_out);
        // What is carried in part is among the rest already.
        let known: BTreeSet<&[u8]> = self.rest.iter().map(|entry| entry.path.as_slice()).collect();
        let is_new = |entry: &&IgnoredEntry| {
            left_out.contains(&entry.path) && !known.contains(entry.path.as_slice())
        };
        self.rest.extend(self.ignored.entries.iter().filter(is_new));
        self.why.push(why);
    }
}
