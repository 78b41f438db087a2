//! The size of a conversation, and what makes it smaller.

use std::sync::Arc;

use protocol::{CompactionResult, CompactionSummary, Message, SessionEntry, SessionMessage, Usage};

use super::conversation::Conversation;
use crate::compaction::{Oversized, Preparation, prune, without_outputs};
use crate::ports::SessionLogError;
use crate::request::message_tokens;
use crate::session::for_model;

impl Conversation {
    /// Returns the messages as models read them.
    #[must_use]
    pub fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }

    /// Returns about how many tokens the next request has: what the last answer has counted, and
    /// what was said since. `fixed` returns what a request has beside the messages.
    pub(super) fn tokens(&self, fixed: impl FnOnce() -> u64) -> u64 {
        let (counted, since) = match self.measured.map(|at| (at, &*self.messages[at])) {
            Some((at, Message::Assistant(answer))) => (answer.usage.tokens(), at + 1),
            Some(_) | None => (fixed(), 0),
        };
        let since = self.messages[since..].iter().map(|message| message_tokens(message));
        since.fold(counted, u64::saturating_add)
    }

    /// Prunes old outputs of tools, if that is worth it. The log keeps them.
    pub(super) fn prune(&mut self) {
        if prune(&mut self.messages) > 0 {
            self.measured = None;
        }
    }

    /// Returns the conversation as a compaction finds it, with the limits of nobody.
    pub(super) fn oversized(&self) -> Oversized<'_> {
        let previous = self.compacted.as_ref();
        Oversized {
            messages: &self.messages[usize::from(previous.is_some())..],
            previous: previous.map(|last| (last.summary.as_str(), &last.details)),
            room: 0,
            keep_recent: 0,
            input: 0,
            instructions: None,
            task: self.task.as_deref(),
        }
    }

    /// Replaces the beginning of the conversation by its summary, first in the log.
    pub(super) async fn compact(
        &mut self,
        prepared: Preparation,
        answers: Vec<String>,
        tokens_before: u64,
        usage: Usage,
    ) -> Result<CompactionResult, SessionLogError> {
        let first_kept = prepared.first_kept + usize::from(self.compacted.is_some());
        let mut compacted = prepared.finish(answers);
        compacted.details.usage = Some(usage);
        let kept = self.entries[first_kept].clone();
        let details = serde_json::to_value(&compacted.details).ok();
        let at = self.clock.now();
        let entry = self
            .write(SessionEntry::Compaction {
                summary: compacted.summary.clone(),
                short_summary: None,
                first_kept_entry_id: Some(kept.clone()),
                tokens_before,
                details: details.clone(),
                preserve_data: None,
                from_extension: false,
            })
            .await?;
        let summary = compacted.summary.clone();
        let message = SessionMessage::CompactionSummary(CompactionSummary {
            summary: summary.clone(),
            short_summary: None,
            tokens_before,
            timestamp: at,
        });
        let message = for_model(&message).expect("models read summaries");
        let rest = without_outputs(&self.messages[first_kept..], &compacted.details.pruned_calls);
        self.messages = std::iter::once(Arc::new(message)).chain(rest).collect();
        self.entries = std::iter::once(entry).chain(self.entries.drain(first_kept..)).collect();
        self.compacted = Some(compacted);
        self.measured = None;
        let first_kept_entry_id = kept.as_str().to_owned();
        Ok(CompactionResult { summary, first_kept_entry_id, tokens_before, details })
    }
}
