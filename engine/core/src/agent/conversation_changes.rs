//! Changes of a conversation that are not part of a turn: how much its model thinks, another branch of
//! its log, entries that are appended, and results of calls that a crash interrupted.

use std::sync::Arc;

use protocol::{EntryId, Message, ModelRoute, SessionEntry, ThinkingLevel, ToolCall};

use super::conversation::Conversation;
use super::limits::{CallResult, LoopDetector};
use crate::ports::{SessionLogError, ToolOutput};
use crate::session::{PathEntry, SessionContext, appended_message, for_model};

/// The role of a model that answers in place of the session's own.
const FALLBACK_ROLE: &str = "fallback";

impl Conversation {
    /// Adds the error result of a tool call that a crash interrupted. It is not run again.
    ///
    /// # Errors
    /// The log cannot be written.
    pub async fn answer_interrupted_call(
        &mut self,
        call: &ToolCall,
        text: String,
    ) -> Result<(), SessionLogError> {
        self.push_result(call, ToolOutput::text(text), CallResult::Failed).await
    }

    pub(super) async fn write_thinking(
        &mut self,
        level: Option<ThinkingLevel>,
    ) -> Result<(), SessionLogError> {
        let thinking_level = level.map(|level| level.to_string());
        self.write(SessionEntry::ThinkingLevelChange { thinking_level }).await.map(drop)
    }

    /// Records in the log that a fallback answers from now on. With its own model, the session goes on
    /// when it is opened again.
    pub(super) async fn change_to_fallback(
        &mut self,
        model: &ModelRoute,
    ) -> Result<(), SessionLogError> {
        self.too_long = None;
        let (model, role) = (model.name(), Some(FALLBACK_ROLE.to_owned()));
        self.write(SessionEntry::ModelChange { model, role }).await.map(drop)
    }

    /// Records in the log what answers from now on, where the branch on which the session goes on
    /// says something else.
    pub(super) async fn confirm_model(
        &mut self,
        model: &ModelRoute,
        context: &SessionContext,
    ) -> Result<(), SessionLogError> {
        if context.model().is_some_and(|logged| logged != model.name()) {
            self.change_model(model).await?;
        }
        if context.logged_thinking().is_some_and(|logged| logged != model.thinking) {
            self.write_thinking(model.thinking).await?;
        }
        Ok(())
    }

    /// Goes on with another branch of the log.
    pub(super) fn replace(&mut self, context: SessionContext) {
        let usage = self.usage;
        self.messages.clear();
        self.entries.clear();
        self.call_ids.clear();
        (self.compacted, self.measured) = (None, None);
        self.loop_detector = LoopDetector::default();
        self.load(context);
        // What the session has used, and how often it was answered, is not undone.
        self.usage = usage;
    }

    /// Appends an entry that is neither an input nor part of an answer. A message is part of the
    /// conversation from now on.
    ///
    /// # Errors
    /// The log cannot be written.
    pub async fn append(&mut self, entry: SessionEntry) -> Result<EntryId, SessionLogError> {
        let id = self.write(entry.clone()).await?;
        let at = PathEntry { id: &id, at: self.clock.now(), entry: &entry };
        let message = appended_message(&at).and_then(|logged| for_model(&logged.message));
        // Answers and their results are added with their turn.
        if let Some(message @ Message::User(_)) = message {
            self.add(Arc::new(message), id.clone());
        }
        Ok(id)
    }
}
