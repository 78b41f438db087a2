//! Questions of the engine to a person.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::QuestionId;

/// A question. The scope of its event says which session asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// The id of the question.
    pub id: QuestionId,
    /// What it is about.
    #[serde(default, skip_serializing_if = "QuestionKind::is_approval")]
    pub kind: QuestionKind,
    /// What is asked, in one line, without a question mark.
    pub text: String,
    /// Why it is asked, in one line.
    pub reason: String,
    /// The answers that can be given.
    pub choices: Vec<QuestionChoice>,
    /// The id of the choice that holds if there is no answer.
    pub default: String,
    /// The tool call that waits for the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// How many milliseconds an answer is waited for; absent if there is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    /// The change that the tool call would make, as a unified diff; absent if it is none, unknown, or long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

/// What a question is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum QuestionKind {
    /// Whether something is allowed.
    #[default]
    Approval,
    /// What the model wants to know.
    Choice,
}

impl QuestionKind {
    fn is_approval(&self) -> bool {
        *self == Self::Approval
    }
}

/// An answer that can be given to a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QuestionChoice {
    /// The id of the choice.
    pub id: String,
    /// The key that chooses it on a terminal.
    pub key: char,
    /// What it means, in a word.
    pub label: String,
}
