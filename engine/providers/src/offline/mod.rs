//! The offline provider: a scenario file says what the model answers, so that runs can be rehearsed
//! without a model.

mod parser;
mod provider;
mod scenario;
mod scripted_answer;
mod template;
mod variables;

pub(crate) use provider::Scenarios;
