//! A session that drives a command.

use std::sync::Arc;

use engine::fault::Faults;
use engine::ports::{CommandEnd, CommandError, CommandRequest, EndCause};
use engine::task::SessionEnd;
use protocol::{Failure, FailureClass, FailureDetail};
use ractor::ActorRef;
use ractor::concurrency::oneshot;
use serde_json::Value;

use super::SessionNews;
use crate::ask::Teller;
use crate::executors::ToolExecutorMessage;

/// Runs a command and reads its end as a session's end: the last line of its standard output is
/// its yield.
pub(super) async fn drive(
    executor: ActorRef<ToolExecutorMessage>,
    command: CommandRequest,
    news: Teller<SessionNews>,
    faults: Faults,
) -> SessionEnd {
    tracing::info!(script = command.script, folder = %command.folder.display(), "the command starts");
    let (answer, waiting) = oneshot();
    let sink = Arc::new(move |line| news.tell(SessionNews::Line(line)));
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
