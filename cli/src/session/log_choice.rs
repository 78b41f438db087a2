//! The log of a session: a new one, one that is continued, or a copy of one.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use engine::ports::SessionHeader;
use protocol::{ModelRoute, SessionId, ThinkingLevel, Timestamp};
use store::{
    Breadcrumbs, FoundSession, LoadedSession, SessionInfo, SessionPlaces, fork, list_sessions,
    new_log_path,
};

use crate::app_context::AppContext;
use crate::args::LaunchArgs;
use crate::error::{Error, ErrorKind};
use crate::render::one_line;

/// The log of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChosenLog {
    /// Its path. A log that is only in memory has one, too, at which there is no file.
    pub(crate) path: PathBuf,
    /// Where the log is.
    pub(crate) storage: LogStorage,
    /// The id of a new session, which is part of the name of its file.
    pub(crate) id: Option<SessionId>,
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
        let all = given.is_none().then(|| app.places.all_sessions());
        let own = given.unwrap_or_else(|| app.places.sessions_of(folder));
        let tty = rustix::termios::ttyname(io::stdin(), Vec::new()).ok();
        let tty = tty.map(|name| PathBuf::from(name.to_string_lossy().into_owned()));
        let variable = |name: &str| std::env::var(name).ok();
        let breadcrumbs =
            Breadcrumbs::of_terminal(&app.places.terminal_sessions(), tty.as_deref(), variable);
        let places = SessionPlaces { cwd: folder.to_owned(), own, all };
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
                FoundSession::Here(path) => path,
                FoundSession::Elsewhere(info) => info.path,
                FoundSession::Nothing => return Err(not_found(name)),
            };
            return self.fork(&from);
        }
        if let Some(Some(name)) = &args.resume {
            return match self.places.find(name).map_err(|error| failed(&error))? {
                FoundSession::Here(path) => Self::continued(path),
                FoundSession::Elsewhere(info) => self.of_other_folder(name, &info),
                FoundSession::Nothing => Err(not_found(name)),
            };
        }
        if args.continues {
            let found = self.places.most_recent(&self.breadcrumbs);
            if let Some(path) = found.map_err(|error| failed(&error))? {
                return Self::continued(path);
            }
        }
        let storage = if args.no_session { LogStorage::Memory } else { LogStorage::File };
        let id = SessionId::generate();
        let (path, id) = (self.new_path(id), Some(id));
        Ok(ChosenLog { path, storage, id, model: None, thinking: None, created: None })
    }

    /// Lists the sessions of the folder, and asks which one to continue if there is a terminal.
    /// Returns `None` if there is none, or none was chosen.
    ///
    /// # Errors
    /// The sessions cannot be read.
    pub(crate) fn pick(&self, out: &mut dyn io::Write) -> Result<Option<ChosenLog>, Error> {
        let sessions = list_sessions(&self.places.own).map_err(|error| {
            Error::new(ErrorKind::Machine, "cannot read the sessions").caused_by(&error)
        })?;
        let written = |written: io::Result<()>| written.map_err(|error| Error::output(&error));
        if sessions.is_empty() {
            written(writeln!(out, "No sessions found"))?;
            return Ok(None);
        }
        for (at, session) in sessions.iter().enumerate() {
            written(writeln!(out, "{:>3}  {}", at + 1, line_of(session)))?;
        }
        if !(io::stdin().is_terminal() && io::stdout().is_terminal()) {
            return Ok(None);
        }
        written(write!(out, "Which one? ").and_then(|()| out.flush()))?;
        let mut answer = String::new();
        let read = io::stdin().lock().read_line(&mut answer);
        let number = read.ok().and_then(|_| answer.trim().parse::<usize>().ok());
        let chosen = number.and_then(|number| sessions.get(number.checked_sub(1)?));
        match chosen {
            Some(session) => Self::continued(session.path.clone()).map(Some),
            None => {
                written(writeln!(out, "No session selected"))?;
                Ok(None)
            }
        }
    }

    /// Remembers that this terminal used the session at `log` last.
    pub(crate) fn remember(&self, log: &ChosenLog) {
        if log.storage == LogStorage::File {
            self.breadcrumbs.remember(&self.places.cwd, &log.path);
        }
    }

    fn new_path(&self, id: SessionId) -> PathBuf {
        new_log_path(&self.places.own, self.app.clock.now(), id)
    }

    fn continued(path: PathBuf) -> Result<ChosenLog, Error> {
        let failed = |why: String| {
            Error::usage(format!("cannot continue the session at {}", path.display())).because(why)
        };
        let session = LoadedSession::read(&path).map_err(|error| failed(error.to_string()))?;
        let mut session = session.ok_or_else(|| failed("it is no session".to_owned()))?;
        let context = session.context(None);
        let model = context.model().and_then(|model| model.parse().ok());
        let thinking = context.logged_thinking().flatten();
        let created = session.header.at;
        let (storage, id) = (LogStorage::File, None);
        Ok(ChosenLog { path, storage, id, model, thinking, created })
    }

    fn fork(&self, from: &Path) -> Result<ChosenLog, Error> {
        let (id, at) = (SessionId::generate(), self.app.clock.now());
        let header = SessionHeader { id, cwd: self.places.cwd.clone(), at, parent: None };
        let to = self.new_path(id);
        fork(from, &to, &header)
            .map_err(|error| Error::usage("cannot fork the session").caused_by(&error))?;
        Self::continued(to)
    }

    /// A session of another folder is not continued here; a terminal asks whether to fork it.
    fn of_other_folder(&self, name: &str, session: &SessionInfo) -> Result<ChosenLog, Error> {
        let cwd = session.cwd.display();
        if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
            return Err(Error::usage(format!("session `{name}` is in another project ({cwd})"))
                .hint(format!("regatta --fork {name} …, which goes on with a copy here")));
        }
        let mut stderr = io::stderr();
        let _unread = write!(
            stderr,
            "Session `{name}` is in another project ({}). Fork into current directory? [y/N] ",
            one_line(&cwd.to_string())
        );
        let mut answer = String::new();
        let _end = io::stdin().lock().read_line(&mut answer);
        if matches!(answer.trim(), "y" | "Y" | "yes") {
            return self.fork(&session.path);
        }
        Err(Error::usage("no session was selected"))
    }
}

fn not_found(name: &str) -> Error {
    Error::usage(format!("session `{name}` was not found"))
        .hint("regatta --resume, which lists the sessions of this folder")
}

/// Returns the line of a session in a list: the beginning of its id, when it was changed, and its
/// title or first prompt.
fn line_of(session: &SessionInfo) -> String {
    let id: String = session.id.chars().take(13).collect();
    let age = session.modified.elapsed().unwrap_or_default().as_secs();
    let title = session.title.as_deref().or(session.first_prompt.as_deref());
    let title: String = one_line(title.unwrap_or("(no prompt)")).chars().take(60).collect();
    format!("{}  {:>8}  {title}", one_line(&id), age_text(age))
}

fn age_text(seconds: u64) -> String {
    match seconds {
        0..60 => "just now".to_owned(),
        60..3_600 => format!("{}m ago", seconds / 60),
        3_600..86_400 => format!("{}h ago", seconds / 3_600),
        _ => format!("{}d ago", seconds / 86_400),
    }
}
