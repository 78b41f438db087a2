//! The sessions that a conversation on the terminal can go on with, and how they are opened.

use std::path::{Path, PathBuf};

use actors::{Answerer, ChosenMode, Engine, OpenSessionError, ToolSetup};
use engine::ports::SessionHeader;
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use protocol::{ModelRoute, SessionId};
use store::{BlobFolder, FoundSession, LoadedSession, SessionInfo, branch, is_log_open};

use super::conversation_ports::SessionPorts;
use super::earlier::earlier;
use super::log_choice::sessions_in;
use super::log_question::{age_of, title_of};
use super::session_tree::{prompt_named, tree_rows};
use super::setup::{SessionPlace, SessionPlan, plan};
use crate::args::LaunchArgs;
use crate::render::count;
use crate::view::{
    ConversationPorts as _, ConversationSessions, Earlier, ListedSession, NotOpened, OpenedSession,
    Present, SwitchTo, TreeRow,
};
use regatta::app_context::AppContext;
use regatta::model::ModelChoice;
use regatta::session::{ChosenLog, LogStorage, Sessions, context_files};

/// Opens the sessions of a folder for a conversation.
pub(crate) struct SessionSwitch<'a> {
    pub(crate) app: &'a AppContext,
    /// The command line with which the conversation began.
    pub(crate) args: &'a LaunchArgs,
    pub(crate) engine: &'a Engine,
    pub(crate) ports: &'a SessionPorts,
    /// Where the sessions work.
    pub(crate) place: SessionPlace,
    /// The approval mode to which the user changes.
    pub(crate) mode: ChosenMode,
    /// The model with which the conversation began.
    pub(crate) first_model: ModelRoute,
}

/// The log of the session that is opened next, and the text of the prompt before which it goes on.
struct NextLog {
    log: ChosenLog,
    text: Option<String>,
    /// What kind of session it is.
    note: Option<&'static str>,
}

impl ConversationSessions for SessionSwitch<'_> {
    fn list(&self, present: &Path) -> LocalBoxFuture<'static, Result<Vec<ListedSession>, String>> {
        let (places, present) = (self.sessions().places().clone(), present.to_owned());
        blocking(move || {
            let all =
                places.survey().map_err(|error| format!("cannot read the sessions: {error}"))?;
            Ok(all.iter().filter(|session| session.path != present).map(listed).collect())
        })
    }

    fn tree(&self, log: &Path) -> LocalBoxFuture<'static, Result<Vec<TreeRow>, String>> {
        let log = log.to_owned();
        blocking(move || match LoadedSession::read(&log) {
            Ok(Some(mut session)) => Ok(tree_rows(&mut session)),
            Ok(None) => Err("the session cannot be read".to_owned()),
            // Nothing was written yet.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(format!("cannot read the session: {error}")),
        })
    }

    fn earlier(&self, log: &Path) -> LocalBoxFuture<'static, Result<Earlier, String>> {
        let log = log.to_owned();
        blocking(move || Ok(earlier(&log)))
    }

    fn open(
        &self,
        to: SwitchTo,
        present: Present,
    ) -> LocalBoxFuture<'_, Result<Box<OpenedSession>, NotOpened>> {
        async move {
            let next = self.next_log(to, &present)?;
            self.open_log(next, &present.model).await.map(Box::new)
        }
        .boxed_local()
    }
}

impl SessionSwitch<'_> {
    fn sessions(&self) -> Sessions<'_> {
        sessions_in(self.app, self.args, &self.place.folder)
    }

    /// Chooses or makes the log of the next session.
    fn next_log(&self, to: SwitchTo, present: &Present) -> Result<NextLog, NotOpened> {
        let failed = |error: regatta::error::Error| NotOpened::Failed(error.in_one_line());
        let sessions = self.sessions();
        if to != SwitchTo::New && present.log.storage.is_in_memory() {
            let why = "the sessions of this conversation are in memory only (--no-session)";
            return Err(NotOpened::Failed(why.to_owned()));
        }
        let (log, text, note) = match to {
            SwitchTo::New => {
                (sessions.new_log(present.log.storage.for_another()), None, "a new session begins")
            }
            SwitchTo::Named(name) => {
                let path = Self::find(&sessions, &name)?;
                (Self::continued(path, present)?, None, "another session:")
            }
            SwitchTo::Session(path) => (Self::continued(path, present)?, None, "another session:"),
            SwitchTo::Copy(path) => {
                (sessions.fork(&path).map_err(failed)?, None, "a copy of another session:")
            }
            SwitchTo::Before(prompt) => {
                let (log, text) = self.before(&sessions, &prompt, present)?;
                (log, Some(text), "a new session with the conversation before the prompt:")
            }
        };
        Ok(NextLog { log, text, note: Some(note) })
    }

    /// Returns the log of the session with a name, or with an id that begins so.
    fn find(sessions: &Sessions<'_>, name: &str) -> Result<PathBuf, NotOpened> {
        let unreadable =
            |error: std::io::Error| NotOpened::Failed(format!("cannot read the sessions: {error}"));
        let own = sessions.places().survey().map_err(unreadable)?;
        let named = own.into_iter().find(|session| {
            session.title.as_ref().is_some_and(|it| it.to_lowercase() == name.to_lowercase())
        });
        if let Some(session) = named {
            return Ok(session.path);
        }
        let found = sessions.places().find(name).map_err(unreadable)?;
        let is_there = !matches!(&found, FoundSession::Here(path) if !path.exists());
        if (!is_there || found == FoundSession::Nothing)
            && let Some(task) = sessions.of_task(name)
        {
            return Err(NotOpened::OfTask(task.log, task.task));
        }
        match found {
            FoundSession::Here(path) => Ok(path),
            FoundSession::Elsewhere(info) => Err(NotOpened::Elsewhere(info.path, info.cwd)),
            FoundSession::Nothing => {
                let what = format!("session `{name}` was not found; /resume lists them");
                Err(NotOpened::Failed(what))
            }
        }
    }

    fn continued(path: PathBuf, present: &Present) -> Result<ChosenLog, NotOpened> {
        let canonical = |path: &Path| path.canonicalize().unwrap_or_else(|_gone| path.to_owned());
        if canonical(&path) == canonical(&present.log.path) {
            return Err(NotOpened::Failed("that is this session".to_owned()));
        }
        if is_log_open(&path).unwrap_or(false) {
            return Err(NotOpened::InUse(path));
        }
        let log = Sessions::continued(path);
        log.map_err(|error| NotOpened::Failed(error.in_one_line()))
    }

    /// Makes the log of a session that goes on before a prompt of the present one.
    fn before(
        &self,
        sessions: &Sessions<'_>,
        prompt: &str,
        present: &Present,
    ) -> Result<(ChosenLog, String), NotOpened> {
        let failed = |why: String| NotOpened::Failed(why);
        let from = &present.log.path;
        let session = LoadedSession::read(from).ok().flatten();
        let mut session = session.ok_or_else(|| failed("the conversation is empty".to_owned()))?;
        let prompt = prompt_named(&mut session, prompt)
            .ok_or_else(|| failed(format!("no prompt has the id `{prompt}`; /fork lists them")))?;
        let id = SessionId::generate();
        let header = SessionHeader {
            id,
            cwd: self.place.folder.clone(),
            at: self.app.clock.now(),
            parent: None,
        };
        let to = sessions.new_path(id);
        let blobs = BlobFolder::new(self.app.places.blobs());
        let branched = branch(from, &prompt, &to, &header, Some(&blobs))
            .map_err(|error| failed(format!("cannot fork the session: {error}")))?;
        let log = match branched.log {
            Some(log) => Sessions::continued(log).map_err(|error| failed(error.what_and_why()))?,
            None => sessions.new_log(LogStorage::File),
        };
        Ok((log, branched.text))
    }

    /// Opens the session of the conversation again, in another workspace. The view has what was said.
    ///
    /// # Errors
    /// It cannot be opened.
    pub(crate) async fn reopen(
        &self,
        log: ChosenLog,
        model: &ModelRoute,
    ) -> Result<OpenedSession, NotOpened> {
        // Before the first message, and without a file, it is opened as a new one.
        let log = Sessions::continued(log.path.clone()).unwrap_or(log);
        let next = NextLog { log, text: None, note: None };
        let opened = self.open_log(next, model).await?;
        let earlier = Earlier { is_printed: true, ..opened.earlier };
        Ok(OpenedSession { earlier, ..opened })
    }

    async fn open_log(
        &self,
        next: NextLog,
        present: &ModelRoute,
    ) -> Result<OpenedSession, NotOpened> {
        let NextLog { log, text, note } = next;
        let mut notes: Vec<String> = note.map(str::to_owned).into_iter().collect();
        let planned = match self.own_model(&log, present) {
            Ok(model) => self.plan(&log, &model).await,
            Err(why) => Err(why),
        };
        let plan = match (planned, &log.model) {
            (Ok(plan), _) => plan,
            (Err(why), None) => return Err(NotOpened::Failed(why)),
            (Err(why), Some(own)) => {
                let (own, used) = (own.name(), present.name());
                notes.push(format!(
                    "the model of the session, {own}, cannot be used: {why}; {used} is used"
                ));
                self.plan(&log, present).await.map_err(NotOpened::Failed)?
            }
        };
        notes.extend(context_files(&plan.spec.system).map(|read| format!("it has read {read}")));
        notes.extend(plan.notes);
        let tools = ToolSetup { mode: self.mode.clone(), ..plan.tools };
        let opened = self.engine.open_session(plan.spec, tools.answered_by(Answerer::Person)).await;
        let (session, events) = opened.map_err(|refused| match refused {
            OpenSessionError::Failed(why) if why.message.contains("has it open") => {
                NotOpened::InUse(log.path.clone())
            }
            refused => NotOpened::Failed(format!("cannot open the session: {refused}")),
        })?;
        self.sessions().remember(&log);
        let earlier = self.earlier(&log.path).await.unwrap_or_default();
        Ok(OpenedSession { session, events, log, notes, earlier, text })
    }

    /// Returns the model with which a session goes on: that of its file, else the present one.
    fn own_model(&self, log: &ChosenLog, present: &ModelRoute) -> Result<ModelRoute, String> {
        let Some(own) = &log.model else { return Ok(present.clone()) };
        let thinking = log.thinking;
        if let Some(same) =
            [present, &self.first_model].into_iter().find(|it| it.name() == own.name())
        {
            return Ok(ModelRoute { thinking, ..same.clone() });
        }
        // The user knows the server at an address of their own.
        let base_url = self.first_model.base_url.clone();
        if base_url.is_some() && self.first_model.provider == own.provider {
            return Ok(ModelRoute { base_url, thinking, ..own.clone() });
        }
        let found = self.ports.find_model(&own.name())?;
        Ok(ModelRoute { thinking, ..found })
    }

    async fn plan(&self, log: &ChosenLog, model: &ModelRoute) -> Result<SessionPlan, String> {
        let args = LaunchArgs {
            base_url: self.args.base_url.clone().filter(|_| model.base_url.is_some()),
            thinking: model.thinking,
            model: Some(ModelChoice::Route(model.clone())),
            provider: None,
            // It was given when the conversation began.
            api_key: None,
            ..self.args.clone()
        };
        let planned = plan(self.app, &args, &self.place, log).await;
        planned.map_err(|error| error.what_and_why())
    }
}

/// Returns a session as a list displays it.
pub(super) fn listed(session: &SessionInfo) -> ListedSession {
    let messages = count(session.messages, "message");
    ListedSession {
        path: session.path.clone(),
        text: title_of(session),
        about: format!("{} · {messages}", age_of(session)),
    }
}

/// Runs work that reads files. A panic of it is one of the caller.
fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> LocalBoxFuture<'static, Result<T, String>> {
    let done = tokio::task::spawn_blocking(work);
    async move {
        match done.await {
            Ok(done) => done,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_cancelled) => Err("the program ends".to_owned()),
            },
        }
    }
    .boxed_local()
}
