//! The file of a git index, read without libgit2: what a hostile one can do there ends the program.
//! The format is that of git's `gitformat-index`, versions 2 to 4.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;

use git2::Oid;
use sha1::{Digest as _, Sha1};

/// The largest index that is read: that of some million files.
const LARGEST: u64 = 512 << 20;

/// The bytes of an entry before its path: times, numbers, mode, id and flags.
const FIXED: usize = 62;

/// Where its mode, its id and its flags are among them.
const MODE: usize = 24;
const OBJECT: usize = 40;
const FLAGS: usize = 60;

/// In the first byte of the flags: that two more bytes of them follow, and the side of a merge that the
/// entry is. In the first byte of those two: that a sparse checkout leaves the file out.
const EXTENDED: u8 = 0x40;
const STAGE: u8 = 0x30;
const SKIP_WORKTREE: u8 = 0x40;

/// The bytes of an object id, and of the checksum at the end.
const ID: usize = 20;

/// The maximum depth of the cached trees. No path has more folders.
const DEEPEST: usize = 2_100;

/// Why an index cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// It is not an index, or has cached trees that no git writes.
    Damaged,
    /// It is not whole by itself: it is split or sparse, for instance.
    Partial,
}

/// Reads an index. Returns `None` if there is no regular file of a limited size at `path`.
pub(crate) fn read(path: &Path) -> Option<Vec<u8>> {
    let meta = fs::symlink_metadata(path).ok()?;
    if !meta.is_file() || meta.len() > LARGEST {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(LARGEST).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Returns whether the checksum at the end is that of the index, or none: git leaves it away with
/// `index.skipHash`.
pub(crate) fn has_checksum(bytes: &[u8]) -> bool {
    bytes.split_last_chunk::<ID>().is_some_and(|(content, checksum)| {
        *checksum == [0; ID] || *checksum == *Sha1::digest(content)
    })
}

/// An entry of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadEntry<'a> {
    /// Its path.
    pub(crate) path: &'a [u8],
    /// Its mode, as in a tree.
    pub(crate) mode: u32,
    /// The id of its object.
    pub(crate) id: Oid,
    /// Whether it is a side of a merge that is not settled.
    pub(crate) is_conflict: bool,
    /// Whether it has the flag `skip-worktree`: git does not expect the file in the working tree.
    pub(crate) is_skipped: bool,
}

/// Calls `see` with the path of each entry, in the order of the file.
pub(crate) fn paths(bytes: &[u8], mut see: impl FnMut(&[u8])) -> Result<(), Unreadable> {
    entries(bytes, |entry| see(entry.path))
}

/// Calls `see` with each entry, in the order of the file.
pub(crate) fn entries(bytes: &[u8], see: impl FnMut(ReadEntry<'_>)) -> Result<(), Unreadable> {
    match parse(bytes, see) {
        Some(Whole(true)) => Ok(()),
        Some(Whole(false)) => Err(Unreadable::Partial),
        None => Err(Unreadable::Damaged),
    }
}

/// Whether an index is whole by itself.
struct Whole(bool);

fn parse(bytes: &[u8], mut see: impl FnMut(ReadEntry<'_>)) -> Option<Whole> {
    let end = bytes.len().checked_sub(ID)?;
    let mut rest = bytes.get(..end)?;
    if take(&mut rest, 4)? != b"DIRC" {
        return None;
    }
    let version = number(&mut rest)?;
    if !(2..=4).contains(&version) {
        return None;
    }
    let mut path = Vec::new();
    for _ in 0..number(&mut rest)? {
        let entry = rest;
        let fixed = take(&mut rest, FIXED)?;
        let mut is_skipped = false;
        if fixed[FLAGS] & EXTENDED != 0 {
            is_skipped = take(&mut rest, 2)?[0] & SKIP_WORKTREE != 0;
        }
        let mode = number(&mut fixed.get(MODE..)?)?;
        if version == 4 {
            let removed = removed_length(&mut rest)?;
            path.truncate(path.len().checked_sub(removed)?);
        } else {
            path.clear();
        }
        path.extend_from_slice(until(&mut rest, 0)?);
        let id = Oid::from_bytes(fixed.get(OBJECT..OBJECT + ID)?).ok()?;
        let is_conflict = fixed[FLAGS] & STAGE != 0;
        see(ReadEntry { path: &path, mode, id, is_conflict, is_skipped });
        if version < 4 {
            // An entry has a multiple of eight bytes, at least one of them NUL at its end.
            let length = entry.len() - rest.len();
            take(&mut rest, length.next_multiple_of(8) - length)?;
        }
    }
    while !rest.is_empty() {
        let name = take(&mut rest, 4)?;
        let length = usize::try_from(number(&mut rest)?).ok()?;
        let extension = take(&mut rest, length)?;
        match name {
            b"TREE" => check_cached_trees(extension)?,
            // Nobody who does not know such an extension may read the index.
            [b'a'..=b'z', ..] => return Some(Whole(false)),
            _ => {}
        }
    }
    Some(Whole(true))
}

/// Checks the cached trees: libgit2 goes down into them with a call per level, and reserves the memory
/// for as many as are announced.
fn check_cached_trees(mut rest: &[u8]) -> Option<()> {
    // How many trees are still to come on each level.
    let mut to_come: Vec<usize> = Vec::new();
    while !rest.is_empty() {
        until(&mut rest, 0)?;
        let entries = decimal(until(&mut rest, b' ')?)?;
        let children = usize::try_from(decimal(until(&mut rest, b'\n')?)?).ok()?;
        if entries >= 0 {
            take(&mut rest, ID)?;
        }
        if children > rest.len() {
            return None;
        }
        to_come.push(children);
        if to_come.len() > DEEPEST {
            return None;
        }
        while to_come.last() == Some(&0) {
            to_come.pop();
            if let Some(siblings) = to_come.last_mut() {
                *siblings -= 1;
            }
        }
    }
    to_come.is_empty().then_some(())
}

/// Reads a number as git writes it: digits, and a minus before those of a negative one.
fn decimal(text: &[u8]) -> Option<i32> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let are_digits = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    if are_digits { std::str::from_utf8(text).ok()?.parse().ok() } else { None }
}

/// Reads how many bytes of the last path version 4 leaves away.
fn removed_length(rest: &mut &[u8]) -> Option<usize> {
    let mut length: usize = 0;
    loop {
        let byte = take(rest, 1)?[0];
        length = length.checked_add(usize::from(byte & 0x7f))?;
        if byte & 0x80 == 0 {
            return Some(length);
        }
        length = length.checked_add(1)?.checked_mul(0x80)?;
    }
}

fn number(rest: &mut &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(take(rest, 4)?.try_into().ok()?))
}

/// Takes the bytes up to this one, which is taken, too.
fn until<'a>(rest: &mut &'a [u8], end: u8) -> Option<&'a [u8]> {
    let length = rest.iter().position(|byte| *byte == end)?;
    let taken = take(rest, length)?;
    take(rest, 1)?;
    Some(taken)
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(length)?;
    *rest = left;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use git2::{Index, IndexEntry, IndexTime};

    use super::*;

    /// Returns an index without entries and with these cached trees.
    fn with_trees(trees: &[u8]) -> Vec<u8> {
        let length = u32::try_from(trees.len()).unwrap().to_be_bytes();
        [b"DIRC\0\0\0\x02\0\0\0\0TREE", &length[..], trees, &[0; ID]].concat()
    }

    fn read_paths(bytes: &[u8]) -> Result<Vec<Vec<u8>>, Unreadable> {
        let mut found = Vec::new();
        paths(bytes, |path| found.push(path.to_vec()))?;
        Ok(found)
    }

    #[test]
    fn the_paths_are_those_that_libgit2_has_written_in_every_version() {
        for version in 2..=4 {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("index");
            let mut index = Index::open(&file).unwrap();
            index.set_version(version).unwrap();
            let mut expected = Vec::new();
            for number in 0..300_usize {
                let path = format!("folder{}/{}{number}", number % 7, "long".repeat(number));
                expected.push(path.clone().into_bytes());
                let time = IndexTime::new(0, 0);
                let entry = IndexEntry {
                    ctime: time,
                    mtime: time,
                    dev: 0,
                    ino: 0,
                    mode: 0o100_644,
                    uid: 0,
                    gid: 0,
                    file_size: 0,
                    id: Oid::hash_object(git2::ObjectType::Blob, b"x").unwrap(),
                    flags: 0,
                    // That of `git add --intent-to-add`.
                    flags_extended: if version > 2 && number % 3 == 0 { 1 << 13 } else { 0 },
                    path: path.into_bytes(),
                };
                index.add(&entry).unwrap();
            }
            index.write().unwrap();
            expected.sort();
            let bytes = read(&file).unwrap();
            assert_eq!(read_paths(&bytes).as_ref(), Ok(&expected), "version {version}");
            for cut in (0..bytes.len() - ID).step_by(test_limit::by_depth(997, 97)) {
                assert_ne!(read_paths(&bytes[..cut]), Ok(expected.clone()), "cut at {cut}");
            }
        }
    }

    #[test]
    fn an_entry_has_its_mode_and_tells_the_side_of_a_merge_and_every_byte_is_in_the_checksum() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("index");
        let mut index = Index::open(&file).unwrap();
        let id = Oid::hash_object(git2::ObjectType::Blob, b"x").unwrap();
        let time = IndexTime::new(0, 0);
        for (path, mode, stage, flags_extended) in [
            ("a", 0o100_644, 0, 0),
            ("b", 0o160_000, 0, 0),
            ("c", 0o120_000, 2, 0),
            // The flag `skip-worktree`.
            ("d", 0o100_644, 0, 1 << 14),
        ] {
            let (flags, path) = (stage << 12, path.as_bytes().to_vec());
            let (ctime, mtime) = (time, time);
            let (dev, ino, uid, gid, file_size) = (0, 0, 0, 0, 0);
            index
                .add(&IndexEntry {
                    ctime,
                    mtime,
                    dev,
                    ino,
                    mode,
                    uid,
                    gid,
                    file_size,
                    id,
                    flags,
                    flags_extended,
                    path,
                })
                .unwrap();
        }
        index.write().unwrap();
        let bytes = read(&file).unwrap();
        let mut found = Vec::new();
        let mut see = |it: ReadEntry<'_>| {
            assert_eq!(it.id, id);
            found.push((it.path.to_vec(), it.mode, it.is_conflict, it.is_skipped));
        };
        entries(&bytes, &mut see).unwrap();
        let entry = |path: &str, mode, is_conflict, is_skipped| {
            (path.as_bytes().to_vec(), mode, is_conflict, is_skipped)
        };
        assert_eq!(
            found,
            [
                entry("a", 0o100_644, false, false),
                entry("b", 0o160_000, false, false),
                entry("c", 0o120_000, true, false),
                entry("d", 0o100_644, false, true),
            ]
        );
        assert!(has_checksum(&bytes) && !has_checksum(&bytes[..ID - 1]));
        assert!(has_checksum(&[&bytes[..bytes.len() - ID], &[0; ID]].concat()));
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            assert!(!has_checksum(&flipped), "byte {at}");
        }
    }

    #[test]
    fn cached_trees_that_go_down_or_announce_too_much_are_refused() {
        let id = [7; ID];
        let good = [b"\x002 1\n", &id[..], b"sub\0-1 1\n", b"deep\x001 0\n", &id[..]].concat();
        assert_eq!(read_paths(&with_trees(&good)), Ok(Vec::new()));
        assert_eq!(read_paths(&with_trees(b"")), Ok(Vec::new()));
        let deep = b"a\0-1 1\n".repeat(1_000_000);
        let deep = [&deep[..], b"a\0-1 0\n"].concat();
        for bad in [&deep[..], b"\0-1 2000000000\n", b"\0-1 1\n", b"\0-1 +0\n", b"\0 -1 0\n", b"\0"]
        {
            assert_eq!(
                read_paths(&with_trees(bad)),
                Err(Unreadable::Damaged),
                "{:?}",
                &bad[..bad.len().min(20)]
            );
        }
    }

    #[test]
    fn an_index_that_is_cut_or_announces_too_much_is_refused() {
        let none = [0_u8; ID];
        let many = [b"DIRC\0\0\0\x02\xff\xff\xff\xff", &none[..]].concat();
        let long = [b"DIRC\0\0\0\x02\0\0\0\0UNTR\xff\xff\xff\xff", &none[..]].concat();
        let back = [&b"DIRC\0\0\0\x04\0\0\0\x01"[..], &[0; FIXED], b"\x05a\0", &none].concat();
        for bad in
            [&many[..], &long, &back, b"DIRC", b"", b"DIRC\0\0\0\x05\0\0\0\0\0\0\0\0\0\0\0\0"]
        {
            assert_eq!(read_paths(bad), Err(Unreadable::Damaged), "{bad:?}");
        }
        let split = [b"DIRC\0\0\0\x02\0\0\0\0link\0\0\0\0", &none[..]].concat();
        assert_eq!(read_paths(&split), Err(Unreadable::Partial));
    }
}
