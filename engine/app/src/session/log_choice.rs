//! The sessions of a folder, and the log of a session: a new one, one that is continued, or a copy of one.

use std::path::{Path, PathBuf};

use engine::ports::SessionHeader;
use engine::session::MemorySessionLogs;
use protocol::{ModelRoute, SessionId, ThinkingLevel, Timestamp};
use store::{Breadcrumbs, LoadedSession, SessionPlaces, fork, new_log_path};

use super::task_sessions::TaskSession;
use crate::app_context::AppContext;
use crate::error::Error;

/// The log of a session.
#[derive(Clone, Debug)]
pub struct ChosenLog {
    /// Its path. A log that is only in memory has one, too, at which there is no file.
    pub path: PathBuf,
    /// Where the log is.
    pub storage: LogStorage,
    /// The id of a new session, which is part of the name of its file.
    pub id: Option<SessionId>,
    /// The name of the session.
    pub name: Option<String>,
    /// The model with which the session was continued last.
    pub model: Option<ModelRoute>,
    /// How much it thought then.
    pub thinking: Option<ThinkingLevel>,
    /// When the session began, if it is continued and its log says so.
    pub created: Option<Timestamp>,
}

/// Where the log of a session is.
#[derive(Clone, Debug)]
pub enum LogStorage {
    /// In a file.
    File,
    /// In memory only. Who has a clone can open the session again.
    Memory(MemorySessionLogs),
}

impl LogStorage {
    /// Returns new logs in memory.
    #[must_use]
    pub fn in_memory() -> Self {
        Self::Memory(MemorySessionLogs::default())
    }

    /// Returns whether the log is in memory only.
    #[must_use]
    pub fn is_in_memory(&self) -> bool {
        matches!(self, Self::Memory(_))
    }

    /// Returns storage of the same kind for another session.
    #[must_use]
    pub fn for_another(&self) -> Self {
        match self {
            Self::File => Self::File,
            Self::Memory(_) => Self::in_memory(),
        }
    }
}

/// The sessions of a folder, and the terminal that is used.
pub struct Sessions<'a> {
    app: &'a AppContext,
    places: SessionPlaces,
    breadcrumbs: Breadcrumbs,
}

impl<'a> Sessions<'a> {
    /// Returns the sessions that work in `folder`. Their logs are in `logs`, if it is given, or else in the
    /// data folder of the user.
    #[must_use]
    pub fn of(
        app: &'a AppContext,
        logs: Option<&Path>,
        folder: &Path,
        breadcrumbs: Breadcrumbs,
    ) -> Self {
        let logs = logs.map(|it| std::path::absolute(it).unwrap_or_else(|_unknown| it.to_owned()));
        let places = match logs {
            Some(logs) => SessionPlaces::in_folder(logs, folder.to_owned()),
            None => SessionPlaces::below(app.places.all_sessions(), folder.to_owned()),
        };
        Self { app, places, breadcrumbs }
    }

    /// Returns the session of the task that `name` means.
    pub fn of_task(&self, name: &str) -> Option<TaskSession> {
        TaskSession::find(&self.app.places, &self.app.ledger.reader(), name)
    }

    /// Returns the log of a new session.
    pub fn new_log(&self, storage: LogStorage) -> ChosenLog {
        let id = SessionId::generate();
        let (path, id) = (self.new_path(id), Some(id));
        ChosenLog { path, storage, id, name: None, model: None, thinking: None, created: None }
    }

    /// Returns where the sessions of the working folder are.
    pub fn places(&self) -> &SessionPlaces {
        &self.places
    }

    /// Returns the session that this terminal used last, or else the last one of the folder.
    ///
    /// # Errors
    /// The sessions cannot be read.
    pub fn most_recent(&self) -> std::io::Result<Option<PathBuf>> {
        self.places.most_recent(&self.breadcrumbs)
    }

    /// Remembers that this terminal used the session at `log` last.
    pub fn remember(&self, log: &ChosenLog) {
        if !log.storage.is_in_memory() {
            self.breadcrumbs.remember(self.places.cwd(), &log.path);
        }
    }

    /// Returns the path of the log of a new session.
    pub fn new_path(&self, id: SessionId) -> PathBuf {
        new_log_path(self.places.new_folder(), self.app.clock.now(), id)
    }

    /// Returns the log of a session that is continued.
    ///
    /// # Errors
    /// It cannot be read, or is not a session.
    pub fn continued(path: PathBuf) -> Result<ChosenLog, Error> {
        let failed = |why: String| {
            Error::usage(format!("cannot continue the session at {}", path.display())).because(why)
        };
        let session = LoadedSession::read(&path).map_err(|error| failed(error.to_string()))?;
        let mut session = session.ok_or_else(|| failed("it is not a session".to_owned()))?;
        let context = session.context(None);
        let model = context.model().and_then(|model| model.parse().ok());
        let thinking = context.logged_thinking().flatten();
        let (created, name) = (session.header.at, session.name());
        let (storage, id) = (LogStorage::File, None);
        Ok(ChosenLog { path, storage, id, name, model, thinking, created })
    }

    /// Copies a session, and returns the log of the copy.
    ///
    /// # Errors
    /// It cannot be read, or not be copied.
    pub fn fork(&self, from: &Path) -> Result<ChosenLog, Error> {
        let (id, at) = (SessionId::generate(), self.app.clock.now());
        let header = SessionHeader { id, cwd: self.places.cwd().to_owned(), at, parent: None };
        let to = self.new_path(id);
        fork(from, &to, &header)
            .map_err(|error| Error::usage("cannot fork the session").caused_by(&error))?;
        Self::continued(to)
    }
}

#[cfg(test)]
mod tests {
    use protocol::{Message, SessionEntry};

    use super::*;

    #[test]
    async fn a_session_in_memory_can_be_opened_again_by_who_has_its_logs_and_else_it_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let app = AppContext::open_in(folder.path()).unwrap();
        let open = async |storage: &LogStorage| {
            let (id, at, cwd) = (SessionId::generate(), app.clock.now(), folder.path().to_owned());
            let header = SessionHeader { id, cwd, at, parent: None };
            let logs = app.session_logs(storage.clone());
            logs.open(Path::new("/memory/log.jsonl"), header).await.unwrap()
        };
        let storage = LogStorage::in_memory();
        let mut opened = open(&storage).await;
        let said = SessionEntry::message(Message::user("hi", app.clock.now()));
        opened.log.append(app.clock.now(), said).await.unwrap();
        drop(opened);
        assert_eq!(open(&storage).await.context.messages.len(), 1);
        for other in [storage.for_another(), LogStorage::in_memory()] {
            assert_eq!(open(&other).await.context.messages.len(), 0);
        }
    }
}
