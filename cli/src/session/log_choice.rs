//! The log of a session: a new one, one that is continued, or a copy of one.

use std::io;
use std::path::{Path, PathBuf};

use engine::ports::SessionHeader;
use protocol::{ModelRoute, SessionId, ThinkingLevel, Timestamp};
use store::{Breadcrumbs, FoundSession, LoadedSession, SessionPlaces, fork, new_log_path};

use super::task_sessions::TaskSession;
use crate::app_context::AppContext;
use crate::args::LaunchArgs;
use crate::error::{Error, ErrorKind};

/// The log of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChosenLog {
    /// Its path. A log that is only in memory has one, too, at which there is no file.
    pub(crate) path: PathBuf,
    /// Where the log is.
    pub(crate) storage: LogStorage,
    /// The id of a new session, which is part of the name of its file.
    pub(crate) id: Option<SessionId>,
    /// The name of the session.
    pub(crate) name: Option<String>,
    /// The model with which the session was continued last.
    pub(crate) model: Option<ModelRoute>,
    /// How much it thought then.
    pub(crate) thinking: Option<ThinkingLevel>,
    /// When the session began, if it is continued and its log says so.
    pub(crate) created: Option<Timestamp>,
}

/// Where the log of a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogStorage {
    /// In a file.
    File,
    /// In memory only.
    Memory,
}

/// The sessions of a folder, and the terminal that is used.
pub(crate) struct Sessions<'a> {
    app: &'a AppContext,
    places: SessionPlaces,
    breadcrumbs: Breadcrumbs,
}

impl<'a> Sessions<'a> {
    /// Returns the sessions that work in `folder`.
    pub(crate) fn of(app: &'a AppContext, args: &LaunchArgs, folder: &Path) -> Self {
        let given = args.session_dir.as_ref();
        let given = given.map(|it| std::path::absolute(it).unwrap_or_else(|_unknown| it.clone()));
        let places = match given {
            Some(given) => SessionPlaces::in_folder(given, folder.to_owned()),
            None => SessionPlaces::below(app.places.all_sessions(), folder.to_owned()),
        };
        let tty = rustix::termios::ttyname(io::stdin(), Vec::new()).ok();
        let tty = tty.map(|name| PathBuf::from(name.to_string_lossy().into_owned()));
        let variable = |name: &str| std::env::var(name).ok();
        let breadcrumbs =
            Breadcrumbs::of_terminal(&app.places.terminal_sessions(), tty.as_deref(), variable);
        Self { app, places, breadcrumbs }
    }

    /// Returns the log that the arguments ask for. Makes the copy of `--fork`.
    ///
    /// # Errors
    /// There is no such session, it is one of another folder, or it cannot be copied.
    pub(crate) fn choose(&self, args: &LaunchArgs) -> Result<ChosenLog, Error> {
        let failed = |error: &io::Error| {
            Error::new(ErrorKind::Machine, "cannot read the sessions").caused_by(error)
        };
        if let Some(name) = &args.fork {
            let from = match self.places.find(name).map_err(|error| failed(&error))? {
                FoundSession::Here(path) if path.exists() => path,
                FoundSession::Elsewhere(info) => info.path,
                FoundSession::Here(path) => self.of_task(name).map_or(path, |task| task.log),
                FoundSession::Nothing => self.of_task(name).ok_or_else(|| not_found(name))?.log,
            };
            return self.fork(&from);
        }
        if let Some(Some(name)) = &args.resume {
            return match self.places.find(name).map_err(|error| failed(&error))? {
                FoundSession::Here(path) if path.exists() => self.continued_or_copied(path),
                FoundSession::Elsewhere(info) => self.of_other_folder(name, &info),
                found => match (self.of_task(name), found) {
                    (Some(task), _) => Err(task.refused(name)),
                    (None, FoundSession::Here(path)) => self.continued_or_copied(path),
                    (None, _) => Err(not_found(name)),
                },
            };
        }
        if args.continues {
            let found = self.places.most_recent(&self.breadcrumbs);
            if let Some(path) = found.map_err(|error| failed(&error))? {
                return self.continued_or_copied(path);
            }
        }
        let storage = if args.no_session { LogStorage::Memory } else { LogStorage::File };
        Ok(self.new_log(storage))
    }

    /// Returns the session of the task that `name` means.
    pub(super) fn of_task(&self, name: &str) -> Option<TaskSession> {
        TaskSession::find(&self.app.places, &self.app.ledger.reader(), name)
    }

    /// Returns the log of a new session.
    pub(super) fn new_log(&self, storage: LogStorage) -> ChosenLog {
        let id = SessionId::generate();
        let (path, id) = (self.new_path(id), Some(id));
        ChosenLog { path, storage, id, name: None, model: None, thinking: None, created: None }
    }

    /// Returns where the sessions of the working folder are.
    pub(super) fn places(&self) -> &SessionPlaces {
        &self.places
    }

    /// Remembers that this terminal used the session at `log` last.
    pub(crate) fn remember(&self, log: &ChosenLog) {
        if log.storage == LogStorage::File {
            self.breadcrumbs.remember(self.places.cwd(), &log.path);
        }
    }

    pub(super) fn new_path(&self, id: SessionId) -> PathBuf {
        new_log_path(self.places.new_folder(), self.app.clock.now(), id)
    }

    pub(super) fn continued(path: PathBuf) -> Result<ChosenLog, Error> {
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

    pub(super) fn fork(&self, from: &Path) -> Result<ChosenLog, Error> {
        let (id, at) = (SessionId::generate(), self.app.clock.now());
        let header = SessionHeader { id, cwd: self.places.cwd().to_owned(), at, parent: None };
        let to = self.new_path(id);
        fork(from, &to, &header)
            .map_err(|error| Error::usage("cannot fork the session").caused_by(&error))?;
        Self::continued(to)
    }
}

fn not_found(name: &str) -> Error {
    Error::usage(format!("session `{name}` was not found"))
        .hint("regatta --resume (lists the sessions of this folder)")
}
