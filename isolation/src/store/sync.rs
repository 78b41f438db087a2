//! Syncs the files of the task store, so that recorded captures survive a power cut.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use git2::Oid;
use rustix::fs::syncfs;

/// The number of syncs at the same time: a disk takes about as long for a few as for one.
const THREADS: usize = 4;

/// The number of files above which syncing their whole file system is faster.
const MANY: usize = 64;

/// The number of objects above which listing all that are loose is faster than looking for each.
const LISTED: usize = 1_024;

/// The number of files below which starting more threads takes longer than it saves.
const FEW: usize = 4;

/// Syncs loose objects and their folders. Objects in a pack are durable already.
pub(super) fn sync_objects(store: &Path, objects: impl IntoIterator<Item = Oid>) -> io::Result<()> {
    let all = store.join("objects");
    let objects: Vec<Oid> = objects.into_iter().collect();
    let listed = if objects.len() > LISTED { Some(loose(&all)?) } else { None };
    let (mut files, mut folders) = (BTreeSet::new(), BTreeSet::new());
    for object in objects {
        let name = object.to_string();
        let folder = all.join(&name[..2]);
        let file = folder.join(&name[2..]);
        let is_loose = match &listed {
            Some(listed) => listed.contains(&object),
            None => file.try_exists()?,
        };
        if is_loose {
            files.insert(file);
            folders.insert(folder);
        }
    }
    if files.len() > MANY {
        return Ok(syncfs(File::open(&all)?)?);
    }
    sync_all(&files.into_iter().collect::<Vec<_>>())?;
    // The folders are synced after the files in them, and their parent is synced last.
    sync_all(&folders.into_iter().collect::<Vec<_>>())?;
    sync(&all)
}

/// Returns all loose objects.
fn loose(objects: &Path) -> io::Result<BTreeSet<Oid>> {
    let mut found = BTreeSet::new();
    for folder in fs::read_dir(objects)? {
        let folder = folder?;
        // The folders of packs have longer names.
        let Some(first) = folder.file_name().to_str().map(str::to_owned) else { continue };
        if first.len() != 2 {
            continue;
        }
        for file in fs::read_dir(folder.path())? {
            let name = file?.file_name();
            let rest = name.to_str().unwrap_or_default();
            found.extend(Oid::from_str(&format!("{first}{rest}")));
        }
    }
    Ok(found)
}

/// Syncs a reference and its folders. A reference without a file of its own is packed or removed,
/// and only its folders are synced.
pub(super) fn sync_reference(store: &Path, reference: &str) -> io::Result<()> {
    let file = store.join(reference);
    let folders = file.ancestors().skip(1).take_while(|folder| *folder != store);
    let paths: Vec<PathBuf> =
        std::iter::once(file.as_path()).chain(folders).map(Path::to_path_buf).collect();
    sync_all(&paths)
}

/// Syncs a new store: every file and folder in it.
pub(super) fn sync_tree(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_tree(&entry.path())?;
        } else {
            sync(&entry.path())?;
        }
    }
    sync(folder)
}

/// Syncs one file or folder, if it exists.
pub(super) fn sync(path: &Path) -> io::Result<()> {
    match File::open(path) {
        Ok(file) => file.sync_all(),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

fn sync_all(paths: &[PathBuf]) -> io::Result<()> {
    let next = AtomicUsize::new(0);
    let work = || -> io::Result<()> {
        while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
            sync(path)?;
        }
        Ok(())
    };
    let more = if paths.len() < FEW { 0 } else { THREADS - 1 };
    thread::scope(|scope| {
        // A machine that has no more threads syncs one file after the other.
        let others: Vec<_> = (0..more)
            .map_while(|_| thread::Builder::new().spawn_scoped(scope, work).ok())
            .collect();
        let mut end = work();
        for other in others {
            let other = other.join().unwrap_or_else(|_| Err(io::Error::other("a sync panicked")));
            end = end.and(other);
        }
        end
    })
}
