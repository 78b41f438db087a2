//! A session log that is open: writes lines and makes them durable, and stops at the first that
//! fails.

use std::fs::File;
use std::io::{self, Write};
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

impl Writing {
    /// Adds an entry. A message is durable when this returns, and all entries before it are.
    pub(super) fn append(
        &mut self,
        faults: &Faults,
        at: Timestamp,
        entry: &SessionEntry,
    ) -> Result<(), Trouble> {
        if let Some(trouble) = &self.failed {
            return Err(trouble.clone());
        }
        let added = self.add(faults, at, entry);
        if let Err(trouble) = &added {
            tracing::error!(path = %self.path.display(), %trouble, "a session log was not written");
            self.failed = Some(trouble.clone());
        }
        added
    }

    fn add(&mut self, faults: &Faults, at: Timestamp, entry: &SessionEntry) -> Result<(), Trouble> {
        faults.strike("session.append")?;
        let id = self.ids.next();
        let line = line::entry(&id, self.leaf.as_deref(), at, entry)?;
        self.file.write_all(&line)?;
        self.leaf = Some(id);
        match entry {
            SessionEntry::Message { .. } => Ok(self.sync()?),
            SessionEntry::SessionInit { .. } | SessionEntry::ModelChange { .. } => Ok(()),
        }
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()?;
        if self.name == Name::Fresh {
            let folders = self.path.ancestors().skip(1).take(2);
            folders.filter(|folder| !folder.as_os_str().is_empty()).try_for_each(sync_folder)?;
            self.name = Name::Durable;
        }
        Ok(())
    }
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
