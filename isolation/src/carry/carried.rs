//! The list of a run's carried files, and its file in the run's folder, by which a recovery knows
//! what no capture may contain.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use crate::baseline::{read_whole, split_path, write_whole};
use crate::error::{OrCannot, Result};
use crate::ignore::PathKind;
use crate::tree::join;

/// The name of the list's file in the run's folder. No task can have this name.
pub(crate) const CARRIED: &str = ".carried";

/// The name of the folder, in the run's folder, with the run's copy of the carried files.
pub(crate) const CARRIED_FILES: &str = ".carried-files";

/// The carried files of a run, by folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Carried {
    /// The folders, each after those above it.
    pub(crate) folders: BTreeMap<Vec<u8>, CarriedFolder>,
    /// The maximum total size in bytes of the files.
    pub(crate) limit: u64,
}

/// A folder with carried files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CarriedFolder {
    /// The permissions of the folder; `None` if the snapshot contains the folder.
    pub(crate) permissions: Option<u32>,
    /// The names of the carried files and symlinks in it.
    pub(crate) files: BTreeSet<OsString>,
}

impl Carried {
    /// Returns whether the file or symlink at `path` was carried.
    pub(crate) fn contains(&self, path: &[u8]) -> bool {
        let (folder, name) = split_path(path);
        let found = self.folders.get(folder);
        found.is_some_and(|found| found.files.contains(OsStr::from_bytes(name)))
    }

    /// Returns the files that `wanted` selects, in their folders.
    pub(crate) fn only(&self, wanted: impl Fn(&[u8], PathKind) -> bool) -> Self {
        let mut only = Self { folders: BTreeMap::new(), limit: self.limit };
        let mut needed = BTreeSet::new();
        // A folder comes after those above it.
        for (path, CarriedFolder { permissions, files }) in self.folders.iter().rev() {
            let is_wanted = |name: &&OsString| wanted(&join(path, name), PathKind::File);
            let files: BTreeSet<_> = files.iter().filter(is_wanted).cloned().collect();
            let is_new = permissions.is_some();
            let is_needed = is_new && (needed.contains(path) || wanted(path, PathKind::Folder));
            if files.is_empty() && !is_needed {
                continue;
            }
            needed.insert(split_path(path).0.to_vec());
            let permissions = *permissions;
            only.folders.insert(path.clone(), CarriedFolder { permissions, files });
        }
        only
    }

    /// Returns these files and those of `other`, with the limits of both.
    pub(super) fn and(&self, other: &Self) -> Self {
        let mut both = self.clone();
        both.limit = self.limit.saturating_add(other.limit);
        for (path, CarriedFolder { permissions, files }) in &other.folders {
            let folder = both.folders.entry(path.clone()).or_default();
            folder.permissions = folder.permissions.or(*permissions);
            folder.files.extend(files.iter().cloned());
        }
        both
    }

    /// Adds a file or symlink.
    pub(super) fn add(&mut self, folder: &[u8], name: OsString) {
        self.folders.entry(folder.to_vec()).or_default().files.insert(name);
    }

    /// Adds a folder that the snapshot does not contain.
    pub(super) fn add_folder(&mut self, folder: &[u8], permissions: u32) {
        self.folders.entry(folder.to_vec()).or_default().permissions = Some(permissions);
    }

    /// Removes what is at or below these paths.
    pub(super) fn remove(&mut self, tops: &BTreeSet<Vec<u8>>) {
        for top in tops {
            let (folder, name) = split_path(top);
            if let Some(found) = self.folders.get_mut(folder) {
                found.files.remove(OsStr::from_bytes(name));
            }
        }
        let is_removed = |folder: &[u8]| {
            let is_end = |end: &usize| folder.get(*end).is_none_or(|byte| *byte == b'/');
            (0..=folder.len()).filter(is_end).any(|end| tops.contains(&folder[..end]))
        };
        self.folders.retain(|path, found| {
            let is_needed = found.permissions.is_some() || !found.files.is_empty();
            is_needed && !is_removed(path)
        });
    }

    /// Writes the list to the run's folder, unless it is empty.
    pub(crate) fn write(&self, run_folder: &Path) -> Result<()> {
        let mut list = Vec::new();
        for (folder, found) in &self.folders {
            for name in &found.files {
                list.extend(join(folder, name));
                list.push(0);
            }
        }
        if list.is_empty() { Ok(()) } else { write_whole(&run_folder.join(CARRIED), &list) }
    }

    /// Reads the list from the run's folder. Returns an empty list if there is none.
    pub(crate) fn read(run_folder: &Path) -> Result<Self> {
        let file = run_folder.join(CARRIED);
        let list = match read_whole(&file) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            read => read.or_cannot(|| format!("read {}", file.display()))?,
        };
        let mut carried = Self::default();
        for path in list.split(|byte| *byte == 0).filter(|path| !path.is_empty()) {
            let (folder, name) = split_path(path);
            carried.add(folder, OsStr::from_bytes(name).to_owned());
        }
        Ok(carried)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_at_or_below_the_removed_paths_goes() {
        let mut carried = Carried::default();
        for (folder, name) in [("", "a"), ("", "ab"), ("a", "x"), ("a/b", "x"), ("ab", "x")] {
            carried.add(folder.as_bytes(), name.into());
        }
        carried.add_folder(b"c/d", 0o755);
        carried.remove(&[&b"ab"[..], b"a/b", b"c"].map(<[u8]>::to_vec).into());
        let mut expected = Carried::default();
        expected.add(b"", "a".into());
        expected.add(b"a", "x".into());
        assert_eq!(carried, expected);
    }

    #[test]
    fn what_one_task_wants_keeps_the_folders_that_it_needs_and_no_others() {
        let mut carried = Carried { limit: 7, ..Carried::default() };
        for (folder, name) in [("", ".env"), ("src", "made"), ("deps/a/b", "x"), ("deps/c", "y")] {
            carried.add(folder.as_bytes(), name.into());
        }
        for folder in ["deps", "deps/a", "deps/a/b", "deps/c", "empty"] {
            carried.add_folder(folder.as_bytes(), 0o755);
        }
        let folders = |wanted: &str| {
            let below = |path: &[u8]| {
                path == wanted.as_bytes() || path.starts_with(format!("{wanted}/").as_bytes())
            };
            let only = carried.only(|path, _| below(path));
            assert_eq!(only.limit, 7);
            let text = |path: &Vec<u8>| String::from_utf8(path.clone()).unwrap();
            only.folders.keys().map(text).collect::<Vec<_>>()
        };
        assert_eq!(folders(".env"), [""]);
        assert_eq!(folders("src/made"), ["src"]);
        assert_eq!(folders("deps/a/b/x"), ["deps", "deps/a", "deps/a/b"]);
        assert_eq!(folders("deps/c"), ["deps", "deps/c"]);
        assert_eq!(folders("empty"), ["empty"]);
        assert_eq!(folders("none"), [""; 0]);
    }

    #[test]
    fn the_files_of_two_selections_are_together_in_their_folders() {
        let mut carried = Carried { limit: 7, ..Carried::default() };
        let mut other = Carried { limit: 8, ..Carried::default() };
        carried.add(b"", ".env".into());
        carried.add(b"deps", "x".into());
        carried.add_folder(b"deps", 0o755);
        other.add(b"deps", "y".into());
        other.add_folder(b"deps", 0o755);
        let mut both = Carried { limit: 15, ..carried.clone() };
        both.add(b"deps", "y".into());
        assert_eq!(carried.and(&other), both);
    }

    #[test]
    fn a_list_reads_back_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Carried::read(folder.path()).unwrap(), Carried::default());
        let mut carried = Carried::default();
        carried.add(b"", ".env".into());
        carried.add(b"a/\xff", OsStr::from_bytes(b"new\nline").to_owned());
        carried.write(folder.path()).unwrap();
        let read = Carried::read(folder.path()).unwrap();
        assert_eq!(read, carried);
        assert!(read.contains(b".env") && read.contains(b"a/\xff/new\nline"));
        assert!(!read.contains(b"a") && !read.contains(b"env"));
    }
}
