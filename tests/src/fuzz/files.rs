//! A tree of files in memory, as git sees one: paths with bytes, symlinks, and whether a file may
//! be executed.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// A path relative to the root of a tree, with `/` between its components.
pub(super) type Name = Vec<u8>;

/// A file or a symlink.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Node {
    /// A file.
    File {
        /// Whether its owner may execute it.
        executable: bool,
        /// What is in it.
        bytes: Vec<u8>,
    },
    /// A symlink and its target.
    Link(Vec<u8>),
}

impl Node {
    /// Returns a file that may not be executed.
    #[must_use]
    pub(super) fn file(bytes: impl Into<Vec<u8>>) -> Self {
        Self::File { executable: false, bytes: bytes.into() }
    }

    /// Returns the bytes of a file, or the target of a symlink.
    #[must_use]
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::File { bytes, .. } | Self::Link(bytes) => bytes,
        }
    }

    /// Returns the mode that git writes for it.
    #[must_use]
    pub(super) fn git_mode(&self) -> &'static str {
        match self {
            Self::File { executable: false, .. } => "100644",
            Self::File { executable: true, .. } => "100755",
            Self::Link(_) => "120000",
        }
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} \"{}\"", self.git_mode(), self.bytes().escape_ascii())
    }
}

/// Files and symlinks by their paths. No path lies below another one.
pub(super) type Files = BTreeMap<Name, Node>;

/// Prints files under a title, one per line.
pub(super) struct Listing<'f>(pub(super) &'f str, pub(super) &'f Files);

impl fmt::Display for Listing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}:", self.0)?;
        self.1
            .iter()
            .try_for_each(|(path, node)| writeln!(f, "  {}: {node:?}", path.escape_ascii()))
    }
}

/// Returns the folders that `path` is in, the nearest first.
pub(super) fn folders(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let ends = path.iter().enumerate().rev().filter(|(_, byte)| **byte == b'/');
    ends.map(|(end, _)| &path[..end])
}

/// Returns whether `path` lies below `folder`.
#[must_use]
pub(super) fn is_below(path: &[u8], folder: &[u8]) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.first() == Some(&b'/'))
}

/// Returns every folder that these files are in.
#[must_use]
pub(super) fn all_folders(files: &Files) -> BTreeSet<Name> {
    files.keys().flat_map(|path| folders(path)).map(<[u8]>::to_vec).collect()
}

/// Returns the place of a path below `root`.
#[must_use]
pub(super) fn place(root: &Path, path: &[u8]) -> PathBuf {
    root.join(OsStr::from_bytes(path))
}

/// Writes files into a folder, in which nothing is at their paths.
///
/// # Panics
/// When one cannot be written.
pub(super) fn write(root: &Path, files: &Files) {
    for (path, node) in files {
        let target = place(root, path);
        let folder = target.parent().expect("it lies below the root");
        fs::create_dir_all(folder).expect("a folder can be made");
        match node {
            Node::Link(to) => symlink(OsStr::from_bytes(to), &target).expect("a link can be made"),
            Node::File { executable, bytes } => {
                fs::write(&target, bytes).expect("a file can be written");
                if *executable {
                    let mode = fs::Permissions::from_mode(0o755);
                    fs::set_permissions(&target, mode).expect("a mode can be set");
                }
            }
        }
    }
}

/// Turns the tree `before` below `root` into `after`. Folders that become empty are removed.
///
/// # Panics
/// When something cannot be written or removed.
pub(super) fn change(root: &Path, before: &Files, after: &Files) {
    for path in before.iter().filter(|(path, node)| after.get(*path) != Some(node)) {
        fs::remove_file(place(root, path.0)).expect("it was written before");
    }
    let left = all_folders(after);
    let emptied: Vec<_> =
        all_folders(before).into_iter().filter(|path| !left.contains(path)).collect();
    for folder in emptied.iter().rev() {
        fs::remove_dir(place(root, folder)).expect("nothing is in it any more");
    }
    let new = after.iter().filter(|(path, node)| before.get(*path) != Some(node));
    write(root, &new.map(|(path, node)| (path.clone(), node.clone())).collect());
}

/// A tree as it is on the disk.
#[derive(Debug, Default)]
pub(super) struct OnDisk {
    /// Its files and symlinks.
    pub(super) files: Files,
    /// Its folders.
    pub(super) folders: BTreeSet<Name>,
    /// What is neither a file nor a symlink nor a folder.
    pub(super) special: BTreeSet<Name>,
    /// The permissions of the files.
    pub(super) permissions: BTreeMap<Name, u32>,
}

impl OnDisk {
    /// Reads everything below `root` but `.git` and what lies in the folders `left_out`.
    ///
    /// # Panics
    /// When something cannot be read.
    #[must_use]
    pub(super) fn read(root: &Path, left_out: &[Name]) -> Self {
        let mut found = Self::default();
        let mut open = vec![Name::new()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(place(root, &folder)).expect("a folder can be read") {
                let entry = entry.expect("a folder can be read");
                let name = entry.file_name();
                let separator: &[u8] = if folder.is_empty() { b"" } else { b"/" };
                let path = [&folder, separator, name.as_bytes()].concat();
                let kind = entry.file_type().expect("an entry has a kind");
                if kind.is_dir() && path != b".git" {
                    found.folders.insert(path.clone());
                    if !left_out.contains(&path) {
                        open.push(path);
                    }
                } else if kind.is_symlink() {
                    let target = fs::read_link(entry.path()).expect("a link can be read");
                    found.files.insert(path, Node::Link(target.as_os_str().as_bytes().to_vec()));
                } else if kind.is_file() {
                    let bytes = fs::read(entry.path()).expect("a file can be read");
                    let metadata = entry.metadata().expect("a file has metadata");
                    let mode = metadata.permissions().mode() & 0o7777;
                    found.permissions.insert(path.clone(), mode);
                    found.files.insert(path, Node::File { executable: mode & 0o100 != 0, bytes });
                } else if path != b".git" {
                    found.special.insert(path);
                }
            }
        }
        found
    }
}

/// Returns how two trees differ, one line per path.
#[must_use]
pub(super) fn differences(expected: &Files, found: &Files) -> Vec<String> {
    let paths: BTreeSet<_> = expected.keys().chain(found.keys()).collect();
    let differ = paths.into_iter().filter(|path| expected.get(*path) != found.get(*path));
    let line = |path: &Name| {
        let (expected, found) = (expected.get(path), found.get(path));
        format!("{}: expected {expected:?}, found {found:?}", path.escape_ascii())
    };
    differ.map(line).collect()
}
