//! The events of one answer of a model: its start, its blocks, its end, and the attempts to get it.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use protocol::{
    AccountWait, AnswerStart, AssistantMessage, Message, MessageRole, Part, SessionEvent,
    StopReason, Timestamp, Usage,
};

use super::context::Listener;
use crate::ports::{AccountId, Clock, GateWait, ProviderInfo};
use crate::request::{ModelClient, PartialContent, Progress};

/// Turns the progress of a request into events, and keeps what has come of the answer.
///
/// An answer that is asked for again ends with an error message first, so that every message that
/// starts also ends.
pub(super) struct AnswerEvents<'a> {
    listener: &'a dyn Listener,
    clock: &'a dyn Clock,
    max_attempts: u32,
    state: Mutex<Received>,
}

struct Received {
    /// Who answers, until the answer starts.
    start: AnswerStart,
    started: Started,
    blocks: BTreeMap<usize, BlockKind>,
    partial: PartialContent,
    /// The number of the last retry that was announced; 0 for none.
    retries: u32,
}

/// Whether the start of the answer was announced.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Started {
    No,
    Yes,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum BlockKind {
    Text,
    Thinking,
    Call,
}

impl<'a> AnswerEvents<'a> {
    pub(super) fn new(
        listener: &'a dyn Listener,
        clock: &'a dyn Clock,
        client: &ModelClient,
    ) -> Self {
        let state = Received {
            start: answer_start(client.routes.current().info(), clock.now()),
            started: Started::No,
            blocks: BTreeMap::new(),
            partial: PartialContent::default(),
            retries: 0,
        };
        let max_attempts = client.policy.retry.max_retries;
        Self { listener, clock, max_attempts, state: Mutex::new(state) }
    }

    /// Announces the progress of the request.
    pub(super) fn progress(&self, progress: &Progress<'_>) {
        match *progress {
            Progress::Text { block, text } => {
                let mut state = self.begin(block, BlockKind::Text, None);
                state.partial.push_text(block, text);
                let delta = text.to_owned();
                self.listener.event(SessionEvent::TextDelta { content_index: block, delta });
            }
            Progress::Thinking { block, text } => {
                let mut state = self.begin(block, BlockKind::Thinking, None);
                state.partial.push_thinking(block, text);
                let delta = text.to_owned();
                self.listener.event(SessionEvent::ThinkingDelta { content_index: block, delta });
            }
            Progress::Calling { block, id, tool } => {
                drop(self.begin(block, BlockKind::Call, Some((id, tool))));
            }
            Progress::Arguments { block, json } => {
                let _state = self.begin(block, BlockKind::Call, None);
                let delta = json.to_owned();
                self.listener.event(SessionEvent::ToolcallDelta { content_index: block, delta });
            }
            Progress::Waiting { account, retries, wait } => self.waiting(account, retries, wait),
            Progress::Unshared { account, why } => self.listener.event(SessionEvent::Notice {
                message: format!("{why}; the limits of {account} now hold for this process only"),
            }),
            Progress::Notice(text) => {
                self.listener.event(SessionEvent::Notice { message: text.to_owned() });
            }
            Progress::Retrying { retry, delay, failure } => {
                self.discard(&failure.message);
                // Without a delay, it waits at the gate, which says so.
                if !delay.is_zero() {
                    self.retry(retry, delay, failure.message.clone(), None);
                }
            }
        }
    }

    /// Announces the end of the answer: a whole one, or what had come of one that failed or was
    /// aborted.
    pub(super) fn end(&self, message: &AssistantMessage) {
        let mut state = self.state();
        self.end_message(&mut state, message);
        self.end_retries(&mut state, message.error_message.as_deref());
    }

    /// Returns whether the model has begun to answer.
    pub(super) fn has_started(&self) -> bool {
        self.state().started == Started::Yes
    }

    /// Returns the text and thinking that have come.
    pub(super) fn take_partial(&self) -> Vec<Part> {
        std::mem::take(&mut self.state().partial).into_parts()
    }

    /// Locks the state. The lock is held only while content is added, never across an `await`.
    fn state(&self) -> MutexGuard<'_, Received> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Announces the start of the answer and of a block, unless they were announced before. `call`
    /// is the id of a call and the name of its tool.
    fn begin(
        &self,
        block: usize,
        kind: BlockKind,
        call: Option<(&str, &str)>,
    ) -> MutexGuard<'_, Received> {
        let mut state = self.state();
        self.start_message(&mut state);
        if state.blocks.insert(block, kind).is_none() {
            let (id, tool) = call.unwrap_or_default();
            self.listener.event(kind.start(block, id, tool));
        }
        state
    }

    fn start_message(&self, state: &mut Received) {
        if state.started == Started::No {
            state.started = Started::Yes;
            state.start.timestamp = self.clock.now();
            let (role, answer) = (MessageRole::Assistant, Some(state.start.clone()));
            self.listener.event(SessionEvent::MessageStart { role, answer });
        }
    }

    fn end_message(&self, state: &mut Received, message: &AssistantMessage) {
        self.start_message(state);
        for (block, kind) in std::mem::take(&mut state.blocks) {
            self.listener.event(kind.end(block));
        }
        state.started = Started::No;
        let message = Message::Assistant(message.clone());
        self.listener.event(SessionEvent::MessageEnd { message });
    }

    /// Ends the message of an attempt that failed, if it had started.
    fn discard(&self, error: &str) {
        let mut state = self.state();
        let content = std::mem::take(&mut state.partial).into_parts();
        if state.started == Started::No {
            return;
        }
        let message = AssistantMessage {
            content,
            api: state.start.api.clone(),
            provider: state.start.provider.clone(),
            model: state.start.model.clone(),
            usage: Usage::ZERO, // the answer that comes at last counts the usage of all attempts
            stop_reason: StopReason::Error,
            error_message: Some(error.to_owned()),
            timestamp: self.clock.now(),
        };
        self.end_message(&mut state, &message);
    }

    fn waiting(&self, account: &AccountId, retries: u32, wait: &GateWait) {
        let reason = match wait {
            GateWait::Busy { limit } => {
                format!("waits for {account}: {limit} requests at a time are under way")
            }
            GateWait::Outage { reason } => {
                format!("waits until {account} answers again: {reason}")
            }
            GateWait::Rate { .. } => format!("waits for the limit per minute of {account}"),
            GateWait::Paused { wait, reason } => {
                let waits_for = Some(self.account_wait(account, Some(*wait)));
                return self.retry(retries, *wait, reason.clone(), waits_for);
            }
        };
        let known = if let GateWait::Rate { wait } = wait { Some(*wait) } else { None };
        let waits_for = self.account_wait(account, known);
        self.listener.event(SessionEvent::RequestWait { reason, waits_for });
    }

    fn account_wait(&self, account: &AccountId, wait: Option<Duration>) -> AccountWait {
        let until = wait.map(|wait| {
            let millis = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
            let now = self.clock.now().as_millisecond();
            Timestamp::from_millisecond(now.saturating_add(millis))
        });
        AccountWait { account: account.to_string(), until }
    }

    fn retry(
        &self,
        attempt: u32,
        delay: Duration,
        error_message: String,
        waits_for: Option<AccountWait>,
    ) {
        let delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
        let max_attempts = self.max_attempts;
        let mut state = self.state();
        state.retries = attempt;
        self.listener.event(SessionEvent::AutoRetryStart {
            attempt,
            max_attempts,
            delay_ms,
            error_message,
            waits_for,
        });
    }

    fn end_retries(&self, state: &mut Received, error: Option<&str>) {
        let attempt = std::mem::take(&mut state.retries);
        if attempt > 0 {
            let (success, final_error) = (error.is_none(), error.map(str::to_owned));
            self.listener.event(SessionEvent::AutoRetryEnd { success, attempt, final_error });
        }
    }
}

fn answer_start(info: &ProviderInfo, timestamp: Timestamp) -> AnswerStart {
    AnswerStart {
        api: info.api.to_owned(),
        provider: info.route.provider.clone(),
        model: info.route.id.clone(),
        timestamp,
    }
}

impl BlockKind {
    fn start(self, content_index: usize, id: &str, tool: &str) -> SessionEvent {
        match self {
            Self::Text => SessionEvent::TextStart { content_index },
            Self::Thinking => SessionEvent::ThinkingStart { content_index },
            Self::Call => SessionEvent::ToolcallStart {
                content_index,
                tool_call_id: id.to_owned(),
                tool_name: tool.to_owned(),
            },
        }
    }

    fn end(self, content_index: usize) -> SessionEvent {
        match self {
            Self::Text => SessionEvent::TextEnd { content_index },
            Self::Thinking => SessionEvent::ThinkingEnd { content_index },
            Self::Call => SessionEvent::ToolcallEnd { content_index },
        }
    }
}
