//! OpenAI's Chat Completions API, which most providers speak.

mod answer;
mod failure;
mod http_request;
mod provider;
mod request;
mod response_parser;
mod tool_calls;

pub(crate) use answer::{MAX_ANSWER_BYTES, MAX_CALLS};
pub(crate) use failure::unreachable;
pub(crate) use provider::{API, Completions};
pub(crate) use tool_calls::arguments;
