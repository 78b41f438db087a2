//! Runs one session to its end. A session of this house drives a command.
//!
//! The actor exists so that a panic in what drives the command kills it and nothing else. The run
//! itself is a function in the session's own `JoinSet`; its end comes back as a message, so the
//! mailbox stays free for whoever wants to say something to a running session.

use std::any::Any;
use std::panic::AssertUnwindSafe;

use engine::fault::Faults;
use engine::ports::{CommandEnd, CommandError, CommandRequest, EndCause};
use engine::task::SessionEnd;
use futures_util::FutureExt;
use protocol::{Failure, FailureClass, FailureDetail};
use ractor::concurrency::oneshot;
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};
use serde_json::Value;
use tokio::task::JoinSet;
use tracing::Instrument as _;

use crate::ask::Teller;
use crate::executors::{HowToStop, ToolExecutorMessage};

pub(crate) struct Session;

pub(crate) struct SessionArguments {
    pub(crate) executor: ActorRef<ToolExecutorMessage>,
    pub(crate) command: CommandRequest,
    pub(crate) lines: Teller<String>,
    pub(crate) faults: Faults,
    /// What the session traces is its task's.
    pub(crate) span: tracing::Span,
}

pub(crate) enum SessionMessage {
    /// Runs the session. Comes once.
    Run(RpcReplyPort<SessionEnd>),
    /// Asks what runs to stop.
    Stop(HowToStop),
    /// Sent by the run itself; nobody else sends it.
    Ended(Result<SessionEnd, Panicked>),
}

/// The run panicked, with these words.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Panicked(String);

impl Panicked {
    fn from_payload(payload: &(dyn Any + Send)) -> Self {
        let words = payload.downcast_ref::<&str>().map(|words| (*words).to_owned());
        let words = words.or_else(|| payload.downcast_ref::<String>().cloned());
        Self(words.unwrap_or_else(|| "it panicked without words".to_owned()))
    }
}

pub(crate) struct SessionState {
    arguments: SessionArguments,
    /// Dropping it ends the run, however the actor dies.
    run: JoinSet<()>,
    asked_by: Option<RpcReplyPort<SessionEnd>>,
}

impl Actor for Session {
    type Msg = SessionMessage;
    type State = SessionState;
    type Arguments = SessionArguments;

    async fn pre_start(
        &self,
        _myself: ActorRef<Self::Msg>,
        arguments: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        Ok(SessionState { arguments, run: JoinSet::new(), asked_by: None })
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            SessionMessage::Run(reply) => {
                state.asked_by = Some(reply);
                state.start(myself);
            }
            SessionMessage::Stop(how) => {
                // A dead executor has nothing left to stop.
                let _dead = state.arguments.executor.cast(ToolExecutorMessage::Stop(how));
            }
            SessionMessage::Ended(end) => {
                let end = end?; // a panic is our death, and our supervisor's decision
                if let Some(reply) = state.asked_by.take() {
                    let _gone = reply.send(end);
                }
                myself.stop(None);
            }
        }
        Ok(())
    }
}

impl SessionState {
    /// Whether the session is gone without having said how it ended.
    pub(crate) fn is_unanswered(&self) -> bool {
        self.asked_by.is_some()
    }

    fn start(&mut self, myself: ActorRef<SessionMessage>) {
        let run = drive(
            self.arguments.executor.clone(),
            self.arguments.command.clone(),
            self.arguments.lines.clone(),
            self.arguments.faults.clone(),
        );
        let run = run.instrument(self.arguments.span.clone());
        self.run.spawn(async move {
            let end = AssertUnwindSafe(run).catch_unwind().await;
            let end = end.map_err(|payload| Panicked::from_payload(&*payload));
            let _dead = myself.cast(SessionMessage::Ended(end)); // the actor may be gone already
        });
    }
}

/// Runs a command and reads its end as a session's end: the last line of its standard output is
/// its yield.
async fn drive(
    executor: ActorRef<ToolExecutorMessage>,
    command: CommandRequest,
    lines: Teller<String>,
    faults: Faults,
) -> SessionEnd {
    tracing::info!(script = command.script, folder = %command.folder.display(), "the command starts");
    let (answer, waiting) = oneshot();
    let sink = std::sync::Arc::new(move |line| lines.tell(line));
    let _dead = executor.cast(ToolExecutorMessage::Run(command, sink, answer.into()));
    if let Err(error) = faults.strike("session") {
        return SessionEnd::Failed(Failure::new(FailureClass::Crashed, error.to_string()));
    }
    match waiting.await {
        Ok(Ok(end)) => read(end),
        Ok(Err(error)) => SessionEnd::Failed(unable(&error)),
        Err(_dropped) => {
            SessionEnd::Failed(Failure::new(FailureClass::Crashed, "its executor crashed"))
        }
    }
}

fn read(end: CommandEnd) -> SessionEnd {
    let failed = |message: String| Failure::new(FailureClass::Command, message);
    match end.cause {
        EndCause::Exited(0) => {
            let value = end.last_line.map(|line| {
                serde_json::from_str(&line).unwrap_or_else(|_not_json| Value::String(line))
            });
            SessionEnd::Yielded(value.unwrap_or(Value::Null))
        }
        EndCause::Exited(code) => {
            let hint = match code {
                126 => " (it is not executable)",
                127 => " (the shell did not find a command)",
                _ => "",
            };
            let failure = failed(format!("it ended with code {code}{hint}"));
            SessionEnd::Failed(failure.with(FailureDetail::Exit { code }))
        }
        EndCause::Signalled(signal) => {
            let failure = failed(format!("signal {signal} ended it"));
            SessionEnd::Failed(failure.with(FailureDetail::Signal { signal }))
        }
        EndCause::Stopped => SessionEnd::Failed(failed("it was stopped".to_owned())),
    }
}

fn unable(error: &CommandError) -> Failure {
    match error {
        CommandError::Resources { source, .. } => {
            Failure::new(FailureClass::Resources, format!("{error}: {source}"))
        }
        CommandError::Failed { source, .. } => {
            Failure::new(FailureClass::Command, format!("{error}: {source}"))
        }
    }
}
