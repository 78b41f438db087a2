//! A session as the worker of a task.

use std::sync::Arc;

use async_trait::async_trait;
use engine::agent::{Assignment, Limits, Prompt, QueueModes, RequestHooks, YIELD};
use engine::ports::{
    CancelLevel, ReportSink, Requester, ToolChoice, Worker, WorkerReport, WorkerStart,
};
use engine::prompt::SystemPrompt;
use engine::task::Reminder;
use protocol::{Agent, AgentEnd, Failure, FailureClass, InputId, SessionEvent, TaskId, UserInput};
use ractor::ActorRef;
use serde_json::Value;

use crate::child::start_child;
use crate::messaging::{Notifier, answer};
use crate::session::{Session, SessionArguments, SessionMessage, SessionSpec};

use super::last_answer::LastAnswer;
use super::worker_deps::WorkerDeps;

/// The maximum size of a yield as JSON, in bytes. The ledger stores yields, and events carry them.
const LONGEST: usize = 500_000;

/// A session supervised by its task. Dropping the worker ends the session.
pub(super) struct SessionWorker {
    task: TaskId,
    attempt: u32,
    session: ActorRef<SessionMessage>,
    /// The last answer of a subagent; `None` if the task is that of a run, which has to yield.
    answer: Option<LastAnswer>,
}

impl SessionWorker {
    /// Starts the session actor without any work.
    pub(super) async fn start(
        agent: &Agent,
        start: WorkerStart,
        deps: WorkerDeps,
    ) -> Result<Self, Failure> {
        let (task, attempt) = (start.task, start.attempt);
        let reports = start.reports.clone();
        let answer = agent.subagent.is_some().then(LastAnswer::default);
        let arguments = SessionArguments {
            spec: spec(agent, start, &deps.prompt),
            deps: deps.deps,
            gate: deps.gate,
            executor: deps.executor,
            events: events(reports, answer.clone()),
            span: deps.span,
        };
        let started = start_child(Session, arguments, deps.supervisor).await;
        let session =
            started.map_err(|error| Failure::new(FailureClass::Crashed, error.to_string()))?;
        Ok(Self { task, attempt, session, answer })
    }
}

fn events(reports: ReportSink, last: Option<LastAnswer>) -> Notifier<SessionEvent> {
    Notifier::new(move |event| {
        if let Some(last) = &last {
            last.note(&event);
        }
        reports(WorkerReport::Session(event));
    })
}

fn spec(agent: &Agent, start: WorkerStart, prompt: &Arc<SystemPrompt>) -> SessionSpec {
    let assignment = Assignment {
        id: InputId::of_task(start.task, start.attempt, 0),
        prompt: agent.prompt.clone(),
        schema: start.schema,
    };
    SessionSpec {
        log: start.artifacts.join("session.jsonl"),
        logs: None,
        id: None,
        system: system_prompt(agent, prompt),
        folder: start.folder,
        model: agent.model.clone(),
        fallbacks: agent.fallback.clone(),
        requester: Requester::Run(start.run),
        limits: Limits::from(&start.limits),
        assignment: Some(assignment),
        modes: QueueModes::default(),
        request_hooks: RequestHooks::default(),
    }
}

/// Returns what the system prompt of a task is made of. Tasks with the same context share it.
fn system_prompt(agent: &Agent, of_run: &Arc<SystemPrompt>) -> Arc<SystemPrompt> {
    match of_run.context == agent.context {
        true => Arc::clone(of_run),
        false => {
            let context = agent.context.clone();
            Arc::new(SystemPrompt { context, ..SystemPrompt::clone(of_run) })
        }
    }
}

#[async_trait]
impl Worker for SessionWorker {
    async fn work(&self, reminder: Option<Reminder>) -> AgentEnd {
        let is_last = reminder.as_ref().is_some_and(Reminder::is_last);
        let ended = answer(&self.session, |reply| match reminder {
            None => SessionMessage::Resume(Some(reply), Vec::new()),
            Some(reminder) => {
                let id = InputId::of_task(self.task, self.attempt, reminder.number.into());
                SessionMessage::Prompt(prompt(id, &reminder), reply)
            }
        });
        match ended.await {
            Some(AgentEnd::Silent(why)) if is_last => {
                let said = self.answer.as_ref().and_then(LastAnswer::value);
                said.map_or(AgentEnd::Silent(why), |said| {
                    reject_long_yield(AgentEnd::Yielded(said))
                })
            }
            Some(end) => reject_long_yield(end),
            // The session has died. The task's actor supervises it and handles its death.
            None => std::future::pending().await,
        }
    }

    fn stop(&self, level: CancelLevel) {
        let _dead = self.session.cast(SessionMessage::Abort(level));
    }
}

impl Drop for SessionWorker {
    fn drop(&mut self) {
        self.session.stop(None); // this also ends the work of the session
    }
}

/// Returns `end`, or [`AgentEnd::Silent`] if the yielded value is too long.
fn reject_long_yield(end: AgentEnd) -> AgentEnd {
    match end {
        AgentEnd::Yielded(value) if is_long(&value) => {
            AgentEnd::Silent(format!("what it yielded is longer than {LONGEST} bytes as JSON"))
        }
        end => end,
    }
}

fn is_long(value: &Value) -> bool {
    serde_json::to_vec(value).is_ok_and(|bytes| bytes.len() > LONGEST)
}

/// Returns a reminder as an input. The last reminder forces the model to call `yield`.
pub(super) fn prompt(id: InputId, reminder: &Reminder) -> Prompt {
    let Reminder { feedback, number, of } = reminder;
    let text = format!(
        "Reminder {number} of {of}: {feedback}. Go on with the task if it is not done; then call \
         `{YIELD}` with your result, or with an error if you cannot do it."
    );
    let choice = match reminder.is_last() {
        true => ToolChoice::Force(YIELD.to_owned()),
        false => ToolChoice::Free,
    };
    Prompt { input: UserInput::new(id, text), choice }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_reminder_leaves_no_choice() {
        let reminder = |number| Reminder { feedback: "/a: is missing".to_owned(), number, of: 3 };
        let id = InputId::generate();
        let (second, third) = (prompt(id, &reminder(2)), prompt(id, &reminder(3)));
        assert_eq!(second.choice, ToolChoice::Free);
        assert_eq!(third.choice, ToolChoice::Force(YIELD.to_owned()));
        let text = third.input.text;
        assert!(text.starts_with("Reminder 3 of 3: /a: is missing."), "{text}");
    }
}
