//! A session that drives a model.

use std::path::PathBuf;
use std::sync::Arc;

use engine::agent::{
    Conversation, End, Limits, Listener as _, Means, Nudge, Opening, system_prompt,
};
use engine::fault::Faults;
use engine::ports::{Clock, Gate, Models, SessionHeader, SessionLogs, ToolRunner};
use engine::request::{ModelClient, RequestPolicy};
use engine::task::SessionEnd;
use protocol::{Agent, Failure, FailureClass, SessionEvent, SessionId};
use ractor::ActorRef;
use ractor::concurrency::oneshot;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::feed::Feed;
use super::{Ended, SessionNews};
use crate::ask::Teller;
use crate::executors::{ExecutorTools, ToolExecutorMessage};
use crate::timer::RuntimeTimer;

/// What a session with a model works with.
#[derive(Clone)]
pub(crate) struct AgentSession {
    pub(crate) agent: Agent,
    /// The folder it works in, as its model is told.
    pub(crate) folder: PathBuf,
    /// The JSON Schema of what it has to yield.
    pub(crate) schema: Option<Value>,
    /// Where what is said is kept.
    pub(crate) log: PathBuf,
    pub(crate) limits: Limits,
    pub(crate) models: Arc<dyn Models>,
    pub(crate) gate: Arc<dyn Gate>,
    /// How requests to the model are made.
    pub(crate) requests: RequestPolicy,
    pub(crate) logs: Arc<dyn SessionLogs>,
    pub(crate) clock: Arc<dyn Clock>,
}

/// One stretch of a session.
pub(super) struct Drive {
    pub(super) agent: AgentSession,
    pub(super) executor: ActorRef<ToolExecutorMessage>,
    pub(super) news: Teller<SessionNews>,
    pub(super) faults: Faults,
}

impl Drive {
    /// Runs until the model stops or yields, or is stopped.
    pub(super) async fn run(
        self,
        conversation: Option<Box<Conversation>>,
        nudge: Option<Nudge>,
        stop: CancellationToken,
    ) -> Ended {
        let stretch = self.stretch(conversation, nudge);
        tokio::select! {
            ended = stretch => ended,
            () = stop.cancelled() => {
                // What it started is stopping too, and may take its grace. The task does not wait
                // for longer than that: it kills this session.
                let (answer, waiting) = oneshot();
                let _dead = self.executor.cast(ToolExecutorMessage::Settle(answer.into()));
                let _crashed = waiting.await; // then it took everything with it
                let failure = Failure::new(FailureClass::Crashed, "its session was stopped");
                Ended { end: SessionEnd::Failed(failure), conversation: None }
            }
        }
    }

    async fn stretch(
        &self,
        conversation: Option<Box<Conversation>>,
        nudge: Option<Nudge>,
    ) -> Ended {
        match self.converse(conversation, nudge).await {
            Ok((end, conversation)) => Ended { end: read(end), conversation: Some(conversation) },
            Err(failure) => Ended { end: SessionEnd::Failed(failure), conversation: None },
        }
    }

    async fn converse(
        &self,
        conversation: Option<Box<Conversation>>,
        nudge: Option<Nudge>,
    ) -> Result<(End, Box<Conversation>), Failure> {
        let agent = &self.agent;
        let news = self.news.clone();
        let lines = Arc::new(move |line| news.tell(SessionNews::Line(line)));
        let tools = ExecutorTools::open(self.executor.clone(), lines).await?;
        let feed = Feed::new(self.news.clone());
        let mut conversation = match conversation {
            Some(conversation) => conversation,
            None => {
                for error in tools.left_out() {
                    feed.event(SessionEvent::ToolUnavailable {
                        tool_name: error.tool.clone(),
                        error_message: error.reason.clone(),
                    });
                }
                Box::new(self.open(&tools).await?)
            }
        };
        let model = ModelClient {
            provider: agent.models.open(&agent.agent.model)?,
            fallbacks: Vec::new(),
            gate: Arc::clone(&agent.gate),
            timer: Arc::new(RuntimeTimer::start()),
            clock: Arc::clone(&agent.clock),
            policy: agent.requests,
        };
        let crashed =
            |error: std::io::Error| Failure::new(FailureClass::Crashed, error.to_string());
        self.faults.strike("session").map_err(crashed)?;
        let means = Means { model: &model, tools: &tools, listener: &feed, limits: agent.limits };
        let end = engine::agent::run(&mut conversation, &means, nudge).await;
        Ok((end, conversation))
    }

    async fn open(&self, tools: &dyn ToolRunner) -> Result<Conversation, Failure> {
        let agent = &self.agent;
        let header = SessionHeader {
            id: SessionId::generate(),
            cwd: agent.folder.clone(),
            at: agent.clock.now(),
        };
        let opening = Opening {
            system: system_prompt(&agent.folder).into(),
            prompt: agent.agent.prompt.clone(),
            context: agent.agent.context.clone(),
            model: agent.agent.model.clone(),
            tools: tools.declarations().iter().map(|tool| tool.name.clone()).collect(),
            schema: agent.schema.clone(),
        };
        let clock = Arc::clone(&agent.clock);
        let opened = Conversation::open(agent.logs.as_ref(), &agent.log, header, opening, clock);
        opened.await.map_err(|error| error.to_failure())
    }
}

/// How many bytes of a result are taken: it stands in the ledger, in events and on screens.
const LONGEST: usize = 500_000;

fn is_long(value: &Value) -> bool {
    serde_json::to_vec(value).is_ok_and(|bytes| bytes.len() > LONGEST)
}

/// Reads the end of a conversation as a session's end.
fn read(end: End) -> SessionEnd {
    match end {
        End::Yielded(value) if is_long(&value) => {
            let complaint = format!("what it yielded is longer than {LONGEST} bytes as JSON");
            SessionEnd::Silent(complaint)
        }
        End::Yielded(value) => SessionEnd::Yielded(value),
        End::GaveUp(why) => SessionEnd::Failed(Failure::new(FailureClass::GaveUp, why)),
        End::Silent(complaint) => SessionEnd::Silent(complaint),
        End::Failed(failure) => SessionEnd::Failed(failure),
    }
}
