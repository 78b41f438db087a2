//! Session logs in memory, for sessions that nobody wants to keep.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use protocol::{EntryId, FailureClass, SessionEntry, SessionId, Timestamp};

use super::context::{PathEntry, SessionContext, build_context};
use super::entry_ids::EntryIds;
use super::moves::{MovePreview, Moved, SessionMove};
use super::tree::SessionTree;
use crate::ports::{OpenedLog, SessionHeader, SessionLog, SessionLogError, SessionLogs};

/// Session logs in memory. A clone has the same logs. They are freed with the last clone and open log.
#[derive(Clone, Default)]
pub struct MemorySessionLogs(Arc<Mutex<BTreeMap<PathBuf, MemoryLog>>>);

impl fmt::Debug for MemorySessionLogs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemorySessionLogs").finish_non_exhaustive()
    }
}

struct MemoryLog {
    session: SessionId,
    tree: SessionTree<SessionEntry>,
    /// How often it was opened. Only who opened it last can write.
    opened: u64,
}

struct OpenMemoryLog {
    logs: MemorySessionLogs,
    path: PathBuf,
    ids: EntryIds,
    /// The number of this opening.
    number: u64,
}

impl MemorySessionLogs {
    /// Returns the entries of the log at `path` in their order.
    #[must_use]
    pub fn entries(&self, path: &Path) -> Vec<SessionEntry> {
        let logs = self.logs();
        let nodes = logs.get(path).map(|log| log.tree.nodes()).unwrap_or_default();
        nodes.iter().map(|node| node.body.clone()).collect()
    }

    /// Returns the ids of the entries of the log at `path`, in the same order.
    #[must_use]
    pub fn ids(&self, path: &Path) -> Vec<EntryId> {
        let logs = self.logs();
        let nodes = logs.get(path).map(|log| log.tree.nodes()).unwrap_or_default();
        nodes.iter().map(|node| node.id.clone()).collect()
    }

    /// Returns the paths of all logs.
    #[must_use]
    pub fn paths(&self) -> Vec<PathBuf> {
        self.logs().keys().cloned().collect()
    }

    fn logs(&self) -> MutexGuard<'_, BTreeMap<PathBuf, MemoryLog>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MemoryLog {
    fn context(&self) -> SessionContext {
        let path = self.tree.path().into_iter().map(|place| {
            let node = &self.tree.nodes()[place];
            PathEntry { id: &node.id, at: node.at, entry: &node.body }
        });
        build_context(&path.collect::<Vec<_>>())
    }

    fn append(&mut self, id: EntryId, at: Timestamp, entry: SessionEntry) {
        if let SessionEntry::Label { target_id, label } = &entry {
            self.tree.set_label(target_id.clone(), label.clone());
        }
        self.tree.append(id, at, entry);
    }
}

#[async_trait]
impl SessionLogs for MemorySessionLogs {
    async fn open(&self, path: &Path, header: SessionHeader) -> Result<OpenedLog, SessionLogError> {
        let mut logs = self.logs();
        let log = logs.entry(path.to_owned()).or_insert_with(|| MemoryLog {
            session: header.id,
            tree: SessionTree::default(),
            opened: 0,
        });
        log.opened += 1;
        let ids = EntryIds::new(log.session, log.tree.nodes().iter().map(|node| &node.id));
        let (logs, path, number) = (self.clone(), path.to_owned(), log.opened);
        let open = OpenMemoryLog { logs, path, ids, number };
        let (session, context) = (log.session, log.context());
        Ok(OpenedLog { session, context, damage: Vec::new(), log: Box::new(open) })
    }
}

#[async_trait]
impl SessionLog for OpenMemoryLog {
    async fn append(
        &mut self,
        at: Timestamp,
        entry: SessionEntry,
    ) -> Result<EntryId, SessionLogError> {
        let id = self.ids.generate();
        self.change(|log| {
            log.append(id.clone(), at, entry);
            Ok(id)
        })
    }

    async fn preview(&mut self, target: Option<EntryId>) -> Result<MovePreview, SessionLogError> {
        self.change(|log| {
            let read = |place: usize| log.tree.nodes().get(place).map(|node| node.body.clone());
            Ok(MovePreview::of(&log.tree, target.as_ref(), read)?)
        })
    }

    async fn go_to(&mut self, at: Timestamp, to: SessionMove) -> Result<Moved, SessionLogError> {
        let id = self.ids.generate();
        self.change(|log| {
            let entry = to.begin(&mut log.tree)?;
            log.append(id.clone(), at, entry);
            Ok(Moved { entry: id, context: log.context() })
        })
    }
}

impl OpenMemoryLog {
    /// Changes the log, unless somebody else has opened it since.
    fn change<T>(
        &self,
        change: impl FnOnce(&mut MemoryLog) -> Result<T, Box<dyn Error + Send + Sync>>,
    ) -> Result<T, SessionLogError> {
        let mut logs = self.logs.logs();
        let log = logs.get_mut(&self.path).filter(|log| log.opened == self.number);
        let changed = match log {
            Some(log) => change(log),
            None => Err("another session has opened it".into()),
        };
        changed.map_err(|source| {
            let what = format!("write the session log at {}", self.path.display());
            SessionLogError { what, class: FailureClass::Crashed, source }
        })
    }
}
