//! Reads the objects of a workspace's git directory, into which the task may have written anything.
//! So every object is checked before it is read: a FIFO in its place could block for ever, and a
//! large one fill the memory.

use std::fs;
use std::path::{Path, PathBuf};

use git2::{ObjectType, Odb, Oid};
use protocol::RepoPath;

use crate::capture::own_commit::{alternates, holds_only_files, is_file_or_missing, is_folder};
use crate::file_entry::{Entry, Mode};

/// The largest tree that is read, in bytes.
const LARGEST_TREE: usize = 32 << 20;

/// The largest file that is read, in bytes.
const LARGEST_BLOB: usize = 64 << 20;

/// The maximum number of folders in which two trees differ.
const MOST_FOLDERS: usize = 50_000;

/// The longest path of a folder, in bytes, with a slash at its end. No file system has longer ones.
const LONGEST_PATH: usize = 4_096;

/// The objects of a workspace's git directory and those of the user's repository.
pub(super) struct OwnObjects {
    odb: Odb<'static>,
    objects: PathBuf,
}

/// A path that differs between two trees, with its entry in the second one.
pub(super) type TreeDifference = (RepoPath, Option<Entry>);

/// An entry of a tree.
#[derive(Clone, Copy, PartialEq, Eq)]
struct TreeEntry<'t> {
    name: &'t [u8],
    mode: u32,
    oid: Oid,
}

impl OwnObjects {
    /// Opens the objects of `git_dir`. Only the alternates of its template are used: others could
    /// lead to files that block.
    pub(super) fn open(git_dir: &Path, template: &Path) -> Option<Self> {
        let objects = git_dir.join("objects");
        let may_be_read = is_folder(&objects)
            && alternates(git_dir) == alternates(template)
            && holds_only_files(&objects.join("pack"));
        if !may_be_read {
            return None;
        }
        let odb = Odb::new().ok()?;
        odb.add_disk_alternate(objects.to_str()?).ok()?;
        Some(Self { odb, objects })
    }

    /// Reads an object of this kind that is not larger than `limit`.
    pub(super) fn read(&self, id: Oid, kind: ObjectType, limit: usize) -> Option<Vec<u8>> {
        let text = id.to_string();
        let fan_out = self.objects.join(&text[..2]);
        let is_plain = fs::symlink_metadata(&fan_out).is_ok_and(|meta| meta.is_dir());
        if is_plain && !is_file_or_missing(&fan_out.join(&text[2..])) {
            return None;
        }
        if !is_plain && fan_out.symlink_metadata().is_ok() {
            return None;
        }
        let (size, found) = self.odb.read_header(id).ok()?;
        if found != kind || size > limit {
            return None;
        }
        self.odb.read(id).ok().map(|object| object.data().to_vec())
    }

    /// Reads a file or the target of a symlink.
    pub(super) fn blob(&self, id: Oid) -> Option<Vec<u8>> {
        self.read(id, ObjectType::Blob, LARGEST_BLOB)
    }

    /// Returns every path with a file or symlink in which two trees differ, at most `most`. Returns
    /// `None` if there are more, if too many folders differ, or if a tree cannot be read.
    pub(super) fn differences(
        &self,
        before: Option<Oid>,
        after: Oid,
        most: usize,
    ) -> Option<Vec<TreeDifference>> {
        let mut found = Vec::new();
        // As deep as a task makes its trees: on the stack of a thread they would end the program.
        let mut pairs = vec![(Vec::new(), [before, Some(after)])];
        for looked_at in 0.. {
            let Some((folder, trees)) = pairs.pop() else { break };
            let bytes = |tree: Option<Oid>| match tree {
                Some(tree) => self.read(tree, ObjectType::Tree, LARGEST_TREE),
                None => Some(Vec::new()),
            };
            let [before, after] = [bytes(trees[0])?, bytes(trees[1])?];
            let [before, after] = [entries(&before)?, entries(&after)?];
            let gone = before.values().filter(|entry| !after.contains_key(entry.name));
            let gone = gone.map(|entry| [Some(*entry), None]);
            let now = after.values().map(|entry| [before.get(entry.name).copied(), Some(*entry)]);
            for sides in gone.chain(now).filter(|[old, new]| old != new) {
                let name = sides.iter().flatten().next()?.name;
                let path = [folder.as_slice(), name].concat();
                let [old, new] = sides.map(file);
                if old != new {
                    // A name that no path of a repository may have is not one that was captured.
                    let path = RepoPath::new(path.as_slice());
                    found.extend(path.map(|path| (path, new)));
                }
                let folders = sides.map(tree);
                if folders[0] != folders[1] {
                    pairs.push(([path.as_slice(), b"/"].concat(), folders));
                }
            }
            // The same few trees may be in each other again and again.
            let is_too_much = looked_at > MOST_FOLDERS
                || found.len() > most
                || pairs.last().is_some_and(|(path, _)| path.len() > LONGEST_PATH);
            if is_too_much {
                return None;
            }
        }
        Some(found)
    }
}

/// Returns the entry of a file or symlink.
fn file(side: Option<TreeEntry<'_>>) -> Option<Entry> {
    let entry = side?;
    Some(Entry { mode: Mode::from_git(entry.mode)?, oid: entry.oid })
}

/// Returns the tree of a folder.
fn tree(side: Option<TreeEntry<'_>>) -> Option<Oid> {
    side.filter(|entry| entry.mode == 0o040_000).map(|entry| entry.oid)
}

/// Returns the entries of a tree by their names.
fn entries(bytes: &[u8]) -> Option<std::collections::BTreeMap<&[u8], TreeEntry<'_>>> {
    let mut entries = std::collections::BTreeMap::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let space = rest.iter().position(|byte| *byte == b' ')?;
        let mode = u32::from_str_radix(std::str::from_utf8(&rest[..space]).ok()?, 8).ok()?;
        rest = &rest[space + 1..];
        let nul = rest.iter().position(|byte| *byte == 0)?;
        let name = &rest[..nul];
        let oid = Oid::from_bytes(rest.get(nul + 1..nul + 21)?).ok()?;
        entries.insert(name, TreeEntry { name, mode, oid });
        rest = &rest[nul + 21..];
    }
    Some(entries)
}
