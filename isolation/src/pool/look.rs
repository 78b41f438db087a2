//! Compares a copy with the run's table, by stats alone. A folder whose times are unchanged is not
//! listed again; the stat of each file is read in any case, because a write in place leaves the times
//! of the folder as they are.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use protocol::RepoPath;
use rustix::fs::Dir;
use rustix::io::Errno;

use super::copy_stats::{CopyStats, FileStamp, FolderStat, FolderStats, Seen};
use super::run_table::{Origin, TableFile, TableFolder, folders, parents};
use crate::baseline::{Snapshot, printable};
use crate::error::{OrCannot, Result, cannot};
use crate::nested::has_whole_link;
use crate::tree::{Tree, join};
use crate::workspace::{FileWork, in_threads};

/// The differences between a copy and a new one.
#[derive(Debug, Default)]
pub(crate) struct Differences {
    /// The folders of the run's table that differ, by their place in it.
    pub(super) folders: BTreeMap<usize, FolderDifference>,
    /// The stat of each folder of the table as it was then, `None` where there was none; empty if the
    /// copy was not looked at.
    pub(super) seen: Vec<Option<FolderStat>>,
}

/// How a folder of the run's table differs.
#[derive(Debug)]
pub(super) struct FolderDifference {
    pub(super) state: FolderState,
    /// The places of the files that are missing or not as they were copied.
    pub(super) files: Vec<usize>,
    /// The entries that a new copy does not have.
    pub(super) extra: Vec<OsString>,
}

/// The state of a folder itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FolderState {
    /// Its times, its owner and its permissions are as when it was copied.
    Same,
    /// Something about it has changed.
    Changed,
    /// There is none at its path.
    Missing,
}

/// A folder of a copy that has the same entries as when it was new.
#[derive(Debug, Default)]
pub(crate) struct SameEntries<'a> {
    /// The paths of the folders in it.
    pub(crate) folders: Vec<&'a [u8]>,
    /// The names of the files in it that were written to.
    pub(crate) written: Vec<&'a OsStr>,
}

impl Differences {
    /// Returns every folder, by its path, that has the same entries as in a new copy.
    pub(crate) fn same_entries<'a>(
        &self,
        snapshot: &'a Snapshot,
    ) -> BTreeMap<&'a [u8], SameEntries<'a>> {
        let folders = folders(snapshot);
        let mut same = BTreeMap::new();
        for (place, folder) in folders.iter().enumerate() {
            let difference = self.folders.get(&place);
            if difference.is_none_or(|difference| difference.state == FolderState::Same) {
                let written = difference.map(|difference| {
                    let files = folder.files();
                    difference.files.iter().map(|at| files[*at].name).collect()
                });
                let written = written.unwrap_or_default();
                same.insert(folder.path, SameEntries { folders: Vec::new(), written });
            }
        }
        for (place, parent) in parents(&folders).into_iter().enumerate() {
            if place != parent
                && let Some(above) = same.get_mut(folders[parent].path)
            {
                above.folders.push(folders[place].path);
            }
        }
        same
    }

    /// Returns, for every folder that may have other entries than in a new copy, by its path, the names
    /// of its files that are missing or not as they were copied.
    pub(crate) fn changed_files<'a>(
        &self,
        snapshot: &'a Snapshot,
    ) -> BTreeMap<&'a [u8], BTreeSet<&'a OsStr>> {
        let folders = folders(snapshot);
        let changed = self.folders.iter().filter(|(_, it)| it.state == FolderState::Changed);
        changed
            .filter_map(|(place, difference)| {
                let folder = folders.get(*place)?;
                let files = folder.files();
                let names = difference.files.iter().map(|at| files[*at].name).collect();
                Some((folder.path, names))
            })
            .collect()
    }
}

/// A copy to look at.
pub(crate) struct Look<'a> {
    /// The snapshot of which it is a copy.
    pub(crate) snapshot: &'a Snapshot,
    /// What it was like when it was new.
    pub(crate) stats: &'a CopyStats,
    /// The copy.
    pub(crate) tree: &'a Tree,
    /// The time of the file system when the copy was complete. An entry that is not older may have
    /// changed without another time.
    pub(crate) marker_ns: i64,
    /// The paths to which the work of predecessors was written, and the folders above them: that was
    /// after the stats were recorded, and may have been within one tick of the clock.
    pub(crate) overwritten: &'a BTreeSet<Vec<u8>>,
}

/// Returns how the copy differs from a new one.
///
/// # Errors
/// Something cannot be looked at, or belongs to another mount.
pub(crate) fn look(look: &Look<'_>) -> Result<Differences> {
    let folders = folders(look.snapshot);
    if folders.len() != look.stats.folders.len() {
        return Err(cannot("look at a copy", "what was recorded about it is another one's"));
    }
    let (states, seen): (Vec<_>, _) = look.states(&folders)?.into_iter().unzip();
    let files = look.stats.folders.iter().map(|folder| folder.files.len()).sum();
    let found = Mutex::new(Differences { seen, ..Differences::default() });
    let next = AtomicUsize::new(0);
    in_threads(FileWork::LookAt(files), &|| {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(folder) = folders.get(place) else { return Ok(()) };
            if let Some(difference) = look.folder(&folders, folder, place, states[place])? {
                let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                found.folders.insert(place, difference);
            }
        }
    })?;
    Ok(found.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Returns whether no folder of the copy has changed since these differences were found: nothing was
/// added, removed or renamed in it.
///
/// # Errors
/// Something cannot be looked at, or belongs to another mount.
pub(super) fn has_same_folders(look: &Look<'_>, differences: &Differences) -> Result<bool> {
    // Where times are whole seconds, a change in the same second has the same time.
    let is_clear = |seen: &FolderStat| seen.ctime_ns % 1_000_000_000 != 0;
    let states = look.states(&folders(look.snapshot))?;
    let can_tell = |(state, seen): &(FolderState, Option<FolderStat>)| {
        *state == FolderState::Same || seen.as_ref().is_none_or(is_clear)
    };
    Ok(states.iter().all(can_tell)
        && states.into_iter().map(|(_, seen)| seen).eq(differences.seen.iter().copied()))
}

impl Look<'_> {
    /// Returns the state of every folder, and its stat if it is there. Those above a folder are looked
    /// at before it, so that no symlink is followed.
    fn states(
        &self,
        folders: &[TableFolder<'_>],
    ) -> Result<Vec<(FolderState, Option<FolderStat>)>> {
        let parents = parents(folders);
        let mut states: Vec<(FolderState, _)> = Vec::with_capacity(folders.len());
        for (place, folder) in folders.iter().enumerate() {
            let what = || format!("look at {}", printable(folder.path));
            let seen = if folder.path.is_empty() {
                Some(Seen::open(self.tree.fd()).or_cannot(what)?)
            } else if states.get(parents[place]).is_some_and(|it| it.0 == FolderState::Missing) {
                None
            } else {
                Seen::at(self.tree.fd(), OsStr::from_bytes(folder.path)).or_cannot(what)?
            };
            let Some(seen) = seen else {
                states.push((FolderState::Missing, None));
                continue;
            };
            self.same_mount(&seen, folder.path)?;
            let FolderStats { stat, .. } = &self.stats.folders[place];
            if seen.is_folder()
                && seen.stat.mode & 0o500 != 0o500
                && let Some(path) = RepoPath::new(folder.path)
            {
                self.tree.make_readable(&path)?;
            }
            let state = if !seen.is_folder() {
                FolderState::Missing
            } else if seen.folder_stat() == *stat
                && stat.ctime_ns < self.marker_ns
                && !self.overwritten.contains(folder.path)
                && self.is_linked(folder)
            {
                FolderState::Same
            } else {
                FolderState::Changed
            };
            states.push((state, Some(seen.folder_stat())));
        }
        Ok(states)
    }

    fn folder(
        &self,
        folders: &[TableFolder<'_>],
        folder: &TableFolder<'_>,
        place: usize,
        state: FolderState,
    ) -> Result<Option<FolderDifference>> {
        let what = || format!("look into {}", printable(folder.path));
        let stamps = &self.stats.folders[place].files;
        let mut difference = FolderDifference { state, files: Vec::new(), extra: Vec::new() };
        match state {
            FolderState::Missing => difference.files.extend(0..stamps.len()),
            FolderState::Same => {
                let fd = self.tree.open(folder.path).or_cannot(what)?;
                for (at, (file, stamp)) in folder.each_file().zip(stamps).enumerate() {
                    let seen = Seen::at(&fd, file.name).or_cannot(what)?;
                    if !self.is_same(folder, &file, *stamp, seen.as_ref())? {
                        difference.files.push(at);
                    }
                }
            }
            FolderState::Changed => {
                let fd = self.tree.open_readable(folder.path)?;
                self.changed(folders, folder, stamps, &fd, &mut difference)?;
            }
        }
        let differs = state != FolderState::Same || !difference.files.is_empty();
        Ok(differs.then_some(difference))
    }

    /// Compares a folder whose entries may be others.
    fn changed(
        &self,
        folders: &[TableFolder<'_>],
        folder: &TableFolder<'_>,
        stamps: &[Option<FileStamp>],
        fd: &OwnedFd,
        difference: &mut FolderDifference,
    ) -> Result<()> {
        let what = || format!("look into {}", printable(folder.path));
        let files = folder.files();
        let mut present = vec![false; files.len()];
        for name in names(fd).or_cannot(what)? {
            if (folder.path.is_empty() || folder.nested.is_some()) && name == ".git" {
                continue; // it is written anew in any case, or if it is not as it was
            }
            let Some(seen) = Seen::at(fd, &name).or_cannot(what)? else { continue };
            self.same_mount(&seen, &join(folder.path, &name))?;
            if let Ok(at) = files.binary_search_by(|file| file.name.cmp(&name)) {
                present[at] = true;
                if !self.is_same(folder, &files[at], stamps[at], Some(&seen))? {
                    difference.files.push(at);
                }
                continue;
            }
            let path = join(folder.path, &name);
            let known = folders.binary_search_by(|other| other.path.cmp(&path)).is_ok();
            if !known || !seen.is_folder() {
                difference.extra.push(name);
            }
        }
        let absent = |at: &usize| !present[*at] && stamps[*at].is_some();
        difference.files.extend((0..files.len()).filter(absent));
        Ok(())
    }

    /// Returns whether the folder of a nested repository has the `.git` that a new copy has. Its
    /// content may have changed without another time of the folder.
    fn is_linked(&self, folder: &TableFolder<'_>) -> bool {
        folder.link().is_none_or(|link| {
            self.tree.open(folder.path).is_ok_and(|fd| has_whole_link(&fd, &link))
        })
    }

    /// Returns whether a file is as it was copied.
    fn is_same(
        &self,
        folder: &TableFolder<'_>,
        file: &TableFile<'_>,
        stamp: Option<FileStamp>,
        seen: Option<&Seen>,
    ) -> Result<bool> {
        let (Some(stamp), Some(seen)) = (stamp, seen) else {
            return Ok(stamp.is_none() && seen.is_none());
        };
        if seen.mount != self.stats.mount {
            self.same_mount(seen, &join(folder.path, file.name))?;
        }
        let as_recorded =
            seen.stamp() == stamp && seen.links == 1 && stamp.ctime_ns < self.marker_ns;
        let as_frozen = match file.origin {
            Origin::Frozen(frozen) => {
                seen.stat.size == frozen.stat.size && seen.stat.mtime_ns == frozen.stat.mtime_ns
            }
            Origin::Carried => true,
        };
        let overwritten = !self.overwritten.is_empty()
            && self.overwritten.contains(&join(folder.path, file.name));
        Ok(as_recorded && as_frozen && !overwritten)
    }

    fn same_mount(&self, seen: &Seen, path: &[u8]) -> Result<()> {
        if seen.mount == self.stats.mount {
            return Ok(());
        }
        let what = format!("use the copy {} again", self.tree.root().display());
        Err(cannot(what, format!("{} belongs to another mount", printable(path))))
    }
}

fn names(folder: &OwnedFd) -> std::result::Result<Vec<OsString>, Errno> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if !matches!(name, b"." | b"..") {
            names.push(OsStr::from_bytes(name).to_owned());
        }
    }
    names.sort();
    Ok(names)
}
