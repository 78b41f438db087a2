//! OpenAI's Chat Completions, which most providers speak.

mod answer;
mod calls;
mod endpoint;
mod exchange;
mod extent;
mod hearing;
mod ids;
mod provider;
mod request;
mod tokens;
mod trouble;
mod waiting;

pub(crate) use answer::{MOST_BYTES, MOST_CALLS};
pub(crate) use calls::arguments;
pub(crate) use endpoint::{Endpoint, base};
pub(crate) use provider::Completions;
pub(crate) use trouble::unreachable;
