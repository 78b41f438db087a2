//! A session log that is open: writes lines and makes them durable, and stops at the first that
//! fails.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use engine::fault::Faults;
use protocol::{SessionEntry, Timestamp};

use super::ids::Ids;
use super::line;
use super::trouble::Trouble;

/// A log that is open and locked. Dropping it gives the lock back.
#[derive(Debug)]
pub(super) struct Writing {
    pub(super) path: PathBuf,
    pub(super) file: File,
    pub(super) ids: Ids,
    /// The last entry.
    pub(super) leaf: Option<String>,
    /// Whether the file's name will be found after a power cut.
    pub(super) name: Name,
    /// What went wrong; nothing is written after that.
    pub(super) failed: Option<Trouble>,
}

/// Whether a file's name is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    Durable,
    Fresh,
}

/// What is left to do once an entry is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// Nothing: it is with the next message.
    Nothing,
    /// It has to be made durable, with all entries before it.
    Sync,
}

impl Writing {
    /// Adds an entry.
    pub(super) fn write(
        &mut self,
        faults: &Faults,
        at: Timestamp,
        entry: &SessionEntry,
    ) -> Result<Due, Trouble> {
        if let Some(trouble) = &self.failed {
            return Err(trouble.clone());
        }
        self.add(faults, at, entry).map_err(|trouble| self.fail(trouble))
    }

    fn add(
        &mut self,
        faults: &Faults,
        at: Timestamp,
        entry: &SessionEntry,
    ) -> Result<Due, Trouble> {
        faults.strike("session.append")?;
        let id = self.ids.next();
        let line = line::entry(&id, self.leaf.as_deref(), at, entry)?;
        self.file.write_all(&line)?;
        self.leaf = Some(id);
        Ok(match entry {
            SessionEntry::Message { .. } => Due::Sync,
            SessionEntry::SessionInit { .. } | SessionEntry::ModelChange { .. } => Due::Nothing,
        })
    }

    /// Makes what was written durable, but for the file's name.
    pub(super) fn sync(&mut self, faults: &Faults) -> Result<(), Trouble> {
        if let Some(trouble) = &self.failed {
            return Err(trouble.clone());
        }
        let synced = faults.strike("session.sync").and_then(|()| self.file.sync_data());
        synced.map_err(|error| self.fail(error.into()))
    }

    /// Returns the folders that have to be synced for the file's name to be found again.
    pub(super) fn fresh_folders(&self) -> Vec<PathBuf> {
        match self.name {
            Name::Durable => Vec::new(),
            Name::Fresh => {
                let folders = self.path.ancestors().skip(1).take(2);
                folders
                    .filter(|folder| !folder.as_os_str().is_empty())
                    .map(Path::to_owned)
                    .collect()
            }
        }
    }

    /// Notes that the file's name is durable.
    pub(super) fn settle(&mut self) {
        self.name = Name::Durable;
    }

    /// Notes what went wrong, and returns it.
    pub(super) fn fail(&mut self, trouble: Trouble) -> Trouble {
        tracing::error!(path = %self.path.display(), %trouble, "a session log was not written");
        self.failed = Some(trouble.clone());
        trouble
    }
}
