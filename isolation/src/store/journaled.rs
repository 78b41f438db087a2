//! Reads captures that are in the journal of a task store, without moving them into git's format.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use git2::{Commit, ErrorCode, Oid, Repository};

use crate::error::{OrCannot, Result};
use crate::repository::open_bare;
use crate::store::TaskStore;
use crate::store::journal::open_records;

/// The priority of the objects in memory, before those on the disk.
const FIRST: i32 = 1_000;

/// The captures that were in the journal when it was read.
pub(crate) struct Journaled {
    /// The store, with their objects in memory. Nothing is written to it.
    git: Repository,
    references: BTreeMap<String, Oid>,
}

impl TaskStore {
    /// Returns the store in which the captures that are in the journal now can be read where they are.
    /// Those that are written later cannot.
    pub(crate) fn with_journal(self) -> Result<Self> {
        self.journaled()?;
        Ok(self)
    }

    /// Gives up the store, and keeps what was read from its journal.
    pub(crate) fn into_journaled(self) -> Option<Journaled> {
        self.journaled.into_inner().flatten()
    }

    /// Returns the store in which also those captures can be read that were in the journal before.
    pub(crate) fn with_journaled(mut self, journaled: Option<Journaled>) -> Self {
        self.journaled = OnceCell::from(journaled);
        self
    }

    /// Reads the journal, once.
    fn journaled(&self) -> Result<Option<&Journaled>> {
        if self.journaled.get().is_none() {
            let read = self.read_journal()?;
            let _read_once = self.journaled.set(read);
        }
        Ok(self.journaled.get().and_then(Option::as_ref))
    }

    fn read_journal(&self) -> Result<Option<Journaled>> {
        let what = || format!("read the journal of the task store {}", self.path.display());
        let Some(journal) = open_records(&self.path)? else { return Ok(None) };
        let git = open_bare(&self.path).or_cannot(what)?;
        let mut references = BTreeMap::new();
        {
            let odb = git.odb().or_cannot(what)?;
            odb.add_new_mempack_backend(FIRST).or_cannot(what)?;
            for record in &journal.records {
                for (kind, bytes) in &record.objects {
                    odb.write(*kind, bytes).or_cannot(what)?;
                }
                references.insert(record.reference.clone(), record.commit);
            }
        }
        Ok(Some(Journaled { git, references }))
    }

    /// Makes all captures readable: those in the journal where they are if that was asked for, else in
    /// git's format.
    pub(super) fn make_readable(&self) -> Result<()> {
        match self.journaled.get() {
            Some(_) => Ok(()),
            None => self.settle(),
        }
    }

    /// Returns the repository in which everything can be read that is known.
    pub(super) fn reader(&self) -> &Repository {
        self.journaled.get().and_then(Option::as_ref).map_or(&self.git, |journaled| &journaled.git)
    }

    /// Returns the commit of a capture.
    pub(super) fn commit_of(
        &self,
        reference: &str,
    ) -> std::result::Result<Commit<'_>, git2::Error> {
        let journaled = self.journaled.get().and_then(Option::as_ref);
        // A capture in the journal replaces an earlier one of the same name.
        match journaled.and_then(|journaled| journaled.references.get(reference)) {
            Some(commit) => self.reader().find_commit(*commit),
            None => self.reader().find_reference(reference)?.peel_to_commit(),
        }
    }

    /// Reads the bytes of a blob, also if its capture is only in the journal.
    pub(super) fn read_blob(&self, oid: Oid) -> Result<std::result::Result<Vec<u8>, git2::Error>> {
        let read = |git: &Repository| git.find_blob(oid).map(|blob| blob.content().to_vec());
        match read(self.reader()) {
            Err(error) if error.code() == ErrorCode::NotFound => match self.journaled()? {
                Some(journaled) => Ok(read(&journaled.git)),
                None => Ok(Err(error)),
            },
            found => Ok(found),
        }
    }
}
