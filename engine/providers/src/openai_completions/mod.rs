//! OpenAI's Chat Completions API, which most providers speak, each with its departures.

mod compat;
mod detect;
mod request;
mod stream;
mod switches;
mod text_cleanup;
mod thinking_fields;
mod tool_calls;

pub(crate) use request::request;
pub(crate) use stream::CompletionParser;
pub(crate) use thinking_fields::{may_refuse_field, without_thinking};
