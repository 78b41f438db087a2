//! What has been said in a session, in memory and in its log.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use protocol::{
    AssistantMessage, Message, ModelRoute, SessionEntry, SessionId, ToolCall, ToolResult,
};
use serde_json::Value;

use super::limits::Spent;
use super::repeats::{Came, Repeats};
use super::words;
use crate::ports::{Clock, SessionHeader, SessionLog, SessionLogError, SessionLogs, ToolOutput};

/// What a session begins with.
#[derive(Clone, Debug, PartialEq)]
pub struct Opening {
    /// What the model is told before everything else.
    pub system: Arc<str>,
    /// What it is asked to do.
    pub prompt: String,
    /// What everyone in the run should know.
    pub context: Option<String>,
    /// The model.
    pub model: ModelRoute,
    /// The names of its tools.
    pub tools: Vec<String>,
    /// The JSON Schema of what it has to yield.
    pub schema: Option<Value>,
}

impl Opening {
    fn assignment(&self) -> String {
        words::assignment(&self.prompt, self.context.as_deref())
    }

    /// Returns a message of the log as it was said: a very long prompt is cut in the log, and
    /// would not be what was asked.
    fn restore(&self, at: usize, message: Message) -> Message {
        match (at, message) {
            (0, Message::User(said)) => Message::user(self.assignment(), said.timestamp),
            (_, other) => other,
        }
    }
}

/// A conversation, and the log that outlives it. What is in memory is in the log, but for the rest
/// of texts that are too long for it.
pub struct Conversation {
    pub(super) session: SessionId,
    pub(super) system: Arc<str>,
    pub(super) messages: Vec<Arc<Message>>,
    pub(super) spent: Spent,
    pub(super) repeats: Repeats,
    /// The calls there were: no two have the same identity.
    ids: BTreeSet<String>,
    log: Box<dyn SessionLog>,
    clock: Arc<dyn Clock>,
}

impl Conversation {
    /// Begins a conversation, or goes on with the one whose log is at `path`. A call in it that
    /// has no result gets one that says so; it is not run again.
    ///
    /// # Errors
    /// The log cannot be read or written.
    pub async fn open(
        logs: &dyn SessionLogs,
        path: &Path,
        header: SessionHeader,
        opening: Opening,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, SessionLogError> {
        let opened = logs.open(path, header).await?;
        let mut conversation = Self {
            session: opened.session,
            system: Arc::clone(&opening.system),
            messages: Vec::new(),
            spent: Spent::default(),
            repeats: Repeats::default(),
            ids: BTreeSet::new(),
            log: opened.log,
            clock,
        };
        if opened.messages.is_empty() {
            conversation.begin(opening).await?;
        } else {
            let messages = opened.messages.into_iter().enumerate();
            for message in messages.map(|(at, message)| opening.restore(at, message)) {
                if !conversation.is_stray(&message) {
                    conversation.take(Arc::new(message));
                }
            }
            conversation.repair().await?;
        }
        Ok(conversation)
    }

    async fn begin(&mut self, opening: Opening) -> Result<(), SessionLogError> {
        let assignment = opening.assignment();
        self.write(SessionEntry::SessionInit {
            system_prompt: opening.system.to_string(),
            task: opening.prompt,
            tools: opening.tools,
            output_schema: opening.schema,
        })
        .await?;
        self.write(SessionEntry::ModelChange { model: opening.model.to_string() }).await?;
        self.say(assignment).await
    }

    /// Returns whether a message is the result of a call that is not there: its line in the log
    /// could not be read. Providers refuse such a result.
    fn is_stray(&self, message: &Message) -> bool {
        match message {
            Message::ToolResult(result) => !self.ids.contains(&result.tool_call_id),
            Message::User(_) | Message::Assistant(_) => false,
        }
    }

    /// Answers the calls that a crash left without a result.
    async fn repair(&mut self) -> Result<(), SessionLogError> {
        for call in self.unanswered() {
            self.answer(&call, ToolOutput::text(words::INTERRUPTED), Came::Badly).await?;
        }
        Ok(())
    }

    /// The calls of the last answer that have no result.
    fn unanswered(&self) -> Vec<ToolCall> {
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

    /// Returns whether the model has the last word, so that there is nothing to ask it.
    pub(super) fn is_said(&self) -> bool {
        self.messages.last().is_some_and(|said| matches!(**said, Message::Assistant(_)))
    }

    /// Returns whether the model was told exactly this.
    pub(super) fn has_heard(&self, text: &str) -> bool {
        self.messages.iter().any(|said| match &**said {
            Message::User(user) => user.text() == text,
            Message::Assistant(_) | Message::ToolResult(_) => false,
        })
    }

    /// Says something to the model.
    pub(super) async fn say(&mut self, text: String) -> Result<(), SessionLogError> {
        let message = Message::user(text, self.clock.now());
        self.push(message).await.map(drop)
    }

    /// Adds the answer of the model, its calls told apart from all earlier ones.
    pub(super) async fn hear(
        &mut self,
        mut answer: AssistantMessage,
    ) -> Result<AssistantMessage, SessionLogError> {
        for part in &mut answer.content {
            if let protocol::Part::ToolCall(call) = part {
                call.id = self.own_id(&call.id);
            }
        }
        self.push(Message::Assistant(answer.clone())).await?;
        Ok(answer)
    }

    /// Records what came of an answer that could not be had. It is no part of the conversation.
    pub(super) async fn hear_failed(
        &mut self,
        partial: AssistantMessage,
    ) -> Result<(), SessionLogError> {
        self.write(SessionEntry::Message { message: Message::Assistant(partial) }).await
    }

    /// Adds the result of a call.
    pub(super) async fn answer(
        &mut self,
        call: &ToolCall,
        output: ToolOutput,
        came_of_it: Came,
    ) -> Result<(), SessionLogError> {
        let message = Message::ToolResult(ToolResult {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            content: output.content,
            details: output.details,
            is_error: came_of_it == Came::Badly,
            timestamp: self.clock.now(),
        });
        self.push(message).await
    }

    /// Returns the identity of a call: what the provider says, unless another call has it.
    fn own_id(&mut self, given: &str) -> String {
        let given = if given.is_empty() { "call" } else { given };
        let mut id = given.to_owned();
        let mut number = 2;
        while !self.ids.insert(id.clone()) {
            id = format!("{given}-{number}");
            number += 1;
        }
        id
    }

    async fn push(&mut self, message: Message) -> Result<(), SessionLogError> {
        let message = Arc::new(message);
        self.write(SessionEntry::Message { message: Message::clone(&message) }).await?;
        self.take(message);
        Ok(())
    }

    async fn write(&mut self, entry: SessionEntry) -> Result<(), SessionLogError> {
        self.log.append(self.clock.now(), entry).await
    }

    /// Takes a message that is in the log.
    fn take(&mut self, message: Arc<Message>) {
        if let Message::Assistant(answer) = &*message {
            self.spent.turns = self.spent.turns.saturating_add(1);
            self.spent.tokens = self.spent.tokens.saturating_add(answer.usage.tokens());
            self.ids.extend(answer.calls().map(|call| call.id.clone()));
        }
        self.messages.push(message);
    }
}
