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
    /// What is asked, in one line.
    pub text: String,
    /// What the text is.
    #[serde(default, skip_serializing_if = "QuestionForm::is_call")]
    pub form: QuestionForm,
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

/// What the text of a question is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QuestionForm {
    /// The tool call that is to be allowed.
    #[default]
    Call,
    /// A whole question.
    Sentence,
}

impl QuestionForm {
    fn is_call(&self) -> bool {
        *self == Self::Call
    }

    /// Returns a question with this text, before which `label` may say of whom it is.
    #[must_use]
    pub fn question(self, label: &str, text: &str) -> String {
        match self {
            Self::Call => format!("allow {label}{text}?"),
            Self::Sentence => format!("{label}{text}"),
        }
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
