//! The wire APIs: where each is asked, how a request is written and what reads the answer.

use engine::ports::ModelRequest;
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use url::Url;

use crate::answer_parser::AnswerParser;
use crate::anthropic_messages::{self, MessageParser};
use crate::endpoint::{ApiKey, Endpoint};
use crate::exchange::WireRequest;
use crate::google_generative_ai::{self, CandidateParser};
use crate::openai_completions::{self, CompletionParser};
use crate::openai_responses::{self, ResponseParser};

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

    /// Returns a request for an answer.
    pub(crate) fn request(self, endpoint: &Endpoint, request: &ModelRequest) -> WireRequest {
        match self {
            Self::OpenAiCompletions => openai_completions::request(endpoint, request),
            Self::OpenAiResponses => openai_responses::request(endpoint, request),
            Self::AnthropicMessages => anthropic_messages::request(endpoint, request),
            Self::GoogleGenerativeAi => google_generative_ai::request(endpoint, request),
        }
    }

    /// Returns what reads an answer.
    pub(crate) fn parser(self) -> Box<dyn AnswerParser> {
        match self {
            Self::OpenAiCompletions => Box::new(CompletionParser::default()),
            Self::OpenAiResponses => Box::new(ResponseParser::default()),
            Self::AnthropicMessages => Box::new(MessageParser::default()),
            Self::GoogleGenerativeAi => Box::new(CandidateParser::default()),
        }
    }

    /// Returns the header with the key; `None` if the key has characters no header can hold.
    pub(crate) fn key_header(self, key: &ApiKey) -> Option<(HeaderName, HeaderValue)> {
        match self {
            Self::OpenAiCompletions | Self::OpenAiResponses => {
                Some((AUTHORIZATION, key.header("Bearer ")?))
            }
            Self::AnthropicMessages => {
                Some((HeaderName::from_static("x-api-key"), key.header("")?))
            }
            Self::GoogleGenerativeAi => {
                Some((HeaderName::from_static("x-goog-api-key"), key.header("")?))
            }
        }
    }

    /// Returns the address of the list of models.
    pub(crate) fn models_url(self, endpoint: &Endpoint) -> Url {
        let path = endpoint.base.path().trim_end_matches('/');
        match self {
            Self::AnthropicMessages if !path.ends_with("/v1") => endpoint.url(&["v1", "models"]),
            Self::GoogleGenerativeAi if path.is_empty() => endpoint.url(&["v1beta", "models"]),
            Self::OpenAiCompletions
            | Self::OpenAiResponses
            | Self::AnthropicMessages
            | Self::GoogleGenerativeAi => endpoint.url(&["models"]),
        }
    }

    /// The ends of URLs that users may give instead of a base URL.
    pub(crate) const ENDS: [&str; 4] =
        ["/chat/completions", "/responses", "/v1/messages", "/messages"];
}
