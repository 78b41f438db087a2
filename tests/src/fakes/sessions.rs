//! A session that no task uses, driven through its handle.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use actors::{Events, OpenSessionError, SessionHandle, SessionSpec, ToolSetup};
use engine::agent::{Limits, QueueModes, RequestHooks};
use engine::approvals::ApprovalPolicy;
use engine::ports::{Requester, SessionPurpose, ToolEnv};
use engine::prompt::{Environment, Role, SystemPrompt};
use protocol::{
    AgentEnd, ApprovalMode, Approvals, EventKind, EventScope, InputId, SessionEvent, UserInput,
};

use super::TestEngine;
use crate::event_grammar::Grammar;
use crate::view_memory::MemoryView;

/// Returns a session of the model `fake/m` whose log is at `log`.
///
/// # Panics
/// Never: the route is one.
#[must_use]
pub fn session(log: &str) -> SessionSpec {
    SessionSpec {
        log: PathBuf::from(log),
        id: None,
        folder: "/repo".into(),
        system: Arc::new(SystemPrompt::of(Role::Own("be good".to_owned()), Environment::default())),
        model: "fake/m".parse().expect("it is a route"),
        fallbacks: Vec::new(),
        requester: Requester::Person,
        limits: Limits { turns: 50.try_into().expect("it is not zero"), tokens: None, cost: None },
        assignment: None,
        modes: QueueModes::default(),
        request_hooks: RequestHooks::default(),
        logs: None,
    }
}

/// Returns what the tools of a session are built for.
#[must_use]
pub fn session_tools() -> ToolSetup {
    ToolSetup {
        view: Arc::new(MemoryView::new("/repo".into())),
        env: ToolEnv {
            subfolder: PathBuf::new(),
            repo: "/repo".into(),
            environment: Default::default(),
            keep: 1_000,
            schema: None,
            purpose: SessionPurpose::Conversation,
            model: String::new(),
            is_scripted: false,
            spawn_offer: None,
        },
        task: None,
        folder: Default::default(),
        lineage: Default::default(),
        artifacts: "/sessions".into(),
        only: None,
        servers: Default::default(),
        approvals: ApprovalPolicy::from(Approvals {
            mode: Some(ApprovalMode::Yolo),
            ..Approvals::default()
        }),
        mode: Default::default(),
        answerer: Default::default(),
    }
}

/// Returns an input that was never said before.
#[must_use]
pub fn input(text: &str) -> UserInput {
    UserInput::new(InputId::generate(), text)
}

/// A session and what happens in it.
pub struct TestSession {
    /// The session itself.
    pub session: SessionHandle,
    /// What happens in it.
    pub events: Events,
    /// The rules that its events keep to.
    grammar: Grammar,
}

impl TestSession {
    /// Opens a session whose log is at `log`.
    ///
    /// # Errors
    /// Why it was refused.
    pub async fn try_open(engine: &TestEngine, log: &Path) -> Result<Self, OpenSessionError> {
        Self::of(engine, SessionSpec { log: log.to_owned(), ..session("") }).await
    }

    /// Opens this session.
    ///
    /// # Errors
    /// Why it was refused.
    pub async fn of(engine: &TestEngine, spec: SessionSpec) -> Result<Self, OpenSessionError> {
        engine.engine.open_session(spec, session_tools()).await.map(Self::new)
    }

    /// Returns a session that was opened, with its events.
    #[must_use]
    pub fn new((session, events): (SessionHandle, Events)) -> Self {
        Self { events, session, grammar: Grammar::later() }
    }

    /// Opens a session whose log is at `log`.
    ///
    /// # Panics
    /// When it is refused.
    pub async fn open(engine: &TestEngine, log: &Path) -> Self {
        Self::try_open(engine, log).await.expect("it opens")
    }

    /// Waits until the session has what it was given before: it answers in order.
    ///
    /// # Panics
    /// When it is closed.
    pub async fn settle(&self) {
        let model = "fake/m".parse().expect("it is a route");
        self.session.set_model(model).await.expect("the session is open");
    }

    /// Waits for the next event; none comes when the session is closed.
    ///
    /// # Panics
    /// When none comes within a minute, or one that is not of the session or breaks a rule.
    pub async fn next(&mut self) -> Option<SessionEvent> {
        let minute = Duration::from_secs(60);
        let event = tokio::time::timeout(minute, self.events.recv()).await;
        let event = event.expect("an event comes in time")?;
        assert_eq!(event.scope, Some(EventScope::Session(self.session.id())));
        match &event.kind {
            EventKind::SessionEvent { task: None, event } => {
                self.grammar.event(event).unwrap_or_else(|why| panic!("{why}"));
                Some(event.clone())
            }
            other => panic!("{other:?}"),
        }
    }

    /// Waits for the next event that `wanted` picks something from.
    ///
    /// # Panics
    /// When the session is closed.
    pub async fn find<T>(&mut self, mut wanted: impl FnMut(&SessionEvent) -> Option<T>) -> T {
        loop {
            let event = self.next().await.expect("the session is open");
            if let Some(found) = wanted(&event) {
                return found;
            }
        }
    }

    /// Waits for the end of its work.
    pub async fn end(&mut self) -> AgentEnd {
        self.find(|event| match event {
            SessionEvent::AgentEnd { end } => Some(end.clone()),
            _ => None,
        })
        .await
    }

    /// Waits until the model has begun to say something.
    pub async fn until_said(&mut self, words: &str) {
        self.find(|event| match event {
            SessionEvent::TextDelta { delta, .. } if delta.contains(words) => Some(()),
            _ => None,
        })
        .await;
    }
}

/// Returns how work ends whose model stopped without a yield.
#[must_use]
pub fn silent() -> AgentEnd {
    AgentEnd::Silent("it ended without a yield".to_owned())
}
