//! A command as the worker of a task.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;

use async_trait::async_trait;
use engine::failpoint;
use engine::fault::Faults;
use engine::ports::{
    CancelLevel, CommandEnd, CommandError, CommandRequest, CommandTerminal, EndCause, ReportSink,
    ShortOutput, Worker, WorkerReport, WorkerStart,
};
use engine::task::Reminder;
use protocol::{AgentEnd, Command, Failure, FailureClass, FailureDetail};
use ractor::ActorRef;
use serde_json::Value;

use super::worker_deps::WorkerDeps;
use crate::executors::ToolExecutorMessage;
use crate::messaging::answer;

/// A command that the task's executor runs. The last line of its standard output is its yield.
pub(super) struct CommandWorker {
    request: CommandRequest,
    reports: ReportSink,
    executor: ActorRef<ToolExecutorMessage>,
    faults: Faults,
    span: tracing::Span,
}

impl CommandWorker {
    pub(super) fn new(command: &Command, start: WorkerStart, deps: WorkerDeps) -> Self {
        let mut environment = start.environment;
        environment.extend(command_environment(command));
        let request = CommandRequest {
            script: command.script.clone(),
            arguments: command.arguments.clone(),
            folder: start.folder,
            environment,
            output: start.artifacts.join("output.log"),
            keep: start.limits.output,
            short: ShortOutput::FileUnlessEmpty,
            terminal: CommandTerminal::None,
        };
        let WorkerDeps { deps, executor, span, .. } = deps;
        Self { request, reports: start.reports, executor, faults: deps.faults.clone(), span }
    }

    async fn run(&self) -> AgentEnd {
        let reports = Arc::clone(&self.reports);
        let sink = Arc::new(move |line| reports(WorkerReport::Line(line)));
        let request = self.request.clone();
        let question = |reply| ToolExecutorMessage::Run(request, sink, reply);
        let ended = answer(&self.executor, question);
        if let Err(error) = failpoint!(self.faults, "session") {
            return AgentEnd::Failed(Failure::new(FailureClass::Crashed, error.to_string()));
        }
        match ended.await {
            Some(Ok(end)) => read(end),
            Some(Err(error)) => AgentEnd::Failed(unable(&error)),
            None => AgentEnd::Failed(Failure::new(FailureClass::Crashed, "its executor crashed")),
        }
    }
}

#[async_trait]
impl Worker for CommandWorker {
    /// Runs the command. A command gets no reminders.
    async fn work(&self, _reminder: Option<Reminder>) -> AgentEnd {
        let (script, folder) = (&self.request.script, self.request.folder.display());
        self.span.in_scope(|| tracing::info!(script, %folder, "the command starts"));
        self.run().await
    }

    fn stop(&self, level: CancelLevel) {
        // If the executor has died, its processes have ended with it.
        let _dead = self.executor.cast(ToolExecutorMessage::Stop(level));
    }
}

/// Returns the variables that a command gets besides those of its task.
pub(super) fn command_environment(command: &Command) -> BTreeMap<String, OsString> {
    let Some(item) = &command.item else { return BTreeMap::new() };
    let variables = [
        ("REGATTA_ITEM", &item.item),
        ("REGATTA_ITEM_STEM", &item.stem),
        ("REGATTA_ITEM_DIR", &item.dir),
    ];
    variables.map(|(name, value)| (name.to_owned(), value.into())).into()
}

pub(super) fn read(end: CommandEnd) -> AgentEnd {
    let failed = |how: &str| {
        let message = match &end.failure_line {
            Some(line) => format!("{line} ({how})"),
            None => format!("it ended with {how}"),
        };
        Failure::new(FailureClass::Command, message)
    };
    match end.cause {
        EndCause::Exited(0) => {
            let value = end.last_line.map(|line| {
                serde_json::from_str(&line).unwrap_or_else(|_not_json| Value::String(line))
            });
            AgentEnd::Yielded(value.unwrap_or(Value::Null))
        }
        EndCause::Exited(code) => {
            let hint = match code {
                126 => ": it is not executable",
                127 => ": the shell did not find a command",
                _ => "",
            };
            let failure = failed(&format!("code {code}{hint}"));
            AgentEnd::Failed(failure.with(FailureDetail::Exit { code }))
        }
        EndCause::Signalled(signal) => {
            let failure = failed(&format!("signal {signal}"));
            AgentEnd::Failed(failure.with(FailureDetail::Signal { signal }))
        }
        EndCause::Stopped => {
            AgentEnd::Failed(Failure::new(FailureClass::Command, "it was stopped"))
        }
    }
}

pub(super) fn unable(error: &CommandError) -> Failure {
    match error {
        CommandError::Resources { source, .. } => {
            Failure::new(FailureClass::Resources, format!("{error}: {source}"))
        }
        CommandError::Launcher { source, .. } => {
            Failure::new(FailureClass::Crashed, format!("{error}: {source}"))
        }
        CommandError::Failed { source, .. } => {
            Failure::new(FailureClass::Command, format!("{error}: {source}"))
        }
    }
}
