//! The entries of a session log. They are serialized as in session files of version 3.

use std::fmt;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::message_blocks::blocks;
use crate::tagged::{Beginning, begin, read, with_tag};
use crate::{Attribution, Content, EntryId, InputId, Message, SessionMessage, Usage};

/// The field that says what an entry is.
const TAG: &str = "type";

/// One entry of a session log after its header. The log adds an id, a parent and a time to each
/// entry. The entries form a tree, whose branches are conversations with a common beginning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase", remote = "Self")]
pub enum SessionEntry {
    /// The start of a task's session.
    SessionInit {
        /// The system prompt.
        system_prompt: String,
        /// The prompt of the task.
        task: String,
        /// The names of the tools.
        tools: Vec<String>,
        /// The JSON Schema of the value that the session has to yield.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output_schema: Option<Value>,
    },
    /// The model changes: later answers come from the given model.
    ModelChange {
        /// `PROVIDER/ID`.
        model: String,
        /// The purpose of the model; `default` if it is absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        role: Option<String>,
    },
    /// The thinking level changes; null is the level of the settings.
    ThinkingLevelChange {
        /// The name of the level.
        #[serde(default)]
        thinking_level: Option<String>,
    },
    /// The service tier changes; null is the provider's own.
    ServiceTierChange {
        /// The name of the tier.
        #[serde(default)]
        service_tier: Option<String>,
    },
    /// A complete message.
    Message {
        /// The message.
        message: SessionMessage,
        /// The id of the input, if this is a user message. Other readers of the log ignore it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input_id: Option<InputId>,
    },
    /// A message of an extension, which models read as one of the user.
    CustomMessage {
        /// The kind that the extension gave it.
        custom_type: String,
        /// What models read.
        #[serde(deserialize_with = "blocks")]
        content: Vec<Content>,
        /// Whether people see it.
        #[serde(default)]
        display: bool,
        /// Data of the extension.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<Value>,
        /// On whose behalf it was added.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attribution: Option<Attribution>,
    },
    /// State of an extension, which models do not read.
    Custom {
        /// The kind that the extension gave it.
        custom_type: String,
        /// The state.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        data: Option<Value>,
    },
    /// A summary replaces the messages before the first entry that is kept.
    Compaction {
        /// The summary.
        summary: String,
        /// The summary in one line.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        short_summary: Option<String>,
        /// The first entry before this one whose message is kept.
        #[serde(default)]
        first_kept_entry_id: Option<EntryId>,
        /// The tokens of the context before.
        #[serde(default)]
        tokens_before: u64,
        /// `readFiles` and `modifiedFiles`, or data of an extension.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<Value>,
        /// Data that an extension keeps from one compaction to the next.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        preserve_data: Option<Value>,
        /// Whether an extension made the summary.
        #[serde(default, alias = "fromHook", skip_serializing_if = "std::ops::Not::not")]
        from_extension: bool,
    },
    /// The summary of a branch that was left.
    BranchSummary {
        /// The entry from which the session goes on, or `root`.
        from_id: EntryId,
        /// The text.
        summary: String,
        /// Data of the program that made it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<Value>,
        /// Whether an extension made it.
        #[serde(default, alias = "fromHook", skip_serializing_if = "std::ops::Not::not")]
        from_extension: bool,
    },
    /// A name for an entry; without one, the entry loses its name.
    Label {
        /// The entry.
        target_id: EntryId,
        /// The name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
    },
    /// The mode changes; `none` is the end of a mode.
    ModeChange {
        /// The mode.
        mode: String,
        /// Its parameters.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        data: Option<Value>,
    },
    /// Rules that were given to the model while it answered.
    TtsrInjection {
        /// The names of the rules.
        injected_rules: Vec<String>,
    },
    /// The tools of MCP servers that the session uses.
    McpToolSelection {
        /// The names of the tools.
        selected_tool_names: Vec<String>,
    },
    /// The name of the session.
    SessionInfo {
        /// The name.
        #[serde(default)]
        name: Option<String>,
    },
    /// The title of the session changes.
    TitleChange {
        /// The title.
        title: String,
        /// Who chose it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<TitleSource>,
    },
    /// The session goes on from the parent of this entry.
    Leaf {},
    /// An entry of a type that this program does not know. It stays in its file as it is.
    #[serde(skip)]
    Unknown(Map<String, Value>),
}

/// Who chose the title of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TitleSource {
    /// A program. It never replaces a title that the user chose.
    Auto,
    /// The user.
    User,
}

/// The types of [`SessionEntry`].
const TYPES: [&str; 16] = [
    "session_init",
    "model_change",
    "thinking_level_change",
    "service_tier_change",
    "message",
    "custom_message",
    "custom",
    "compaction",
    "branch_summary",
    "label",
    "mode_change",
    "ttsr_injection",
    "mcp_tool_selection",
    "session_info",
    "title_change",
    "leaf",
];

impl SessionEntry {
    /// Returns the entry of a message that is not an input. That of an extension has a type of its own.
    #[must_use]
    pub fn message(message: impl Into<SessionMessage>) -> Self {
        match message.into() {
            SessionMessage::Custom(custom) => Self::CustomMessage {
                custom_type: custom.custom_type,
                content: custom.content,
                display: custom.display,
                details: custom.details,
                attribution: custom.attribution,
            },
            message => Self::Message { message, input_id: None },
        }
    }

    /// Returns the message that models read, if the entry is one.
    #[must_use]
    pub fn model_message(&self) -> Option<&Message> {
        if let Self::Message { message, .. } = self { message.as_model() } else { None }
    }

    /// Returns the usage of the entry, if it is an answer of a model, or if a model made the summary in
    /// it.
    #[must_use]
    pub fn usage(&self) -> Option<Usage> {
        if let Self::Compaction { details, .. } | Self::BranchSummary { details, .. } = self {
            let usage = details.as_ref()?.get("usage")?;
            return Usage::deserialize(usage).ok();
        }
        self.model_message()?.usage()
    }
}

impl Serialize for SessionEntry {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if let Self::Unknown(fields) = self {
            fields.serialize(to)
        } else {
            Self::serialize(self, to)
        }
    }
}

impl<'de> Deserialize<'de> for SessionEntry {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(EntryVisitor)
    }
}

struct EntryVisitor;

impl<'de> Visitor<'de> for EntryVisitor {
    type Value = SessionEntry;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an entry of a session")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<SessionEntry, A::Error> {
        /// What [`SessionEntry::Message`] holds. Nearly all of a file are messages.
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct MessageFields {
            message: SessionMessage,
            #[serde(default)]
            input_id: Option<InputId>,
        }
        let fields = match begin(TAG, &mut fields)? {
            Beginning::Tag(kind) if kind == "message" => {
                let MessageFields { message, input_id } = read(fields)?;
                return Ok(SessionEntry::Message { message, input_id });
            }
            Beginning::Tag(kind) => with_tag(TAG, &kind, fields)?,
            Beginning::Fields(fields) => fields,
        };
        SessionEntry::from_fields(fields).map_err(A::Error::custom)
    }
}

impl SessionEntry {
    fn from_fields(mut fields: Map<String, Value>) -> Result<Self, serde_json::Error> {
        let Some(kind) = fields.get(TAG).and_then(Value::as_str) else {
            return Err(serde_json::Error::missing_field(TAG));
        };
        if !TYPES.contains(&kind) {
            return Ok(Self::Unknown(fields));
        }
        // Some programs write the two halves of a model's name apart.
        if kind == "model_change"
            && !fields.contains_key("model")
            && let (Some(Value::String(provider)), Some(Value::String(id))) =
                (fields.get("provider"), fields.get("modelId"))
        {
            let model = format!("{provider}/{id}");
            fields.insert("model".to_owned(), model.into());
        }
        Self::deserialize(Value::Object(fields))
    }
}

#[cfg(test)]
mod tests;
