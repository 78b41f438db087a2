//! The journal of a task store: captures that are durable, but not in git's format yet. Captures
//! that end at the same time share one sync. When a run has ended, and before anything but a landing or
//! a workspace on the work of predecessors reads captures, the journal is moved into git's objects and
//! references, as one pack.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use git2::{ObjectType, Oid};
use group_log::{Announced, GroupLog, LockedFile, open_locked, read};

use crate::error::{OrCannot, Result};
use crate::store::objects::Object;

/// The name of the file in the store.
const FILE: &str = "captures.journal";

/// The size from which the journal is moved into git's format, so that a move needs little memory.
const LARGE: u64 = 8 << 20;

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

    /// Returns whether the journal has become so large that it is moved into git's format.
    pub(super) fn is_large(&self) -> bool {
        self.store.join(FILE).metadata().is_ok_and(|file| file.len() > LARGE)
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

/// Opens the journal of the store at `store` under its lock; `None` if it is empty. Damaged records
/// are copied beside it.
pub(super) fn open_records(store: &Path) -> Result<Option<LockedJournal>> {
    let what = || format!("read the journal of the task store {}", store.display());
    let Some(mut file) = open_locked(&store.join(FILE)).or_cannot(what)? else { return Ok(None) };
    let found = read(&mut file).or_cannot(what)?;
    if found.damaged > 0 {
        let copy = store.join(format!("{FILE}.damaged"));
        std::fs::copy(store.join(FILE), &copy).or_cannot(what)?;
        tracing::error!(damaged = found.damaged, copy = %copy.display(), "captures are damaged");
    }
    let records = found.records.iter().map(|record| Record::decode(record));
    let records: Option<Vec<Record>> = records.collect();
    let records = records.ok_or("a later version wrote it").or_cannot(what)?;
    Ok(Some(LockedJournal { file, records, bytes: found.end }))
}

/// A journal with records. As long as it is open, no other process reads or writes it.
pub(super) struct LockedJournal {
    file: LockedFile,
    pub(super) records: Vec<Record>,
    /// The size of the records in bytes.
    pub(super) bytes: u64,
}

impl LockedJournal {
    /// Empties the journal of the store at `store`. The file stays, because other processes have it
    /// open.
    pub(super) fn empty(&self, store: &Path) -> Result<()> {
        let what = || format!("empty the journal of the task store {}", store.display());
        self.file.set_len(0).and_then(|()| self.file.sync_all()).or_cannot(what)
    }
}

#[cfg(test)]
mod tests;
