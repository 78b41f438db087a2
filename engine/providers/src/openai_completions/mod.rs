//! OpenAI's Chat Completions API, which most providers speak, each with its departures.

mod compat;
mod detect;
mod request;
mod stream;
mod switches;
mod text_cleanup;
mod tool_calls;

pub(crate) use request::request;
pub(crate) use stream::CompletionParser;
