//! Writes a session log: entries to its file, and the file to the disk. After the first error,
//! nothing more is written to it.

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use engine::failpoint;
use engine::fault::Faults;
use engine::session::{EntryIds, SessionMove, SessionTree};
use group_log::LockedFile;
use protocol::{EntryId, SessionEntry, Timestamp};

use super::blobs::BlobFolder;
use super::error::LogCause;
use super::journal::{Appended, SessionJournal};
use super::line;
use super::open::{Durability, create};

/// An open and locked log. Dropping it releases the lock.
#[derive(Debug)]
pub(super) struct LogWriter {
    pub(super) path: PathBuf,
    /// The file; `None` until something is worth to be kept. Until then, what is written waits in
    /// `kept`.
    pub(super) file: Option<LockedFile>,
    pub(super) ids: EntryIds,
    /// The entries, without what they say.
    pub(super) tree: SessionTree<()>,
    /// How its entries become durable.
    pub(super) kept: Kept,
    /// Whether the name of the file is durable.
    pub(super) name: FileName,
    /// The journal; `None` until the log is in use, and where there can be none.
    pub(super) journal: Option<Arc<SessionJournal>>,
    /// Where large content is kept whole; `None` where it is only cut.
    pub(super) blobs: Option<BlobFolder>,
    /// When its messages are synced.
    pub(super) durability: Durability,
    /// The first error; nothing is written after it.
    pub(super) failed: Option<LogCause>,
}

/// How the entries of a log become durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// The file may hold what no sync has made durable, and the name of the file may not be durable:
    /// both are synced once.
    Unsynced,
    /// All of the file is durable but these last bytes.
    UpTo { durable: u64, rest: String },
}

/// Whether the name of a file is durable in its folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileName {
    /// A power cut may take it.
    Unsynced,
    /// It is there to stay.
    Durable,
}

/// What is added to a log.
#[derive(Clone, Debug)]
pub(super) enum Addition {
    /// An entry after the last one.
    Entry(SessionEntry),
    /// A move to another entry.
    Move(SessionMove),
}

/// The step that has to follow the writing of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// No step: the entry is synced with the next message.
    Nothing,
    /// The file has to be synced.
    Sync,
}

impl Due {
    fn after(entry: &SessionEntry) -> Self {
        match entry {
            SessionEntry::Message { .. }
            | SessionEntry::CustomMessage { .. }
            | SessionEntry::Compaction { .. }
            | SessionEntry::BranchSummary { .. }
            | SessionEntry::Leaf {} => Self::Sync,
            SessionEntry::SessionInit { .. }
            | SessionEntry::ModelChange { .. }
            | SessionEntry::ThinkingLevelChange { .. }
            | SessionEntry::ServiceTierChange { .. }
            | SessionEntry::Custom { .. }
            | SessionEntry::Label { .. }
            | SessionEntry::ModeChange { .. }
            | SessionEntry::TtsrInjection { .. }
            | SessionEntry::McpToolSelection { .. }
            | SessionEntry::SessionInfo { .. }
            | SessionEntry::TitleChange { .. }
            | SessionEntry::Unknown(_) => Self::Nothing,
        }
    }
}

impl LogWriter {
    /// Writes an entry. Returns its id.
    pub(super) fn write(
        &mut self,
        faults: &Faults,
        at: Timestamp,
        addition: &Addition,
    ) -> Result<(EntryId, Due), LogCause> {
        if let Some(trouble) = &self.failed {
            return Err(trouble.clone());
        }
        let moved;
        let entry = match addition {
            Addition::Entry(entry) => entry,
            Addition::Move(to) => {
                moved = to.clone().begin(&mut self.tree)?;
                &moved
            }
        };
        self.add(faults, at, entry).map_err(|trouble| self.fail(trouble))
    }

    fn add(
        &mut self,
        faults: &Faults,
        at: Timestamp,
        entry: &SessionEntry,
    ) -> Result<(EntryId, Due), LogCause> {
        failpoint!(faults, "session.append")?;
        let id = self.ids.generate();
        let line = line::entry(&id, self.tree.leaf_id(), at, entry, self.blobs.as_ref())?;
        // A line is JSON, which is UTF-8.
        let line = String::from_utf8_lossy(&line);
        let due = Due::after(entry);
        if let Kept::UpTo { rest, .. } = &mut self.kept {
            rest.push_str(&line);
        }
        match (&mut self.file, &self.kept) {
            (Some(file), _) => file.write_all(line.as_bytes())?,
            (None, Kept::UpTo { rest, .. }) if due == Due::Sync => {
                let file = self.file.insert(create(&self.path)?);
                file.write_all(rest.as_bytes())?;
            }
            (None, Kept::UpTo { .. } | Kept::Unsynced) => {}
        }
        self.tree.append(id.clone(), at, ());
        if self.durability == Durability::Written && self.file.is_some() {
            // Nobody waits for a sync, so nothing is kept for one.
            self.kept = Kept::Unsynced;
            return Ok((id, Due::Nothing));
        }
        Ok((id, due))
    }

    /// Returns what has to be written to the journal, with the journal; `None` if the file has to be
    /// synced instead: a log that is open alone shares its syncs with no other.
    pub(super) fn take_unjournaled(
        &mut self,
        faults: &Faults,
    ) -> Result<Option<(Arc<SessionJournal>, Appended)>, LogCause> {
        if let Some(trouble) = &self.failed {
            return Err(trouble.clone());
        }
        failpoint!(faults, "session.sync").map_err(|error| self.fail(error.into()))?;
        let (Kept::UpTo { durable, rest }, Some(journal)) = (&mut self.kept, &self.journal) else {
            return Ok(None);
        };
        if Arc::strong_count(journal) <= ALONE {
            return Ok(None);
        }
        let (offset, lines) = (*durable, std::mem::take(rest));
        *durable += lines.len() as u64;
        let log = journal.name_of(&self.path);
        Ok(Some((Arc::clone(journal), Appended { log, offset, lines })))
    }

    /// Syncs the file, and the folders that hold its name.
    pub(super) fn sync(&mut self) -> Result<(), LogCause> {
        let Some(file) = &self.file else { return Ok(()) };
        file.sync_data()?;
        if self.name == FileName::Unsynced {
            let folders = self.path.ancestors().skip(1).take(2);
            for folder in folders.filter(|folder| !folder.as_os_str().is_empty()) {
                File::open(folder)?.sync_all()?;
            }
            self.name = FileName::Durable;
        }
        let durable = file.metadata()?.len();
        self.kept = Kept::UpTo { durable, rest: String::new() };
        Ok(())
    }

    /// Stores the first error of the log, and returns it.
    pub(super) fn fail(&mut self, trouble: LogCause) -> LogCause {
        tracing::error!(path = %self.path.display(), %trouble, "a session log was not written");
        self.failed = Some(trouble.clone());
        trouble
    }
}

/// How many hold a journal while a batch is written if only one log uses it: the log and the batch.
const ALONE: usize = 2;

/// Returns whether a log is open alone below its folder, and nothing that was asked for earlier is
/// still to be written.
pub(super) fn is_alone(writing: &Arc<Mutex<LogWriter>>) -> bool {
    // A request has a handle of its own.
    Arc::strong_count(writing) == 1
        && locked(writing).journal.as_ref().is_some_and(|journal| Arc::strong_count(journal) == 1)
}

/// Writes an entry to a log that is open alone, and syncs the file if that is due.
pub(super) fn write_alone(
    writing: &Arc<Mutex<LogWriter>>,
    faults: &Faults,
    at: Timestamp,
    addition: &Addition,
) -> Result<EntryId, LogCause> {
    let mut writing = locked(writing);
    let (id, due) = writing.write(faults, at, addition)?;
    if due == Due::Sync {
        let reached = failpoint!(faults, "session.sync").map_err(LogCause::from);
        reached.and_then(|()| writing.sync()).map_err(|trouble| writing.fail(trouble))?;
    }
    Ok(id)
}

pub(super) fn locked(writing: &Arc<Mutex<LogWriter>>) -> MutexGuard<'_, LogWriter> {
    writing.lock().unwrap_or_else(PoisonError::into_inner)
}
