//! Writes packs of the task store, in git's format, with every object whole and uncompressed: many
//! objects then cost a few syncs, and no time for compression.

use std::collections::BTreeMap;
use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use adler2::adler32_slice;
use git2::{ObjectType, Oid};
use sha1::{Digest as _, Sha1};
use tempfile::{Builder, NamedTempFile};

use crate::store::leftovers::NEW_PACK;
use crate::store::objects::Object;

/// The largest block of bytes that are not compressed, as the format of zlib has it.
const LARGEST_BLOCK: usize = 0xffff;

/// The first offset that an index holds in its table of large ones.
const LARGE_OFFSET: u64 = 0x8000_0000;

/// Where an object is in a pack.
struct Position {
    offset: u64,
    /// The CRC-32 of its bytes in the pack.
    checksum: u32,
}

/// Writes the objects as one pack with its index to the folder `packs`, durably. A pack has its name
/// only when it is complete.
pub(super) fn write(packs: &Path, objects: &BTreeMap<Oid, Object>) -> io::Result<()> {
    let beside = || Builder::new().prefix(NEW_PACK).tempfile_in(packs);
    let (pack, index) = (beside()?, beside()?);
    let mut writer = Hashed::new(pack.as_file());
    let count = u32::try_from(objects.len()).map_err(io::Error::other)?;
    writer.put(b"PACK")?;
    writer.put(&2_u32.to_be_bytes())?;
    writer.put(&count.to_be_bytes())?;
    let mut positions = Vec::with_capacity(objects.len());
    for (kind, bytes) in objects.values() {
        let offset = writer.length;
        let mut checksum = crc32fast::Hasher::new();
        for part in [header(*kind, bytes.len())?, stored(bytes)] {
            checksum.update(&part);
            writer.put(&part)?;
        }
        positions.push(Position { offset, checksum: checksum.finalize() });
    }
    let hash = writer.finish()?;
    let mut writer = Hashed::new(index.as_file());
    put_index(&mut writer, objects, &positions, &hash)?;
    writer.finish()?;
    let name = Oid::from_bytes(&hash).map_err(io::Error::other)?;
    // A pack without an index is not read, so the index gets its name last.
    for (file, end) in [(pack, "pack"), (index, "idx")] {
        persist(file, &packs.join(format!("pack-{name}.{end}")))?;
    }
    super::sync::sync(packs)
}

fn persist(file: NamedTempFile, path: &Path) -> io::Result<()> {
    file.as_file().set_permissions(Permissions::from_mode(0o444))?;
    file.as_file().sync_all()?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// Writes an index of version 2.
fn put_index(
    writer: &mut Hashed<'_>,
    objects: &BTreeMap<Oid, Object>,
    positions: &[Position],
    pack: &[u8],
) -> io::Result<()> {
    writer.put(b"\xfftOc")?;
    writer.put(&2_u32.to_be_bytes())?;
    let mut counts = [0_u32; 256];
    for oid in objects.keys() {
        let first = oid.as_bytes().first().copied().unwrap_or_default();
        counts[usize::from(first)] += 1;
    }
    let mut so_far = 0;
    for count in counts {
        so_far += count;
        writer.put(&so_far.to_be_bytes())?;
    }
    for oid in objects.keys() {
        writer.put(oid.as_bytes())?;
    }
    for position in positions {
        writer.put(&position.checksum.to_be_bytes())?;
    }
    let mut large = Vec::new();
    for Position { offset, .. } in positions {
        let offset = match u32::try_from(*offset) {
            Ok(small) if *offset < LARGE_OFFSET => small,
            _ => {
                large.push(*offset);
                0x8000_0000 | u32::try_from(large.len() - 1).map_err(io::Error::other)?
            }
        };
        writer.put(&offset.to_be_bytes())?;
    }
    for offset in large {
        writer.put(&offset.to_be_bytes())?;
    }
    writer.put(pack)
}

/// Returns the kind and the size of an object, as they stand before its bytes.
fn header(kind: ObjectType, size: usize) -> io::Result<Vec<u8>> {
    let kind = match kind {
        ObjectType::Commit => 1,
        ObjectType::Tree => 2,
        ObjectType::Blob => 3,
        ObjectType::Tag => 4,
        ObjectType::Any => return Err(io::Error::other("it is not a kind of object")),
    };
    let seven = |size: usize| u8::try_from(size & 0x7f).unwrap_or_default();
    let mut bytes = vec![kind << 4 | seven(size) & 0x0f];
    let mut rest = size >> 4;
    while rest > 0 {
        if let Some(last) = bytes.last_mut() {
            *last |= 0x80;
        }
        bytes.push(seven(rest));
        rest >>= 7;
    }
    Ok(bytes)
}

/// Returns the bytes as a stream of zlib that is not compressed.
fn stored(bytes: &[u8]) -> Vec<u8> {
    let blocks = bytes.len() / LARGEST_BLOCK + 1;
    let mut stream = Vec::with_capacity(bytes.len() + 5 * blocks + 6);
    stream.extend_from_slice(&[0x78, 0x01]);
    let mut rest = bytes;
    loop {
        let (block, after) = rest.split_at(rest.len().min(LARGEST_BLOCK));
        let length = u16::try_from(block.len()).unwrap_or(u16::MAX);
        stream.push(u8::from(after.is_empty()));
        stream.extend_from_slice(&length.to_le_bytes());
        stream.extend_from_slice(&(!length).to_le_bytes());
        stream.extend_from_slice(block);
        rest = after;
        if rest.is_empty() {
            break;
        }
    }
    stream.extend_from_slice(&adler32_slice(bytes).to_be_bytes());
    stream
}

/// Writes a file that ends with the SHA-1 of what is before it.
struct Hashed<'a> {
    file: BufWriter<&'a File>,
    hash: Sha1,
    /// How many bytes were written.
    length: u64,
}

impl<'a> Hashed<'a> {
    fn new(file: &'a File) -> Self {
        Self { file: BufWriter::with_capacity(256 << 10, file), hash: Sha1::new(), length: 0 }
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hash.update(bytes);
        self.length += bytes.len() as u64;
        self.file.write_all(bytes)
    }

    fn finish(mut self) -> io::Result<Vec<u8>> {
        let hash = self.hash.finalize().to_vec();
        self.file.write_all(&hash)?;
        self.file.flush()?;
        Ok(hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::git;

    #[test]
    fn git_reads_a_pack_with_objects_of_every_size() {
        let folder = tempfile::tempdir().unwrap();
        let store = git2::Repository::init_bare(folder.path()).unwrap();
        let sizes = [0, 1, 15, 16, 2047, 2048, 0xffff, 0x1_0000, 0x2_0000, 300_000];
        let blobs = sizes.map(|size| (ObjectType::Blob, vec![b'x'; size]));
        let id = |(kind, bytes): &Object| Oid::hash_object(*kind, bytes).unwrap();
        let objects: BTreeMap<Oid, Object> =
            blobs.into_iter().map(|object| (id(&object), object)).collect();
        let packs = folder.path().join("objects/pack");
        write(&packs, &objects).unwrap();
        // It is the same pack, which was written before.
        write(&packs, &objects).unwrap();
        assert_eq!(std::fs::read_dir(&packs).unwrap().count(), 2);
        git(folder.path(), &["fsck", "--full", "--strict"]);
        for (oid, (_, bytes)) in &objects {
            assert_eq!(store.find_blob(*oid).unwrap().content(), bytes.as_slice());
            let size = git(folder.path(), &["cat-file", "-s", &oid.to_string()]);
            assert_eq!(size.trim(), bytes.len().to_string());
        }
    }
}
