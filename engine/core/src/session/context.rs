//! What the entries of a branch give: the messages of the conversation, and the state of the session.

use std::collections::{BTreeMap, BTreeSet};

use protocol::{
    BranchSummary, CompactionSummary, CustomMessage, EntryId, InputId, Message, SessionEntry,
    SessionMessage, StopReason, ThinkingLevel, Timestamp, Usage,
};
use serde_json::Value;

use crate::agent::logged_finding;
use crate::compaction::CompactionDetails;

/// The purpose of the model that answers, where a role of models is named.
const DEFAULT_ROLE: &str = "default";

/// The conversation of a branch, and the state of its session at its end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionContext {
    /// The messages in their order.
    pub messages: Vec<ContextMessage>,
    /// The thinking level that was set last; `None` if none was, or if it was reset.
    pub thinking_level: Option<String>,
    /// Whether a thinking level was set or reset.
    pub has_thinking_entry: bool,
    /// The service tier that was set last.
    pub service_tier: Option<String>,
    /// The models by their purposes, as `PROVIDER/ID`.
    pub models: BTreeMap<String, String>,
    /// The names of the rules that the model was given while it answered.
    pub injected_rules: BTreeSet<String>,
    /// The mode of the session.
    pub mode: Option<Mode>,
    /// The tools of MCP servers that were selected last.
    pub mcp_tools: Option<Vec<String>>,
    /// What the last compaction left for the next one.
    pub compaction: Option<CompactionDetails>,
    /// The number of answers of models, those included for which a summary stands.
    pub answers: u32,
    /// What models have used on the branch.
    pub used: Option<Usage>,
    /// The findings that were reported, those included for which a summary stands.
    pub findings: Vec<Value>,
}

/// A message of a context.
#[derive(Clone, Debug, PartialEq)]
pub struct ContextMessage {
    /// The entry of the message.
    pub entry: EntryId,
    /// The id of the input, if the message is one.
    pub input_id: Option<InputId>,
    /// The message.
    pub message: SessionMessage,
}

/// A mode of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct Mode {
    /// The name.
    pub name: String,
    /// The parameters.
    pub data: Option<Value>,
}

/// An entry on the path from the root to the leaf.
#[derive(Clone, Copy, Debug)]
pub struct PathEntry<'a> {
    /// The id of the entry.
    pub id: &'a EntryId,
    /// When it was added.
    pub at: Timestamp,
    /// What it says.
    pub entry: &'a SessionEntry,
}

impl SessionContext {
    /// Returns the model that answers, as `PROVIDER/ID`.
    #[must_use]
    pub fn model(&self) -> Option<&str> {
        self.models.get(DEFAULT_ROLE).map(String::as_str)
    }

    /// Returns how much the model thinks, with `None` for its default; `None` if no entry says it.
    #[must_use]
    pub fn logged_thinking(&self) -> Option<Option<ThinkingLevel>> {
        let level = self.thinking_level.as_deref().and_then(|level| level.parse().ok());
        self.has_thinking_entry.then_some(level)
    }
}

/// Returns the context of the entries from the root to the leaf.
///
/// After a compaction, its summary stands for the messages before the first that it keeps. If that
/// entry is not on the path, nothing before the compaction is kept.
#[must_use]
pub fn build_context(path: &[PathEntry<'_>]) -> SessionContext {
    let mut context = SessionContext::default();
    let mut answered_by = None;
    for at in path {
        note_state(&mut context, &mut answered_by, at.entry);
    }
    if let (None, Some(model)) = (context.model(), answered_by) {
        context.models.insert(DEFAULT_ROLE.to_owned(), model);
    }
    context.messages = messages(path);
    context
}

fn note_state(
    context: &mut SessionContext,
    answered_by: &mut Option<String>,
    entry: &SessionEntry,
) {
    let used = entry.usage();
    context.used = context.used.into_iter().chain(used).reduce(|one, other| one + other);
    context.findings.extend(logged_finding(entry));
    match entry {
        SessionEntry::Compaction { details, .. } => {
            context.compaction = Some(CompactionDetails::read(details.as_ref()));
        }
        SessionEntry::ModelChange { model, role } => {
            let role = role.as_deref().unwrap_or(DEFAULT_ROLE);
            context.models.insert(role.to_owned(), model.clone());
        }
        SessionEntry::ThinkingLevelChange { thinking_level } => {
            context.thinking_level.clone_from(thinking_level);
            context.has_thinking_entry = true;
        }
        SessionEntry::ServiceTierChange { service_tier } => {
            context.service_tier.clone_from(service_tier);
        }
        SessionEntry::TtsrInjection { injected_rules } => {
            context.injected_rules.extend(injected_rules.iter().cloned());
        }
        SessionEntry::ModeChange { mode, .. } if mode == "none" => context.mode = None,
        SessionEntry::ModeChange { mode, data } => {
            context.mode = Some(Mode { name: mode.clone(), data: data.clone() });
        }
        SessionEntry::McpToolSelection { selected_tool_names } => {
            context.mcp_tools = Some(selected_tool_names.clone());
        }
        SessionEntry::Message { .. } => {
            if let Some(Message::Assistant(answer)) = entry.model_message() {
                *answered_by = Some(format!("{}/{}", answer.provider, answer.model));
                let failed = matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted);
                context.answers = context.answers.saturating_add(u32::from(!failed));
            }
        }
        SessionEntry::SessionInit { .. }
        | SessionEntry::CustomMessage { .. }
        | SessionEntry::Custom { .. }
        | SessionEntry::BranchSummary { .. }
        | SessionEntry::Label { .. }
        | SessionEntry::SessionInfo { .. }
        | SessionEntry::TitleChange { .. }
        | SessionEntry::Leaf {}
        | SessionEntry::Unknown(_) => {}
    }
}

fn messages(path: &[PathEntry<'_>]) -> Vec<ContextMessage> {
    let compaction = path.iter().enumerate().rev().find_map(|(place, at)| match at.entry {
        SessionEntry::Compaction { first_kept_entry_id: kept, .. } => Some((place, kept.as_ref())),
        _other => None,
    });
    let Some((place, kept)) = compaction else { return path.iter().filter_map(message).collect() };
    let kept_from = path[..place].iter().position(|at| Some(at.id) == kept).unwrap_or(place);
    let (before, after) = (&path[kept_from..place], &path[place + 1..]);
    summary(&path[place])
        .into_iter()
        .chain(before.iter().chain(after).filter_map(message))
        .collect()
}

/// Returns the message of an entry; for a compaction, its summary.
pub(super) fn message_of(at: &PathEntry<'_>) -> Option<ContextMessage> {
    summary(at).or_else(|| message(at))
}

/// Returns the message that a new entry adds to the end of a conversation.
#[must_use]
pub fn appended_message(at: &PathEntry<'_>) -> Option<ContextMessage> {
    message(at)
}

/// Returns the message of a compaction.
fn summary(at: &PathEntry<'_>) -> Option<ContextMessage> {
    let SessionEntry::Compaction { summary, short_summary, tokens_before, .. } = at.entry else {
        return None;
    };
    let message = SessionMessage::CompactionSummary(CompactionSummary {
        summary: summary.clone(),
        short_summary: short_summary.clone(),
        tokens_before: *tokens_before,
        timestamp: at.at,
    });
    Some(ContextMessage { entry: at.id.clone(), input_id: None, message })
}

/// Returns the message of an entry that is not a compaction.
fn message(at: &PathEntry<'_>) -> Option<ContextMessage> {
    let (message, input_id) = match at.entry {
        SessionEntry::Message { message, input_id } => (message.clone(), *input_id),
        SessionEntry::CustomMessage { custom_type, content, display, details, attribution } => {
            let custom = CustomMessage {
                custom_type: custom_type.clone(),
                content: content.clone(),
                display: *display,
                details: details.clone(),
                attribution: *attribution,
                timestamp: at.at,
            };
            (SessionMessage::Custom(custom), None)
        }
        SessionEntry::BranchSummary { from_id, summary, .. } if !summary.is_empty() => {
            let (from_id, summary) = (from_id.clone(), summary.clone());
            let summary = BranchSummary { summary, from_id, timestamp: at.at };
            (SessionMessage::BranchSummary(summary), None)
        }
        SessionEntry::BranchSummary { .. }
        | SessionEntry::SessionInit { .. }
        | SessionEntry::ModelChange { .. }
        | SessionEntry::ThinkingLevelChange { .. }
        | SessionEntry::ServiceTierChange { .. }
        | SessionEntry::Custom { .. }
        | SessionEntry::Compaction { .. }
        | SessionEntry::Label { .. }
        | SessionEntry::ModeChange { .. }
        | SessionEntry::TtsrInjection { .. }
        | SessionEntry::McpToolSelection { .. }
        | SessionEntry::SessionInfo { .. }
        | SessionEntry::TitleChange { .. }
        | SessionEntry::Leaf {}
        | SessionEntry::Unknown(_) => return None,
    };
    Some(ContextMessage { entry: at.id.clone(), input_id, message })
}

#[cfg(test)]
mod tests;
