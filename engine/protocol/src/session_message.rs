//! The messages of a session: those that models read, and those that are for the session and are
//! converted for a model. They are serialized as in session files of version 3.

use std::fmt;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::message_blocks::blocks;
use crate::tagged::{Beginning, begin, read, with_tag};
use crate::timestamp::millis;
use crate::{Attribution, Content, EntryId, Message, Timestamp, UserMessage};

/// The field that says whose a message is.
const TAG: &str = "role";

/// A message of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "camelCase", remote = "Self")]
pub enum SessionMessage {
    /// A message that models read as it is: of the user, the model or a tool.
    #[serde(skip)]
    Model(Message),
    /// A message of the system to the model.
    Developer(UserMessage),
    /// A command that the user ran.
    BashExecution(BashExecution),
    /// Python code that the user ran.
    PythonExecution(PythonExecution),
    /// A message of an extension.
    Custom(CustomMessage),
    /// The summary of a branch that was left.
    BranchSummary(BranchSummary),
    /// The summary of the messages that a compaction replaced.
    CompactionSummary(CompactionSummary),
    /// Files that the user named.
    FileMention(FileMention),
    /// A message with a role that this program does not know. Models do not read it.
    #[serde(skip)]
    Unknown(Map<String, Value>),
}

/// The roles of [`SessionMessage`] beside those of [`Message`].
const ROLES: [&str; 7] = [
    "developer",
    "bashExecution",
    "pythonExecution",
    "custom",
    "branchSummary",
    "compactionSummary",
    "fileMention",
];

/// A command that the user ran in the folder of the session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BashExecution {
    /// The command.
    pub command: String,
    /// What it wrote.
    pub output: String,
    /// Its exit code, if it ended by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// Whether the user cancelled it.
    #[serde(default)]
    pub cancelled: bool,
    /// Whether the output is only a part.
    #[serde(default)]
    pub truncated: bool,
    /// The file with the whole output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_output_path: Option<String>,
    /// Data about the output for other programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Value>,
    /// Whether models do not read it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exclude_from_context: bool,
    /// The time of its end.
    #[serde(with = "millis")]
    pub timestamp: Timestamp,
}

/// Python code that the user ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PythonExecution {
    /// The code.
    pub code: String,
    /// What it wrote.
    pub output: String,
    /// The exit code, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// Whether the user cancelled it.
    #[serde(default)]
    pub cancelled: bool,
    /// Whether the output is only a part.
    #[serde(default)]
    pub truncated: bool,
    /// Data about the output for other programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Value>,
    /// Whether models do not read it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exclude_from_context: bool,
    /// The time of its end.
    #[serde(with = "millis")]
    pub timestamp: Timestamp,
}

/// A message of an extension. Models read it as one of the user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CustomMessage {
    /// The kind that the extension gave it.
    pub custom_type: String,
    /// What models read.
    #[serde(deserialize_with = "blocks")]
    pub content: Vec<Content>,
    /// Whether people see it.
    #[serde(default)]
    pub display: bool,
    /// Data of the extension.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// On whose behalf it was added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attribution: Option<Attribution>,
    /// The time of the message.
    #[serde(with = "millis")]
    pub timestamp: Timestamp,
}

/// The summary of a branch that was left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BranchSummary {
    /// The text.
    pub summary: String,
    /// The entry from which the session goes on, or `root`.
    pub from_id: EntryId,
    /// The time of the summary.
    #[serde(with = "millis")]
    pub timestamp: Timestamp,
}

/// The summary of the messages that a compaction replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionSummary {
    /// The text.
    pub summary: String,
    /// The text in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub short_summary: Option<String>,
    /// The tokens of the context before.
    pub tokens_before: u64,
    /// The time of the compaction.
    #[serde(with = "millis")]
    pub timestamp: Timestamp,
}

/// Files that the user named in a prompt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileMention {
    /// The files.
    pub files: Vec<MentionedFile>,
    /// The time of the prompt.
    #[serde(with = "millis")]
    pub timestamp: Timestamp,
}

/// A file that the user named.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MentionedFile {
    /// The path.
    pub path: String,
    /// The text of the file.
    #[serde(default)]
    pub content: String,
    /// The number of its lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_count: Option<u64>,
    /// Its size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub byte_size: Option<u64>,
    /// Why its content is not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped_reason: Option<SkippedReason>,
    /// The image, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<Content>,
}

/// Why the content of a file is not in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SkippedReason {
    /// It is too large.
    TooLarge,
}

impl SessionMessage {
    /// Returns the message as models read it; `None` if it has to be converted for them.
    #[must_use]
    pub fn as_model(&self) -> Option<&Message> {
        match self {
            Self::Model(message) => Some(message),
            Self::Developer(_)
            | Self::BashExecution(_)
            | Self::PythonExecution(_)
            | Self::Custom(_)
            | Self::BranchSummary(_)
            | Self::CompactionSummary(_)
            | Self::FileMention(_)
            | Self::Unknown(_) => None,
        }
    }
}

impl From<Message> for SessionMessage {
    fn from(message: Message) -> Self {
        Self::Model(message)
    }
}

impl Serialize for SessionMessage {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Model(message) => message.serialize(to),
            Self::Unknown(fields) => fields.serialize(to),
            Self::Developer(_)
            | Self::BashExecution(_)
            | Self::PythonExecution(_)
            | Self::Custom(_)
            | Self::BranchSummary(_)
            | Self::CompactionSummary(_)
            | Self::FileMention(_) => Self::serialize(self, to),
        }
    }
}

impl<'de> Deserialize<'de> for SessionMessage {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(MessageVisitor)
    }
}

struct MessageVisitor;

impl<'de> Visitor<'de> for MessageVisitor {
    type Value = SessionMessage;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a message")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<SessionMessage, A::Error> {
        let fields = match begin(TAG, &mut fields)? {
            Beginning::Tag(role) => match &*role {
                "user" => return read(fields).map(Message::User).map(SessionMessage::Model),
                "assistant" => {
                    return read(fields).map(Message::Assistant).map(SessionMessage::Model);
                }
                "toolResult" => {
                    return read(fields).map(Message::ToolResult).map(SessionMessage::Model);
                }
                role => with_tag(TAG, role, fields)?,
            },
            Beginning::Fields(fields) => fields,
        };
        SessionMessage::from_fields(fields).map_err(A::Error::custom)
    }
}

impl SessionMessage {
    fn from_fields(mut fields: Map<String, Value>) -> Result<Self, serde_json::Error> {
        let role = fields.get(TAG).and_then(Value::as_str);
        // Files of version 2 have the role `hookMessage`.
        let role = role.map(|role| if role == "hookMessage" { "custom" } else { role });
        match role {
            None => Err(serde_json::Error::missing_field(TAG)),
            Some("user" | "assistant" | "toolResult") => {
                Message::deserialize(Value::Object(fields)).map(Self::Model)
            }
            Some(role) => match ROLES.iter().find(|known| **known == role) {
                Some(role) => {
                    fields.insert(TAG.to_owned(), (*role).into());
                    Self::deserialize(Value::Object(fields))
                }
                None => Ok(Self::Unknown(fields)),
            },
        }
    }
}

#[cfg(test)]
mod tests;
