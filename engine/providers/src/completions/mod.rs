//! OpenAI's Chat Completions, which most providers speak.

mod answer;
mod calls;
mod endpoint;
mod exchange;
mod failure;
mod ids;
mod json_scanner;
mod post;
mod provider;
mod request;
mod retry_after;
mod stream_parser;
mod tokens;

pub(crate) use answer::{MOST_BYTES, MOST_CALLS};
pub(crate) use calls::arguments;
pub(crate) use endpoint::{Endpoint, base};
pub(crate) use failure::unreachable;
pub(crate) use provider::{API, Completions};
