//! Anthropic's Messages API.

mod models;
mod request;
mod stream;

pub(crate) use request::request;
pub(crate) use stream::MessageParser;
