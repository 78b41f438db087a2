//! What writes the requests of each wire API, and what reads its answers.

use engine::ports::ModelRequest;

use crate::answer_parser::AnswerParser;
use crate::anthropic_messages::{self, MessageParser};
use crate::api::Api;
use crate::endpoint::Endpoint;
use crate::exchange::WireRequest;
use crate::google_generative_ai::{self, CandidateParser};
use crate::openai_completions::{self, CompletionParser};
use crate::openai_responses::{self, ResponseParser};

impl Api {
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
}
