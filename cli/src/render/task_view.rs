//! The state of one task, computed from its events: queued, running or ended.

use protocol::{Landed, Message, Phase, SessionEvent, TaskName, TaskReport, Timestamp, Usage};

use super::answer::Answer;

/// A task as the renderer displays it.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskView {
    /// The name of the task.
    pub name: TaskName,
    /// The title of the task.
    pub title: String,
    /// The model that works on the task, if there is one: `PROVIDER/ID`.
    pub model: Option<String>,
    /// The usage of that model so far.
    pub used: Option<Usage>,
    /// The state of the task.
    pub stage: TaskStage,
    /// What the task yielded.
    pub answer: Option<Answer>,
}

/// The state of a task.
#[derive(Clone, Debug, PartialEq)]
pub enum TaskStage {
    /// The task has not started.
    Queued,
    /// The task is running.
    Running(RunningTask),
    /// The task has ended.
    Ended {
        /// The report of the task. Its yield is null, because [`TaskView::answer`] holds what is
        /// shown of it.
        report: Box<TaskReport>,
        /// The result of landing the task's work, once it is known.
        landing: Option<Landed>,
    },
}

/// The state of a running task.
#[derive(Clone, Debug, PartialEq)]
pub struct RunningTask {
    /// When the task started.
    pub since: Timestamp,
    /// The current phase of the task.
    pub phase: Phase,
    /// The last line of the task's output, or the argument of its last tool call.
    pub line: Option<String>,
    /// The tool that the task's model has called.
    pub tool: Option<String>,
    /// The number of tokens that the model has used, as the task has reported last.
    pub tokens: Option<u64>,
    /// The wait before the next request, if there is one.
    pub wait: Option<ProviderWait>,
    /// Whether the text of an answer arrives.
    pub is_answering: bool,
}

/// A wait before a request to a provider is retried.
#[derive(Clone, Debug, PartialEq)]
pub struct ProviderWait {
    /// When the wait ends.
    pub until: Timestamp,
    /// Why the request is retried.
    pub why: String,
}

/// The fields of a progress event.
pub(super) struct ProgressReport<'a> {
    pub(super) phase: Phase,
    pub(super) line: Option<&'a String>,
    pub(super) tool: Option<&'a String>,
    pub(super) tokens: Option<u64>,
}

impl RunningTask {
    /// Returns the state of a task that starts.
    pub(super) fn from(since: Timestamp, phase: Phase) -> Self {
        Self { since, phase, line: None, tool: None, tokens: None, wait: None, is_answering: false }
    }

    /// Applies a progress event.
    pub(super) fn update(&mut self, progress: &ProgressReport<'_>) {
        self.phase = progress.phase;
        match progress.tokens {
            // Only a model reports tokens. Without a tool it is thinking, so that the previous tool
            // and line are cleared.
            Some(_) => {
                self.tokens = progress.tokens;
                self.tool = progress.tool.cloned();
                self.line = progress.line.cloned();
            }
            None => self.line = progress.line.cloned().or(self.line.take()),
        }
    }

    /// Applies an event of the task's session.
    pub(super) fn on_session_event(&mut self, at: Timestamp, event: &SessionEvent) {
        self.wait = match event {
            SessionEvent::AutoRetryStart { delay_ms, error_message, .. } => {
                let delay = i64::try_from(*delay_ms).unwrap_or(i64::MAX);
                let until = at.as_millisecond().saturating_add(delay);
                let until = Timestamp::from_millisecond(until);
                Some(ProviderWait { until, why: error_message.clone() })
            }
            _other => None,
        };
        match event {
            SessionEvent::TextStart { .. } => self.is_answering = true,
            SessionEvent::MessageStart { .. }
            | SessionEvent::ThinkingStart { .. }
            | SessionEvent::ToolcallStart { .. }
            | SessionEvent::MessageEnd { .. }
            | SessionEvent::ToolExecutionStart { .. } => self.is_answering = false,
            _other => {}
        }
    }
}

impl TaskView {
    pub(super) fn is_running(&self) -> bool {
        matches!(self.stage, TaskStage::Running(_))
    }

    /// Returns the number of tokens that the model has used so far, if it is known.
    pub(super) fn tokens(&self) -> Option<u64> {
        let reported = match &self.stage {
            TaskStage::Running(running) => running.tokens,
            TaskStage::Queued | TaskStage::Ended { .. } => None,
        };
        self.used.map(|used| used.tokens()).or(reported)
    }

    /// Adds the usage of a message of the task's session.
    pub(super) fn add_usage(&mut self, event: &SessionEvent) {
        if let SessionEvent::MessageEnd { message: Message::Assistant(answer) } = event {
            self.used = Some(self.used.unwrap_or(Usage::ZERO) + answer.usage);
        }
    }
}
