//! Gathers the objects of one capture in memory, and writes them to the journal as one record. Of a
//! large capture, most are written as packs meanwhile.

use std::io;

use git2::{ObjectType, Oid};
use group_log::Announced;

use crate::error::{OrCannot, Result};
use crate::file_entry::Entry;
use crate::store::journal::Record;
use crate::store::objects::{Added, Objects};
use crate::store::{Durability, Journal, MANY_OBJECTS, TaskStore, sync};

/// The objects of a capture that is being made.
pub(crate) struct Gathering {
    journal: Journal,
    announced: Announced,
    objects: Objects,
}

impl TaskStore {
    /// Gathers the objects of one capture in memory from now on, until it is written.
    pub(crate) fn begin_capture(&self, journal: &Journal) {
        let announced = journal.announce();
        let objects = Objects::default();
        *self.gathering.borrow_mut() =
            Some(Gathering { journal: journal.clone(), announced, objects });
    }

    /// Writes an object to memory if a capture is being made and is small, else to the store.
    pub(super) fn write_object(
        &self,
        kind: ObjectType,
        bytes: Vec<u8>,
    ) -> std::result::Result<Oid, git2::Error> {
        let mut gathering = self.gathering.borrow_mut();
        let bytes = match gathering.as_mut() {
            None => bytes,
            Some(gathered) => match gathered.objects.add(kind, bytes)? {
                Added::Held(oid) => return Ok(oid),
                Added::TooLarge(bytes) => {
                    self.write_all(std::mem::take(&mut gathered.objects))?;
                    match gathered.objects.add(kind, bytes)? {
                        Added::Held(oid) => return Ok(oid),
                        Added::TooLarge(bytes) => bytes,
                    }
                }
            },
        };
        self.write_loose(kind, &bytes)
    }

    /// Writes objects to the store: a few large ones as files, many as a pack, which is durable.
    fn write_all(&self, objects: Objects) -> std::result::Result<(), git2::Error> {
        let objects = objects.into_list();
        if objects.len() > MANY_OBJECTS {
            return self
                .write_pack(objects)
                .map_err(|error| git2::Error::from_str(&error.to_string()));
        }
        for (kind, bytes) in objects {
            self.write_loose(kind, &bytes)?;
        }
        Ok(())
    }

    /// Returns the bytes of an object in memory.
    pub(super) fn gathered(&self, oid: Oid) -> Option<Vec<u8>> {
        let gathering = self.gathering.borrow();
        gathering.as_ref()?.objects.get(oid).map(<[u8]>::to_vec)
    }

    /// Makes `reference` durably point at a commit with `entries`: in the journal if the capture is
    /// small, else in git's format.
    pub(super) fn write_capture(
        &self,
        reference: &str,
        entries: &[(Vec<u8>, Entry)],
        message: &str,
    ) -> Result<()> {
        let what = || format!("write {reference} to the task store {}", self.path.display());
        let commit = self.write_commit(entries, message, &mut Vec::new()).or_cannot(what)?;
        let Some(gathered) = self.gathering.borrow_mut().take() else {
            // A smaller capture of the same name in the journal must not replace this one later.
            self.settle()?;
            return self.write_reference(reference, entries, message, Durability::Synced);
        };
        let Gathering { journal, announced, objects } = gathered;
        // Content that was in the store before, as the pins of the snapshot are.
        let others = entries.iter().map(|(_, entry)| entry.oid);
        let others: Vec<Oid> = others.filter(|oid| !objects.has(*oid)).collect();
        if !others.is_empty() {
            sync::sync_objects(&self.path, others).or_cannot(what)?;
        }
        let objects = objects.into_list();
        let record = Record { reference: reference.to_owned(), commit, objects };
        match announced.append(&record.encode()) {
            Ok(()) if journal.is_large() => self.settle(),
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                self.add_loose(vec![record], &self.faults)
            }
            Err(error) => Err(error).or_cannot(what),
        }
    }
}
