//! OpenAI's Responses API.

mod models;
mod request;
mod stream;

pub(crate) use models::levels;
pub(crate) use request::request;
pub(crate) use stream::ResponseParser;
