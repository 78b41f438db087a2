//! Removes what a crash leaves in task stores: temporary objects, lock files and incomplete stores.

use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use group_log::LockedFile;

/// The prefix of objects that libgit2 is writing.
const TEMPORARY_OBJECT: &[u8] = b"tmp_object";

/// The prefix of packs that libgit2 is writing, and of their indexes. Complete ones begin with
/// `pack-`.
const TEMPORARY_PACK: &[u8] = b"pack_";

/// The prefix of packs and indexes that this program is writing.
pub(super) const NEW_PACK: &str = ".new-pack-";

/// The prefix of stores that are being made.
pub(super) const NEW_STORE: &str = ".store-";

/// Removes the leftovers of dead processes in the store at `path` and beside it. A live process
/// holds the lock of a folder in which it is writing, and nothing is removed there.
pub(crate) fn remove_leftovers(path: &Path) {
    let objects = path.join("objects");
    let beside = path.parent().unwrap_or(path);
    let steps: [(&Path, &dyn Fn() -> io::Result<()>); 3] = [
        (&objects, &|| {
            remove_unfinished_packs(&objects.join("pack"));
            remove_new_packs(&objects.join("pack"))?;
            remove_objects(&objects)
        }),
        (path, &|| remove_locks(path)),
        (beside, &|| remove_new_stores(beside)),
    ];
    for (folder, remove) in steps {
        let Ok(lock) = File::open(folder) else { continue };
        if let Ok(_lock) = LockedFile::try_lock(lock)
            && let Err(error) = remove()
        {
            tracing::warn!(%error, folder = %folder.display(), "leftovers stay");
        }
    }
}

fn remove_objects(objects: &Path) -> io::Result<()> {
    for entry in fs::read_dir(objects)? {
        let entry = entry?;
        let name = entry.file_name();
        if name.as_bytes().starts_with(TEMPORARY_OBJECT) {
            fs::remove_file(entry.path())?;
        } else if name.len() == 2 && entry.file_type()?.is_dir() {
            for object in fs::read_dir(entry.path())? {
                let object = object?;
                if object.file_name().as_bytes().starts_with(TEMPORARY_OBJECT) {
                    fs::remove_file(object.path())?;
                }
            }
        }
    }
    Ok(())
}

/// Removes what is left in the folder of packs of a pack that was never complete. The caller knows
/// that nobody is writing one. What cannot be removed stays until the next time.
pub(super) fn remove_unfinished_packs(packs: &Path) {
    if let Err(error) = try_remove_packs(packs) {
        tracing::warn!(%error, folder = %packs.display(), "parts of packs stay");
    }
}

fn try_remove_packs(packs: &Path) -> io::Result<()> {
    for entry in fs::read_dir(packs)? {
        let entry = entry?;
        let (name, file) = (entry.file_name(), entry.path());
        let is_index = name.as_bytes().ends_with(b".idx");
        let is_alone = is_index && !file.with_extension("pack").try_exists()?;
        if name.as_bytes().starts_with(TEMPORARY_PACK) || is_alone {
            fs::remove_file(file)?;
        }
    }
    Ok(())
}

/// Removes packs that are not complete, and those whose index was never written.
fn remove_new_packs(packs: &Path) -> io::Result<()> {
    for entry in fs::read_dir(packs)? {
        let (entry, mut is_left) = (entry?, false);
        let file = entry.path();
        if file.extension().is_some_and(|end| end == "pack") {
            is_left = !file.with_extension("idx").try_exists()?;
        }
        if is_left || entry.file_name().as_bytes().starts_with(NEW_PACK.as_bytes()) {
            fs::remove_file(file)?;
        }
    }
    Ok(())
}

fn remove_locks(store: &Path) -> io::Result<()> {
    let mut folders: Vec<PathBuf> = vec![store.join("refs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            } else if entry.file_name().as_bytes().ends_with(b".lock") {
                fs::remove_file(entry.path())?;
            }
        }
    }
    match fs::remove_file(store.join("packed-refs.lock")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn remove_new_stores(stores: &Path) -> io::Result<()> {
    for entry in fs::read_dir(stores)? {
        let entry = entry?;
        if entry.file_name().as_bytes().starts_with(NEW_STORE.as_bytes()) {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}
