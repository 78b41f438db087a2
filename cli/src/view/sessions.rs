//! What the view asks of the sessions of its folder: which there are, what is in them, and to open
//! another one.

use std::path::{Path, PathBuf};

use actors::{Events, SessionHandle};
use futures_util::future::LocalBoxFuture;
use protocol::{EntryId, ModelRoute};

use super::earlier::Earlier;
use regatta::session::ChosenLog;

/// A session of the folder, as a list displays it.
#[derive(Clone, Debug)]
pub(crate) struct ListedSession {
    /// Its log.
    pub(crate) path: PathBuf,
    /// Its name or its first prompt.
    pub(crate) text: String,
    /// When it was changed, and how many messages it has.
    pub(crate) about: String,
}

/// An entry of a session, as its tree displays it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TreeRow {
    /// The entry.
    pub(crate) entry: EntryId,
    /// The lines that lead to it from the entry before.
    pub(crate) graph: String,
    /// What it says, in one line.
    pub(crate) text: String,
    /// Whether the conversation goes on from here.
    pub(crate) is_leaf: bool,
    /// Whether it is a prompt of the conversation as it goes on.
    pub(crate) is_own_prompt: bool,
    /// Whether messages would be left if the conversation went on from here.
    pub(crate) leaves_messages: bool,
}

/// The session that the view goes on with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SwitchTo {
    /// A new one.
    New,
    /// The one with this log.
    Session(PathBuf),
    /// The one with a name, or with an id that begins so.
    Named(String),
    /// A copy of the one with this log.
    Copy(PathBuf),
    /// A copy of the present one up to before a prompt, whose id begins so.
    Before(String),
}

/// The present session.
#[derive(Clone, Debug)]
pub(crate) struct Present {
    pub(crate) log: ChosenLog,
    /// Its model, with the thinking level.
    pub(crate) model: ModelRoute,
}

/// A session that was opened, for the view to go on with.
pub(crate) struct OpenedSession {
    pub(crate) session: SessionHandle,
    /// The events of the engine since before it was opened.
    pub(crate) events: Events,
    pub(crate) log: ChosenLog,
    /// What the user should know about it.
    pub(crate) notes: Vec<String>,
    /// What was said before in it.
    pub(crate) earlier: Earlier,
    /// The text of the prompt before which it goes on.
    pub(crate) text: Option<String>,
}

impl OpenedSession {
    /// Adds what the user should know.
    pub(crate) fn with_notes(mut self, notes: Vec<String>) -> Self {
        self.notes.extend(notes);
        self
    }
}

/// Why a session was not opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NotOpened {
    /// Another process has it open; a copy can be made.
    InUse(PathBuf),
    /// It is a session of another folder; a copy can be made.
    Elsewhere(PathBuf, PathBuf),
    /// It is that of a task of this name; a copy can be made.
    OfTask(PathBuf, String),
    /// Something else.
    Failed(String),
}

/// The sessions of the folder.
pub(crate) trait ConversationSessions {
    /// Returns the sessions of the folder but for the one at `present`, the latest first.
    fn list(&self, present: &Path) -> LocalBoxFuture<'static, Result<Vec<ListedSession>, String>>;

    /// Returns the entries of the session at `log` that people choose from.
    fn tree(&self, log: &Path) -> LocalBoxFuture<'static, Result<Vec<TreeRow>, String>>;

    /// Returns what was said before in the session at `log`.
    fn earlier(&self, log: &Path) -> LocalBoxFuture<'static, Result<Earlier, String>>;

    /// Opens a session to go on with. The present one stays open.
    fn open(
        &self,
        to: SwitchTo,
        present: Present,
    ) -> LocalBoxFuture<'_, Result<Box<OpenedSession>, NotOpened>>;
}
