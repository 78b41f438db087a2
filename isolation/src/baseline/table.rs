//! The table of a snapshot: every folder and file with the location of its bytes. The file format
//! is compact, preserves names that are not UTF-8, and has a checksum.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use git2::Oid;
use protocol::RepoPath;
use sha2::{Digest, Sha256};

use crate::file_entry::Mode;
use crate::tree::{Stat, join};

/// The folders and files of a snapshot.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Table {
    /// The folders by path, which is empty for the root. The parents of a folder are in the table
    /// too.
    pub(crate) folders: BTreeMap<Vec<u8>, Folder>,
}

/// One folder of a snapshot.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Folder {
    /// Whether it is a submodule.
    pub(crate) kind: FolderKind,
    /// Its permissions.
    pub(crate) permissions: u32,
    /// Its files and symlinks.
    pub(crate) files: BTreeMap<OsString, FrozenEntry>,
}

/// Whether a folder belongs to the repository around it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum FolderKind {
    /// A folder of the repository.
    #[default]
    Plain,
    /// A submodule that is not checked out, or cannot be used: an empty folder in a workspace.
    Submodule,
    /// The root of a nested repository: a submodule, or another folder with a `.git`.
    Nested,
}

/// One file or symlink of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrozenEntry {
    /// Its stat when the snapshot was taken.
    pub(crate) stat: Stat,
    /// Its mode.
    pub(crate) mode: Mode,
    /// The location of its bytes once the user's file has changed.
    pub(crate) source: ContentLocation,
}

/// The location of a file's bytes outside of the user's tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContentLocation {
    /// In this blob of the user's repository, unchanged.
    Blob(Oid),
    /// In this blob of the user's repository, with CRLF instead of each LF.
    Crlf(Oid),
    /// In this blob of the task store.
    Pin(Oid),
}

impl Table {
    /// Returns the file or symlink at `path`.
    pub(crate) fn get(&self, path: &RepoPath) -> Option<&FrozenEntry> {
        let (folder, name) = split(path.as_bytes());
        self.folders.get(folder)?.files.get(OsStr::from_bytes(name))
    }

    /// Returns the folders of all nested repositories, sorted.
    pub(crate) fn nested(&self) -> Vec<Vec<u8>> {
        let nested = self.folders.iter().filter(|(_, folder)| folder.kind == FolderKind::Nested);
        nested.map(|(path, _)| path.clone()).collect()
    }

    /// Returns the path of every file and symlink.
    pub(crate) fn files(&self) -> impl Iterator<Item = Vec<u8>> {
        let folders = self.folders.iter();
        folders.flat_map(|(path, found)| found.files.keys().map(|name| join(path, name)))
    }

    /// Returns the path of every file and symlink below `folder`.
    pub(crate) fn files_below<'a>(&'a self, folder: &'a [u8]) -> impl Iterator<Item = Vec<u8>> {
        let inside = |path: &[u8]| {
            path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
        };
        self.folders
            .range(folder.to_vec()..)
            .take_while(|(path, _)| path.starts_with(folder))
            .filter(move |(path, _)| inside(path))
            .flat_map(|(path, found)| found.files.keys().map(|name| join(path, name)))
    }

    /// Returns whether there is a file or symlink below `folder`.
    pub(crate) fn has_below(&self, folder: &[u8]) -> bool {
        self.files_below(folder).next().is_some()
    }
}

/// Splits a path into its folder, which is empty for the root, and its name.
pub(crate) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => (&[], path),
    }
}

/// The first bytes of the table's file; the number is the version of its format.
const MAGIC: &[u8] = b"regatta baseline 1\n";

/// The length in bytes of the checksum at the end of the table's file.
const CHECK: usize = 32;

const PLAIN: u8 = b'f';
const SUBMODULE: u8 = b's';
const NESTED: u8 = b'n';
const BLOB: u8 = b'b';
const CRLF: u8 = b'c';
const PIN: u8 = b'p';

/// Encodes a table.
pub(super) fn encode_table(table: &Table) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    number(&mut out, table.folders.len() as u64);
    for (path, folder) in &table.folders {
        bytes(&mut out, path);
        out.push(match folder.kind {
            FolderKind::Plain => PLAIN,
            FolderKind::Submodule => SUBMODULE,
            FolderKind::Nested => NESTED,
        });
        number(&mut out, folder.permissions.into());
        number(&mut out, folder.files.len() as u64);
        for (name, frozen) in &folder.files {
            bytes(&mut out, name.as_bytes());
            encode_entry(&mut out, frozen);
        }
    }
    let check = Sha256::digest(&out);
    out.extend_from_slice(&check);
    out
}

fn encode_entry(out: &mut Vec<u8>, frozen: &FrozenEntry) {
    let Stat { size, mtime_ns, ctime_ns, ino, mode } = frozen.stat;
    for field in [size, mtime_ns.cast_unsigned(), ctime_ns.cast_unsigned(), ino, mode.into()] {
        out.extend_from_slice(&field.to_le_bytes());
    }
    number(out, frozen.mode.to_git().into());
    let (kind, oid) = match frozen.source {
        ContentLocation::Blob(oid) => (BLOB, oid),
        ContentLocation::Crlf(oid) => (CRLF, oid),
        ContentLocation::Pin(oid) => (PIN, oid),
    };
    out.push(kind);
    out.extend_from_slice(oid.as_bytes());
}

fn number(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn bytes(out: &mut Vec<u8>, value: &[u8]) {
    number(out, value.len() as u64);
    out.extend_from_slice(value);
}

/// Decodes a table. Returns `None` if the bytes are not a complete table.
pub(super) fn decode_table(written: &[u8]) -> Option<Table> {
    let (body, check) = written.split_at_checked(written.len().checked_sub(CHECK)?)?;
    if Sha256::digest(body).as_slice() != check {
        return None;
    }
    let mut reader = Reader { rest: body.strip_prefix(MAGIC)? };
    let mut table = Table::default();
    for _ in 0..reader.number()? {
        let path = reader.bytes()?.to_vec();
        let kind = match reader.take(1)?[0] {
            PLAIN => FolderKind::Plain,
            SUBMODULE => FolderKind::Submodule,
            NESTED => FolderKind::Nested,
            _ => return None,
        };
        let permissions = u32::try_from(reader.number()?).ok()?;
        let mut folder = Folder { kind, permissions, ..Folder::default() };
        for _ in 0..reader.number()? {
            let name = OsString::from_vec(reader.bytes()?.to_vec());
            folder.files.insert(name, reader.frozen()?);
        }
        table.folders.insert(path, folder);
    }
    reader.rest.is_empty().then_some(table)
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_le_bytes)
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        self.take(length)
    }

    fn frozen(&mut self) -> Option<FrozenEntry> {
        let stat = Stat {
            size: self.number()?,
            mtime_ns: self.number()?.cast_signed(),
            ctime_ns: self.number()?.cast_signed(),
            ino: self.number()?,
            mode: u32::try_from(self.number()?).ok()?,
        };
        let mode = Mode::from_git(u32::try_from(self.number()?).ok()?)?;
        let kind = self.take(1)?[0];
        let oid = Oid::from_bytes(self.take(20)?).ok()?;
        let source = match kind {
            BLOB => ContentLocation::Blob(oid),
            CRLF => ContentLocation::Crlf(oid),
            PIN => ContentLocation::Pin(oid),
            _ => return None,
        };
        Some(FrozenEntry { stat, mode, source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let stat = Stat { size: 3, mtime_ns: -1, ctime_ns: 7, ino: 9, mode: 0o100_644 };
        let oid = Oid::from_str(&"a1".repeat(20)).unwrap();
        let frozen = |source| FrozenEntry { stat, mode: Mode::File, source };
        let kind = FolderKind::Submodule;
        let mut folder = Folder { kind, permissions: 0o755, ..Folder::default() };
        let name = OsString::from_vec(b"new\nline\xff".to_vec());
        folder.files.insert(name, frozen(ContentLocation::Pin(oid)));
        folder.files.insert("blob".into(), frozen(ContentLocation::Blob(oid)));
        folder.files.insert("crlf".into(), frozen(ContentLocation::Crlf(oid)));
        let mut table = Table::default();
        table.folders.insert(b"".to_vec(), Folder::default());
        table.folders.insert(b"a/b".to_vec(), folder);
        table
    }

    #[test]
    fn a_table_reads_back_as_it_was_written() {
        assert_eq!(decode_table(&encode_table(&table())), Some(table()));
    }

    #[test]
    fn a_table_that_lost_or_changed_a_byte_is_none() {
        let written = encode_table(&table());
        for length in 0..written.len() {
            assert_eq!(decode_table(&written[..length]), None, "cut at {length}");
        }
        for place in 0..written.len() {
            let mut changed = written.clone();
            changed[place] ^= 1;
            assert_eq!(decode_table(&changed), None, "changed at {place}");
        }
    }
}
