//! The conversation of a session, in memory and in its log.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use protocol::{
    AssistantMessage, InputId, Message, ModelRoute, Part, SessionEntry, SessionId, StopReason,
    ToolCall, ToolResult, Usage, UserInput,
};
use serde_json::Value;

use super::limits::SessionUsage;
use super::limits::{CallResult, LoopDetector};
use super::prompts;
use crate::ports::{
    Clock, LoggedMessage, ProviderInfo, SessionHeader, SessionLog, SessionLogError, SessionLogs,
    ToolOutput,
};

/// The initial settings of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionInit {
    /// The system prompt.
    pub system: Arc<str>,
    /// The model.
    pub model: ModelRoute,
    /// The names of the tools.
    pub tools: Vec<String>,
    /// The task of the session, if it has one.
    pub assignment: Option<Assignment>,
}

/// The task of a session, which is its first input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The id of the input.
    pub id: InputId,
    /// The prompt.
    pub prompt: String,
    /// The JSON Schema of the value that the session has to yield.
    pub schema: Option<Value>,
}

impl Assignment {
    fn input(&self) -> UserInput {
        UserInput { id: self.id, text: self.prompt.clone() }
    }

    /// Restores the full text of the prompt, which the log truncates if it is very long.
    fn restore(&self, logged: LoggedMessage) -> LoggedMessage {
        match logged.message {
            Message::User(said) if logged.input_id == Some(self.id) => {
                let message = Message::user(self.input().text, said.timestamp);
                LoggedMessage { message, ..logged }
            }
            message => LoggedMessage { message, ..logged },
        }
    }
}

/// A conversation in memory together with its log. Every message is in the log before it is in
/// memory; only very long texts are truncated in the log.
pub struct Conversation {
    pub(super) session: SessionId,
    pub(super) system: Arc<str>,
    pub(super) messages: Vec<Arc<Message>>,
    pub(super) usage: SessionUsage,
    pub(super) loop_detector: LoopDetector,
    /// The ids of all tool calls so far. Each is unique.
    call_ids: BTreeSet<String>,
    /// The ids of all inputs so far.
    input_ids: BTreeSet<InputId>,
    log: Box<dyn SessionLog>,
    clock: Arc<dyn Clock>,
}

impl Conversation {
    /// Starts a conversation, or continues the one whose log is at `path`. A tool call in the log
    /// that has no result gets an error result; it is not run again.
    ///
    /// # Errors
    /// The log cannot be read or written.
    pub async fn open(
        logs: &dyn SessionLogs,
        path: &Path,
        header: SessionHeader,
        init: SessionInit,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, SessionLogError> {
        let opened = logs.open(path, header).await?;
        let mut conversation = Self {
            session: opened.session,
            system: Arc::clone(&init.system),
            messages: Vec::new(),
            usage: SessionUsage::default(),
            loop_detector: LoopDetector::default(),
            call_ids: BTreeSet::new(),
            input_ids: BTreeSet::new(),
            log: opened.log,
            clock,
        };
        let model = opened.model.filter(|model| *model == init.model.to_string());
        if opened.messages.is_empty() {
            conversation.write_first_entries(init, model).await?;
            return Ok(conversation);
        }
        for logged in opened.messages {
            let logged = match &init.assignment {
                Some(assignment) => assignment.restore(logged),
                None => logged,
            };
            if !conversation.is_orphan_result(&logged.message) {
                conversation.input_ids.extend(logged.input_id);
                conversation.add(Arc::new(logged.message));
            }
        }
        if model.is_none() {
            conversation.change_model(&init.model).await?;
        }
        conversation.answer_interrupted_calls().await?;
        Ok(conversation)
    }

    /// Returns the id of the session.
    #[must_use]
    pub fn session(&self) -> SessionId {
        self.session
    }

    async fn write_first_entries(
        &mut self,
        init: SessionInit,
        logged_model: Option<String>,
    ) -> Result<(), SessionLogError> {
        if let Some(assignment) = &init.assignment {
            self.write(SessionEntry::SessionInit {
                system_prompt: init.system.to_string(),
                task: assignment.prompt.clone(),
                tools: init.tools,
                output_schema: assignment.schema.clone(),
            })
            .await?;
        }
        if logged_model.is_none() {
            self.change_model(&init.model).await?;
        }
        match init.assignment {
            Some(assignment) => self.push_input(assignment.input()).await,
            None => Ok(()),
        }
    }

    /// Records in the log that another model answers from now on.
    pub(super) async fn change_model(&mut self, model: &ModelRoute) -> Result<(), SessionLogError> {
        self.write(SessionEntry::ModelChange { model: model.to_string() }).await
    }

    /// Returns whether a message is the result of an unknown tool call. This happens if the log
    /// line of the call is damaged. Providers reject such a result.
    fn is_orphan_result(&self, message: &Message) -> bool {
        match message {
            Message::ToolResult(result) => !self.call_ids.contains(&result.tool_call_id),
            Message::User(_) | Message::Assistant(_) => false,
        }
    }

    /// Adds an error result for each tool call that a crash interrupted.
    async fn answer_interrupted_calls(&mut self) -> Result<(), SessionLogError> {
        for call in self.unanswered_calls() {
            self.push_result(&call, ToolOutput::text(prompts::INTERRUPTED), CallResult::Failed)
                .await?;
        }
        Ok(())
    }

    /// Returns the tool calls of the last answer that have no result.
    pub(super) fn unanswered_calls(&self) -> Vec<ToolCall> {
        let last = self.messages.iter().rposition(|said| matches!(**said, Message::Assistant(_)));
        let Some(last) = last else { return Vec::new() };
        let Message::Assistant(answer) = &*self.messages[last] else { return Vec::new() };
        let answered: BTreeSet<&str> = self.messages[last..]
            .iter()
            .filter_map(|said| match &**said {
                Message::ToolResult(result) => Some(result.tool_call_id.as_str()),
                Message::User(_) | Message::Assistant(_) => None,
            })
            .collect();
        answer.calls().filter(|call| !answered.contains(call.id.as_str())).cloned().collect()
    }

    /// Returns whether the model has no message to answer: the conversation is empty, or its last
    /// message is an answer of the model.
    pub(super) fn awaits_input(&self) -> bool {
        self.messages.last().is_none_or(|said| matches!(**said, Message::Assistant(_)))
    }

    /// Adds an input. An input with an id that was added before, also before a crash, is ignored.
    pub(super) async fn push_input(&mut self, input: UserInput) -> Result<(), SessionLogError> {
        if self.input_ids.contains(&input.id) {
            return Ok(());
        }
        let message = Message::user(input.text, self.clock.now());
        self.push(message, Some(input.id)).await?;
        self.input_ids.insert(input.id);
        Ok(())
    }

    /// Adds an answer of the model. Its tool calls get unique ids.
    pub(super) async fn push_answer(
        &mut self,
        mut answer: AssistantMessage,
    ) -> Result<AssistantMessage, SessionLogError> {
        for part in &mut answer.content {
            if let protocol::Part::ToolCall(call) = part {
                call.id = self.unique_call_id(&call.id);
            }
        }
        self.push(Message::Assistant(answer.clone()), None).await?;
        Ok(answer)
    }

    /// Writes a failed answer to the log only. It does not become part of the conversation.
    pub(super) async fn log_failed_answer(
        &mut self,
        partial: AssistantMessage,
    ) -> Result<(), SessionLogError> {
        let message = Message::Assistant(partial);
        self.write(SessionEntry::Message { message, input_id: None }).await
    }

    /// Returns the message for an answer of `model` that was aborted after it had received
    /// `content`.
    pub(super) fn aborted_answer(
        &self,
        model: &ProviderInfo,
        content: Vec<Part>,
    ) -> AssistantMessage {
        AssistantMessage {
            content,
            api: model.api.to_owned(),
            provider: model.route.provider.clone(),
            model: model.route.id.clone(),
            usage: Usage::ZERO,
            stop_reason: StopReason::Aborted,
            error_message: Some(prompts::REQUEST_ABORTED.to_owned()),
            timestamp: self.clock.now(),
        }
    }

    /// Adds the result of a tool call.
    pub(super) async fn push_result(
        &mut self,
        call: &ToolCall,
        output: ToolOutput,
        result: CallResult,
    ) -> Result<(), SessionLogError> {
        let message = Message::ToolResult(ToolResult {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            content: output.content,
            details: output.details,
            is_error: result == CallResult::Failed,
            timestamp: self.clock.now(),
        });
        self.push(message, None).await
    }

    /// Returns a unique id for a tool call: the one of the provider, with a number if it is taken.
    fn unique_call_id(&mut self, given: &str) -> String {
        let given = if given.is_empty() { "call" } else { given };
        let mut id = given.to_owned();
        let mut number = 2;
        while !self.call_ids.insert(id.clone()) {
            id = format!("{given}-{number}");
            number += 1;
        }
        id
    }

    async fn push(
        &mut self,
        message: Message,
        input_id: Option<InputId>,
    ) -> Result<(), SessionLogError> {
        let message = Arc::new(message);
        self.write(SessionEntry::Message { message: Message::clone(&message), input_id }).await?;
        self.add(message);
        Ok(())
    }

    async fn write(&mut self, entry: SessionEntry) -> Result<(), SessionLogError> {
        self.log.append(self.clock.now(), entry).await
    }

    /// Adds a message that is in the log already.
    fn add(&mut self, message: Arc<Message>) {
        if let Message::Assistant(answer) = &*message {
            self.usage.turns = self.usage.turns.saturating_add(1);
            self.usage.used = self.usage.used + answer.usage;
            self.call_ids.extend(answer.calls().map(|call| call.id.clone()));
        }
        self.messages.push(message);
    }
}
