//! Takes down everything in a folder, byte for byte, so that two moments can be compared.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Every path below a folder with its kind, its permissions and its bytes. Times are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint(BTreeMap<PathBuf, Node>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Node {
    Folder(u32),
    File(u32, Vec<u8>),
    Link(Vec<u8>),
    Special,
}

impl Fingerprint {
    /// Takes down `folder` with everything in it, `.git` included. A folder that is not there has
    /// an empty fingerprint.
    #[must_use]
    pub fn of(folder: &Path) -> Self {
        Self::without(folder, &[])
    }

    /// Takes down `folder` without what lies at or below the paths `left_out`, relative to it.
    #[must_use]
    pub fn without(folder: &Path, left_out: &[&str]) -> Self {
        let mut nodes = BTreeMap::new();
        let left_out: Vec<_> = left_out.iter().map(|path| folder.join(path)).collect();
        visit(folder, folder, &left_out, &mut nodes);
        Self(nodes)
    }

    /// Returns what differs between this moment and `later`, one line per path; empty if nothing
    /// does.
    #[must_use]
    pub fn differences(&self, later: &Self) -> Vec<String> {
        let mut lines = Vec::new();
        for (path, node) in &self.0 {
            match later.0.get(path) {
                None => lines.push(format!("gone: {}", path.display())),
                Some(now) if now != node => lines.push(format!("changed: {}", path.display())),
                Some(_same) => {}
            }
        }
        let new = later.0.keys().filter(|path| !self.0.contains_key(*path));
        lines.extend(new.map(|path| format!("new: {}", path.display())));
        lines
    }

    /// Returns the paths taken down, in order, relative to the folder.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.0.keys().map(PathBuf::as_path)
    }
}

fn visit(root: &Path, folder: &Path, left_out: &[PathBuf], nodes: &mut BTreeMap<PathBuf, Node>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    // A folder that another process removes while it is listed ends there.
    for path in entries.flatten().map(|entry| entry.path()) {
        if left_out.contains(&path) {
            continue;
        }
        // What another process removes meanwhile was not there.
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        let relative = path.strip_prefix(root).expect("it lies below the root").to_owned();
        if let Some(node) = node(&path, &metadata) {
            nodes.insert(relative, node);
        }
        if metadata.is_dir() {
            visit(root, &path, left_out, nodes);
        }
    }
}

fn node(path: &Path, metadata: &Metadata) -> Option<Node> {
    let mode = metadata.permissions().mode() & 0o7777;
    let kind = metadata.file_type();
    if kind.is_dir() {
        return Some(Node::Folder(mode));
    }
    if kind.is_symlink() {
        let target = fs::read_link(path).ok()?;
        return Some(Node::Link(target.as_os_str().as_bytes().to_vec()));
    }
    if kind.is_fifo() || kind.is_socket() || kind.is_block_device() || kind.is_char_device() {
        return Some(Node::Special);
    }
    Some(Node::File(mode, fs::read(path).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_difference_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("same", "1");
        write("changed", "1");
        write("gone", "1");
        let before = Fingerprint::of(folder.path());
        write("changed", "2");
        write("new", "1");
        fs::remove_file(folder.path().join("gone")).unwrap();
        let after = Fingerprint::of(folder.path());
        assert_eq!(before.differences(&after), ["changed: changed", "gone: gone", "new: new"]);
        assert_eq!(after.differences(&after), Vec::<String>::new());
    }
}
