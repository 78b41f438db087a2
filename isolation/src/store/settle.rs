//! Moves the captures in the journal of a task store into git's format: a few as loose objects, many
//! as one pack. The journal is emptied when everything is durable, so that this can be repeated.

use std::collections::BTreeMap;
use std::path::PathBuf;

use engine::failpoint;
use engine::fault::Faults;
use git2::{ObjectType, OdbLookupFlags, Oid};

use crate::disk_room::{Room, room_for_pack};
use crate::error::{OrCannot, Result};
use crate::store::journal::{Record, open_records};
use crate::store::leftovers::remove_unfinished_packs;
use crate::store::objects::Object;
use crate::store::{TaskStore, pack, packed_refs, sync};

/// Up to this many captures are moved as loose objects: many small packs would make the store slow.
const FEW: usize = 4;

/// Up to this many objects are written as files of their own.
pub(super) const MANY_OBJECTS: usize = 64;

impl TaskStore {
    /// Moves the captures in the journal into git's format, durably, so that they can be read. Does
    /// nothing if there are none.
    pub(crate) fn settle(&self) -> Result<()> {
        let Some(mut journal) = open_records(&self.path)? else { return Ok(()) };
        let what = || format!("write to the task store {}", self.path.display());
        // Another one, because this one may be making a capture in memory.
        let store = Self::open(&self.path)?;
        let packs = self.path.join("objects/pack");
        // Packs are written under the lock of the journal only: a dead process has left these.
        remove_unfinished_packs(&packs);
        failpoint!(self.faults, "settle.objects").or_cannot(what)?;
        let records = std::mem::take(&mut journal.records);
        let objects: usize = records.iter().map(|record| record.objects.len()).sum();
        let is_pack = (records.len() > FEW || objects > MANY_OBJECTS)
            && room_for_pack(&packs, journal.bytes).or_cannot(what)? == Room::Enough;
        if is_pack {
            let added = store.add_pack(records, &self.faults);
            if added.is_err() {
                remove_unfinished_packs(&packs);
            }
            added?;
        } else {
            store.add_loose(records, &self.faults)?;
        }
        failpoint!(self.faults, "settle.empty").or_cannot(what)?;
        journal.empty(&self.path)
    }

    /// Adds captures as loose objects and references.
    pub(super) fn add_loose(&self, records: Vec<Record>, faults: &Faults) -> Result<()> {
        let what = || format!("write to the task store {}", self.path.display());
        for Record { reference, commit, objects } in records {
            let mut written = Vec::new();
            for (kind, bytes) in objects {
                written.push(self.write_loose(kind, &bytes).or_cannot(what)?);
            }
            sync::sync_objects(&self.path, written).or_cannot(what)?;
            failpoint!(faults, "settle.references").or_cannot(what)?;
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
        let oid = Oid::hash_object(kind, bytes)?;
        let file = self.loose_file(oid);
        if !file.exists() {
            // A pack has its name only when it is durable.
            let is_packed = odb.exists_ext(oid, OdbLookupFlags::NO_REFRESH);
            return if is_packed { Ok(oid) } else { odb.write(kind, bytes) };
        }
        odb.write(kind, bytes)?;
        if odb.read(oid).is_err() {
            let _absent = std::fs::remove_file(file);
            odb.write(kind, bytes)?;
        }
        Ok(oid)
    }

    /// Adds captures as one pack and packed references.
    fn add_pack(&self, records: Vec<Record>, faults: &Faults) -> Result<()> {
        let what = || format!("write a pack to the task store {}", self.path.display());
        let mut references = BTreeMap::new();
        let mut objects = Vec::new();
        for record in records {
            references.insert(record.reference, record.commit);
            objects.extend(record.objects);
        }
        self.write_pack(objects).or_cannot(what)?;
        failpoint!(faults, "settle.references").or_cannot(what)?;
        self.with_store_lock("packed-refs", || Ok(packed_refs::add(&self.path, &references)))
            .or_cannot(what)?
            .or_cannot(what)
    }

    /// Writes objects as one pack, durably.
    pub(super) fn write_pack(
        &self,
        objects: Vec<Object>,
    ) -> std::result::Result<(), crate::error::Cause> {
        // The pack holds every object, also one that the store seems to have already: a power cut may
        // have emptied the file of a loose object, and its name alone would count as the object.
        let mut by_id = BTreeMap::new();
        for (kind, bytes) in objects {
            by_id.insert(Oid::hash_object(kind, &bytes)?, (kind, bytes));
        }
        let damaged = self.damaged_files(by_id.keys())?;
        pack::write(&self.path.join("objects/pack"), &by_id)?;
        for file in damaged {
            std::fs::remove_file(file)?;
        }
        Ok(())
    }

    /// Returns the files of those loose objects that cannot be read.
    fn damaged_files<'o>(
        &self,
        objects: impl Iterator<Item = &'o Oid>,
    ) -> std::result::Result<Vec<PathBuf>, crate::error::Cause> {
        let odb = self.git.odb()?;
        let mut damaged = Vec::new();
        for oid in objects {
            let file = self.loose_file(*oid);
            if file.try_exists()? && odb.read(*oid).is_err() {
                damaged.push(file);
            }
        }
        Ok(damaged)
    }

    fn loose_file(&self, oid: Oid) -> PathBuf {
        let name = oid.to_string();
        self.path.join("objects").join(&name[..2]).join(&name[2..])
    }
}
