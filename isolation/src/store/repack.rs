//! Rewrites a task store as one pack of what it keeps. The pack is complete, read back and durable
//! before anything else is removed, so that a kill at any moment loses nothing.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use engine::failpoint;
use git2::{Odb, Oid, Repository};

use crate::disk_room::{Room, room_for_pack};
use crate::error::{Cause, OrCannot, Result, cannot};
use crate::store::leftovers::remove_unfinished_packs;
use crate::store::{ExclusiveStore, Reachable, sync};

/// The prefix of folders with packs that are being written.
const UNFINISHED: &str = ".gc-";

/// The threads that compare objects with each other.
const THREADS: u32 = 2;

/// A pack that holds everything that a store keeps.
#[derive(Debug)]
pub(crate) struct NewPack {
    /// The names of its files; empty if the store keeps nothing.
    files: BTreeSet<OsString>,
}

impl ExclusiveStore {
    /// Returns the size of all objects on the disk, in bytes.
    pub(crate) fn size(&self) -> Result<u64> {
        let objects = self.store.path.join("objects");
        size_of_objects(&objects).or_cannot(|| format!("measure {}", objects.display()))
    }

    /// Returns whether the store is one pack of exactly what is kept, so that there is nothing to
    /// rewrite.
    pub(crate) fn is_packed(&self, kept: &Reachable) -> Result<bool> {
        let what = || format!("look into the task store {}", self.store.path.display());
        let objects = self.store.path.join("objects");
        let packs = fs::read_dir(objects.join("pack")).or_cannot(what)?.count();
        let folders = fs::read_dir(&objects).or_cannot(what)?.count();
        // The folders `pack` and `info`, in the former a pack and its index.
        if (packs, folders) != (2, 2) {
            return Ok(false);
        }
        let mut found = 0;
        let odb = self.store.git.odb().or_cannot(what)?;
        odb.foreach(|_| {
            found += 1;
            true
        })
        .or_cannot(what)?;
        Ok(found == kept.objects().len())
    }

    /// Writes a pack of the objects in `kept`, durably, beside what is there. `bytes` is the size of
    /// these objects together.
    ///
    /// # Errors
    /// An object is damaged, the disk is full, or the pack cannot be written. Nothing has changed
    /// then.
    pub(crate) fn write_kept(&self, kept: &Reachable, bytes: u64) -> Result<NewPack> {
        let what = || format!("rewrite the task store {}", self.store.path.display());
        let objects = self.store.path.join("objects");
        remove_unfinished(&objects).or_cannot(what)?;
        remove_unfinished_packs(&objects.join("pack"));
        failpoint!(self.faults, "gc.pack").or_cannot(what)?;
        if kept.objects().is_empty() {
            return Ok(NewPack { files: BTreeSet::new() });
        }
        if room_for_pack(&objects.join("pack"), bytes).or_cannot(what)? == Room::Scarce {
            let full = io::Error::from(ErrorKind::StorageFull);
            return Err(cannot(what(), full));
        }
        let beside = tempfile::Builder::new().prefix(UNFINISHED).tempdir_in(&objects);
        let beside = beside.or_cannot(what)?;
        let files = self.write_beside(beside.path(), kept).or_cannot(what)?;
        failpoint!(self.faults, "gc.packed").or_cannot(what)?;
        self.take(&beside.path().join("pack"), &files).or_cannot(what)?;
        Ok(NewPack { files })
    }

    /// Writes the pack to another folder, and reads every object back from there.
    fn write_beside(
        &self,
        beside: &Path,
        kept: &Reachable,
    ) -> std::result::Result<BTreeSet<OsString>, Cause> {
        let folder = beside.join("pack");
        fs::create_dir(&folder)?;
        let mut pack = self.store.git.packbuilder()?;
        pack.set_threads(THREADS);
        for (oid, name) in kept.objects() {
            let name = std::str::from_utf8(name).ok().filter(|name| !name.contains('\0'));
            pack.insert_object(*oid, name)?;
        }
        pack.write(&folder, 0o444)?;
        drop(pack);
        let written = Odb::new()?;
        let path = beside.to_str().ok_or("its path is not UTF-8")?;
        written.add_disk_alternate(path)?;
        let read = Repository::from_odb(written)?;
        let odb = read.odb()?;
        for oid in kept.objects().keys() {
            odb.read(*oid)?;
        }
        let mut files = BTreeSet::new();
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            sync::sync(&entry.path())?;
            files.insert(entry.file_name());
        }
        Ok(files)
    }

    /// Moves the files of a pack into the store, the index last, because it makes the pack known.
    fn take(&self, from: &Path, files: &BTreeSet<OsString>) -> io::Result<()> {
        let packs = self.store.path.join("objects/pack");
        let (index, others): (Vec<_>, Vec<_>) =
            files.iter().partition(|name| Path::new(name).extension().is_some_and(|e| e == "idx"));
        for name in others.into_iter().chain(index) {
            fs::rename(from.join(name), packs.join(name))?;
        }
        sync::sync(&packs)
    }

    /// Removes every pack but `new`, and every loose object. A failure leaves files that nothing
    /// needs.
    pub(crate) fn remove_others(&self, new: &NewPack) -> Result<()> {
        let what = || format!("clear the task store {}", self.store.path.display());
        let objects = self.store.path.join("objects");
        failpoint!(self.faults, "gc.packs").or_cannot(what)?;
        self.remove_packs(&objects.join("pack"), new).or_cannot(what)?;
        failpoint!(self.faults, "gc.loose").or_cannot(what)?;
        remove_loose(&objects).or_cannot(what)?;
        sync::sync(&objects).or_cannot(what)
    }

    fn remove_packs(&self, packs: &Path, new: &NewPack) -> io::Result<()> {
        let mut old = Vec::new();
        for entry in fs::read_dir(packs)? {
            let entry = entry?;
            let is_pack = entry.file_name().as_encoded_bytes().starts_with(b"pack-");
            if is_pack && !new.files.contains(&entry.file_name()) {
                old.push(entry.path());
            }
        }
        // An index goes after its pack: alone, it is known to be a leftover.
        old.sort_by_key(|path| path.extension().is_some_and(|end| end == "idx"));
        for path in old {
            fs::remove_file(path)?;
            failpoint!(self.faults, "gc.packs.next")?;
        }
        sync::sync(packs)
    }
}

/// Removes the loose objects, and the folders that become empty.
fn remove_loose(objects: &Path) -> io::Result<()> {
    for entry in fs::read_dir(objects)? {
        let entry = entry?;
        if entry.file_name().len() != 2 || !entry.file_type()?.is_dir() {
            continue;
        }
        for object in fs::read_dir(entry.path())? {
            let object = object?;
            let is_object = object.file_name().to_str().is_some_and(is_rest_of_id);
            if is_object {
                fs::remove_file(object.path())?;
            }
        }
        let _holds_more = fs::remove_dir(entry.path()); // then it is not empty, and stays
    }
    Ok(())
}

/// Returns whether this is the name of a loose object in its folder: an id without its first two
/// digits.
fn is_rest_of_id(name: &str) -> bool {
    name.len() == 38 && Oid::from_str(&format!("00{name}")).is_ok()
}

/// Removes what killed rewrites have left.
fn remove_unfinished(objects: &Path) -> io::Result<()> {
    for entry in fs::read_dir(objects)? {
        let entry = entry?;
        if entry.file_name().as_encoded_bytes().starts_with(UNFINISHED.as_bytes()) {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

/// Returns the sizes of all files below a folder of objects together. Another process may be removing some.
pub(crate) fn size_of_objects(folder: &Path) -> io::Result<u64> {
    let mut folders: Vec<PathBuf> = vec![folder.to_path_buf()];
    let mut size = 0;
    while let Some(folder) = folders.pop() {
        let entries = match fs::read_dir(folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            match entry.metadata() {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                found if found.as_ref().is_ok_and(fs::Metadata::is_dir) => {
                    folders.push(entry.path());
                }
                found => size += found?.len(),
            }
        }
    }
    Ok(size)
}
