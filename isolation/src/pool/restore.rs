//! Puts a copy back to what a new one would be: removes what a task added, and writes anew what
//! differs.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{Mode, fchmod, mkdirat};
use rustix::io::Errno;

use super::copy_stats::{Attributes, CopyStats, FileStamp, FolderStats, Seen};
use super::look::{Differences, FolderDifference, FolderState};
use super::run_table::{Origin, TableFile, TableFolder, folders};
use crate::baseline::{Snapshot, printable, split_path};
use crate::error::{OrCannot, Result, cannot};
use crate::nested::{has_whole_link, write_link};
use crate::tree::{Tree, join};
use crate::workspace::{FileCopier, FileWork, FrozenFiles, in_threads, remove_entry};

/// The permissions of an owner, who changes the contents of a folder.
const OWNER: u32 = 0o700;

/// A copy that is being restored.
struct Restoring<'a> {
    snapshot: &'a Snapshot,
    tree: &'a Tree,
    folders: Vec<TableFolder<'a>>,
    carried_files: Option<&'a Path>,
    copier: &'a FileCopier,
}

/// Restores the copy at `tree`, and updates `stats`, except for those of its root.
///
/// # Errors
/// The copy cannot be restored completely, and must not be used again.
pub(super) fn restore(
    snapshot: &Snapshot,
    tree: &Tree,
    stats: &mut CopyStats,
    differences: &Differences,
    carried_files: Option<&Path>,
) -> Result<()> {
    let copier = snapshot.pool.copier(&tree.open(b"").or_cannot(|| "open a copy")?);
    let copier = copier.or_cannot(|| "write to a copy")?;
    let folders = folders(snapshot);
    let restoring = Restoring { snapshot, tree, folders, carried_files, copier: &copier };
    let differing = &differences.folders;
    for (place, difference) in differing {
        restoring.clear(*place, difference)?;
    }
    let stamps = restoring.write_files(differing)?;
    for (place, files) in stamps {
        for (at, stamp) in files {
            stats.folders[place].files[at] = stamp;
        }
    }
    // A folder is closed after those below it.
    for place in differing.keys().rev() {
        restoring.close(*place, &mut stats.folders[*place])?;
    }
    Ok(())
}

/// The new stamps of files, by the places of their folder and of the file in it.
type Stamps = BTreeMap<usize, Vec<(usize, Option<FileStamp>)>>;

impl Restoring<'_> {
    /// Removes what a new copy does not have from a folder, and makes a missing folder.
    fn clear(&self, place: usize, difference: &FolderDifference) -> Result<()> {
        let folder = &self.folders[place];
        let what = || format!("restore {}", printable(folder.path));
        match difference.state {
            FolderState::Missing => {
                let (above, name) = split_path(folder.path);
                let parent = self.open(above)?;
                let name = OsStr::from_bytes(name);
                remove_entry(&parent, name).or_cannot(what)?;
                let permissions = Mode::from_raw_mode(folder.permissions | OWNER);
                mkdirat(&parent, name, permissions).or_cannot(what)?;
                self.relink(folder)
            }
            FolderState::Same | FolderState::Changed => {
                let fd = self.open(folder.path)?;
                for name in &difference.extra {
                    let what = || format!("remove {}", printable(&join(folder.path, name)));
                    remove_entry(&fd, name).or_cannot(what)?;
                }
                self.relink(folder)
            }
        }
    }

    /// Writes the `.git` of a nested repository's folder, if it is not as in a new copy.
    fn relink(&self, folder: &TableFolder<'_>) -> Result<()> {
        let what = || format!("link {} to its git folder", printable(folder.path));
        let Some(link) = folder.link() else { return Ok(()) };
        let fd = self.open(folder.path)?;
        if has_whole_link(&fd, &link) {
            return Ok(());
        }
        remove_entry(&fd, OsStr::new(".git")).or_cannot(what)?;
        write_link(&fd, &link).or_cannot(what)
    }

    /// Opens a folder of the copy and makes it writable.
    fn open(&self, path: &[u8]) -> Result<OwnedFd> {
        let what = || format!("open {} in a copy", printable(path));
        let fd = self.tree.open_readable(path)?;
        let mode = Seen::open(&fd).or_cannot(what)?.stat.mode;
        if mode & OWNER != OWNER {
            fchmod(&fd, Mode::from_raw_mode(mode & 0o7777 | OWNER)).or_cannot(what)?;
        }
        Ok(fd)
    }

    /// Writes every differing file anew, and returns the new stamps.
    fn write_files(&self, differing: &BTreeMap<usize, FolderDifference>) -> Result<Stamps> {
        let work: Vec<_> =
            differing.iter().filter(|(_, folder)| !folder.files.is_empty()).collect();
        let files = work.iter().map(|(_, folder)| folder.files.len()).sum();
        let (next, stamps) = (AtomicUsize::new(0), Mutex::new(Stamps::new()));
        if files > 0 {
            in_threads(FileWork::Copy(files), &|| {
                let mut writer = FileWriter::open(self)?;
                while let Some((place, folder)) = work.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let written = writer.folder(&self.folders[**place], &folder.files)?;
                    let mut stamps = stamps.lock().unwrap_or_else(PoisonError::into_inner);
                    stamps.insert(**place, written);
                }
                Ok(())
            })?;
        }
        Ok(stamps.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Gives a folder the permissions that it had, and records its new times.
    fn close(&self, place: usize, stats: &mut FolderStats) -> Result<()> {
        let path = self.folders[place].path;
        let what = || format!("restore {}", printable(path));
        let fd = self.tree.open(path).or_cannot(what)?;
        let seen = Seen::open(&fd).or_cannot(what)?.folder_stat();
        if seen.owner != stats.stat.owner
            || Attributes::of(&fd).or_cannot(what)? != stats.attributes
        {
            return Err(cannot(what(), "a task has changed its owner or its attributes"));
        }
        if seen.mode != stats.stat.mode {
            fchmod(&fd, Mode::from_raw_mode(stats.stat.mode & 0o7777)).or_cannot(what)?;
        }
        stats.stat = Seen::open(&fd).or_cannot(what)?.folder_stat();
        Ok(())
    }
}

/// Writes files of a copy anew. Each thread has its own.
struct FileWriter<'a> {
    restoring: &'a Restoring<'a>,
    frozen: FrozenFiles<'a>,
    carried: Option<Tree>,
    buffer: Vec<u8>,
}

impl<'a> FileWriter<'a> {
    fn open(restoring: &'a Restoring<'a>) -> Result<Self> {
        let frozen = FrozenFiles::open(restoring.snapshot, restoring.copier)?;
        let carried = restoring.carried_files.map(Tree::open_at).transpose()?;
        Ok(Self { restoring, frozen, carried, buffer: Vec::new() })
    }

    /// Writes the files at these places of a folder.
    fn folder(
        &mut self,
        folder: &TableFolder<'_>,
        places: &[usize],
    ) -> Result<Vec<(usize, Option<FileStamp>)>> {
        let to = self.restoring.open(folder.path)?;
        let files = folder.files();
        let from = self.frozen.open_folder(folder.path)?;
        let mut stamps = Vec::with_capacity(places.len());
        for at in places {
            let file = &files[*at];
            let what = || format!("restore {}", printable(&join(folder.path, file.name)));
            remove_entry(&to, file.name).or_cannot(what)?;
            match file.origin {
                Origin::Frozen(frozen) => {
                    self.frozen.copy(from.as_ref(), &to, (folder.path, file.name), frozen)?;
                }
                Origin::Carried => self.carried(folder, file, &to).or_cannot(what)?,
            }
            stamps.push((*at, Seen::at(&to, file.name).or_cannot(what)?.map(|seen| seen.stamp())));
        }
        Ok(stamps)
    }

    fn carried(
        &mut self,
        folder: &TableFolder<'_>,
        file: &TableFile<'_>,
        to: &OwnedFd,
    ) -> std::io::Result<()> {
        let Some(carried) = &self.carried else { return Err(Errno::NOENT.into()) };
        match carried.open(folder.path) {
            Ok(from) => {
                let copier = self.restoring.copier;
                copier.copy_present(&from, to, file.name, &mut self.buffer).map(drop)
            }
            Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
