//! The journal of a task store: captures that are durable, but not in git's format yet. Captures
//! that end at the same time share one sync. Before captures are read, and when a run lands, the
//! journal is moved into git's objects and references, as one pack.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use git2::{ObjectType, Oid, Repository};
use group_log::{Announced, GroupLog, open_locked, read};

use crate::error::{OrCannot, Result};
use crate::store::objects::Object;
use crate::store::{TaskStore, packed_refs, sync};

/// The name of the file in the store.
const FILE: &str = "captures.journal";

/// The size from which the journal is moved into git's format, so that a move needs little memory.
const LARGE: u64 = 8 << 20;

/// Up to this many captures are moved as loose objects: many small packs would make the store slow.
const FEW: usize = 4;

/// The journal of one task store, shared by all captures of this process.
#[derive(Clone)]
pub(crate) struct Journal {
    store: PathBuf,
    log: Arc<GroupLog>,
}

impl PartialEq for Journal {
    fn eq(&self, other: &Self) -> bool {
        self.store == other.store
    }
}

impl Eq for Journal {}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Journal").field(&self.store).finish()
    }
}

/// A capture in the journal.
pub(super) struct Record {
    pub(super) reference: String,
    pub(super) commit: Oid,
    pub(super) objects: Vec<Object>,
}

impl Journal {
    /// Returns the journal of the store at `store`.
    pub(crate) fn of(store: &Path) -> Self {
        let log = Arc::new(GroupLog::at(store.join(FILE)));
        Self { store: store.to_path_buf(), log }
    }

    /// Announces a capture, so that others wait for it for a short time.
    pub(super) fn announce(&self) -> Announced {
        self.log.announce()
    }

    /// Moves the journal into git's format if it has become large.
    pub(super) fn bound(&self) -> Result<()> {
        match self.store.join(FILE).metadata() {
            Ok(file) if file.len() > LARGE => settle(&self.store),
            _ => Ok(()),
        }
    }
}

impl Record {
    /// Returns the bytes of the record.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        put(&mut bytes, self.reference.as_bytes());
        put(&mut bytes, self.commit.as_bytes());
        for (kind, object) in &self.objects {
            put(&mut bytes, kind.str().as_bytes());
            put(&mut bytes, object);
        }
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        let reference = String::from_utf8(take(&mut rest)?.to_vec()).ok()?;
        let commit = Oid::from_bytes(take(&mut rest)?).ok()?;
        let mut objects = Vec::new();
        while !rest.is_empty() {
            let kind = ObjectType::from_str(std::str::from_utf8(take(&mut rest)?).ok()?)?;
            objects.push((kind, take(&mut rest)?.to_vec()));
        }
        Some(Self { reference, commit, objects })
    }
}

fn put(bytes: &mut Vec<u8>, part: &[u8]) {
    // A record has fewer bytes than the objects in memory may have.
    bytes.extend_from_slice(&u32::try_from(part.len()).unwrap_or(u32::MAX).to_le_bytes());
    bytes.extend_from_slice(part);
}

fn take<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, after) = rest.split_first_chunk::<4>()?;
    let (part, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    *rest = after;
    Some(part)
}

/// Moves the captures in the journal of the store at `store` into git's format, durably. Does
/// nothing if there are none.
pub(super) fn settle(store: &Path) -> Result<()> {
    let what = || format!("read the journal of the task store {}", store.display());
    let Some(mut file) = open_locked(&store.join(FILE)).or_cannot(what)? else { return Ok(()) };
    let found = read(&mut file).or_cannot(what)?;
    if found.damaged > 0 {
        let copy = store.join(format!("{FILE}.damaged"));
        std::fs::copy(store.join(FILE), &copy).or_cannot(what)?;
        tracing::error!(damaged = found.damaged, copy = %copy.display(), "captures are damaged");
    }
    let records = found.records.iter().map(|record| Record::decode(record));
    let records: Option<Vec<Record>> = records.collect();
    let records = records.ok_or("a later version wrote it").or_cannot(what)?;
    let opened = TaskStore::open(store)?;
    if records.len() <= FEW {
        opened.add_loose(records)?
    } else {
        opened.add_pack(records)?
    }
    empty(&file).or_cannot(what)
}

/// Empties the journal. The file stays, because other processes have it open.
fn empty(file: &File) -> io::Result<()> {
    file.set_len(0)?;
    file.sync_all()
}

impl TaskStore {
    /// Adds captures as loose objects and references.
    pub(super) fn add_loose(&self, records: Vec<Record>) -> Result<()> {
        let what = || format!("write to the task store {}", self.path.display());
        for Record { reference, commit, objects } in records {
            let mut written = Vec::new();
            for (kind, bytes) in objects {
                written.push(self.write_loose(kind, &bytes).or_cannot(what)?);
            }
            sync::sync_objects(&self.path, written).or_cannot(what)?;
            self.set_reference(&reference, commit, "captured").or_cannot(what)?;
            sync::sync_reference(&self.path, &reference).or_cannot(what)?;
        }
        Ok(())
    }

    /// Writes one object. A file that a power cut has damaged is written again.
    pub(super) fn write_loose(
        &self,
        kind: ObjectType,
        bytes: &[u8],
    ) -> std::result::Result<Oid, git2::Error> {
        let odb = self.git.odb()?;
        let oid = odb.write(kind, bytes)?;
        if odb.read(oid).is_err() {
            let name = oid.to_string();
            let file = self.path.join("objects").join(&name[..2]).join(&name[2..]);
            let _absent = std::fs::remove_file(file);
            odb.write(kind, bytes)?;
        }
        Ok(oid)
    }

    /// Adds captures as one pack and packed references.
    fn add_pack(&self, records: Vec<Record>) -> Result<()> {
        let what = || format!("write a pack to the task store {}", self.path.display());
        let mut references = BTreeMap::new();
        let mut objects = Vec::new();
        for record in records {
            references.insert(record.reference, record.commit);
            objects.extend(record.objects);
        }
        self.write_pack(objects).or_cannot(what)?;
        self.with_store_lock("packed-refs", || Ok(packed_refs::add(&self.path, &references)))
            .or_cannot(what)?
            .or_cannot(what)
    }

    fn write_pack(&self, objects: Vec<Object>) -> std::result::Result<(), crate::error::Cause> {
        // Opened anew, because what is in memory must not be seen by other users of the store.
        let git = Repository::open_bare(&self.path)?;
        let odb = git.odb()?;
        let _memory = odb.add_new_mempack_backend(FIRST)?;
        let mut pack = git.packbuilder()?;
        for (kind, bytes) in objects {
            pack.insert_object(odb.write(kind, &bytes)?, None)?;
        }
        let folder = self.path.join("objects/pack");
        pack.write(&folder, 0o444)?;
        let name = pack.name()?.ok_or("it has no name")?.to_owned();
        for end in ["pack", "idx"] {
            sync::sync(&folder.join(format!("pack-{name}.{end}")))?;
        }
        Ok(sync::sync(&folder)?)
    }
}

/// The priority of a backend that comes before the files of the store.
const FIRST: i32 = 1000;

#[cfg(test)]
mod tests;
