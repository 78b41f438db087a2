//! What the driver asks of the sessions: lists, another session, another entry, a name.

use std::time::Duration;

use engine::agent::{Navigated, Navigation, SummaryOfLeft};
use engine::compaction::SummaryInstructions;
use futures_util::StreamExt as _;
use protocol::{EntryId, Failure, SessionEntry};

use super::answers::Answered;
use super::{KeptView, Leaving, Shown};
use crate::render::one_line;
use crate::view::earlier::Earlier;
use crate::view::entry::NoteKind;
use crate::view::sessions::{ListedSession, NotOpened, OpenedSession, Present, SwitchTo, TreeRow};
use crate::view::state::{SessionRequest, Summary};

/// The longest name of a session, in letters.
const LONGEST_NAME: usize = 200;

/// How long what was asked of a session may take before another one is gone on with.
const PENDING: Duration = Duration::from_secs(2);

/// What the sessions answer.
pub(super) enum SessionAnswer {
    Listed(Result<Vec<ListedSession>, String>),
    Tree(Result<Vec<TreeRow>, String>),
    Prompts(Result<Vec<TreeRow>, String>),
    Opened(Result<Box<OpenedSession>, NotOpened>),
    Moved(Result<(Navigated, Earlier), Failure>),
    Named(String, Result<EntryId, Failure>),
}

impl Shown<'_> {
    /// Asks something of the sessions. The answer comes later.
    pub(super) async fn request(&mut self, request: SessionRequest) {
        let (session, sessions, log) = (self.session, self.sessions, self.log);
        let in_memory = log.storage.is_in_memory();
        let is_of_file = matches!(
            request,
            SessionRequest::Tree | SessionRequest::Prompts | SessionRequest::List
        );
        if in_memory && is_of_file {
            self.view.listed();
            let why = "the sessions of this conversation are in memory only (--no-session)";
            return self.view.note(NoteKind::Error, why);
        }
        let answer: futures_util::future::LocalBoxFuture<'_, SessionAnswer> = match request {
            SessionRequest::List => {
                let listed = sessions.list(&log.path);
                Box::pin(async move { SessionAnswer::Listed(listed.await) })
            }
            SessionRequest::Tree => {
                let tree = sessions.tree(&log.path);
                Box::pin(async move { SessionAnswer::Tree(tree.await) })
            }
            SessionRequest::Prompts => {
                let tree = sessions.tree(&log.path);
                Box::pin(async move { SessionAnswer::Prompts(tree.await) })
            }
            SessionRequest::Open(to) => match self.present(&to).await {
                Ok(present) => {
                    let opened = sessions.open(to, present);
                    Box::pin(async move { SessionAnswer::Opened(opened.await) })
                }
                Err(why) => return self.view.not_opened(NotOpened::Failed(why)),
            },
            SessionRequest::GoOn(target, summary) => {
                let navigation = Navigation {
                    target: Some(target),
                    label: None,
                    summary: match summary {
                        Summary::Nothing => SummaryOfLeft::Nothing,
                        Summary::Written(None) => SummaryOfLeft::Asked(SummaryInstructions::Usual),
                        Summary::Written(Some(text)) => {
                            SummaryOfLeft::Asked(SummaryInstructions::Additional(text))
                        }
                    },
                };
                let moved = session.navigate(navigation);
                Box::pin(async move {
                    SessionAnswer::Moved(match moved.await {
                        Ok(moved) => {
                            let earlier = sessions.earlier(&log.path).await.unwrap_or_default();
                            Ok((moved, earlier.last_turn()))
                        }
                        Err(why) => Err(why),
                    })
                })
            }
            SessionRequest::Name(name) => {
                let words = one_line(&name);
                let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
                let name: String = words.chars().take(LONGEST_NAME).collect();
                let entry = SessionEntry::SessionInfo { name: Some(name.clone()) };
                let named = session.append(entry);
                Box::pin(async move { SessionAnswer::Named(name, named.await) })
            }
        };
        self.requests.push(Box::pin(async move { Answered::Session(answer.await) }));
    }

    /// Returns the present session as another one is opened; an error if there is no need to.
    async fn present(&self, to: &SwitchTo) -> Result<Present, String> {
        let closed = || "the session is closed".to_owned();
        let state = self.session.state().await.ok_or_else(closed)?;
        if *to == SwitchTo::New && state.messages == 0 {
            return Err("the conversation is empty: this is a new session".to_owned());
        }
        Ok(Present { log: self.log.clone(), model: state.model })
    }

    /// Applies an answer of the sessions.
    pub(super) async fn session_answered(&mut self, answer: SessionAnswer) {
        self.view.listed();
        match answer {
            SessionAnswer::Listed(Ok(sessions)) => self.view.list_sessions(sessions),
            SessionAnswer::Tree(Ok(tree)) => self.view.list_tree(tree),
            SessionAnswer::Prompts(Ok(tree)) => self.view.list_prompts(tree),
            SessionAnswer::Listed(Err(why))
            | SessionAnswer::Tree(Err(why))
            | SessionAnswer::Prompts(Err(why)) => self.view.note(NoteKind::Error, why),
            SessionAnswer::Opened(Ok(opened)) => {
                self.settle().await;
                self.left = Some(Leaving::To(opened));
            }
            SessionAnswer::Opened(Err(why)) => self.view.not_opened(why),
            SessionAnswer::Moved(moved) => self.moved(moved),
            SessionAnswer::Named(name, Ok(_)) => self.view.name = Some(name),
            SessionAnswer::Named(_, Err(why)) => {
                let text = format!("cannot name the session: {}", why.message);
                self.view.note(NoteKind::Error, text);
            }
        }
    }

    fn moved(&mut self, moved: Result<(Navigated, Earlier), Failure>) {
        match moved {
            Ok((Navigated { text, old_leaf, new_leaf, .. }, earlier)) => {
                if old_leaf == new_leaf && text.is_none() {
                    self.view.hint = Some("the session is there already".to_owned());
                } else {
                    let from = match earlier.is_silent() {
                        true => "the session continues from its beginning",
                        false => "the session continues from here:",
                    };
                    self.view.note(NoteKind::Info, from);
                    self.view.earlier(&earlier);
                }
                self.view.moved(text);
            }
            Err(why) => {
                self.view.moved(None);
                self.view.note(NoteKind::Error, format!("cannot go there: {}", why.message));
            }
        }
    }

    /// Waits for what was asked of this session, so that nothing of it is lost.
    async fn settle(&mut self) {
        let settled = async {
            let mut answers = Vec::new();
            while let Some(answer) = self.requests.next().await {
                answers.push(answer);
            }
            answers
        };
        if tokio::time::timeout(PENDING, settled).await.is_err() {
            tracing::debug!("a request to a session was not answered in time");
        }
    }

    /// Gives the view to another session.
    pub(super) fn keep(self) -> KeptView {
        KeptView {
            view: self.view,
            surface: self.surface,
            syntaxes: self.syntaxes,
            began: self.began,
        }
    }
}
