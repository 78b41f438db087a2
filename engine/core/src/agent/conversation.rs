//! The conversation of a session, in memory and in its log.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use protocol::{
    AssistantMessage, Content, EntryId, FileMention, InputId, Message, ModelRoute, Part,
    SessionEntry, SessionId, SessionMessage, StopReason, ThinkingLevel, ToolCall, ToolResult,
    Usage, UserInput, UserMessage,
};
use serde_json::Value;

use super::findings::finding;
use super::limits::SessionUsage;
use super::limits::{CallResult, LoopDetector};
use super::prompts;
use crate::compaction::{Compacted, without_outputs};
use crate::ports::{
    Clock, LogDamage, ProviderInfo, SessionHeader, SessionLog, SessionLogError, SessionLogs,
    ToolOutput,
};
use crate::session::{SessionContext, for_model};

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
        UserInput::new(self.id, self.prompt.clone())
    }
}

/// A conversation in memory together with its log. Every message is in the log before it is in
/// memory.
pub struct Conversation {
    pub(super) session: SessionId,
    pub(super) system: Arc<str>,
    pub(super) messages: Vec<Arc<Message>>,
    /// The entry of each message.
    pub(super) entries: Vec<EntryId>,
    /// The last compaction. Its summary is the first message.
    pub(super) compacted: Option<Compacted>,
    /// The newest answer whose usage counts the messages up to it as they are now.
    pub(super) measured: Option<usize>,
    /// About how many tokens the last request had that did not fit.
    pub(super) too_long: Option<u64>,
    /// The prompt of the task of the session, if it has one.
    pub(super) task: Option<String>,
    /// The schema of what the task yields, if it has one.
    pub(super) schema: Option<Value>,
    /// The findings that were reported.
    pub(super) findings: Vec<Value>,
    pub(super) usage: SessionUsage,
    pub(super) loop_detector: LoopDetector,
    /// The ids of all tool calls so far. Each is unique.
    pub(super) call_ids: BTreeSet<String>,
    /// The ids of all inputs so far.
    input_ids: BTreeSet<InputId>,
    pub(super) log: Box<dyn SessionLog>,
    /// What of the log could not be read.
    damage: Vec<LogDamage>,
    pub(super) clock: Arc<dyn Clock>,
}

impl Conversation {
    /// Starts a conversation, or continues the one whose log is at `path`. Before it can go on, the tool
    /// calls without a result need one: [`Self::unanswered_calls`].
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
            entries: Vec::new(),
            compacted: None,
            measured: None,
            too_long: None,
            task: init.assignment.as_ref().map(|assignment| assignment.prompt.clone()),
            schema: init.assignment.as_ref().and_then(|assignment| assignment.schema.clone()),
            findings: Vec::new(),
            usage: SessionUsage::default(),
            loop_detector: LoopDetector::default(),
            call_ids: BTreeSet::new(),
            input_ids: BTreeSet::new(),
            log: opened.log,
            damage: opened.damage,
            clock,
        };
        let model = opened.context.model().map(str::to_owned);
        let model = model.filter(|model| *model == init.model.name());
        let thinking = opened.context.logged_thinking();
        if opened.context.messages.is_empty() {
            conversation.write_first_entries(init, model).await?;
            return Ok(conversation);
        }
        conversation.load(opened.context);
        if model.is_none() {
            conversation.change_model(&init.model).await?;
        }
        let usual = init.assignment.is_some().then_some(None); // a task does not record it
        if thinking.or(usual) != Some(init.model.thinking) {
            conversation.write_thinking(init.model.thinking).await?;
        }
        Ok(conversation)
    }

    /// Returns the damage that its log had when it was opened.
    #[must_use]
    pub fn damage(&self) -> &[LogDamage] {
        &self.damage
    }

    /// Adds the messages of the log.
    pub(super) fn load(&mut self, context: SessionContext) {
        let details = context.compaction.unwrap_or_default();
        let mut open = Vec::new();
        for logged in context.messages {
            self.input_ids.extend(logged.input_id);
            if let SessionMessage::CompactionSummary(summary) = &logged.message {
                let (summary, details) = (summary.summary.clone(), details.clone());
                self.compacted = Some(Compacted { summary, details });
            }
            let message = for_model(&logged.message);
            if let Some(message) = message.and_then(|it| self.with_unique_ids(it, &mut open)) {
                self.add(Arc::new(message), logged.entry);
            }
        }
        self.messages = without_outputs(&self.messages, &details.pruned_calls);
        if self.compacted.is_some() {
            // It is not known which answers have read the summary.
            self.measured = None;
        }
        self.findings = context.findings;
        self.usage.turns = context.answers;
        self.usage.used = context.used.unwrap_or(Usage::ZERO);
    }

    /// Returns a message of the log with call ids that no other call has: a file may be damaged, or of
    /// another program. `open` are the calls of the last answer without results, as their ids are in
    /// the log and as they are now. Returns `None` for a result of none of them: providers reject it.
    fn with_unique_ids(
        &mut self,
        mut message: Message,
        open: &mut Vec<(String, String)>,
    ) -> Option<Message> {
        match &mut message {
            Message::User(_) => {}
            Message::Assistant(answer) => {
                open.clear();
                for part in &mut answer.content {
                    if let Part::ToolCall(call) = part {
                        let unique = self.unique_call_id(&call.id);
                        open.push((std::mem::replace(&mut call.id, unique.clone()), unique));
                    }
                }
            }
            Message::ToolResult(result) => {
                let id = &result.tool_call_id;
                // This program itself may have added a result, with the id as it is now.
                let at = open.iter().position(|(logged, now)| logged == id || now == id)?;
                (_, result.tool_call_id) = open.remove(at);
            }
        }
        Some(message)
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
        if init.assignment.is_none() || init.model.thinking.is_some() {
            self.write_thinking(init.model.thinking).await?;
        }
        if let Some(assignment) = init.assignment {
            self.push_input(assignment.input()).await?;
        }
        Ok(())
    }

    /// Records in the log that another model answers from now on.
    pub(super) async fn change_model(&mut self, model: &ModelRoute) -> Result<(), SessionLogError> {
        self.too_long = None;
        self.write(SessionEntry::ModelChange { model: model.name(), role: None }).await.map(drop)
    }

    /// Records in the log how much the model thinks from now on.
    pub(super) async fn change_thinking(
        &mut self,
        level: ThinkingLevel,
    ) -> Result<(), SessionLogError> {
        self.write_thinking(Some(level)).await
    }

    /// Returns the number of messages, and what they have used.
    #[must_use]
    pub fn size(&self) -> (usize, Usage) {
        (self.messages.len(), self.usage.used)
    }

    /// Returns the tool calls of the last answer that have no result.
    #[must_use]
    pub fn unanswered_calls(&self) -> Vec<ToolCall> {
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

    /// Adds an input and returns its messages: what was said, and then the files that it names. An
    /// input with an id that was added before, also before a crash, is ignored.
    pub(super) async fn push_input(
        &mut self,
        input: UserInput,
    ) -> Result<Vec<Arc<Message>>, SessionLogError> {
        if self.input_ids.contains(&input.id) {
            return Ok(Vec::new());
        }
        let mut said = UserMessage::new(vec![Content::text(input.text)], self.clock.now());
        said.attachments = input.attachments;
        let message = self.push(Message::User(said), Some(input.id)).await?;
        self.input_ids.insert(input.id);
        if input.mentions.is_empty() {
            return Ok(vec![message]);
        }
        let mention = FileMention { files: input.mentions, timestamp: self.clock.now() };
        self.append(SessionEntry::message(SessionMessage::FileMention(mention))).await?;
        Ok([message].into_iter().chain(self.messages.last().cloned()).collect())
    }

    /// Adds an answer of the model. Its tool calls get unique ids.
    pub(super) async fn push_answer(
        &mut self,
        answer: &AssistantMessage,
    ) -> Result<AssistantMessage, SessionLogError> {
        let mut answer = answer.clone();
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
        self.write(SessionEntry::message(Message::Assistant(partial))).await.map(drop)
    }

    /// Returns the message for an answer of `model` that was aborted after it had received
    /// `content`.
    pub(super) fn aborted_answer(
        &self,
        model: &ProviderInfo,
        content: Vec<Part>,
        usage: Usage,
    ) -> AssistantMessage {
        AssistantMessage {
            content,
            api: model.api.to_owned(),
            provider: model.route.provider.clone(),
            model: model.route.id.clone(),
            usage,
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
            pruned_at: None,
            timestamp: self.clock.now(),
        });
        self.push(message, None).await.map(drop)
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
    ) -> Result<Arc<Message>, SessionLogError> {
        let message = Arc::new(message);
        let said = Message::clone(&message).into();
        let entry = self.write(SessionEntry::Message { message: said, input_id }).await?;
        self.add(Arc::clone(&message), entry);
        Ok(message)
    }

    pub(super) async fn write(&mut self, entry: SessionEntry) -> Result<EntryId, SessionLogError> {
        self.log.append(self.clock.now(), entry).await
    }

    /// Adds a message that is in the log already.
    pub(super) fn add(&mut self, message: Arc<Message>, entry: EntryId) {
        self.usage.used = self.usage.used + message.usage().unwrap_or(Usage::ZERO);
        if let Message::Assistant(answer) = &*message {
            self.usage.turns = self.usage.turns.saturating_add(1);
            self.call_ids.extend(answer.calls().map(|call| call.id.clone()));
            if answer.usage.tokens() > 0 {
                self.measured = Some(self.messages.len());
            }
        }
        self.findings.extend(finding(&message));
        self.messages.push(message);
        self.entries.push(entry);
    }
}
