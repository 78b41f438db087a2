//! The wire APIs by name.

/// A wire API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Api {
    /// OpenAI's Chat Completions, which most servers speak.
    OpenAiCompletions,
    /// OpenAI's Responses.
    OpenAiResponses,
    /// Anthropic's Messages.
    AnthropicMessages,
    /// Google's Generative Language API.
    GoogleGenerativeAi,
}

impl Api {
    /// Returns the name of the API, which is recorded in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::OpenAiCompletions => "openai-completions",
            Self::OpenAiResponses => "openai-responses",
            Self::AnthropicMessages => "anthropic-messages",
            Self::GoogleGenerativeAi => "google-generative-ai",
        }
    }

    /// Returns the API of this name.
    pub(crate) fn find(name: &str) -> Option<Self> {
        let all = [
            Self::OpenAiCompletions,
            Self::OpenAiResponses,
            Self::AnthropicMessages,
            Self::GoogleGenerativeAi,
        ];
        all.into_iter().find(|api| api.name() == name)
    }

    /// The ends of URLs that users may give instead of a base URL.
    pub(crate) const ENDS: [&str; 4] =
        ["/chat/completions", "/responses", "/v1/messages", "/messages"];
}
