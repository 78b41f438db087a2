//! The wire APIs, by their names in the file of models.

use crate::yaml::Value;

/// A wire API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApiName {
    /// OpenAI's Chat Completions.
    OpenAiCompletions,
    /// OpenAI's Responses.
    OpenAiResponses,
    /// Anthropic's Messages.
    AnthropicMessages,
    /// Google's Generative Language API.
    GoogleGenerativeAi,
}

impl ApiName {
    /// Every wire API.
    pub const ALL: [Self; 4] = [
        Self::OpenAiCompletions,
        Self::OpenAiResponses,
        Self::AnthropicMessages,
        Self::GoogleGenerativeAi,
    ];

    /// Returns its name in the file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenAiCompletions => "openai-completions",
            Self::OpenAiResponses => "openai-responses",
            Self::AnthropicMessages => "anthropic-messages",
            Self::GoogleGenerativeAi => "google-generative-ai",
        }
    }

    pub(super) fn read(value: &Value) -> Result<Self, &'static str> {
        let found = match value {
            Value::Text(text) => Self::ALL.into_iter().find(|api| api.as_str() == text),
            _ => None,
        };
        found.ok_or(
            "a known API: openai-completions, openai-responses, anthropic-messages or \
             google-generative-ai",
        )
    }
}
